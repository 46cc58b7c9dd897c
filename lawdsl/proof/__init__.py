"""Is a claim about a law true? Claim on a Law -> Verdict.

Three independent layers lead to a verdict: a calculus of signs on the expression (`signs`), which
may prove; numbers on pieces of the domain (`boxes`), which may prove as well; and a search for a
counter-example (`search`), which may refute. Where none succeeds the verdict is undecided.
"""

from lawdsl.proof.check import check
from lawdsl.proof.decide import check_claim
from lawdsl.proof.verdict import Check, Verdict

__all__ = ["Check", "Verdict", "check", "check_claim"]
