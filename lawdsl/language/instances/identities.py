"""`identify sum(t[i, j] for j) = 0` at given labels: which parameter each equation determines."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language import tree
from lawdsl.language.constants import literal
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.instance import Instance
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Declarations, Symbol, Tie
from lawdsl.language.tree import Formula

Form = dict[str, Fraction]  # name -> its coefficient; the constant under CONSTANT

CONSTANT = ""


def identified(
    declared: Declarations,
    instance: Instance,
    ground: Grounding,
    symbols: Mapping[str, Symbol],
) -> list[Tie]:
    """The ties that the identities imply: in each equation the last free parameter, preferably one
    without a domain, is determined by the others.

    Args:
        declared: the law.
        instance: the labels.
        ground: the instantiated law.
        symbols: name -> symbol of the instantiated law.

    Raises:
        LawdslError: an equation that is not linear in parameters.
    """
    ties: list[Tie] = []
    determined = {name for name, _ in ground.ties}
    for identity in declared.identities:
        free = _free(declared, identity)
        for assignment in instance.assignments(declared, free):
            # grounding an identity may add parameters, which are taken back if it is not used
            before = ground.collected()
            difference = tree.Sum(
                (("+", ground(identity.lhs, assignment)), ("-", ground(identity.rhs, assignment)))
            )
            new = ground.symbols.keys() - before.symbols.keys()
            if new:  # of parameters that the law of these rows does not have
                ground.back_to(before)
                continue
            form = linear(difference, symbols)
            if form is None:
                raise _not_linear(declared, identity)
            pivot = _pivot(form, symbols, determined)
            if pivot is not None:
                determined.add(pivot)
                ties.append((pivot, _solved(form, pivot)))
    return ties


def linear(formula: Formula, symbols: Mapping[str, Symbol]) -> Form | None:
    """A formula as a linear form Σ c_k·name_k + c_0, with lets expanded; None if not linear.

    Args:
        formula: the formula.
        symbols: name -> symbol.
    """
    match formula:
        case tree.Number(text):
            return {CONSTANT: literal(text)}
        case tree.Name(text):
            symbol = symbols.get(text)
            if symbol is not None and symbol.kind in ("let", "setting") and symbol.formula:
                return linear(symbol.formula, symbols)
            return {text: Fraction(1)} if symbol is not None else None
        case tree.Negative(operand):
            return _times(linear(operand, symbols), Fraction(-1))
        case tree.Sum(terms):
            total: Form = {}
            for sign, term in terms:
                part = _times(linear(term, symbols), Fraction(1 if sign == "+" else -1))
                if part is None:
                    return None
                for name, factor in part.items():
                    total[name] = total.get(name, Fraction(0)) + factor
            return total
        case tree.Product(factors):
            product: Form = {CONSTANT: Fraction(1)}
            for sign, node in factors:
                part = linear(node, symbols)
                if part is None:
                    return None
                if not (part.keys() <= {CONSTANT}):
                    if sign == "/" or not product.keys() <= {CONSTANT}:
                        return None
                    product, part = part, product
                number = part.get(CONSTANT, Fraction(0))
                if sign == "/" and number == 0:
                    return None
                scaled = _times(product, 1 / number if sign == "/" else number)
                assert scaled is not None
                product = scaled
            return product
    return None


def _times(form: Form | None, factor: Fraction) -> Form | None:
    return None if form is None else {name: factor * x for name, x in form.items()}


def _pivot(form: Form, symbols: Mapping[str, Symbol], determined: set[str]) -> str | None:
    usable = [
        name
        for name, symbol in symbols.items()
        if form.get(name) and symbol.kind == "parameter" and name not in determined
    ]
    # a domain of the determined parameter would have to be kept by bounds of the others
    free = [name for name in usable if not symbols[name].bounds]
    return free[-1] if free else usable[-1] if usable else None


def _solved(form: Form, pivot: str) -> Formula:
    """The equation `form = 0` solved for one of its names."""
    scale = -1 / form[pivot]
    parts = [(name, scale * x) for name, x in form.items() if name != pivot and x]
    terms: list[tuple[str, Formula]] = []
    for name, factor in sorted(parts, key=lambda part: part[0] != CONSTANT):
        sign = "+" if factor > 0 else "-"
        term: Formula = _number(abs(factor)) if name == CONSTANT else tree.Name(name)
        if name != CONSTANT and abs(factor) != 1:
            term = tree.Product((("*", _number(abs(factor))), ("*", term)))
        if not terms and sign == "-":
            sign, term = "+", tree.Negative(term)
        terms.append((sign, term))
    if not terms:
        return tree.Number("0")
    return terms[0][1] if len(terms) == 1 else tree.Sum(tuple(terms))


def _number(value: Fraction) -> Formula:
    top = tree.Number(str(value.numerator))
    if value.denominator == 1:
        return top
    return tree.Product((("*", top), ("/", tree.Number(str(value.denominator)))))


def _free(declared: Declarations, identity: tree.Identify) -> tuple[str, ...]:
    """The indices of an identity that no sum binds."""
    used: dict[str, None] = {}
    bound: set[str] = set()
    for node in tree.walk(identity):
        if isinstance(node, tree.Element):
            used |= dict.fromkeys(s for s in node.subscripts if s in declared.indices)
        elif isinstance(node, tree.Aggregate):
            bound |= set(node.over)
    return tuple(name for name in used if name not in bound)


def _not_linear(declared: Declarations, identity: tree.Identify) -> LawdslError:
    equation = f"{print_formula(identity.lhs)} = {print_formula(identity.rhs)}"
    message = f"`identify {equation}` is not linear in parameters"
    help = "write numbers times parameters: `identify sum(t[i, j] for j) = 0`, `identify k[i] = 1`"
    return LawdslError(
        Diagnostic("L0322", message, text=declared.text, span=identity.span, help=help)
    )
