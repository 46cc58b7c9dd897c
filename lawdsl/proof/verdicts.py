"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lawdsl.diagnostics import Diagnostic


@dataclass(frozen=True)
class Verdict:
    """The verdict on one claim.

    Attributes:
        claim: the claim as the language prints it.
        verdict: proved, conditional, refuted or undecided.
        expect: the verdict that the law's author expects.
        proof: of a proved or conditional claim, the steps, each one line of mathematics.
        condition: of a conditional claim, what the parameters must satisfy.
        exact: whether that condition is also necessary.
        witness: of a refuted claim, a point at which it fails: name -> exact value as text.
        value: what the compared difference is at the witness, as text.
        blame: of an undecided claim, the smallest part whose sign is not known.
        seconds: how long the decision took.
    """

    claim: str
    verdict: str
    expect: str = "proved"
    proof: tuple[str, ...] = ()
    condition: str | None = None
    exact: bool = False
    witness: tuple[tuple[str, str], ...] = ()
    value: str | None = None
    blame: str | None = None
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.verdict == self.expect

    def to_json(self) -> dict[str, Any]:
        return {
            "claim": self.claim,
            "verdict": self.verdict,
            "expect": self.expect,
            "ok": self.ok,
            "proof": list(self.proof) or None,
            "condition": self.condition,
            "exact": self.exact if self.condition else None,
            "witness": dict(self.witness) or None,
            "value": self.value,
            "blame": self.blame,
        }


@dataclass(frozen=True)
class Check:
    """The verdicts on all claims of a law.

    Attributes:
        law: the law's name.
        digest: of the law that was checked.
        claims: one verdict a claim, in the file's order.
        warnings: parts of the law that are not defined on its whole domain.
    """

    law: str
    digest: str
    claims: tuple[Verdict, ...]
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every verdict is the expected one."""
        return all(verdict.ok for verdict in self.claims)

    def to_json(self) -> dict[str, Any]:
        return {
            "law": self.law,
            "digest": self.digest,
            "ok": self.ok,
            "claims": [verdict.to_json() for verdict in self.claims],
        }
