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

    Line ends, LF or CR LF, stay as they are; mixed ones become those of most lines.

    FILE may be `-` for standard input.
    """
    from lawdsl.language.library import read
    from lawdsl.language.parser import parse
    from lawdsl.language.printer import print_like

    changed: dict[str, str] = {}
    lines: list[str] = []
    for name in files:
        text = read(Path(name))
        before = text.text
        source = with_fixes(text, Path(name).parent) if fix else before
        document, mistakes = parse(source, text.name)
        # a line that could not be parsed would be lost
        if any(d.severity == "error" for d in mistakes):
            raise LawdslError(mistakes)
        after = print_like(source, document)
        if name == "-" and not (check or diff):
            click.echo(after, nl=False)
        if after == before:
            continue
        old, new = (text.replace("\r\n", "\n") for text in (before, after))
        ends = "CR LF" if "\r\n" in after else "LF"
        changed[name] = f": only line ends differ; they become {ends}" if old == new else ""
        if diff:
            lines += difflib.unified_diff(old.splitlines(True), new.splitlines(True), name, name)
        elif not check and name != "-":
            write(Path(name), after)

    def printed() -> None:
        if diff:
            click.echo("".join(lines), nl=False)
        for name, what in changed.items():
            if name != "-":
                print_message(f"{'would change' if check or diff else 'formatted'} {name}{what}")

    ok = not (changed and (check or diff))
    return finish("fmt", {"changed": list(changed)}, (), ok=ok, as_json=as_json, show=printed)


COMMANDS = (fmt,)
