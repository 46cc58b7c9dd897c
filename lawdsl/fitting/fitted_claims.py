"""Law + fitted values -> certificates of its claims, and bounds under which a fit satisfies them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.result_parts import Certificate
from lawdsl.law.law import Law
from lawdsl.proof.check import check
from lawdsl.proof.decide import check_claim, claim_text
from lawdsl.proof.verdict import Verdict

FITTED_CLAIM_SECONDS = 0.5  # CPU time limit (s) of the decision on one claim
# and on all claims of a law, which may have many labels: those not reached are undecided
FITTED_CLAIMS_SECONDS = 20.0
# expectations of claims that a fit should satisfy
EXPECTED_TO_HOLD = ("proved", "inside", "conditional")


def certificates(law: Law, values: Mapping[str, float]) -> tuple[Certificate, ...]:
    """Decide each claim of a law for fitted values, on the whole domain of the variables.

    Args:
        law: the law.
        values: parameter -> fitted value.
    """
    decided = check(law, values=values, seconds=FITTED_CLAIM_SECONDS, total=FITTED_CLAIMS_SECONDS)
    return tuple(map(_certificate, decided.claims))


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
    claim = next(c for c in law.claims if claim_text(c) == text)
    return check_claim(law, claim).remedy
