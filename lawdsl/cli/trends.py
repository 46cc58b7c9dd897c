"""`lawdsl trends`: law, table -> the evidence for or against its claimed trends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from lawdsl.cli.options import (
    as_json,
    columns,
    finish,
    fit_options,
    numbers,
    plot_option,
    settings,
)


@click.command("trends")
@click.argument("law")
@click.argument("data")
@columns
@fit_options("where")
@click.option("--se", metavar="COLUMN", help="Column with standard errors of the output.")
@click.option(
    "--run",
    multiple=True,
    metavar="COLUMN",
    help="Columns that identify a run.  [default: `run` and `seed`, if the table has them]",
)
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Compare only rows that are equal in this column. Repeatable.",
)
@fit_options("drop_bad")
@settings
@plot_option
@click.option("-q", "--quiet", is_flag=True, help="Print only the counts.")
@as_json
def trends(
    law: str,
    data: str,
    options: Mapping[str, Any],
    se: str | None,
    run: tuple[str, ...],
    by: tuple[str, ...],
    settings: tuple[str, ...],
    plot: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Test the claims of LAW on the measurements in DATA, without a fit.

    \b
    ∂L/∂D < 0     compares neighbouring values of D, everything else being equal
    ∂²L/∂D∂r < 0  takes second differences over the smallest rectangles in D and r
    convex in r   compares each value with the line between its neighbours in r

    The command counts the differences as claimed, against the claim, and too small to tell (within
    about 2 standard errors, from --se or from runs repeated with other seeds). It describes where
    the differences against a claim are. If the loss rises with D at small shares, it estimates the
    share below which this happens, the inflection ratio.

    A law with index sets is tested on the rows of each label.

    The exit code is 1 if the table contradicts a claim: one difference is larger than noise alone
    produces in 1 of 100 tables, or the differences against the claim far outnumber the others.
    """
    from lawdsl.data.trends.trends import trends as observed
    from lawdsl.reporting.terminal import console
    from lawdsl.reporting.trends import show_trends

    result = observed(
        law,
        data,
        se=se,
        run=run,
        by=by,
        settings=numbers(settings, "--set"),
        **options,
    )
    return finish(
        "trends",
        result.to_json(),
        result.diagnostics,
        ok=result.ok,
        as_json=as_json,
        show=lambda: show_trends(result, console(), details=not quiet),
        plot=plot,
        record=result,
    )


COMMANDS = (trends,)
