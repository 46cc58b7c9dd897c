"""Rules broken on purpose: the fixed cases of the other tests must notice each of them.

Random testing does not see all of these; a rule that may be broken unseen is not tested.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import sympy as sp
import test_am_gm
import test_asymptotics
import test_boundary
import test_conditions
import test_definedness
import test_dominance
import test_double_roots
import test_intervals
import test_limits
import test_scaling
import test_sign_calculus
import test_squares
import test_subdivision
from judging import formula_of
from proving import algebra, decide, domain, limit_of, on, sign_of
from quick import some

from lawdsl.compiling import interval_evaluation, intervals
from lawdsl.proof import definedness, domain as domains, inequalities, reduction
from lawdsl.proof.box import Box
from lawdsl.proof.branch_and_bound import double_roots, enclosures, products, subdivision
from lawdsl.proof.rules import (
    am_gm,
    cases,
    dominance,
    monotone,
    orderings,
    polynomials,
    scaling,
    squares,
    stationary_points,
    taylor,
)
from lawdsl.proof.signs import asymptotics, boundary, calculus, conditions, limits, trigonometry
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign


def of_signs() -> Iterator[bool]:
    for where, formula, expected in test_sign_calculus.CASES:
        yield sign_of(where, formula) == expected


def of_dominance() -> Iterator[bool]:
    for where, formula, expected in test_dominance.CASES:
        yield dominance.dominated(*on(where, formula)) == expected


def of_ratios() -> Iterator[bool]:
    for where, ratio, value, attained in test_dominance.RATIOS:
        calculus, e = on(where, ratio)
        found = dominance.supremum(calculus, e, only=calculus.box.variables)
        expected = None if value is None else (algebra(where, value), attained)
        yield (found and (found.value, found.attained)) == expected


def of_limits() -> Iterator[bool]:
    for where, formula, places, expected in test_limits.CASES:
        value = None if expected is None else algebra(where, expected)
        yield limit_of(where, formula, places) == value


def of_conditions() -> Iterator[bool]:
    for where, formula, strict, shown, exact in test_conditions.CASES:
        found = conditions.condition_for(*on(where, formula), strict)
        yield (found and (found.inequality, found.exact)) == (shown and (shown, exact))


def of_definedness() -> Iterator[bool]:
    for where, formula, verdict, _ in test_definedness.CASES:
        yield test_definedness.finite(where, formula).verdict == verdict


CLAIMS = [
    # law, claim, verdict
    ("variable x in [0, 1]\nL = x", "L > 0", "inside"),
    ("variable x in [0, 1]\nL = x - 0.1", "L > 0", "refuted"),
    ("variable x in [0, 1]\nparameter a > 0\nL = a*x", "L > 0 for x <= 0", "refuted"),
    ("variable x in [-1, 1]\nparameter a > 0\nL = a*x^3", "L < a for x in [1, 1]", "refuted"),
    ("variable x in [0, 1]\nL = x", "L > 0 for x > 2", "undecided"),
    ("setting s = 0.1\nvariable x >= s\nL = x - 0.5", "L >= 0 for x >= 1", "proved"),
    ("setting s = 0.1\nvariable x >= s\nL = x - 0.5", "L > 0 for x >= 0.5", "inside"),
    ("parameter a > 2\nparameter b > a\nL = b - a", "L > 0 for b < 1", "undecided"),
    ("variable k > 0\nvariable q > 1\nlet K = k + q\nL = K^2 - K", "∂L/∂K > 0", "proved"),
    ("variable k > 0\nvariable q\nlet K = 1/k + q\nL = 1/K", "∂L/∂K < 0", "undecided"),
    ("variable x\nL = x/x", "L > 0", "undecided"),
    ("variable x\nL = abs(x)", "∂L/∂x < 2", "undecided"),
    ("variable x >= 0\nL = x^1.5/x", "L finite", "refuted"),
    ("variable x >= 0\nL = x^0.5", "∂L/∂x finite", "undecided"),
    ("variable M > 0\nL = abs(M)", "L(M = 0 - 1) > 0", "undecided"),
    (
        "variable N > 0\nvariable M > 0\nparameter E, A, alpha > 0\nL = E + A*M/N^alpha",
        "L is mixing.size",
        "refuted",
    ),
    ("variable N > 0\nparameter E, A, alpha > 0\nL = E - A/N^alpha", "L is mixing.size", "undecided"),
    ("variable x > 0\nL = log(x) - log(x^2)/2", "L > 0", "refuted"),
    ("variable x >= 0\nvariable y > 0\nL = (x - y)^y", "L > 0", "refuted"),  # at x = y
    ("parameter a >= 2, a > 1\nvariable x > 0\nL = a*x", "L >= 2*x", "proved"),
    ("parameter a > 1, a >= 2\nvariable x > 0\nL = a*x", "L >= 2*x", "proved"),
    ("parameter a >= 2, a > 2\nvariable x > 0\nL = a*x", "L > 2*x", "proved"),
    ("variable x < 0\nL = exp(x)", "L -> 0 as x -> -oo", "proved"),
    ("variable x > 0\nL = exp(x)", "L -> 0 as x -> -oo", "undecided"),  # not in its domain
    ("variable x > 0\nL = (1 + 1/3 - 4/3)*x + (sqrt(2) + sqrt(3))^2 - 5 - 2*sqrt(6)", "L > 0", "undecided"),
]  # fmt: skip


def of_claims() -> Iterator[bool]:
    for law, claim, verdict in CLAIMS:
        yield decide(law, claim).verdict == verdict


RULES = [
    # one rule alone, domain, formula, what it says
    (monotone.by_scale, "x > 0; y > 0", "x^2 + y^2 - x*y", Sign.POSITIVE),
    (monotone.by_scale, "x in [1, 2]; y in [1, 2]", "y^2 - x^2/4", None),
    (monotone.by_logarithm, "x > 1; parameter a > 0", "x^a - 1", Sign.POSITIVE),
    (monotone.by_exponential, "x > 0", "log(1 + x) - log(x)", Sign.POSITIVE),
    (monotone.by_common_factor, "x > 0; y > 1", "x*y - x", Sign.POSITIVE),
    (monotone.by_exponential, "x > 0", "log(1 + exp(x)) - x", Sign.POSITIVE),
    (monotone.by_end_points_univariate, "x in [1, 3]", "x + log(x)/2 - exp(1)/9", Sign.POSITIVE),
    (monotone.by_end_points_univariate, "x in [1, 3]; y > 0", "x - y - 1", None),
    (monotone.by_end_points, "x in [1, 3]; y > 0", "x + y - 1", Sign.POSITIVE),
    (monotone.by_end_points, "x in [1, 3]; y >= 0", "x + y - 1", Sign.NONNEGATIVE),
    (taylor.by_repeated_derivatives, "x > 0", "x - tanh(x)", Sign.POSITIVE),
    (taylor.by_repeated_derivatives, "x > 0", "x - tanh(4*x/3)", None),
    (taylor.by_repeated_derivatives, "x > 0", "exp(x) - 1 - x - x^2/2", Sign.POSITIVE),
    (taylor.by_repeated_derivatives, "x >= 0", "exp(x) - 1 - x - x^2/2", Sign.NONNEGATIVE),
    (stationary_points.by_stationary_point, "x > 0", "x - 0.9 - log(x)", Sign.POSITIVE),
    (stationary_points.by_stationary_point, "x > 0", "x - 1.1 - log(x)", None),
    (trigonometry.by_half_turns, "x in (0, 3]", "sin(x)", Sign.POSITIVE),
    (trigonometry.by_half_turns, "x in [0, 3]", "sin(x)", Sign.NONNEGATIVE),
    (trigonometry.by_half_turns, "x in (0, 4]", "sin(x)", Sign.REAL),
    (cases.by_cases, "x > 0; y > 0", "max(x, y) + min(x, y) - x/2", Sign.POSITIVE),
    (cases.by_cases, "x > 0; y > 0", "max(x, y) - 2*x", None),
    (cases.by_cases, "x > 0; y > 2", "max(1/(1 + x), y) - 2", Sign.POSITIVE),
    (polynomials.by_successive_differences, "x in [0.5, 2]", "2 - x^2 + x", Sign.NONNEGATIVE),
    (polynomials.by_successive_differences, "x in [0.5, 2)", "2 - x^2 + x", Sign.POSITIVE),
    (polynomials.by_successive_differences, "x in (0.5, 2]", "x^2 - 0.25", Sign.POSITIVE),
    (polynomials.by_successive_differences, "x in [0.5, 2]", "x^2 - 0.25", Sign.NONNEGATIVE),
    (polynomials.by_successive_differences, "x < 0; y in [1, 2]", "y^2 - 1 - x*y", Sign.POSITIVE),
    (polynomials.by_successive_differences, "x; y > 0", "x*y + y + x", None),
    *((squares.by_factors, *case) for case in test_squares.FACTORS),
    *((dominance.dominated, *case) for case in test_am_gm.CASES),
]


def of_rules() -> Iterator[bool]:
    for rule, where, formula, expected in RULES:
        signs, e = on(where, formula)
        signs.depth = 1
        yield rule(signs, e) == expected
    for where, formula, expected in test_squares.SQUARES:
        law, box = domain(where)
        e = sp.expand(law.to_sympy(formula_of(formula)))
        yield squares.by_square(SignCalculus(box, valued=True), e) == expected
    for where, formula, scaled in test_scaling.CASES:
        found = scaling.rescaled(*on(where, formula))
        yield found == (None if scaled is None else algebra(where, scaled))


def of_boxes() -> Iterator[bool]:
    for where, formula, expected in test_subdivision.CASES:
        yield test_subdivision.by_boxes(where, formula) == expected
    for where, formula, signs in test_subdivision.TRUE:
        yield signs.within(test_subdivision.by_boxes(where, formula))


def of_touching() -> Iterator[bool]:
    for where, formula, expected in test_double_roots.SIGNS:
        yield test_double_roots.sign_there(where, formula) == expected


def of_growths() -> Iterator[bool]:
    for where, formula, to, expected in test_asymptotics.CASES:
        value = None if expected is None else algebra(where, expected)
        yield limit_of(where, formula, {"x": to}) == value


def of_faces() -> Iterator[bool]:
    for law, claim, face in test_boundary.CASES:
        yield test_boundary.sides(decide(law, claim).face or "") == test_boundary.sides(face)
    for law, claim, verdict in test_boundary.NONE:
        yield decide(law, claim).verdict == verdict


def of_intervals() -> Iterator[bool]:
    for e, values, expected in test_intervals.CASES:
        yield test_intervals.sign(e, **values) == expected
    contain = test_intervals.test_sums_powers_and_products_contain_the_values_of_the_points_in_them
    cancel = test_intervals.test_what_cancels_is_never_certain
    for test, values in ((contain, range(400)), (cancel, test_intervals.PRIMES)):
        for value in values:
            try:
                test(value)
            except AssertionError:
                yield False


Cases = Callable[[], Iterator[bool]]
Mutation = tuple[str, Any, str, Callable[[Any], Any], Cases]


def _never(*_: Any) -> Any:
    return False


def _open(limit: Sign, closed: bool) -> Sign:
    return Sign.POSITIVE if limit.within(Sign.NONNEGATIVE) else Sign.REAL


def _power(right: Any) -> Any:
    """0^0 has a sign."""

    def wrong(self: SignCalculus, base: sp.Expr, exponent: sp.Expr) -> Sign:
        if self.sign(base).within(Sign.NONNEGATIVE):
            return self.sign(base)
        return right(self, base, exponent)

    return wrong


def _sum(right: Any) -> Any:
    """oo - oo is 0."""

    def wrong(terms: list[Any]) -> Any:
        if {sp.oo, -sp.oo} <= set(terms):
            return sp.S.Zero
        return right(terms)

    return wrong


def _product(right: Any) -> Any:
    """0·oo is 0."""

    def wrong(calculus: SignCalculus, factors: list[Any]) -> Any:
        return sp.S.Zero if sp.S.Zero in factors else right(calculus, factors)

    return wrong


def _attained(value: bool) -> Callable[[Any], Any]:
    def mutate(right: Any) -> Any:
        def wrong(*args: Any, **keywords: Any) -> Any:
            found = right(*args, **keywords)
            return found and replace(found, attained=value)

        return wrong

    return mutate


def _as_one(right: Any) -> Any:
    """Two places are equal however they compare."""
    return lambda settings, difference: None


def _loose_at(right: Any) -> Any:
    """A value at an end is what SymPy makes of it."""
    return lambda self, e, symbol, to: e.xreplace({symbol: to})


def _first_finite(right: Any) -> Any:
    return lambda self, e: True


def _twice(right: Any) -> Any:
    """A term may dominate several others."""
    seen: list[Any] = []

    def wrong(signs: SignCalculus, bad: sp.Expr, sign: Sign, free: list[Any]) -> Any:
        seen.extend(term for term in free if term not in seen)
        return right(signs, bad, sign, list(seen))

    return wrong


def _doubled(right: Any) -> Any:
    def wrong(*args: Any) -> Any:
        weights = right(*args)
        return weights and [2 * w for w in weights]

    return wrong


def _turned(right: Any) -> Any:
    def wrong(self: Any, g: Any) -> Any:
        way = right(self, g)
        return None if way is None else -way

    return wrong


def _unsigned_weights(right: Any) -> Any:
    """Weights below 0 are weights too."""

    class AllPositive:
        def sign(self, e: sp.Expr) -> Sign:
            return Sign.POSITIVE

    return lambda signs, good, bad: right(AllPositive(), good, bad)


def _strictly(right: Any) -> Any:
    """What is not negative is positive."""

    def wrong(*args: Any) -> Any:
        found = right(*args)
        return Sign.POSITIVE if found and found.within(Sign.NONNEGATIVE) else found

    return wrong


def _covered_strictly(right: Any) -> Any:
    def wrong(self: Any, limit: int) -> Any:
        found = right(self, limit)
        return replace(found, sign=Sign.POSITIVE) if found.sign != Sign.REAL else found

    return wrong


def _without_curvature(right: Any) -> Any:
    """A place where the value and the slope are 0 is one where it touches 0."""

    class Rising:
        def sign(self, view: Any) -> Sign:
            return Sign.POSITIVE

    def wrong(self: Any, piece: Any) -> bool:
        right(self, piece)
        if self._double_root is not None:
            self._double_root = (self._double_root[0], Rising())
        return bool(right(self, piece))

    return wrong


def _of_moduli(right: Any) -> Any:
    size = intervals.OPERATIONS["abs"]
    return lambda x, y: right(size(x), size(y))


def _inward(right: Any) -> Any:
    """Sums are rounded towards their middle."""

    def wrong(x: Any, y: Any) -> Any:
        return intervals.Interval((x.low + y.low).upper(), (x.high + y.high).lower())

    return wrong


class _Everything:
    def __contains__(self, item: object) -> bool:
        return True


def _as_symbol(self: Any, e: sp.Expr) -> Any:
    return (
        products.Factor(symbol=e)
        if e.is_Symbol
        else products.Factor(value=products.Enclosure(self.box, e), slopes={})
    )


MUTATIONS: list[Mutation] = [
    ("never strict beyond a bound", monotone, "_at_least", lambda _: lambda limit, s: Sign.NONNEGATIVE, of_signs),
    ("always strict beyond a bound", monotone, "_at_least", lambda _: lambda limit, s: Sign.POSITIVE, of_signs),
    ("infinite and open ends are reached", monotone, "_open", lambda _: _never, of_signs),
    ("values between ends are strict", monotone, "_between", lambda right: lambda a, b, c, d: right(a, b, False, False), of_signs),
    ("the other sign of a product", calculus, "multiply", lambda right: lambda a, b: -right(a, b), of_signs),
    ("a closed end is taken as open", calculus, "above", lambda _: _open, of_signs),
    ("an open end is taken as closed", calculus, "above", lambda right: lambda x, c: right(x, True), of_signs),
    ("sums of mixed signs are positive", calculus, "add", lambda right: lambda t: Sign.POSITIVE if right(t) == Sign.REAL else right(t), of_signs),
    ("one value of no sign is overlooked", calculus, "multiply", lambda right: lambda a, b: right(a & Sign.REAL, b & Sign.REAL), of_signs),
    ("0^0 has a sign", SignCalculus, "_power", _power, of_signs),
    ("everything is finite", SignCalculus, "finite", _first_finite, of_signs),
    ("a maximum has the sign of its first case", calculus, "largest", lambda _: lambda parts: parts[0], of_signs),
    ("a ratio is never attained", dominance, "supremum", _attained(False), of_dominance),
    ("a ratio is always attained", dominance, "supremum", _attained(True), of_dominance),
    ("a term dominates twice", dominance, "_dominating_terms", _twice, of_dominance),
    ("weights that add up to 2", am_gm, "_weights", _doubled, of_rules),
    ("any range is taken for (0, oo)", scaling, "_any_positive", lambda _: lambda signs, s: True, of_rules),
    ("pivots may be negative", squares, "_definite", lambda _: lambda signs, m: Sign.NONNEGATIVE, of_rules),
    ("weights may be below 0", am_gm, "_weights", _unsigned_weights, of_rules),
    ("as many scales as symbols", scaling, "_free_symbols_of_scales", lambda _: lambda matrix, symbols: symbols, of_rules),
    ("a square is never 0", squares, "_definite", _strictly, of_rules),
    ("factors have the sign of the first", squares, "multiply", lambda _: lambda a, b: Sign.POSITIVE, of_rules),
    ("infinity and 0 change places", asymptotics._LeadingTerms, "tendency", _turned, of_growths),
    ("logarithms do not count", asymptotics._LeadingTerms, "tendency", lambda right: lambda self, g: right(self, replace(g, logs=sp.S.Zero)), of_growths),
    ("an exponent of no sign is 0", asymptotics._LeadingTerms, "_direction", lambda right: lambda self, x: right(self, x) or 0, of_growths),
    ("what cancels is forgotten", asymptotics._LeadingTerms, "_difference", lambda _: lambda self, e: None, of_growths),
    ("a face that is missing is there", subdivision.LogEnclosure, "outside", lambda _: False, of_boxes),
    ("a face is never reached", subdivision._Subdivision, "_sign_on_least_face", lambda right: lambda self, view: (_strictly(lambda: right(self, view)[0])(), right(self, view)[1]), of_boxes),
    ("what pieces show is strict", subdivision._Subdivision, "run", _covered_strictly, of_boxes),
    ("one point stands for its piece", subdivision._Subdivision, "_stays_above", lambda _: lambda self, value, piece, point: value.low > 0, of_boxes),
    ("a double root need not be a minimum", subdivision._Subdivision, "_has_double_root", _without_curvature, of_touching),
    ("a product keeps what it is divided by", products.PowerProduct, "over", lambda _: lambda self, other: self, of_boxes),
    ("1 - exp(-u) is log(1 + u)", products, "DECAY", lambda _: products.LOG, of_boxes),
    ("pieces of 2 bits", subdivision, "ENCLOSURE_BITS", lambda _: 2, of_boxes),
    ("points of 2 bits", interval_evaluation, "VERIFICATION_BITS", lambda _: 2, of_intervals),
    ("products of moduli", intervals, "multiply", _of_moduli, of_boxes),
    ("sums are rounded inward", intervals, "add", _inward, of_intervals),
    ("powers are not rounded at all", intervals, "_corner", lambda right: lambda x, y: right(x, y).mid(), of_intervals),
    ("all powers are odd", intervals, "_even", lambda _: _never, of_boxes),
    ("what is divided by is not 0", enclosures, "_DEFINITE", lambda _: _Everything(), of_boxes),
    ("a symbol below 0 is its modulus", products.Factors, "_unknown", lambda _: _as_symbol, of_boxes),
    ("whatever is near 0 is a root", double_roots, "_vanishes", lambda _: lambda e, s, place: True, of_boxes),
    ("the least of several is the first", intervals, "least", lambda _: lambda numbers: numbers[0], of_boxes),
    ("one face is enough", boundary, "closed_faces", lambda right: lambda box, e: list(right(box, e))[:1], of_faces),
    ("what remains without a face is positive", inequalities, "equality_locus", lambda right: lambda box, e, w, proves: right(box, e, w, lambda box: proves(box) or True), of_faces),
    ("no face is left out", boundary, "without_faces", lambda _: lambda box, found: box, of_claims),
    ("oo - oo = 0", limits, "_sum", _sum, of_limits),
    ("0*oo = 0", limits, "_product", _product, of_limits),
    ("1^oo has a limit", limits, "_exponential", lambda right: lambda s, b, e: sp.S.One if b == 1 else right(s, b, e), of_limits),
    ("1/0 is oo from either side", limits, "_of_extreme_base", lambda right: lambda s, e, b, x: sp.oo if b == 0 else right(s, e, b, x), of_limits),
    ("an unattained bound must not be touched", conditions, "supremum", _attained(True), of_conditions),
    ("every term outgrows the others", conditions, "_outgrows", lambda _: lambda signs, term, others: True, of_conditions),
    ("terms do not vanish together", SignCalculus, "_off_its_faces", lambda _: lambda self, e, found: Sign.POSITIVE, of_signs),
    ("a bound is attained where it is not", conditions, "supremum", _attained(False), of_conditions),
    ("all parts have values", definedness.Doubt, "proved", lambda _: lambda self, s: True, of_definedness),
    ("all powers have values", definedness.PowerDoubt, "proved", lambda _: lambda self, s: True, of_definedness),
    ("no domain is empty", Box, "contradiction", lambda _: lambda self: None, of_claims),
    ("the first of two bounds is kept", domains, "settings_sign", _as_one, of_claims),
    ("a let is any number", domains._BoxBuilder, "add_let", lambda right: lambda self, s, f, b, share: None, of_claims),
    ("all derivatives have values", definedness.SlopeDoubt, "proved", lambda _: lambda self, s: True, of_claims),
    ("every end is open", polynomials, "_open_ends", lambda _: lambda range: (True, True), of_rules),
    ("every order of variables is strict", orderings, "_strictly", _strictly, of_rules),
    ("a part below 0 may be above", polynomials._RationalForm, "_sides", lambda _: lambda self, above, below: iter([{}]), of_rules),
    ("tanh(u) is tanh(3*u/2)", taylor, "_without_tanh", lambda right: lambda e: right(e.replace(sp.tanh, lambda u: sp.tanh(3 * u / 2))), of_rules),
    ("a derivative at the end of the range counts as strict", taylor, "_of", lambda right: lambda values, last, end: right(values, last, None), of_rules),
    ("a stationary value is 0", stationary_points, "_tidy", lambda _: lambda signs, e: sp.S.Zero, of_rules),
    ("any half turn is the first", trigonometry, "_of_sine", lambda _: lambda signs, u: Sign.POSITIVE, of_rules),
    ("one case of a maximum is enough", cases, "largest", lambda _: lambda signs: signs[0], of_rules),
    ("a maximum is a minimum", cases, "_monotonicity", lambda right: lambda signs, e, part: -right(signs, e, part), of_rules),
    ("the least value is anywhere in the range", monotone, "by_end_points", lambda _: lambda signs, e: Sign.POSITIVE, of_rules),
    ("any part may be a parameter's value", reduction, "merge_powers", lambda _: lambda e: sp.S.One, of_claims),
]  # fmt: skip


BY_NAME = {mutation[0]: mutation for mutation in MUTATIONS}


@pytest.mark.parametrize("mutation", some(list(BY_NAME), 16))
def test_a_broken_rule_is_noticed(mutation: str, monkeypatch: pytest.MonkeyPatch):
    _, place, name, mutate, cases = BY_NAME[mutation]
    monkeypatch.setattr(place, name, mutate(getattr(place, name, None)), raising=False)

    with contextlib.suppress(RecursionError):
        assert not all(cases())


@pytest.mark.parametrize(
    "cases",
    [
        *(of_signs, of_dominance, of_ratios, of_limits, of_conditions, of_definedness, of_claims),
        *(of_rules, of_boxes, of_touching, of_growths, of_faces, of_intervals),
    ],
    ids=lambda cases: cases.__name__,
)
def test_unbroken_rules_pass_the_same_cases(cases: Cases):
    assert all(cases())
