"""What the papers answer with their laws, answered by the shipped questions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner
from planted import law_of

import lawdsl
from lawdsl.cli import cli
from lawdsl.data.read import read_table
from lawdsl.language.library import question, shipped, shipped_folder

TABLES = shipped_folder() / "data"
SIZES = {"460M": 29.76, "940M": 34.89, "1.6B": 41.43, "3.1B": 47.83}  # percent at T = 100
# Billions, as a fit of dcpt.l3 has them; C is above C0 = 0.9 with D_min = 0.1311
L3 = {
    "E": 1.2,
    "A": 0.3,
    "alpha": 0.4,
    "B": 0.15,
    "beta": 0.3,
    "eta": 1.5,
    "gamma": 0.6,
    "epsilon": 0.1,
    "C": 1.0,
}
CHINCHILLA = {"E": 1.8172, "A": 482.01, "B": 2085.43, "alpha": 0.3478, "beta": 0.3658}


def column(table: str, name: str) -> np.ndarray:
    return np.array(read_table(TABLES / table).numbers(name))


def as_sympy(formula: str | None) -> sp.Expr:
    """A formula of an answer, read as a law is; all its names are positive."""
    assert formula is not None
    names = "A, B, C, D_d, beta, alpha, eta, gamma, epsilon, r, k"
    return law_of(f"variable x > 0\nparameter {names} > 0\nL = ({formula}) + 0*x").expression


def symbols(names: str) -> tuple[sp.Symbol, ...]:
    return sp.symbols(names, positive=True)


def same(one: sp.Expr, other: sp.Expr) -> bool:
    """Whether two products of powers are the same."""
    left = sp.expand_log(sp.log(one) - sp.log(other), force=True)
    return sp.simplify(sp.expand(left)) == 0


# ---- what ships

QUESTIONS = [
    "batch.fewest_steps",
    "chinchilla.allocation",
    "chinchilla.inference",
    "chinchilla.smallest_model",
    "chinchilla.tokens_for_loss",
    "cmr.critical_ratio",
    "cmr.general_peak",
    "cmr.ratio_at",
    "cmr.turn",
    "cmr.turning_point",
    "cmr.turning_points",
    "cmr.volume_for",
    "context.shortest",
    "dcpt.allocation",
    "dcpt.limited_data",
    "dcpt.tokens_for_loss",
    "dcpt.tradeoff",
    "dcpt.tradeoff_forgetting",
    "diloco.replicas",
    "distill.break_even",
    "distill.teacher",
    "downstream.budget",
    "finetune.crossing",
    "forgetting.most_tokens",
    "kaplan.fewest_steps",
    "lr.best",
    "mixing.best",
    "mixing.best_overall",
    "mixing.best_supplied",
    "mixing.critical_share",
    "mixture.near",
    "moe.experts",
    "moe.granularity",
    "multilingual.more_languages",
    "overtrain.furthest",
    "parallel.smallest",
    "precision.allocation",
    "precision.best_tokens",
    "repeated.allocation",
    "rl.speed_up",
    "rl.stop_best_of_n",
    "rl.stop_rl",
    "schedule.drop",
    "testtime.samples",
    "vocab.size",
]


def test_the_questions_that_ship():
    assert sorted(shipped("question")) == QUESTIONS


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_says_where_it_comes_from_and_what_it_asks(name: str):
    found, warnings = question(name)
    path = shipped("question")[name]
    written = CliRunner().invoke(cli, ["fmt", "--check", str(path)], standalone_mode=False)

    assert warnings == [] and written.return_value in (0, None)
    assert any("arXiv:" in source or "released code" in source for source in found.sources)
    assert all(s.doc for kind in ("given", "unknown", "setting") for s in found.of_kind(kind))
    assert all(c.doc for c in found.constraints)


# ---- D-CPT, usage 1: the most domain data that keeps general ability


def test_usage_1_on_the_rows_of_table_5_that_bracket_the_limit():
    """Straight lines between the two real rows beside the limit: the crossing is at .9245."""
    line = law_of("variable r in [0, 1]\nparameter a, b\nL = a + b*r\nminimize squared(L)")
    rows = ["r_domain >= 0.924", "r_domain <= 0.93"]
    fits = {
        use: lawdsl.fit(
            line, TABLES / "dcpt_table5.csv", r=f"r_{use}", L=f"L_{use}", where=rows, claims=False
        )
        for use in ("general", "domain")
    }
    found = lawdsl.solve("dcpt.tradeoff", **fits, N=1.8, D=10, L0=2.8602, T=0.03)

    assert found["r_d"] == pytest.approx(0.9245, abs=5e-5)
    assert [k.name for k in found.active] == ["general loss"]


def test_usage_1_on_a_law_of_the_share_fitted_to_table_5():
    """The paper's answer is .924, at a general loss of 2.9458 and a domain loss of 1.7284."""
    fits = {
        use: lawdsl.fit("dcpt.share", TABLES / "dcpt_table5.csv", r=f"r_{use}", L=f"L_{use}")
        for use in ("general", "domain")
    }
    found = lawdsl.solve("dcpt.tradeoff", **fits, N=1.8, D=10, L0=2.8602, T=0.03)

    assert round(found["r_d"], 3) == 0.924
    assert found.certain and found.ok
    assert found.goal is not None
    assert found.goal.value == pytest.approx(1.7284, abs=1e-3)
    ends = found.ends("r_d")
    assert ends is not None and ends[0] < 0.9245 < ends[1]


