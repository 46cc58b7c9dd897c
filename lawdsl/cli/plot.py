"""`lawdsl plot`: fit -> figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lawdsl.cli.options import as_json, bindings, finish, print_message
from lawdsl.figures.kind_table import KINDS

OF_FITS = [kind for kind in KINDS if {"Fit", "Fits"} & set(kind.results)]
NAMES = list(dict.fromkeys(kind.name for kind in OF_FITS))


def _kinds_text() -> str:
    """The kinds of figure of fits, a line each, for the help."""
    width = max(len(kind.name) for kind in OF_FITS)
    return "\n".join(f"    {kind.name:{width}}  {kind.shows}" for kind in OF_FITS)


HELP = f"""Draw a figure of a fit.

    \b
    lawdsl plot fit.json -o fit.svg                   the first kind that it has
    lawdsl plot fit.json --kind residuals -o r.pdf    .svg, .png, .pdf, .html or .json
    lawdsl plot fit.json x=D color=N                  options of the kind
    lawdsl plot fit.json --data runs.csv              all rows, not those that the fit keeps

    \b
    The kinds:
{_kinds_text()}

    Commands that make a result draw it with --plot FILE. In Python: fit.plot("residuals").
    """


@click.command("plot", help=HELP)
@click.argument("fit")
@click.argument("options", nargs=-1, metavar="[OPTION=VALUE]...")
@click.option("--kind", type=click.Choice(NAMES), help="What is drawn.")
@click.option("--data", metavar="TABLE", help="The table that was fitted, to draw all its rows.")
@click.option(
    "-o", "--output", metavar="FILE", help="Where it is written.  [default: FIT-KIND.svg]"
)
@as_json
def plot(
    fit: str,
    options: tuple[str, ...],
    kind: str | None,
    data: str | None,
    output: str | None,
    as_json: bool,
) -> int:
    from lawdsl.figures.draw import draw
    from lawdsl.figures.figure import figure_format
    from lawdsl.fitting.result_by_label import load_fit

    if output:
        figure_format(Path(output))  # before anything is computed
    given: dict[str, Any] = dict(bindings(options))
    if data:
        given["data"] = data
    figure = draw(load_fit(fit), kind, **given)
    path = Path(output or f"{Path(fit).stem}-{figure.kind}.svg")
    figure.save(path)

    def printed() -> None:
        print_message(figure.title)
        for note in figure.notes:
            print_message(note)
        print_message(f"wrote {path}")

    result = {
        "file": str(path),
        "kind": figure.kind,
        "title": figure.title,
        "description": figure.description,
        "notes": list(figure.notes),
        "columns": list(figure.columns),
        "rows": len(next(iter(figure.columns.values()), ())),
    }
    return finish("plot", result, (), ok=True, as_json=as_json, show=printed)


COMMANDS = (plot,)
