"""Answers whose constraints hold with a given probability, under noise and the error of the laws."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answer_fits import LEAST, limit
from commands import run
from planted import PLANTED
from scipy.stats import t as student

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.result import Fit

sys.path.append(str(Path(__file__).parent / "benchmarks"))


def code_of(error: pytest.ExceptionInfo[LawdslError]) -> str:
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.help
    return diagnostic.code


# ---- what is safe


@pytest.mark.parametrize("level", [0.6, 0.9, 0.99])
def test_at_a_safe_answer_the_upper_end_of_the_one_sided_interval_is_on_the_bound(
    least: lawdsl.Asked, share: Fit, level: float
):
    """One constraint with one loss: safe at 95 % is where the upper end of the 90 % interval of the
    curve, which `predict` gives, meets the bound."""
    given = limit(share, 0.5)
    safe = least.answer(given, safe=level).safe
    assert safe is not None and safe.ok
    two_sided = 2 * level - 1
    if two_sided < 0.5:  # a level of `predict`
        two_sided = 0.5
        safe = least.answer(given, safe=0.75).safe
        assert safe is not None
    band = share.predict_with_errors({"r": [safe["r"]]}, level=two_sided)

    assert band.high[0] == pytest.approx(given["L0"], rel=1e-7)
    assert safe.goal == safe["r"] and safe.cost == pytest.approx(safe["r"] - 0.5, abs=1e-6)


def test_without_the_error_of_the_law_noise_alone_is_in_it(least: lawdsl.Asked, share: Fit):
    given = limit(share, 0.5)
    safe = least.answer(given, safe=0.95, discrepancy=0).safe
    assert safe is not None
    band = share.predict_with_errors({"r": [safe["r"]]}, level=0.9, discrepancy=0)

    assert band.high[0] == pytest.approx(given["L0"], rel=1e-7)
    assert safe.point_probability == pytest.approx(0.5, abs=1e-6)


def test_the_probability_of_the_answer_is_that_of_student_s_t(least: lawdsl.Asked, share: Fit):
    given = {"T": 0.0, "L0": 1.001 * limit(share, 0.5)["L0"]}
    answer = least.answer(given, safe=0.95)
    assert answer.safe is not None
    band = share.predict_with_errors({"r": [answer["r"]]}, level=0.9)
    assert share.spread is not None
    deviation = math.log(band.high[0] / band.values[0]) / share.spread.quantile(0.9)
    z = math.log(given["L0"] / band.values[0]) / deviation

    assert answer.safe.point_probability == pytest.approx(
        student.cdf(z, share.spread.dof), rel=1e-6
    )


def test_a_safer_answer_costs_more_and_a_worse_law_too(cpt: Fit):
    asked = lawdsl.Asked("dcpt.tradeoff", general=cpt, domain=cpt)
    given = {"N": 8.0, "D": 10.0, "L0": 2.2, "T": 0.05}
    by_level = [asked.answer(given, safe=level).safe for level in (0.6, 0.8, 0.95, 0.99)]
    by_size = [asked.answer(given, safe=0.95, discrepancy=s).safe for s in (0, 0.01, 0.02, 0.03)]

    for answers in (by_level, by_size):
        shares = [safe["r_d"] for safe in answers if safe is not None and safe.ok]
        costs = [safe.cost for safe in answers if safe is not None and safe.cost is not None]
        assert len(shares) == len(costs) == 4
        assert np.all(np.diff(shares) < 0) and np.all(np.diff(costs) > 0)


def test_where_no_choice_is_safe_the_largest_probability_is_said(least: lawdsl.Asked, share: Fit):
    given = limit(share, 0.999)
    safe = least.answer(given, safe=0.999).safe

    assert safe is not None and not safe.ok
    assert safe["r"] == pytest.approx(1.0) and 0.3 < safe.probability < 0.999
    assert safe.goal is None and safe.cost is None


def test_a_bound_that_nothing_reaches_has_no_point_answer_either(least: lawdsl.Asked):
    answer = least.answer({"T": 0.0, "L0": 0.5}, safe=0.95)

    assert answer.status == "infeasible" and answer.safe is not None
    assert not answer.safe.ok and answer.safe.probability < 0.01
    assert answer.safe.point_probability is None


def test_two_constraints_are_safe_together(cpt: Fit, tmp_path: Path):
    """Two losses of one fit: by Bonferroni each has half of what may fail."""
    text = """question two "Both losses within their bounds"
