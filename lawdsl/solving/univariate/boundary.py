"""An answer at an end of its range -> thresholds and bounds of laws that keep it there.

At the end x the goal f still falls outwards. An interior answer needs df/dx there to have the other
sign, so df/dx (s) = 0 defines a threshold for each given s. It defines one for each fitted
parameter as well, and where the law bounds the parameter on the other side (D-CPT's C > C0 against
the mixture of a limited corpus), no fit of that law has an interior answer. That is proved for all
admissible parameters at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import sympy as sp

from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.language.library import declared
from lawdsl.law import text
from lawdsl.law.law import Law
from lawdsl.law.quantities import Bound, Quantity
from lawdsl.proof.decide import check_claim
from lawdsl.solving.formulate.closed_form import flatten_powers, isolate, tidy_powers
from lawdsl.solving.formulate.sources import FitSource
from lawdsl.solving.inputs import evaluated
from lawdsl.solving.result import Conflict, Threshold

BOUNDARY_PROOF_SECONDS = 1.0  # for one proof
# Relative to the terms of an expression: below it, a value is 0 up to rounding.
ZERO_RTOL = 1e-9
NON_FINITE = (sp.zoo, sp.oo, -sp.oo, sp.nan)  # as the slope of x^0.9 at 0


def thresholds(
    slope: sp.Expr, names: Mapping[str, sp.Symbol], values: Mapping[sp.Symbol, float]
) -> list[Threshold]:
    """Return for each given the value at which the slope of the goal at an end is 0.

    Args:
        slope: the slope of the goal, at the end.
        names: name -> symbol, of givens and settings.
        values: symbol -> value, of all symbols.

    Returns:
        The thresholds, of those givens for which algebra solves the equation.
    """
    found_thresholds = []
    for name, symbol in names.items():
        formula = zero_of(slope, symbol, values)
        if formula is not None:
            value = evaluated(formula, values)
            relation = ">" if value > values[symbol] else "<"
            formula_text = text.text(tidy_powers(formula))
            found_thresholds.append(Threshold(name, value, relation, formula_text))
    return found_thresholds


def zero_of(
    expression: sp.Expr, symbol: sp.Symbol, values: Mapping[sp.Symbol, float]
) -> sp.Expr | None:
    """Solve expression = 0 for a symbol, and verify the solution numerically.

    Args:
        expression: what is to be 0.
        symbol: one of its symbols.
        values: symbol -> value, of all symbols.

    Returns:
        The symbol as a formula; None where algebra has no solution, or one of another branch.
    """
    if symbol not in expression.free_symbols or expression.has(*NON_FINITE):
        return None
    formula = isolate(flatten_powers(expression), symbol)
    if formula is None:
        return None
    value = evaluated(formula, values)
    terms = [
        abs(evaluated(t, {**values, symbol: value}))
        for t in sp.Add.make_args(sp.expand_mul(expression))
    ]
    # relative to its terms, which cancel at a root
    residual = abs(evaluated(expression, {**values, symbol: value}))
    return formula if residual <= ZERO_RTOL * max(terms, default=0.0) else None


def conflicts(
    slope: sp.Expr,
    source: FitSource,
    names: Mapping[str, sp.Symbol],
    values: Mapping[sp.Symbol, float],
) -> Iterator[Conflict]:
    """Yield the bounds of a law that keep an answer at its end, each with its proof.

    Args:
        slope: the slope of the goal, at the end.
        source: the fit.
        names: name -> symbol, of givens and settings of the question and its laws.
        values: symbol -> value, of all symbols.

    Returns:
        An iterator over conflicts.
    """
    symbols = source.replacing({})
    parameters = {q.symbol for q in source.law.parameters}
    for quantity in source.law.parameters:
        for bound in quantity.bounds:
            if not bound.limit.free_symbols & parameters:
                continue
            symbol = symbols[quantity.symbol]
            needed = zero_of(slope, symbol, values)
            if needed is None:
                continue
            upwards = evaluated(needed, values) > values[symbol]
            if bound.lower == upwards:
                continue  # the bound leaves room on that side
            limit = flatten_powers(bound.limit.xreplace(symbols))
            proof = _prove_conflict(source, limit, flatten_powers(needed), bound, values)
            if proof:
                yield _build_conflict(source, quantity, bound, limit, needed, names, values, proof)


def _build_conflict(
    source: FitSource,
    quantity: Quantity,
    bound: Bound,
    limit: sp.Expr,
    needed: sp.Expr,
    names: Mapping[str, sp.Symbol],
    values: Mapping[sp.Symbol, float],
    proof: tuple[str, ...],
) -> Conflict:
    relation = "<" if bound.lower else ">"
    needed_text = text.text(source.unprefixed(tidy_powers(needed)))
    settings = {n: s for n, s in names.items() if s in source.settings}
    zero_formulas = {
        n: zero_of(flatten_powers(limit - needed), s, values) for n, s in settings.items()
    }
    return Conflict(
        source.use,
        f"{quantity.name} {bound.relation} {bound.text}",
        f"{quantity.name} {relation} {needed_text}",
        evaluated(needed, values),
        source.values[quantity.name],
        source.fit is not None and source.fit.parameters[quantity.name].at_bound is not None,
        proof,
        {
            n: evaluated(formula, values)
            for n, formula in zero_formulas.items()
            if formula is not None
        },
    )


def _prove_conflict(
    source: FitSource,
    limit: sp.Expr,
    needed: sp.Expr,
    bound: Bound,
    values: Mapping[sp.Symbol, float],
) -> tuple[str, ...]:
    """Prove that no parameters within the law's bounds give the needed value; the lines of the
    proof, or none.

    The quotient of both is written as a law of its own, in the domains of its remaining
    parameters, and that it is at least 1 is its claim.
    """
    quotient = flatten_powers(limit / needed if bound.lower else needed / limit)
    if not (limit.is_positive and needed.is_positive):
        return ()
    law = _quotient_law(source, quotient, values)
    if law is None:
        return ()
    verdict = check_claim(law, law.claims[0], seconds=BOUNDARY_PROOF_SECONDS)
    return verdict.proof if verdict.verdict == "proved" else ()


def _quotient_law(
    source: FitSource, quotient: sp.Expr, values: Mapping[sp.Symbol, float]
) -> Law | None:
    """A law whose only claim is that a quotient is at least 1; None where it cannot be written."""
    parameters = {source.symbols[q.name]: q for q in source.law.parameters}
    given_symbols = sorted(quotient.free_symbols - set(parameters), key=str)
    # the law is written with positive symbols, for which alone powers combine
    if any(values[s] <= 0 for s in given_symbols):
        return None
    used_names = {q.name for q in source.law.parameters}
    names: dict[sp.Symbol, str] = {}
    for symbol in given_symbols:
        name = symbol.name.rpartition(".")[2]
        is_usable = name.isidentifier() and name not in used_names
        names[symbol] = name if is_usable else f"given_{len(names)}"
        used_names.add(names[symbol])
    lines = ["law conflict"]
    lines += [f"setting {names[s]} = {values[s]!r}" for s in given_symbols]
    for symbol, quantity in parameters.items():
        if symbol in quotient.free_symbols:
            constant_bounds = [b for b in quantity.bounds if not b.limit.free_symbols]
            domain = "".join(
                f", {quantity.name} {b.relation} {b.text}" if i else f" {b.relation} {b.text}"
                for i, b in enumerate(constant_bounds)
            )
            lines.append(f"parameter {quantity.name}{domain}")
    written_quotient = quotient.xreplace(
        {s: sp.Symbol(names[s], positive=True) for s in given_symbols}
        | {s: sp.Symbol(q.name, **s.assumptions0) for s, q in parameters.items()}
    )
    lines += [f"quotient = {text.text(written_quotient)}", "require quotient >= 1", ""]
    try:
        declarations, _ = declared(Text("conflict", "\n".join(lines)), Path())
        return Law(declarations).built()
    except LawdslError:
        return None
