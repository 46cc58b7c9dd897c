"""Steps of a program -> statements of a target, with definitions and shared parts named.

What occurs once is written where it is used, so that a formula reads as in the law. Steps with axes
are lists along these axes: `l = [c[i] + k[i]*… for i in range(3)]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from lawdsl.compiling.indexed_leaves import Leaf
from lawdsl.core.functions import CHOICE
from lawdsl.exporting.names import Identifiers
from lawdsl.exporting.program import FINITE_LOG, OTHERS, REDUCTIONS, FormulaProgram
from lawdsl.exporting.targets import ExportTarget

MAX_WIDTH = 100  # of a line, beyond which a sum is broken before its terms

# how tightly a text binds
_SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(5)
Text = tuple[str, int]

REPEATING = (OTHERS, FINITE_LOG, "step", CHOICE)
"""Operations whose text has that of an argument twice, or with other indices."""

Environment = frozenset[int]  # the axes that have an index where an expression stands


@dataclass
class StatementWriter:
    """The statements of one function.

    Attributes:
        program: the steps.
        target: the language.
        identifiers: those of the module.
        counts: axis -> how many labels it has.
        leaf: a parameter or variable, and the indices of axes -> its text.
        loops: axis -> the identifier of its index.
        inner_loops: the same, for a second loop along the axis within the first.
    """

    program: FormulaProgram
    target: ExportTarget
    identifiers: Identifiers
    counts: Mapping[int, int]
    leaf: Callable[[Leaf, Mapping[int, str]], str]
    loops: Mapping[int, str]
    inner_loops: Mapping[int, str]
    lines: list[str] = field(default_factory=list)
    assigned: dict[int, str] = field(default_factory=dict)

    def statements(self, roots: Sequence[int]) -> None:
        """Append the statements of the named steps that some steps need.

        Args:
            roots: the steps whose texts will be taken afterwards, by `text`.
        """
        for position in self._named(roots):
            name = self.identifiers.add(self.program.lets.get(position, ""))
            axes = self.program.axes[position]
            value = [self._listed(position)] if axes else self.returned(position)
            self.assigned[position] = name
            text = f"\n{self.target.indent}".join(value)
            self.lines.append(
                self.target.indent + self.target.assignment.format(name=name, value=text)
            )

    def text(self, position: int, environment: Environment = frozenset()) -> str:
        """The expression of a step where some axes have an index."""
        return self._text(position, environment)[0]

    def at(self, position: int, loops: Mapping[int, str]) -> str:
        """The expression of a step at other indices of its axes.

        Args:
            position: the step.
            loops: axis -> index.
        """
        own, self.loops = self.loops, {**self.loops, **loops}
        text = self.text(position, self.program.axes[position])
        self.loops = own
        return text

    def whole(self, position: int) -> str:
        """A step by its name, or as an expression: a list along each of its axes."""
        return self.assigned.get(position) or self._listed(position)

    def returned(self, position: int) -> list[str]:
        """The lines of a parenthesis with a step without axes; a long sum has a line a term."""
        text = self.text(position)
        terms = self._terms(position) if len(text) > MAX_WIDTH else []
        return ["(", *(self.target.indent + term for term in terms), ")"] if terms[1:] else [text]

    def _terms(self, position: int) -> list[str]:
        """The terms of a sum, each but the first with its sign."""
        op, arguments, _ = self.program.steps[position]
        if position in self.assigned or op != "add":
            return [self.text(position)]
        whole, first = self.text(position), self.text(arguments[0])
        return [*self._terms(arguments[0]), whole[len(first) :].lstrip()]

    def _listed(self, position: int) -> str:
        axes = self.program.axes[position]
        body = self._expression(position, axes)[0]
        return self.along(self.target.each, body, sorted(axes))

    def along(self, template: str, body: str, axes: Iterable[int]) -> str:
        """An expression that runs over axes: a list, a sum or a product, the first axis outermost."""
        for axis in sorted(axes, reverse=True):
            body = template.format(body=body, index=self.loops[axis], count=self.counts[axis])
        return body

    def _named(self, roots: Sequence[int]) -> list[int]:
        """The steps that get a name, in their order."""
        steps, program = self.program.steps, self.program
        uses: dict[int, int] = {}
        for root in roots:
            uses[root] = uses.get(root, 0) + 1
        named = {root for root in roots if self.program.axes[root]}
        for position in range(len(steps) - 1, -1, -1):
            if position not in uses:
                continue
            op, arguments, _ = steps[position]
            environment = program.environment(position)
            for k in arguments:
                uses[k] = uses.get(k, 0) + 1
                if program.axes[k] != environment or op in REPEATING:
                    named.add(k)
        named |= {position for position, count in uses.items() if count > 1}
        named |= program.lets.keys() & uses.keys()
        return [p for p in sorted(named) if steps[p][0] not in ("leaf", "number")]

    def _text(self, position: int, environment: Environment) -> Text:
        if position in self.assigned:
            indices = "".join(f"[{self.loops[k]}]" for k in sorted(self.program.axes[position]))
            return self.assigned[position] + indices, _ATOM
        return self._expression(position, environment)

    def _expression(self, position: int, environment: Environment) -> Text:
        op, arguments, data = self.program.steps[position]
        match op:
            case "number":
                number = self.target.number(cast(float, data))
                return number, _UNARY if number.startswith("-") else _ATOM
            case "leaf":
                return self.leaf(cast(Leaf, data), self.loops), _ATOM
            case "add":
                return self._sum(arguments, environment)
            case "multiply":
                return self._product(arguments, environment)
            case "power":
                return self._power(arguments, environment)
            case _ if op in REDUCTIONS:
                axes = cast(tuple[int, ...], data)
                inner = environment | frozenset(axes)
                contract = op == "contract"
                body = (
                    self._product(arguments, inner) if contract else self._text(arguments[0], inner)
                )
                template = self.target.prod if op == "prod" else self.target.sum
                return self.along(template, body[0], axes), _ATOM
            case _ if op == OTHERS:
                return self._others(arguments[0], cast(tuple[int, ...], data)), _ATOM
        texts = [self.text(k, environment) for k in arguments]
        return self.target.call(op).format(*texts), _ATOM

    def _sum(self, arguments: Sequence[int], environment: Environment) -> Text:
        first = self._text(arguments[0], environment)
        negated = self._negated(arguments[1], environment)
        if negated is not None:
            return f"{first[0]} - {_bound(negated, _PRODUCT)}", _SUM
        second = self._text(arguments[1], environment)
        return f"{first[0]} + {_bound(second, _PRODUCT)}", _SUM

    def _negated(self, position: int, environment: Environment) -> Text | None:
        """A step without the minus sign that its text would begin with; None where it has none."""
        op, arguments, data = self.program.steps[position]
        if op == "number" and cast(float, data) < 0:
            return self.target.number(-cast(float, data)), _ATOM
        if position in self.assigned or op != "multiply" or not self._is_number(arguments[0], -1.0):
            return None
        return self._text(arguments[1], environment)

    def _product(self, arguments: Sequence[int], environment: Environment) -> Text:
        first, second = arguments
        if self._is_number(first, -1.0):
            # `--x` would be a decrement in JavaScript
            return f"-{_bound(self._text(second, environment), _POWER)}", _UNARY
        divisor = self._divisor(second)
        left = self._text(first, environment)
        if divisor is None:
            right = self._text(second, environment)
            return f"{_bound(left, _PRODUCT)} * {_bound(right, _UNARY)}", _PRODUCT
        return self._quotient(left, self._text(divisor, environment))

    def _quotient(self, left: Text, right: Text) -> Text:
        if self.target.infix:
            return f"{_bound(left, _PRODUCT)} / {_bound(right, _UNARY)}", _PRODUCT
        return self.target.call("divide").format(left[0], right[0]), _ATOM

    def _divisor(self, position: int) -> int | None:
        """The step by which multiplying with this one divides."""
        op, arguments, _ = self.program.steps[position]
        if position in self.assigned or op != "power" or not self._is_number(arguments[1], -1.0):
            return None
        return arguments[0]

    def _power(self, arguments: Sequence[int], environment: Environment) -> Text:
        base, exponent = (self._text(k, environment) for k in arguments)
        if self._is_number(arguments[1], -1.0):
            return self._quotient((self.target.number(1.0), _ATOM), base)
        if "power" in self.target.spellings:
            return self.target.call("power").format(base[0], exponent[0]), _ATOM
        return f"{_bound(base, _ATOM)} ** {_bound(exponent, _UNARY)}", _POWER

    def _others(self, position: int, axes: tuple[int, ...]) -> str:
        """For each factor the product of the others: a product in which it counts as 1."""
        inner = {axis: self.inner_loops[axis] for axis in axes}
        indices = "".join(
            f"[{inner.get(k, self.loops[k])}]" for k in sorted(self.program.axes[position])
        )
        same = self.target.both.join(
            f"{inner[k]} {self.target.equal} {self.loops[k]}" for k in axes
        )
        body = self.target.choice.format(
            condition=same, yes=self.target.number(1.0), no=self.assigned[position] + indices
        )
        for axis in sorted(axes, reverse=True):
            body = self.target.prod.format(body=body, index=inner[axis], count=self.counts[axis])
        return body

    def _is_number(self, position: int, x: float) -> bool:
        op, _, data = self.program.steps[position]
        return op == "number" and data == x


def _bound(text: Text, at_least: int) -> str:
    return text[0] if text[1] >= at_least else f"({text[0]})"
