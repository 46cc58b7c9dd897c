"""Is a claim about a law true? Claim on a Law -> Verdict.

Two independent ways lead to a verdict: a calculus of signs on the expression (`signs`, `payment`,
`conditions`, `limits`, `reduction`), which may prove, and a search for a counter-example
(`sampling`), which may refute. Where neither succeeds the verdict is undecided.
"""

from lawdsl.proof.claims import check, check_claim
from lawdsl.proof.verdicts import Check, Verdict

__all__ = ["Check", "Verdict", "check", "check_claim"]
