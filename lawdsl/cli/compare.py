"""`lawdsl compare`: laws, table -> their ranks by predictions of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.law_error import wrong
from lawdsl.cli.laws import laws_of_family
from lawdsl.cli.options import (
    as_json,
    bindings,
    changes,
    finish,
    on_interrupt,
    options_of_each_fit,
    plot_option,
    print_message,
)
from lawdsl.cli.progress import progress
from lawdsl.cli.time_limits import cpu_limit, time_limit
from lawdsl.cli.unused_parts import postpone_unused_parts
from lawdsl.core.output_files import check_writable
from lawdsl.fitting.options import FitOptions

if TYPE_CHECKING:
    from lawdsl.language.law_changes import LawChanges

OF_TABLE = {
    "axes": "--protocols",
    "losses": "--losses",
    "by": "--by",
    "processes": "--threads",
    "resume": "--resume",
    "form": "--to",
}
"""Options that concern a table of scores, by the parameters of the command."""


@click.command("compare")
@click.argument("arguments", nargs=-1, required=True, metavar="LAW... DATA [NAME=COLUMN]...")
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    metavar="KIND[:COLUMN]",
    help="Which rows are held out; see above. Repeatable.",
)
@click.option(
    "--cost",
    metavar="FORMULA",
    help="Cost of a row: a column, or a product or quotient of variables and columns.  [default: 6*N*D]",
)
@click.option(
    "--table",
    "as_table",
    is_flag=True,
    help="Print the scores in the layout of papers: a row for each law, no ranks.",
)
@click.option(
    "--protocols",
    "axes",
    metavar="AXIS[,AXIS]",
    help="With --table: N, D, r or domain, the protocols of the D-CPT paper along them; or protocols.",
)
@click.option(
    "--losses",
    metavar="NAME[,NAME]",
    help="With --table: fit L_NAME with r_NAME for each name; * in NAME=COLUMN is the name.",
)
@click.option(
    "--by",
    metavar="COLUMN[,COLUMN]",
    help="With --table: fit each group of rows separately; print each, and the averages.",
)
@click.option(
    "--threads",
    "--processes",
    "processes",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="With --table: processes that share the fits. The result is the same for any number.",
)
@click.option(
    "--resume",
    metavar="FILE",
    help="With --table: keep each finished cell in FILE, and do not compute those it has.",
)
@click.option(
    "--to",
    "form",
    type=click.Choice(["text", "markdown", "latex"]),
    default="text",
    show_default=True,
    help="With --table: how it is printed.",
)
@click.option(
    "--family",
    metavar="NAME",
    help="Add the shipped laws of a family that the columns of DATA can feed; see `lawdsl laws`.",
)
@wrong
@options_of_each_fit("where", "run")
@time_limit(3600.0, "all fits")
@changes
@plot_option
@click.option("-q", "--quiet", is_flag=True, help="Print only the ranks, and no progress.")
@as_json
def compare(
    arguments: tuple[str, ...],
    protocols: tuple[str, ...],
    cost: str | None,
    as_table: bool,
    family: str | None,
    wrong: float | None,
    options: Mapping[str, Any],
    time_limit: float,
    changes: LawChanges,
    plot: str | None,
    quiet: bool,
    as_json: bool,
    **of_table: Any,
) -> int:
    """Rank laws by how well they predict held-out rows of DATA.

    A protocol says which rows are held out and predicted by a fit to the others. A variable or a
    column follows the colon. In brackets: the name in papers.

    \b
    all               nothing is held out; laws are ranked by AICc
    splits            a random quarter of the rows, ten times
    leave-one-out:N   each value of N                          (leave-one-N-out)
    leave-two-out:r   each pair of values of r                 (r-7-of-9, domains-4-of-6)
    segments:D        each third of each curve                 (D-segments)
    growing:N         each value of N, from smaller ones only  (growing-N)
    continuing:D      the rest of each curve, from its start   (growing-D)
    largest:cost      the most expensive runs, from runs that cost at most 1/R as much,
                      R = 1, 3, 10; also largest:N

    Without --protocol, the protocols are chosen that the data allow. `largest` ranks by the
    interval score, which includes the error of the law (--wrong). Laws whose scores do not differ
    significantly share a rank. --set, --without, --fix and --tie apply to the laws that have this
    setting, bound or parameter. Laws with index sets are compared separately for each label.

    With --table, the scores are averaged over folds and groups, as in the tables of papers: --table
    --by domain --losses general,domain --protocols N,D,r. Huber's loss is given as a sum and as a
    mean; sums over different rows cannot be compared.

    The exit code is 1 if a law could not be fitted in some fold.
    """
    postpone_unused_parts()
    from lawdsl.comparing.compare import compare_with
    from lawdsl.comparing.protocol_options import ProtocolOptions
    from lawdsl.comparing.result import Comparisons
    from lawdsl.reporting.comparisons import show_comparison, show_comparisons
    from lawdsl.reporting.terminal import console

    names = [a for a in arguments if "=" not in a]
    if len(names) < 2 and (family is None or not names):
        raise click.UsageError("give one law or more, and then the table")
    *laws, data = names
    columns = bindings(a for a in arguments if "=" in a)
    if family is not None:
        laws += [name for name in laws_of_family(family, data, columns) if name not in laws]
    given = [name for name, value in (("--cost", cost), ("--wrong", wrong)) if value is not None]
    if given and not any(protocol.strip().startswith("largest") for protocol in protocols):
        message = f"{given[0]} concerns the largest runs: add --protocol largest:cost"
        raise click.UsageError(message)
    if as_table:
        if plot or protocols:
            wanted = "--plot draws ranks" if plot else "write --protocols all,N,D"
            raise click.UsageError(f"--table prints no ranks: {wanted}")
        record = FitOptions(**options, columns=columns)
        return _tabulate(laws, data, record, changes, time_limit, quiet, as_json, of_table)
    unused = [flag for name, flag in OF_TABLE.items() if of_table[name] not in (None, 1, "text")]
    if unused:
        raise click.UsageError(f"{unused[0]} concerns a table of scores: add --table")
    cheaper = "fewer laws, --starts or protocols take less"
    with (
        progress(quiet or as_json, "fits") as report,
        cpu_limit(time_limit, "the comparison", cheaper),
    ):
        record = FitOptions(**options, progress=report, columns=columns)
        held_out = ProtocolOptions(protocols or None, cost, wrong)
        comparison = compare_with(laws, data, held_out, changes, record)
    ok = not any(d.severity == "error" for d in comparison.diagnostics)

    def printed() -> None:
        if isinstance(comparison, Comparisons):
            show_comparisons(comparison, console())
        else:
            show_comparison(comparison, console(), details=not quiet)

    result = comparison.to_json()
    return finish(
        "compare",
        result,
        comparison.diagnostics,
        ok=ok,
        as_json=as_json,
        show=printed,
        plot=plot,
        record=comparison,
    )


def _tabulate(
    laws: list[str],
    data: str,
    options: FitOptions,
    changes: LawChanges,
    time_limit: float,
    quiet: bool,
    as_json: bool,
    of_table: Mapping[str, Any],
) -> int:
    """Print a table of scores."""
    from lawdsl.comparing.score_table import score_table_with
    from lawdsl.comparing.score_table_parts import ScoreTableOptions
    from lawdsl.reporting.score_tables import latex, markdown, show_score_table
    from lawdsl.reporting.terminal import console

    protocols, losses, by = (_listed(of_table[name]) for name in ("axes", "losses", "by"))
    for flag, names in (("--losses", losses), ("--by", by)):
        if of_table[flag[2:]] is not None and not names:
            raise click.UsageError(f"{flag} names no column")
    how = ScoreTableOptions(protocols or None, losses, by)
    resume = None if of_table["resume"] is None else Path(of_table["resume"])
    if resume is not None:
        check_writable(resume)
    kept = f"finished cells are kept in {resume}: the same command continues"
    cheaper = "fewer laws, --starts or protocols take less"

    def interrupted() -> None:
        if resume is not None:
            print_message(kept)

    with (
        progress(quiet or as_json, "cells") as report,
        cpu_limit(time_limit, "the table", kept if resume else cheaper),
        on_interrupt(interrupted),
    ):
        record = replace(options, progress=report)
        table = score_table_with(laws, data, how, changes, record, of_table["processes"], resume)
    ok = not any(d.severity == "error" for d in table.diagnostics)

    def printed() -> None:
        if of_table["form"] == "text":
            show_score_table(table, console())
        else:
            click.echo((markdown if of_table["form"] == "markdown" else latex)(table), nl=False)

    return finish(
        "compare", table.to_json(), table.diagnostics, ok=ok, as_json=as_json, show=printed
    )


def _listed(text: str | None) -> tuple[str, ...]:
    """The names of an option with commas between them."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


COMMANDS = (compare,)
