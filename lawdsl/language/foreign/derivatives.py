"""Derivatives of higher order as text cannot set them, `∂^2L/∂D^2`, `d2L/dD2` -> `∂²L/∂D²`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lawdsl.language.keywords import ORDERS, SUPERSCRIPTS
from lawdsl.language.mistakes.whole_lines import Line, Meant

SIGN = r"(?:∂|\\partial|\bd|\bdel)"
RAISED = r"(?:\s*(?:\^|\*\*)\s*\{?\s*([2-9])(?:\s*\})?|([²³⁴⁵⁶⁷⁸⁹])|([2-9]))"
NAME = r"([A-Za-z_]\w*?(?:\[[\w, ]*\])?)"
BELOW = rf"{SIGN}\s*{NAME}(?:{RAISED}|(?![\w\[]))"
HIGHER = re.compile(
    rf"{SIGN}{RAISED}\s*{NAME}\s*/\s*(\(?)\s*({BELOW}(?:[\s*]*{BELOW})*)(?:\s*(\)))?"
)


def _higher(line: Line) -> Iterator[Meant]:
    """`require ∂^2L/∂D^2 >= 0`, `require d2L/(dD dN) < 0`"""
    if line.keyword != "require":
        return
    match = HIGHER.search(line.masked)
    if match is None:
        return
    yield _meant(line, match, HIGHER.sub(_written, line.masked))


def _meant(line: Line, match: re.Match[str], written: str) -> Meant:
    if match[0].startswith("d"):
        message = "a derivative is written with `∂`"
        at = (match.start(), match.start() + 1)
        return Meant(message, at, line.unmasked(written), safe=True, code="L0204")
    sign = re.compile(SIGN).match(line.masked, match.start())
    at = (sign.end() if sign else match.start(), max(map(match.end, (1, 2, 3))))
    message = "the order of a derivative is a raised digit"
    return Meant(message, at, line.unmasked(written), safe=True)


def _written(match: re.Match[str]) -> str:
    order = _order(match.groups()[:3])
    below = [(m[1], _order(m.groups()[1:4])) for m in re.finditer(BELOW, match[6])]
    if sum(count for _, count in below) != order:
        return match[0]
    names = "".join(f"∂{name}{SUPERSCRIPTS.get(count, '')}" for name, count in below)
    tail = match[match.re.groups] or "" if not match[5] else ""
    return f"∂{SUPERSCRIPTS[order]}{match[4]}/{names}{tail}"


def _order(digits: tuple[str | None, ...]) -> int:
    digit = next((d for d in digits if d), "1")
    return ORDERS.get(digit) or int(digit)


RULES = (_higher,)
"""Tried before the rules for claims."""
