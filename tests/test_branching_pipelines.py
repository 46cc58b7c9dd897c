"""Pipelines that branch, ask questions and keep rows: the critical mixture ratio from curves of runs."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import lawdsl
from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.language import library
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document
from lawdsl.pipelines.branching.contradictions import contradictions
from lawdsl.pipelines.branching.draws_of_answers import draw_answers
from lawdsl.pipelines.branching.result import (
    AnswerOfGroup,
    AnswersOfStep,
    PipelineAnswers,
    RowsOfStep,
)
from lawdsl.pipelines.branching.step_rows import KeptRow
from lawdsl.solving.inputs import symbol_values
from lawdsl.solving.solve import Asked

# 3.1B of Gu et al. 2024, Table 5
ALPHA, S, BETA = -2.5368197, -0.42071423, 0.84375368
RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5)
COLUMNS = {"dL_general": "general", "dL_domain": "domain"}
SETTINGS = {"T_max": 100, "tolerance": 0.3}


def turning_point(ratio: float) -> float:
    return ((ratio - BETA) / ALPHA) ** (1 / S)


def curves(
    noise: float = 0.0, ratios: tuple[float, ...] = RATIOS, rows: int = 30
) -> dict[str, Any]:
    """The losses of runs on several mixtures, which turn where the law says."""
    rng = np.random.default_rng(5)
    table: dict[str, Any] = {"R": [], "T": [], "general": [], "domain": []}
    for ratio in ratios:
        T = np.linspace(100 / rows, 100, rows)
        x = T / turning_point(ratio)
        general = 2.5 + (0.05 + 0.3 * ratio) * (1.2 * x**0.5 - 0.5 * x**1.2) / 0.7
        table["R"] += [ratio] * (rows + 1)
        table["T"] += [0.0, *T]
        table["general"] += [2.5, *(general + noise * rng.normal(size=rows))]
        table["domain"] += [2.0, *(2.0 - 0.1 * (ratio * T) ** 0.2 + noise * rng.normal(size=rows))]
    return table


def critical(table: dict[str, Any], draws: int = 0, **settings: Any) -> PipelineAnswers:
    found = lawdsl.run_pipeline(
        "cmr.critical", table, settings={**SETTINGS, **settings}, draws=draws, columns=COLUMNS
    )
    assert isinstance(found, PipelineAnswers)
    return found


@pytest.fixture(scope="module")
def exact() -> PipelineAnswers:
    return critical(curves(), volume=[50, 100, 250])


@pytest.fixture(scope="module")
def noisy() -> PipelineAnswers:
    return critical(curves(0.002), draws=50)


def only(result: PipelineAnswers, step: str) -> Any:
    (group,) = result.step(step).groups
    return group


# ---- the critical ratio


def test_turning_points_and_ratio_of_exact_curves_come_back(exact: PipelineAnswers):
    for group in exact.step("turn").groups:
        expected = turning_point(float(group.labels["R"]))
        assert group.estimates["T"] == pytest.approx(expected, rel=1e-3)
    answer = only(exact, "cmr.critical_ratio")

    assert answer.estimates["R"] == pytest.approx(0.478276, abs=1e-3)
    assert answer.binding == ("the general loss turns before T_max",)
    assert exact.ok
    assert not {"D0145", "F0414", "F0415"} & {d.code for d in exact.diagnostics}


def test_each_mixture_is_feasible_or_says_why_not(exact: PipelineAnswers):
    rows = {row.labels["R"]: row for row in exact.step("feasible").rows}

    assert [r for r, row in rows.items() if row.kept] == ["0.1", "0.2", "0.3", "0.4"]
    assert rows["0.5"].holds == {"T < 100": False, "change of general <= 0.3": True}
    assert [row.kept for row in exact.step("turned").rows] == [True] * 4 + [False]


def test_the_tolerance_binds_where_it_is_narrow():
    answer = only(critical(curves(), tolerance=0.02), "cmr.critical_ratio")

    assert answer.binding == ("general loss within the tolerance",)
    assert 0.2 < answer.estimates["R"] < 0.3


def test_the_ratio_at_several_lengths_and_where_it_leaves_the_shares(exact: PipelineAnswers):
    at = {g.values["T"]: g.estimates["R"] for g in exact.step("cmr.ratio_at").groups}
    assert at == {T: pytest.approx(ALPHA * T**S + BETA, abs=2e-3) for T in (50.0, 100.0, 250.0)}

    first, last = [s for s in exact.steps if getattr(s, "question", "") == "cmr.volume_for"]
    assert first.groups[0].estimates["T"] == pytest.approx(turning_point(0.0), rel=0.01)
    # the limit is 0.844: no length of training bears domain data alone, and that is proved
    assert last.groups[0].status == "infeasible" and not last.groups[0].ok


def test_few_turning_points_give_a_reason_in_place_of_a_ratio():
    result = critical(curves(ratios=(0.2, 0.3, 0.5)))
    answer = only(result, "cmr.critical_ratio")

    assert not answer.ok and not result.ok
    assert answer.reason == (
        "`ratio` has no fit: 2 rows, 3 parameters: `cmr.ratio` needs at least 3 rows"
    )


def test_no_mixture_that_turns_is_said(tmp_path: Path):
    result = critical(curves(), seen=0.01)

    assert [d.code for d in result.diagnostics if d.code == "F0411"] == ["F0411"]
    assert "no row is left" in only(result, "cmr.critical_ratio").reason


def test_a_length_beyond_the_rows_is_said():
    result = critical(curves(ratios=(0.1, 0.2, 0.3)), T_max=150)

    (found, *_) = [d for d in result.diagnostics if d.code == "F0413"]
    assert "predicts at T = 150, and its rows end at 100 (in 3 of 3 groups)" in found.message
    assert result.ok


def test_a_length_far_beyond_the_rows_is_no_result_and_the_rows_say_so():
    """Far out the sums of powers are nonsense: the loss falls by many nat, and all rows are kept."""
    table = {**curves(), "warmup_steps": [2000] * 155}
    result = critical(table, T_max=1e6)
    codes = [d.code for d in result.diagnostics]
    far = [d.message for d in result.diagnostics if d.code == "F0414"]

    assert not result.ok
    assert "`general` predicts at T = 1e+06, 10,000 times as far as its rows" in far[0]
    assert "`cmr.critical_ratio` asks `ratio` at T = 1e+06" in far[1]
    assert codes.count("D0143") == 1


def test_a_row_that_contradicts_the_answer_is_named():
    """A pair of feasible rows, one on either side: a question with another law than the rows have."""
    rows = [("0.1", True), ("0.2", False), ("0.3", True)]
    kept = RowsOfStep(
        "feasible", ("turn",), tuple(KeptRow({"R": r}, {}, {}, {}, k, None) for r, k in rows)
    )
    declared = library.pipeline("cmr.critical")[0]

    def said(value: float, ends: dict[str, tuple[float, float]]) -> list[str]:
        group = AnswerOfGroup({}, {}, "optimal", {"R": value}, ends)
        answer = AnswersOfStep("", "cmr.critical_ratio", "", (), ("R",), True, (group,))
        steps = [
            kept if getattr(step, "name", "") == "feasible" else answer
            for step in declared.every_step
        ]
        return [d.message for d in contradictions(declared, steps, {}, "runs.csv")]

    assert said(0.295, {}) == [
        "`cmr.critical_ratio` answers R = 0.295, and R = 0.3 keeps all conditions of `feasible`"
    ]
    assert said(0.35, {}) == [
        "`cmr.critical_ratio` answers R = 0.35, and R = 0.2 fails a condition of `feasible`"
    ]
    assert said(0.298, {})[0].endswith("R = 0.2 fails a condition of `feasible`")
    assert said(0.25, {"R": (0.19, 0.31)}) == []


def test_inputs_are_checked_before_the_fits():
    with pytest.raises(LawdslError) as caught:
        critical({"R": [0.1]}, tolerance=-1)  # a fit would miss columns

    (found,) = caught.value.diagnostics
    assert "tolerance = -1 is outside its domain tolerance >= 0" in found.message


def test_as_many_pairs_as_parameters_test_nothing():
    result = critical(curves(ratios=(0.2, 0.3, 0.4, 0.5)))

    (found,) = [d for d in result.diagnostics if d.code == "F0409"]
    assert "3 rows for 3 parameters" in found.message


def test_a_weight_of_the_domain_loss_delays_nothing_when_it_falls():
    """With lambda the domain loss, which falls, is part of what has to fall: it turns earlier."""
    alone = critical(curves()).step("turn").groups[2].estimates["T"]
    weighed = critical(curves(), weight=0.5).step("turn").groups[2].estimates["T"]

    assert weighed < alone


# ---- intervals


def test_intervals_hold_the_truth_and_come_from_all_steps(noisy: PipelineAnswers):
    held = 0
    for group in noisy.step("turn").groups[:4]:
        low, high = group.ends["T"]
        assert low < group.estimates["T"] < high < 1.3 * low
        held += low < turning_point(float(group.labels["R"])) < high
    assert held >= 3
    answer = only(noisy, "cmr.critical_ratio")
    low, high = answer.ends["R"]

    assert low < 0.478276 < high
    assert 0.01 < high - low < 0.3
    assert answer.binding_shares["the general loss turns before T_max"] > 0.9
    assert [row.share for row in noisy.step("feasible").rows][:3] == [1.0, 1.0, 1.0]


def test_the_same_seed_gives_the_same_result():
    table = curves(0.002, ratios=(0.1, 0.2, 0.3))
    assert critical(table, draws=50).to_json() == critical(table, draws=50).to_json()


def test_the_search_over_draws_finds_what_is_certified():
    fit = {"alpha4": ALPHA, "s4": S, "beta3": BETA}
    kept = {"alpha": 0.05, "s": 1.0, "beta": 0.0}
    given = {"T_max": 100.0, "L0": 0.0}
    for tolerance in (0.01, 0.05):
        asked = Asked("cmr.critical_ratio", ratio=fit, kept=kept)
        inputs = {**given, "tolerance": tolerance}
        certified = asked.answer(inputs)
        formulated = asked.formulated
        parameters = {
            symbol: np.array([source.values[name]] * 3)
            for source in formulated.sources
            for name, symbol in source.symbols.items()
        }
        drawn = draw_answers(formulated, symbol_values(formulated, inputs), parameters, [])
        assert drawn is not None
        assert drawn.values == pytest.approx(certified["R"], rel=1e-6)
        (binding,) = [k.name for k in certified.active]
        assert drawn.binding[binding] == 1.0


def test_results_are_plain_data_text_frames_and_figures(noisy: PipelineAnswers):
    document = json.dumps(noisy.to_json(), allow_nan=False)
    assert '"kind": "answers"' in document
    assert "the largest R kept is 0.4" in str(noisy)
    assert len(noisy.to_frame()) >= 8
    figure = noisy.plot()
    assert {"row", "law", "answer"} == set(figure.columns["kind"])
    assert figure.title.startswith("cmr.critical: R = 0.4")


# ---- tables


def test_rows_of_the_base_model_are_needed_for_all_groups_or_none():
    table = {name: cells[1:] for name, cells in curves().items()}
    with pytest.raises(LawdslError) as caught:
        critical(table)
    (found,) = caught.value.diagnostics
    assert found.code == "F0407" and found.notes == ("R = 0.1",)

    later = [i for i, T in enumerate(curves()["T"]) if T > 0]
    table = {name: [cells[i] for i in later] for name, cells in curves().items()}
    table["general"] = [x - 2.5 for x in table["general"]]
    result = critical(table)
    assert "F0412" in {d.code for d in result.diagnostics}
    assert only(result, "cmr.critical_ratio").estimates["R"] == pytest.approx(0.478276, abs=1e-3)


def test_checkpoints_of_our_sweep_are_too_few_for_the_law():
    """The shipped sweep evaluates its stable runs four times; equation 6 has five parameters."""
    path = Path(lawdsl.__file__).resolve().parent.parent / "laws/data/code_and_english.csv"
    with path.open(encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(line for line in file if line[0] != "#")]
    stable = [r for r in rows if r["phase"] == "stable" and r["model"] == "0.64M"]
    data = {
        "R": [float(r["r_code"]) for r in stable],
        "T": [float(r["step [step]"]) for r in stable],
        "dL_general": [float(r["dL_general [nat/token]"]) for r in stable],
        "dL_domain": [float(r["dL_code [nat/token]"]) for r in stable],
    }
    with pytest.raises(LawdslError, match="4 rows, 5 parameters"):
        lawdsl.run_pipeline("cmr.critical", data, settings={"T_max": 900})


def test_sizes_are_treated_apart_on_the_command_line(tmp_path: Path):
    table = curves(0.001, ratios=(0.1, 0.2, 0.3), rows=20)
    path = tmp_path / "runs.csv"
    lines = ["size,R,T,general,domain"]
    for size in ("a", "b"):
        rows = zip(*table.values(), strict=True)
        lines += [f"{size},{','.join(f'{x:.9g}' for x in row)}" for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    columns = "dL_general=general dL_domain=domain --by size --set tolerance=0.3"
    done = run(
        *f"pipeline cmr.critical {path} {columns} --set T_max=100 --set volume=50,60 --draws 0".split()
    )

    assert done.returncode == 0, done.stderr
    assert "size = b: all kept, up to R = 0.3" in done.stdout
    assert "binding: the general loss turns before T_max" in done.stdout


# ---- the language

STEPS = """pipeline example "An example"
given     T_end > 0

