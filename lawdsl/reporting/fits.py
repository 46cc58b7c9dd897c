"""Fits of a law with index sets -> text on a terminal: a row per label, parameters as matrices."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from lawdsl.fitting.findings_by_label import (
    generalise_labels,
    generalise_name,
    label_of,
)
from lawdsl.language.label_texts import INDEXED_NAME, split_element, with_subscripts
from lawdsl.reporting.terminal import (
    STYLES,
    failure_text,
    interval_heading,
    interval_text,
    number_text,
    show_data,
    show_priors,
    show_rows,
    show_verdicts,
)

if TYPE_CHECKING:
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits
    from lawdsl.language.symbols import Declarations

COLUMN_GAP = 3  # between the columns of a table
UNIDENTIFIED_MARK = "(open)"  # beside a value that the data do not determine
MAX_TIES_SHOWN = 8  # lines about ties

Rows = Mapping[str, Mapping[str, str]]  # label -> column -> value


def show_fits(fits: Fits, out: Console) -> None:
    """Print fits: the data, the quality of each fit, the parameters, and the verdicts on trust.

    Args:
        fits: the fits.
        out: where they are printed.
    """
    law, parts = fits.read_law().declarations, fits.parts
    data = replace(
        parts[0].data,
        rows=sum(part.data.rows for part in parts),
        dropped=fits.dropped + sum(part.data.dropped for part in parts),
        groups=max(part.data.groups or 0 for part in parts),
    )
    show_data(fits.law, data, out)
    # sums are comparable only between fits to the same rows, means also between others
    mean = sum(part.objective.mean * part.data.rows for part in parts) / data.rows
    separate = f", over {len(parts)} fits that share no parameter" if len(parts) > 1 else ""
    name = parts[0].objective.name
    out.print(f"  {name}: sum {fits.objective:.10g}, mean {mean:.6g}{separate}", soft_wrap=True)
    _show_parts(parts, law, out)
    _show_parameters(fits, law, out)
    show_priors([part.priors for part in parts if part.priors is not None], out)
    _show_claims(parts, out)
    show_verdicts(fits, out)


def _show_parts(parts: Sequence[Fit], law: Declarations, out: Console) -> None:
    """Print one line for the fit of each label."""
    show_rows(*part_rows(parts, law), out)


def part_rows(parts: Sequence[Fit], law: Declarations) -> tuple[list[str], list[list[str]]]:
    """The headers and the rows of a table of the fits of all labels."""
    instance = parts[0].law.instance
    over = ", ".join(law.indices[index].over for index in instance.at) if instance else ""
    headers = [over, "rows", "R²", "log R²", "mean abs. error", "starts that agree", "verdict"]
    rows: list[list[str]] = []
    for part in parts:
        m, a = part.metrics, part.agreement
        codes = dict.fromkeys(d.code for d in part.diagnostics)
        scores = (
            f"{part.data.rows:,}",
            f"{m.r2:.4f}",
            "-" if math.isnan(m.r2_log) else f"{m.r2_log:.4f}",
            number_text(m.mae),
        )
        verdict = ": ".join(filter(None, (part.verdict, ", ".join(codes))))
        rows.append([label_of(part), *scores, f"{a.agreed} of {a.starts}", verdict])
    first = 0 if over else 1  # one fit to all rows has no label
    return headers[first:], [row[first:] for row in rows]


# ---- parameters


def _show_parameters(fits: Fits, law: Declarations, out: Console) -> None:
    """Print parameters without labels, one line each; the others as a matrix for each set of
    labels.
    """
    part_of = {name: p for p in fits.parts for name in (*p.parameters, *p.held)}
    scalars: list[tuple[str, str, str]] = []
    matrices: dict[str, dict[str, dict[str, str]]] = {}
    for symbol in law.symbols.values():
        sets = [law.indices[index].over for index in symbol.indices]
        for labels in product(*(fits.labels.get(over, ()) for over in sets)):
            name = with_subscripts(symbol.name, labels)
            part = part_of.get(name)
            if part is None:
                continue
            if not labels:
                ends = part.intervals.ends.get(name)
                scalars.append(
                    (name, parameter_cell(part, name), interval_text(*ends) if ends else "")
                )
                continue
            row = matrices.setdefault(sets[0], {}).setdefault(labels[0], {})
            row[with_subscripts(symbol.name, labels[1:])] = parameter_cell(part, name)
    if scalars:
        show_rows(["parameter", "value", interval_heading(fits.parts[0].intervals)], scalars, out)
    for over, rows in matrices.items():
        _show_matrix(over, rows, out)
    _show_notes(fits, law, part_of, out)


def parameter_cell(part: Fit, name: str) -> str:
    """A value with its standard error, or the reason why it has none."""
    if name in part.held:
        fixed = part.held[name]
        if fixed.formula is None:
            return f"{fixed.value:.4g} (fixed)"
        return value_with_error(fixed.value, part.intervals.errors.get(name, math.nan))
    p = part.parameters[name]
    if p.at_bound:
        return f"{p.printed:.4g} ({p.at_bound} bound)"
    if not p.identified:
        return f"{p.value:.4g} {UNIDENTIFIED_MARK}"
    return value_with_error(p.value, part.intervals.errors.get(name, math.nan))


def value_with_error(value: float, error: float) -> str:
    """Format a value to the digits that its standard error determines: 2.960 ± 0.031.

    Args:
        value: the value.
        error: its standard error, in the same unit.

    Returns:
        Both, with two significant digits of the error; the value alone where the error is not
        positive and finite.
    """
    if not (math.isfinite(error) and error > 0):
        return f"{value:.4g}"
    decimals = 1 - math.floor(math.log10(error))
    if not 0 <= decimals <= 8 or abs(value) >= 1e6:
        return f"{value:.4g} ± {error:.2g}"
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def _show_matrix(over: str, rows: Rows, out: Console) -> None:
    """Print one line per label; in several pieces if the columns do not fit on the screen."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    widths = [
        max(cell_len(column), *(cell_len(row.get(column, "")) for row in rows.values()))
        + COLUMN_GAP
        for column in columns
    ]
    label = max(cell_len(over), *map(cell_len, rows)) + COLUMN_GAP
    for piece in _column_pieces(widths, out.width - label):
        piece_columns = [columns[i] for i in piece]
        show_rows(
            [over, *piece_columns],
            [
                [name, *(row.get(column, "") for column in piece_columns)]
                for name, row in rows.items()
            ],
            out,
        )


