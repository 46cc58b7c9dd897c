"""`lawdsl pipeline`: pipeline, table -> the fits and predictions of its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.options import (
    as_json,
    bindings,
    columns,
    finish,
    fit_options,
    plot_option,
    print_message,
)
from lawdsl.cli.progress import progress
from lawdsl.cli.time_limits import cpu_limit, time_limit
from lawdsl.cli.values import value_in
from lawdsl.core.output_files import check_writable, writing

if TYPE_CHECKING:
    from lawdsl.core.diagnostics import Diagnostic
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits
    from lawdsl.language.pipeline_records import Pipeline
    from lawdsl.pipelines.result import PipelineResult


@click.command("pipeline")
@click.argument("pipeline")
@click.argument("data", required=False)
@columns
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="The value of an input, or of a setting of the pipeline or its laws; several of one that "
    "only questions use: NAME=50,100.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Run all steps for each value of this column, such as the size of the model.",
)
@fit_options("where")
@click.option(
    "-o",
    "--output",
    metavar="FIT.json",
    help="Write the last fit to this file; several fits to FIT.1.json, …",
)
@click.option(
    "--save-tables",
    "folder",
    metavar="DIR",
    help="Write the fits and the predictions of each step as tables to this folder.",
)
@click.option(
    "--draws",
    default=200,
    show_default=True,
    help="Simulations of the noise, propagated through all steps, at least 50; 0: no intervals.",
)
@fit_options("level", "drop_bad", "seed", seed={"help": "Random seed."})
@time_limit(3600.0, "all steps")
@plot_option
@click.option("-q", "--quiet", is_flag=True, help="Print only the last step, and no progress.")
@as_json
def pipeline(
    pipeline: str,
    data: str | None,
    options: Mapping[str, Any],
    settings: tuple[str, ...],
    by: tuple[str, ...],
    output: str | None,
    folder: str | None,
    draws: int,
    time_limit: float,
    plot: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Fit law after law, each to the predictions of the previous one.

    \b
    lawdsl pipeline mixing.nested                        print the inputs that it needs
    lawdsl pipeline mixing.nested runs.csv L=loss S=step \\
        --set S_target=100000 --set N_target=1Gparam -o fit.json

    PIPELINE is the name of a shipped pipeline, or a file. DATA is the table for its first step.
    NAME=COLUMN binds a variable, the output or a group of any step to a column. The exit code is 1
    if a group is left out, a last fit is not trusted, a question is undecided, or a law is evaluated
    more than 100 times beyond its rows.
    """
    from lawdsl.language import library

    declared, _ = library.pipeline(pipeline)
    if data is None and plot:
        raise click.UsageError("--plot draws what the pipeline predicts: name a table")
    if data is None:
        return print_pipeline(declared, "pipeline", (), name=pipeline, as_json=as_json)
    from lawdsl.pipelines.result import PipelineResult
    from lawdsl.pipelines.run import run_pipeline
    from lawdsl.reporting.pipeline_answers import show_pipeline_answers
    from lawdsl.reporting.pipelines import show_pipeline
    from lawdsl.reporting.terminal import console

    if output and declared.branches:
        raise click.UsageError(f"{declared.name} ends with answers, not with a fit: --json has all")
    if folder and declared.branches:
        raise click.UsageError(f"{declared.name} has no tables between steps: --json has all rows")
    if output and declared.steps[-1].point:
        message = f"{declared.name} ends with predictions, not with a fit: --save-tables keeps them"
        raise click.UsageError(message)
    # before the steps, which may take minutes and would be lost
    if output:
        check_writable(Path(output))
    if folder:
        check_writable(Path(folder) / "table.csv" if Path(folder).is_dir() else Path(folder))
    values = _numbers(declared, settings)
    groups = [column.strip() for text in by for column in text.split(",") if column.strip()]
    with (
        progress(quiet or as_json, "fits") as report,
        cpu_limit(time_limit, "the pipeline", "fewer --draws take less"),
    ):
        result = run_pipeline(
            pipeline,
            data,
            settings=values,
            by=groups,
            draws=draws,
            progress=report,
            **options,
        )
    written = []
    if isinstance(result, PipelineResult):
        written = _write_results(result, output, folder)

    def printed() -> None:
        if isinstance(result, PipelineResult):
            show_pipeline(result, console(), details=not quiet)
        else:
            show_pipeline_answers(result, console(), details=not quiet)
        for path in written:
            print_message(f"wrote {path}")

    return finish(
        "pipeline",
        result.to_json(),
        result.diagnostics,
        ok=result.ok,
        as_json=as_json,
        show=printed,
        plot=plot,
        record=result,
    )