# ---- usage 2: the best mixture for a limited corpus


def test_usage_2_has_its_threshold_with_the_exponent_that_the_paper_misprints():
    """Eq. 53 with (1 + epsilon)^(gamma + 1), the root of the slope at r = 1 (Eq. 52)."""
    values = {**L3, "C": 0.4}
    found = lawdsl.solve("dcpt.limited_data", domain=values, N=1.8, D_d=5)
    threshold = next(t for t in found.thresholds if t.name == "D_d")
    B, C, beta, eta, gamma, epsilon = symbols("B C beta eta gamma epsilon")
    expected = (B * (eta + beta) * (1 + epsilon) ** (gamma + 1) / (gamma * C)) ** (1 / beta)

    assert threshold.relation == "<"
    assert same(as_sympy(threshold.formula.replace("domain.", "")), expected)
    at = {s: values[s.name] for s in expected.free_symbols}
    assert threshold.value == pytest.approx(float(expected.xreplace(at)), rel=1e-12)
    below, above = (
        lawdsl.solve("dcpt.limited_data", domain=values, N=1.8, D_d=factor * threshold.value)
        for factor in (0.99, 1.01)
    )
    assert below.unknowns[0].place == "inside" and above["r_d"] == 1


@pytest.mark.parametrize("best", [0.2, 0.5, 0.732, 0.95])
def test_usage_2_finds_the_interior_minimum_of_a_law_that_has_one(best: float):
    """C below C0, so that the slope at D_d = 5 is 0 at a known share; dense evaluation agrees."""
    values = dict(L3)
    eta, beta, gamma, epsilon, B = (values[n] for n in ("eta", "beta", "gamma", "epsilon", "B"))
    slope = B * (eta + beta) * best ** (eta + beta - 1) / 5**beta
    values["C"] = slope * (best + epsilon) ** (gamma + 1) / gamma
    found = lawdsl.solve("dcpt.limited_data", domain=values, N=1.8, D_d=5)
    r = np.linspace(1e-3, 1, 100_001)
    price = B * r ** (eta + beta) / 5**beta + values["C"] / (r + epsilon) ** gamma

    assert found["r_d"] == pytest.approx(best, abs=1e-9)
    assert abs(found["r_d"] - r[np.argmin(price)]) < 2e-5
    assert found.where == "inside, where the slope is 0" and found.certain
    assert found.goal is not None
    assert found.goal.value <= np.min(price) + values["E"] + values["A"] / 1.8 ** values["alpha"]


def test_usage_2_contradicts_the_bound_that_makes_a_larger_share_help():
    """No fit with C > C0 and D_min = 0.1311 has an interior optimum for 5B tokens, and that is proved."""
    found = lawdsl.solve("dcpt.limited_data", domain=L3, N=1.8, D_d=5)

    assert found["r_d"] == 1 and found.unknowns[0].place == "upper end"
    (conflict,) = found.conflicts
    assert conflict.bound == "C > C0" and conflict.proof
    assert list(conflict.settings) == ["domain.D_min"]
    # D_min would have to pass D_d/(1 + beta/eta)^(1/beta), which is above D_d/e
    ratio = (1 + L3["beta"] / L3["eta"]) ** (1 / L3["beta"])
    assert conflict.settings["domain.D_min"] == pytest.approx(5 / ratio, rel=1e-9)
    assert 5 / ratio > 5 / math.e


