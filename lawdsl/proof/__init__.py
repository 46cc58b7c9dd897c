"""Claim on a law -> verdict: proved, conditional, refuted or undecided, with its evidence.

Three independent methods lead to a verdict: a symbolic calculus of signs (`signs`, `rules`), which
may prove; interval branch and bound on the domain (`branch_and_bound`), which may prove as well;
and a search for a counterexample (`counterexample`), which may refute. Where none succeeds, the
verdict is undecided.
"""

from lawdsl.proof.check import check
from lawdsl.proof.decide import check_claim
from lawdsl.proof.verdict import Check, Verdict

__all__ = ["Check", "Verdict", "check", "check_claim"]