step      domain : cmr.domain          since T = 0      by R
step      general : cmr.general_apart  from data        by R  at T = T_end
step      turn : cmr.turn                                     at weight = 0
keep      late from turn, general      where T > T_end
step      ratio : cmr.ratio            from late
"""


def read(text: str) -> list[Diagnostic]:
    try:
        return library.declared_pipeline(Text("example.law", text), Path())[1]
    except LawdslError as error:
        return list(error.diagnostics)


def test_branches_are_printed_as_they_are_written():
    assert read(STEPS) == []
    printed = print_document(parse(STEPS)[0])
    assert print_document(parse(printed)[0]) == printed
    assert [line.split() for line in printed.split("\n")] == [
        line.split() for line in STEPS.split("\n")
    ]


MISTAKES = [
    ("from late", "from latest", "no earlier step is called `latest`", "`late`"),
    ("ratio : ", "turn : ", "two steps are called `turn`", "rename"),
    ("at weight = 0", "at weigth = 0", "no given or setting `weigth`", "`weight`"),
    ("domain : cmr.domain ", "other : cmr.domain ", "uses a fit `domain`", "step domain"),
    ("domain : cmr.domain ", "domain : cmr.share ", "`domain` fits `cmr.share`", "step domain"),
    ("since T = 0", "since S = 0", "no variable `S`", "since T = 0"),
    ("cmr.turn  ", "cmr.turn by R ", "takes no `by`", "those of the fits"),
    ("where T > T_end", "", "`keep` has no condition", "where"),
    ("cmr.turn ", "cmr.ratio_at ", "needs values of T", "at T"),
    ("from data ", "from data, domain ", "a step takes one table", "keep NAME from A, B"),
    ("from data ", "from turn ", "no earlier step is called `turn`", "name one"),
]


@pytest.mark.parametrize(("old", "new", "message", "help"), MISTAKES)
def test_mistakes_in_branches_are_named(old: str, new: str, message: str, help: str):
    found = [d for d in read(STEPS.replace(old, new)) if d.code == "L0603"]

    assert any(message in d.message and help in (d.help or "") for d in found), found


def test_inputs_of_fits_have_one_value_each():
    with pytest.raises(LawdslError, match="has 2 values"):
        critical(curves(), T_max=[50, 100])


def test_an_answer_beyond_every_length_is_infinite_not_missing():
    result = critical(curves(ratios=(0.1, 0.2, 0.3)), T_first=99)
    found = [g.estimates["T"] for g in result.step("turn").groups]
    assert all(math.isfinite(T) and T == pytest.approx(99) for T in found)
