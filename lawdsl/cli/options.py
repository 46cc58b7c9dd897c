"""Options and arguments that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from lawdsl.diagnostics import Diagnostic
from lawdsl.reporting.documents import document

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
quiet = click.option("-q", "--quiet", is_flag=True, help="No progress, no proofs.")
settings = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another value for a setting of the law.",
)
without = click.option(
    "--without", multiple=True, metavar="BOUND", help='Leave a bound out: --without "C > C0".'
)


def numbers(pairs: Iterable[str], what: str) -> dict[str, float]:
    """NAME=VALUE arguments as numbers.

    Raises:
        click.UsageError: one of another form.
    """
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise click.UsageError(f"{what} takes NAME=NUMBER, not {pair!r}")
    return found


def changed_law(name: str, settings: Iterable[str], without: Iterable[str]) -> Any:
    """A law by name or path, with the settings and without the bounds of the command line."""
    from lawdsl.law import load

    law = load(name)
    values = numbers(settings, "--set")
    if values:
        law = law.with_settings(**values)
    for bound in without:
        law = law.without(bound)
    return law


def tell(message: str) -> None:
    """A message to standard error, after what was printed before it."""
    sys.stdout.flush()
    click.echo(message, err=True)


def finish(
    command: str,
    result: Any,
    diagnostics: Iterable[Diagnostic],
    *,
    ok: bool,
    as_json: bool,
    show: Callable[[], None],
) -> int:
    """Print a command's result in the form asked for; the exit code."""
    found = list(diagnostics)
    if as_json:
        click.echo(document(command, result, found, ok=ok))
    else:
        from lawdsl.reporting.terminal import say

        show()
        sys.stdout.flush()
        say(found)
    return 0 if ok else 1
