"""The result of a check: Verdict of one claim, Check of a law."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.presentation import Presented

if TYPE_CHECKING:  # verdicts that are kept are shown without algebra
    import sympy as sp

    from lawdsl.proof.box import (
        Box,
        Relation as Needs,  # the name in the public signature of Verdict
    )

MAX_PROOF_LINES = 5  # of a proof


@dataclass(frozen=True, eq=False)
class Failure:
    """A verified point at which a claim fails, and the quantity that it is about, for figures.

    Attributes:
        quantity: in the law's own quantities and settings.
        text: the quantity as a claim writes it: ∂L/∂D.
        sense: 1 where the claim is that it is positive, -1 negative, 0 that it has a value.
        strict: whether 0 contradicts the claim too.
        point: each free symbol of the quantity that is not a setting -> its value there.
        box: the domain of the claim.
    """

    quantity: sp.Expr
    text: str
    sense: int
    strict: bool
    point: Mapping[sp.Symbol, Fraction]
    box: Box


@dataclass(frozen=True)
class Verdict(Presented):
    """The verdict on one claim.

    Attributes:
        claim: the claim as the language prints it.
        verdict: proved, inside (proved except on a face of the domain, where equality holds),
            conditional, refuted or undecided; certified, where it is proved for given values of the
            parameters, `face` included.
        expect: the verdict that the law's author expects.
        proof: the proof of a proved or conditional claim, the steps, each one line of mathematics.
        condition: the condition of a conditional claim, what the parameters must satisfy.
        exact: whether that condition is also necessary.
        remedy: bounds of parameters under which a conditional claim is proved: ("eta < 1",).
        witness: the witness of a refuted claim, a point at which it fails: name -> exact value as
            text.
        value: the compared difference at the witness, as text.
        never: whether the opposite of a refuted claim is proved: it holds nowhere.
        face: the face of a claim that is proved inside, where there is equality: r = 0.
        blame: of an undecided claim, the smallest part whose sign is unknown.
        place: the file that makes the claim, and the line.
        inherited_from: the law that makes the claim, where the law that is checked inherits it.
        seconds: CPU time (s) of all work on the claim.
        needs: the condition of a conditional claim about given labels as an expression.
        method: how it was decided: "signs", "signs and subdivision", "subdivision", "limits",
            "reduction", "definedness", "counter-example"; empty where it is undecided.
        failure: of a refuted claim the witness, and of a conditional one a point at which neither it
            nor its condition holds, as a figure draws them; None where no such point is known.
    """

    claim: str
    verdict: str
    expect: str = "proved"
    proof: tuple[str, ...] = ()
    condition: str | None = None
    exact: bool = False
    remedy: tuple[str, ...] = ()
    witness: tuple[tuple[str, str], ...] = ()
    value: str | None = None
    never: bool = False
    face: str | None = None
    blame: str | None = None
    place: tuple[str, int] | None = None
    inherited_from: str = ""
    seconds: float = 0.0
    needs: Needs | None = field(default=None, repr=False, compare=False)
    method: str = ""
    failure: Failure | None = field(default=None, repr=False, compare=False)

    @property
    def word(self) -> str:
        """The verdict in words for a person."""
        if self.verdict == "certified":
            return "certified inside" if self.face else "certified"
        return "proved inside" if self.verdict == "inside" else self.verdict

    @property
    def ok(self) -> bool:
        """Whether the verdict is the expected one; for values of a fit also if it is certified."""
        return self.verdict in (self.expect, "certified")

    @property
    def origin(self) -> str:
        """The law from which the claim is inherited, with its place; empty for one of the law itself."""
        if not self.inherited_from:
            return ""
        where = f", {self.place[0]}:{self.place[1]}" if self.place else ""
        return f"inherited from {self.inherited_from}{where}"

    def to_json(self) -> dict[str, Any]:
        """The record as plain data for `--json`."""
        return {
            "claim": self.claim,
            "verdict": self.verdict,
            "expect": self.expect,
            "ok": self.ok,
            "method": self.method or None,
            "proof": list(self.proof) or None,
            "condition": self.condition,
            "exact": self.exact if self.condition else None,
            "remedy": list(self.remedy) or None,
            "witness": dict(self.witness) or None,
            "value": self.value,
            "never": self.never,
            "face": self.face,
            "blame": self.blame,
            "file": self.place[0] if self.place else None,
            "line": self.place[1] if self.place else None,
            "seconds": round(self.seconds, 4),
        }


@dataclass(frozen=True)
class Check(Presented):
    """The verdicts on all claims of a law.

    Attributes:
        law: the law's name.
        digest: the digest of the law that was checked.
        claims: one verdict a claim, in the file's order.
        warnings: parts of the law that are not defined on its whole domain.
        seconds: CPU time (s) of the whole check.
        warning_seconds: the part of it that was spent on warnings.
    """

    law: str
    digest: str
    claims: tuple[Verdict, ...]
    warnings: tuple[Diagnostic, ...] = ()
    seconds: float = 0.0
    warning_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether every verdict is the expected one."""
        return all(verdict.ok for verdict in self.claims)

    def to_json(self) -> dict[str, Any]:
        """The record as plain data for `--json`."""
        return {
            "law": self.law,
            "digest": self.digest,
            "ok": self.ok,
            "seconds": round(self.seconds, 4),
            "warning_seconds": round(self.warning_seconds, 4),
            "claims": [verdict.to_json() for verdict in self.claims],
        }


# The verdicts that the methods return; the caller adds the claim, its line and the time.


def proved(
    steps: Iterable[str],
    facts: Mapping[sp.Symbol, str],
    used: Iterable[sp.Symbol],
    method: str,
) -> Verdict:
    """A proved verdict; the last line of its proof lists the facts it uses, in the law's order.

    Args:
        steps: the other lines of the proof.
        facts: symbol -> its domain as text.
        used: the symbols whose domains the proof uses.
        method: how it was proved.
    """
    lines, used_symbols = tuple(steps), set(used)
    because = dict.fromkeys(fact for symbol, fact in facts.items() if symbol in used_symbols)
    if because:
        lines = (*lines[: MAX_PROOF_LINES - 1], "because " + ", ".join(because))
    return Verdict("", "proved", proof=lines[:MAX_PROOF_LINES], method=method)


def refuted(
    point: Mapping[sp.Symbol, Fraction],
    value: str,
    method: str = "counter-example",
    failure: Failure | None = None,
) -> Verdict:
    """A refuted verdict.

    Args:
        point: the point at which the claim fails; empty where it fails everywhere.
        value: the value there, as text.
        method: how it was refuted.
        failure: the point as figures draw it.
    """
    named = sorted((symbol.name, str(number)) for symbol, number in point.items())
    witness = tuple(named)
    return Verdict("", "refuted", witness=witness, value=value, method=method, failure=failure)


def undecided(blame: str) -> Verdict:
    """An undecided verdict with its reason."""
    return Verdict("", "undecided", blame=blame)


def too_late(seconds: float) -> str:
    """The reason given for a claim that exceeds its time limit."""
    return f"not decided within {seconds:g} s"
