"""`lawdsl new`: a name -> a law or question file from a template."""

from __future__ import annotations

from pathlib import Path

import click

from lawdsl.cli.options import as_json, finish, write
from lawdsl.core.diagnostics import Diagnostic, LawdslError

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


@click.command("new")
@click.argument("name")
@click.option("-o", "--output", metavar="FILE", help="Where to write it; NAME.law otherwise.")
@click.option("--question", is_flag=True, help="Start a question about a fitted law instead.")
@as_json
def new(name: str, output: str | None, question: bool, as_json: bool) -> int:
    """Start a law file from a template that checks, fits and can be changed."""
    from lawdsl.core.diagnostics import Text
    from lawdsl.language.library import declared, declared_question, shipped
    from lawdsl.language.new_law import check_name

    path = Path(output or f"{name.rpartition('.')[2]}.law")
    text = (QUESTION if question else TEMPLATE).format(name=name)
    read = declared_question if question else declared
    check_name(name)
    read(Text(str(path), text), path.parent)  # the name must be that of the file
    # a law somebody has written is never overwritten
    if path.exists():
        help = "choose another name, or -o FILE"
        raise LawdslError(
            Diagnostic("L0313", "the file exists already", place=str(path), help=help)
        )
    write(path, text)
    warnings = []
    kind = "question" if question else "law"
    if name in shipped(kind):
        message = f"`{name}` is the name of a shipped {kind}, which it will hide in this folder"
        warnings.append(Diagnostic("L0313", message, "warning", place=str(path)))
    return finish(
        "new",
        {"path": str(path)},
        warnings,
        ok=True,
        as_json=as_json,
        show=lambda: click.echo(
            f"wrote {path}; next: lawdsl {'solve' if question else 'check'} {path}"
        ),
    )


COMMANDS = (new,)
