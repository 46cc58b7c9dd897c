"""A question and its fits -> answers on a grid of its givens, which the reader of a page can
explore.

A page cannot solve a question. Answers are computed when the page is made, at the nodes of a grid
over the givens, and interpolated between the nodes. The interpolation error is measured at
midpoints between nodes, where it is largest.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.units import unit_text
from lawdsl.language.constants import value as number
from lawdsl.language.printer import print_unit
from lawdsl.reporting.terminal import number_text
from lawdsl.solving.result import Answer
from lawdsl.solving.result_under_law_error import Ends
from lawdsl.solving.solve import Asked

MAX_AXES = 3
"""Number of givens with a slider; if there are more, those with the largest effect on the answer.
"""
MOST_TIMES = 4.0
"""Range of a slider: from a quarter of the given value to four times it, if the answer is not
sensitive to it.
"""
ANSWER_TIMES = 3.0
"""Else a slider ends where the answer changes by this factor, according to its derivative."""
NODE_TIMES = 1.6
"""Largest ratio of neighbouring nodes."""
TRIES = 3
"""How often an end without an answer is moved halfway towards the given value."""
GRIDS: Mapping[int, Sequence[tuple[int, ...]]] = {
    1: ((17,), (9,), (5,), (3,)),
    2: ((7, 7), (5, 5), (3, 3)),
    3: ((5, 5, 3), (5, 3, 3), (3, 3, 3)),
}
"""Number of axes -> numbers of nodes on each, the finest grid first. They are odd, so that the
given value is a node.
"""
CHECKS = 3
"""Number of answers with which the interpolation is compared."""
CPU_SECONDS = 0.8
"""CPU time (s) for all answers of a question; a grid is chosen by the time of one answer."""
COARSEST_CPU_SECONDS = 4.0
"""CPU time (s) for the coarsest grid; if it takes longer there are no sliders."""
SEED = 0

Progress = Callable[[int, int], None]
"""A function that is called with the number of answers computed, and the total."""


@dataclass(frozen=True)
class Axis:
    """A given that the reader can vary.

    Attributes:
        name: the name of the given, without labels.
        names: the names of its elements, `cap[web]` and so on, if one number is given for all
            labels.
        unit: the unit as text.
        doc: the description.
        nodes: the values for which answers are computed, ascending.
        start: the given value.
    """

    name: str
    names: tuple[str, ...]
    unit: str
    doc: str
    nodes: tuple[float, ...]
    start: float


@dataclass(frozen=True)
class Column:
    """The values of an unknown, or of the goal, at the nodes.

    Attributes:
        name: the name of the unknown, or the text of the goal.
        unit: the unit as text.
        doc: the description.
        values: one value per node, the last axis varying fastest; None where there is no answer.
        low, high: the ends of the intervals; None where they are not known.
        error: the largest difference between an interpolated value and the answer at the checked
            points, relative to the answer if all values are positive.
    """

    name: str
    unit: str
    doc: str
    values: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    error: float = 0.0

    @property
    def logarithmic(self) -> bool:
        """Whether logarithms are interpolated, which requires that all values are positive."""
        return all(x is None or x > 0 for x in (*self.values, *self.low, *self.high))


@dataclass(frozen=True)
class AnswerTable:
    """Answers on a grid.

    Attributes:
        axes: the givens that vary.
        columns: the unknowns, then the goal.
        statuses: one status per node: answered, infeasible, …
        fixed: the other givens, as text.
        count: the number of answers computed, including those of the checks.
        checks: the number of answers that were compared with interpolated values.
        wrong: the number of checked points without an answer although every neighbouring node has
            one.
    """

    axes: tuple[Axis, ...]
    columns: tuple[Column, ...]
    statuses: tuple[str, ...]
    fixed: tuple[str, ...]
    count: int
    checks: int
    wrong: int

    def interpolated(self, column: Sequence[float | None], at: Sequence[float]) -> float | None:
        """A value between the nodes, linear along each axis; None if a neighbouring node has no
        answer.

        Args:
            column: one value per node.
            at: a value for each axis, within its nodes.
        """
        strides = [math.prod(len(a.nodes) for a in self.axes[k + 1 :]) for k in range(len(at))]
        below, shares = zip(*map(_cell_position, self.axes, at), strict=True)
        logarithmic = all(x is None or x > 0 for x in column)
        total = 0.0
        for corner in product((0, 1), repeat=len(at)):
            weights = [s if c else 1 - s for c, s in zip(corner, shares, strict=True)]
            weight = math.prod(weights)
            if weight == 0:
                continue
            places = zip(below, corner, strict=True)
            value = column[sum((b + c) * s for (b, c), s in zip(places, strides, strict=True))]
            if value is None:
                return None
            total += weight * (math.log(value) if logarithmic else value)
        return math.exp(total) if logarithmic else total


def _cell_position(axis: Axis, value: float) -> tuple[int, float]:
    """The index of the node below a value, and the relative distance to the next node."""
    nodes = axis.nodes
    k = int(np.clip(np.searchsorted(nodes, value, "right") - 1, 0, len(nodes) - 2))
    return k, math.log(value / nodes[k]) / math.log(nodes[k + 1] / nodes[k])


def answer_table(
    asked: Asked, answer: Answer, progress: Progress | None = None
) -> AnswerTable | None:
    """Compute the answers to a question on a grid around the given values.

    Args:
        asked: the question with its fits.
        answer: the answer for the given values.
        progress: called with the number of answers computed, and the total.

    Returns:
        The table; None where no given can be varied, or answers take too long.
    """
    groups = sorted(_groups(asked, answer), key=lambda names: -_elasticity(answer, names))
    groups = groups[:MAX_AXES]
    if not groups or not answer.ok:
        return None
    solve = _Solver(asked, answer)
    solve.answer({})  # the first answer prepares the formulas that all answers share
    started = time.process_time()
    solve.computed(solve.values)
    each = time.process_time() - started
    grids = GRIDS[len(groups)]
    seconds = [(math.prod(counts) + CHECKS) * each for counts in grids]
    grid = next((g for g, t in zip(grids, seconds, strict=True) if t <= CPU_SECONDS), grids[-1])
    if grid == grids[-1] and seconds[-1] > COARSEST_CPU_SECONDS:
        return None
    axes = tuple(_axis(solve, names, k) for names, k in zip(groups, grid, strict=True))
    return _solved_table(solve, axes, progress or (lambda done, total: None))


class _Solver:
    """Solves the question with some of the givens changed."""

    def __init__(self, asked: Asked, answer: Answer) -> None:
        self.asked, self.base = asked, answer
        self.values = {name: x for name, x in answer.values.items() if "." not in name}
        self.count = 0
        self.known: dict[tuple[float, ...], Answer | None] = {}

    def answer(self, changed: Mapping[str, float]) -> Answer | None:
        """The answer; None where the values are invalid. Results are cached."""
        values = {**self.values, **changed}
        place = tuple(values.values())
        if place not in self.known:
            self.known[place] = self.computed(values)
        return self.known[place]

    def computed(self, values: Mapping[str, float]) -> Answer | None:
        """Solve the question for all values, as `answer` does."""
        self.count += 1
        try:
            return self.asked.point(values, level=self.base.level)
        except LawdslError:
            return None

    def at(self, axes: Sequence[Axis], values: Sequence[float]) -> Answer | None:
        """The answer at values of the axes."""
        changed = {name: x for a, x in zip(axes, values, strict=True) for name in a.names}
        return self.answer(changed)


def _groups(asked: Asked, answer: Answer) -> Iterator[tuple[str, ...]]:
    """The names of the givens that can be varied: givens above 0, and settings that are not at
    their defaults; if labels share one value, the names of all of them.
    """
    question = asked.question
    defaults = asked.formulated.default_values
    for kind in ("given", "setting"):
        for symbol in question.of_kind(kind):
            names = tuple(n for n in answer.values if n.partition("[")[0] == symbol.name)
            values = {answer.values[n] for n in names}
            if symbol.simplex or len(values) != 1 or not 0 < min(values) < math.inf:
                continue
            if kind == "setting":
                declared = asked.formulated.settings[names[0]]
                if defaults[declared] in values:
                    continue
            yield names


def _elasticity(answer: Answer, names: Sequence[str]) -> float:
    """The elasticity of an answer with respect to a given, by its derivatives: the largest of the
    unknowns and the goal; 1 where it is not known.
    """
    moved = [s for s in answer.sensitivities if s.name in names]
    rates = [
        sum(s.value * s.unknowns.get(u.name, 0.0) for s in moved) / u.value
        for u in answer.unknowns
        if u.value and moved
    ]
    if answer.goal and answer.goal.value and moved:
        rates.append(sum(s.value * s.goal for s in moved) / answer.goal.value)
    return max((abs(rate) for rate in rates if math.isfinite(rate)), default=1.0)


def _axis(solve: _Solver, names: tuple[str, ...], count: int) -> Axis:
    """The axis of a given: nodes with equal ratios on each side of the given value."""
    answer, question = solve.base, solve.asked.question
    name, value, half = names[0].partition("[")[0], answer.values[names[0]], count // 2
    elasticity = max(_elasticity(answer, names), 1e-9)
    furthest = min(MOST_TIMES, NODE_TIMES**half)
    times = math.exp(min(math.log(furthest), math.log(ANSWER_TIMES) / elasticity))
    symbol = question.symbols[name]
    limits = [number(limit) for sign, limit in symbol.bounds if sign.startswith("<")]
    shares = any(s.simplex for s in question.of_kind("unknown"))
    largest = min([float(x) for x in limits if x is not None] + [1.0] * shares, default=math.inf)
    low = _end_with_answer(solve, names, value / times)
    high = _end_with_answer(solve, names, max(min(value * times, largest), value))
    below = half if high > value else count - 1
    # the exact ends, for which answers have been computed already
    nodes = [low, *(value * (low / value) ** (k / below) for k in range(below - 1, 0, -1)), value]
    if high > value:
        nodes += [*(value * (high / value) ** (k / half) for k in range(1, half)), high]
    unit = question.units.get(name)
    text = unit_text(unit.factors) if unit else ""
    return Axis(name, names, text, symbol.doc or "", tuple(nodes), value)


def _end_with_answer(solve: _Solver, names: Sequence[str], end: float) -> float:
    """An end of an axis at which there is an answer, all else as given; the last end tried if there
    is none.
    """
    value = solve.base.values[names[0]]
    for _ in range(TRIES):
        found = solve.answer(dict.fromkeys(names, end))
        if end == value or (found is not None and found.ok):
            break
        end = math.sqrt(end * value)
    return end


def _solved_table(solve: _Solver, axes: tuple[Axis, ...], progress: Progress) -> AnswerTable:
    """The answers at the nodes, and their comparison with some between the nodes."""
    places = list(product(*(axis.nodes for axis in axes)))
    # each cell is checked once at most
    cells = list(product(*(range(len(axis.nodes) - 1) for axis in axes)))
    chosen = np.random.default_rng(SEED).permutation(len(cells))[:CHECKS]
    cells = [cells[k] for k in chosen]
    total = len(places) + len(cells)
    found: list[Answer | None] = []
    for place in places:
        found.append(solve.at(axes, place))
        progress(len(found), total)
    moved = {name for axis in axes for name in axis.names}
    statuses = tuple("refused" if each is None else each.status for each in found)
    columns = tuple(_columns(solve.base, found))
    table = AnswerTable(axes, columns, statuses, _fixed_givens(solve, moved), 0, 0, 0)
    checked: list[tuple[tuple[float, ...], Answer | None]] = []
    for cell in cells:
        middle = tuple(_middle(axis, int(k)) for axis, k in zip(axes, cell, strict=True))
        checked.append((middle, solve.at(axes, middle)))
        progress(len(places) + len(checked), total)
    return replace(_with_errors(table, checked), count=solve.count)


def _fixed_givens(solve: _Solver, moved: set[str]) -> tuple[str, ...]:
    """The other givens as text, without values for labels."""
    texts = []
    for name, value in solve.values.items():
        unit = solve.asked.question.units.get(name)
        if name not in moved and "[" not in name:
            texts.append(f"{name} = {number_text(value)}{f' {print_unit(unit)}' if unit else ''}")
    return tuple(texts)


def _middle(axis: Axis, k: int) -> float:
    return math.sqrt(axis.nodes[k] * axis.nodes[k + 1])


def _quantities(answer: Answer) -> list[tuple[float, Ends | None]]:
    """The values of the unknowns and of the goal, with their intervals."""
    assert answer.goal is not None
    unknowns = [(unknown.value, unknown.ends) for unknown in answer.unknowns]
    return [*unknowns, (answer.goal.value, answer.goal.ends)]


def _columns(base: Answer, found: Sequence[Answer | None]) -> Iterator[Column]:
    assert base.goal is not None and base.declared is not None
    named = [(u.name, u.unit, u.doc or "") for u in base.unknowns]
    named.append(
        (base.goal.text, "", "what is made largest" if base.goal.maximize else "what is made least")
    )
    rows = [_quantities(each) if each is not None and each.ok else None for each in found]
    for k, (name, unit, doc) in enumerate(named):
        cells = [row[k] if row else (None, None) for row in rows]
        yield Column(
            name,
            unit,
            doc,
            tuple(_finite(value) for value, _ in cells),
            tuple(_finite(ends and ends[0]) for _, ends in cells),
            tuple(_finite(ends and ends[1]) for _, ends in cells),
        )


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _with_errors(
    table: AnswerTable, checked: Sequence[tuple[tuple[float, ...], Answer | None]]
) -> AnswerTable:
    """A table with the interpolation errors at the checked points."""
    errors = [0.0] * len(table.columns)
    wrong = compared = 0
    for place, answer in checked:
        read = [table.interpolated(column.values, place) for column in table.columns]
        if answer is None or not answer.ok:
            wrong += None not in read
            continue
        compared += None not in read
        for k, (value, _) in enumerate(_quantities(answer)):
            x = read[k]
            if x is not None:
                scale = abs(value) if table.columns[k].logarithmic else 1.0
                errors[k] = max(errors[k], abs(x - value) / scale)
    columns = tuple(replace(c, error=e) for c, e in zip(table.columns, errors, strict=True))
    return replace(table, columns=columns, checks=compared + wrong, wrong=wrong)
