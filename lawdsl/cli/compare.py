"""`lawdsl compare`: laws, table -> their ranks by predictions of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.law_error import wrong
from lawdsl.cli.laws import laws_of_family
from lawdsl.cli.options import (
    as_json,
    bindings,
    changes,
    cpu_limit,
    finish,
    options_of_each_fit,
    plot_option,
    time_limit,
)
from lawdsl.cli.progress import progress
from lawdsl.cli.unused_parts import postpone_unused_parts
from lawdsl.fitting.options import FitOptions

if TYPE_CHECKING:
    from lawdsl.language.law_changes import LawChanges


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
    family: str | None,
    wrong: float | None,
    options: Mapping[str, Any],
    time_limit: float,
    changes: LawChanges,
    plot: str | None,
    quiet: bool,
    as_json: bool,
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
    if family is not None:
        laws += [name for name in laws_of_family(family, data) if name not in laws]
    given = [name for name, value in (("--cost", cost), ("--wrong", wrong)) if value is not None]
    if given and not any(protocol.strip().startswith("largest") for protocol in protocols):
        message = f"{given[0]} concerns the largest runs: add --protocol largest:cost"
        raise click.UsageError(message)
    columns = bindings(a for a in arguments if "=" in a)
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


COMMANDS = (compare,)
