"""`lawdsl design`: law or question, candidates, budget -> the runs to do next."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.design_loop import LoopEnd, LoopFiles, Step, report, run_loop
from lawdsl.cli.law_error import percentage_option
from lawdsl.cli.options import as_json, bindings, changes, finish, plot_option, print_message
from lawdsl.cli.pairs import split_pairs
from lawdsl.cli.progress import notice
from lawdsl.cli.values import value_in
from lawdsl.core.diagnostics import LawdslError
from lawdsl.language.label_texts import split_list

if TYPE_CHECKING:
    from lawdsl.designing.runs.pool import Pool
    from lawdsl.designing.runs.records import Design
    from lawdsl.language.law_changes import LawChanges
    from lawdsl.law.law import Law

SWEEP_SUFFIX = ".toml"
NO_ANSWER = "N0107"
EXHAUSTED = 4  # exit code: not precise enough, and nothing more to run


@click.command("design")
@click.argument("arguments", nargs=-1, metavar="LAW|FIT.json [NAME=VALUE]...")
@click.option(
    "--candidates", required=True, metavar="SWEEP.toml|TABLE", help="The runs to choose from."
)
@click.option("--budget", required=True, metavar="COST", help="For all runs together: 1e21.")
@click.option("--runs", metavar="TABLE", help="The runs so far, to which the law is fitted.")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar='"NAME=VALUE ..."',
    help='A prediction to make precise: "N=70Gparam D=1.4Ttoken"; repeatable.',
)
@click.option("--question", metavar="QUESTION", help="Make its answer precise.")
@click.option(
    "--use",
    "uses",
    multiple=True,
    metavar='"NAME L=COLUMN ..."',
    help="Fit this law of the question to --runs, with these columns; repeatable.",
)
@percentage_option("--stop", "Half the 95 % interval that is precise enough: 1%.")
@click.option(
    "--rivals",
    multiple=True,
    metavar="LAW",
    help="Another law of these variables, without index sets; repeatable.",
)
@click.option("--cost", metavar="FORMULA", help="What a run costs, of columns; by default 6*N*D.")
@percentage_option("--wrong", "The error of the law per decade.  [default: 2%, or as it was seen]")
@click.option("--where", multiple=True, metavar="CONDITION", help="Use these rows only.")
@changes
@click.option("--most", type=click.IntRange(min=1), help="The largest number of runs in the batch.")
@click.option("--no-repeats", is_flag=True, help="Measure no setting again.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write the batch: a sweep for `lawdsl run`, or a table."
)
@click.option(
    "--loop",
    is_flag=True,
    help="Run each batch and go on, until the target is precise or the budget spent.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Number of runs in parallel, with --loop.")
@plot_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@as_json
def design(
    arguments: tuple[str, ...],
    candidates: str,
    budget: str,
    runs: str | None,
    targets: tuple[str, ...],
    question: str | None,
    uses: tuple[str, ...],
    stop: float | None,
    rivals: tuple[str, ...],
    cost: str | None,
    wrong: float | None,
    where: tuple[str, ...],
    changes: LawChanges,
    most: int | None,
    no_repeats: bool,
    output: str | None,
    loop: bool,
    jobs: int | None,
    plot: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Choose the next runs for a precise prediction or answer.

    \b
    lawdsl design chinchilla --candidates sweep.toml --budget 1e20 -o first.toml
    lawdsl design chinchilla L=loss --runs runs.csv --candidates sweep.toml \\
        --target "N=70Gparam D=1.4Ttoken" --budget 1e21 --stop 1% -o next.toml
    lawdsl design fit.json --candidates runs.csv --target "N=70B D=1.4T" --budget 1e21
    lawdsl design --question dcpt.tradeoff general=g.json domain=d.json N=7 D=50 L0=2.8 T=3% \\
        --candidates sweep.toml --budget 3e20 -o next.toml
    lawdsl design --loop chinchilla L=loss --candidates sweep.toml --target "N=70B D=1.4T" \\
        --budget 1e21 --stop 1%

    LAW NAME=COLUMN is fitted to --runs; before the first runs the batch is cheap runs from which the
    law can be fitted. A candidate is a cell of a sweep's grid, or a row of a table (rows that share
    `run` are one run). Those that are done count as spent.

    The batch is chosen by the expected drop of the variance of the target, under a law that may be
    wrong by --wrong, for the square root of the cost; where the runs determine no target yet, it is
    spread over the candidates. Batches grow with what is spent. The interval of a predicted loss is that of what a run would measure.

    With --loop the batches are run, collected and fitted one after another. The same command goes on
    after any interruption. The table of the runs and the batch are kept beside the sweep, or in --runs
    and -o.

    Exits with 0 where the interval is within --stop, with 1 where it is not yet, with 4 where it is not
    and no run can follow; without --stop with 0 where there are runs to do next.
    """
    total = value_in("budget", (("FLOP", 1),), budget)
    _check_output(output, candidates)
    options: dict[str, Any] = {
        "budget": total,
        "stop": stop,
        "cost": cost,
        "discrepancy": wrong,
        "most": most,
        "repeats": not no_repeats,
    }
    if question is None and not arguments:
        raise click.UsageError("name a law, or a fit, or give a --question")
    if loop and question is None and not targets:
        raise click.UsageError('--loop ends when a target is precise: --target "N=70B D=1.4T"')
    if question is None:
        if uses:
            raise click.UsageError("--use is for the laws of a --question")
        step: Step = partial(
            _for_law, arguments, changes, candidates, targets, rivals, where, options
        )
    else:
        if targets or rivals or ((runs or changes) and not uses):
            message = "with --question leave --target and --rivals out; --runs and changes of a law need --use"
            raise click.UsageError(message)
        step = partial(
            _for_question, question, arguments, uses, changes, candidates, where, options
        )
    end = None
    if loop:
        end = _loop(step, arguments, question, candidates, runs, output, jobs, quiet or as_json)
        if end.design is None:
            report(end)
            return int(end.code or 1)
        result = end.design
    else:
        with notice(quiet or as_json, "reading the candidates, fitting, comparing batches"):
            result, pool = step(runs)
        if output is not None and result.runs:
            _write(result, pool, candidates, output)

    def printed() -> None:
        from lawdsl.reporting.designs import show_design
        from lawdsl.reporting.terminal import console

        show_design(result, console(), ended=end is not None)
        if end is not None:
            report(end)
        elif output is not None:
            no_runs = f"{output} is not written: there are no runs to do next"
            print_message(f"wrote {output}" if result.runs else no_runs)
        if plot and not result.runs:
            print_message(f"{plot} is not drawn: there are no runs to do next")
        sys.stdout.flush()

    result = replace(result, command=click.get_current_context().obj or "")
    ok = result.certain or (stop is None and (bool(result.runs) or end is not None))
    code = finish(
        "design",
        result.to_json(),
        result.warnings,
        ok=ok,
        as_json=as_json,
        show=printed,
        plot=plot if result.runs else None,
        record=result,
    )
    return EXHAUSTED if code == 1 and _ended_early(result, end) else code


