"""`lawdsl demo`: a shipped law -> its claims, fits, held-out losses, and an answer."""

from __future__ import annotations

import click

from lawdsl.cli.options import as_json, finish, print_message
from lawdsl.core.optional_packages import missing

REPORTING = ("jinja2", "latex2mathml", "altair", "vl_convert")
INSTALL = "pip install 'lawdsl[figures]'"


@click.command("demo")
@click.option(
    "--report",
    metavar="FILE",
    help="Write the fits and the answer as a report: .html, or .md.",
)
@as_json
def demo(report: str | None, as_json: bool) -> int:
    """Show a law, its claims proved and measured, fits, losses held out, and a question answered."""
    from lawdsl.cli.demo_steps import run
    from lawdsl.reporting.report.write import check_suffix
    from lawdsl.reporting.terminal import console

    if report:
        check_suffix(report)
    out = None if as_json else console()
    result, ok, entries = run(out)
    if report:
        from lawdsl.reporting.report.write import write_report

        write_report(entries, report)
        result["report"] = report

    def printed() -> None:
        if report:
            print_message(f"wrote {report}")
        elif lacking := missing(*REPORTING):
            print_message(f"a report as one page needs {', '.join(lacking)}: {INSTALL}")
        else:
            print_message("as one page, with figures: lawdsl demo --report demo.html")

    return finish("demo", result, (), ok=ok, as_json=as_json, show=printed)


COMMANDS = (demo,)
