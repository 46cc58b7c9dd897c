"""The commands fit and predict."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.choices import METHODS
from lawdsl.cli.options import (
    Changes,
    as_json,
    bindings,
    changes,
    delta,
    drop_bad,
    finish,
    measured,
    numbers,
    objective,
    quiet,
    seed,
    tell,
    where,
)
from lawdsl.cli.progress import progress
from lawdsl.diagnostics import Diagnostic, LawdslError

if TYPE_CHECKING:
    from lawdsl.law import Quantity


@click.command("fit")
@click.argument("law")
@click.argument("data")
@click.argument("columns", nargs=-1, metavar="[NAME=COLUMN]...")
@click.option("-o", "--output", metavar="FIT.json", help="Keep the fit in this file.")
@where
@click.option(
    "--starts",
    default="auto",
    show_default=True,
    metavar="auto|N|declared",
    help="How many starts the engine chooses (auto: until several agree), or those of the file.",
)
@click.option("--start", multiple=True, metavar="NAME=VALUE", help="One start, given by hand.")
@objective
@delta
@drop_bad
@click.option(
    "--enforce",
    is_flag=True,
    help="Where a claim fails on the fitted values, fit again under bounds that keep it.",
)
@click.option(
    "--weights", metavar="COLUMN", help="How many rows a row stands for; 0 leaves it out."
)
@click.option(
    "--run",
    multiple=True,
    metavar="COLUMN",
    help="Which training run a row comes from; several together.",
)
@click.option(
    "--intervals",
    default="delta",
    show_default=True,
    type=click.Choice(METHODS),
    help="How the intervals of the parameters are found.",
)
@click.option("--level", default=0.95, show_default=True, help="Of the intervals.")
@click.option("--resamples", default=1000, show_default=True, help="Fits of a bootstrap.")
@seed
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
    from lawdsl.reporting.terminal import console, say, show_fit
    from lawdsl.symmetries import findings, freedom

    if output and not Path(output).resolve().parent.is_dir():
        message = "there is no such folder"
        raise LawdslError(Diagnostic("F0108", message, place=output, help="make it first"))
    read = changes.law(law)
    said = [] if as_json else findings(read, freedom(read), "error")
    say(said)  # before a search for values that mean nothing
    with progress(quiet or as_json, "starts") as report:
        found = fitted(
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
        found.save(output)

    def printed() -> None:
        show_fit(found, console())
        if output:
            tell(f"wrote {output}")

    ok = found.verdict != "not trusted"
    result = found.to_json()
    left = [d for d in found.diagnostics if d not in said]
    return finish("fit", result, left, ok=ok, as_json=as_json, show=printed)


@click.command("predict")
@click.argument("fit")
@click.argument("arguments", nargs=-1, required=True, metavar="[TABLE] [NAME=VALUE[,VALUE...]]...")
@click.option("-o", "--output", metavar="FILE.csv", help="Write the predictions to this file.")
@as_json
def predict(fit: str, arguments: tuple[str, ...], output: str | None, as_json: bool) -> int:
    """Predict with a fit: at given values, or on the rows of a table.

    \b
    lawdsl predict fit.json N=7e9 D=1e11,1e12       every combination of the values
    lawdsl predict fit.json D=2Ttoken N=7Gparam     values in other units
    lawdsl predict fit.json runs.csv N=params       a table; NAME=COLUMN binds columns

    Warns where a value lies outside the range that was fitted.
    """
    from lawdsl.data.tables import read_table
    from lawdsl.fitting.fitted import Fit
    from lawdsl.reporting.terminal import console, show_rows

    read = Fit.load(fit)
    law = read.read_law()
    table, pairs = (None, arguments) if "=" in arguments[0] else (arguments[0], arguments[1:])
    if table is not None:
        data = read_table(table)
        predicted, warnings = read.predict_with_warnings(data, **bindings(pairs))
        headers = [*data.columns, f"{law.output} predicted"]
        cells = [data.texts(name) for name in data.columns]
        rows = [
            [*row, float(p)] for row, p in zip(zip(*cells, strict=True), predicted, strict=True)
        ]
    else:
        given = _points(law.variables, bindings(pairs))
        names = [q.name for q in law.variables]
        grid = list(itertools.product(*(given[name] for name in names)))
        columns = dict(zip(names, zip(*grid, strict=True), strict=True))
        predicted, warnings = read.predict_with_warnings(columns)
        headers = [*names, law.output]
        rows = [[*map(float, point), float(p)] for point, p in zip(grid, predicted, strict=True)]
    if output:
        _write_rows(Path(output), headers, rows)

    def printed() -> None:
        if output:
            tell(f"wrote {output}")
        else:
            show_rows(headers, rows, console())

    result = {
        "law": law.name,
        "columns": headers,
        "rows": rows,
        "predictions": [float(p) for p in predicted],
    }
    return finish("predict", result, warnings, ok=True, as_json=as_json, show=printed)


def _count(starts: str) -> int | str:
    return int(starts) if starts.isdigit() else starts


def _points(variables: tuple[Quantity, ...], given: dict[str, str]) -> dict[str, list[float]]:
    """The values asked for, one list a variable, in the law's units."""
    names = [q.name for q in variables]
    for name in given:
        if name not in names:
            raise click.UsageError(f"the law has no variable {name!r}; it has {', '.join(names)}")
    missing = [name for name in names if name not in given]
    if missing:
        raise click.UsageError(f"no value for {', '.join(missing)}; write {missing[0]}=VALUE")
    return {
        q.name: [measured(q.name, q.unit, text) for text in given[q.name].split(",")]
        for q in variables
    }


def _write_rows(path: Path, headers: list[str], rows: list[list[Any]]) -> None:
    import csv
    import io

    from lawdsl.cli.files import write

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows([[repr(x) if isinstance(x, float) else x for x in row] for row in rows])
    write(path, text.getvalue())


COMMANDS = (fit, predict)