def _column_pieces(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Split columns into pieces that fit the width, each with at least one column."""
    piece: list[int] = []
    remaining = room
    for i, width in enumerate(widths):
        if piece and width > remaining:
            yield piece
            piece, remaining = [], room
        piece.append(i)
        remaining -= width
    yield piece


def _show_notes(fits: Fits, law: Declarations, names: Mapping[str, Fit], out: Console) -> None:
    """Print the ties of parameters, and further notes."""
    lines = _tie_texts(law, names)
    for line in lines[:MAX_TIES_SHOWN]:
        out.print(Text(line), overflow="ellipsis", no_wrap=True)
    if len(lines) > MAX_TIES_SHOWN:
        out.print(f"… and {len(lines) - MAX_TIES_SHOWN} more that are tied")
    if any(not p.identified and not p.at_bound for p in fits.parameters.values()):
        out.print(f"{UNIDENTIFIED_MARK}: the data do not determine it")
    failed = sum(part.intervals.failed for part in fits.parts)
    if failed:
        drawn = sum(part.intervals.resamples for part in fits.parts)
        out.print(f"{failed} of {drawn} resamples did not end in a minimum")


def _with_index(label_of_index: Mapping[str, str], element: re.Match[str]) -> str:
    """An element with the index in place of its label."""
    return generalise_name(element[0], label_of_index)


def _tie_texts(law: Declarations, names: Mapping[str, Fit]) -> list[str]:
    """Format the ties of parameters; a tie that several labels share is printed once."""
    lines_by_pattern: dict[str, list[str]] = {}
    for name, part in names.items():
        formula = part.held[name].formula if name in part.held else None
        if formula is None:
            continue
        base, labels = split_element(name)
        indices = law.symbols[base].indices
        label_of_index = {indices[0]: labels[0]} if indices and labels else {}
        line = f"{name} = {formula}"
        alike = INDEXED_NAME.sub(partial(_with_index, label_of_index), line)
        lines_by_pattern.setdefault(alike, []).append(line)
    return [alike if len(lines) > 1 else lines[0] for alike, lines in lines_by_pattern.items()]


# ---- claims


def _show_claims(parts: Sequence[Fit], out: Console) -> None:
    """Print the verdicts on the law's claims for the fitted values: the number of claims that hold,
    and the others in full.
    """
    claims = [(part, claim) for part in parts for claim in part.claims]
    certified = sum(claim.verdict == "certified" for _, claim in claims)
    if certified:
        line = f"certified on the whole domain: {certified} of {len(claims)} claims"
        out.print(Text(line, style=STYLES["certified"]), soft_wrap=True)
    others: dict[tuple[str, str], list[str]] = {}
    points: dict[tuple[str, str], list[str]] = {}
    for part, claim in claims:
        if claim.verdict != "certified":
            key = claim.verdict, generalise_labels(claim.claim, part)
            others.setdefault(key, []).append(label_of(part))
            if claim.verdict == "refuted":
                points.setdefault(key, []).append(failure_text(claim))
    for (verdict, text), labels in others.items():
        label_text = f" for {', '.join(labels)}" if any(labels) else ""
        out.print(Text(f"{verdict}: {text}{label_text}", style=STYLES[verdict]), soft_wrap=True)
        if (verdict, text) in points:
            of_first = f"{labels[0]}, " if len(labels) > 1 else ""
            out.print(Text(f"  {of_first}{points[verdict, text][0]}"), soft_wrap=True)
