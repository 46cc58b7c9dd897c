"""`require` lines: what each claims, checked against the law's names."""

from __future__ import annotations

from lawdsl.language import tree, words
from lawdsl.language.checking import (
    check_domain,
    check_formula,
    check_same_unit,
    check_varies,
)
from lawdsl.language.declared import Claim
from lawdsl.language.scope import APPROACH, CLAIM, CONDITION, TARGET, Scope
from lawdsl.language.tree import Span


def read_claim(scope: Scope, statement: tree.Require) -> Claim:
    """The claim of a `require` line, what is wrong with it reported."""
    claim = statement.claim
    fresh = _fresh(scope, claim)
    match claim:
        case tree.Comparison(left, _, right):
            one = check_formula(scope, left, CLAIM, fresh)
            other = check_formula(scope, right, CLAIM, fresh)
            check_same_unit(scope, one, other, "the left side", right.span)
        case tree.Finite(formula):
            check_formula(scope, formula, CLAIM, fresh)
        case tree.Trend(formula, _, name):
            check_formula(scope, formula, CLAIM, fresh)
            check_varies(scope, name, scope.within(claim.span, name, last=True))
        case tree.Limit(formula, target, approaches):
            check_formula(scope, formula, CLAIM, fresh)
            check_formula(scope, target, TARGET, fresh)
            for name, where in approaches:
                before = Span(target.span.end, where.span.start)
                check_varies(scope, name, scope.within(before, name, last=True))
                check_formula(scope, where, APPROACH)
        case tree.Reduction(formula, law):
            check_formula(scope, formula, CLAIM, fresh)
            scope.law(law, scope.within(claim.span, law, last=True))
    conditions = []
    for item in statement.conditions:
        check_varies(scope, item.name, item.span)
        relations = check_domain(scope, item.domain, CONDITION, item.name)
        conditions.append((item.name, relations))
    expect = statement.expect or "proved"
    if expect not in words.VERDICTS:
        alike = words.nearest(expect, words.VERDICTS)
        listed = "the verdicts are " + ", ".join(words.VERDICTS)
        help = f"did you mean `{alike}`?" if alike else listed
        end = statement.span.end
        span = Span(end - len(expect), end)
        scope.say("L0407", f"`{expect}` is no verdict", span, help)
    return Claim(claim, tuple(conditions), expect, scope.text, statement.span)


def _fresh(scope: Scope, claim: tree.Claim) -> frozenset[str]:
    """Names that a claim brings in itself: the r0 of `L(r = r0) is chinchilla`."""
    return frozenset(
        at.text
        for node in tree.walk(claim)
        if isinstance(node, tree.Call)
        for _, at in node.keywords
        if isinstance(at, tree.Name) and at.text not in scope.symbols
    )
