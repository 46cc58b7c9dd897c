"""Formula in its context -> messages about its names, calls, derivatives, numbers and units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.core.units import PREFIXES, UNITS, canonical, size_and_dimension, with_si_prefix
from lawdsl.language import keywords, size_limits, tree
from lawdsl.language.compared_units import warn_of_compared
from lawdsl.language.constants import TooLarge, Undefined, Value, value
from lawdsl.language.dimensions import Powers, powers_in, powers_of, powers_text
from lawdsl.language.foreign.functions import PRODUCTS
from lawdsl.language.foreign.units import advice_on, prefix_of, spelled_out
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.mistakes.unknown_functions import unknown_function, with_base
from lawdsl.language.printer import print_formula, print_named
from lawdsl.language.scope import CLAIM, CONDITION, QUESTION_CONTEXTS, TARGET, FormulaContext, Scope
from lawdsl.language.subscripts import check_indices, check_named
from lawdsl.language.symbols import Declarations, Relation, Symbol
from lawdsl.language.tree import Formula, Named


def check_formula(
    scope: Scope,
    formula: Formula,
    context: FormulaContext,
    fresh: frozenset[str] = frozenset(),
    subscripts: tuple[str, ...] = (),
) -> Powers:
    """Report mistakes in a formula.

    Args:
        scope: the names declared so far.
        formula: the formula.
        context: where it stands.
        fresh: names that the formula itself introduces.
        subscripts: the subscripts of the name that it defines or bounds.

    Returns:
        Its unit as powers; None where that is unknown.
    """
    before = len(scope.diagnostics)
    for node in tree.walk(formula):
        match node:
            case tree.Product(
                (
                    (_, tree.Name(above) | tree.Element(above) as top),
                    ("/", tree.Name(below) | tree.Element(below) as bottom),
                )
            ) if _differentials(scope, above, below):
                numerator, denominator = print_formula(top)[1:], print_formula(bottom)[1:]
                help = f"write a derivative as `∂{numerator}/∂{denominator}` or `diff({numerator}, {denominator})`"
                scope.report("L0301", f"unknown name `{above}`", node.span, help)
                fresh |= {above, below}
            case tree.Product(
                ((_, tree.Name(above)), ("/", tree.Name(below) | tree.Power(tree.Name(below))))
            ) if (written := _second_derivative(scope, above, below)) is not None:
                help = f"write a derivative as `{written}`"
                scope.report("L0301", f"unknown name `{above}`", node.span, help)
                fresh |= {above, below}
            case tree.Name(text):
                check_named(scope, text, node.span, context, fresh)
            case tree.Element():
                check_named(scope, node, node.span, context, fresh)
            case tree.Call(_, arguments):
                count = len(scope.diagnostics)
                _check_call(scope, node, context, formula, subscripts)
                if len(scope.diagnostics) > count:  # one message for `t(i)` and `sum(t[i], i)`
                    argument_names = {a.text for a in arguments if isinstance(a, tree.Name)}
                    fresh |= argument_names & scope.indices.keys()
                    if node.function in (*PRODUCTS, *keywords.AGGREGATES):  # and `dot(t[i], r)`
                        fresh |= {tree.name_of(n) for n in _named(arguments)}
            case tree.Derivative():
                _check_derivative(scope, node, context)
            case tree.Conditional() if not context.pieces:
                message = f"{context.text} cannot be piecewise"
                scope.report("L0308", message, node.span, "write it as a part of the law or a let")
            case tree.Aggregate(function) if function not in keywords.AGGREGATES:
                message = f"`{function}` does not run over an index"
                scope.report("L0304", message, node.span, "write `sum(… for j)` or `prod(… for j)`")
    # indices, values and units are judged only where every name is known: one mistake, one message
    if len(scope.diagnostics) == before:
        check_indices(scope, formula, context, subscripts)
    if len(scope.diagnostics) > before:
        return None
    try:
        value(formula, scope.numbers)
    except Undefined as error:
        scope.report("L0501", error.why, error.node.span, "correct the formula")
        return None
    except TooLarge as error:
        scope.report("L0502", error.why, error.node.span, error.help)
        return None
    warn_of_compared(scope, formula)
    if any(_may_be_defined(scope, node) for node in tree.walk(formula)):
        return None
    powers, mistakes = powers_in(formula, lambda name: scope.units.get(name), scope.numbers)
    for code, part, why in mistakes:
        if code == "L0410":
            help = "convert one of them, or give a parameter between them a unit of its own"
            scope.report(code, f"the units differ: {why}", part.span, help)
        else:
            help = "divide by a reference value, or let the unit be part of the law's meaning"
            scope.report(code, why, part.span, help, severity="warning")
    return None if mistakes else powers


def _may_be_defined(scope: Scope, node: tree.Node) -> bool:
    """Whether a node is the call of what a line that could not be read may define."""
    if not isinstance(node, tree.Call) or node.function in (*keywords.FUNCTIONS, *scope.symbols):
        return False
    return node.function not in keywords.RESERVED and scope.excused(node.function)


def _named(formulas: Iterable[Formula]) -> Iterator[Named]:
    for formula in formulas:
        for node in tree.walk(formula):
            if isinstance(node, tree.Element):
                yield node
            elif isinstance(node, tree.Name):
                yield node.text


def check_same_unit(scope: Scope, one: Powers, other: Powers, what: str, span: Span) -> None:
    """Report a value whose unit differs from the one that its place requires.

    Args:
        scope: the names of the file.
        one: the unit of the value.
        other: the unit that its place requires.
        what: the value, for the message.
        span: its place in the text.
    """
    if one is not None and other is not None and one != other:
        message = f"the units differ: {what} is in {powers_text(one)}, this in {powers_text(other)}"
        scope.report("L0410", message, span, "convert one of them")


def _told_at_setting(scope: Scope, limit: Formula, powers: Powers, of: str) -> bool:
    """Whether a bound is a setting in another multiple of the unit; then its line has the message."""
    symbol = scope.symbols.get(limit.text) if isinstance(limit, tree.Name) else None
    unit = scope.units.get(of)
    if symbol is None or symbol.kind != "setting" or not powers or not unit or powers == unit:
        return False
    known = number(scope, symbol.formula) if symbol.formula is not None else None
    if known is None or any(p.denominator != 1 for p in (*powers.values(), *unit.values())):
        return False
    (size, kind), (wanted, other) = (
        size_and_dimension((name, int(power)) for name, power in u.items()) for u in (powers, unit)
    )
    if kind != other:
        return False
    written = (
        f"setting {symbol.name} = {float(known) * size / wanted:.12g} unit {powers_text(unit)}"
    )
    span = symbol.span
    if symbol.name not in scope.declared_here:
        return False
    message = f"the units differ: `{symbol.name}` is in {powers_text(powers)}, `{of}` in {powers_text(unit)}"
    scope.report("L0410", message, span, f"write `{written}`")
    return True


def number(scope: Scope, formula: Formula) -> Value:
    """The value of a checked formula; None where it is not a number, or has already been reported.

    Args:
        scope: the names of the file.
        formula: the formula.
    """
    try:
        return value(formula, scope.numbers)
    except (Undefined, TooLarge):
        return None


def check_domain(
    scope: Scope,
    domain: tree.Domain | None,
    context: FormulaContext,
    of: str,
    subscripts: tuple[str, ...] = (),
) -> tuple[Relation, ...]:
    """Check a domain and return its relations.

    Args:
        scope: the names declared so far.
        domain: the domain as written; None for the real line.
        context: the context in which its limits are checked.
        of: the name whose domain it is.
        subscripts: the subscripts of that name.
    """
    if domain is None:
        return ()
    if isinstance(domain, tree.Simplex):
        return ((">=", tree.Number("0", span=domain.span)),)
    if isinstance(domain, tree.ChoicesNode):
        return _check_choices(scope, domain, context, of)
    if isinstance(domain, tree.IntegerNode):
        return check_domain(scope, domain.interval, context, of, subscripts)
    if (finite := _finite_sides(scope, domain, of)) is not None:
        return finite
    if isinstance(domain, tree.BoundNode):
        relations: tuple[Relation, ...] = ((domain.relation, domain.limit),)
    else:
        relations = (
            (">=" if domain.opening == "[" else ">", domain.lower),
            ("<=" if domain.closing == "]" else "<", domain.upper),
        )
    for _, limit in relations:
        powers = check_formula(scope, limit, context, subscripts=subscripts)
        if not _told_at_setting(scope, limit, powers, of):
            check_same_unit(scope, scope.units.get(of), powers, f"`{of}`", limit.span)
    if context is CONDITION:
        check_nonempty(scope, relations, domain.span)
    return relations


def is_infinite(formula: Formula) -> bool:
    """Whether a formula is infinity, as this or another language writes it, with or without a sign.

    Args:
        formula: the formula.
    """
    if isinstance(formula, tree.Negative):
        return is_infinite(formula.operand)
    return isinstance(formula, tree.Name) and (
        formula.text == "oo" or keywords.RENAMED.get(formula.text) == "oo"
    )


def _finite_sides(
    scope: Scope, domain: tree.BoundNode | tree.IntervalNode, of: str
) -> tuple[Relation, ...] | None:
    """The relations of `in (-oo, oo)`, `in [0, oo)` or `< inf`, after a message; None of others."""
    if isinstance(domain, tree.BoundNode):
        sides = [(domain.relation, domain.limit)]
    else:
        sides = [
            (">=" if domain.opening == "[" else ">", domain.lower),
            ("<=" if domain.closing == "]" else "<", domain.upper),
        ]
    infinite = [limit for _, limit in sides if is_infinite(limit)]
    if not infinite:
        return None
    kept = tuple((relation, limit) for relation, limit in sides if not is_infinite(limit))
    bounds = ", ".join(f"{of} {relation} {print_formula(limit)}" for relation, limit in kept)
    message = f"a domain has no bound `{print_formula(infinite[-1])}`"
    help = f"write `{bounds}`" if kept else f"without a bound it takes every number: write `{of}`"
    text, start = scope.text.text, domain.span.start
    before = text[:start].rstrip()
    if isinstance(domain, tree.IntervalNode):
        before = before.removesuffix("in").rstrip()
    written = f" {kept[0][0]} {print_formula(kept[0][1])}" if kept else ""
    again = re.search(rf"(?<!\w){re.escape(of)}\s*[<>]=?[^,\n]*(,\s*{re.escape(of)})$", before)
    if again and not kept:  # E > 0, E < oo
        help, before = "leave it out", before[: again.start(1)]
    edit = Edit(Span(len(before), domain.span.end), written)
    scope.report("L0308", message, infinite[0].span, help, edits=[edit])
    return kept


def _check_choices(
    scope: Scope, domain: tree.ChoicesNode, context: FormulaContext, of: str
) -> tuple[Relation, ...]:
    """Check the numbers of `in {4, 8, 16}`; the relations say the smallest and the largest."""
    numbered: list[tuple[Value, Formula]] = []
    for formula in domain.values:
        check_formula(scope, formula, context)
        known = number(scope, formula)
        if known is None:
            help = "list numbers, or declare an interval: `choose n integer in [1, 64]`"
            scope.report("L0703", "this is not a number", formula.span, help)
        elif known in [earlier for earlier, _ in numbered]:
            scope.report(
                "L0703",
                f"`{print_formula(formula)}` is listed twice",
                formula.span,
                "leave one out",
            )
        else:
            numbered.append((known, formula))
    if not numbered:
        return ()
    ordered = sorted(numbered, key=lambda pair: pair[0] or 0)
    return (">=", ordered[0][1]), ("<=", ordered[-1][1])


def check_nonempty(scope: Scope, relations: Iterable[Relation], span: Span) -> None:
    """Report a domain that is empty because of its numeric bounds.

    Args:
        scope: the names of the file.
        relations: the relations of the domain.
        span: the place of the domain.
    """
    limits = [(relation, number(scope, limit)) for relation, limit in relations]
    for above, lower in limits:
        for below, upper in limits:
            if above[0] == ">" and below[0] == "<" and lower is not None and upper is not None:
                if lower > upper or (lower == upper and (above, below) != (">=", "<=")):
                    help = "write the smaller number first, as in [0, 1]"
                    scope.report("L0406", "this domain is empty", span, help)
                    return


def check_unit(scope: Scope, unit: tree.UnitOf | None) -> Powers:
    """The powers of a declared unit; None without one. Unknown units are reported.

    Args:
        scope: the names of the file.
        unit: the unit as written; None without one.
    """
    for name, _ in unit.factors if unit else ():
        if canonical(name) is None:
            assert unit is not None
            prefixed = with_si_prefix(name) or spelled_out(name)
            message, help = f"unknown unit `{name}`", f"write `{prefixed}`"
            if (prefix := prefix_of(name)) is not None:
                help = f"write it as a prefix of the unit: `{prefix}param`, `{prefix}token`"
            elif (advice := advice_on(name)) is not None:
                help = advice
            elif not prefixed:
                names = [p + u for p in ("", *PREFIXES) for u in UNITS]
                listed = f"the units are {', '.join(UNITS)}, with prefixes {' '.join(PREFIXES)}"
                scope.unknown_word("L0409", message, unit.span, name, names, listed)
                continue
            edits = [Edit(scope.within(unit.span, name), prefixed)] if prefixed else []
            scope.report("L0409", message, unit.span, help, edits=edits)
    return powers_of(unit.factors) if unit else None


def check_varies(scope: Scope, named: Named, span: Span, alone: bool = False) -> None:
    """Report a name that cannot be a variable of differentiation and cannot be assigned a value.

    Args:
        scope: the names declared so far.
        named: the name, or an element.
        span: its place in the text.
        alone: whether it varies while all other names stay constant.
    """
    before = len(scope.diagnostics)
    symbol = check_named(scope, named, span, CLAIM)
    if len(scope.diagnostics) == before:
        _check_can_vary(scope, symbol, named, span, alone)


def _check_can_vary(
    scope: Scope, symbol: Symbol | None, named: Named, span: Span, varies_alone: bool = True
) -> None:
    if symbol is None:
        return
    if symbol.kind not in ("variable", "parameter", "let"):
        message = f"the {symbol.kind} `{symbol.name}` does not vary"
        scope.report("L0308", message, span, "name a variable, a parameter or a let")
    elif varies_alone and symbol.simplex and symbol.kind == "variable":
        output = next((s.text for s in scope.symbols.values() if s.kind == "output"), "L")
        element, other_element = (
            f"{symbol.name}[{', '.join((*symbol.indices[:-1], x))}]" for x in "ab"
        )
        message = f"`{print_named(named)}` cannot change alone"
        help = (
            f"shares sum to 1: say which one falls: `{output} decreasing in {element} against "
            f"{other_element}`"
        )
        scope.report("L0318", message, span, help)


def check_called(scope: Scope, what: str, span: Span, other: Declarations | None = None) -> bool:
    """Report a reduction to a law, or a law evaluated at values, that involves indices.

    Args:
        scope: the names of the file.
        what: the construct, for the message.
        span: its place in the text.
        other: the other law, if one is named.

    Returns:
        Whether no indices are involved.
    """
    if not scope.indices and (other is None or not other.indices):
        return True
    help = "state the claim as a relation, a trend or a limit"
    scope.report("L0320", f"{what} a law without index sets only", span, help)
    return False


def _differentials(scope: Scope, *names: str) -> bool:
    """Whether unknown names are a d before a known one: the dL and dN of dL/dN."""
    return all(
        name.startswith("d")
        and name not in scope.symbols
        and (name[1:] in scope.symbols or scope.excused(name[1:]))
        for name in names
    )


def _second_derivative(scope: Scope, above: str, below: str) -> str | None:
    """The derivative that `d2L/dN2` is; None where the names are something else."""
    top, bottom = re.fullmatch(r"d([2-9])(\w+)", above), re.fullmatch(r"d(\w+?)([2-9]?)", below)
    if top is None or bottom is None or bottom[2] not in ("", top[1]):
        return None
    if any(name in scope.symbols for name in (above, below)):
        return None
    if top[2] not in scope.symbols or bottom[1] not in scope.symbols:
        return None
    order = keywords.SUPERSCRIPTS[int(top[1])]
    return f"∂{order}{top[2]}/∂{bottom[1]}{order}"


def _check_call(
    scope: Scope,
    node: tree.Call,
    context: FormulaContext,
    formula: Formula,
    subscripts: tuple[str, ...],
) -> None:
    function = node.function
    symbol = scope.symbols.get(function)
    if node.subscripts and (symbol is None or symbol.kind != "use"):
        of = with_subscripts(function, node.subscripts)
        help = f"write `{of}*(…)` for a product"
        scope.report("L0304", f"`{of}` is not a function", node.span, help)
    elif symbol is not None and symbol.kind == "output" and context in (CLAIM, TARGET):
        names = [name for name, _ in node.keywords]
        if not check_called(scope, f"`{function}(…)` gives values to", node.span):
            return
        if node.arguments or len(set(names)) < len(names):
            help = f"write `{function}(name = value)`, each name once"
            scope.report("L0305", "a law is taken at named values", node.span, help)
        for name in names:
            check_varies(scope, name, scope.within(node.span, name))
        scope.used.add(function)
    elif symbol is not None and symbol.kind == "index":
        scope.use(function, scope.within(node.span, function), context)
    elif symbol is not None and symbol.kind == "use":
        help = "write it as a constraint: `subject to`"
        if context in QUESTION_CONTEXTS:
            help = f"give it a name before: `let y = {function}(…)`"
        scope.report("L0308", f"{context.text} takes no law at values", node.span, help)
    elif symbol is not None and function in keywords.GRADIENTS and len(node.arguments) > 1:
        written = f"diff({', '.join(print_formula(argument) for argument in node.arguments)})"
        diff = [Edit(scope.within(node.span, function), "diff")]
        message = f"`{function}` is {keywords.a(symbol.kind)}, not a derivative"
        scope.report("L0304", message, node.span, f"write `{written}`", edits=diff)
    elif symbol is not None:
        help = f"write `{function}*(…)` for a product"
        help = f"write `{symbol.text}`" if symbol.indices else help
        message = f"`{function}` is {keywords.a(symbol.kind)}, not a function"
        scope.report("L0304", message, node.span, help)
    elif function in keywords.SPECIAL:
        help = "write `diff(L, N)` with plain names"
        help = help if function == "diff" else "write it behind `minimize`"
        if context in QUESTION_CONTEXTS:
            help = "write a formula of laws at values, as `minimize loss(N, D)`"
        scope.report("L0304", f"`{function}` is not a function of formulas", node.span, help)
    elif function not in keywords.FUNCTIONS:
        if not scope.excused(function):
            unknown_function(scope, node, context, formula, subscripts)
    else:
        low, high = keywords.FUNCTIONS[function]
        if node.keywords or not low <= len(node.arguments) <= high:
            count = f"{low} argument" if high == 1 else f"{low} to {high} arguments"
            help, edits = with_base(node) or (f"give it {count}", ())
            scope.report("L0305", f"`{function}` takes {count}", node.span, help, edits=edits)


def _check_derivative(scope: Scope, node: tree.Derivative, context: FormulaContext) -> None:
    if context not in (CLAIM, TARGET):
        message = "a derivative stands only in a claim"
        scope.report("L0308", message, node.span, "use it in the `require` of a law")
        return
    if node.order != len(node.wrt):
        message = f"the order is {node.order}, the number of names below {len(node.wrt)}"
        help, edits = "write as many names below as the order says: ∂²L/∂D∂r or ∂²L/∂r²", []
        raised = re.match(rf"\s*\^\s*{node.order}(?!\w)", scope.text.text[node.span.end :])
        if raised and len(node.wrt) == 1:  # ∂²L/∂N^2
            span = Span(node.span.end, node.span.end + raised.end())
            order = keywords.SUPERSCRIPTS[node.order]
            edits = [Edit(span, order)]
            help = f"write `{scope.text.text[node.span.start : node.span.end]}{order}`"
        scope.report("L0210", message, node.span, help, edits=edits)
    elif node.order > size_limits.MAX_DERIVATIVE_ORDER:
        message = f"derivatives go up to order {size_limits.MAX_DERIVATIVE_ORDER}"
        scope.report("L0105", message, node.span, "lower the order")
    if isinstance(node.of, str):  # elements are parts of the formula
        check_named(scope, node.of, scope.within(node.span, node.of), context)
    for name in dict.fromkeys(node.wrt):
        if isinstance(name, tree.Element):
            _check_can_vary(scope, scope.symbols.get(name.name), name, name.span)
        else:
            check_varies(scope, name, scope.within(node.span, name, last=True))
