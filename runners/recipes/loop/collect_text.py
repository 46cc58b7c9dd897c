"""English and Python from what is installed: docstrings of the packages that train models, and Python's library.

    python -m lawdsl.runners.recipes.loop.collect_text FOLDER

writes general.jsonl and code.jsonl. Files are read in the order of their names, so that two runs with the
same packages write the same bytes.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("numpy", "scipy", "sympy", "torch", "transformers")
MAX_CHARACTERS = 5_500_000  # of each domain: enough for the longest run and the base models
MIN_DOCUMENT_CHARACTERS = 200
MAX_DOCUMENT_CHARACTERS = 100_000
WORDS = 0.75  # of the characters of a paragraph are letters or spaces: no tables, no formulas


def main(folder: Path) -> None:
    """Write the text of both domains into a folder, which is created."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, documents in (("general", english()), ("code", code())):
        written = 0
        with (folder / f"{name}.part").open("w", encoding="utf-8") as file:
            for text in documents:
                if written < MAX_CHARACTERS:
                    file.write(json.dumps({"text": text}) + "\n")
                    written += len(text)
        (folder / f"{name}.part").replace(folder / f"{name}.jsonl")  # whole or not there
        print(f"{name}: {written:,} characters")


def english() -> Iterator[str]:
    """The prose in the docstrings of each module, without examples, parameters and tables."""
    for package in PACKAGES:
        spec = find_spec(package)
        for place in spec.submodule_search_locations or () if spec else ():
            for path in sorted(Path(place).rglob("*.py")):
                text = "\n\n".join(_paragraphs(path))
                if len(text) >= MIN_DOCUMENT_CHARACTERS:
                    yield text


def _paragraphs(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError):
        return
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    seen = set[str]()
    for node in ast.walk(tree):
        for part in (
            (ast.get_docstring(node) or "").split("\n\n") if isinstance(node, kinds) else ()
        ):
            text = " ".join(part.split())
            words = sum(c.isalpha() or c.isspace() for c in text)
            prose = text.isascii() and len(text) > 40 and words >= WORDS * len(text)
            if prose and not re.search(r">>>|:param|---|::", text) and text not in seen:
                seen.add(text)
                yield text


def code() -> Iterator[str]:
    """The modules of Python's library, with their tests."""
    home = Path(sysconfig.get_path("stdlib"))
    for path in sorted(home.rglob("*.py")):
        if not {"site-packages", "dist-packages", "pydoc_data", "encodings"} & set(path.parts):
            text = path.read_bytes().decode("utf-8", errors="replace")
            if MIN_DOCUMENT_CHARACTERS <= len(text) <= MAX_DOCUMENT_CHARACTERS and text.isascii():
                yield text


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: collect_text FOLDER")
    main(Path(sys.argv[1]))
