"""`minimize` and `start` lines -> the objective of the fit and its starting points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from lawdsl.core.diagnostics import Span
from lawdsl.core.losses import LOSSES, Loss
from lawdsl.language import keywords, size_limits, tree
from lawdsl.language.constants import TooLarge, Undefined, value
from lawdsl.language.formulas import check_formula
from lawdsl.language.printer import print_formula
from lawdsl.language.scope import ANY, GRID, POINT, Scope
from lawdsl.language.subscripts import check_as_declared
from lawdsl.language.symbols import Objective, ParameterChoice, Target
from lawdsl.language.tree import Formula

MIN_CHOICE_VALUES, MAX_CHOICE_VALUES = 10, 1_000_000  # values among which a parameter is chosen


def check_objective(scope: Scope, statement: tree.Minimize, output: str) -> Objective | None:
    """The objective of a `minimize` line; None, after a message, where it is not a valid one.

    Args:
        scope: the names of the file.
        statement: the statement.
        output: the name of the law's output.
    """
    objective = read_objective(statement.objective, output)
    if objective is None:
        *most, last = (form for row in LOSSES.values() for form in row.forms(output))
        help = f"write {', '.join(most)} or {last}"
        if isinstance(statement.objective, tree.Call) and statement.objective.keywords:
            name, _ = statement.objective.keywords[0]
            help = f"write squared({output}, {name} = {ParameterChoice(name).text(output)})"
        else:
            help = _bad_parameter(statement.objective) or help
        scope.report("L0404", "this is not an objective", statement.span, help)
    elif objective.choice is not None and not _can_be_chosen(
        scope, objective.choice, statement.span
    ):
        return None
    return objective


def _bad_parameter(formula: Formula) -> str:
    """What to write for the first parameter of a loss that is not a number above 0; empty where all
    are, or their number is wrong."""
    match formula:
        case tree.Call(name, (_, *arguments), (), ()) if name in LOSSES:
            row = LOSSES[name]
        case _:
            return ""
    if len(arguments) != len(row.parameters):
        return ""
    for parameter, example, argument in zip(row.parameters, row.example, arguments, strict=True):
        if _read_sizes([argument], row.limit) is None:
            below = f" and below {row.limit:g}" if row.limit < math.inf else ""
            return (
                f"`{print_formula(argument)}`, the {parameter} of {name}, must be a number above 0"
                f"{below}: write {example}"
            )
    return ""


def _can_be_chosen(scope: Scope, choice: ParameterChoice, span: Span) -> bool:
    """Whether it is of a parameter without subscripts; if not, a message."""
    name_span = scope.within(span, choice.name)
    symbol = scope.use(choice.name, name_span, ANY)
    if symbol is None:
        return False
    if symbol.kind != "parameter" and not symbol.determined_by:
        message = (
            f"`{choice.name}` is {keywords.a(symbol.kind)}; only a parameter is chosen by a fit"
        )
        scope.report("L0404", message, name_span, "remove it, or name a parameter")
        return False
    if symbol.indices:
        message = f"`{symbol.text}` has a value for each label; only one value can be chosen"
        scope.report(
            "L0404", message, name_span, "remove it, or name a parameter without subscripts"
        )
        return False
    return True


def read_objective(formula: Formula, output: str) -> Objective | None:
    """The objective that a formula such as `huber(log(L), 1e-3)` states; None for another formula.

    Args:
        formula: the formula.
        output: the name of the law's output.
    """
    if isinstance(formula, tree.Call) and formula.keywords:
        choice = read_choice(formula.keywords, output)
        objective = read_objective(replace(formula, keywords=()), output)
        return replace(objective, choice=choice) if objective and choice else None
    match formula:
        case tree.Call(name, (of, *arguments), (), ()) if name in LOSSES:
            parameters = _read_parameters(LOSSES[name], arguments)
        case _:
            return None
    if parameters is None:
        return None
    loss = Objective(name).with_parameters(*parameters)
    match of:
        case tree.Name(text) if text == output:
            return replace(loss, log=False)
        case tree.Call("log", (tree.Name(text),), (), ()) if text == output:
            return loss
    return None


def _read_parameters(row: Loss, arguments: Sequence[Formula]) -> list[float] | None:
    """The parameters of a loss; None where they are too few, too many or not above 0."""
    if len(arguments) != len(row.parameters):
        return None
    return _read_sizes(arguments, row.limit)


def _read_sizes(arguments: Sequence[Formula], limit: float = math.inf) -> list[float] | None:
    """The values of formulas that are numbers above 0 and below a limit; None where one is not."""
    try:
        sizes = [value(argument) for argument in arguments]
    except (Undefined, TooLarge):
        return None
    sizes_above_0 = [float(size) for size in sizes if size is not None and 0 < size < limit]
    return sizes_above_0 if len(sizes_above_0) == len(sizes) else None


def read_choice(keywords: Sequence[tuple[str, Formula]], output: str) -> ParameterChoice | None:
    """The choice that `c = straightest(log(L - c), 1000)` states; None for anything else.

    Args:
        keywords: the keyword arguments of the line.
        output: the name of the law's output.
    """
    match keywords:
        case ((name, tree.Call("straightest", (tree.Call("log", (of,), (), ()), *count), (), ())),):
            pass
        case _:
            return None
    match of:
        case tree.Sum((("+", tree.Name(minuend)), ("-", tree.Name(subtrahend)))):
            if (minuend, subtrahend) != (output, name):
                return None
        case _:
            return None
    if not count:
        return ParameterChoice(name)
    try:
        size = value(count[0])
    except (Undefined, TooLarge):
        return None
    if count[1:] or size is None or size != int(size):
        return None
    return (
        ParameterChoice(name, int(size)) if MIN_CHOICE_VALUES <= size <= MAX_CHOICE_VALUES else None
    )


def read_target(formula: Formula) -> Target | None:
    """The target of a grid, from `A`, `log(A)` or `log(C - C0)`; None for any other formula."""
    match formula:
        case tree.Name(name):
            return Target(name)
        case tree.Element(name, subscripts):
            return Target(name, subscripts=subscripts)
        case tree.Call("log", (tree.Name() | tree.Element() as of,), (), ()):
            target = read_target(of)
            return target and replace(target, log=True)
        case tree.Call(
            "log", (tree.Sum(((_, tree.Name() | tree.Element() as of), *rest)),), (), ()
        ):
            target = read_target(of)
            less = rest[0][1]
            # C - C0 is the usual form; of several terms the sum of the others is subtracted
            if [sign for sign, _ in rest] != ["-"]:
                negated = [("-" if sign == "+" else "+", term) for sign, term in rest]
                less = tree.Sum((("+", tree.Number("0")), *negated))
            return target and replace(target, log=True, less=less)
    return None


def check_grid(scope: Scope, statement: tree.StartGrid) -> None:
    """Report mistakes in `start log(A), log(B) in {-1, 0, ..., 5}`.

    Args:
        scope: the names of the file.
        statement: the line.
    """
    for formula in statement.targets:
        target = read_target(formula)
        if target is None:
            message = f"`{print_formula(formula)}` cannot have a start"
            help = "write `A`, `log(A)` or `log(A - limit)`"
            scope.report("L0405", message, formula.span, help)
            continue
        name_span = scope.within(formula.span, target.name)
        _check_parameter(scope, target.name, target.subscripts, name_span)
        if target.less is not None:
            before = len(scope.diagnostics)
            check_formula(scope, target.less, GRID, subscripts=target.subscripts)
            if len(scope.diagnostics) == before:
                _check_made_above(scope, target.name, target.less)
    try:
        spread(statement.values)
    except ValueError as error:
        listed = [v.span for v in statement.values if v is not None] or [statement.span]
        span = Span(listed[0].start, listed[-1].end)
        scope.report("L0405", str(error), span, "write as {-1, 0, ..., 5}")


def check_point(scope: Scope, statement: tree.StartPoint) -> None:
    """Report mistakes in `start b1 = 500, b2 = 1e-4`.

    Args:
        scope: the names of the file.
        statement: the line.
    """
    for named, formula in statement.values:
        name = tree.name_of(named)
        subscripts = named.subscripts if isinstance(named, tree.Element) else ()
        home = named.span if isinstance(named, tree.Element) else statement.span
        _check_parameter(scope, name, subscripts, scope.within(home, name))
        check_formula(scope, formula, POINT)
    names = [tree.name_of(named) for named, _ in statement.values]
    if len(set(names)) < len(names):
        scope.report("L0405", "a name has two values here", statement.span, "write it once")


def crossed(
    scope: Scope, inherited: Iterable[tree.StartGrid], own_grids: Sequence[tree.StartGrid]
) -> tuple[tree.StartGrid, ...]:
    """The starting grids of a law: its own, and the inherited ones that its own do not replace.

    Args:
        scope: the names of the file.
        inherited: the grids of the law that it extends.
        own_grids: the grids of its file.
    """
    names: set[str] = set()
    for grid in own_grids:
        for formula in grid.targets:
            target = read_target(formula)
            if target is not None and target.name in names:
                message = f"`{target.name}` has two grids"
                scope.report("L0405", message, formula.span, "remove one")
            elif target is not None:
                names.add(target.name)
    remaining = []
    for grid in inherited:
        free_targets = [
            t for t in grid.targets if (parsed := read_target(t)) and parsed.name not in names
        ]
        if free_targets:
            remaining.append(replace(grid, targets=tuple(free_targets)))
    grids = (*remaining, *own_grids)
    # an inherited product was within the limit when the extended law was read
    if own_grids and math.prod(_size(grid) for grid in grids) > size_limits.MAX_STARTS:
        message = f"the grids make more than {size_limits.MAX_STARTS:,} starts"
        scope.report("L0405", message, own_grids[-1].span, "make them coarser")
    return grids


def spread(values: tuple[Formula | None, ...]) -> tuple[float, ...]:
    """The numbers of `{-1, 0, ..., 5}`: the dots go on in steps of the two numbers before them.

    Raises:
        ValueError: dots without two numbers before and one behind, steps that miss the end, or
            something that is not a number.
    """
    numbers = [None if v is None else _number(v) for v in values]
    points: list[float] = []
    for i, number in enumerate(numbers):
        if number is not None:
            points.append(float(number))
            continue
        beside = (*numbers[max(i - 2, 0) : i], *numbers[i + 1 : i + 2])
        around = [n for n in beside if n is not None]
        if len(around) < 3:
            raise ValueError("`...` needs two numbers before it and one behind")
        first, second, last = around
        step = second - first
        # literals are exact fractions; a value such as log(2) is a float, which needs the tolerance
        count: Fraction | float = (last - second) / step if step else 0.0
        if not 1 <= count <= 1000 or abs(float(count) - round(count)) > 1e-9:
            ends = f"from {_number_text(second)} to {_number_text(last)}"
            raise ValueError(f"steps of {_number_text(step)} do not lead {ends}")
        points += [float(second + k * step) for k in range(1, round(count))]
    return tuple(points)


def _number_text(number: Fraction | float) -> str:
    try:
        return f"{float(number):g}"
    except OverflowError:  # a difference of two numbers
        return "more than 1.8e308"


def _number(formula: Formula) -> Fraction | float:
    try:
        number = value(formula)
    except (Undefined, TooLarge) as error:
        raise ValueError(f"a start in a grid is a number: {error}") from None
    if number is None:
        raise ValueError("a start in a grid is a number")
    return number


def _size(grid: tree.StartGrid) -> int:
    try:
        return int(len(spread(grid.values)) ** len(grid.targets))
    except ValueError:
        return 1  # it has its message


def _check_parameter(scope: Scope, name: str, subscripts: tuple[str, ...], span: Span) -> None:
    symbol = scope.use(name, span, ANY)
    if symbol is not None and symbol.kind != "parameter":
        kind = keywords.a("held parameter" if symbol.determined_by else symbol.kind)
        message = f"`{name}` is {kind}; only free parameters have starts"
        scope.report("L0405", message, span, "remove it")
    elif symbol is not None:
        check_as_declared(scope, symbol, subscripts, "a start is for", span)


def _check_made_above(scope: Scope, name: str, formula: Formula) -> None:
    """Starts are set in the order of the declarations: C0 is known where C starts from it."""
    names = list(scope.symbols)
    if name not in names:
        return
    above = set(names[: names.index(name)])
    made_of, waiting = set(), [formula]
    while waiting:
        for node in tree.walk(waiting.pop()):
            if not isinstance(node, (tree.Name, tree.Element)):
                continue
            used = node.text if isinstance(node, tree.Name) else node.name
            symbol = scope.symbols.get(used)
            if symbol is not None and symbol.name not in made_of:
                made_of.add(symbol.name)
                if symbol.kind == "let" and symbol.formula is not None:
                    waiting.append(symbol.formula)
    late = sorted(made_of - above)
    if late:
        message = f"a start of `{name}` is made of `{late[0]}`, which is not declared above it"
        scope.report("L0405", message, formula.span, f"declare `{name}` below `{late[0]}`")
