"""`lawdsl doctor`: this machine -> a report that says whether it can train."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lawdsl.cli.options import as_json, finish, on_interrupt, print_message, write
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.optional_packages import needs
from lawdsl.core.output_files import check_writable

if TYPE_CHECKING:
    from lawdsl.runners.doctor.records import Check, CheckResult, Examination


@click.command("doctor")
@click.option("-o", "--output", metavar="REPORT.md", help="Write the report as Markdown.")
@click.option(
    "--quick", is_flag=True, help="Skip the checks of speed, compilation and several processes."
)
@click.option(
    "--device",
    default="auto",
    show_default=True,
    type=click.Choice(("auto", "cpu", "cuda")),
    help="Device to check; auto: a GPU if the driver lists one, else the CPU.",
)
@click.option("--only", multiple=True, metavar="CHECK", help="Run only this check. Repeatable.")
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
@as_json
def doctor(
    output: str | None,
    quick: bool,
    device: str,
    only: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> int:
    """Check whether this machine can train models, and how fast.

    Each check runs in its own process, on temporary data that it makes itself. All checks together
    take at most two minutes on a CPU and ten on a GPU; checks that were not made are listed with
    the reason. The exit code is 1 if a check failed. The report contains no folder and no host
    name: attach it to bug reports.
    """
    needs("pydantic", "torch", "transformers", "tokenizers")
    from lawdsl.runners.doctor.execution import Session, examine, interrupted
    from lawdsl.runners.sweeps.machine import this_machine

    checks = _selected(only)
    if output:
        check_writable(Path(output))
    machine = this_machine()
    chosen = device if device != "auto" else ("cuda" if machine.gpus else "cpu")
    command = _command_line(quick, device, only)
    # a check that is requested by name is run in full
    quick = quick and not only

    def announce(check: Check, result: CheckResult | None) -> None:
        if not (quiet or as_json):
            print_message(_progress_line(check, result))

    def report_so_far() -> None:
        examination = interrupted(session, chosen, checks=checks, quick=quick, machine=machine)
        _report(replace(examination, command=command), output, as_json)

    with Session() as session, on_interrupt(report_so_far):
        examination = examine(
            session, chosen, checks=checks, quick=quick, machine=machine, announce=announce
        )
    return _report(replace(examination, command=command), output, as_json)


def _report(examination: Examination, output: str | None, as_json: bool) -> int:
    """Write or print the report; return the exit code."""
    from lawdsl.runners.doctor.report import markdown

    report = markdown(examination)
    unwritten: tuple[Diagnostic, ...] = ()
    if output:
        try:
            write(Path(output), report)
        # the file was writable before the checks; they need not be repeated
        except LawdslError as error:
            unwritten = error.diagnostics

    def show() -> None:
        if output and not unwritten:
            print_message(f"wrote {output}")
        else:
            click.echo(report, nl=False)

    code = finish(
        "doctor",
        examination.to_json(),
        (*_findings(examination), *unwritten),
        ok=not examination.failed and not unwritten,
        as_json=as_json,
        show=show,
    )
    return 3 if unwritten else code


def _command_line(quick: bool, device: str, only: Sequence[str]) -> str:
    """The command line without options that do not affect results, and without paths, for reports."""
    words = ["lawdsl doctor"]
    words += ["--quick"] if quick else []
    words += [f"--device {device}"] if device != "auto" else []
    return " ".join([*words, *(f"--only {name}" for name in only)])


def _selected(names: Sequence[str]) -> tuple[Check, ...]:
    """The checks with the given names, in the order of the table; all checks if there are no names.

    Raises:
        click.UsageError: a name is unknown.
    """
    from lawdsl.runners.doctor.checks import CHECKS

    known = [check.name for check in CHECKS]
    for name in names:
        if name not in known:
            raise click.UsageError(f"unknown check {name!r}; known checks: {', '.join(known)}")
    return tuple(check for check in CHECKS if not names or check.name in names)


def _progress_line(check: Check, result: CheckResult | None) -> str:
    if result is None:
        return f"{check.name}: {check.shows} …"
    taken = f", {result.seconds:.1f} s" if result.seconds else ""
    why = f": {result.why}" if result.why else ""
    return f"{check.name}: {result.status}{taken}{why}"


def _findings(examination: Examination) -> Iterator[Diagnostic]:
    """A diagnostic for each check that failed."""
    for result in examination.failed:
        message = f"the check {result.name} failed"
        message += f": {result.why}" if result.why else ""
        help = (
            f"`lawdsl doctor --only {result.name}` repeats it; a bug report should carry the report"
        )
        yield Diagnostic("R0901", message, notes=result.log, help=help)


COMMANDS = (doctor,)
