"""The algebra of laws with index sets: sums stay sums, and derivatives are exact."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy as sp
from labelled import apart, element

import lawdsl
from lawdsl.language.instances.instance import Instance
from lawdsl.law.indexed import IndexedAlgebra
from lawdsl.law.law import Law
from lawdsl.law.text import text

DOMAINS = ("a", "b", "d")
SETS = {"validation": ("v", "w"), "training": DOMAINS, "domain": DOMAINS, "1..30": ("1", "2")}

DERIVATIVES = [
    ("mixing.m1", "r[j]", "k[i, j]*t[i, j]*exp(r[j]*t[i, j])"),
    ("mixing.m1", "c[i]", "1"),
    ("mixing.m2", "k[i]", "sum(exp(t[i, j]*r[j]) for j)"),
    ("mixing.m3", "k[i]", "exp(prod(t[i, j]*r[j] for j))"),
    ("mixing.m4", "t[i, j]", "k[i]*r[j]*exp(sum(t[i, j]*r[j] for j))"),
    ("mixing.m4", "r[j]", "k[i]*t[i, j]*exp(sum(t[i, j]*r[j] for j))"),
    ("mixing.explicit", "t[i, j]", "k[i]*r[j]*s[i]*exp(sum(t[i, j]*r[j] for j))"),
    ("mixing.explicit", "r[j]", "sum(k[i]*s[i]*t[i, j]*exp(sum(t[i, j]*r[j] for j)) for i)"),
    ("mixing.implicit", "r[j]", "sum(k[i]*t[i, j]*exp(sum(t[i, j]*r[j] for j)) for i)"),
    ("mixing.bimix", "S", "-A[i]*B[i]*beta[i]/(S^(beta[i] + 1)*r[i]^alpha[i])"),
]

LATEX = {
    "mixing.m4": r"L_{i} = c_{i} + k_{i} \, \exp\left(\sum_{j} t_{i,j} \, r_{j}\right)",
    "mixing.implicit": r"L = c + \left(\sum_{i} k_{i} \, \exp\left(\sum_{j} t_{i,j} \, r_{j}\right)\right)",
    "mixing.m3": r"L_{i} = c_{i} + k_{i} \, \exp\left(\prod_{j} t_{i,j} \, r_{j}\right)",
}

INDEXED = ("m1", "m2", "m3", "m4", "explicit", "implicit", "bimix", "additive", "joint")


@pytest.mark.parametrize(("name", "by", "shown"), DERIVATIVES)
def test_a_derivative_keeps_its_sums(name: str, by: str, shown: str):
    assert text(lawdsl.load(name).derivative(by)) == shown


@pytest.mark.parametrize("name", LATEX)
def test_sums_are_printed_as_sums(name: str):
    assert lawdsl.load(name).latex() == LATEX[name]


class Values:
    """Numbers for the elements of a law, and what an expression with sums is for them."""

    def __init__(self, law: Law, seed: int) -> None:
        self.general: IndexedAlgebra[Law] = law.general
        self.rng = np.random.default_rng(seed)
        self.known: dict[str, float] = {}

    def of(self, name: str) -> float:
        return self.known.setdefault(name, float(self.rng.uniform(0.2, 1.2)))

    def __call__(self, expression: sp.Expr, places: dict[str, str]) -> float:
        found = {s: self._symbol(s, places) for s in expression.free_symbols}
        return float(expression.evalf(30, subs=found))

    def _symbol(self, symbol: sp.Symbol, places: dict[str, str]) -> float:
        whole = self.general.sums.get(symbol)
        if whole is None:
            return self.of(element(symbol.name, places))
        declared = self.general.law.declarations.schema
        assert declared is not None
        labels = SETS[declared.indices[whole.index].over]
        parts = [self(whole.body, {**places, whole.index: label}) for label in labels]
        return sum(parts) if whole.function == "sum" else float(np.prod(parts))


@pytest.mark.parametrize("name", INDEXED)
def test_derivatives_are_those_of_the_law_written_out(name: str):
    law = lawdsl.load(f"mixing.{name}")
    declared = law.declarations
    rows = {index: SETS[declared.indices[index].over][0] for index in declared.output.indices}
    plain = apart(law.at_labels(Instance(SETS, rows)))
    places = {i.name: SETS[i.over][0] for i in declared.indices.values()}
    values = Values(law, seed=3)
    for q in (*law.variables, *law.parameters):
        own = element(q.name, places)
        numbers = {s: values.of(s.name) for s in plain.symbols.values()}
        derived = plain.derivative(own).evalf(30, subs=numbers)
        assert values(law.derivative(q.name), places) == pytest.approx(float(derived), rel=1e-12)


@pytest.mark.parametrize("name", INDEXED)
def test_every_first_derivative_is_shown(name: str):
    law = lawdsl.load(f"mixing.{name}")
    for q in (*law.variables, *law.parameters):
        shown = text(law.derivative(q.name))
        assert not re.search(r"\bother\b", shown), "a sum that was taken apart"
