"""Claims of a law that are proved once, for all admissible parameters, and so for every later fit.

A claim that is proved for all parameters inside their domains, or inside further bounds, is certified
for fitted values that are certainly inside them. That is decided by exact comparison of numbers,
without computer algebra, so that a fit of a known law to a new table need not load it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.recent import Recent
from lawdsl.core.records import read, to_plain
from lawdsl.core.time_limit import MIN_SECONDS, TimeBudget
from lawdsl.fitting.preparation.cached_algebra import algebra_of
from lawdsl.language import tree
from lawdsl.language.symbols import Claim
from lawdsl.law.law import Law

if TYPE_CHECKING:
    from lawdsl.proof import box, check, decide
else:  # proofs, which are not needed for a law whose claims were decided before
    box = lazy_module("lawdsl.proof.box")
    check = lazy_module("lawdsl.proof.check")
    decide = lazy_module("lawdsl.proof.decide")

CLAIM_SECONDS = 0.5  # CPU time limit (s) of the decision on one claim
PROOF_SECONDS = 2.0  # and on all claims of a law
KEPT_LAWS = 32


@dataclass(frozen=True)
class UniversalClaim:
    """A claim that is proved for all parameters inside their domains and some bounds.

    Attributes:
        position: its position among the claims of the law.
        bounds: bounds beyond those of the law, `beta <= 1`.
    """

    position: int
    bounds: tuple[str, ...] = ()


class _Counted:
    """The claims of a law that are proved so, once they have been looked for."""

    def __init__(self, law: Law) -> None:
        self.declarations, self.fits = law.declarations, 0
        self.claims: tuple[UniversalClaim, ...] = ()


_counted: Recent[_Counted] = Recent(KEPT_LAWS)


def proved_at(law: Law, values: Mapping[str, float]) -> frozenset[int]:
    """The positions of the claims that are proved at fitted values by a proof for all of them.

    Args:
        law: the law.
        values: parameter -> fitted value.
    """
    claims = _universal_claims(law)
    if not claims or not _is_inside(law, values):
        return frozenset()
    return frozenset(
        claim.position
        for claim in claims
        if not claim.bounds or _is_inside(_with_bounds(law, claim.bounds), values)
    )


def _universal_claims(law: Law) -> tuple[UniversalClaim, ...]:
    """The claims that are known to be proved so.

    With a cache they are looked for at the first fit of a law, which serves all later commands; in a
    process without one that pays from the second fit on.
    """
    if law.indexed:
        return ()
    algebra = algebra_of(law)
    if algebra.cache is not None:
        bounds = [(q.name, [(b.relation, b.text) for b in q.bounds]) for q in law.parameters]
        return algebra.get(
            f"claims proved for all {bounds}",
            lambda: _proved(law),
            to_plain,
            lambda content: read(tuple[UniversalClaim, ...], content),
        )
    counted = _counted.get((law.name, law.digest), lambda: _Counted(law))
    if counted.declarations != law.declarations:  # a law derived from another may have its digest
        return ()
    counted.fits += 1
    if counted.fits == 2:
        counted.claims = _proved(law)
    return counted.claims


def _proved(law: Law) -> tuple[UniversalClaim, ...]:
    """The claims of a law that are proved for all parameters, or under bounds that suffice."""
    positions = [k for k, claim in enumerate(law.claims) if _is_about_all(law, claim)]
    if not positions:
        return ()
    clock = TimeBudget(PROOF_SECONDS)
    claims = tuple(law.claims[k] for k in positions)
    part = replace(law, declarations=replace(law.declarations, claims=claims))
    decided = check.check(part, seconds=CLAIM_SECONDS, total=PROOF_SECONDS).claims
    found = []
    for k, verdict in zip(positions, decided, strict=True):
        if verdict.verdict == "proved":
            found.append(UniversalClaim(k))
        elif verdict.verdict == "conditional" and verdict.remedy:
            bounded = _with_bounds(law, verdict.remedy)
            seconds = max(min(CLAIM_SECONDS, clock.remaining()), MIN_SECONDS)
            if decide.check_claim(bounded, law.claims[k], seconds=seconds).verdict == "proved":
                found.append(UniversalClaim(k, verdict.remedy))
    return tuple(found)


def _is_about_all(law: Law, claim: Claim) -> bool:
    """Whether the points that a claim is about do not depend on the parameters.

    Otherwise there may be none of them at fitted values, and a claim about none says nothing.
    """
    symbols = law.declarations.symbols
    names = {tree.name_of(name) for name, _ in claim.conditions}
    limits = [limit for _, relations in claim.conditions for _, limit in relations]
    names |= {n.text for limit in limits for n in tree.walk(limit) if isinstance(n, tree.Name)}
    known = {q.name for q in (*law.variables, *law.settings)}
    return all(name in known or name not in symbols for name in names)


def _with_bounds(law: Law, bounds: Collection[str]) -> Law:
    for bound in bounds:
        law = law.with_bound(bound)
    return law


def _is_inside(law: Law, values: Mapping[str, float]) -> bool:
    """Whether all parameters are certainly inside their domains, and on none of their bounds."""
    known = {q.name: q.value for q in law.settings if q.value is not None}
    known |= {q.name: values[q.name] for q in law.parameters}
    if not all(map(math.isfinite, known.values())):
        return False
    exact = {name: Fraction(repr(float(x))) for name, x in known.items()}
    for q in law.parameters:
        for b in q.bounds:
            side = 1 if b.lower else -1
            limit = b.exact if b.name is None else exact.get(b.name)
            if limit is not None:
                is_inside = side * (exact[q.name] - limit) > 0
            else:
                symbols = {law.symbols[name]: x for name, x in exact.items()}
                is_inside = box.settings_sign(symbols, (q.symbol - b.limit) * side) == 1
            if not is_inside:
                return False
    return True
