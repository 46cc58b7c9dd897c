"""`--fix`: apply the edits that messages suggest to the files of the command line."""

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
    """Apply the edits of messages to each file.

    A file is written only if some edit was made, and atomically.

    Args:
        names: the paths of laws, questions and pipelines.

    Returns:
        For each changed file its path and the messages whose edits were applied, as JSON.

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


def with_fixes(text: Text, folder: Path) -> str:
    """The text after the edits of its messages.

    Args:
        text: the text.
        folder: the folder in which the laws that it refers to are searched for first.
    """
    from lawdsl.language.fixes import fix_text
    from lawdsl.language.library import warnings_of

    return fix_text(text, partial(warnings_of, folder=folder)).text.text


def print_fixes(changed: Iterable[dict[str, Any]]) -> None:
    """Print what was changed to standard error, one line per edit.

    Args:
        changed: the result of `fix_files`.
    """
    for file in changed:
        for message in file["fixed"]:
            line, column = message["start"]
            print_message(f"fixed {file['file']}:{line}:{column}: {message['help']}")
