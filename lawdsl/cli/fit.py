"""`lawdsl fit`: law, table -> its parameters with intervals, and FIT.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.options import (
    OF_ONE_FIT,
    as_json,
    changes,
    columns,
    count_of_starts,
    finish,
    fit_options,
    numbers,
    plot_option,
    print_message,
    quiet,
)
from lawdsl.cli.progress import progress
from lawdsl.cli.time_limits import cpu_limit, time_limit
from lawdsl.cli.unused_parts import postpone_unused_parts
from lawdsl.core.output_files import check_writable
from lawdsl.fitting.options import FitOptions

if TYPE_CHECKING:
    from lawdsl.core.diagnostics import Diagnostic
    from lawdsl.fitting.ensembles.ensemble import Ensemble
    from lawdsl.fitting.ensembles.kinds import EnsembleKind
    from lawdsl.fitting.fits_by_group import FitsByGroup
    from lawdsl.language.law_changes import LawChanges


priors = click.option(
    "--prior",
    "priors",
    multiple=True,
    metavar="PRIOR",
    help="A Gaussian prior, center +- standard deviation: 'log(alpha) = log(0.35) +- 0.35'; none: ignore "
    "the law's priors; published: use published values of a shipped law.",
)


@click.command("fit")
@click.argument("law")
@click.argument("data")
@columns
@click.option("-o", "--output", metavar="FIT.json", help="Write the fit to this file.")
@click.option(
    "--by",
    metavar="COLUMN[,COLUMN]",
    help="Fit the rows of each group separately: those with equal cells in the columns.",
)
@click.option(
    "--threads",
    "--processes",
    "processes",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Processes that share the fits of groups (--by), or of labels without common parameters. The "
    "result is the same for any number; --time-limit counts them together.",
)
@click.option(
    "--ensemble",
    metavar="KIND:MEMBERS",
    help="Fit many times and predict by the median: bag:30, subbag:30, starts:30 or boost:30 (AdaBoost.R2).",
)
@fit_options("where", "starts")
@click.option(
    "--start",
    multiple=True,
    metavar="NAME=VALUE",
    help="Start from one point only; repeat the option for each parameter. t[i,j]=0 is for all labels.",
)
@fit_options(*OF_ONE_FIT)
@time_limit(3600.0, "the fit")
@priors
@changes
@plot_option
@quiet
@as_json
def fit(
    law: str,
    data: str,
    output: str | None,
    by: str | None,
    processes: int,
    ensemble: str | None,
    options: Mapping[str, Any],
    start: tuple[str, ...],
    priors: tuple[str, ...],
    time_limit: float,
    changes: LawChanges,
    plot: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Fit LAW to the table DATA (CSV, Parquet or SQLite).

    NAME=COLUMN binds a variable or the output of the law to a column: L=loss. A column may have a
    unit, "D=tokens_B [Gtoken]", or be a formula of columns, "N=10^log10_N".

    The command prints the parameters with two intervals: one for an exact law, from the noise of
    the rows, and a wider one for a law that is wrong by 2 % per decade. It decides the claims of the
    law at the fitted values, and reports problems of the fit. If the residuals have a pattern, it
    also fits the shipped laws of the same variables, and names those without a pattern.

    With --by, each group of rows has its own fit, and the command prints one row for each. A group that
    cannot be fitted does not end the others.

    With --ensemble, the law is also fitted to samples of the rows, and `lawdsl predict` gives the
    median of these fits and their spread.

    The exit code is 1 if a fit is not trusted, or a group was not fitted; the file is written nevertheless.
    """
    postpone_unused_parts()
    from lawdsl.comparing.rival_laws import with_rival_laws
    from lawdsl.fitting.algebra_cache import cached_between_commands
    from lawdsl.fitting.fit import fit_with
    from lawdsl.fitting.fit_many import fit_groups
    from lawdsl.fitting.preparation.prepare import symmetries_of
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits
    from lawdsl.law.law import load
    from lawdsl.proof.identifiability import findings
    from lawdsl.reporting.fits import show_fits
    from lawdsl.reporting.terminal import console, print_diagnostics, show_fit

    # before the fit, which may take minutes and would be lost
    if output:
        check_writable(Path(output))
    kind = None if ensemble is None else _ensemble(ensemble, by, plot, processes)
    read = replace(changes, priors=priors).apply(load(law))
    if by is None and processes > 1 and not read.indexed:
        message = f"--threads share the fits of groups or labels, and `{read.name}` is one fit"
        raise click.UsageError(f"{message}: leave it out, or name the groups: --by COLUMN")
    # the labels of index sets are known from a table only, and priors may determine what no rows
    # can
    is_known = not (as_json or read.indexed or read.priors)
    with cached_between_commands():
        earlier = findings(read, symmetries_of(read), "error") if is_known else []
    print_diagnostics(earlier)  # before a search for values that may have no meaning
    cheaper = "fewer --starts or --resamples take less"
    counted = "groups" if by else "members" if kind else "starts"
    with (
        progress(quiet or as_json, counted) as report,
        cached_between_commands(),
        cpu_limit(time_limit, "the fit", cheaper),
    ):
        starts = numbers(start, "--start") if start else count_of_starts(options["starts"])
        record = FitOptions(**{**options, "starts": starts}, progress=None if by else report)
        if by is not None:
            groups = fit_groups(read, data, _columns(by), record, processes, report)
            return _finish_groups(groups, output, as_json, plot)
        if kind is not None:
            from lawdsl.fitting.ensembles.fit_ensemble import ensemble_with

            result_of_many = ensemble_with(read, data, kind, record)
            return _finish_ensemble(result_of_many, output, earlier, as_json)
        fitted_law = fit_with(read, data, record, processes)
        if isinstance(fitted_law, Fit):
            fitted_law = with_rival_laws(
                fitted_law, read, data, record, named=law, settings=changes.settings
            )
    if output:
        fitted_law.save(output)

    def printed() -> None:
        if isinstance(fitted_law, Fits):
            show_fits(fitted_law, console())
        else:
            show_fit(fitted_law, console())
        if output:
            print_message(f"wrote {output}")

    ok = fitted_law.verdict != "not trusted"
    result = fitted_law.to_json()
    new_findings = [d for d in fitted_law.diagnostics if d not in earlier]
    return finish(
        "fit",
        result,
        new_findings,
        ok=ok,
        as_json=as_json,
        show=printed,
        plot=plot,
        record=fitted_law,
    )


