"""`lawdsl collect`: folders of runs -> the table that laws are fitted to."""

from __future__ import annotations

from pathlib import Path

import click

from lawdsl.cli.options import as_json, finish
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.core.optional_packages import needs
from lawdsl.data.formats import FORMATS


@click.command("collect")
@click.argument("sources", nargs=-1, required=True, metavar="FOLDER|SWEEP.toml|TABLE...")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help=f"Where to write the table: {disjunction(form.written[0] for form in FORMATS if form.written)}.",
)
@click.option(
    "--with-step-0",
    is_flag=True,
    help="Also keep the losses before training (D = 0), to which no law of D can be fitted.",
)
@click.option(
    "--note",
    "notes",
    multiple=True,
    metavar="TEXT",
    help="Write a comment at the top of the table, such as its source.",
)
@click.option(
    "--sample",
    metavar="METHOD",
    help="Keep only the checkpoints of a method: dense (M1), sparse (M2), sectional (M3), exponential (M4); "
    "with numbers: sectional:every=160,then=320,part=0.6.",
)
@as_json
def collect(
    sources: tuple[str, ...],
    output: str,
    with_step_0: bool,
    notes: tuple[str, ...],
    sample: str | None,
    as_json: bool,
) -> int:
    """Collect the losses of training runs in a table for `lawdsl fit`.

    Each evaluation is a row. The columns are variables of laws (N, D, r_CORPUS, L_VALIDATION), the
    step and further facts about the run. Diverged and unfinished runs are included; a column gives
    their status. For a SWEEP.toml the table contains the runs of its present grid.

    --sample thins the checkpoints of each run as a sparser schedule of evaluations would have. In
    evaluations of the run: M1 every one, M2 every 5th, M3 every 4th in the first 0.6 of the run and
    every 8th after it, M4 the x-th with probability exp(-0.02 x). The last one is always kept.
    Numbers are in steps: every, then, part of sectional; every, rate, seed of exponential. A TABLE
    with columns run and step is thinned in the same way.
    """
    needs("pydantic")
    from lawdsl.data.write import written_format
    from lawdsl.runners.tables.checkpoint_sampling import read_sampling
    from lawdsl.runners.tables.collect import collect as collected
    from lawdsl.runners.tables.files import write_table
    from lawdsl.runners.tables.recommendation import advise
    from lawdsl.runners.tables.thinning import is_table, thin

    path = Path(output)
    written_format(path)  # an invalid name is refused before the folders are read
    sampling = None if sample is None else read_sampling(sample)
    paths = [Path(source) for source in sources]
    if tables := [path for path in paths if is_table(path)]:
        if sampling is None or len(paths) > 1 or with_step_0:
            message = "a table has its runs already: it may be given alone, with --sample"
            help = f"lawdsl collect {tables[0]} --sample M2 -o {output}"
            raise LawdslError(Diagnostic("R0801", message, place=str(tables[0]), help=help))
        table = thin(tables[0], sampling, notes)
    else:
        table = collected(paths, step_0=with_step_0, notes=notes, sampling=sampling)
    write_table(path, table)
    result = {
        "path": str(path),
        "runs": table.runs,
        "rows": table.rows,
        "sampled_from": table.sampled_from,
        "sample": None if sampling is None else str(sampling),
        "columns": list(table.columns),
        "notes": list(table.notes),
    }
    # the grid of a table that others have made is unknown
    domains = [d for d in table.columns.get("domain", ()) if d and not tables]

    def show() -> None:
        of = "" if table.sampled_from is None else f"of {table.sampled_from:,} "
        click.echo(f"wrote {path}: {table.rows:,} {of}evaluations of {table.runs:,} runs")
        advice = advise(table, path, domains[0]) if domains else None
        if advice and advice.why:
            click.echo(advice.why)
        if advice and advice.command:
            click.echo(f"next: {advice.command}")

    return finish("collect", result, table.warnings, ok=True, as_json=as_json, show=show)


COMMANDS = (collect,)