def test_the_ten_rows_of_table_6_do_not_show_an_interior_optimum_by_themselves():
    """The paper's law was fitted to other runs, of fewer domain tokens. Of its own rows those of a
    larger share only rise at 0.8, within their noise: B -> 0, and the best share is 1 or any other."""
    share = column("dcpt_table6.csv", "r")
    rows = {"N": 0 * share + 1.8, "D": 5 / share, "r": share, "L": column("dcpt_table6.csv", "L")}
    held = {"A": 0.1, "alpha": 0.3, "beta": 0.3, "eta": 4.0, "epsilon": 0.1, "gamma": 0.6}
    fit = lawdsl.fit("dcpt.l3", rows, without="C > C0", fix=held, claims=False)
    found = lawdsl.solve("dcpt.limited_data", domain=fit, N=1.8, D_d=5)
    ends = found.ends("r_d")

    assert fit.values["B"] < 1e-6 and fit.verdict == "caution"
    assert found["r_d"] == 1 and found.conflicts == ()
    assert ends is not None and ends[0] < 0.732 < ends[1]


def test_no_bound_forbids_an_interior_optimum_below_the_supremum():
    """Of 0.2B tokens some law with C > C0 has one: nothing is in the way."""
    found = lawdsl.solve("dcpt.limited_data", domain={**L3, "C": 5.0}, N=1.8, D_d=0.2)
    assert found["r_d"] == 1 and found.conflicts == ()


def test_the_supremum_of_the_contradiction_is_e_times_D_min():
    check = lawdsl.check("dcpt.threshold", seconds=5)
    assert [(v.claim, v.verdict) for v in check.claims] == [
        ("D_interior < exp(1)*D_min", "proved"),
        ("D_interior < 2.718*D_min", "refuted"),
    ]


# ---- usage 3: model size and tokens for a compute budget


def of_usage_3() -> dict[str, float]:
    """Parameters with the published a = .6252 and G = 4.1282 at r = 1/2 (Eq. 15, 16 and 37)."""
    a, G, alpha, eta, B = 0.6252, 4.1282, 0.4, 1.5, 0.3
    beta = alpha * a / (1 - a)
    A = G ** (alpha + beta) * beta * B * 0.5**eta / alpha
    return {**L3, "A": A, "alpha": alpha, "B": B, "beta": beta, "eta": eta, "C": 5.0}


def test_usage_3_gives_the_published_allocation():
    """Eq. 56: 15.54B parameters and .536B tokens for 5e19 FLOP."""
    found = lawdsl.solve("dcpt.allocation", domain=of_usage_3(), r=0.5, C=50)

    assert round(found["N"], 2) == 15.54
    assert round(found["D"], 3) == 0.536
    assert found.certain and found.method.startswith("closed form")


def test_usage_3_is_derived_in_closed_form():
    """Eq. 15-16 with B0 = B*r^eta, as formulas, whatever the numbers."""
    found = lawdsl.solve("dcpt.allocation", domain=of_usage_3(), r=0.3, C=700)
    A, B, C, alpha, beta, eta, r, k = symbols("A B C alpha beta eta r k")
    G = (alpha * A / (beta * B * r**eta)) ** (1 / (alpha + beta))
    formulas = {u.name: as_sympy(u.formula) for u in found.unknowns}

    assert same(formulas["N"], G * (C / k) ** (beta / (alpha + beta)))
    assert same(formulas["D"], (C / k) ** (alpha / (alpha + beta)) / G)


def test_chinchilla_has_the_same_closed_form():
    found = lawdsl.solve("chinchilla.allocation", loss=CHINCHILLA, C=5.76e23)
    A, B, C, alpha, beta, k = symbols("A B C alpha beta k")
    G = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    formulas = {u.name: as_sympy(u.formula) for u in found.unknowns}

    assert same(formulas["N"], G * (C / k) ** (beta / (alpha + beta)))
    assert same(formulas["D"], (C / k) ** (alpha / (alpha + beta)) / G)
    assert found["N"] * found["D"] == pytest.approx(5.76e23 / 6, rel=1e-12)


# ---- CMR


def of_size(size: str) -> dict[str, float]:
    """The published fit of cmr.ratio (Gu et al. 2024, table 5)."""
    table = read_table(TABLES / "cmr_table5.csv")
    row = table.texts("size").index(size)
    return {name: table.numbers(name)[row] for name in ("alpha4", "s4", "beta3")}


@pytest.mark.parametrize(("size", "percent"), SIZES.items())
def test_the_critical_mixture_ratio_of_each_size(size: str, percent: float):
    found = lawdsl.solve("cmr.ratio_at", ratio=of_size(size), T=100)

    assert 100 * found["R"] == pytest.approx(percent, abs=0.005)
    assert found.unknowns[0].formula == "alpha4*T^s4 + beta3"


