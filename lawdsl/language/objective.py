"""`minimize` and `start` lines -> the objective of the fit and its starting points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from lawdsl.core.diagnostics import Span
from lawdsl.core.losses import LOSSES, OVER, Loss, can_be_asymmetric, over_advice
from lawdsl.core.objectives import Objective, ParameterChoice
from lawdsl.language import keywords, size_limits, tree
from lawdsl.language.constants import RELATIONS, TooLarge, Undefined, value
from lawdsl.language.formulas import check_formula, number
from lawdsl.language.mistakes.misspelt_losses import MEANT, misspelt_loss
from lawdsl.language.printer import print_formula
from lawdsl.language.scope import ANY, GRID, POINT, Scope
from lawdsl.language.subscripts import check_as_declared
from lawdsl.language.symbols import Symbol, Target
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
    if objective is None and scope.unknown_told & _names([statement.objective]):
        return None  # the name has its message
    if objective is None:
        span, help = _objective_advice(statement.objective, output)
        message = "this is not an objective"
        named = _named_parameter(statement.objective)
        if named is not None:
            message, span = f"`{named}` is given by its place", scope.within(statement.span, named)
        near = misspelt_loss(statement.objective)
        if near is not None and near[0].lower() != near[1]:
            help = f"did you mean `{near[1]}`?"
        suggested = scope.instead(statement.span, *near) if near is not None else ()
        scope.report("L0404", message, span or statement.span, help, suggested=suggested)
    elif objective.choice is not None and not _can_be_chosen(
        scope, objective.choice, statement.span
    ):
        return None
    return objective


def _objective_advice(formula: Formula, output: str) -> tuple[Span | None, str]:
    """What to write for a formula that is not an objective, and the part of it to point at."""
    forms = [form for row in LOSSES.values() for form in row.forms(output)]
    help = f"write {', '.join(forms[:-1])} or {forms[-1]}"
    if isinstance(formula, tree.Name):
        row_of = [loss for loss, names in MEANT.items() if formula.text.lower() in names]
        return None, f"write `{LOSSES[row_of[0]].forms(output)[1]}`" if row_of else help
    if not isinstance(formula, tree.Call):
        return None, help
    if (row := LOSSES.get(formula.function)) is None:
        meant = [loss for loss, names in MEANT.items() if formula.function.lower() in names]
        meant = meant or [n for n in (keywords.nearest(formula.function, LOSSES),) if n is not None]
        if not meant:
            return None, help
        log = any(isinstance(a, tree.Call) and a.function == "log" for a in formula.arguments)
        return None, f"write `{LOSSES[meant[0]].forms(output)[0 if log else 1]}`"
    if formula.keywords:
        name, value_given = formula.keywords[0]
        if name in row.parameters:
            of = print_formula(formula.arguments[0]) if formula.arguments else f"log({output})"
            given = dict(formula.keywords)
            values = [given[p] for p in row.parameters if p in given] or [value_given]
            written = f"{formula.function}({', '.join([of, *map(print_formula, values)])})"
            return value_given.span, f"write `{written}`"
        if name == OVER:
            known = _read_sizes([value_given]) and len(formula.keywords) == 1
            factor = print_formula(value_given) if known else None
            return value_given.span, over_advice(row, output, factor)
        could_choose = isinstance(value_given, tree.Call | tree.Number)
        if name in ("log", "scale", "on", "space") or not could_choose:
            return None, f"write {row.forms(output)[0]}"
        return None, f"write squared({output}, {name} = {ParameterChoice(name).text(output)})"
    right = row.forms(output)[0]
    if (
        formula.arguments
        and output not in _names(formula.arguments[:1])
        and output in _names(formula.arguments[1:])
    ):
        return formula.arguments[0].span, f"the law comes first: `{right}`"
    first = formula.arguments[0] if formula.arguments else None
    if first is not None and not _is_target(first, output):
        return (
            first.span,
            f"residuals are those of `log({output})` or of `{output}`: write `{right}`",
        )
    if len(formula.arguments) - 1 != len(row.parameters):
        return None, f"write {' or '.join(row.forms(output))}"
    return _bad_parameter(formula) or (None, help)


def _named_parameter(formula: Formula) -> str | None:
    """The parameter of a loss that is given by its name, as in `huber(log(L), delta = 1e-3)`."""
    if not isinstance(formula, tree.Call) or formula.function not in LOSSES:
        return None
    parameters = LOSSES[formula.function].parameters
    return next((name for name, _ in formula.keywords if name in parameters), None)


def _names(formulas: Iterable[Formula]) -> set[str]:
    return {n.text for of in formulas for n in tree.walk(of) if isinstance(n, tree.Name)}


def _is_target(formula: Formula, output: str) -> bool:
    """Whether it is `L` or `log(L)`."""
    match formula:
        case tree.Name(text) | tree.Call("log", (tree.Name(text),), (), ()):
            return text == output
    return False


def _bad_parameter(formula: tree.Call) -> tuple[Span, str] | None:
    """The first parameter of a loss that is not a number above 0, and what to write for it."""
    row, arguments = LOSSES[formula.function], formula.arguments[1:]
    for parameter, example, argument in zip(row.parameters, row.example, arguments, strict=True):
        if _read_sizes([argument], row.limit) is None:
            below = f" and below {row.limit:g}" if row.limit < math.inf else ""
            return argument.span, (
                f"`{print_formula(argument)}`, the {parameter} of {formula.function}, must be a "
                f"number above 0{below}: write {example}"
            )
    return None


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
        objective = read_objective(replace(formula, keywords=()), output)
        sizes = _read_sizes([given for name, given in formula.keywords if name == OVER])
        others = [(name, given) for name, given in formula.keywords if name != OVER]
        if objective is not None and len(others) < len(formula.keywords):
            usable = sizes and len(sizes) == 1 and can_be_asymmetric(objective.row)
            objective = replace(objective, over=sizes[0]) if sizes and usable else None
        if not others:
            return objective
        choice = read_choice(others, output)
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
    count = len(scope.diagnostics)
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
        points = spread(statement.values)
    except ValueError as error:
        listed = [v.span for v in statement.values if v is not None] or [statement.span]
        span = Span(listed[0].start, listed[-1].end)
        scope.report("L0405", str(error), span, "write as {-1, 0, ..., 5}")
        return
    if len(scope.diagnostics) == count:
        _check_grid_inside(scope, statement, points)


def _check_grid_inside(scope: Scope, statement: tree.StartGrid, points: tuple[float, ...]) -> None:
    """Report the first value of a grid at which a parameter lies outside its numeric bounds."""
    for formula in statement.targets:
        target = read_target(formula)
        symbol = scope.symbols.get(target.name) if target is not None else None
        if target is None or symbol is None or target.less or symbol.kind != "parameter":
            continue
        bounds = [(relation, number(scope, limit), limit) for relation, limit in symbol.bounds]
        outside: dict[float, str] = {}
        for point in points:
            start = math.exp(min(point, MAX_LOG)) if target.log else point
            for relation, bound, limit in bounds:
                if bound is not None and not RELATIONS[relation](start, bound):
                    outside.setdefault(point, f"{symbol.name} {relation} {print_formula(limit)}")
        if not outside:
            continue
        first = next(iter(outside))
        listed = [(v, number(scope, v)) for v in statement.values if v is not None]
        spans = [v.span for v, known in listed if known is not None and float(known) == first]
        span = spans[0] if spans else Span(listed[0][0].span.start, listed[-1][0].span.end)
        said = f"{print_formula(formula)} = {first:g}"
        message = f"the start {said} is outside the domain of `{symbol.name}`: {outside[first]}"
        inside = [point for point in points if point not in outside]
        help = f"choose starts with {outside[first]}"
        if inside:
            targets = ", ".join(map(print_formula, statement.targets))
            help = f"write `start {targets} in {_grid_text(inside)}`"
        scope.report("L0405", message, span, help)
        return


MAX_LOG = 709.0  # the logarithm of the largest number


def _grid_text(points: Sequence[float]) -> str:
    """A grid as it is written, with dots where its steps are equal."""
    steps = {round(b - a, 12) for a, b in itertools.pairwise(points)}
    if len(points) > 3 and len(steps) == 1:
        return f"{{{points[0]:g}, {points[1]:g}, ..., {points[-1]:g}}}"
    return f"{{{', '.join(f'{point:g}' for point in points)}}}"


def check_point(scope: Scope, statement: tree.StartPoint) -> None:
    """Report mistakes in `start b1 = 500, b2 = 1e-4`.

    Args:
        scope: the names of the file.
        statement: the line.
    """
    for named, formula in statement.values:
        name = tree.name_of(named)
        subscripts = named.subscripts if isinstance(named, tree.Element) else ()
        before = len(scope.diagnostics)
        home = named.span if isinstance(named, tree.Element) else _from_keyword(scope, statement)
        _check_parameter(scope, name, subscripts, scope.within(home, name))
        check_formula(scope, formula, POINT)
        if len(scope.diagnostics) == before:
            _check_inside(scope, scope.symbols.get(name), formula)
    names = [tree.name_of(named) for named, _ in statement.values]
    if len(set(names)) < len(names):
        scope.report("L0405", "a name has two values here", statement.span, "write it once")


def _from_keyword(scope: Scope, statement: tree.StartPoint) -> Span:
    """The span of a statement with its keyword and its first name."""
    return Span(scope.keyword(statement.span).end, statement.span.end)


def _check_inside(scope: Scope, symbol: Symbol | None, formula: Formula) -> None:
    """Report a start outside the numeric bounds of its parameter."""
    start = number(scope, formula)
    if symbol is None or start is None:
        return
    for relation, limit in symbol.bounds:
        bound = number(scope, limit)
        if bound is None or RELATIONS[relation](start, bound):
            continue
        message = f"the start {print_formula(formula)} is outside the domain of `{symbol.name}`"
        help = f"choose one with {symbol.name} {relation} {print_formula(limit)}"
        scope.report("L0405", message, formula.span, help)
        return


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
    for i, listed in enumerate(numbers):
        if listed is not None:
            points.append(float(listed))
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
            if isinstance(node, (tree.Name, tree.Element)):
                name_in_formula = node.text if isinstance(node, tree.Name) else node.name
                symbol = scope.symbols.get(name_in_formula)
                if symbol is not None and symbol.name not in made_of:
                    made_of.add(symbol.name)
                    if symbol.kind == "let" and symbol.formula is not None:
                        waiting.append(symbol.formula)
    if late := sorted(made_of - above):
        message = f"a start of `{name}` is made of `{late[0]}`, which is not declared above it"
        scope.report("L0405", message, formula.span, f"declare `{name}` below `{late[0]}`")
