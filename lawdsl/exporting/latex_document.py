"""Exported -> LaTeX: the law and its definitions as the paper writes them, and the values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from lawdsl.core.diagnostics import printable
from lawdsl.exporting.content import Constant, Exported, Nested
from lawdsl.exporting.module import heading
from lawdsl.language.latex import (
    LatexNames,
    escaped,
    formula_latex,
    latex_names,
    number_latex,
    subscript_latex,
)

PLAIN_EXPONENTS = range(-4, 6)  # powers of ten of numbers that are written out

MARKS = "abcdefghijklmnopqrstuvwxyz"
_UNIDENTIFIED = "not identified: the data do not determine it"
_BOUNDS = ("on its lower bound", "on its upper bound")
NOTES = {
    **{note: note for note in _BOUNDS},
    **{f"{note}, not identified": f"{note}; {_UNIDENTIFIED}" for note in _BOUNDS},
    "not identified": _UNIDENTIFIED,
    "hardly determined": "hardly determined by the data: it has no interval",
    "fixed": "fixed, not fitted",
    "tied to others": "not free: it follows from other parameters",
}
"""Notes on a value -> their footnotes, constant texts; fewer than MARKS."""

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
    lines += [r"\begin{tabular}{ll}", *_lines(list(_units(made, names))), r"\end{tabular}", ""]
    marks = {note: MARKS[k] for k, note in enumerate(_notes(made))}
    title = r"parameter & value $\pm$ standard error"
    rows = [row for constant in made.constants for row in _rows(constant, made, names, marks)]
    notes = [
        rf"\multicolumn{{2}}{{l}}{{\footnotesize {_mark(m)} {NOTES[n]}}}" for n, m in marks.items()
    ]
    if made.fit is not None and not made.errors:
        notes.append(rf"\multicolumn{{2}}{{l}}{{\footnotesize {escaped(made.why_no_errors)}}}")
    head = r"\begin{tabular}{ll}"
    return "\n".join([*lines, head, *_lines([title, *rows, *notes]), r"\end{tabular}"]) + "\n"


def _units(made: Exported, names: LatexNames) -> Iterator[str]:
    """A row of the table of units for the output and each variable."""
    yield "quantity & unit"
    quantities = [(made.formulas[-1][0], made.unit)]
    for variable in made.variables:
        quantities.append((f"{variable.name}[]" if variable.over else variable.name, variable.unit))
    for name, unit in quantities:
        yield f"${names(name)}$ & {escaped(unit) if unit else 'none stated'}"


def _notes(made: Exported) -> list[str]:
    """What the footnotes of the values say, each once, in the order of the values."""
    return list(dict.fromkeys(note for c in made.constants for note in c.notes.values()))


def _mark(mark: str) -> str:
    return rf"\textsuperscript{{{mark}}}"


def _lines(texts: Sequence[str]) -> Iterator[str]:
    """Each text on a line of its own."""
    for number, text in enumerate(texts, start=1):
        yield text if number == len(texts) else rf"{text} \\"


def _rows(
    constant: Constant, made: Exported, names: LatexNames, marks: Mapping[str, str]
) -> Iterator[str]:
    """A row of the table for each element of a parameter."""
    sets = [made.labels[over] for over in constant.over]
    for chosen in product(*(enumerate(labels) for labels in sets)):
        value, error = constant.printed, constant.errors
        for position, _ in chosen:
            value, error = _element(value, position), _element(error, position)
        labels = [subscript_latex(label) for _, label in chosen]
        assert isinstance(value, float) and isinstance(error, float)
        note = constant.notes.get(tuple(label for _, label in chosen))
        unit = f" {escaped(constant.unit)}" if constant.unit else ""
        mark = _mark(marks[note]) if note else ""
        yield f"${names(constant.name, labels)}${mark} & ${value_latex(value, error)}${unit}"


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
