"""`lawdsl plot`: fit, law, sweep or table of runs -> figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from lawdsl.cli.options import as_json, bindings, finish, print_message
from lawdsl.cli.unused_parts import postpone_unused_parts
from lawdsl.core.diagnostics import Diagnostic, LawdslError, printable
from lawdsl.core.files import read_json
from lawdsl.core.optional_packages import needs
from lawdsl.core.output_files import check_writable, writing
from lawdsl.data.formats import FORMATS
from lawdsl.figures.kind_table import KINDS

OF_FITS = [kind for kind in KINDS if {"Fit", "Fits", "FitsByGroup"} & set(kind.results)]
NAMES = list(dict.fromkeys(kind.name for kind in OF_FITS))


def _kinds_text() -> str:
    """The kinds of figure, one line each, for the help."""
    width = max(len(kind.name) for kind in OF_FITS)
    return "\n".join(f"    {kind.name:{width}}  {kind.shows}" for kind in OF_FITS)


HELP = f"""Draw a figure of a fit, a law, a sweep or a table of runs.

    \b
    lawdsl plot fit.json -o fit.svg                   measured and fitted
    lawdsl plot fit.json --kind residuals -o r.pdf    .svg, .png, .pdf, .html or .json
    lawdsl plot fit.json x=D color=N                  options of this kind
    lawdsl plot fit.json --data runs.csv              all rows (a fit stores at most 256)
    lawdsl plot dcpt.l5                               the claims of a law with their verdicts
    lawdsl plot sweep.toml                            finished and planned runs, cost, losses
    lawdsl plot runs.csv                              the same for a table of runs
    lawdsl plot runs.csv 'N=params_m [Mparam]' 'D=tokens_b [Gtoken]' L=val_loss

    \b
    Kinds of figures of fits:
{_kinds_text()}

    Other commands draw their result with --plot FILE. In Python: fit.plot("residuals").
    """


@click.command("plot", help=HELP)
@click.argument("source", metavar="FIT.json|LAW|SWEEP.toml|TABLE")
@click.argument("options", nargs=-1, metavar="[OPTION=VALUE]...")
@click.option("--kind", type=click.Choice(NAMES), help="Kind of figure; see above.")
@click.option("--data", metavar="TABLE", help="The fitted table, to draw all of its rows.")
@click.option("--drop-bad", is_flag=True, help="Leave out rows of a table that are not runs.")
@click.option("-o", "--output", metavar="FILE", help="File to write.  [default: SOURCE-KIND.svg]")
@as_json
def plot(
    source: str,
    options: tuple[str, ...],
    kind: str | None,
    data: str | None,
    drop_bad: bool,
    output: str | None,
    as_json: bool,
) -> int:
    postpone_unused_parts()
    from lawdsl.figures.draw import draw
    from lawdsl.figures.figure import figure_format

    if output:  # before anything is computed
        check_writable(Path(output))
        figure_format(Path(output))
    given: dict[str, Any] = dict(bindings(options))
    if data:
        given["data"] = data
    if drop_bad:
        given["drop_bad"] = True
    drawn = _read(source)
    figure = draw(drawn, kind, **given)
    path = Path(output or f"{_name_of(source, drawn)}-{figure.kind}.svg")
    with writing(path):
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
    return finish("plot", result, figure.warnings, ok=True, as_json=as_json, show=printed)


def _read(source: str) -> Any:
    """The object to draw: the plan of a sweep, a table of runs, a law, or a fit."""
    from lawdsl.data.read import read_table
    from lawdsl.fitting.fits_by_group import FitsByGroup
    from lawdsl.fitting.result_by_label import load_fit
    from lawdsl.fitting.storage import FITS_BY_GROUP_SCHEMA
    from lawdsl.law.law import load

    suffix = Path(source).suffix.lower()
    if suffix == ".toml":
        return _plan(source)
    is_table = any(suffix in form.written or suffix in form.suffixes for form in FORMATS)
    if is_table:
        return read_table(source)
    is_law = suffix == ".law" or suffix != ".json" and not Path(source).exists()
    if is_law:
        return load(source)
    content = _content(source)
    _refuse_printed(source, content)
    if isinstance(content, Mapping) and content.get("schema") == FITS_BY_GROUP_SCHEMA:
        return FitsByGroup.load(source)
    return load_fit(source)


def _content(source: str) -> Any:
    """The document of a file; None where it has none: `load_fit` describes the problem."""
    try:
        return read_json(Path(source))
    except (OSError, ValueError):
        return None


def _refuse_printed(source: str, content: Any) -> None:
    """Refuse a document that another command printed, since that command draws its result.

    Raises:
        LawdslError: such a document (G0102).
    """
    if isinstance(content, Mapping) and {"command", "result"} <= content.keys():
        name = printable(str(content["command"]))[:40]
        message = f"this is what `lawdsl {name} --json` printed, not a fit"
        help = f"draw it when it is made, `lawdsl {name} … --plot FILE`, or write a report of it"
        if name == "fit":
            help = "write the fit to a file, `lawdsl fit … -o FIT.json`, and draw that"
        raise LawdslError(Diagnostic("G0102", message, place=source, help=help))


def _name_of(source: str, drawn: Any) -> str:
    """The base name of the file of a figure; names of laws contain dots."""
    from lawdsl.law.law import Law

    return drawn.name if isinstance(drawn, Law) else Path(source).stem


def _plan(path: str) -> Any:
    """The plan of a sweep on this machine; nothing is started."""
    needs("pydantic")
    from lawdsl.runners.sweeps.grid import orders_of
    from lawdsl.runners.sweeps.inputs import inputs_of
    from lawdsl.runners.sweeps.machine import at_once, this_machine
    from lawdsl.runners.sweeps.plan import plan_of
    from lawdsl.runners.sweeps.sweep import read_sweep

    sweep, machine = read_sweep(Path(path)), this_machine()
    inputs = inputs_of(sweep, machine=machine)
    try:
        jobs = at_once(machine, set(sweep.how.values()), None, 1)
    except LawdslError:  # a sweep for another machine
        jobs = 1
    orders = orders_of(sweep, inputs, machine)
    return plan_of(sweep, inputs, orders, machine, jobs, refuse=False)


COMMANDS = (plot,)
