"""Every shipped law: reads, prints back, checks as it says, computes what it means."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy as sp
from commands import run
from quick import some, without

import lawdsl
from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.model import Model
from lawdsl.compiling.tape import compile_tape
from lawdsl.compiling.terms import parts_of
from lawdsl.language import tree
from lawdsl.language.library import shipped, shipped_folder

NO_ROWS = np.zeros((0, 1))
NAMES = sorted(shipped())

EXPECTED = {
    "batch.compute",
    "batch.critical",
    "batch.step",
    "batch.tokens",
    "batch.tradeoff",
    "chinchilla",
    "cmr.domain",
    "cmr.domain_by_ratio",
    "cmr.general",
    "cmr.general_apart",
    "cmr.general_by_ratio",
    "cmr.ratio",
    "cmr.share",
    "context.length",
    "data.atlas",
    "data.transferred",
    "dcpt.cross_k1",
    "dcpt.cross_k2",
    "dcpt.cross_k3",
    "dcpt.cross_k4",
    "dcpt.forgetting",
    "dcpt.forgetting_base",
    "dcpt.l1",
    "dcpt.l2",
    "dcpt.l3",
    "dcpt.l4",
    "dcpt.l5",
    "dcpt.share",
    "dcpt.threshold",
    "diloco.joint",
    "distill.student",
    "distill.supervised",
    "downstream.capability",
    "downstream.error",
    "downstream.family",
    "downstream.sigmoid",
    "family.broken",
    "family.broken1",
    "family.broken2",
    "family.gompertz",
    "family.logistic",
    "family.saturating",
    "family.shifted",
    "family.weibull",
    "finetune.critical",
    "finetune.joint",
    "finetune.rectified",
    "finetune.transfer",
    "forgetting.injection",
    "kaplan",
    "kaplan.steps",
    "loss.to_loss",
    "lr.basin",
    "lr.compute",
    "lr.step",
    "mixing.additive",
    "mixing.bimix",
    "mixing.critical",
    "mixing.explicit",
    "mixing.implicit",
    "mixing.joint",
    "mixing.m1",
    "mixing.m2",
    "mixing.m3",
    "mixing.m4",
    "mixing.powers",
    "mixing.size",
    "mixing.step",
    "mixing.two_domain",
    "mixture.loglinear",
    "moe.granular",
    "moe.joint",
    "moe.routed",
    "moe.sparsity",
    "moe.upcycled",
    "multilingual.languages",
    "multimodal.mixed",
    "multimodal.native",
    "overtrain.allocation",
    "parallel.streams",
    "precision.biased",
    "precision.float",
    "precision.float_critical",
    "precision.post",
    "precision.post_critical",
    "precision.qat",
    "precision.trained",
    "quality.utility",
    "repeated",
    "rl.efficiency",
    "rl.overoptimised_best_of_n",
    "rl.overoptimised_rl",
    "rl.sigmoid",
    "schedule.annealing",
    "schedule.continual",
    "schedule.multi_power",
    "testtime.coverage",
    "vision.shifted",
    "vocab.unigram",
}


def admissible(law: lawdsl.Law, seed: int) -> dict[sp.Symbol, Fraction]:
    """Random short rational values of everything, inside all domains, where the law has a value."""
    rng = np.random.default_rng(seed)
    shares = [law.to_sympy(tree.Name(name)) for name in last_shares(law)]
    while True:
        point = drawn(law, rng)
        positive = all(share.xreplace(rational(point)) > 0 for share in shares)
        if positive and isinstance(exact(law.expression, point), mpmath.mpf):
            return point  # a root of a negative number is complex


def last_shares(law: lawdsl.Law) -> list[str]:
    """What other shares leave of 1: no variable, but in the domain all the same."""
    return [s.name for s in law.declarations.symbols.values() if s.kind == "let" and s.bounds]


def drawn(law: lawdsl.Law, rng: np.random.Generator) -> dict[sp.Symbol, Fraction]:
    point = {q.symbol: Fraction(repr(q.value)) for q in law.settings}
    for q in (*law.variables, *law.parameters):
        at = {s: v.n(30) for s, v in rational(point).items()}  # powers of fractions have no end
        lows = [float(b.limit.xreplace(at)) for b in q.bounds if b.lower]
        highs = [float(b.limit.xreplace(at)) for b in q.bounds if not b.lower]
        low, high = max(lows, default=-2.0), min(highs, default=max(lows, default=-2.0) + 3)
        point[q.symbol] = Fraction(f"{low + (high - low) * rng.uniform(0.1, 0.9):.6f}")
    return point


def rational(point: dict[sp.Symbol, Fraction]) -> dict[sp.Symbol, sp.Rational]:
    return {s: sp.Rational(v) for s, v in point.items()}


def exact(expression: sp.Expr, point: dict[sp.Symbol, Fraction]) -> mpmath.mpf:
    with mpmath.workdps(50):
        names = list(point)
        compute = sp.lambdify(names, expression, "mpmath")
        return compute(*(mpmath.mpf(v.numerator) / v.denominator for v in point.values()))


def test_the_laws_that_ship():
    assert set(NAMES) == EXPECTED


@pytest.mark.parametrize("name", NAMES)
def test_it_says_where_it_comes_from(name: str):
    law = lawdsl.load(name)
    assert law.title != law.name
    assert any(
        "arXiv:" in source or re.search(r"\b\d{4}\b|released code", source)
        for source in law.sources
    )
    assert all(q.doc for q in law.variables)


DEAR = ("moe.joint", "quality.utility", "dcpt.threshold", "moe.routed")
"""Laws of whose claims a proof or the search for one takes more than a second."""


@pytest.mark.parametrize("name", without(NAMES, DEAR))
def test_its_verdicts_are_the_recorded_ones(name: str):
    check = lawdsl.check(name, seconds=5)
    assert [v.claim for v in check.claims if not v.ok] == []
    assert check.claims and not check.warnings


@pytest.mark.parametrize("name", some(sorted(NAMES), 30))
def test_the_compiled_law_is_its_expression_at_50_digits(name: str):
    law = lawdsl.load(name).sample
    for seed in range(3):
        point = admissible(law, seed)
        tape = compile_tape([law.expression], list(point))
        computed = float(evaluate(tape, [float(v) for v in point.values()])[0])
        assert computed == pytest.approx(float(exact(law.expression, point)), rel=1e-13)


@pytest.mark.parametrize("name", some(NAMES, 16))
def test_exact_derivatives_equal_the_compiled_ones_and_finite_differences(name: str):
    law = lawdsl.load(name).sample
    point = admissible(law, 7)
    symbols = list(point)
    tape = compile_tape([law.expression], symbols)
    values = np.array([float(v) for v in point.values()])
    slopes = Model(parts_of(law.expression, (), symbols), NO_ROWS).slopes(values[None])[1][0, :, 0]
    for i, symbol in enumerate(symbols):
        if symbol.name not in {q.name for q in (*law.variables, *law.parameters)}:
            continue
        symbolic = float(exact(law.derivative(symbol.name), point))
        assert slopes[i] == pytest.approx(symbolic, rel=1e-11, abs=1e-13)
        step = 1e-6 * max(abs(values[i]), 1e-2)
        ahead, behind = values.copy(), values.copy()
        ahead[i] += step
        behind[i] -= step
        difference = (evaluate(tape, list(ahead))[0] - evaluate(tape, list(behind))[0]) / (2 * step)
        assert difference == pytest.approx(symbolic, rel=1e-5, abs=1e-7)


def test_every_shipped_table_says_its_source():
    tables = sorted((shipped_folder() / "data").glob("*.csv"))
    assert len(tables) >= 6
    for table in tables:
        notes = [line for line in table.read_text(encoding="utf-8").splitlines() if line[0] == "#"]
        source = "Made by runners/" if notes[0].startswith("# lawdsl runs") else "arXiv:"
        assert any(source in note for note in notes), table.name


def test_a_law_shows_as_latex_and_as_one_line():
    law = lawdsl.load("dcpt.l3")
    assert law._repr_latex_().startswith("$\\displaystyle L = ")
    assert repr(law) == "<Law dcpt.l3: L = E + A/N^alpha + B*r^eta/D^beta + C/(r + epsilon)^gamma>"


def test_dropping_the_coupled_bound_leaves_its_sign():
    law = lawdsl.load("dcpt.l3").without("C>C0")
    assert {q.name: q.domain for q in law.parameters}["C"] == "C > 0"


def test_another_setting_changes_the_digest():
    law = lawdsl.load("dcpt.l3")
    assert law.with_settings(D_min=1.84).digest != law.digest


def test_notes_are_shown_with_those_of_the_law_that_is_extended():
    """The notes of dcpt.l3, which is extended, come before those of the law itself."""
    base, law = lawdsl.load("dcpt.l3"), lawdsl.load("dcpt.cross_k1")
    assert law.notes[: len(base.notes)] == base.notes
    assert any("1,000 steps" in note for note in law.notes[len(base.notes) :])
    shown = run("show", "dcpt.cross_k1").stdout
    assert all(note in shown for note in law.notes)


def test_all_notes_in_one_list():
    listed = json.loads(run("laws", "--notes", "--json").stdout)["result"]["notes"]
    printed = run("laws", "--notes").stdout
    assert {"dcpt.l3", "dcpt.threshold", "mixing.best_supplied", "cmr.ratio"} < set(listed)
    assert all(note in printed for notes in listed.values() for note in notes)


def test_note_is_a_name_where_no_text_follows_it(tmp_path: Path):
    path = tmp_path / "t.law"
    path.write_text(
        'law t "T"\nnote "a rounded exponent"\nvariable N > 0\nparameter A, note > 0\nL = A/N^note\n'
    )
    law = lawdsl.load(path)
    assert law.notes == ("a rounded exponent",)
    assert [p.name for p in law.parameters] == ["A", "note"]
