"""`--fix`: the changes that messages advise, made in the files of the command line."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from lawdsl.cli.options import print_message, write
from lawdsl.core.diagnostics import Text

STANDARD_INPUT = "-"


def fix_files(names: Iterable[str]) -> list[dict[str, Any]]:
    """Make the edits that messages carry, in each file.

    A file is written only where some edit was made, and whole or not at all.

    Args:
        names: the paths of laws, questions and pipelines.

    Returns:
        For each file that was changed its path and the messages whose advice was followed, as JSON.

    Raises:
        click.UsageError: the name of a shipped law, or standard input.
        LawdslError: a file that cannot be read or written.
    """
    from lawdsl.language.fixes import fix_text
    from lawdsl.language.library import locate, read, shipped_folder, warnings_of

    paths = [locate(name) for name in names]
    for name, path in zip(names, paths, strict=True):
        if name == STANDARD_INPUT or path.is_relative_to(shipped_folder()):
            message = f"--fix changes files: {name} is none of yours"
            raise click.UsageError(f"{message}; `lawdsl show {name}` prints a law that ships")
    changed = []
    for path in paths:
        result = fix_text(read(path), partial(warnings_of, folder=path.parent))
        if not result.fixed:
            continue
        write(path, result.text.text)
        changed.append({"file": str(path), "fixed": [d.to_json() for d in result.fixed]})
    return changed


def fixed(text: Text, folder: Path) -> str:
    """A text with the edits made that its messages carry.

    Args:
        text: the text.
        folder: where the laws that it names are searched for first.
    """
    from lawdsl.language.fixes import fix_text
    from lawdsl.language.library import warnings_of

    return fix_text(text, partial(warnings_of, folder=folder)).text.text


def print_fixes(changed: Iterable[dict[str, Any]]) -> None:
    """Print what was changed, a line each, to standard error.

    Args:
        changed: as `fix_files` returns it.
    """
    for file in changed:
        for message in file["fixed"]:
            line, column = message["start"]
            print_message(f"fixed {file['file']}:{line}:{column}: {message['help']}")
