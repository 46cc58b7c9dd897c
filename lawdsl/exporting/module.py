"""Exported -> what modules of all targets have in common: identifiers, data, texts of formulas."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lawdsl import __version__
from lawdsl.compiling.indexed_leaves import Leaf
from lawdsl.core.enumerations import abridged
from lawdsl.exporting.content import Constant, Exported, ExportedVariable, Nested
from lawdsl.exporting.names import Identifiers
from lawdsl.exporting.statements import StatementWriter
from lawdsl.exporting.targets import ExportTarget
from lawdsl.language.instances.instance import Differing
from lawdsl.language.printer import print_formula

WIDTH = 96  # of lines of data and text
MAX_NAMED = 12  # elements of a parameter that a comment names


@dataclass(frozen=True)
class Module:
    """A module that is being written.

    Attributes:
        made: the content.
        target: the language.
        arguments: variable -> identifier.
        rows: index whose label a prediction has -> identifier of its set.
        positions: the same -> identifier of the position of the label.
        locals: parameter or setting -> identifier inside functions.
        loops, inner_loops: axis -> identifier of an index along it.
        identifiers: those of the module so far; functions add their own.
    """

    made: Exported
    target: ExportTarget
    arguments: Mapping[str, str]
    rows: Mapping[str, str]
    positions: Mapping[str, str]
    locals: Mapping[str, str]
    loops: Mapping[int, str]
    inner_loops: Mapping[int, str]
    identifiers: Identifiers

    @property
    def called(self) -> list[str]:
        """The identifiers of all inputs of a prediction, in their order."""
        return [*self.arguments.values(), *self.rows.values()]

    @property
    def bound(self) -> list[str]:
        """The identifiers of checked inputs: positions in place of labels."""
        return [*self.arguments.values(), *self.positions.values()]

    def writer(self) -> StatementWriter:
        """A writer of the statements of one function."""
        counts = {
            axis: len(self.made.labels[self.made.index_sets[index]])
            for axis, index in self.made.program.axis_names.items()
        }
        identifiers = Identifiers(self.identifiers.used)
        return StatementWriter(
            self.made.program,
            self.target,
            identifiers,
            counts,
            self.leaf,
            self.loops,
            self.inner_loops,
        )

    def leaf(self, leaf: Leaf, loops: Mapping[int, str]) -> str:
        """The text of a parameter, setting or variable with its subscripts."""
        name, labels = leaf
        identifier = self.arguments.get(name) or self.locals[name]
        variable = next((v for v in self.made.variables if v.name == name), None)
        if variable is not None and not variable.over:
            return identifier
        over = sets_of(variable) if variable is not None else self.constant(name).over
        return identifier + "".join(
            f"[{self.position(label, each, loops)}]"
            for label, each in zip(labels, over, strict=True)
        )

    def position(self, label: object, over: str, loops: Mapping[int, str]) -> str:
        """The position of a label in its set: that of a loop, of the row, or a number."""
        if isinstance(label, int):
            return loops[label]
        if isinstance(label, Differing):
            return self.positions[label.index]
        return str(self.made.labels[over].index(str(label)))

    def constant(self, name: str) -> Constant:
        """The parameter or setting of a name."""
        return next(c for c in self.made.constants if c.name == name)

    def used(self, roots: Sequence[int]) -> list[Constant]:
        """The parameters and settings that some steps need."""
        steps, needed, waiting = self.made.program.steps, set[int](), list(roots)
        while waiting:
            position = waiting.pop()
            if position not in needed:
                needed.add(position)
                waiting += steps[position][1]
        leaves = [steps[p][2] for p in needed if steps[p][0] == "leaf"]
        names = {leaf[0] for leaf in leaves if isinstance(leaf, tuple)}
        return [c for c in self.made.constants if c.name in names]

    def literal(self, values: Nested) -> str:
        """Numbers, or nested lists of them, as a literal."""
        if isinstance(values, tuple):
            return f"[{', '.join(map(self.literal, values))}]"
        return self.target.number(values)

    def rows_of(self, rows: Sequence[Nested]) -> list[str]:
        """The lines of a list of numbers or of lists, folded where they are long."""
        if not rows:
            return ["[]"]
        texts = [f"{self.literal(row)}," for row in rows]
        if not isinstance(rows[0], tuple):
            texts = [" ".join(texts)]
        folded = [
            line
            for text in texts
            for line in textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
        ]
        return ["[", *(self.target.indent + line for line in folded), "]"]


def module_of(made: Exported, target: ExportTarget) -> Module:
    """Choose the identifiers of a module."""
    identifiers = Identifiers(target.reserved)
    arguments = {v.name: identifiers.add(v.name) for v in made.variables}
    rows = {index: identifiers.add(over, "label") for index, over in made.rows.items()}
    positions = {index: identifiers.add(index, "k") for index in made.rows}
    locals = {c.name: identifiers.add(c.name, "p") for c in made.constants}
    axes = made.program.axis_names
    loops = {axis: identifiers.add(index, "k") for axis, index in axes.items()}
    inner = {axis: identifiers.add(f"other_{index}", "k") for axis, index in axes.items()}
    return Module(made, target, arguments, rows, positions, locals, loops, inner, identifiers)


def heading(made: Exported) -> list[str]:
    """The lines that say what a module contains, as plain text without escapes."""
    title = f"{made.name}: {made.title}" if made.title else made.name
    lines = [title, "", *(f"    {line}" for line in formula_lines(made)), ""]
    lines += [f"Source: {source}" for source in made.sources]
    lines += _provenance(made)
    lines += [f"Law SHA-256:  {made.digest}"]
    if made.fit is not None:
        lines += [f"Data SHA-256: {digest}" for digest in made.fit.digest]
    return [*lines, f"Written by lawdsl {__version__}."]


def formula_lines(made: Exported) -> list[str]:
    """The definitions and the law, as the language writes them."""
    lines = [f"{name} = {print_formula(formula)}" for name, formula in made.formulas]
    if made.unit:
        lines[-1] += f"  [{made.unit}]"
    return lines


def _provenance(made: Exported) -> list[str]:
    fit = made.fit
    if fit is None:
        return ["The values of the parameters were given, not fitted."]
    where = f" where {', '.join(fit.where)}" if fit.where else ""
    lines = [f"Fitted to {fit.rows:,} rows of {fit.data}{where}; verdict: {fit.verdict}."]
    ranges = []
    for name, (low, high) in fit.ranges.items():
        unit = fit.units.get(name.partition("[")[0], "")
        ranges.append(f"{name} {low:.4g} to {high:.4g}{f' {unit}' if unit else ''}")
    ranges += [f"{name} none that all labels share" for name in fit.no_common_range]
    if ranges:
        text = (
            f"Fitted range: {', '.join(ranges)}. Beyond it the error of the law is not known here."
        )
        lines += textwrap.wrap(text, WIDTH, break_long_words=False)
    return lines


def described(variable: ExportedVariable) -> str:
    """What a reader must know of a variable: its text, unit and domain."""
    parts = [variable.doc, f"in {variable.unit}" if variable.unit else "", variable.domain]
    return "; ".join(part for part in parts if part) or "any number"


def remark(constant: Constant) -> str:
    """What a reader must know of a parameter: its standard error, why it is to be distrusted, its
    sets, its unit, and its text."""
    error, parts = constant.errors, []
    if isinstance(error, float) and 0 < error < math.inf:
        parts.append(f"± {error:.2g}")
    if constant.over:
        parts.append(f"by {', '.join(constant.over)}")
    for note in dict.fromkeys(constant.notes.values()):
        labels = [
            f"[{', '.join(each)}]" for each, why in constant.notes.items() if why == note and each
        ]
        parts.append(f"{note}: {abridged(labels, MAX_NAMED)}" if labels else note)
    if constant.kind == "setting":
        parts.append("not fitted")
    if constant.unit:
        parts.append(f"in {constant.unit}")
    return "; ".join([*parts, constant.doc] if constant.doc else parts)


def part_number(module: Module) -> str:
    """The number of the fit that a prediction's labels belong to, as an expression."""
    made, text = module.made, "0"
    for index in made.apart:
        count = len(made.labels[made.index_sets[index]])
        position = module.positions[index]
        text = position if text == "0" else f"({text}) * {count} + {position}"
    return text


