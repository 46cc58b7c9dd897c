"""Inputs of questions that are parts of 1, as T of 1 + T, given as numbers of per cent -> warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lawdsl.core.diagnostics import Diagnostic

if TYPE_CHECKING:
    from lawdsl.language.questions import Question


def likely_percentages(question: Question, arguments: Sequence[str]) -> list[Diagnostic]:
    """A warning for each input of 1 or more that the question adds to 1, or takes from it.

    Args:
        question: the question.
        arguments: NAME=VALUE as written; a value with a percent sign, `T=200%`, is as it is meant.
    """
    parts = set(_added_to_one(question))
    warnings = []
    for argument in arguments:
        name, _, text = (piece.strip() for piece in argument.partition("="))
        if name not in parts:
            continue
        large = [value for value in text.split(",") if _is_large(value)]
        if not large:
            continue
        number = float(large[0])
        written = ",".join(f"{v.strip()}%" if _is_number(v) else v for v in text.split(","))
        message = f"{name}={large[0].strip()} is {100 * number:g} %, in 1 + {name}"
        help = f"did you mean {name}={written}? {name}={100 * number:g}% says that it is meant"
        warnings.append(Diagnostic("F0521", message, "warning", place=argument, help=help))
    return warnings


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_large(text: str) -> bool:
    return _is_number(text) and 1 <= float(text) <= 100


def _added_to_one(question: Question) -> Iterator[str]:
    """The givens and settings without a unit that a formula adds to 1, or takes from it."""
    from lawdsl.language import tree

    units = question.units
    inputs = {s.name for kind in ("given", "setting") for s in question.of_kind(kind)}
    lets = [s.formula for s in question.of_kind("let") if s.formula is not None]
    formulas = [question.goal, *lets]
    formulas += [side for c in question.constraints for side in (c.lhs, c.rhs)]
    for formula in formulas:
        for node in tree.walk(formula):
            if not isinstance(node, tree.Sum) or len(node.terms) != 2:
                continue
            if not any(isinstance(t, tree.Number) and float(t.text) == 1 for _, t in node.terms):
                continue
            names = (t.text for _, t in node.terms if isinstance(t, tree.Name))
            yield from (name for name in names if name in inputs and units.get(name) is None)