uses      a, b : dcpt.l1
given     La, Lb > 0  unit nat/token
choose    D > 0  unit Gtoken
minimize  D
subject to a(N = 4, D, r = 0.5) <= La
subject to b(N = 4, D, r = 0.8) <= Lb
"""
    path = tmp_path / "two.law"
    path.write_text(text, encoding="utf-8")
    bounds = cpt.predict({"N": [4, 4], "D": [5, 5.3], "r": [0.5, 0.8]})
    given = {"La": float(bounds[0]), "Lb": float(bounds[1])}
    answer = lawdsl.Asked(path, a=cpt, b=cpt).answer(given, safe=0.9)
    assert answer.safe is not None and answer.safe.ok

    assert len(answer.safe.each) == 2
    failing = sum(1 - p for p in answer.safe.each.values())
    assert answer.safe.probability == pytest.approx(1 - failing)
    assert answer.safe.probability == pytest.approx(0.9, abs=1e-6)
    assert answer.safe["D"] > answer["D"]


def test_a_difference_of_two_losses_of_one_fit_counts_their_common_error_once(
    cpt: Fit, tmp_path: Path
):
    """loss(r) - loss(0.5) at nearly equal r: the errors cancel, and nothing is lost to safety."""
    text = """question rise "Least share whose loss is near that of one half"
