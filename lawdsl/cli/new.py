"""`lawdsl new`: a name -> a law or question file from a template."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.options import as_json, bindings, finish, write
from lawdsl.core.diagnostics import Diagnostic, LawdslError

if TYPE_CHECKING:
    from lawdsl.data.drafts.draft_law import Draft

TEMPLATE = """law {name} "What the law says, in a few words"
source    "Who, where, which equation"

variable  N > 0  unit param  "model size"
variable  D > 0  unit token  "training tokens"

parameter E, A, alpha, B, beta > 0

L = E + A/N^alpha + B/D^beta  unit nat/token  "validation loss"

require   L finite
require   ∂L/∂N < 0
require   ∂L/∂D < 0
"""

QUESTION = """question {name} "What is asked, in a few words"
source    "Who, where, which equation"

uses      loss : chinchilla
given     C > 0  unit FLOP              "compute budget"
setting   k = 6  unit FLOP/param/token  "compute of training, for each parameter and token"
choose    N > 0  unit param             "model size"
choose    D > 0  unit token             "training tokens"

minimize  loss(N, D)
subject to k*N*D = C  "compute"
"""

NEXT_COMMANDS = {"law": "check", "question": "solve", "pipeline": "pipeline"}
"""Kind of file -> the command that takes it, and without inputs prints those it needs."""


@click.command("new")
@click.argument("name")
@click.argument("columns", nargs=-1, metavar="[NAME=COLUMN]...")
@click.option("-o", "--output", metavar="FILE", help="File to write.  [default: NAME.law]")
@click.option("--question", is_flag=True, help="Write a question about a fitted law instead.")
@click.option(
    "--from",
    "source",
    metavar="DATA",
    help="Propose a law for the columns of this table (CSV, Parquet or SQLite).",
)
@click.option(
    "--like",
    metavar="NAME",
    help="Copy this law, question or pipeline, to change the copy: a shipped one or a file.",
)
@as_json
def new(
    name: str,
    columns: tuple[str, ...],
    output: str | None,
    question: bool,
    source: str | None,
    like: str | None,
    as_json: bool,
) -> int:
    """Write a law file to start from.

    \b
    lawdsl new my_law
    lawdsl new my_law --from runs.csv
    lawdsl new my_law --from runs.csv L=val_loss N=size
    lawdsl new my_law --like mixing.implicit

    Without --from the file is a template that passes `lawdsl check`. With --from, the variables and
    terms follow from the columns, their units and their scales; guesses are reported, and
    NAME=COLUMN overrides them. The command prints the next commands, with the bindings.
    """
    from lawdsl.core.diagnostics import Text
    from lawdsl.language import library
    from lawdsl.language.new_law import check_name, copy_text

    if question and source:
        raise click.UsageError("--from proposes a law, and --question starts a question: use one")
    if like and (question or source):
        raise click.UsageError(
            "--like copies a file, so it cannot be used with --from or --question"
        )
    bound = bindings(columns, "write NAME=COLUMN")
    if bound and not source:
        raise click.UsageError("NAME=COLUMN needs a table: --from DATA")
    name = name.removesuffix(".law")
    path = Path(output or f"{name.rpartition('.')[2]}.law")
    check_name(name)
    draft = _draft(name, source, bound) if source else None
    if like:
        kind, text = copy_text(like, name)
    else:
        kind = "question" if question else "law"
        text = draft.text if draft else (QUESTION if question else TEMPLATE).format(name=name)
    readers = {
        "law": library.declared,
        "question": library.declared_question,
        "pipeline": library.declared_pipeline,
    }
    readers[kind](Text(str(path), text), path.parent)  # the name must be that of the file
    # an existing law is never overwritten
    if path.exists():
        help = "choose another name, or -o FILE"
        raise LawdslError(
            Diagnostic("L0313", "the file exists already", place=str(path), help=help)
        )
    write(path, text)
    warnings = list(draft.warnings) if draft else []
    if name in library.shipped(kind):
        message = (
            f"`{name}` is also the name of a shipped {kind}: commands take that one for the name, and "
            "files in this folder that are built on it take this one"
        )
        warnings.append(Diagnostic("L0313", message, "warning", place=str(path)))
    commands = _next_commands(path, source, draft, kind)
    return finish(
        "new",
        {"path": str(path), **_record(draft), "next": commands},
        warnings,
        ok=True,
        as_json=as_json,
        show=lambda: _show(path, draft, commands),
    )


def _draft(name: str, source: str, bound: dict[str, str]) -> Draft:
    from lawdsl.data.drafts.draft_law import draft_law
    from lawdsl.data.read import read_table

    return draft_law(name, read_table(source), bound)


def _next_commands(path: Path, source: str | None, draft: Draft | None, kind: str) -> list[str]:
    commands = [shlex.join(["lawdsl", NEXT_COMMANDS[kind], str(path)])]
    if draft and source:
        fit = path.with_suffix(".json").name
        commands.append(
            shlex.join(["lawdsl", "fit", str(path), source, *draft.bindings, "-o", fit])
        )
        commands.append(shlex.join(["lawdsl", "report", fit]))
    return commands


def _record(draft: Draft | None) -> dict[str, Any]:
    if draft is None:
        return {}
    return {
        "columns": [
            {
                "column": column.name,
                "variable": column.variable or None,
                "binding": column.binding or None,
                "unit": column.unit or None,
                "guessed": column.guessed,
                "reason": column.reason or None,
            }
            for column in draft.columns
        ],
        "bindings": list(draft.bindings),
    }


def _show(path: Path, draft: Draft | None, commands: list[str]) -> None:
    if draft is None:
        click.echo(f"wrote {path}; next: {commands[0]}")
        return
    from lawdsl.core.diagnostics import printable
    from lawdsl.reporting.terminal import console, show_rows

    rows = []
    for column in draft.columns:
        if column.variable:
            unit = f" {column.unit}" if column.unit else ""
            guess = " (guessed)" if column.guessed else ""
            values = f"{column.lowest:.4g} to {column.highest:.4g}{unit}{guess}"
            rows.append([printable(column.name), column.variable, values])
        else:
            rows.append([printable(column.name), "-", printable(column.reason)])
    show_rows(["column", "variable", "values, or why it is left out"], rows, console())
    click.echo(f"wrote {path}; next:")
    for command in commands:
        click.echo(f"  {command}")


COMMANDS = (new,)
