"""Exported -> LaTeX: the law and its definitions as the paper writes them, and the values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from lawdsl.core.diagnostics import printable
from lawdsl.exporting.content import Constant, Exported, Nested
from lawdsl.exporting.module import heading
from lawdsl.language.latex import (
    LatexNames,
    formula_latex,
    latex_names,
    number_latex,
    subscript_latex,
)

PLAIN_EXPONENTS = range(-4, 6)  # powers of ten of numbers that are written out

ROUNDING = 1e-9  # relative: a smaller error is that of a fit to exact values


def latex_document(made: Exported) -> str:
    """The formulas as an `align*`, and the values as a `tabular`.

    Args:
        made: the content.
    """
    lines = [f"% {printable(' '.join(line.split()))}".rstrip() for line in heading(made)]
    *lets, law = made.formulas
    names = latex_names(
        [
            *(name for name, _ in made.formulas),
            *(f"{v.name}[]" if v.over else v.name for v in made.variables),
            *(f"{c.name}[]" if c.over else c.name for c in made.constants),
        ]
    )
    equations = [f"{names(name)} &= {formula_latex(f, names)}" for name, f in (law, *lets)]
    lines += [r"\begin{align*}", *_lines(equations), r"\end{align*}"]
    title = r"parameter & value $\pm$ standard error"
    rows = [row for constant in made.constants for row in _rows(constant, made, names)]
    head = r"\begin{tabular}{ll}"
    return "\n".join([*lines, head, *_lines([title, *rows]), r"\end{tabular}"]) + "\n"


def _lines(texts: Sequence[str]) -> Iterator[str]:
    """Each text on a line of its own."""
    for number, text in enumerate(texts, start=1):
        yield text if number == len(texts) else rf"{text} \\"


def _rows(constant: Constant, made: Exported, names: LatexNames) -> Iterator[str]:
    """A row of the table for each element of a parameter."""
    sets = [made.labels[over] for over in constant.over]
    for chosen in product(*(enumerate(labels) for labels in sets)):
        value, error = constant.values, constant.errors
        for position, _ in chosen:
            value, error = _element(value, position), _element(error, position)
        labels = [subscript_latex(label) for _, label in chosen]
        assert isinstance(value, float) and isinstance(error, float)
        yield f"${names(constant.name, labels)}$ & ${value_latex(value, error)}$"


def _element(values: Nested, position: int) -> Nested:
    assert isinstance(values, tuple)
    nested: Nested = values[position]
    return nested


def value_latex(value: float, error: float) -> str:
    """A value with two digits of its standard error, or with six digits where there is none."""
    if not ROUNDING * abs(value) < error < math.inf or not math.isfinite(value):
        return number_latex(f"{value:.6g}")
    size = math.floor(math.log10(max(abs(value), error)))
    shift = 0 if size in PLAIN_EXPONENTS else size
    digits = 1 - math.floor(math.log10(error))  # decimals before the shift
    scaled = [round(x, digits) / 10.0**shift for x in (value, error)]
    shown = [f"{x:.{max(0, digits + shift)}f}" for x in scaled]
    text = rf"{shown[0]} \pm {shown[1]}"
    return text if not shift else rf"({text}) \cdot 10^{{{shift}}}"
