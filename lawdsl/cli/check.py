"""`lawdsl check`: laws -> verdicts on their claims, and what no data can determine."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import chain, zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from lawdsl import __version__
from lawdsl.cli.options import (
    as_json,
    changes,
    finish,
    on_interrupt,
    plot_option,
    quiet,
)
from lawdsl.cli.time_limits import Seconds

if TYPE_CHECKING:
    from lawdsl.core.diagnostics import Diagnostic
    from lawdsl.fitting.result import Fit
    from lawdsl.language.law_changes import LawChanges
    from lawdsl.law.law import Law
    from lawdsl.proof.verdict import Check, Verdict


NO_CLAIMS = "no claims: write some, `require ∂L/∂N < 0`"


class _Command(click.Command):
    """`--fix` without a value is `--apply-fixes`; `--fix NAME=VALUE` fixes a parameter, as for
    other commands.
    """

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        pairs = zip_longest(arguments, arguments[1:], fillvalue="")
        given = ["--apply-fixes" if a == "--fix" and "=" not in b else a for a, b in pairs]
        return super().parse_args(context, given)


@click.command("check", cls=_Command)
@click.argument("laws", nargs=-1, metavar="LAW...")
@click.option(
    "--fit",
    "fits",
    multiple=True,
    metavar="FIT.json",
    help="Decide the claims of a fit at its fitted values, on the whole domain of the variables.",
)
@click.option(
    "--syntax", is_flag=True, help="Check only syntax, names, domains and units; prove nothing."
)
@click.option(
    "--time-limit",
    default=1.0,
    show_default=True,
    type=Seconds(),
    metavar="SECONDS",
    help="CPU time per claim; a claim that takes longer is undecided.",
)
@click.option(
    "--total-time-limit",
    type=Seconds(),
    metavar="SECONDS",
    help="CPU time for all claims of a law; claims not reached are undecided.  [default: 60, or "
    "--time-limit if that is larger]",
)
@click.option(
    "--apply-fixes",
    is_flag=True,
    help="First apply the safe corrections that messages suggest. `--fix` without a value does the "
    "same.",
)
@click.option("--sarif", is_flag=True, help="Print findings as SARIF, the format of code scanners.")
@changes
@plot_option
@quiet
@as_json
def check(
    laws: tuple[str, ...],
    fits: tuple[str, ...],
    syntax: bool,
    time_limit: float,
    total_time_limit: float | None,
    apply_fixes: bool,
    sarif: bool,
    changes: LawChanges,
    plot: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Prove or refute the claims (`require` lines) of laws.

    LAW is the name of a shipped law, a file, or `-` for standard input. Questions and pipelines have
    no claims: only their syntax, names, domains and units are checked. The verdicts:

    \b
    proved          holds for all admissible parameters, on the whole domain
    proved inside   holds strictly except on a named face of the domain, with equality there
    conditional     holds if the parameters satisfy the printed condition
    refuted         fails at the printed point, which is verified exactly
    undecided       neither proved nor refuted within the time limit
    certified       with --fit: proved for the fitted parameter values

    The exit code is 1 if a verdict differs from the expected one: `proved`, unless the file says
    `expect`. After Ctrl-C the verdicts reached so far are printed.
    """
    if not laws and not fits:
        raise click.UsageError(
            "name a law, or a fit with --fit FIT.json; `lawdsl check -` reads standard input"
        )
    if (given := next((f for f in fits if f.endswith(".law")), None)) is not None:
        raise click.UsageError(
            f"--fit takes a fit, and {given} is a law: write `--fix {given}` to correct the file, "
            f"or leave --fit out, `lawdsl check {given}`"
        )
    if apply_fixes:
        from lawdsl.cli.fixing import fix_files, print_fixes

        print_fixes(fix_files(laws))
    if plot and (syntax or sarif):
        raise click.UsageError("--plot draws verdicts: leave --syntax and --sarif out")
    if syntax:
        return _check_syntax(laws, as_json=as_json)
    limits = (time_limit, total_time_limit)
    silent = as_json or sarif
    # all files are read first, so that a mistake in the last one is reported before the proofs
    others = _other_sections(laws)
    laws = tuple(name for name in laws if name not in others)
    if others and not (laws or fits or sarif):
        if plot:
            raise click.UsageError(f"--plot draws verdicts, and {next(iter(others))} has no claims")
        return _check_syntax(tuple(others), as_json=as_json, notes=others)
    if others and not silent:
        _check_syntax(tuple(others), as_json=False, notes=others)
    as_written = not (fits or plot or "-" in laws or any(asdict(changes).values()))
    if as_written and (kept := _kept_checks(laws, limits)) is not None:
        if not silent:
            for known in kept:
                _show_kept(known, proofs=not quiet)
        return _finish_check(kept, interrupted=False, sarif=sarif, as_json=as_json)
    from lawdsl.law.law import load
    from lawdsl.proof.whole_check import whole_check

    checks: list[Check] = []
    read = [changes.apply(load(name)) for name in laws]
    of_texts = [_warnings_of_text(name) for name in laws]
    if fits:  # which may be of several laws, or several of one
        of_texts = [tuple(chain(*of_texts))]
    to_check = list(_laws_and_values(read, fits))
    if plot and len(to_check) > 1:
        raise click.UsageError(f"--plot draws the claims of one law, not of {len(to_check)}")
    for number, (law, values) in enumerate(to_check):
        reporter = _VerdictReporter(law, show=not silent, proofs=not quiet)

        def so_far(reporter: _VerdictReporter = reporter) -> None:
            if silent:
                done = [*checks, reporter.so_far()]
                _finish_check(done, interrupted=True, sarif=sarif, as_json=as_json)

        with on_interrupt(so_far), reporter.at_work(fitted=values is not None):
            decided = whole_check(law, limits, values=values, on_verdict=reporter, keep=as_written)
            whole = replace(decided, law=_title_of(law))
            checks.append(_with_warnings(whole, *of_texts[number : number + 1]))
    return _finish_check(checks, interrupted=False, sarif=sarif, as_json=as_json, plot=plot)