def _ended_early(result: Design, end: LoopEnd | None) -> bool:
    """Whether the target is not precise enough, and no further run is worth its cost."""
    if end is None:
        return result.exhausted
    return end.code is None and result.stop is not None and not result.certain


def _check_output(output: str | None, candidates: str) -> None:
    """Refuse to write a sweep of what are no runs of a sweep."""
    if output is not None and output.endswith(SWEEP_SUFFIX):
        if not candidates.endswith(SWEEP_SUFFIX):
            raise click.UsageError(
                f"{output}: the candidates are no sweep; write a table, such as next.csv"
            )


def _loop(
    step: Step,
    arguments: Sequence[str],
    question: str | None,
    candidates: str,
    runs: str | None,
    output: str | None,
    jobs: int | None,
    silent: bool,
) -> LoopEnd:
    """Run the batches one after another."""
    from lawdsl.core.optional_packages import needs
    from lawdsl.data.write import written_format

    needs("pydantic")
    if not candidates.endswith(SWEEP_SUFFIX):
        raise click.UsageError(f"--loop runs the candidates of a sweep, not of {candidates}")
    fits = [text for text in arguments if text.endswith(".json")]
    if fits:
        given = (
            "name the law" if question is None else 'give the columns of its laws, --use "NAME L=…"'
        )
        raise click.UsageError(
            f"--loop fits to the runs as they come: instead of {fits[0]} {given}"
        )
    sweep = Path(candidates)
    table = Path(runs) if runs else sweep.with_name(f"{sweep.stem}-runs.csv")
    selection = Path(output) if output else sweep.with_name(f"{sweep.stem}-next{SWEEP_SUFFIX}")
    if selection.suffix != SWEEP_SUFFIX:
        raise click.UsageError(f"{output}: with --loop the batch is a sweep, such as next.toml")
    written_format(table)
    paths = LoopFiles(sweep, table, selection, silent)
    return run_loop(step, paths, (lambda text: None) if silent else print_message, jobs)