@pytest.mark.parametrize(
    ("size", "first"), [("460M", 16.8), ("940M", 12.7), ("1.6B", 13.6), ("3.1B", 13.7)]
)
def test_there_is_no_critical_ratio_before_the_law_is_positive(size: str, first: float):
    """What T it needs is said, and by how much the law is negative."""
    values = of_size(size)
    found = lawdsl.solve("cmr.ratio_at", ratio=values, T=5)

    assert found.status == "infeasible" and found.certain
    (relaxed,) = found.relaxations
    assert relaxed.by == pytest.approx(-(values["alpha4"] * 5 ** values["s4"] + values["beta3"]))
    assert relaxed.instead["T"] == pytest.approx(first, abs=0.05)
    at = lawdsl.solve("cmr.ratio_at", ratio=values, T=1.0001 * relaxed.instead["T"])
    assert at.ok and 0 <= at["R"] < 1e-3


def test_a_ratio_above_1_is_clipped():
    """1.6B: the law passes 1 at T = 9,400 or so; 3.1B never does, its limit is .844."""
    found = lawdsl.solve("cmr.ratio_at", ratio=of_size("1.6B"), T=20_000)
    assert found["R"] == 1 and found.unknowns[0].place == "upper end"
    assert not found.active
    assert lawdsl.solve("cmr.ratio_at", ratio=of_size("3.1B"), T=1e12)["R"] < 0.844


@pytest.mark.parametrize(
    ("tolerance", "named", "R"),
    [
        (0.05, "the general loss turns before T_max", 0.297617),
        (0.01, "general loss within the tolerance", 0.2),
    ],
)
def test_the_condition_that_binds_is_named(tolerance: float, named: str, R: float):
    """As in the paper's runs the tolerance of 0.05 does not bind; one of 0.01 would."""
    kept = {"alpha": 0.05, "s": 1.0, "beta": 2.85}  # general loss, rising by less than 0.05
    found = lawdsl.solve(
        "cmr.critical_ratio",
        ratio=of_size("460M"),
        kept=kept,
        T_max=100,
        L0=2.85,
        tolerance=tolerance,
    )

    assert found["R"] == pytest.approx(R, abs=1e-6)
    assert [k.name for k in found.active] == [named]
    assert {k.name: k.active for k in found.kept} == {
        "the general loss turns before T_max": named.startswith("the"),
        "general loss within the tolerance": not named.startswith("the"),
    }


DOMAIN = {"alpha1": -0.05, "s1": 0.4, "beta1": 0.01}
GENERAL = {"alpha2": 0.02, "s2": 0.3, "alpha3": -0.004, "s3": 0.6, "beta2": -0.005}


def test_the_peak_of_the_general_loss_is_derived():
    """T0 = (-alpha2*s2/(alpha3*s3))^(1/(s3 - s2)), Gu et al. 2024 with lambda -> oo."""
    found = lawdsl.solve("cmr.general_peak", general=GENERAL)
    exact = (0.02 * 0.3 / (0.004 * 0.6)) ** (1 / 0.3)

    assert found["T"] == pytest.approx(exact, rel=1e-12)
    assert found.certain and found.method.startswith("closed form")
    assert found.proof[-1].endswith("so the optimum is unique")


@pytest.mark.parametrize("weight", [5, 100, 1000, 7000, 1e9])
def test_the_turning_point_solves_its_implicit_equation(weight: float):
    """Eq. 7: T0 = (-(alpha1*s1)/(lambda*alpha2*s2)/(1 + alpha3*s3/(alpha2*s2)*T0^(s3 - s2)))^(1/(s2 - s1))"""
    found = lawdsl.solve("cmr.turning_point", domain=DOMAIN, general=GENERAL, **{"lambda": weight})
    T = found["T"]
    slope = -0.02 * T**-0.6 + weight * (0.006 * T**-0.7 - 0.0024 * T**-0.4)
    one = 1 - 0.0024 / 0.006 * T**0.3

    assert found.certain and found.unknowns[0].place == "inside"
    assert abs(slope) <= 1e-13 * weight
    if weight < 1e9:
        assert T == pytest.approx((0.02 / (weight * 0.006) / one) ** (1 / -0.1), rel=1e-8)
    else:
        limit = lawdsl.solve("cmr.general_peak", general=GENERAL)["T"]
        assert T == pytest.approx(limit, rel=1e-7)


