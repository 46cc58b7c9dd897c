"""The command fit."""

from __future__ import annotations

from pathlib import Path

import click

from lawdsl.cli.options import (
    Changes,
    as_json,
    bindings,
    changes,
    cpu_limit,
    finish,
    fit_option,
    numbers,
    quiet,
    tell,
    time_limit,
)
from lawdsl.cli.progress import progress
from lawdsl.core.diagnostics import Diagnostic, LawdslError


@click.command("fit")
@click.argument("law")
@click.argument("data")
@click.argument("columns", nargs=-1, metavar="[NAME=COLUMN]...")
@click.option("-o", "--output", metavar="FIT.json", help="Keep the fit in this file.")
@fit_option("where")
@fit_option("starts")
@click.option("--start", multiple=True, metavar="NAME=VALUE", help="One start, given by hand.")
@fit_option("objective")
@fit_option("delta")
@fit_option("drop_bad")
@fit_option("enforce")
@fit_option("weights")
@fit_option("run")
@fit_option("intervals")
@fit_option("level")
@fit_option("resamples")
@fit_option("seed")
@time_limit(3600.0, "the fit")
@changes
@quiet
@as_json
def fit(
    law: str,
    data: str,
    columns: tuple[str, ...],
    output: str | None,
    where: tuple[str, ...],
    starts: str,
    start: tuple[str, ...],
    objective: str | None,
    delta: float | None,
    drop_bad: bool,
    enforce: bool,
    weights: str | None,
    run: tuple[str, ...],
    intervals: str,
    level: float,
    resamples: int,
    seed: int,
    time_limit: float,
    changes: Changes,
    quiet: bool,
    as_json: bool,
) -> int:
    """Fit LAW to the table DATA (CSV, Parquet or SQLite).

    NAME=COLUMN binds a variable or the output of the law to a column of another name: L=loss.
    What the law claims is decided for the fitted values too, on the whole domain. Exits with 1
    where the fit is not trusted; it is written all the same.
    """
    from lawdsl.fitting.fit import fit as fitted
    from lawdsl.fitting.result_by_label import Fits
    from lawdsl.proof.identifiability import findings, freedom
    from lawdsl.reporting.fits import show_fits
    from lawdsl.reporting.terminal import console, say, show_fit

    if output and not Path(output).resolve().parent.is_dir():
        message = "there is no such folder"
        raise LawdslError(Diagnostic("F0108", message, place=output, help="make it first"))
    read = changes.law(law)
    labels_known = not (as_json or read.indexed)  # of index sets, only a table says the labels
    earlier = findings(read, freedom(read), "error") if labels_known else []
    say(earlier)  # before a search for values that mean nothing
    cheaper = "fewer --starts or --resamples take less"
    with (
        progress(quiet or as_json, "starts") as report,
        cpu_limit(time_limit, "the fit", cheaper),
    ):
        fitted_law = fitted(
            read,
            data,
            starts=numbers(start, "--start") if start else _count(starts),
            objective=objective,
            delta=delta,
            where=where,
            drop_bad=drop_bad,
            enforce=enforce,
            weights=weights,
            run=run,
            intervals=intervals,
            level=level,
            resamples=resamples,
            seed=seed,
            progress=report,
            columns=bindings(columns),
        )
    if output:
        fitted_law.save(output)

    def printed() -> None:
        if isinstance(fitted_law, Fits):
            show_fits(fitted_law, console())
        else:
            show_fit(fitted_law, console())
        if output:
            tell(f"wrote {output}")

    ok = fitted_law.verdict != "not trusted"
    result = fitted_law.to_json()
    new_findings = [d for d in fitted_law.diagnostics if d not in earlier]
    return finish("fit", result, new_findings, ok=ok, as_json=as_json, show=printed)


def _count(starts: str) -> int | str:
    return int(starts) if starts.isdigit() else starts


COMMANDS = (fit,)