def _ensemble(text: str, by: str | None, plot: str | None, processes: int) -> EnsembleKind:
    """The kind of an ensemble.

    Raises:
        click.UsageError: options of other fits.
        LawdslError: an unknown kind.
    """
    from lawdsl.fitting.ensembles.kinds import parse_ensemble

    if by is not None:
        raise click.UsageError("--ensemble combines fits to the same rows: leave --by out")
    if plot is not None:
        raise click.UsageError("--plot draws one fit: leave it out, or --ensemble")
    if processes > 1:
        raise click.UsageError("the members of an ensemble share one process: leave --threads out")
    return parse_ensemble(text)


def _finish_ensemble(
    ensemble: Ensemble, output: str | None, earlier: Sequence[Diagnostic], as_json: bool
) -> int:
    """Write and print an ensemble."""
    from lawdsl.reporting.ensembles import show_ensemble
    from lawdsl.reporting.terminal import console

    if output:
        ensemble.save(output)

    def printed() -> None:
        show_ensemble(ensemble, console())
        if output:
            print_message(f"wrote {output}")

    ok = ensemble.verdict != "not trusted"
    result = ensemble.to_json() if as_json else None
    new_findings = [d for d in ensemble.diagnostics if d not in earlier]
    return finish("fit", result, new_findings, ok=ok, as_json=as_json, show=printed)


def _columns(by: str) -> tuple[str, ...]:
    """The columns of `--by`.

    Raises:
        click.UsageError: an empty name.
    """
    columns = tuple(column.strip() for column in by.split(","))
    if not all(columns):
        raise click.UsageError("--by names a column, or several with commas between them")
    return columns


def _finish_groups(fits: FitsByGroup, output: str | None, as_json: bool, plot: str | None) -> int:
    """Write, print and draw the fits of many groups."""
    from lawdsl.reporting.fits_by_group import findings_by_group, show_fits_by_group
    from lawdsl.reporting.terminal import console

    if output:
        fits.save(output)

    def printed() -> None:
        show_fits_by_group(fits, console())
        if output:
            print_message(f"wrote {output}")

    ok = fits.verdict != "not trusted"
    result = fits.to_json() if as_json else None
    return finish(
        "fit",
        result,
        findings_by_group(fits),
        ok=ok,
        as_json=as_json,
        show=printed,
        plot=plot,
        record=fits,
    )


COMMANDS = (fit,)
