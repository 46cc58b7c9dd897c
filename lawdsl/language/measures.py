"""`measure` lines -> rules by which a variable is measured, for each label, from a table of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lawdsl.core.diagnostics import Span
from lawdsl.language import keywords, tree
from lawdsl.language.constants import TooLarge, Undefined, value
from lawdsl.language.dimensions import powers_in
from lawdsl.language.formulas import check_same_unit
from lawdsl.language.printer import print_formula
from lawdsl.language.scope import ANY, Scope
from lawdsl.language.subscripts import check_as_declared
from lawdsl.language.symbols import Measure, Reading, Symbol
from lawdsl.language.tree import Formula


def check_measures(
    scope: Scope, statements: Sequence[tree.MeasureNode], output: Symbol | None
) -> dict[str, Measure]:
    """The rules of measurement of a file, by the variables measured; mistakes are reported.

    Args:
        scope: the names of the file.
        statements: the `measure` lines.
        output: the law's output, if any.
    """
    measures: dict[str, Measure] = {}
    labels_resolved = scope.errors == 0  # else the labels of the rows may not be
    for statement in statements if output is not None else ():
        assert output is not None
        before = scope.errors
        symbol = _measured(scope, statement, output, labels_resolved)
        name = tree.name_of(statement.name)
        if symbol is not None and name in measures:
            help = "one rule a variable: remove one"
            scope.report("L0330", f"`{name}` is measured twice", statement.span, help)
        readings = _readings(scope, statement, output)
        if scope.errors == before and symbol is not None:
            _check_value(scope, statement, output)
            measures[name] = Measure(name, symbol.indices[0], statement.formula, readings)
    return measures


def _measured(
    scope: Scope, statement: tree.MeasureNode, output: Symbol, labels_resolved: bool
) -> Symbol | None:
    """The variable that a line is about; None, and a message, where it cannot be measured."""
    name = tree.name_of(statement.name)
    home = statement.name.span if isinstance(statement.name, tree.Element) else statement.span
    span = scope.within(home, name)
    before = scope.errors
    used = name in scope.used
    symbol = scope.use(name, span, ANY)
    if not used:
        scope.used.discard(name)  # what is measured is for a formula to use
    if symbol is None or scope.errors > before:
        return None
    help = "only a variable with one subscript is measured: `variable k1[d] > 0`"
    if symbol.kind != "variable":
        message = f"`{name}` is {keywords.a(symbol.kind)}, which is not measured"
    elif not symbol.indices:
        message = f"the variable `{name}` is a column of the table, with a value in each row"
    elif len(symbol.indices) > 1:
        message = f"`{symbol.text}` has {len(symbol.indices)} subscripts"
    else:
        subscripts = statement.name.subscripts if isinstance(statement.name, tree.Element) else ()
        check_as_declared(scope, symbol, subscripts, "a measure is for", span)
        needed = (symbol.indices[0], *output.rows, *output.indices)
        clear = labels_resolved and all(
            i in scope.indices for i in needed
        )  # else a line has its message
        own_set, *rows = (scope.indices[i].over for i in needed) if clear else ("",)
        if clear and own_set not in rows:
            message = f"the rows of a table do not say their label of `{symbol.indices[0]}`"
            help = f"measure what the law names for each row: `{output.text} = … {symbol.text} …`"
            scope.report("L0330", message, span, help)
        return symbol if scope.errors == before else None
    scope.report("L0330", message, span, help)
    return None


def _readings(
    scope: Scope, statement: tree.MeasureNode, output: Symbol
) -> dict[tree.Call, Reading]:
    """The readings in a formula; anything besides them and arithmetic is reported."""
    readings: dict[tree.Call, Reading] = {}
    example = f"`{output.name}(step = 1000)`"
    before = scope.errors
    for part in _operands(statement.formula):
        if isinstance(part, tree.Number):
            continue
        if isinstance(part, tree.Call) and part.function == output.name:
            reading = _reading(scope, part, output)
            if reading is not None:
                readings[part] = reading
            continue
        name = part.text if isinstance(part, tree.Name) else ""
        name = part.name if isinstance(part, tree.Element) else name
        message = f"`{print_formula(part)}` cannot stand in a measure"
        help = f"it is made of numbers, + - * / and readings as {example}"
        if name == output.name:
            message = f"`{print_formula(part)}` stands without the place where it is read"
            help = f"say where: {example}"
        elif isinstance(part, tree.Call) and part.function not in keywords.RESERVED:
            help = f"the output is read, which is called `{output.name}`: {example}"
        scope.report("L0331", message, part.span, help)
    if not readings and scope.errors == before:
        message = f"this reads nothing of `{output.name}`"
        scope.report("L0331", message, statement.formula.span, f"name a reading: {example}")
    return readings


def _operands(formula: Formula) -> Iterator[Formula]:
    """The operands of an arithmetic operation."""
    waiting = [formula]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tree.Sum):
            waiting += [term for _, term in reversed(part.terms)]
        elif isinstance(part, tree.Product):
            waiting += [factor for _, factor in reversed(part.factors)]
        elif isinstance(part, tree.Negative):
            waiting.append(part.operand)
        else:
            yield part


def _reading(scope: Scope, call: tree.Call, output: Symbol) -> Reading | None:
    """The reading `L(step = 1000, N = 1.8)` of a formula; None, after a message, if it is none."""
    before = scope.errors
    names = [name for name, _ in call.keywords]
    if call.subscripts:
        message = f"`{print_formula(call)}` is not a reading"
        inner = ", ".join(f"{name} = {print_formula(value)}" for name, value in call.keywords)
        reading = f"{output.name}({inner or 'step = 1000'})"
        scope.report("L0331", message, call.span, f"leave the label out: `{reading}`")
        return None
    if call.arguments:
        message = f"`{print_formula(call)}` does not say which column is read at this value"
        scope.report("L0331", message, call.span, f"write `{output.name}(step = 1000)`")
        return None
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        span = scope.within(call.span, twice, last=True)
        scope.report("L0331", f"`{twice}` stands twice in a reading", span, "write it once")
    conditions = []
    for name, formula in call.keywords:
        span = scope.within(call.span, name)
        _check_column(scope, name, span, output)
        try:
            number = value(formula)
        except Undefined as error:
            scope.report("L0501", error.why, error.node.span, "correct the formula")
            continue
        except TooLarge as error:
            scope.report("L0502", error.why, error.node.span, error.help)
            continue
        if number is None:
            message = f"`{name}` is read at a number, and this is none"
            scope.report("L0331", message, formula.span, f"write it as `{name} = 1000`")
        else:
            conditions.append((name, float(number)))
    return Reading(tuple(conditions)) if scope.errors == before else None


def _check_column(scope: Scope, name: str, span: Span, output: Symbol) -> None:
    """Report a name that is not a variable of the law and cannot be another column."""
    symbol = scope.symbols.get(name)
    if symbol is None or (symbol.kind == "variable" and not symbol.indices):
        return
    message = f"`{name}` is {keywords.a(symbol.kind)}, not a column of the table"
    if symbol.indices:
        message = f"`{symbol.text}` has a value for each label, not for each row"
    help = f"name a variable, or a column of the table: `{output.name}(step = 1000)`"
    scope.report("L0331", message, span, help)


def _check_value(scope: Scope, statement: tree.MeasureNode, output: Symbol) -> None:
    """Report a division by 0, and a unit that is not the variable's."""
    formula = _as_names(statement.formula, output.name)
    try:
        value(formula)
    except Undefined as error:
        scope.report("L0501", error.why, error.node.span, "correct the formula")
        return
    except TooLarge as error:
        scope.report("L0502", error.why, error.node.span, error.help)
        return
    powers, mistakes = powers_in(formula, lambda name: scope.units.get(name), {})
    for code, part, why in mistakes:
        help = "convert one of them, or leave it out"
        scope.report(code, f"the units differ: {why}", part.span, help)
    if not mistakes:
        name = tree.name_of(statement.name)
        of = scope.units.get(name)
        check_same_unit(scope, of, powers, f"`{name}`", statement.formula.span)


def _as_names(formula: Formula, output: str) -> Formula:
    """The formula with the output's name for each of its readings."""
    match formula:
        case tree.Sum(terms):
            parts = tuple((sign, _as_names(term, output)) for sign, term in terms)
            return tree.Sum(parts, span=formula.span)
        case tree.Product(factors):
            parts = tuple((sign, _as_names(factor, output)) for sign, factor in factors)
            return tree.Product(parts, span=formula.span)
        case tree.Negative(operand):
            return tree.Negative(_as_names(operand, output), span=formula.span)
        case tree.Call():
            return tree.Name(output, span=formula.span)
    return formula