def print_pipeline(
    declared: Pipeline, command: str, warned: Sequence[Diagnostic], *, name: str, as_json: bool
) -> int:
    """Print a pipeline and the inputs that it requires, as the result of a command.

    Args:
        declared: the pipeline.
        command: the name of the command.
        warned: diagnostics.
        name: the name or file of the pipeline, for the printed command.
        as_json: whether to print JSON.

    Returns:
        The exit code.
    """
    from lawdsl.language.pipeline_records import QuestionStep
    from lawdsl.language.printer import print_unit
    from lawdsl.reporting.pipelines import show_needs
    from lawdsl.reporting.terminal import console

    def input_records(kind: str) -> list[dict[str, Any]]:
        return [
            {"name": s.name, "unit": print_unit(s.unit) if s.unit else None, "doc": s.doc}
            for s in declared.of_kind(kind)
        ]

    result = {
        "pipeline": declared.name,
        "title": declared.title,
        "sources": list(declared.sources),
        "notes": list(declared.notes),
        "text": declared.text.text,
        "givens": input_records("given"),
        "settings": input_records("setting"),
        "laws": [step.law.name for step in declared.steps],
        "questions": [
            step.question.name for step in declared.every_step if isinstance(step, QuestionStep)
        ],
        "columns": declared.names,
    }
    return finish(
        command,
        result,
        warned,
        ok=True,
        as_json=as_json,
        show=lambda: show_needs(declared, console(), name),
    )


def _numbers(declared: Pipeline, settings: Sequence[str]) -> dict[str, float | Sequence[float]]:
    """The values of NAME=VALUE in the units of the givens and settings; several of NAME=1,2."""
    units = declared.units
    values: dict[str, float | Sequence[float]] = {}
    for name, text in bindings(settings, "--set takes NAME=NUMBER").items():
        unit = units.get(name)
        factors = unit.factors if unit else None
        numbers = [value_in(name, factors, part) for part in text.split(",")]
        values[name] = numbers if len(numbers) > 1 else numbers[0]
    return values


def _write_results(result: PipelineResult, output: str | None, folder: str | None) -> list[str]:
    """Write the fits and tables that the command line asks for; return the paths."""
    from lawdsl.data.write import write_rows

    written = []
    if output:
        for path, fit in _fit_files(result, Path(output)):
            fit.save(path)
            written.append(str(path))
    if folder:
        with writing(Path(folder)):
            Path(folder).mkdir(exist_ok=True)
        for number, step in enumerate(result.steps, start=1):
            name = f"{number}_{step.law}"
            tables = {f"{name}_fits.csv": step.fits(), f"{name}.csv": step.columns()}
            for file, table in tables.items():
                if table:
                    path = Path(folder) / file
                    write_rows(path, table, zip(*table.values(), strict=True))
                    written.append(str(path))
    return written


def _fit_files(result: PipelineResult, path: Path) -> list[tuple[Path, Fit | Fits]]:
    """The last fits and their files: FIT.json for one, FIT.1.json, … for several."""
    if result.together is not None:
        return [(path, result.together)]
    if len(result.fits) == 1:
        return [(path, result.fits[0])]
    many = enumerate(result.fits, start=1)
    return [(path.with_suffix(f".{number}{path.suffix}"), fit) for number, fit in many]


COMMANDS = (pipeline,)
