"""A referee of answers to questions with one unknown; it shares no code with the solver.

It evaluates dense grids, evenly spaced and by powers, far out and close to the ends, and refines the
best points in 50 digits. It calls an answer wrong where it knows a feasible point that is better,
where the answer is infeasible or its goal has another value, or where a question that is said to have
no answer has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
from random_questions import Node, Question, value_of

DIGITS = 50
FAR = (20, 40, 80, 150, 300, 1000)  # powers of ten at which a half-line is evaluated
# the same, where a goal is said to fall for ever: x^1.001 exceeds x*log(x) from 10^3200 on
OUTWARDS = (3, 5, 8, 12, 20, 40, 300, 1000, 3000, 10_000)
CLOSE = 1e-9  # relative: values as near as this are the same

Array = np.ndarray


class Referee:
    """What is known of one question by computing points."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.sign = -1 if question.maximize else 1
        self.names = {name: np.float64(x) for name, x in question.given.items()}

    def goal(self, x: Any, exact: bool = True) -> Any:
        return self.sign * self._computed(self.question.goal, x, exact)

    def _computed(self, node: Node, x: Any, exact: bool) -> Any:
        if exact:
            at = {n: mpmath.mpf(float(v)) for n, v in self.names.items()}
            return value_of(node, {**at, "x": mpmath.mpf(x)}, True)
        with np.errstate(all="ignore"):
            found = value_of(node, {**self.names, "x": x}, False)
        return np.broadcast_to(np.asarray(found, dtype=np.float64), x.shape)

    def known(self, x: Any) -> tuple[Any, Any] | None:
        """The goal and the least margin at a point in many digits; None where there is no value.

        Far out as many digits cancel as the point has, several times.
        """
        size = abs(int(mpmath.log10(abs(x)))) if x else 0
        try:
            with mpmath.workdps(DIGITS + 6 * size):
                goal = self.goal(x)
                margins = [self._computed(m, x, True) for m in self.question.margins]
        except (ValueError, ZeroDivisionError, OverflowError, TypeError, MemoryError):
            return None
        values = [goal, *margins]
        if any(isinstance(v, mpmath.mpc) or not mpmath.isfinite(v) for v in values):
            return None
        return goal, min(margins, default=mpmath.inf)

    def grid(self) -> Array:
        q = self.question
        powers = np.geomspace(1e-14, 1, 500)
        finite = [abs(e) for e in (q.low, q.high) if math.isfinite(e) and e]
        sizes = [1.0, 1e-9, 1e9] if q.kind in ("scaled", "fitted") else [1.0]
        sizes += finite
        parts = []
        if math.isfinite(q.low) and math.isfinite(q.high):
            width = q.high - q.low
            parts += [np.linspace(q.low, q.high, 4001)]
            parts += [q.low + width * powers, q.high - width * powers]
        else:
            ends = [(q.low, 1)] if math.isfinite(q.low) else []
            ends += [(q.high, -1)] if math.isfinite(q.high) else []
            ends = ends or [(0.0, 1), (0.0, -1)]
            for end, side in ends:
                for size in sizes:
                    parts.append(end + side * size * np.linspace(0, 30, 3001))
                    parts.append(end + side * size * np.geomspace(1e-14, 1e15, 1500))
        for border in q.borders:
            at = float(border)
            near = max(1.0, abs(at)) * powers[-300:]
            parts += [np.array([at]), at + near, at - near]
        x = np.unique(np.concatenate(parts))
        inside = (x > q.low) | ((x == q.low) & (not q.low_open))
        inside &= (x < q.high) | ((x == q.high) & (not q.high_open))
        return x[inside]

    def best(self) -> tuple[Any, Any] | None:
        """The best allowed point that was found, and the goal there; None where none is allowed."""
        x = self.grid()
        goal = self.goal(x, exact=False)
        allowed = np.isfinite(goal)
        for margin in self.question.margins:
            values = self._computed(margin, x, False)
            allowed &= values >= 0
        found: list[tuple[Any, Any]] = []
        height = np.where(allowed, goal, np.inf)
        order = np.argsort(height, kind="stable")[:400]
        starts: list[int] = []
        for i in order:
            if not np.isfinite(height[i]) or len(starts) == 4:
                break
            if all(abs(int(i) - j) > 3 for j in starts):
                starts.append(int(i))
        for i in starts:
            low, high = x[max(i - 1, 0)], x[min(i + 1, len(x) - 1)]
            found += self._sharpened(x[i], low, high)
        for far in self._far():
            known = self.known(far)
            if known is not None and known[1] >= 0:
                found.append((far, known[0]))
        return min(found, key=lambda pair: pair[1]) if found else None

    def _sharpened(self, at: float, low: float, high: float) -> list[tuple[Any, Any]]:
        """The best point between two neighbours, by repeated refinement."""
        start = self.known(at)
        if start is None or start[1] < 0:
            return []
        best = (mpmath.mpf(at), start[0])
        left, right = mpmath.mpf(low), mpmath.mpf(high)
        for _ in range(12):
            step = (right - left) / 10
            for k in range(1, 10):
                point = left + k * step
                known = self.known(point)
                if known is not None and known[1] >= 0 and known[0] < best[1]:
                    best = (point, known[0])
            left, right = max(left, best[0] - step), min(right, best[0] + step)
        return [best]

    def _far(self) -> Iterator[Any]:
        q = self.question
        far = FAR if not any(f in q.text for f in ("exp(", "tanh(")) else (2, 3, 4)
        far = far if not any(f in q.text for f in ("sin(", "cos(")) else (6, 8, 12)
        unit = mpmath.mpf(q.unit)
        for k in far:
            if math.isinf(q.high):
                yield unit * mpmath.mpf(10) ** k
            if math.isinf(q.low):
                yield -unit * mpmath.mpf(10) ** k
            if q.low == 0 and not math.isinf(q.low) and q.low_open:
                yield mpmath.mpf(10) ** -k if mpmath.mpf(10) ** -k < q.high else q.high / 2

    # Judgement

    def wrong(self, answer: Any) -> str | None:
        """What is wrong with an answer; None where nothing is, or that is not known."""
        with mpmath.workdps(DIGITS):
            if answer.status == "undecided" and not answer.unknowns:
                return None
            best = self.best()
            if answer.status == "infeasible":
                return self._not_infeasible(best)
            if answer.status == "unbounded":
                return self._not_unbounded(answer, best)
            return self._not_best(answer, best)

    def _not_infeasible(self, best: tuple[Any, Any] | None) -> str | None:
        if best is None:
            return None
        known = self.known(best[0])
        assert known is not None
        return f"infeasible, but x = {_short(best[0])} is allowed by {_short(known[1])}"

    def _not_unbounded(self, answer: Any, best: tuple[Any, Any] | None) -> str | None:
        said = answer.proof[0]
        side = -1 if said.endswith("-> -oo") else 1
        if "-> oo" not in said and "-> -oo" not in said:
            return self._not_unbounded_at(said)
        unit = mpmath.mpf(self.question.unit)
        points = [side * unit * mpmath.mpf(10) ** k for k in OUTWARDS]
        near = side < 0 and "exp(" in self.question.text
        if near:
            points = points[:6]  # mpmath cannot go further out, where it may be allowed only
        values = [known for p in points if (known := self.known(p)) is not None]
        if len(values) < 2:
            return None
        if values[-1][1] < 0 and near:
            return None
        if values[-1][1] < 0:
            return f"{said}: x = {_short(points[len(values) - 1])} is not allowed"
        last = values[-1][0]
        if "nearer" in said:
            limit = self.sign * mpmath.mpf(said.split("nearer to ")[1].split(" as ")[0])
            room = mpmath.mpf(1e-5) * max(abs(limit), abs(last))
            if best is not None and best[1] < limit - room and best[1] < last - room:
                return f"{said}, but x = {_short(best[0])} gives {_short(self.sign * best[1])}"
            return None
        if not values[-1][0] < values[-2][0]:
            return f"{said}, but it rises there"
        return None

    def _not_unbounded_at(self, said: str) -> str | None:
        end = mpmath.mpf(said.split("-> ")[1])
        q = self.question
        side = 1 if float(end) == q.low else -1
        steps = [side * q.unit * mpmath.mpf(10) ** -k for k in (12, 20, 100, 1000)]
        values = [known[0] for s in steps if (known := self.known(end + s)) is not None]
        falling = all(b < a for a, b in zip(values, values[1:], strict=False))
        return None if falling else f"{said}, but it does not fall there"

    def _not_best(self, answer: Any, best: tuple[Any, Any] | None) -> str | None:
        x = answer.unknowns[0].value
        q = self.question
        value = self.sign * mpmath.mpf(answer.goal.value)
        outside = not q.low <= x <= q.high
        if (
            outside
            or answer.status == "answered"
            and (x == q.low and q.low_open or x == q.high and q.high_open)
        ):
            return f"x = {x} is outside the range"
        known = self._known_at(answer, value)
        room = max(self._rounding(x, known), CLOSE * abs(value) * 1e-3)
        if known is not None:
            if known[1] < -self._margin_rounding(x):
                return f"x = {x} is not allowed: {_short(known[1])}"
            if abs(known[0] - value) > room:
                return f"the goal at x = {x} is {_short(self.sign * known[0])}, not {_short(self.sign * value)}"
        if best is not None and best[1] < value - room:
            return f"x = {x}, goal {_short(self.sign * value)}: x = {_short(best[0])} gives {_short(self.sign * best[1])}"
        return None

    def _known_at(self, answer: Any, value: Any) -> tuple[Any, Any] | None:
        """What is known at an answer: at a border on the border itself, as no float may be, and for
        a limit on the side that has this limit.
        """
        x = answer.unknowns[0].value
        close = [b for b in self.question.borders if abs(x - float(b)) <= 1e-15 * abs(x)]
        if not close:
            return self.known(x)
        border = mpmath.mpf(close[0].numerator) / close[0].denominator
        if answer.status != "approached":
            return self.known(border)
        step = mpmath.mpf(10) ** -20 * max(1, abs(x))
        sides = [self.known(border + side * step) for side in (-1, 1)]
        known = [k for k in sides if k is not None and k[1] >= -self._margin_rounding(x)]
        return min(known, key=lambda k: abs(k[0] - value), default=None)

    def _rounding(self, x: float, known: tuple[Any, Any] | None) -> Any:
        """How far the goal may be off because numbers are rounded."""
        size = mpmath.mpf(0) if known is None else abs(known[0])
        for other in (x * (1 + 1e-13), x * (1 - 1e-13)):
            if any(min(x, other) <= border <= max(x, other) for border in self.question.borders):
                continue  # beyond a jump values do not tell of rounding
            near = self.known(other)
            if near is not None and known is not None:
                size = max(size, abs(near[0] - known[0]) / CLOSE)
        terms = self.question.goal
        while terms[0] == "*" and terms[-1][0] == "+":
            scale = abs(value_of(terms[1], {}, True)) if terms[1][0] == "number" else mpmath.mpf(1)
            terms = terms[-1]
            size = max(size, self._largest_term(terms, x, scale))
        if terms[0] == "+":
            size = max(
                size,
                self._largest_term(terms, x, mpmath.mpf(1)) if terms is self.question.goal else 0,
            )
        return CLOSE * size + mpmath.mpf(10) ** -300

    def _largest_term(self, node: Node, x: float, scale: Any) -> Any:
        """Float64 adds these up: 1e-6 of the tolerance of each."""
        largest = mpmath.mpf(0)
        for term in node[1:]:
            try:
                largest = max(largest, abs(self._computed(term, x, True)))
            except (ValueError, ZeroDivisionError, OverflowError, TypeError):
                continue
        return scale * largest * mpmath.mpf(10) ** -5

    def _margin_rounding(self, x: float) -> Any:
        size = mpmath.mpf(10) ** -300
        for margin in self.question.margins:
            for term in margin[1:]:
                try:
                    size = max(size, abs(self._computed(term, x, True)))
                    near = self._computed(term, x * (1 + 1e-13), True)
                    size = max(size, abs(near - self._computed(term, x, True)) / CLOSE)
                except (ValueError, ZeroDivisionError, OverflowError, TypeError):
                    continue
        return CLOSE * size


def _short(x: Any) -> str:
    return mpmath.nstr(mpmath.mpf(x), 12)


Solve = Callable[[Question], Any]


def verdict(question: Question, answer: Any) -> tuple[str, str]:
    """One of: certain, answered, undecided, wrong certain, wrong; and what is wrong."""
    found = Referee(question).wrong(answer)
    if found is None:
        if answer.status == "undecided":
            return "undecided", ""
        return ("certain" if answer.certain else "answered"), ""
    if answer.certain:
        return "wrong certain", found
    return ("undecided, beaten" if answer.status == "undecided" else "wrong"), found