def test_a_general_loss_that_never_turns_has_no_turning_point():
    rising = {**GENERAL, "alpha3": 0.004}
    found = lawdsl.solve("cmr.general_peak", general=rising)
    assert found.status == "unbounded" and found.unknowns == ()


def of_mixtures(noise: float = 0.0) -> dict[str, list[float | str]]:
    """Curves of four mixtures, whose general loss peaks where cmr.ratio says: T0 = (R/.4)^2*100; and
    of one that never turns."""
    rng = np.random.default_rng(3)
    table: dict[str, list[float | str]] = {n: [] for n in ("ratio", "T", "dL_general", "dL_domain")}
    for share in (0.1, 0.2, 0.3, 0.4, 0.9):
        turns = 100 * (share / 0.4) ** 2
        down = 0.02 * 0.3 / (0.7 * turns**0.4) if share < 0.5 else -0.001
        for T in np.arange(2, 101, 2.0):
            table["ratio"].append(str(share))
            table["T"].append(T)
            general = 0.02 * T**0.3 - down * T**0.7
            table["dL_general"].append(general + noise * rng.normal())
            table["dL_domain"].append(-0.1 * share * T**0.4 + noise * rng.normal())
    return table


def test_the_feasible_mixtures_lead_to_the_law_of_the_ratio(tmp_path: Path):
    """Fits of each mixture, their turning points as a table, the law through those that turn in time."""
    table = of_mixtures()
    quick = {"claims": False, "rolled_check": False, "intervals": "delta"}
    fits = {
        "domain": lawdsl.fit("cmr.domain_by_ratio", table, **quick),
        "general": lawdsl.fit("cmr.general_by_ratio", table, **quick),
    }
    for use, fit in fits.items():
        fit.save(tmp_path / f"{use}.json")
    written = tmp_path / "turning.csv"
    arguments = [f"{use}={tmp_path / use}.json" for use in fits]
    asked = ["solve", "cmr.turning_points", *arguments, "lambda=1e9", "-o", str(written)]
    run = CliRunner().invoke(cli, asked, standalone_mode=False)
    assert run.return_value == 1  # one of them has no turning point
    ratio = lawdsl.fit("cmr.ratio", written, R="ratio", where="T <= 100.001", **quick)

    assert ratio.data.rows == 4
    assert ratio.values == pytest.approx({"alpha4": 0.04, "s4": 0.5, "beta3": 0.0}, abs=1e-6)
    best = lawdsl.solve("cmr.ratio_at", ratio=ratio, T=100)
    assert best["R"] == pytest.approx(0.4, abs=1e-6)


# ---- the other way round: what reaches a loss


@pytest.mark.parametrize(
    ("question", "given", "unknown", "law"),
    [
        ("chinchilla.tokens_for_loss", {"N": 7e9}, "D", CHINCHILLA),
        ("chinchilla.smallest_model", {"D": 1e12}, "N", CHINCHILLA),
        ("dcpt.tokens_for_loss", {"N": 1.8, "r": 0.5}, "D", L3),
    ],
)
def test_what_reaches_a_loss_is_where_the_law_has_it(
    question: str, given: dict[str, float], unknown: str, law: dict[str, float]
):
    form = lawdsl.load("chinchilla" if question.startswith("chinchilla") else "dcpt.l3")

    def loss(value: float) -> float:
        at = {**law, **given, unknown: value}
        return float(form.expression.xreplace({form.symbols[k]: v for k, v in at.items()}))

    for value in (3e9, 5e10, 2e13) if law is CHINCHILLA else (0.5, 5.0, 100.0):
        found = lawdsl.solve(question, loss=law, **given, target=loss(value))
        assert found[unknown] == pytest.approx(value, rel=1e-9)
        assert found.certain and found.method.startswith("closed form")

    floor = loss(1e300)
    found = lawdsl.solve(question, loss=law, **given, target=floor - 0.01)
    assert found.status == "infeasible" and found.certain
    (relaxed,) = found.relaxations
    assert relaxed.by == pytest.approx(0.01, rel=1e-9)
    assert relaxed.instead["target"] == pytest.approx(floor, rel=1e-12)
    (other,) = set(relaxed.instead) - {"target", "r"}
    assert relaxed.instead[other] > given[other]


def test_no_fewer_tokens_than_the_law_holds_for():
    """A loss that D_min reaches already: the answer is on the domain of the law."""
    found = lawdsl.solve("dcpt.tokens_for_loss", loss=L3, N=1.8, r=0.5, target=9.0)
    assert found["D"] == pytest.approx(0.1311, rel=1e-12)
    assert [k.law for k in found.active] == ["loss"]
