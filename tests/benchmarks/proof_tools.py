"""The tools that `bench_proofs` compares: the engine, its parts, and its rivals, each on one problem."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import Any

import mpmath
import sympy as sp
from claim_sampling import Case, fails

from lawdsl.core.time_limit import time_limit
from lawdsl.language import tree
from lawdsl.proof import check_claim
from lawdsl.proof.box import Box
from lawdsl.proof.counterexample import WitnessQuery, find_point
from lawdsl.proof.domain import domain_of
from lawdsl.proof.goals import goal_of
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

try:
    from lawdsl.proof.branch_and_bound.subdivision import sign_by_boxes
except ImportError:
    sign_by_boxes = None

SECONDS = 1.0  # for one claim
HUGE = 10**5  # an exponent, for mpmath.iv
NEAR, FAR = Fraction(1, 10**6), Fraction(10**6)  # where infinite sides are cut off
DELTA = 1e-9  # of dReal
ROOTS = 12  # the greatest order of a root that z3 is given

PROVED, REFUTED = True, False
Answer = bool | None  # None: not decided


class NotStated(Exception):
    """The tool has no way to put the problem."""


@dataclass(frozen=True)
class Problem:
    """One problem as it is given to all: `larger` > 0, or >= 0, on the domain.

    Attributes:
        case: the law and the claim.
        box: of independent symbols.
        larger: what is to be positive, in these symbols, settings at their values.
        declared: the same in the law's own symbols, for those who take relations instead of ranges.
        numbers: the values of the settings.
        strict: whether 0 is a failure.
    """

    case: Case
    box: Box
    larger: sp.Expr
    declared: sp.Expr
    numbers: Mapping[sp.Symbol, sp.Rational]
    strict: bool

    @property
    def symbols(self) -> list[sp.Symbol]:
        return sorted(self.larger.free_symbols, key=str)

    def ends(self, symbol: sp.Symbol) -> tuple[sp.Expr | None, sp.Expr | None]:
        """Of its range; None for an infinite one."""
        found = self.box.range(symbol)
        low, high = found.lower, found.upper
        return low and low.value.xreplace(self.numbers), high and high.value.xreplace(self.numbers)


def problem_of(case: Case) -> Problem:
    claim = case.claim.claim
    assert isinstance(claim, (tree.ComparisonNode, tree.TrendNode))
    box = domain_of(case.law, case.claim)
    goal = goal_of(case.law, claim, box)
    numbers = {s: sp.Rational(v.numerator, v.denominator) for s, v in box.settings.items()}
    larger = box.independent(goal.larger).xreplace(numbers)
    return Problem(case, box, larger, goal.larger.xreplace(numbers), numbers, goal.strict)


# The engine and its parts


def engine(problem: Problem) -> Answer:
    verdict = check_claim(problem.case.law, problem.case.claim, seconds=SECONDS)
    known = {"proved": PROVED, "refuted": REFUTED, "conditional": REFUTED, "inside": REFUTED}
    return known.get(verdict.verdict)


def _answer(sign: Sign, strict: bool) -> Answer:
    if sign.within(Sign.POSITIVE if strict else Sign.NONNEGATIVE):
        return PROVED
    return REFUTED if sign.within(Sign.NONPOSITIVE if strict else Sign.NEGATIVE) else None


def signs_alone(problem: Problem) -> Answer:
    with time_limit(SECONDS):
        return _answer(SignCalculus(problem.box, valued=True).sign(problem.larger), problem.strict)


def boxes_alone(problem: Problem) -> Answer:
    with time_limit(SECONDS):
        return _answer(sign_by_boxes(SignCalculus(problem.box), problem.larger), problem.strict)


def search_alone(problem: Problem) -> Answer:
    wanted = WitnessQuery(problem.declared, (-1, 0) if problem.strict else (-1,))
    with time_limit(SECONDS):
        found = find_point(problem.box, [wanted])
    return None if found is None else REFUTED


# SymPy's assumptions


def assumptions(problem: Problem) -> Answer:
    with time_limit(SECONDS):
        known = {s: sp.Dummy(real=True, **_known(problem, s)) for s in problem.symbols}
        e = problem.larger.xreplace(known)
        if e.is_positive or (not problem.strict and e.is_nonnegative):
            return PROVED
        return REFUTED if e.is_negative or (problem.strict and e.is_nonpositive) else None


def _known(problem: Problem, symbol: sp.Symbol) -> dict[str, bool]:
    sign = SignCalculus(problem.box, valued=True).sign(symbol)
    words = {"positive": Sign.POSITIVE, "negative": Sign.NEGATIVE}
    words |= {"nonnegative": Sign.NONNEGATIVE, "nonpositive": Sign.NONPOSITIVE}
    return {word: True for word, signs in words.items() if sign.within(signs)}


# Branch and bound on mpmath's intervals


class NoInterval(Exception):
    """No finite interval encloses the values."""


def branch_and_bound(problem: Problem) -> Answer:
    began = time.perf_counter()
    whole, cut_off = [], problem.box.tied
    for symbol in problem.symbols:
        low, high = problem.ends(symbol)
        cut_off |= low is None or high is None
        if low is None:
            low = -sp.Rational(FAR) if high is None else high - sp.Rational(FAR)
        elif high is None and low == 0:
            low = sp.Rational(NEAR)
        high = sp.Max(low + 1, sp.Rational(FAR)) if high is None else high
        whole.append((_rational(low), _rational(high)))
    waiting, undecided = [tuple(whole)], False
    while waiting:
        if time.perf_counter() - began > SECONDS:
            return None
        piece = waiting.pop(0)
        middle = tuple(((a + b) / 2, (a + b) / 2) for a, b in piece)
        value = _enclosed(problem, piece)
        if value is not None and (value.a > 0 or (value.a >= 0 and not problem.strict)):
            continue
        for at in (value, _enclosed(problem, middle)):
            if at is not None and not problem.box.tied:
                if at.b < 0 or (at.b <= 0 and problem.strict):
                    return REFUTED
        widest = max(range(len(piece)), key=lambda i: piece[i][1] - piece[i][0], default=None)
        if widest is None or piece[widest][0] == piece[widest][1]:
            undecided = True
            continue
        for half in ((piece[widest][0], middle[widest][0]), (middle[widest][0], piece[widest][1])):
            waiting.append((*piece[:widest], half, *piece[widest + 1 :]))
    return None if undecided or cut_off else PROVED


def _rational(number: sp.Expr) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _enclosed(problem: Problem, piece: tuple[tuple[Fraction, Fraction], ...]) -> Any:
    def as_interval(number: Fraction) -> Any:
        return mpmath.iv.mpf(number.numerator) / number.denominator

    at = {
        s: mpmath.iv.mpf([as_interval(low).a, as_interval(high).b])
        for s, (low, high) in zip(problem.symbols, piece, strict=True)
    }
    try:
        return _interval(problem.larger, at)
    except (NoInterval, ValueError, ArithmeticError):
        return None


def _interval(e: sp.Expr, at: Mapping[sp.Symbol, Any]) -> Any:
    """The natural interval extension."""
    iv = mpmath.iv
    if e.is_Symbol:
        return at[e]
    if e.is_Rational:
        return iv.mpf(int(e.p)) / int(e.q)
    if e in (sp.E, sp.pi):
        return iv.e if e is sp.E else iv.pi
    parts = [_interval(part, at) for part in e.args]
    if e.is_Add:
        return reduce(add, parts)
    if e.is_Mul:
        return reduce(mul, parts)
    if e.is_Pow:
        return _interval_power(e, *parts)
    if isinstance(e, sp.exp):
        return _interval_exp(parts[0])
    if isinstance(e, sp.log):
        if not parts[0].a > 0:
            raise NoInterval
        return iv.log(parts[0])
    if isinstance(e, sp.tanh):
        return 1 - 2 / (_interval_exp(2 * parts[0]) + 1)
    raise NoInterval


def _interval_exp(x: Any) -> Any:
    """Far below 0 by a bound: mpmath would be busy with the digits for very long."""
    iv = mpmath.iv
    if x.b > HUGE:
        raise NoInterval
    low = iv.exp(iv.mpf(x.a)).a if x.a > -HUGE else 0
    return iv.mpf([low, iv.exp(iv.mpf(max(x.b, -HUGE))).b])


def _interval_power(e: sp.Expr, base: Any, exponent: Any) -> Any:
    iv = mpmath.iv
    if e.exp.is_Integer:
        if e.exp < 0 and base.a <= 0 <= base.b:
            raise NoInterval
        return base ** int(e.exp)
    if base.a > 0:
        return _interval_exp(exponent * iv.log(base))
    if base.a == 0 and exponent.a > 0:
        if base.b == 0:
            return iv.mpf(0)
        return iv.mpf([0, _interval_exp(exponent * iv.log(iv.mpf(base.b))).b])
    raise NoInterval


# z3


class _ToZ3:
    """An expression as terms of z3, with a symbol of its own for each root."""

    def __init__(self) -> None:
        import z3

        self.z3 = z3
        self.given: list[Any] = []
        self.known: dict[sp.Expr, Any] = {}

    def term(self, e: sp.Expr) -> Any:
        if e not in self.known:
            self.known[e] = self._term(e)
        return self.known[e]

    def _term(self, e: sp.Expr) -> Any:
        if e.is_Rational:
            return self.z3.RealVal(str(e))
        if e.is_Symbol:
            return self.z3.Real(e.name)
        if e.is_Add:
            return reduce(add, map(self.term, e.args))
        if e.is_Mul:
            return reduce(mul, map(self.term, e.args))
        if not (e.is_Pow and e.exp.is_Rational and max(abs(e.exp.p), e.exp.q) <= ROOTS):
            raise NotStated
        base = self.term(e.base)
        if e.exp.q > 1:
            root = self.z3.Real(f"root {len(self.known)}")
            self.given += [root >= 0, reduce(mul, [root] * int(e.exp.q)) == base]
            base = root
        power = reduce(mul, [base] * abs(int(e.exp.p)))
        if e.exp > 0:
            return power
        self.given.append(base != 0)
        return 1 / power


def ask_z3(problem: Problem) -> Answer:
    to = _ToZ3()
    e = to.term(problem.declared)
    solver = to.z3.SolverFor("QF_NRA")
    solver.set("timeout", int(1000 * SECONDS))
    for symbol, relations in problem.box.relations.items():
        if symbol in problem.numbers or symbol in problem.box.lets:
            continue
        for relation in relations:
            positive = to.term(relation.positive.xreplace(problem.numbers))
            solver.add(positive > 0 if relation.strict else positive >= 0)
    solver.add(e <= 0 if problem.strict else e < 0, *to.given)
    found = solver.check()
    return PROVED if found == to.z3.unsat else REFUTED if found == to.z3.sat else None


# dReal


def ask_dreal(problem: Problem) -> Answer:
    """In a process of its own, which is ended when its time is up."""
    finite = all(None not in problem.ends(s) for s in problem.symbols)
    if not finite or problem.box.slack or not problem.symbols:
        raise NotStated
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_dreal, args=(problem, theirs))
    process.start()
    theirs.close()
    try:
        answer = ours.recv() if ours.poll(SECONDS) else None
    except EOFError:
        answer = None
    finally:
        process.kill()
        process.join()
    if answer == "not stated":
        raise NotStated
    if not isinstance(answer, dict):
        return answer
    settings = {q.name: Fraction(repr(q.value)) for q in problem.case.law.settings}
    free = {q.name: Fraction(1, 2) for q in (*problem.case.law.variables,)}
    return REFUTED if fails(problem.case, {**free, **settings, **answer}) else None


def _dreal(problem: Problem, result: Any) -> None:
    import dreal

    try:
        symbols = {s: dreal.Variable(s.name) for s in problem.symbols}
        e = _to_dreal(problem.larger, symbols, dreal)
        stated = [e <= 0 if problem.strict else e < 0]
        for s, variable in symbols.items():
            low, high = problem.ends(s)
            stated += [variable >= float(low), variable <= float(high)]
        found = dreal.CheckSatisfiability(dreal.And(*stated), DELTA)
    except NotStated:
        result.send("not stated")
        return
    if found is None:
        result.send(PROVED)
        return
    middle = {s.name: Fraction(repr(float(found[v].mid()))) for s, v in symbols.items()}
    result.send(middle)


def _to_dreal(e: sp.Expr, symbols: Mapping[sp.Symbol, Any], dreal: Any) -> Any:
    if e.is_Symbol:
        return symbols[e]
    if e.is_number and e.is_real and not e.free_symbols:
        return dreal.Expression(float(e))
    parts = [_to_dreal(part, symbols, dreal) for part in e.args]
    if e.is_Add:
        return reduce(add, parts)
    if e.is_Mul:
        return reduce(mul, parts)
    if e.is_Pow:
        return dreal.pow(*parts)
    known = {sp.exp: dreal.exp, sp.log: dreal.log, sp.tanh: dreal.tanh}
    if type(e) not in known:
        raise NotStated
    return known[type(e)](*parts)
