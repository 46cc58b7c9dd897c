"""Claim on a law -> verdict: proved, conditional, refuted or undecided, with its evidence.

Three independent methods lead to a verdict: a symbolic calculus of signs (`signs`, `rules`), which
may prove; interval branch and bound on the domain (`branch_and_bound`), which may prove as well;
and a search for a counterexample (`counterexample`), which may refute. Where none succeeds, the
verdict is undecided.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lawdsl.proof.verdict import Check, Verdict

if TYPE_CHECKING:
    from lawdsl.proof.decide import check_claim

__all__ = ["Check", "Verdict", "check_claim"]


def __getattr__(name: str) -> Any:
    if name == "check_claim":  # which loads computer algebra: verdicts that are kept do without
        return import_module("lawdsl.proof.decide").check_claim
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
