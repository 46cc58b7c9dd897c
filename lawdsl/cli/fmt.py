"""`lawdsl fmt`: files of the language -> the same in the canonical style."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import click

from lawdsl.cli.options import as_json, finish, print_message, write
from lawdsl.core.diagnostics import Diagnostic, LawdslError


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Change nothing; exit 1 where a file would change.")
@click.option("--diff", is_flag=True, help="Print the changes instead of making them.")
@as_json
def fmt(files: tuple[str, ...], check: bool, diff: bool, as_json: bool) -> int:
    """Write files of laws, questions and pipelines in the one canonical style. FILE may be `-` for standard input."""
    from lawdsl.language.library import read
    from lawdsl.language.parser import parse
    from lawdsl.language.printer import print_document

    changed: list[str] = []
    lines: list[str] = []
    for name in files:
        before = _standard_input() if name == "-" else read(Path(name)).text
        document, mistakes = parse(before, name)
        # a line that could not be read would be lost in printing
        if any(d.severity == "error" for d in mistakes):
            raise LawdslError(mistakes)
        after = print_document(document)
        if name == "-" and not (check or diff):
            click.echo(after, nl=False)
        if after == before:
            continue
        changed.append(name)
        if diff:
            pieces = before.splitlines(True), after.splitlines(True)
            lines += difflib.unified_diff(*pieces, name, name)
        elif not check and name != "-":
            write(Path(name), after)

    def printed() -> None:
        if diff:
            click.echo("".join(lines), nl=False)
        for name in changed:
            if name != "-":
                print_message(f"{'would change' if check or diff else 'formatted'} {name}")

    ok = not (changed and (check or diff))
    return finish("fmt", {"changed": changed}, (), ok=ok, as_json=as_json, show=printed)


def _standard_input() -> str:
    """The text on standard input, as much of it as a file may have and one byte more.

    Raises:
        LawdslError: it is not UTF-8.
    """
    from lawdsl.language import size_limits

    try:
        # one byte more, so that a text that is too large is seen to be so and not cut
        return sys.stdin.buffer.read(size_limits.MAX_BYTES + 1).decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"standard input is not UTF-8 (byte {error.start})"
        raise LawdslError(Diagnostic("L0312", message, help="give UTF-8 text")) from None


COMMANDS = (fmt,)
