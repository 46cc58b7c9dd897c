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
@click.option("--se", metavar="COLUMN", help="The standard errors of the output.")
@click.option(
    "--run",
    multiple=True,
    metavar="COLUMN",
    help="What tells runs apart, and so repeats; `run` and `seed` where the table has them.",
)
@click.option(
    "--by", multiple=True, metavar="COLUMN", help="What else differs and is to be held equal."
)
@fit_options("drop_bad")
@settings
@plot_option
@click.option("-q", "--quiet", is_flag=True, help="The counts alone.")
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
    """Hold the trends that LAW claims against the table DATA, before any fit.

    \b
    ∂L/∂D < 0     each two neighbouring values of D at which all else is equal
    ∂²L/∂D∂r < 0  the corners of each smallest rectangle in D and r
    convex in r   each value of r with the line between its neighbours

    Counts the differences that go as claimed, that go against it, and that are too small to tell:
    within 2 standard errors, which come from --se or from repeats (other seeds). Says where those
    against are: up to which value of which variable; and where a loss rises with D at small shares,
    estimates the share below which it does, the inflection ratio.
    Exits with 1 where the table contradicts a claim: a difference against it is larger than
    chance makes one in 100 tables, or those against far outnumber the others.
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