def _for_law(
    arguments: Sequence[str],
    changes: LawChanges,
    candidates: str,
    targets: Sequence[str],
    rivals: Sequence[str],
    where: Sequence[str],
    options: Mapping[str, Any],
    runs: str | None,
) -> tuple[Design, Pool]:
    """The design for predictions of a law, or a fit of it."""
    from lawdsl.designing.design import as_pool, design as designed
    from lawdsl.designing.runs.costs import inherited_conditions, on_other_columns
    from lawdsl.designing.runs.hypotheses import parts_of
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits, load_fit
    from lawdsl.law.law import load

    name, pairs = arguments[0], arguments[1:]
    if "=" in name:
        raise click.UsageError(f"{name}: begin with a law or a fit, or give a --question")
    is_fit = name.endswith(".json")
    if is_fit and changes:
        raise click.UsageError("a fit has its law: leave --set, --fix, --tie and --without out")
    subject: Any = load_fit(name) if is_fit else changes.apply(load(name))
    columns = dict(bindings(pairs)) if pairs else {}
    law: Law = subject
    bound, conditions = columns, tuple(where)
    if isinstance(subject, Fit | Fits):
        if runs is not None:
            raise click.UsageError(
                "a fit has its rows: give a law to fit --runs, or leave --runs out"
            )
        first = parts_of(subject)[0]
        law, bound = first.read_law(), {**first.data.columns, **columns}
        conditions = conditions or inherited_conditions(first)
    elif runs is not None:
        conditions = on_other_columns(where, [bound.get(q.name, q.name) for q in law.variables])
    _check_whole_target(law, targets, columns)
    pool = (
        _sweep_pool(candidates, conditions)
        if candidates.endswith(SWEEP_SUFFIX)
        else as_pool(candidates, law, bound, options["cost"], conditions)
    )
    if not targets and rivals:
        raise click.UsageError("--rivals judge a --target")
    result = designed(
        subject,
        pool,
        runs=runs,
        target=[_point(law, text) for text in targets],
        rivals=rivals,
        columns=columns,
        where=where,
        **options,
    )
    return result, pool


def _for_question(
    question: str,
    arguments: Sequence[str],
    uses: Sequence[str],
    changes: LawChanges,
    candidates: str,
    where: Sequence[str],
    options: Mapping[str, Any],
    runs: str | None,
) -> tuple[Design, Pool]:
    """The design for the answer to a question."""
    from lawdsl.cli.solve import fits_and_values
    from lawdsl.designing.design import as_pool, design_for_question, first_design
    from lawdsl.designing.runs.costs import inherited_conditions
    from lawdsl.designing.runs.question_fits import fits_of_uses, most_demanding, used_laws
    from lawdsl.fitting.result import Fit
    from lawdsl.language import library
    from lawdsl.solving.solve import Asked

    parsed, _ = library.question(question)
    fits, values = fits_and_values(parsed, arguments)
    several = [name for name, given in values.items() if len(given) > 1]
    if several:
        raise click.UsageError(f"{several[0]} has several values: a design is for one answer")
    if uses:
        if fits:
            raise click.UsageError(f"{next(iter(fits))} is given twice: as a fit, and with --use")
        used = used_laws(parsed, dict(_use(text) for text in uses), changes)
        law, columns = most_demanding(used).law, most_demanding(used).columns
        fits = fits_of_uses(used, runs, where) or {}
        if not fits:
            pool = (
                _sweep_pool(candidates, where)
                if candidates.endswith(SWEEP_SUFFIX)
                else as_pool(candidates, law, columns, options["cost"], where)
            )
            design = first_design(law, pool, options["budget"], runs, columns, where)
            if design is not None:
                return design, pool
    asked = Asked(parsed, **fits)
    first = next((fit for fit in asked.fits.values() if isinstance(fit, Fit)), None)
    if candidates.endswith(SWEEP_SUFFIX):
        pool = _sweep_pool(
            candidates, tuple(where) or (inherited_conditions(first) if first else ())
        )
    elif first is not None:
        conditions = tuple(where) or inherited_conditions(first)
        pool = as_pool(
            candidates, first.read_law(), first.data.columns, options["cost"], conditions
        )
    else:
        if fits:
            name = next(iter(fits))
            raise click.UsageError(
                f"`{name}` has a fit for each label, from which no design for a question can start: "
                "give the choice so far as a --target of the fit"
            )
        raise click.UsageError(f"give a fit of {', '.join(parsed.uses)}: NAME=FIT.json")
    point = {name: given[0] for name, given in values.items()}
    try:
        return design_for_question(asked, point, pool, **options), pool
    except LawdslError as error:
        if not uses or {d.code for d in error.diagnostics} != {NO_ANSWER}:
            raise
        # the runs so far give no answer: more of them, wherever they are
        design = first_design(law, pool, options["budget"], runs, columns, where, always=True)
        assert design is not None
        return design, pool


