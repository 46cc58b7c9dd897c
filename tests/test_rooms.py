"""Each room of the code has a page that says what is in it, and the page is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_layers import ORDER, RUNNER_ORDER

ROOT = Path(__file__).resolve().parent.parent
ROOMS = [
    *(ROOT / "lawdsl" / name for name in ORDER if (ROOT / "lawdsl" / name).is_dir()),
    *(ROOT / "runners" / name for name in RUNNER_ORDER if (ROOT / "runners" / name).is_dir()),
]
ROOMS = [room for room in ROOMS if (room / "__init__.py").exists()]


def names(text: str) -> set[str]:
    """The modules and folders that a page names."""
    code = set(re.findall(r"`([^`]+)`", text))
    heads = set(re.findall(r"^\* `([^`]+)`", text, re.M))
    return heads | {name for name in code if re.fullmatch(r"[\w/]+\.py", name)}


def test_every_package_is_a_room():
    folders = {
        p.parent for name in ("lawdsl", "runners") for p in (ROOT / name).glob("*/__init__.py")
    }
    assert folders == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_has_a_page_that_names_what_exists(room: Path):
    text = (room / "docs.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert "\nIn: " in text and "\nOut: " in text
    below = [room, *(path for path in room.iterdir() if path.is_dir())]
    for name in names(text):
        places = (ROOT, *below)
        assert any((place / name).exists() for place in places), name


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_page_leaves_no_folder_out(room: Path):
    text = (room / "docs.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in room.glob("*/__init__.py")}
    assert folders <= set(re.findall(r"`([^`]+)`", text))


def test_the_architecture_links_the_rooms_in_the_order_of_imports():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(\.\./((?:lawdsl|runners)/\w+)/docs\.md\)", text)
    assert linked == [room.relative_to(ROOT).as_posix() for room in ROOMS]
