"""The documentation site: it builds without a warning, no link is broken, everyone can read it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import CHROMIUM, axe_script, browser

import lawdsl
from lawdsl.cli import cli
from lawdsl.language.library import shipped
from lawdsl.messages.table import MESSAGES

ROOT = Path(lawdsl.__file__).resolve().parent.parent
BUILD = ROOT / "docs" / "site" / "build.py"
SEEN = (
    *("index.html", "tutorial.html", "catalogue/dcpt.l3.html", "reference/messages.html"),
    "notebooks/share_of_code.html",
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    output = tmp_path_factory.mktemp("site") / "html"
    built = subprocess.run(
        [sys.executable, str(BUILD), str(output)], cwd=ROOT, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    return output


def test_every_page_of_docs_and_every_law_has_a_page(site: Path):
    for path in (ROOT / "docs").glob("*.md"):
        name = "index" if path.name == "README.md" else path.stem
        assert (site / f"{name}.html").exists(), name
    for law in shipped("law"):
        page = (site / "catalogue" / f"{law}.html").read_text(encoding="utf-8")
        assert "<math" in page and "</table>" in page, law
    for kind in ("question", "pipeline"):
        for name in shipped(kind):
            assert (site / "catalogue" / f"{name}.html").exists(), name


def test_the_notes_on_a_publication_are_on_the_page_of_its_law(site: Path):
    for name, note in (("dcpt.l3", ".1212 is printed"), ("dcpt.threshold", "Eq. 53 prints")):
        page = (site / "catalogue" / f"{name}.html").read_text(encoding="utf-8")
        assert "Notes on the publication" in page
        assert note in page, name


def test_the_reference_has_every_command_message_and_public_name(site: Path):
    def anchors(page: str) -> set[str]:
        return set(re.findall(r'id="([^"]+)"', (site / "reference" / page).read_text("utf-8")))

    commands = anchors("commands.html")
    assert set(cli.commands) <= commands
    messages = anchors("messages.html")
    assert [c for c in MESSAGES if not any(a.startswith(c.lower()) for a in messages)] == []
    names = {anchor.rpartition(".")[2] for anchor in anchors("api.html")}
    assert set(lawdsl.__all__) <= names


def test_pages_load_nothing_from_a_network(site: Path):
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="([^"]+)"', text)
        loaded += re.findall(r'<link[^>]*rel="(?:stylesheet|preload)"[^>]*href="([^"]+)"', text)
        assert [link for link in loaded if "//" in link] == [], path


def test_a_word_is_searched_without_a_server(site: Path):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    content = json.loads(index[index.index("{") : index.rindex("}") + 1])
    assert "extrapolation" in content["docnames"]
    assert "horizon" in content["terms"]


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everyone_can_read_the_pages(
    site: Path, tmp_path: Path, scheme: str, tmp_path_factory: pytest.TempPathFactory
):
    axe = axe_script(tmp_path_factory.mktemp("axe"))
    with browser(tmp_path / "profile") as shown:
        shown.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        for name in SEEN:
            shown.open(site / name)
            assert shown.serious_findings(axe) == [], name
        assert [url for url in shown.requests() if not url.startswith("file:")] == []


def test_a_broken_link_fails_the_build(tmp_path: Path):
    (tmp_path / "a.html").write_text('<a href="b.html">b</a><a href="#c">c</a><p id="d">')
    program = (
        f"import sys; sys.path.insert(0, {str(BUILD.parent)!r}); sys.argv = ['build.py']\n"
        "from pathlib import Path; from build import broken_links\n"
        f"print(*broken_links(Path({str(tmp_path)!r})), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["a.html: b.html leads nowhere", "a.html: #c leads nowhere"]
