"""Fits -> their part of a report: data, parameters, and warnings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from lawdsl.core.units import unit_text
from lawdsl.fitting.findings_by_label import label_of
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.verdicts import ASSUMPTIONS, NEEDS, findings_for
from lawdsl.reporting.documents.blocks import Block, Details, Findings, Heading, Lines, Rows
from lawdsl.reporting.documents.recorder import recorded
from lawdsl.reporting.fits import show_fits
from lawdsl.reporting.report.entries import Entry
from lawdsl.reporting.report.pictures import pictures
from lawdsl.reporting.terminal import interval_text, number_text, parameter_rows

MAX_FOLDED_ROWS = 24
"""Largest number of rows of a table that is not collapsed."""
MAX_COLUMNS = 8
"""Largest number of columns of a table of parameters; with more, each parameter has a row."""
USES = {
    "optimum": "the minimum that was found",
    "parameters": "the values of the parameters",
    "residuals": "the noise around the law",
    "prediction": "predictions beyond the rows",
}


def rows_of(entry: Entry) -> int:
    """The number of rows fitted."""
    return sum(part.data.rows for part in entry.parts)


def data_blocks(entries: Sequence[Entry]) -> Iterator[Block]:
    """The tables that were fitted, and the range of each variable.

    Args:
        entries: fits.
    """
    headers = ["fit", "table", "rows", "where", "left out", "runs", "weights"]
    rows = []
    for entry in entries:
        data = entry.parts[0].data
        dropped = sum(part.data.dropped for part in entry.parts)
        if isinstance(entry.result, Fits):
            dropped += entry.result.dropped
        runs = f"{data.groups:,} by {', '.join(data.runs)}" if data.groups else ""
        where = ", ".join(data.where)
        cells = [entry.name, data.name, f"{rows_of(entry):,}", where]
        rows.append([*cells, f"{dropped:,}", runs, data.weights or ""])
    used = [k for k in range(len(headers)) if k < 3 or any(row[k] not in ("", "0") for row in rows)]
    yield Rows(
        [headers[k] for k in used], [[row[k] for k in used] for row in rows], "What was fitted"
    )
    for entry in entries:
        caption = f"The fitted range of each variable of {entry.name}"
        yield _collapsed(
            Rows(["variable", "column", "from", "to", "unit"], _ranges(entry), caption)
        )


def _ranges(entry: Entry) -> list[list[str]]:
    ranges: dict[str, tuple[float, float]] = {}
    columns: dict[str, str] = {}
    for part in entry.parts:
        columns |= part.data.columns
        for name, (low, high) in part.data.ranges.items():
            least, most = ranges.get(name, (low, high))
            ranges[name] = (min(low, least), max(high, most))
    if isinstance(entry.result, Fits):
        columns |= entry.result.columns
    law = entry.law
    units = {q.name: unit_text(q.unit) for q in law.variables if q.unit}
    output = law.declarations.output
    units |= {output.name: unit_text(output.unit.factors)} if output.unit else {}
    return [
        [
            name,
            columns.get(name, columns.get(name.partition("[")[0], name)),
            number_text(low),
            number_text(high),
            units.get(name, units.get(name.partition("[")[0], "")),
        ]
        for name, (low, high) in ranges.items()
    ]


def fit_blocks(entry: Entry) -> Iterator[Block]:
    """The parameters of a fit, its quality on the fitted rows, and figures.

    Args:
        entry: a fit.
    """
    yield Heading(entry.name, 3)
    if isinstance(entry.result, Fits):
        blocks = [b for b in recorded(show_fits, entry.result) if isinstance(b, Rows)]
        yield from (_captioned(b, entry.name, number) for number, b in enumerate(blocks))
    else:
        yield _parameters(entry.result)
        yield Rows(["measure", "value"], list(_quality(entry.result)), "How it describes its rows")
    yield from pictures(entry.result, entry.name)


def _captioned(block: Rows, name: str, number: int) -> Rows:
    if number == 0:
        return replace(block, caption=f"The fit of each label of {name}")
    block = replace(block, caption=f"Parameters of {name}")
    # a page is narrow: if few labels have many parameters, each parameter has a row
    return _transposed(block) if len(block.headers) > max(MAX_COLUMNS, len(block.cells)) else block


def _transposed(block: Rows) -> Rows:
    first, *names = block.headers
    labels = [str(cells[0]) for cells in block.cells]
    cells = [[name, *(row[k] for row in block.cells)] for k, name in enumerate(names, start=1)]
    return replace(block, headers=[f"parameter by {first}", *labels], cells=cells)


def _parameters(fit: Fit) -> Block:
    headers, rows = parameter_rows(fit)
    # the second column has the standard errors and the last one remarks; on a terminal they have no
    # headers
    headers = [
        "standard error" if k == 2 else h.strip() or "remarks" for k, h in enumerate(headers)
    ]
    declared = fit.read_law().declarations.symbols
    units: dict[str, str] = {}
    for name, symbol in declared.items():
        units[name] = unit_text(symbol.unit.factors) if symbol.unit else ""
    if any(units.get(str(row[0]), "") for row in rows):
        headers.insert(2, "unit")
        rows = [[*row[:2], units.get(str(row[0]), ""), *row[2:]] for row in rows]
    return _collapsed(Rows(headers, rows, "Fitted parameters"))


def _quality(fit: Fit) -> Iterator[list[str]]:
    o, m, a = fit.objective, fit.metrics, fit.agreement
    yield ["R²", f"{m.r2:.6f}"]
    if not math.isnan(m.r2_log):
        yield ["R² of logarithms", f"{m.r2_log:.6f}"]
    law = fit.read_law()
    output = law.declarations.output
    unit = f" {unit_text(output.unit.factors)}" if output.unit else ""
    yield ["mean absolute error", f"{m.mae:.6g}{unit}"]
    yield [f"objective, {o.name}", f"{o.sum:.10g}"]
    yield ["starts that agree", f"{a.agreed} of {a.starts}; {fit.stopped}"]


def distrust_blocks(entry: Entry) -> Iterator[Block]:
    """The uses for which a fit can and cannot be trusted.

    Args:
        entry: a fit.
    """
    result = entry.result
    yield Heading(f"{entry.name}: {result.verdict}", 3)
    rows = []
    for use in NEEDS:
        codes = dict.fromkeys(d.code for d in findings_for(use, result.diagnostics))
        reason = ", ".join(codes) or ASSUMPTIONS.get(use, "")
        rows.append([USES[use], result.verdict_for(use), reason])
    yield Rows(
        ["use", "verdict", "findings, assumption"], rows, "Whether the fit can be trusted, by use"
    )
    lines = [text for part in entry.parts for text in _horizon(part)]
    if lines:
        yield Lines(lines)
    for part in entry.parts:
        for inflection in part.data.inflections:
            yield Lines([f"inflection ratio: {inflection.text}; below it {inflection.trend}"])
    if result.diagnostics:
        yield Findings(tuple(result.diagnostics))


def _horizon(part: Fit) -> Iterator[str]:
    if part.extrapolation is None:
        return
    label = label_of(part)
    for text in part.extrapolation.texts:
        yield f"{label}: {text}" if label else text[:1].upper() + text[1:]


def _collapsed(rows: Rows) -> Block:
    """A table, collapsed if it is long."""
    return rows if len(rows.cells) <= MAX_FOLDED_ROWS else Details(rows.caption, [rows])


def fit_glance(entries: Sequence[Entry]) -> Iterator[Block]:
    """All fits of a report in one table.

    Args:
        entries: fits.
    """
    headers = ["fit", "law", "rows", "R²", "mean absolute error", "verdict"]
    rows: list[list[Any]] = []
    for entry in entries:
        scores = [part.metrics for part in entry.parts]
        r2, mae = [m.r2 for m in scores], [m.mae for m in scores]
        rows.append(
            [
                entry.name,
                entry.result.law.name,
                f"{rows_of(entry):,}",
                _span(r2, ".4f"),
                _span(mae, ".4g"),
                entry.result.verdict,
            ]
        )
    yield Rows(headers, rows, "The fits")


def _span(values: Sequence[float], digits: str) -> str:
    low, high = min(values), max(values)
    return f"{low:{digits}}" if low == high else f"{low:{digits}} to {high:{digits}}"


def ends_text(ends: tuple[float, float] | None) -> str:
    """An interval; empty where it is not known."""
    return interval_text(*ends) if ends else ""
