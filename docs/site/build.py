"""Build the documentation site: `make docs`, or `python docs/site/build.py OUTPUT`.

The pages of docs/ and those that are made from the source are put together in a folder for
temporary files, notebooks are run, and Sphinx writes HTML that loads nothing from a network. Warnings
are errors, and so are links that lead nowhere.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

from contents import SECTIONS  # noqa: E402
from generated import pages  # noqa: E402

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(`{3,}).*?^\1$", re.M | re.S)


def main(output: Path) -> int:
    """Build the site.

    Args:
        output: the folder of the HTML; what is in it is replaced.

    Returns:
        The exit code: 0, or 1 where Sphinx warned or a link is broken.
    """
    from sphinx.cmd.build import build_main

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        write_source(source, print)
        shutil.rmtree(output, ignore_errors=True)
        arguments = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(Path(folder, "doctrees"))]
        if build_main([*arguments, str(source), str(output)]):
            return 1
    for path in output.rglob("*.html"):
        # what screen readers need: the level of captions, and a focus for blocks that are scrolled
        text = path.read_text(encoding="utf-8").replace("<pre>", '<pre tabindex="0">')
        path.write_text(text.replace('role="heading">', 'role="heading" aria-level="2">'), "utf-8")
    broken = list(broken_links(output))
    for line in broken:
        print(line, file=sys.stderr)
    if not broken:
        print(f"wrote {output / 'index.html'}")
    return 1 if broken else 0


def write_source(source: Path, say: Callable[[str], None]) -> None:
    """Write all pages of the site, as Sphinx reads them.

    Args:
        source: a folder that does not exist yet.
        say: is told what happens.
    """
    source.mkdir(parents=True)
    shutil.copy(HERE / "conf.py", source)
    (source / "static").mkdir()
    shutil.copy(HERE / "site.css", source / "static")
    shutil.copytree(
        ROOT / "docs" / "figures", source / "figures", ignore=shutil.ignore_patterns("*.py")
    )
    (source / "catalogue" / "claims").mkdir(parents=True)
    places = written_pages()
    for original, page in places.items():
        text = original.read_text(encoding="utf-8")
        write(source / page, with_site_links(text, original, page, places))
    say("pages of commands, messages and laws")
    for page, text in pages(ROOT, source / "catalogue" / "claims"):
        write(source / page, text)
    say("notebooks")
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        run_notebook(notebook, source / "notebooks" / notebook.name)
    names = sorted(path.stem for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"))
    write(source / "notebooks" / "index.md", listing("Notebooks", names))
    results = [Path(page).stem for page in places.values() if page.startswith("results/")]
    write(source / "results" / "index.md", listing("Raw reports", results))
    code = [Path(page).stem for page in places.values() if page.startswith("code/")]
    write(source / "code" / "index.md", listing("The folders of the code", code))
    readme = ROOT / "docs" / "README.md"
    home = with_site_links(readme.read_text(encoding="utf-8"), readme, "index.md", places)
    write(source / "index.md", home + navigation())


def written_pages() -> dict[Path, str]:
    """Page in the checkout -> its path in the site."""
    docs = ROOT / "docs"
    places = {path: path.name for path in sorted(docs.glob("*.md")) if path.name != "README.md"}
    places |= {path: f"results/{path.name}" for path in sorted((docs / "results").glob("*.md"))}
    places |= {ROOT / name: name.lower() for name in ("CONTRIBUTING.md", "CHANGELOG.md")}
    for folder in ("lawdsl", "runners"):
        for path in sorted((ROOT / folder).rglob("docs.md")):
            name = ".".join(path.parent.relative_to(ROOT).parts)
            places[path] = f"code/{name}.md"
    return places


def with_site_links(text: str, original: Path, page: str, places: Mapping[Path, str]) -> str:
    """A page whose links lead to pages of the site; links to other files become their names.

    Args:
        text: of the page.
        original: its file in the checkout, from which its links count.
        page: its path in the site.
        places: file in the checkout -> path in the site.
    """
    up = "../" * page.count("/")
    special = {
        ROOT / "laws": "catalogue/index.md",
        ROOT / "grammars" / "law.lark": "reference/grammar.md",
        ROOT / "docs" / "README.md": "index.md",
        ROOT / "docs" / "notebooks": "notebooks/index.md",
        ROOT / "docs" / "results": "results/index.md",
    }

    def changed(match: re.Match[str]) -> str:
        picture, label, target = match.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("#") or picture:
            return match[0]
        place = places.get(file := (original.parent / path).resolve()) or special.get(file)
        if place is None and file.suffix == ".ipynb":
            place = f"notebooks/{file.name}"
        if place is None:
            return label if label.startswith("`") else f"`{label}`"
        return f"[{label}]({up}{place}{'#' * bool(anchor)}{anchor})"

    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(changed, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, LINK.sub(changed, text[end:])])


def listing(title: str, names: list[str]) -> str:
    """A page that lists others of its folder."""
    entries = "\n".join(names)
    return f"# {title}\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n"


def navigation() -> str:
    """The navigation of the site, for its first page."""
    parts = []
    for caption, names in SECTIONS.items():
        entries = "\n".join(names)
        parts.append(f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n")
    return "".join(parts)


def run_notebook(source: Path, target: Path) -> None:
    """Run a notebook where it lies, and write it with its outputs.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(source, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(source.parent)}}).execute()
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target)


def write(path: Path, text: str) -> None:
    """Write a page, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


class _Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []  # of these, what a browser requests with the page
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note a link, a source or an anchor."""
        found = dict(attributes)
        self.anchors |= {found["id"]} if found.get("id") else set()
        for name in ("href", "src"):
            if (link := found.get(name)) and tag in ("a", "img", "script", "link"):
                self.links.append(link)
                self.loaded += [link] if tag != "a" else []


def broken_links(site: Path) -> Iterator[str]:
    """Links of a site to files or anchors that do not exist, and requests of other hosts.

    Args:
        site: the folder of the HTML.

    Yields:
        One line each: page, link.
    """
    parsed: dict[Path, _Page] = {}
    for path in sorted(site.rglob("*.html")):
        parsed[path] = _Page()
        parsed[path].feed(path.read_text(encoding="utf-8"))
    for path, page in parsed.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.netloc and link in page.loaded:
                yield f"{path.relative_to(site)}: {link} is requested from another host"
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            missing = not target.exists()
            if not missing and parts.fragment and target in parsed:
                missing = unquote(parts.fragment) not in parsed[target].anchors
            if missing:
                yield f"{path.relative_to(site)}: {link} leads nowhere"


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs")))