def sets_of(variable: ExportedVariable) -> tuple[str, ...]:
    """The sets of the subscripts that values of a variable have."""
    return (variable.over,) if variable.over else ()


def slope_of(module: Module, writer: StatementWriter, name: str, over: Sequence[str]) -> str:
    """The derivative by a parameter or variable as an expression: nested lists along its sets.

    Args:
        module: the module.
        writer: has the statements that the derivatives need.
        name: of the parameter or variable.
        over: the sets of its subscripts.
    """
    target, counts = module.target, [len(module.made.labels[each]) for each in over]
    indices = [writer.identifiers.add(f"a{k}", "a") for k in range(len(counts))]
    terms = []
    for (leaf, labels), position in module.made.program.slopes.items():
        if leaf != name:
            continue
        loops: dict[int, str] = {}
        conditions = []
        # a variable with one value a row has a subscript, but no axis
        for index, each, label in zip(indices, over, labels, strict=False):
            if isinstance(label, int) and label not in loops:
                loops[label] = index
            else:
                where = module.position(label, each, loops)
                conditions.append(f"{index} {target.equal} {where}")
        text = writer.at(position, loops)
        if conditions:
            zero = target.number(0.0)
            condition = target.both.join(conditions)
            text = target.choice.format(condition=condition, yes=text, no=zero)
        terms.append(text)
    body = " + ".join(terms) or target.number(0.0)
    for index, count in reversed(list(zip(indices, counts, strict=True))):
        body = target.each.format(body=body, index=index, count=count)
    return body


def roots_of(made: Exported, names: Collection[str]) -> list[int]:
    """The steps of the derivatives by parameters or variables."""
    return [position for (name, _), position in made.program.slopes.items() if name in names]


def differentiated(made: Exported) -> list[Constant]:
    """The parameters by which derivatives are written: those with errors, else all."""
    free = {term.name for errors in made.errors for terms in errors.terms for term in terms}
    return [c for c in made.constants if (c.name in free if free else c.kind != "setting")]