uses      loss : dcpt.l1
given     rise > 0  unit nat/token
choose    r in [0, 1]
minimize  r
subject to loss(N = 4, D = 5, r) <= loss(N = 4, D = 5, r = 0.5) + rise
"""
    path = tmp_path / "rise.law"
    path.write_text(text, encoding="utf-8")
    answer = lawdsl.Asked(path, loss=cpt).answer({"rise": 0.003}, safe=0.95)
    assert answer.safe is not None and answer.safe.ok

    assert answer["r"] < answer.safe["r"] < 0.5
    # the loss itself is known to about 0.5 %: that would allow no share at all
    assert answer.safe["r"] - answer["r"] < 0.5 * (0.5 - answer["r"])


FIXED = """question fixed "Tokens for a budget, if the loss is low enough"
uses      loss : chinchilla
given     C > 0       unit FLOP
given     target > 0  unit nat/token
choose    D > 0       unit token
minimize  D
subject to 6*(1e9)*D = C
subject to loss(N = 1e9, D) <= target
"""


@pytest.mark.parametrize("level", [0.6, 0.99])
@pytest.mark.parametrize("above", [1.005, 0.995])
def test_an_unknown_that_an_equation_fixes_has_a_probability(
    fits: dict[str, Any], tmp_path: Path, level: float, above: float
):
    """There is no other choice, whether the fitted law keeps the constraint or not."""
    fit = fits["chinchilla"]
    path = tmp_path / "fixed.law"
    path.write_text(FIXED.replace("unit FLOP", ""), encoding="utf-8")
    at = {"N": [1e9], "D": [2e10]}
    given = {"C": 1.2e20, "target": above * float(fit.predict(at)[0])}
    answer = lawdsl.Asked(path, loss=fit).answer(given, safe=level, discrepancy=0.02)
    band = fit.predict_with_errors(at)
    deviation = math.log(band.high[0] / band.values[0]) / fit.spread.quantile(0.95)
    z = math.log(given["target"] / band.values[0]) / deviation
    expected = student.cdf(z, fit.spread.dof)

    assert answer.ok == (above > 1) and answer.safe is not None and answer.safe.only
    assert answer.safe.probability == pytest.approx(expected, rel=1e-6)
    assert answer.safe.ok == (expected >= level)
    assert answer.safe["D"] == pytest.approx(2e10)
    if answer.law_error is not None:
        assert answer.law_error.missing == "an equation leaves no other choice"
        assert answer.law_error.kept == answer.safe.point_probability
    fit.save(tmp_path / "fit.json")
    values = (f"{n}={v!r}" for n, v in given.items())
    command = ("solve", "fixed.law", "loss=fit.json", *values, "--safe", f"{100 * level:g}%")
    shown = run(*command, cwd=tmp_path)
    assert "  an equation leaves no other choice\n" in shown.stdout
    assert "F0516" not in shown.stderr and "verified" not in shown.stdout


def test_an_equation_with_two_roots_leaves_the_safe_one(share: Fit, tmp_path: Path):
    path = tmp_path / "roots.law"
    path.write_text(
        "question roots\nuses loss : dcpt.share\ngiven c > 0  unit nat/token\n"
        "choose r in [0, 1]\nminimize r\nsubject to (r - 0.3)*(r - 0.8) = 0\n"
        "subject to loss(r) <= c\n",
        encoding="utf-8",
    )
    bound = 1.0002 * float(share.predict({"r": [0.3]})[0])
    answer = lawdsl.Asked(path, loss=share).answer(c=bound, safe=0.99, discrepancy=0.02)
    assert answer["r"] == pytest.approx(0.3) and answer.safe is not None
    assert answer.safe.ok and not answer.safe.only
    assert answer.safe["r"] == pytest.approx(0.8, abs=1e-8)


# ---- the questions of the catalogue

CPT_GIVEN = {"N": 8.0, "D": 10.0, "r": 0.5}
SHIPPED: list[tuple[str, dict[str, str], dict[str, float], str]] = [
    ("chinchilla.tokens_for_loss", {"loss": "chinchilla"}, {"N": 2e9, "target": 2.6}, "D"),
    ("chinchilla.smallest_model", {"loss": "chinchilla"}, {"D": 4e10, "target": 2.6}, "N"),
    ("dcpt.tokens_for_loss", {"loss": "dcpt.l1"}, {"N": 4.0, "r": 0.5, "target": 2.1}, "D"),
    (
        "dcpt.tradeoff",
        {"general": "dcpt.l1", "domain": "dcpt.l1"},
        {"N": 4.0, "D": 10.0, "L0": 2.2, "T": 0.03},
        "r_d",
    ),
    ("cmr.ratio_at", {"ratio": "cmr.ratio"}, {"T": 40.0}, "R"),
]


@pytest.fixture(scope="module")
def fits() -> dict[str, Any]:
    names = ("chinchilla", "dcpt.l1", "cmr.ratio", "cmr.share")
    tables = {name: PLANTED[name].table(0.002) for name in names}
    # a critical ratio below 0 has no logarithm
    rising = tables["cmr.ratio"]["R"] > 0
    tables["cmr.ratio"] = {n: x[rising] for n, x in tables["cmr.ratio"].items()}
    return {
        name: lawdsl.fit(
            name, tables[name], starts=6, claims=False, rolled_check=False, intervals="delta"
        )
        for name in names
    }


@pytest.mark.parametrize(
    ("question", "uses", "given", "unknown"), SHIPPED, ids=[row[0] for row in SHIPPED]
)
def test_questions_of_the_catalogue_with_laws_in_constraints_have_safe_answers(
    fits: dict[str, Any],
    question: str,
    uses: dict[str, str],
    given: dict[str, float],
    unknown: str,
):
    """As probable as asked for; worse in the goal than an answer that is less probable."""
    asked = lawdsl.Asked(question, **{use: fits[law] for use, law in uses.items()})
    answer = asked.answer(given, safe=0.95)
    assert answer.ok and answer.safe is not None and answer.safe.ok

    assert answer.safe.probability >= 0.95
    assert answer.safe.point_probability is not None and answer.safe.cost is not None
    assert (answer.safe.cost > 0) == (answer.safe.point_probability < 0.95)
    assert answer.safe[unknown] != answer[unknown]


@pytest.mark.parametrize(
    ("question", "uses", "given", "unknown"), SHIPPED, ids=[row[0] for row in SHIPPED]
)
def test_what_is_safe_at_one_half_under_noise_alone_is_the_certified_answer(
    fits: dict[str, Any],
    question: str,
    uses: dict[str, str],
    given: dict[str, float],
    unknown: str,
):
    """At the fitted values a constraint holds with probability 1/2 where its margin is 0: the search
    for safe answers must end where the certified solver does."""
    asked = lawdsl.Asked(question, **{use: fits[law] for use, law in uses.items()})
    answer = asked.answer(given, safe=0.5, discrepancy=0)
    assert answer.safe is not None and answer.safe.ok

    assert answer.certain and answer.safe[unknown] == pytest.approx(answer[unknown], rel=1e-7)


def test_the_critical_ratio_is_safe_for_both_of_its_laws(fits: dict[str, Any]):
    asked = lawdsl.Asked("cmr.critical_ratio", ratio=fits["cmr.ratio"], kept=fits["cmr.share"])
    bound = float(fits["cmr.share"].predict({"R": [0.12]})[0])
    answer = asked.answer(T_max=60.0, L0=bound, tolerance=0.001, safe=0.9)
    assert answer.ok and answer.safe is not None and answer.safe.ok

    assert len(answer.safe.each) == 2 and answer.safe.probability >= 0.9
    assert answer.safe["R"] < answer["R"]


def test_a_fit_in_two_steps_has_a_safe_answer_after_a_bootstrap():
    r = np.linspace(0, 1, 12)
    noise = 5e-4 * np.random.default_rng(0).normal(size=12)
    table = {"r": r, "L": 2.8 + 0.18 * np.exp(-3.7 * r) + noise}
    plain = lawdsl.fit("mixing.critical", table, claims=False)
    with pytest.raises(LawdslError) as error:
        lawdsl.Asked("mixing.critical_share", old=plain).answer(L0=2.83, safe=0.9)
    assert code_of(error) == "F0516"
    assert "bootstrap" in (error.value.diagnostics[0].help or "")

    options: dict[str, Any] = {"intervals": "bootstrap", "resamples": 100}
    drawn = lawdsl.fit("mixing.critical", table, claims=False, **options)
    safe = lawdsl.Asked("mixing.critical_share", old=drawn).answer(L0=2.83, safe=0.9).safe
    assert safe is not None and safe.ok


@pytest.mark.parametrize(
    ("question", "fits_of", "given", "code"),
    [
        ("chinchilla.allocation", {"loss": "chinchilla"}, {"C": 1e21}, "F0515"),
        ("dcpt.limited_data", {"domain": "dcpt.l1"}, {"N": 4.0, "D_d": 5.0}, "F0515"),
    ],
)
def test_questions_without_laws_in_constraints_say_so(
    fits: dict[str, Any], question: str, fits_of: dict[str, str], given: dict[str, float], code: str
):
    asked = lawdsl.Asked(question, **{use: fits[law] for use, law in fits_of.items()})
    with pytest.raises(LawdslError) as error:
        asked.answer(given, safe=0.95)

    assert code_of(error) == code


def test_numbers_in_place_of_a_fit_have_no_safe_answer():
    numbers = {"alpha4": 0.2, "s4": 0.3, "beta3": -0.1}
    with pytest.raises(LawdslError) as error:
        lawdsl.Asked("cmr.ratio_at", ratio=numbers).answer(T=40.0, safe=0.9)

    assert code_of(error) == "F0516"


def test_a_fit_without_rows_has_one_under_noise_alone(tmp_path: Path):
    """Changes of a loss have either sign: their logarithm has no discrepancy."""
    table = PLANTED["cmr.general"].table(0.0)
    rng = np.random.default_rng(0)
    table["dL_general"] = table.pop("L") if "L" in table else table["dL_general"]
    table["dL_general"] = table["dL_general"] - 0.5 + 1e-3 * rng.normal(size=len(table["T"]))
    fit = lawdsl.fit("cmr.general", table, starts=6, claims=False)
    assert isinstance(fit, Fit) and fit.rows is None
    bound = float(np.median(fit.predict({"T": table["T"]})))
    text = (
        "question early\nuses g : cmr.general\ngiven most\nchoose T in [1, 100]\n"
        "maximize T\nsubject to g(T) <= most\n"
    )
    path = tmp_path / "early.law"
    path.write_text(text, encoding="utf-8")
    asked = lawdsl.Asked(path, g=fit)

    with pytest.raises(LawdslError) as error:
        asked.answer(most=bound, safe=0.9)
    assert code_of(error) == "F0516"
    safe = asked.answer(most=bound, safe=0.9, discrepancy=0).safe
    assert safe is not None and safe.ok and safe.probability >= 0.9


@pytest.mark.parametrize("level", [0.3, 1.0, True, "much"])
def test_a_probability_outside_its_limits_is_refused(least: lawdsl.Asked, level: Any):
    with pytest.raises(LawdslError) as error:
        least.answer({"T": 0.0, "L0": 2.0}, safe=level)

    assert code_of(error) == "F0517"


def test_rows_that_do_not_determine_the_loss_make_no_choice_safe(tmp_path: Path):
    """Two model sizes do not determine the loss of a third."""
    planted = PLANTED["dcpt.l1"].table(0.002)
    keep = planted["N"] <= np.unique(planted["N"])[1]
    fit = lawdsl.fit(
        "dcpt.l1",
        {n: v[keep] for n, v in planted.items()},
        starts=6,
        claims=False,
        rolled_check=False,
        intervals="delta",
    )
    asked = lawdsl.Asked("dcpt.tradeoff", general=fit, domain=fit)
    answer = asked.answer({"N": 40.0, "D": 10.0, "L0": 2.5, "T": 0.1}, safe=0.9)

    assert answer.safe is not None and not answer.safe.ok and answer.safe.probability == 0


# ---- on the command line


def test_the_command_shows_the_safe_answer_and_what_it_costs(share: Fit, tmp_path: Path):
    share.save(tmp_path / "fit.json")
    (tmp_path / "least.law").write_text(LEAST, encoding="utf-8")
    bound = limit(share, 0.5)["L0"]
    command = ("solve", "least.law", "loss=fit.json", f"L0={bound!r}", "T=0")

    shown = run(*command, "--safe", "95%", cwd=tmp_path)
    assert shown.returncode == 0
    assert "safe at 95 %: r = 0.5" in shown.stdout and "costs" in shown.stdout
    assert "laws wrong by 2 % per decade" in shown.stdout
    assert "not certified" in shown.stdout

    document = json.loads(run(*command, "--safe", "95%", "--json", cwd=tmp_path).stdout)
    safe = document["result"]["safe"]
    assert safe["status"] == "answered" and safe["probability"] >= 0.95
    assert safe["unknowns"]["r"] > document["result"]["unknowns"][0]["value"]

    run(*command, "--safe", "0.95", "--wrong", "0", "-o", "safe.csv", cwd=tmp_path)
    header = (tmp_path / "safe.csv").read_text().splitlines()[0]
    assert "r safe" in header and "probability" in header


def test_the_command_exits_with_1_where_no_choice_is_safe(share: Fit, tmp_path: Path):
    share.save(tmp_path / "fit.json")
    (tmp_path / "least.law").write_text(LEAST, encoding="utf-8")
    bound = limit(share, 0.9999)["L0"]
    shown = run(
        *("solve", "least.law", "loss=fit.json", f"L0={bound!r}", "T=0", "--safe", "99.9%"),
        cwd=tmp_path,
    )

    assert shown.returncode == 1
    for text in (
        "no choice is safe at 99.9 % under noise and laws wrong by 2 % per decade",
        "the largest probability is ",
        ", at r = 1\n",
        "  to have one: relax loss(r) <= (1 + T)*L0\n",
        "or measure nearer to what is asked: larger runs (lawdsl run), and a new fit (lawdsl fit)",
    ):
        assert text in shown.stdout
    # what it proposes instead has an answer
    less = re.search(r"ask for less: --safe (\S+)%", shown.stdout)
    assert less is not None
    again = run(
        *("solve", "least.law", "loss=fit.json", f"L0={bound!r}", "T=0", "--safe", f"{less[1]}%"),
        cwd=tmp_path,
    )
    assert again.returncode == 0 and f"safe at {less[1]} %: r = " in again.stdout


def test_what_no_choice_makes_probable_has_no_lower_probability_to_ask_for(
    share: Fit, tmp_path: Path
):
    share.save(tmp_path / "fit.json")
    (tmp_path / "least.law").write_text(LEAST, encoding="utf-8")
    command = ("solve", "least.law", "loss=fit.json", "L0=0.5", "T=0", "--safe", "90%")
    shown = run(*command, "--wrong", "0", cwd=tmp_path).stdout

    assert "no choice is safe at 90 % under noise alone" in shown
    assert "ask for less" not in shown and "relax loss(r)" in shown


# ---- in simulated worlds


def test_a_world_of_the_benchmark_is_judged_by_its_true_laws():
    from safe_answers import world

    for judged in world(0, 3, 0.02, 0.95):
        assert 0.2 <= judged.best <= 0.8
        if np.isfinite(judged.safe.share):
            assert judged.safe.share < judged.point.share


@pytest.mark.slow
def test_safe_answers_keep_the_tolerance_in_simulated_worlds():
    """Point answers keep it in about half of the worlds."""
    from safe_answers import TIMES, kept_share, world

    judged = [j for number in range(30) for j in world(number, 11, 0.02, 0.95)]
    for times in TIMES:
        of_size = [j for j in judged if j.times == times]
        kept, count, _, _ = kept_share([j.safe for j in of_size])
        assert count >= 15 and kept / count >= 0.93
        kept, count, _, _ = kept_share([j.point for j in of_size])
        assert kept / count < 0.75
