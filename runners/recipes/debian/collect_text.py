"""The text of the data sets that ship, collected from a Debian machine with CPython's sources.

    python -m lawdsl.runners.recipes.debian.collect_text FOLDER [DOMAIN...]

writes a file for each domain and collected.json (what was read, by kind) into FOLDER. The domains
are general (manual pages, /usr/share/doc, info, perl's pod: English) and code (Python's standard
library with its tests), which are the default, c (the headers of C in /usr/include) and perl (the
programs of perl's modules). Nothing but the standard library is needed. Files are read in the order
of their names, so that two runs on one machine write the same bytes.
"""

from __future__ import annotations

import gzip
import json
import platform
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .plain_text import from_html, from_info, from_pod, without_pod
from .roff import from_roff

MIN_DOCUMENT_CHARACTERS = 200  # characters of a document
# of an English one: longer are all licences of a program, all its changes
MAX_ENGLISH_CHARACTERS = 500_000
ENGLISH = 0.97  # of its characters are ASCII
PLAIN = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2010": "-"})
WORDS = 0.6  # of its characters are letters or spaces: no tables of numbers, no ASCII art

MAN = Path("/usr/share/man")
DOC = Path("/usr/share/doc")
INFO = Path("/usr/share/info")
PERL = (Path("/usr/share/perl"), Path("/usr/share/perl5"))
INCLUDE = Path("/usr/include")

# thousands of pages of one vendor's command, all from one template
MAN_LEFT_OUT = re.compile(r"gcloud")
# references of one program that would be a quarter of all; tables of characters
PACKAGES_LEFT_OUT = re.compile(r"nodejs|fonts-.*")
DOC_NAMES = re.compile(
    r"(copyright|README|NEWS|FAQ|TODO|HACKING|INSTALL|THANKS|BUGS|AUTHORS)\b.*|.*\.(txt|md|rst|html?)"
)
# programs that documentation comes with, and lists of changes, which are numbers and names
DOC_LEFT_OUT = re.compile(r"changelog|\.(json|py|c|h|pl|sh|css|js|xml|svg|pem)$", re.IGNORECASE)
# text dumped into a module, tables of characters, and what was installed later
CODE_LEFT_OUT = ("site-packages", "dist-packages", "pydoc_data", "encodings", "__pycache__")
# of two projects that would be most of it, one generated, the other C++
C_LEFT_OUT = re.compile(r"node|llvm.*|clang.*|c\+\+")
# tables of characters and of versions
PERL_LEFT_OUT = re.compile(r"unicore/|Unicode/Collate/|CoreList|POSIX\.pod")
MAX_PROGRAM_CHARACTERS = 200_000  # characters of a header or a module; longer ones are tables


def main(folder: Path, domains: Sequence[str] = ("general", "code")) -> None:
    """Collect the text of this machine and write it into a folder, with counts and sizes.

    Args:
        folder: the folder, which is created.
        domains: names in `DOMAINS`.

    Raises:
        SystemExit: a domain that is not known, or of which this machine has no text.
    """
    if unknown := sorted(set(domains) - set(DOMAINS)):
        raise SystemExit(f"unknown domain {', '.join(unknown)}: choose from {', '.join(DOMAINS)}")
    collectors = {name: DOMAINS[name] for name in domains}
    folder.mkdir(parents=True, exist_ok=True)
    collected: dict[str, object] = {"system": _system(), "python": platform.python_version()}
    for name, documents in collectors.items():
        collected[name] = write(folder / f"{name}.jsonl", documents())
        if not collected[name]:
            raise SystemExit(f"no text of {name} on this machine: install what make.sh names")
    text = json.dumps(collected, indent=2)
    (folder / "collected.json").write_text(text + "\n", encoding="utf-8")
    print(text)


def write(path: Path, documents: Iterator[tuple[str, str, str]]) -> dict[str, dict[str, int]]:
    """Write documents as JSON lines.

    Args:
        path: the path of the file.
        documents: kind, source and text of each.

    Returns:
        Kind -> number of documents and bytes.
    """
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    with path.open("w", encoding="utf-8") as file:
        for kind, source, text in documents:
            file.write(json.dumps({"text": text, "source": source}, ensure_ascii=False) + "\n")
            counts[kind] += 1
            sizes[kind] += len(text.encode())
    return {kind: {"documents": counts[kind], "bytes": sizes[kind]} for kind in counts}


