"""Command lines with the table before the law, which are refused before the table is parsed as a
law.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.formats import SUFFIXES

LAW_FIRST = ("fit", "trends", "measure", "compare", "pipeline", "predict")
LAWS_ONLY = ("check", "fmt", "show", "solve", "export", "report")  # no argument is a table
TAKE_FITS = ("predict", "export", "report")
GROUP = ["mixtures", "select"]
LAWS = (".law", ".json")
FLAGS = (
    "-q",
    "--quiet",
    "--check",
    "--diff",
    "--json",
    "--sarif",
    "--drop-bad",
    "--enforce",
    "--syntax",
    "--latex",
)


def swapped_arguments_diagnostic(arguments: Sequence[str]) -> Diagnostic | None:
    """The diagnostic for a command line with its table before its law, or without a law; else None."""
    start = 2 if list(arguments[:2]) == GROUP else 1
    if not arguments or start == 1 and arguments[0] not in (*LAW_FIRST, *LAWS_ONLY):
        return None
    if any(argument.partition("=")[0] == "--family" for argument in arguments):
        return None  # the laws of a family need not be named
    positions = [
        i
        for i, argument in enumerate(arguments[start:], start=start)
        if not argument.startswith("-")
        and "=" not in argument
        and (not arguments[i - 1].startswith("-") or arguments[i - 1] in FLAGS)
    ]
    laws_only = arguments[0] in LAWS_ONLY
    suspects = positions if laws_only else positions[:1]
    if arguments[0] == "solve":  # a table that does not exist is one to be written
        suspects = [i for i in positions if i == positions[0] or Path(arguments[i]).exists()]
    table = next((arguments[i] for i in suspects if _is_table(arguments[i])), None)
    if table is None:
        return None
    laws = [i for i in positions[1:] if _is_law(arguments[i])]
    if laws_only or not laws:
        message = f"{table} is a table, where a law or fit is expected"
        help = f"`lawdsl {arguments[0]} --help` says what stands where"
        if arguments[0] in TAKE_FITS:
            help = f"fit a law to it first: `lawdsl fit LAW {shlex.quote(table)} -o fit.json`"
        return Diagnostic("C0007", message, help=help)
    right = [*arguments[: laws[-1] + 1], table, *arguments[laws[-1] + 1 :]]
    del right[positions[0]]
    message = f"{table} is a table; write `lawdsl {shlex.join(right)}`"
    help = "the law comes first, or the fit, and the table after it"
    return Diagnostic("C0007", message, help=help)


def _is_table(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES


def _is_law(name: str) -> bool:
    from lawdsl.language.library import shipped

    shipped_names = (shipped(kind) for kind in ("law", "question", "pipeline"))
    return Path(name).suffix.lower() in LAWS or any(name in names for names in shipped_names)
