"""Fits of a law with index sets as text on a terminal: a line a label, parameters as matrices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from lawdsl.fitting.findings_by_label import ELEMENT, general, general_name, label_of
from lawdsl.language.printer import with_subscripts
from lawdsl.reporting.terminal import (
    STYLES,
    interval,
    interval_of,
    number,
    show_data,
    show_rows,
)

if TYPE_CHECKING:
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits
    from lawdsl.language.symbols import Declarations

GAP = 3  # between the columns of a table
OPEN = "(open)"  # beside a value that the data do not determine
MOST = 8  # lines about ties

Rows = Mapping[str, Mapping[str, str]]  # label -> column -> value


def show_fits(found: Fits, out: Console) -> None:
    """Fits: what was fitted, how good each is, the parameters, and whether to trust them."""
    law, parts = found.read_law().declarations, found.parts
    data = replace(
        parts[0].data,
        rows=sum(part.data.rows for part in parts),
        dropped=found.dropped + sum(part.data.dropped for part in parts),
        groups=max(part.data.groups or 0 for part in parts),
    )
    show_data(found.law, data, out)
    apart = f" over {len(parts)} fits that share no parameter" if len(parts) > 1 else ""
    name = parts[0].objective.name
    out.print(f"  {name}: sum {found.objective:.10g}{apart}", soft_wrap=True)
    _show_parts(parts, law, out)
    _show_parameters(found, law, out)
    _show_claims(parts, out)
    out.print(Text("verdict: ") + Text(found.verdict, style=STYLES[found.verdict]))


def _show_parts(parts: Sequence[Fit], law: Declarations, out: Console) -> None:
    """A line for the fit of each label."""
    at = parts[0].law.instance
    over = ", ".join(law.indices[index].over for index in at.at) if at else ""
    headers = [over, "rows", "R²", "log R²", "mean abs. error", "starts that agree", "verdict"]
    rows: list[list[str]] = []
    for part in parts:
        m, a = part.metrics, part.agreement
        codes = dict.fromkeys(d.code for d in part.diagnostics)
        scores = (f"{part.data.rows:,}", f"{m.r2:.4f}", f"{m.r2_log:.4f}", number(m.mae))
        verdict = ": ".join(filter(None, (part.verdict, ", ".join(codes))))
        rows.append([label_of(part), *scores, f"{a.agreed} of {a.starts}", verdict])
    first = 0 if over else 1  # one fit to all rows has no label
    show_rows(headers[first:], [row[first:] for row in rows], out)


# ---- parameters


def _show_parameters(found: Fits, law: Declarations, out: Console) -> None:
    """Parameters without labels a line each; of the others a matrix for each set of labels."""
    part_of = {name: p for p in found.parts for name in (*p.parameters, *p.held)}
    alone: list[tuple[str, str, str]] = []
    matrices: dict[str, dict[str, dict[str, str]]] = {}
    for symbol in law.symbols.values():
        sets = [law.indices[index].over for index in symbol.indices]
        for labels in product(*(found.labels.get(over, ()) for over in sets)):
            name = with_subscripts(symbol.name, labels)
            part = part_of.get(name)
            if part is None:
                continue
            if not labels:
                ends = part.intervals.ends.get(name)
                alone.append((name, _cell(part, name), interval(*ends) if ends else ""))
                continue
            row = matrices.setdefault(sets[0], {}).setdefault(labels[0], {})
            row[with_subscripts(symbol.name, labels[1:])] = _cell(part, name)
    if alone:
        show_rows(["parameter", "value", interval_of(found.parts[0].intervals)], alone, out)
    for over, rows in matrices.items():
        _show_matrix(over, rows, out)
    _show_notes(found, law, part_of, out)


def _cell(part: Fit, name: str) -> str:
    """A value with its standard error, or why it has none."""
    if name in part.held:
        held = part.held[name]
        return f"{held.value:.4g}" + (" (fixed)" if held.formula is None else "")
    p = part.parameters[name]
    if p.at_bound:
        return f"{p.value:.4g} ({p.at_bound} bound)"
    if not p.identified:
        return f"{p.value:.4g} {OPEN}"
    return with_error(p.value, part.intervals.errors.get(name, math.nan))


def with_error(value: float, error: float) -> str:
    """A value to the digits that its standard error leaves it: 2.960 ± 0.031."""
    if not (math.isfinite(error) and error > 0):
        return f"{value:.4g}"
    decimals = 1 - math.floor(math.log10(error))
    if not 0 <= decimals <= 8 or abs(value) >= 1e6:
        return f"{value:.4g} ± {error:.2g}"
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def _show_matrix(over: str, rows: Rows, out: Console) -> None:
    """A line a label; where the columns are too many for the screen, in several pieces."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    widths = [
        max(cell_len(column), *(cell_len(row.get(column, "")) for row in rows.values())) + GAP
        for column in columns
    ]
    label = max(cell_len(over), *map(cell_len, rows)) + GAP
    for piece in _pieces(widths, out.width - label):
        own = [columns[i] for i in piece]
        show_rows(
            [over, *own],
            [[name, *(row.get(column, "") for column in own)] for name, row in rows.items()],
            out,
        )