def _use(text: str) -> tuple[str, dict[str, str]]:
    """A law of a question as it is written, `general L=L_general`: its name, and its columns."""
    usage = click.UsageError(f'--use takes "NAME L=COLUMN ...", not {text!r}')
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that is not closed
        raise usage from None
    if not words or "=" in words[0]:
        raise usage
    name, *pairs = words
    return name, dict(bindings(pairs))


def _sweep_pool(path: str, where: Sequence[str]) -> Pool:
    """The cells of a sweep as candidates."""
    from lawdsl.core.optional_packages import needs

    needs("pydantic")
    from lawdsl.runners.sweeps.machine import this_machine
    from lawdsl.runners.tables.candidates import pool_of

    return pool_of(Path(path), this_machine(), where)


def _check_whole_target(law: Law, targets: Sequence[str], columns: Mapping[str, str]) -> None:
    """Refuse a target without its other values, which follow it without quotes.

    Raises:
        click.UsageError: NAME=VALUE of a variable that the last target lacks, where NAME=COLUMN is
            expected.
    """
    if not targets:
        return
    given = {name for _, name, _, _ in split_pairs(split_list(targets[-1], r"\s;"))}
    lacking = [q.name for q in law.variables if q.name not in given]
    values = [n for n in lacking if re.match(r"[-+]?[.0-9]", columns.get(n, "").strip())]
    if values:
        whole = " ".join((targets[-1].strip(), *(f"{name}={columns[name]}" for name in values)))
        raise click.UsageError(f'--target takes all values in one text: --target "{whole}"')


def _point(law: Law, text: str) -> dict[str, float]:
    """A target as it is written, `N=70Gparam D=1.4Ttoken` -> variable -> value."""
    units = {q.name: q.unit for q in law.variables}
    point = {}
    for _, name, equals, value in split_pairs(split_list(text, r"\s;")):
        if not equals:
            raise click.UsageError(f'--target takes "NAME=VALUE NAME=VALUE", not {text!r}')
        point[name] = value_in(name, units.get(name), value)
    return point


def _write(result: Design, pool: Pool, candidates: str, output: str) -> None:
    """Write the batch: a file that selects runs of the sweep, or rows of the table."""
    from lawdsl.core import files
    from lawdsl.core.output_files import writing

    if output.endswith(SWEEP_SUFFIX):
        from lawdsl.runners.tables.selection import selection_text

        text = selection_text(result, Path(candidates), Path(output))
        with writing(Path(output)):
            files.write(Path(output), text)
        return
    from lawdsl.data.write import write_rows

    # all columns of the candidates: a law has no need of the last share of a mixture, a run has
    names = [name for name in pool.table.columns if name not in ("run", "cost", "reason")]
    headers = [f"{n} [{u}]" if (u := pool.table.units.get(n)) else n for n in names]
    columns = {name: pool.table.texts(name) for name in names}
    ends = {label: pool.rows[i][pool.rows[i] >= 0][-1] for i, label in enumerate(pool.labels)}
    rows = [
        [run.label, *(columns[n][ends[run.label]] for n in names), run.cost, run.reason]
        for run in result.runs
    ]
    write_rows(Path(output), ["run", *headers, "cost", "reason"], rows)


COMMANDS = (design,)
