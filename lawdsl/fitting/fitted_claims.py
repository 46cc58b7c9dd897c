"""Law + fitted values -> certificates of its claims, and bounds under which a fit satisfies them.

The claims of a law that is fitted again and again are proved once, for all admissible parameters;
what is proved so is certified for every fit whose parameters are inside their domains.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.recent import Recent
from lawdsl.core.records import read, to_plain
from lawdsl.fitting.preparation.cached_algebra import NOT_CACHED, algebra_at, algebra_of
from lawdsl.fitting.result_parts import Certificate
from lawdsl.language.claims import claim_text
from lawdsl.law.law import Law
from lawdsl.proof.verdict import Verdict

if TYPE_CHECKING:
    from lawdsl.proof import box, check, decide
else:  # proofs, which are not needed for values at which the claims were decided before
    box = lazy_module("lawdsl.proof.box")
    check = lazy_module("lawdsl.proof.check")
    decide = lazy_module("lawdsl.proof.decide")

FITTED_CLAIM_SECONDS = 0.5  # CPU time limit (s) of the decision on one claim
# and on all claims of a law, which may have many labels: those not reached are undecided
FITTED_CLAIMS_SECONDS = 20.0
# and of the attempt to prove them for all admissible parameters, once a law is fitted again
PROOF_SECONDS = 2.0
KEPT_LAWS = 32
# expectations of claims that a fit should satisfy
EXPECTED_TO_HOLD = ("proved", "inside", "conditional")


def certificates(law: Law, values: Mapping[str, float]) -> tuple[Certificate, ...]:
    """Decide each claim of a law for fitted values, on the whole domain of the variables.

    Args:
        law: the law.
        values: parameter -> fitted value.
    """
    if not law.claims:
        return ()
    return algebra_at(law, values).get(
        "certificates",
        lambda: _decided(law, values),
        _plain_certificates,
        lambda content: read(tuple[Certificate, ...], content),
    )


def _plain_certificates(decided: tuple[Certificate, ...]) -> Any:
    """Certificates as plain data; what a faster machine might decide is not cached."""
    if any(certificate.verdict == "undecided" for certificate in decided):
        return NOT_CACHED
    return to_plain(decided)


def _decided(law: Law, values: Mapping[str, float]) -> tuple[Certificate, ...]:
    """The certificates of the claims, by proofs."""
    proved = _proved_for_all(law)
    if proved and not _is_inside(law, values):
        proved = frozenset()
    by_claim = {k: Certificate(claim_text(law.claims[k]), "certified") for k in proved}
    others = [k for k in range(len(law.claims)) if k not in proved]
    if others:
        claims = tuple(law.claims[k] for k in others)
        rest = replace(law, declarations=replace(law.declarations, claims=claims))
        decided = check.check(
            rest, values=values, seconds=FITTED_CLAIM_SECONDS, total=FITTED_CLAIMS_SECONDS
        ).claims
        by_claim |= dict(zip(others, map(_certificate, decided), strict=True))
    return tuple(by_claim[k] for k in range(len(law.claims)))


class _Proofs:
    """The claims of a law that are proved for all admissible parameters: positions, once they have
    been looked for, which pays from the second fit on.
    """

    def __init__(self, law: Law) -> None:
        self.declarations, self.fits = law.declarations, 0
        self.positions: frozenset[int] = frozenset()


_proofs: Recent[_Proofs] = Recent(KEPT_LAWS)


def _proved_for_all(law: Law) -> frozenset[int]:
    """The positions of the claims that are known to be proved for all admissible parameters."""
    if law.indexed:
        return frozenset()
    kept = _proofs.get((law.name, law.digest), lambda: _Proofs(law))
    if kept.declarations != law.declarations:  # a law derived from another may have its digest
        return frozenset()
    kept.fits += 1
    if kept.fits == 2:
        decided = check.check(law, seconds=FITTED_CLAIM_SECONDS, total=PROOF_SECONDS).claims
        kept.positions = frozenset(k for k, v in enumerate(decided) if v.verdict == "proved")
    return kept.positions


def _is_inside(law: Law, values: Mapping[str, float]) -> bool:
    """Whether all parameters are certainly inside their domains."""
    known = {q.symbol: q.value for q in law.settings if q.value is not None}
    known |= {q.symbol: values[q.name] for q in law.parameters}
    if not all(map(math.isfinite, known.values())):
        return False
    exact = {symbol: Fraction(repr(float(x))) for symbol, x in known.items()}
    return all(
        box.settings_sign(exact, (q.symbol - b.limit) * (1 if b.lower else -1)) == 1
        for q in law.parameters
        for b in q.bounds
    )


def _certificate(verdict: Verdict) -> Certificate:
    failed = verdict.verdict == "refuted" and verdict.expect in EXPECTED_TO_HOLD
    return Certificate(
        verdict.claim, verdict.verdict, failed, verdict.face, verdict.witness, verdict.value
    )


def claim_failure_findings(
    law: Law, certificates_of_fit: Sequence[Certificate]
) -> list[Diagnostic]:
    """A warning for each claim that fails at the fitted values: which, where, and what to do.

    Args:
        law: the law.
        certificates_of_fit: the certificates of its claims.
    """
    warnings = []
    for certificate in certificates_of_fit:
        if certificate.failed:
            witness = ", ".join(f"{name} = {value}" for name, value in certificate.witness)
            where = f"at {witness}: " if witness else ""
            message = (
                f"`{certificate.claim}` fails on the fitted values: {where}{certificate.value}"
            )
            bounds = _proving_bounds(law, certificate.claim)
            help = "no bound of a parameter is known that would keep it; choose another law"
            if bounds:
                help = f"fit again with --enforce: it keeps {', '.join(bounds)}"
            warnings.append(Diagnostic("F0113", message, "warning", help=help))
    return warnings


def with_enforced_bounds(law: Law, certificates_of_fit: Iterable[Certificate]) -> Law | None:
    """The law with bounds under which the failing claims are proved; None if no such bounds are
    known.

    Args:
        law: the law.
        certificates_of_fit: the certificates of its claims.
    """
    changed = law
    for certificate in certificates_of_fit:
        if certificate.failed:
            for bound in _proving_bounds(changed, certificate.claim):
                changed = changed.with_bound(bound)
    return changed if changed is not law else None


def _proving_bounds(law: Law, text: str) -> tuple[str, ...]:
    """The bounds of parameters under which a claim is proved."""
    return algebra_of(law).get(
        f"bounds that enforce {text}",
        lambda: _bounds_of_proof(law, text),
        lambda bounds: list(bounds) if bounds else NOT_CACHED,
        lambda content: read(tuple[str, ...], content),
    )


def _bounds_of_proof(law: Law, text: str) -> tuple[str, ...]:
    """Prove a claim under bounds of the parameters; return these bounds."""
    claim = next(c for c in law.claims if claim_text(c) == text)
    return decide.check_claim(law, claim).remedy