def _kept_checks(names: Sequence[str], limits: tuple[float, float | None]) -> list[Check] | None:
    """The verdicts on laws as they are written; None unless the cache has those on all of them."""
    from lawdsl.language.library import declarations
    from lawdsl.proof.check_cache import kept_check

    found = []
    for name in names:
        known = kept_check(declarations(name)[0], limits)
        if known is None:
            return None
        found.append(known)
    return [
        _with_warnings(known, _warnings_of_text(name))
        for name, known in zip(names, found, strict=True)
    ]


def _with_warnings(check: Check, further: Sequence[Diagnostic] = ()) -> Check:
    from lawdsl.language.sections import without_unused

    return replace(check, warnings=without_unused(further, check.warnings))


def _show_kept(check: Check, *, proofs: bool) -> None:
    """Print verdicts as if they were decided one by one."""
    from lawdsl.reporting.terminal import console, show_verdict

    out = console()
    out.print(check.law, style="bold", markup=False)
    if not check.claims:
        out.print(NO_CLAIMS)
    width = max((len(verdict.claim) for verdict in check.claims), default=0)
    for verdict in check.claims:
        show_verdict(verdict, out, width=width, proofs=proofs)


def _other_sections(names: Sequence[str]) -> dict[str, str]:
    """The questions and pipelines among the files, which have no claims to prove, with what is done with
    them.

    Raises:
        LawdslError: with the mistakes in the first of them that has some.
    """
    from lawdsl.language.library import locate, pipeline, question, section_of

    readers = {"question": question, "pipeline": pipeline}
    uses = {
        "question": "lawdsl solve {} answers it",
        "pipeline": "lawdsl pipeline {} TABLE runs it",
    }
    found = {}
    for name in names:
        section = section_of(locate(name))
        if section in readers:
            readers[section](name)
            use = uses[section].format(shlex.quote(name))
            found[name] = f"; a {section} has no claims to prove: {use}"
    return found


def _warnings_of_text(name: str) -> tuple[Diagnostic, ...]:
    """The warnings about the text of a law."""
    from lawdsl.language.library import declarations

    return tuple(declarations(name)[1])


def _laws_and_values(
    read: Sequence[Law], fits: Sequence[str]
) -> Iterator[tuple[Law, dict[str, float] | None]]:
    """The laws to check, each with fitted values if it comes from a fit."""
    if not fits:
        yield from ((law, None) for law in read)
        return
    yield from _laws_of_fits(fits, read)