def _pieces(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Which columns stand side by side, one at least."""
    piece: list[int] = []
    left = room
    for i, width in enumerate(widths):
        if piece and width > left:
            yield piece
            piece, left = [], room
        piece.append(i)
        left -= width
    yield piece


def _show_notes(found: Fits, law: Declarations, names: Mapping[str, Fit], out: Console) -> None:
    """What values are tied to, and what else there is to know of them."""
    lines = _ties(law, names)
    for line in lines[:MOST]:
        out.print(Text(line), overflow="ellipsis", no_wrap=True)
    if len(lines) > MOST:
        out.print(f"… and {len(lines) - MOST} more that are tied")
    if any(not p.identified and not p.at_bound for p in found.parameters.values()):
        out.print(f"{OPEN}: the data do not determine it")
    failed = sum(part.intervals.failed for part in found.parts)
    if failed:
        drawn = sum(part.intervals.resamples for part in found.parts)
        out.print(f"{failed} of {drawn} resamples did not end in a minimum")


def _ties(law: Declarations, names: Mapping[str, Fit]) -> list[str]:
    """What parameters are tied to; what is so for several labels is said once."""
    said: dict[str, list[str]] = {}
    for name, part in names.items():
        formula = part.held[name].formula if name in part.held else None
        if formula is None:
            continue
        base, _, rest = name.partition("[")
        indices = law.symbols[base].indices
        at = {indices[0]: rest.removesuffix("]").split(", ")[0]} if indices else {}
        line = f"{name} = {formula}"
        alike = ELEMENT.sub(lambda m, at=at: general_name(m[0], at), line)  # type: ignore[misc]
        said.setdefault(alike, []).append(line)
    return [alike if len(lines) > 1 else lines[0] for alike, lines in said.items()]


# ---- claims


def _show_claims(parts: Sequence[Fit], out: Console) -> None:
    """What the law's claims are for the fitted values: those that hold counted, others in full."""
    claims = [(part, claim) for part in parts for claim in part.claims]
    held = sum(claim.verdict == "certified" for _, claim in claims)
    if held:
        line = f"certified on the whole domain: {held} of {len(claims)} claims"
        out.print(Text(line, style=STYLES["certified"]), soft_wrap=True)
    others: dict[tuple[str, str], list[str]] = {}
    for part, claim in claims:
        if claim.verdict != "certified":
            said = claim.verdict, general(claim.claim, part)
            others.setdefault(said, []).append(label_of(part))
    for (verdict, text), labels in others.items():
        at = f" for {', '.join(labels)}" if any(labels) else ""
        out.print(Text(f"{verdict}: {text}{at}", style=STYLES[verdict]), soft_wrap=True)
