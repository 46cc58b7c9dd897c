"""`lawdsl demo`: a shipped law -> its claims, fits, held-out losses, an answer, and its report."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from lawdsl.cli.options import as_json, finish, print_message
from lawdsl.core.optional_packages import missing

REPORTING = ("jinja2", "latex2mathml", "altair", "vl_convert")
INSTALL = "pip install 'lawdsl[figures]'"


@click.command("demo")
@click.option(
    "--report",
    metavar="FILE",
    help="File of the report, .html or .md.  [default: a new temporary file]",
)
@click.option("--no-report", is_flag=True, help="Write no report.")
@as_json
def demo(report: str | None, no_report: bool, as_json: bool) -> int:
    """Run the whole loop on shipped data.

    Shows a law, the proofs of its claims and their tests on measurements, fits, predictions of
    held-out losses, and the answer to a question. If the extra `figures` is installed, it ends with
    a report: one page with figures.
    """
    from lawdsl.cli.demo_steps import run
    from lawdsl.reporting.report.write import check_suffix, write_report
    from lawdsl.reporting.terminal import console

    if report and no_report:
        raise click.UsageError("--report and --no-report exclude each other")
    if report:
        check_suffix(report)
    out = None if as_json else console()
    result, ok, entries = run(out)
    lacking = missing(*REPORTING)
    if not (report or no_report or as_json or lacking):
        # a temporary folder, so that no file of the user is overwritten or left behind
        report = str(Path(tempfile.mkdtemp(prefix="lawdsl-demo-")) / "report.html")
    if report:
        write_report(entries, report)
        result["report"] = report

    def printed() -> None:
        print()
        if report:
            print_message(f"wrote {report}: the same as one page, with figures")
        elif lacking and not no_report:
            print_message(f"a report as one page needs {', '.join(lacking)}: {INSTALL}")

    return finish("demo", result, (), ok=ok, as_json=as_json, show=printed)


COMMANDS = (demo,)
