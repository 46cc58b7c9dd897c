"""What the tests of the proofs share: a domain as text, and what the rules say on it."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp
from judging import claims_on, formula_of, law_of

from lawdsl.law.law import Law
from lawdsl.proof import Verdict, check_claim
from lawdsl.proof.box import Box
from lawdsl.proof.domain import domain_of
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.limits import limit
from lawdsl.proof.signs.sign import Sign


def domain(text: str) -> tuple[Law, Box]:
    """A domain from statements between semicolons; those without a keyword are variables."""
    words = ("variable", "parameter", "setting", "let")
    lines = [part.strip() for part in text.split(";")]
    lines = [line if line.split()[0] in words else f"variable {line}" for line in lines]
    law = law_of("\n".join(["law test", *lines, "L = 1"]))
    return law, domain_of(law)


def on(text: str, formula: str) -> tuple[SignCalculus, sp.Expr]:
    """A formula on a domain, in independent symbols, and the signs there."""
    law, box = domain(text)
    return SignCalculus(box), box.independent(law.to_sympy(formula_of(formula)))


def sign_of(text: str, formula: str) -> Sign:
    signs, e = on(text, formula)
    return signs.sign(e)


def limit_of(text: str, formula: str, places: Mapping[str, str]) -> sp.Expr | None:
    law, box = domain(text)
    e = box.independent(law.to_sympy(formula_of(formula)))
    to = {law.symbols[name]: law.to_sympy(formula_of(at)) for name, at in places.items()}
    return limit(SignCalculus(box), e, to)


def algebra(text: str, formula: str) -> sp.Expr:
    law, _ = domain(text)
    return law.to_sympy(formula_of(formula))


def decide(law: str, claim: str, *, seconds: float = 2.0) -> Verdict:
    """The verdict on one claim; `law` has everything but the claim."""
    read, (stated,) = claims_on(f"law test\n{law}", claim)
    return check_claim(read, stated, seconds=seconds)
