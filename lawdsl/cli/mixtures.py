"""`lawdsl halving`, `spread`, `select`: available tokens, or fits -> mixtures to train on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.options import (
    as_json,
    changes,
    columns,
    finish,
    options_of_each_fit,
    print_message,
    table_option,
)
from lawdsl.cli.progress import progress
from lawdsl.core.output_files import check_writable

if TYPE_CHECKING:
    from lawdsl.designing.domains import Domain
    from lawdsl.designing.result import Mixtures
    from lawdsl.designing.selection import SelectedMixtures
    from lawdsl.language.law_changes import LawChanges

output = table_option("-o", "--output", help="Write the table to this file")


def sampling_options(command: Callable[..., int]) -> Callable[..., int]:
    """The arguments of commands that sample mixtures, given the available tokens of domains.

    The command receives the domains, with their largest shares, as one value `domains`.
    """

    @wraps(command)
    def with_domains(*, domains: Any, target: Any, epochs: Any, caps: Any, **rest: Any) -> int:
        from lawdsl.designing.domains import read_domains

        domain_list = read_domains(domains, target=target, epochs=epochs, caps=caps)
        return command(domains=domain_list, **rest)

    for option in (
        as_json,
        output,
        click.option("--seed", default=0, show_default=True, help="Random seed."),
        click.option("--count", default=40, show_default=True, help="Number of mixtures."),
        click.option(
            "--cap",
            "caps",
            multiple=True,
            metavar="DOMAIN=SHARE",
            help="Largest share of a domain.",
        ),
        click.option(
            "--epochs", default="1", show_default=True, help="How often each token may be repeated."
        ),
        click.option("--target", metavar="TOKENS", help="Tokens of the training run: 1T."),
        click.argument("domains", nargs=-1, required=True, metavar="DOMAIN[=TOKENS]..."),
    ):
        with_domains = option(with_domains)
    return with_domains


@click.group("mixtures")
def mixtures() -> None:
    """Choose mixtures of domains to train small models on.

    \b
    lawdsl mixtures halving web=3.2T code=400G books=100G --target 1T -o mixtures.csv
    lawdsl mixtures spread web code books --cap books=0.25 --count 32
    lawdsl mixtures select mixing.two_domain runs.csv L=loss --count 20 -o chosen.csv
    """


@mixtures.command("halving")
@click.option(
    "--grid", default="1/16", show_default=True, help="Smallest share; smaller ones become 0."
)
@sampling_options
def halving(
    domains: tuple[Domain, ...],
    count: int,
    grid: str,
    seed: int,
    output: str | None,
    as_json: bool,
) -> int:
    """Draw mixtures by repeatedly halving shares.

    \b
    lawdsl mixtures halving web=3.2T code=400G books=100G --target 1T -o mixtures.csv

    This is Algorithm 2 of the Data Mixing Laws. The share of a domain is its largest share, a half
    of it, a quarter, … or 0; the domain with the smallest supply gets the remainder. A quarter of
    the mixtures lacks some domain. The largest share is EPOCHS * TOKENS / TARGET, or 1 if TOKENS
    are not given. The columns r_DOMAIN sum to 1; `lawdsl fit LAW runs.csv r=r_*` binds them.
    """
    from lawdsl.designing.halving import halving as halved

    return _finish_design(halved(domains, count, grid=grid, seed=seed), output, as_json)


@mixtures.command("spread")
@click.option("--grid", default="1/4096", show_default=True, help="Shares are multiples of this.")
@sampling_options
def spread(
    domains: tuple[Domain, ...],
    count: int,
    grid: str,
    seed: int,
    output: str | None,
    as_json: bool,
) -> int:
    """Spread mixtures evenly over all admissible shares.

    \b
    lawdsl mixtures spread web=3.2T code=400G books=100G --target 1T --count 32

    The mixtures are scrambled Sobol points, uniform on the simplex of shares up to EPOCHS * TOKENS
    / TARGET. A power of 2 is the best --count. The first half of the mixtures is spread as evenly
    as all of them. A coarse --grid rounds some shares to 0.
    """
    from lawdsl.designing.space_filling import spread as spread_out

    return _finish_design(spread_out(domains, count, grid=grid, seed=seed), output, as_json)


@mixtures.command("select")
@click.argument("law")
@click.argument("data")
@columns
@output
@click.option("--count", default=20, show_default=True, help="Number of mixtures to choose.")
@click.option("--groups", default=200, show_default=True, help="Number of random groups to try.")
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Column that identifies a mixture.  [default: `mixture` if there is one, else the variables]",
)
@options_of_each_fit("where")
@changes
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
@as_json
def select(
    law: str,
    data: str,
    options: Mapping[str, Any],
    output: str | None,
    count: int,
    groups: int,
    by: tuple[str, ...],
    changes: LawChanges,
    quiet: bool,
    as_json: bool,
) -> int:
    """Choose the best subset of mixtures that a small model was trained on.

    \b
    lawdsl mixtures select mixing.two_domain runs.csv L=loss --count 20 -o chosen.csv

    DATA is the table of runs of all candidates. The command fits LAW to each of many random groups
    of COUNT mixtures, chooses the group whose fit has the smallest mean absolute error on all
    candidates, and writes its rows of DATA. The Data Mixing Laws choose 20 of 40 in this way, in
    order to train larger models on these mixtures only.
    """
    from lawdsl.designing.selection import select as chosen
    from lawdsl.law.law import load
    from lawdsl.reporting.mixtures import show_chosen
    from lawdsl.reporting.terminal import console

    # before the fits, which may take minutes and would be lost
    if output:
        check_writable(Path(output))
    with progress(quiet or as_json, "groups") as report:
        selection = chosen(
            changes.apply(load(law)),
            data,
            count=count,
            groups=groups,
            by=by,
            progress=report,
            **options,
        )

    _write_table(selection, output)

    def printed() -> None:
        if output:
            show_chosen(selection, console())
        _print_table(selection, output, f"{len(selection.table)} rows")

    warnings = selection.warnings
    return finish("mixtures", selection.to_json(), warnings, ok=True, as_json=as_json, show=printed)


def _finish_design(design: Mixtures, output: str | None, as_json: bool) -> int:
    """Write or print a table of mixtures; return the exit code."""
    _write_table(design, output)
    what = f"{len(design.shares)} of {design.candidates:,} mixtures"
    return finish(
        "mixtures",
        design.to_json(),
        design.warnings,
        ok=True,
        as_json=as_json,
        show=lambda: _print_table(design, output, what),
    )


def _write_table(result: Mixtures | SelectedMixtures, output: str | None) -> None:
    """Write the table of mixtures to the file named on the command line, if any."""
    if output:
        from lawdsl.data.write import write_rows

        notes, headers, rows = result.to_rows()
        write_rows(Path(output), headers, rows, notes)


def _print_table(result: Mixtures | SelectedMixtures, output: str | None, what: str) -> None:
    """Print a table of mixtures, or the name of the file that it was written to."""
    if output:
        print_message(f"wrote {output}, {what}")
    else:
        click.echo(result.to_csv(), nl=False)


COMMANDS = (mixtures,)
