"""`lawdsl report`: fits, answers -> one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lawdsl.cli.misplaced_words import check_report_files
from lawdsl.cli.options import as_json, finish, print_message
from lawdsl.cli.progress import progress
from lawdsl.core.diagnostics import Diagnostic

if TYPE_CHECKING:
    from lawdsl.reporting.report.entries import Entry


@click.command("report")
@click.argument(
    "files", nargs=-1, required=True, metavar="FIT.json [ANSWER.json]... [NAME=VALUE]..."
)
@click.option(
    "--question", metavar="QUESTION", help="Also answer this question; NAME=VALUE are its inputs."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="report.html",
    show_default=True,
    help="File to write: .html (a single file that needs no network) or .md.",
)
@as_json
def report(files: tuple[str, ...], question: str | None, output: str, as_json: bool) -> int:
    """Write a report of fits and answers: one page with figures.

    \b
    lawdsl report fit.json                             writes report.html
    lawdsl report fit.json answer.json -o page.html    with an answer of `lawdsl solve … --json`
    lawdsl report fit.json -o report.md                Markdown, with figures as separate files
    lawdsl report fit.json --question chinchilla.allocation loss=fit.json C=1e22
    lawdsl report fit.json --question my.law loss=fit.json C=1e21,1e22      an answer for each value

    The report contains the law with its claims and proofs, the data, the fits with figures, the
    reasons for distrust, the answers, and the commands that reproduce it. The page needs no network;
    only the sliders, which evaluate the law, need scripts. In Python: fit.report("report.html").
    """
    from lawdsl.core.output_files import check_writable
    from lawdsl.reporting.report.entries import read_entries
    from lawdsl.reporting.report.write import check_suffix, write_report

    check_writable(Path(output))  # before anything is computed
    check_suffix(output)
    inputs = [text for text in files if "=" in text] if question else []
    named = [text for text in files if text not in inputs]
    warned: list[Diagnostic] = []
    if question:
        answered, warned = _answered(question, inputs)
        entries = [*read_entries([*named, *(answered.fits or {}).values()]), answered]
    else:
        check_report_files(named)
        entries = read_entries(named)
    with progress(as_json, "answers for sliders") as bar:
        written = [str(path) for path in write_report(entries, output, bar)]

    def printed() -> None:
        for path in written:
            print_message(f"wrote {path}")

    result = {"file": written[0], "files": written}
    return finish("report", result, warned, ok=True, as_json=as_json, show=printed)


def _answered(name: str, inputs: list[str]) -> tuple[Entry, list[Diagnostic]]:
    """The answer to a question, or those for several values of its givens, with its warnings."""
    from lawdsl.cli.likely_percentages import likely_percentages
    from lawdsl.cli.solve import check_count, fits_and_values
    from lawdsl.language.library import question
    from lawdsl.reporting.report.entries import Entry
    from lawdsl.solving.solve import Asked

    parsed, warned = question(name)
    fits, values_of = fits_and_values(parsed, inputs)
    check_count(values_of)
    warned = [*warned, *likely_percentages(parsed, inputs)]
    asked = Asked(parsed, **fits)
    if any(len(values) > 1 for values in values_of.values()):
        result: Any = asked.answers(values_of)
    else:
        result = asked.answer({name: value for name, (value,) in values_of.items()})
    files = {use: fit for use, fit in fits.items() if isinstance(fit, str)}
    return Entry(f"{parsed.name}-answer", result, "", files), warned


COMMANDS = (report,)
