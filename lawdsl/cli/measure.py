"""`lawdsl measure`: law, table of runs -> the table with its measured variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from lawdsl.cli.options import (
    as_json,
    columns,
    finish,
    fit_options,
    numbers,
    print_message,
    settings,
    table_option,
)
from lawdsl.core.diagnostics import Diagnostic, LawdslError


@click.command("measure")
@click.argument("law")
@click.argument("data")
@columns
@table_option("-o", "--output", help="Write the values to this file")
@fit_options("where")
@click.option(
    "--run",
    multiple=True,
    metavar="COLUMN",
    help="Columns that identify a run.  [default: `run` and `seed`, if the table has them]",
)
@fit_options("drop_bad")
@settings
@as_json
def measure(
    law: str,
    data: str,
    output: str | None,
    options: Mapping[str, Any],
    run: tuple[str, ...],
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Compute the variables that LAW measures from runs.

    Such a variable has one value per domain, and a `measure` line in the law says how it is computed
    from the table DATA:

    \b
    measure k1[d] = L(step = 1000)                  a line of a law: the loss after 1,000 steps
    lawdsl measure dcpt.cross_k3 runs.csv L=loss    prints k1 of each domain

    NAME=COLUMN binds a variable, the output, an index set or a name in the `measure` line to a
    column: d=corpus step=iteration. A warning says which domains were measured differently.
    """
    from lawdsl.data.measured_variables import check_names, measured
    from lawdsl.data.read import read_table
    from lawdsl.data.row_filter import parse_condition
    from lawdsl.language import library
    from lawdsl.reporting.measured_variables import cells, show_measured
    from lawdsl.reporting.terminal import console

    declared, _ = library.declarations(law)
    if not declared.measures:
        help = "write `measure k1[d] = L(step = 1000)` into it"
        message = f"`{declared.name}` does not say how to measure a variable"
        raise LawdslError(Diagnostic("D0136", message, place=declared.text.name, help=help))
    check_names(declared, options["columns"])
    table = read_table(data, options["columns"])
    for text in options["where"]:
        table = table.keep(parse_condition(text, table).holds(table))
    variables = measured(
        declared,
        table,
        options["columns"],
        run=run or None,
        drop_bad=options["drop_bad"],
        settings=numbers(settings, "--set"),
    )
    if output:
        from lawdsl.data.write import write_rows

        write_rows(Path(output), *cells(declared, variables, units=True))

    def printed() -> None:
        show_measured(declared, table.name, variables, console())
        if output:
            print_message(f"wrote {output}")

    result = {"law": declared.name, "data": table.name, **variables.to_json()}
    return finish("measure", result, variables.warnings, ok=True, as_json=as_json, show=printed)


COMMANDS = (measure,)
