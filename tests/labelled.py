"""Laws with index sets at a few labels, and formulas about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sympy as sp
from judging import formula_of

import lawdsl
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.instance import Instance
from lawdsl.law.law import Law

SHARED_EXPONENTS = """law shared "exponents that all labels share"
index     i over domain
variable  N > 0
variable  D > 0
parameter E[i], A[i], B[i] > 0
parameter alpha, beta > 0
L[i] = E[i] + A[i]/N^alpha + B[i]/D^beta
minimize  {objective}
"""


def apart(law: Law) -> Law:
    """A law at labels with every parameter and every share a number of its own."""
    kinds = {n: s.kind for n, s in lawdsl.load(law.name).declarations.symbols.items()}
    symbols = {
        name: replace(s, kind=kinds[name.partition("[")[0]], formula=None, determined_by="")
        if kinds.get(name.partition("[")[0]) in ("parameter", "variable")
        else s
        for name, s in law.declarations.symbols.items()
    }
    return replace(law, declarations=replace(law.declarations, symbols=symbols))


def element(name: str, places: Mapping[str, str]) -> str:
    """`t[i, j]` at labels: `t[v, a]`."""
    base, bracket, inside = name.partition("[")
    labels = [places.get(s, s) for s in inside.rstrip("]").split(", ")]
    return f"{base}[{', '.join(labels)}]" if bracket else name


def read_at(law: Law, text: str, instance: Instance, places: Mapping[str, str]) -> sp.Expr:
    """A formula with subscripts, as text, in the symbols of a law at labels.

    Args:
        law: the law at the labels.
        text: the formula; its sums are written out.
        instance: the labels.
        places: index -> the label that it stands for.
    """
    declared = law.declarations.schema
    assert declared is not None
    ground = Grounding(declared, instance)
    return law.to_sympy(ground(formula_of(text), {**ground.rows, **places}))
