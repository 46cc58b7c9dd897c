"""`require` lines: what each claims, checked against the law's names."""

from __future__ import annotations

from lawdsl.core.diagnostics import Span
from lawdsl.language import keywords, tree
from lawdsl.language.formulas import (
    check_called,
    check_domain,
    check_formula,
    check_same_unit,
    check_varies,
    is_infinite,
)
from lawdsl.language.printer import print_formula
from lawdsl.language.scope import APPROACH, CLAIM, CONDITION, TARGET, Scope
from lawdsl.language.subscripts import check_exchange, check_labels
from lawdsl.language.symbols import Claim
from lawdsl.language.tree import Named


def read_claim(scope: Scope, statement: tree.Require) -> Claim:
    """The claim of a `require` line; mistakes in it are reported.

    Args:
        scope: the names of the file.
        statement: the line.
    """
    claim = statement.claim
    fresh = _fresh(scope, claim)
    match claim:
        case tree.ComparisonNode(lhs, _, rhs) if is_infinite(lhs) or is_infinite(rhs):
            bounded, infinite = (rhs, lhs) if is_infinite(lhs) else (lhs, rhs)
            if isinstance(bounded, tree.Call) and bounded.function == "abs":
                bounded = bounded.arguments[0]
            help = f"write `{print_formula(bounded)} finite`"
            scope.report("L0308", "nothing is compared with infinity", infinite.span, help)
            return Claim(claim, (), "proved", scope.text, statement.span)
        case tree.ComparisonNode(lhs, _, rhs):
            one = check_formula(scope, lhs, CLAIM, fresh)
            other = check_formula(scope, rhs, CLAIM, fresh)
            check_same_unit(scope, one, other, "the left side", rhs.span)
        case tree.Finite(formula):
            check_formula(scope, formula, CLAIM, fresh)
        case tree.TrendNode(formula, _, name, against):
            check_formula(scope, formula, CLAIM, fresh)
            count = len(scope.diagnostics)
            for named in (name,) if against is None else (name, against):
                name_span = _span_of_last(scope, named, claim.span)
                check_varies(scope, named, name_span, alone=against is None)
            if against is not None and len(scope.diagnostics) == count:
                check_exchange(scope, claim)
        case tree.LimitNode(formula, target, approaches):
            check_formula(scope, formula, CLAIM, fresh)
            check_formula(scope, target, TARGET, fresh)
            for name, where in approaches:
                before = Span(target.span.end, where.span.start)
                check_varies(scope, name, _span_of_last(scope, name, before), alone=True)
                check_formula(scope, where, APPROACH)
        case tree.Reduction(formula, law):
            name_span = scope.within(claim.span, law, last=True)
            if law in keywords.SIGNS:
                help = f"write `{print_formula(formula)} {keywords.SIGNS[law]}`"
                scope.report("L0310", "a sign is claimed by a relation", name_span, help)
                return Claim(claim, (), "proved", scope.text, statement.span)
            if check_called(scope, "`is` compares with", name_span, scope.law(law, name_span)):
                check_formula(scope, formula, CLAIM, fresh)
    conditions = []
    for item in statement.conditions:
        check_varies(scope, item.named, item.span)
        relations = check_domain(scope, item.domain, CONDITION, item.name)
        conditions.append((item.named, relations))
    check_labels(scope, statement)
    expect = statement.expect or "proved"
    if expect not in keywords.VERDICTS:
        listed = "the verdicts are " + ", ".join(keywords.VERDICTS)
        end = statement.span.end
        span = Span(end - len(expect), end)
        message = f"`{expect}` is not a verdict"
        if expect.lower() in ("true", "yes", "ok", "holds"):
            help = "leave `expect` out: claims are expected to be proved"
            scope.report("L0407", message, span, help)
        else:
            scope.unknown_word("L0407", message, span, expect, keywords.VERDICTS, listed)
    return Claim(claim, tuple(conditions), expect, scope.text, statement.span)


def _span_of_last(scope: Scope, named: Named, region: Span) -> Span:
    """The position of the last occurrence of a name in a part of the text."""
    if isinstance(named, tree.Element):
        return named.span
    return scope.within(region, named, last=True)


def _fresh(scope: Scope, claim: tree.Claim) -> frozenset[str]:
    """Names that a claim brings in itself: the r0 of `L(r = r0) is chinchilla`."""
    return frozenset(
        value.text
        for node in tree.walk(claim)
        if isinstance(node, tree.Call)
        for _, value in node.keywords
        if isinstance(value, tree.Name) and value.text not in scope.symbols
    )
