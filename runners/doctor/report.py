"""The results of the checks -> a report in Markdown for bug reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .records import INTERRUPTED, CheckResult, Examination, Measurement

SIGNIFICANT = 4  # digits of a number in the report
WIDE = 10_000  # numbers of this size and larger have separators and no decimals


def markdown(examination: Examination) -> str:
    """Write a report.

    Args:
        examination: the results of all checks.

    Returns:
        Markdown: the verdict, a table of checks, and a section with the figures of each check that
        has some or failed.
    """
    lines = ["# Report of `lawdsl doctor`", "", verdict(examination), ""]
    if examination.unfinished:
        names = " ".join(f"--only {result.name}" for result in examination.unfinished)
        interrupted = any(INTERRUPTED in result.why for result in examination.unfinished)
        cause = "The examination was interrupted" if interrupted else "The time was used up"
        command = f"lawdsl doctor --device {examination.device} {names}"
        lines += [f"{cause} before the end; for the rest: `{command}`.", ""]
    if examination.date:
        lines += [f"Written on {examination.date} by `{examination.command}`.", ""]
    summary = (
        (r.name, r.status, f"{r.seconds:.1f}" if r.seconds else "", r.why or r.shows)
        for r in examination.results
    )
    lines += _table(("check", "result", "seconds", "shows, or why"), summary)
    for result in examination.results:
        # the other checks are fully described by the table
        if result.status != "not measured" or result.figures:
            lines += _section(result)
    return "\n".join(lines).rstrip() + "\n"


def verdict(examination: Examination) -> str:
    """State in a paragraph whether the machine can train."""
    device = "GPU" if examination.device == "cuda" else "CPU"
    passed = examination.count("passed")
    counts = (
        f"{passed} {'check' if passed == 1 else 'checks'} passed, {examination.count('failed')}"
        f" failed, {examination.count('not measured')} not measured, in {examination.seconds:.0f} s"
    )
    if examination.failed:
        names = ", ".join(f"`{result.name}`" for result in examination.failed)
        return f"**Something is wrong with training on the {device}: {names}.** {counts}."
    if not examination.count("passed"):
        return f"**Nothing was measured.** {counts}."
    if examination.unfinished:
        fine = f"what was measured of training on the {device} is in order"
        return f"**Not all was measured; {fine}.** {counts}."
    return f"**Nothing is wrong with what was measured of training on the {device}.** {counts}."


def _section(result: CheckResult) -> Iterator[str]:
    yield from ("", f"## {result.name}: {result.status}", "")
    yield f"{result.shows[0].upper()}{result.shows[1:]}."
    if result.why:
        yield from ("", f"{result.status.capitalize()}: {_cell(result.why)}.")
    if result.figures:
        yield ""
        rows = ((f.name, value_text(f), _expectation(f)) for f in result.figures)
        yield from _table(("figure", "value", "expected"), rows)
    if result.log:
        yield from ("", "```", *(line.replace("```", "'''") for line in result.log), "```")


def value_text(figure: Measurement) -> str:
    """The value of a figure with its unit, as displayed in the report."""
    if figure.value is None:
        return "not measured" + (f": {figure.why}" if figure.why else "")
    text = figure.value if isinstance(figure.value, str) else _number(figure.value)
    return f"{text} {figure.unit}".rstrip()


def _expectation(figure: Measurement) -> str:
    """The expected value of a figure, and whether it is met."""
    if figure.ok:
        return figure.expected
    return f"**{figure.expected}** {figure.why}".strip()


def _number(value: float | int) -> str:
    if isinstance(value, int) or abs(value) >= WIDE:
        return f"{value:,.0f}"
    return f"{value:.{SIGNIFICANT}g}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """The lines of a table in Markdown."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    """A text escaped for a table cell."""
    return " ".join(text.replace("|", "\\|").split())
