"""English and Python from Python's own files, in documents of a few paragraphs.

    python -m lawdsl.runners.recipes.checkpoints.collect_text FOLDER

writes general.jsonl, the language reference, and code.jsonl, some packages of the library. A validation
set has one sample of each document, so the documents are short.
"""

from __future__ import annotations

import json
import pydoc_data.topics
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("asyncio", "email", "html", "http")
MIN_DOCUMENT_CHARACTERS = 400


def main(folder: Path) -> None:
    """Write the text of both domains into a folder, which is created."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, texts in (("general", pydoc_data.topics.topics.values()), ("code", _modules())):
        part = folder / f"{name}.part"
        with part.open("w", encoding="utf-8") as file:
            for text in texts:
                file.writelines(json.dumps({"text": piece}) + "\n" for piece in documents(text))
        part.replace(folder / f"{name}.jsonl")  # whole or not there


def documents(text: str) -> Iterator[str]:
    """Consecutive paragraphs of a text, of 400 characters or more together.

    Args:
        text: whose paragraphs are separated by empty lines.
    """
    paragraphs: list[str] = []
    for paragraph in text.split("\n\n"):
        paragraphs.append(paragraph)
        if sum(map(len, paragraphs)) >= MIN_DOCUMENT_CHARACTERS:
            yield "\n\n".join(paragraphs)
            paragraphs = []
    if paragraphs:
        yield "\n\n".join(paragraphs)


def _modules() -> Iterator[str]:
    home = Path(sysconfig.get_path("stdlib"))
    for package in PACKAGES:
        for path in sorted((home / package).glob("*.py")):
            yield path.read_text(encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: collect_text FOLDER")
    main(Path(sys.argv[1]))
