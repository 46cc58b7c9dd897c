"""The figures of docs/ are those that their script draws from the tables that ship."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
COMMAND = re.compile(r"^\$ .* (?:-o|--plot) (\S+\.svg)(?: |$)", re.M)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@pytest.mark.slow
def test_the_figures_are_drawn_from_the_tables(tmp_path: Path):
    runpy.run_path(str(FIGURES / "law_and_schedule.py"))["main"](tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}

    assert drawn == {path.name for path in FIGURES.glob("*.svg")} - of_the_pages()
    for name in drawn:
        assert_same(tmp_path / name)


def of_the_pages() -> set[str]:
    """The figures that the commands of pages draw: tests/test_readme.py compares them."""
    pages = [path.read_text(encoding="utf-8") for path in FIGURES.parent.glob("*.md")]
    return {name for page in pages for name in COMMAND.findall(page)}


def assert_same(new: Path) -> None:
    """A figure drawn now is that of its name in docs/figures, but for half a pixel: the fits may
    differ in their last digits from one processor to another."""
    texts = [path.read_text(encoding="utf-8") for path in (new, FIGURES / new.name)]
    assert NUMBER.sub("0", texts[0]) == NUMBER.sub("0", texts[1])
    numbers = [[float(x) for x in NUMBER.findall(text)] for text in texts]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-3, abs=0.5)
