"""`lawdsl fmt`: files of the language -> the same in the canonical style."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from lawdsl.cli.fixing import with_fixes
from lawdsl.cli.options import as_json, finish, print_message, write
from lawdsl.core.diagnostics import LawdslError


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file would change.")
@click.option(
    "--fix",
    is_flag=True,
    help="First apply the safe corrections that messages suggest.",
)
@click.option("--diff", is_flag=True, help="Print the changes instead of making them.")
@as_json
def fmt(files: tuple[str, ...], check: bool, fix: bool, diff: bool, as_json: bool) -> int:
    """Format the files of laws, questions and pipelines.

    FILE may be `-` for standard input.
    """
    from lawdsl.language.library import read
    from lawdsl.language.parser import parse
    from lawdsl.language.printer import print_document

    changed: list[str] = []
    lines: list[str] = []
    for name in files:
        text = read(Path(name))
        before = text.text
        source = with_fixes(text, Path(name).parent) if fix else before
        document, mistakes = parse(source, text.name)
        # a line that could not be parsed would be lost
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


COMMANDS = (fmt,)
