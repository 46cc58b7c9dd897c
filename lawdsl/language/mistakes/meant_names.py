"""An unknown name -> the formula or the declared name that is meant: `ND` is N*D, `e^(-x)` is exp(-x)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.language.symbols import Symbol

FACTORS = ("setting", "parameter", "variable", "let", "given", "unknown")
EXPONENTIAL = re.compile(r"\s*(?:\^|\*\*)\s*(-?)\s*(?=(\())?([A-Za-z_][\w.]*|\d[\w.]*)?")


@dataclass(frozen=True)
class MeantName:
    """What an unknown name stands for.

    Attributes:
        help: the advice.
        edits: the edits that do what it says; none where two readings are likely.
        suggested: an edit for each of these readings.
    """

    help: str
    edits: tuple[Edit, ...] = ()
    suggested: tuple[Edit, ...] = ()


def meant_formula(
    text: str, span: Span, name: str, symbols: Mapping[str, Symbol]
) -> MeantName | None:
    """The formula that an unknown name is; None where the names beside it say nothing.

    Args:
        text: the text of the file.
        span: the place of the name.
        name: the name.
        symbols: the declared names.
    """
    if name in ("e", "E", "exp"):
        power = _exponential(text, span)
        if name == "e":
            return power or MeantName("write `exp(1)` for the number e, or declare `e`")
        if power is None or name == "exp":
            return power
        if "(-" in power.help:  # E^(-x) is a power of e in some languages, of a parameter in others
            return MeantName(f"{power.help} for a power of e, or declare `E`")
        return None
    return _joined(text, span, name, symbols)


def _exponential(text: str, span: Span) -> MeantName | None:
    """`e^(-x)`, `e^-x`, `exp^(-x)`"""
    match = EXPONENTIAL.match(text, span.end)
    if match is None or not (match[2] or match[3]):
        return None
    if match[3]:
        end, argument = match.end(), f"{match[1]}{match[3]}"
    else:
        end = _closing(text, match.start(2))
        argument = text[match.start(2) + 1 : end - 1].strip()
        argument = f"-({argument})" if match[1] else argument
    if not end or text[end : end + 1] in ("(", "[") or re.match(r"\s*\^", text[end:]):
        return None
    written = f"exp({argument})"
    return MeantName(f"write `{written}`", (Edit(Span(span.start, end), written),))


def _closing(text: str, start: int) -> int:
    """The offset behind the bracket that closes the one at an offset of its line; 0 without one."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in "([") - (text[i] in ")]")
        if not depth:
            return i + 1
        if text[i] == "\n":
            return 0
    return 0


def _joined(text: str, span: Span, name: str, symbols: Mapping[str, Symbol]) -> MeantName | None:
    """Declared names that are written together: `ND` is N*D, `Nalpha` N^alpha or N*alpha."""
    parts = _parts(name, [s for s, symbol in symbols.items() if symbol.kind in FACTORS])
    if len(parts) < 2:
        return None
    product = "*".join(parts)
    inner = text[: span.start].rstrip()[-1:] in ("/", "^")  # where A/N*D would be (A/N)*D
    raised = re.match(r"[ \t]*(?:\^|\*\*)[ \t]*([\w.]+)", text[span.end :])
    if raised:
        shared, last = f"({product})^{raised[1]}", f"{product}^{raised[1]}"
        place = Span(span.start, span.end + raised.end())
        return _either(place, shared, _bracketed(last, inner), "")
    if symbols[parts[-1]].kind == "parameter" and symbols[parts[-2]].kind != "parameter":
        power = f"{'*'.join(parts[:-1])}^{parts[-1]}"
        power = _bracketed(power, inner and len(parts) > 2)
        return _either(span, power, _bracketed(product, inner), "the product ")
    product = _bracketed(product, inner)
    help = f"did you mean the product `{product}`?"
    return MeantName(help, suggested=(Edit(span, product),))


def _either(span: Span, one: str, other: str, what: str) -> MeantName:
    """Advice for two readings, with an edit for each; `what` describes the second."""
    help = f"did you mean `{one}`, or {what}`{other}`?"
    return MeantName(help, suggested=(Edit(span, one), Edit(span, other)))


def _bracketed(formula: str, inner: bool) -> str:
    return f"({formula})" if inner else formula


def _parts(name: str, known: Sequence[str]) -> list[str]:
    """The known names of which a name is made; none where something else is in it."""
    parts: list[str] = []
    while name:
        first = max((s for s in known if name.startswith(s)), key=len, default=None)
        if first is None:
            return []
        parts.append(first)
        name = name[len(first) :]
    return parts


def dotted(name: str, symbols: Mapping[str, Symbol]) -> str | None:
    """The law of which a name is a part: `l3`, `dcpt` or `dcpt_l3` for `dcpt.l3`; None without one.

    Args:
        name: the name.
        symbols: the declared names.
    """
    laws = [s.name for s in symbols.values() if s.kind == "law" and "." in s.name]
    for law in laws:
        parts = law.lower().split(".")
        if name.lower() in (parts[-1], parts[0], "_".join(parts), "".join(parts)):
            return law
        if name.lower() in ("base", "parent", "super", "inherited", "extended"):
            return law
    return None