def _laws_of_fits(
    paths: Iterable[str], laws: Sequence[Law]
) -> Iterator[tuple[Law, dict[str, float]]]:
    """Yield the law and the fitted values of each fit, and of each label of one with index sets.

    Args:
        paths: the paths of fits.
        laws: the laws that the fits must belong to, one per fit, whose claims are then checked; if
            empty, any law is accepted.

    Returns:
        An iterator over laws and parameter -> value.

    Raises:
        LawdslError: a fit that cannot be read.
        click.UsageError: a fit of another law.
    """
    from lawdsl.fitting.result_by_label import Fits, load_fit

    for number, path in enumerate(paths):
        read = load_fit(path)
        read.read_law()  # raises an error if its parts are inconsistent
        for fit in read.parts if isinstance(read, Fits) else (read,):
            law = fit.read_law()
            # a single law is the law of all fits
            if laws:
                given_law = laws[min(number, len(laws) - 1)]
                law = _law_of_fit(
                    given_law, fit, f"{path} is a fit of {law.name}, not of {given_law.name}"
                )
            yield law, fit.values


def _law_of_fit(law: Law, fit: Fit, message: str) -> Law:
    """A law with the parameters of a fit: those fixed or tied in the fit, at its labels.

    Raises:
        click.UsageError: the law has other parameters.
    """
    law, instance = law.holding(fit.law.changes.statements), fit.law.instance
    if law.indexed == (instance is None):
        raise click.UsageError(message)
    instantiated = law if instance is None else law.at_labels(instance)
    if {q.name for q in instantiated.parameters} != set(fit.values):
        raise click.UsageError(message)
    return instantiated


def _title_of(law: Law) -> str:
    """The law's name, with the label if it is fitted for one."""
    instance = law.declarations.instance
    return f"{law.name} at {instance.text}" if instance and instance.text else law.name


def _check_syntax(
    laws: Sequence[str], *, as_json: bool, notes: Mapping[str, str] = MappingProxyType({})
) -> int:
    from lawdsl.language.library import declarations, locate, pipeline, question, section_of

    readers = {"law": declarations, "question": question, "pipeline": pipeline}
    warnings = [d for name in laws for d in readers[section_of(locate(name))](name)[1]]
    result = {"laws": [{"law": name, "ok": True} for name in laws], "claims": []}

    def show() -> None:
        click.echo("\n".join(f"{name}: no mistakes{notes.get(name, '')}" for name in laws))

    return finish("check", result, warnings, ok=True, as_json=as_json, show=show)


def _finish_check(
    checks: Sequence[Check],
    *,
    interrupted: bool,
    sarif: bool,
    as_json: bool,
    plot: str | None = None,
) -> int:
    warnings: list[Diagnostic] = [d for c in checks for d in c.warnings]
    if sarif:
        from lawdsl.reporting.sarif import sarif as as_sarif

        click.echo(as_sarif(checks, warnings, __version__, complete=not interrupted))
        return 0 if all(c.ok for c in checks) else 1
    claims = [{"law": c.law, **v.to_json()} for c in checks for v in c.claims]
    summary = [{k: v for k, v in c.to_json().items() if k != "claims"} for c in checks]
    result = {"laws": summary, "claims": claims, "interrupted": interrupted}
    ok = all(c.ok for c in checks) and not interrupted
    return finish(
        "check",
        result,
        warnings,
        ok=ok,
        as_json=as_json,
        show=lambda: None,
        plot=plot,
        record=checks[0] if plot else None,
    )


class _VerdictReporter:
    """Collects the verdicts of a law in the order of decision, and prints each at once."""

    def __init__(self, law: Law, show: bool, proofs: bool) -> None:
        from lawdsl.language.claim_texts import claim_text
        from lawdsl.reporting.terminal import console

        self.law, self.show, self.proofs = law, show, proofs
        self.verdicts: list[Verdict] = []
        self.out = console()
        self.width = max((len(claim_text(claim)) for claim in law.claims), default=0)

    def __call__(self, verdict: Verdict) -> None:
        from lawdsl.reporting.terminal import show_verdict

        self.verdicts.append(verdict)
        if self.show:
            show_verdict(verdict, self.out, width=self.width, proofs=self.proofs)

    def so_far(self) -> Check:
        from lawdsl.proof.verdict import Check

        return Check(_title_of(self.law), self.law.digest, tuple(self.verdicts))

    @contextmanager
    def at_work(self, *, fitted: bool) -> Iterator[None]:
        """Print the law, and on a terminal a spinner while its claims are decided."""
        import sys

        from rich.console import Console

        if self.show:
            title = f"{_title_of(self.law)}{', fitted' if fitted else ''}"
            self.out.print(title, style="bold", markup=False)
            if not self.law.claims:
                self.out.print(NO_CLAIMS)
        if self.show and self.law.claims and sys.stderr.isatty():
            with Console(stderr=True).status(f"deciding {len(self.law.claims)} claims"):
                yield
        else:
            yield


COMMANDS = (check,)
