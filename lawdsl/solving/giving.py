"""The numbers that a question is asked with: each known, inside its domain, one for each label."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import sympy as sp

from lawdsl.compiling.gradient import values as computed
from lawdsl.compiling.tape import compile_tape
from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.language.words import nearest
from lawdsl.solving.posing.posed import Posed

Given = Mapping[str, "float | Mapping[str, float]"]

RELATIONS = {
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def given_values(posed: Posed, given: Given) -> dict[sp.Symbol, float]:
    """The values of all symbols but the unknowns.

    Args:
        posed: the question.
        given: name -> number, or label -> number; a number alone is that of every label. Settings
            of the question and, as `use.name`, of its laws may be given others.

    Raises:
        LawdslError: a given without a value, a name that is none, or a value outside its domain.
    """
    names = {**posed.givens, **posed.settings}
    found: dict[str, float] = {}
    mistakes: list[Diagnostic] = []
    for name, value in given.items():
        elements = {n: s for n, s in names.items() if n == name or n.startswith(f"{name}[")}
        if not elements:
            mistakes.append(_unknown(posed, name, names))
        for text in elements:
            label = text.removeprefix(name).strip("[]")
            own = value
            if isinstance(value, Mapping):
                if label not in value:
                    continue
                own = value[label]
            if name == text or text not in found or text not in given:
                found[text] = _number(text, own, mistakes)
        if isinstance(value, Mapping):
            for label in value:
                if f"{name}[{label}]" not in elements:
                    mistakes.append(_unknown(posed, f"{name}[{label}]", names))
    for text, value in given.items():
        if text in names and not isinstance(value, Mapping):
            found[text] = _number(text, value, mistakes)  # that of a label, whatever all have
    lacking = [name for name in posed.givens if name not in found]
    if lacking and not mistakes:
        message = f"the question needs a value of {', '.join(lacking)}"
        help = f"write {lacking[0]}=VALUE"
        mistakes.append(Diagnostic("F0502", message, help=help))
    if mistakes:
        raise LawdslError(list(dict.fromkeys(mistakes)))
    values = {**posed.known, **{names[n]: v for n, v in found.items()}}
    _check_domains(posed, values)
    return values


def _number(name: str, value: object, mistakes: list[Diagnostic]) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, (bool, str)) or not math.isfinite(number):
        message = f"`{name}` is {value!r}, which is no number"
        mistakes.append(Diagnostic("F0502", message, help=f"write {name}=2.5"))
    return number


def _unknown(posed: Posed, name: str, names: Mapping[str, sp.Symbol]) -> Diagnostic:
    alike = nearest(name, [*names, *posed.question.uses])
    help = f"did you mean `{alike}`?" if alike else f"it has {', '.join(list(names)[:12])}"
    message = f"`{posed.question.name}` has no given or setting `{name}`"
    if any(name == u.name or u.name.startswith(f"{name}[") for u in posed.unknowns):
        message = f"`{name}` is what the question asks for"
        help = "leave it out"
    return Diagnostic("F0502", message, help=help)


def _check_domains(posed: Posed, values: Mapping[sp.Symbol, float]) -> None:
    mistakes = []
    for name, symbol in posed.givens.items():
        if posed.bounds.get(name):
            continue  # said below
        if (
            values[symbol] < 0
            and symbol.is_nonnegative
            or not values[symbol]
            and symbol.is_positive
        ):
            sign = ">" if symbol.is_positive else ">="
            message = f"`{name}` is {values[symbol]:g}, and its domain is {name} {sign} 0"
            mistakes.append(Diagnostic("F0503", message, help="correct the value, or its unit"))
    for name, bounds in posed.bounds.items():
        for relation, limit in bounds:
            value, end = values[posed.givens[name]], evaluated(limit, values)
            if not RELATIONS[relation](value, end):
                message = f"`{name}` is {value:g}, and its domain is {name} {relation} {end:g}"
                help = "correct the value, or its unit"
                mistakes.append(Diagnostic("F0503", message, help=help))
    for unknown in posed.unknowns:
        ends = [(relation, evaluated(limit, values)) for relation, limit in unknown.bounds]
        for relation, low in ends:
            for other, high in ends:
                if (
                    relation[0] == ">"
                    and other[0] == "<"
                    and not _leaves(relation, low, other, high)
                ):
                    message = f"nothing lies in the domain of `{unknown.name}`, {low:g} to {high:g}"
                    help = "correct the values that it is made of"
                    mistakes.append(Diagnostic("F0503", message, help=help))
    for name, symbol in posed.settings.items():
        if symbol.is_positive and values[symbol] < 0:  # as the formulas take it to be
            message = f"`{name}` is {values[symbol]:g}, and the question has a number above 0 there"
            mistakes.append(Diagnostic("F0503", message, help="give it a value from 0 on"))
    if mistakes:
        raise LawdslError(mistakes)


def check_kept(posed: Posed, values: Mapping[sp.Symbol, float]) -> None:
    """Refuse values that break a condition in which no unknown is left.

    Raises:
        LawdslError: each that is broken.
    """
    mistakes = []
    free = {u.symbol for u in posed.unknowns}
    for condition in posed.conditions:
        if condition.margin.free_symbols & free:
            continue
        margin = evaluated(condition.margin, values)
        kept = margin > 0 if condition.strict else margin >= 0
        if not (abs(margin) < 1e-12 if condition.equality else kept):
            message = f"{condition.text} does not hold: it is off by {-margin:.4g}"
            if condition.law:
                message = (
                    f"{condition.text}, the domain of `{condition.law}`, is left by {-margin:.4g}"
                )
            mistakes.append(Diagnostic("F0503", message, help="correct the values, or their units"))
    if mistakes:
        raise LawdslError(mistakes)


def _leaves(above: str, low: float, below: str, high: float) -> bool:
    """Whether anything lies between two bounds."""
    return low < high or (low == high and (above, below) == (">=", "<="))


def evaluated(expression: sp.Expr, values: Mapping[sp.Symbol, float]) -> float:
    """An expression at values of its symbols; nan where it has none."""
    symbols = sorted(expression.free_symbols, key=str)
    inputs = np.array([[values[s]] for s in symbols], dtype=np.float64).reshape(len(symbols), 1)
    return float(computed(compile_tape([expression], symbols), inputs)[0, 0])
