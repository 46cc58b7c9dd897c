"""`lawdsl collect`: folders of runs -> the table that laws are fitted to."""

from __future__ import annotations

from pathlib import Path

import click

from lawdsl.cli.options import as_json, finish
from lawdsl.core.enumerations import disjunction
from lawdsl.core.optional_packages import needs
from lawdsl.data.formats import FORMATS


@click.command("collect")
@click.argument("sources", nargs=-1, required=True, metavar="FOLDER|SWEEP.toml...")
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
@as_json
def collect(
    sources: tuple[str, ...], output: str, with_step_0: bool, notes: tuple[str, ...], as_json: bool
) -> int:
    """Collect the losses of training runs in a table for `lawdsl fit`.

    Each evaluation is a row. The columns are variables of laws (N, D, r_CORPUS, L_VALIDATION), the
    step and further facts about the run. Diverged and unfinished runs are included; a column gives
    their status. For a SWEEP.toml the table contains the runs of its present grid.
    """
    needs("pydantic")
    from lawdsl.data.write import written_format
    from lawdsl.runners.tables.collect import collect as collected
    from lawdsl.runners.tables.files import write_table
    from lawdsl.runners.tables.recommendation import advise

    path = Path(output)
    written_format(path)  # an invalid name is refused before the folders are read
    table = collected([Path(source) for source in sources], step_0=with_step_0, notes=notes)
    write_table(path, table)
    result = {
        "path": str(path),
        "runs": table.runs,
        "rows": table.rows,
        "columns": list(table.columns),
        "notes": list(table.notes),
    }
    domains = [d for d in table.columns.get("domain", ()) if d]

    def show() -> None:
        click.echo(f"wrote {path}: {table.rows:,} evaluations of {table.runs:,} runs")
        advice = advise(table, path, domains[0]) if domains else None
        if advice and advice.why:
            click.echo(advice.why)
        if advice and advice.command:
            click.echo(f"next: {advice.command}")

    return finish("collect", result, table.warnings, ok=True, as_json=as_json, show=show)


COMMANDS = (collect,)