def general() -> Iterator[tuple[str, str, str]]:
    """Kind, source and text of every English document."""
    for section in range(1, 9):
        for path in files(MAN / f"man{section}"):
            if not MAN_LEFT_OUT.match(path.name):
                yield from document("manual pages", path, from_roff(text_of(path)))
    for path in files(DOC):
        if PACKAGES_LEFT_OUT.fullmatch(path.relative_to(DOC).parts[0]):
            continue
        if DOC_NAMES.fullmatch(plain_name(path)) and not DOC_LEFT_OUT.search(plain_name(path)):
            text = text_of(path)
            is_html = bool(re.search(r"\.html?$", plain_name(path)))
            yield from document("documentation", path, from_html(text) if is_html else text)
    for path in files(INFO):
        if re.search(r"\.info(-\d+)?$", plain_name(path)):
            yield from document("info", path, from_info(text_of(path)))
    for folder in PERL:
        for path in files(folder):
            if path.suffix in (".pod", ".pm"):
                yield from document("perl's pod", path, from_pod(text_of(path)))


def code() -> Iterator[tuple[str, str, str]]:
    """Kind, source and text of every module of the standard library, tests included."""
    home = Path(sysconfig.get_path("stdlib"))
    for path in files(home):
        inside = path.relative_to(home)
        if path.suffix == ".py" and not set(inside.parts) & set(CODE_LEFT_OUT):
            try:
                text = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:  # some tests are in other encodings on purpose
                continue
            if len(text) >= MIN_DOCUMENT_CHARACTERS:
                is_test = bool({"test", "tests", "idle_test"} & set(inside.parts))
                yield "tests" if is_test else "library", str(inside), text


def c() -> Iterator[tuple[str, str, str]]:
    """Kind, source and text of the headers of C."""
    for path in files(INCLUDE):
        inside = path.relative_to(INCLUDE)
        if path.suffix == ".h" and not C_LEFT_OUT.fullmatch(inside.parts[0]):
            kind = "kernel" if inside.parts[0] in ("linux", "asm-generic") else "libraries"
            yield from program(kind, inside, text_of(path))


def perl() -> Iterator[tuple[str, str, str]]:
    """Kind, source and text of perl's modules, without their documentation."""
    for folder in PERL:
        for path in files(folder):
            if path.suffix in (".pm", ".pl") and not PERL_LEFT_OUT.search(str(path)):
                yield from program("modules", path, without_pod(text_of(path)))


def program(kind: str, path: Path, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield a program if its length is in range.

    Args:
        kind: the kind of the document.
        path: its source.
        text: its content.

    Returns:
        An iterator over at most one (kind, source, text).
    """
    if MIN_DOCUMENT_CHARACTERS <= len(text) <= MAX_PROGRAM_CHARACTERS:
        yield kind, str(path), text


DOMAINS: dict[str, Callable[[], Iterator[tuple[str, str, str]]]] = {
    "general": general,
    "code": code,
    "c": c,
    "perl": perl,
}
"""Domain -> the kind, source and text of its documents."""


def document(kind: str, path: Path, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the document if its length is in range and it is mostly English prose.

    Args:
        kind: the kind of the document.
        path: its source.
        text: its content, which is normalised.

    Returns:
        An iterator over at most one (kind, source, text).
    """
    text = re.sub(r"[ \t]+$", "", text.translate(PLAIN), flags=re.MULTILINE)
    text = re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"
    if not MIN_DOCUMENT_CHARACTERS <= len(text) <= MAX_ENGLISH_CHARACTERS:
        return
    ascii_ = sum(map(str.isascii, text)) / len(text)
    words = sum(c.isalpha() or c.isspace() for c in text) / len(text)
    if ascii_ >= ENGLISH and words >= WORDS:
        yield kind, str(path), text


def files(folder: Path) -> list[Path]:
    """The regular files below a folder, sorted, without symbolic links."""
    paths = folder.rglob("*") if folder.is_dir() else ()
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


def plain_name(path: Path) -> str:
    """The name of a file without `.gz`."""
    return path.name.removesuffix(".gz")


def text_of(path: Path) -> str:
    """The text of a file, unpacked; older ones are in Latin-1."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    text = re.sub("\0\b\\[[^]]*\0\b\\]", "", text)  # pictures and indices in info
    return "" if "\0" in text else text.replace("\r\n", "\n").replace("\f", "\n")


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: collect_text FOLDER [DOMAIN...]")
    main(Path(sys.argv[1]), sys.argv[2:] or ("general", "code"))
