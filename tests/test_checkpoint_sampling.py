"""A dense table of checkpoints, thinned as a sparser schedule of evaluations would have measured it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.read import read_table
from lawdsl.runners.run.evaluation_steps import Exponential, Sectional, steps
from lawdsl.runners.tables.checkpoint_sampling import kept_steps, read_sampling

PAPER = 200_000
DENSE = range(1000, PAPER + 1, 1000)


def kept(text: str, measured: range | tuple[int, ...] = DENSE, total: int = PAPER) -> list[int]:
    return sorted(kept_steps(tuple(measured), total, read_sampling(text), "a run"))


def test_the_methods_keep_as_many_checkpoints_as_in_the_paper():
    assert [len(kept(method)) for method in ("M1", "M2", "M3")] == [200, 40, 40]
    assert kept("M3") == [*range(4000, 120_001, 4000), *range(128_000, PAPER + 1, 8000)]


def test_the_exponential_method_draws_what_its_schedule_measures():
    assert kept("M4") == list(steps(Exponential(), PAPER)[1:])
    assert kept("exponential:seed=3,rate=0.1") == list(
        steps(Exponential(rate=0.1, seed=3), PAPER)[1:]
    )
    assert kept("M4") != kept("M4:seed=1")


def test_a_name_of_the_paper_and_that_of_the_schedule_are_one():
    for number, name in enumerate(("dense", "sparse", "sectional", "exponential"), 1):
        assert kept(f"m{number}") == kept(name)


def test_intervals_are_those_of_the_run_if_none_are_given():
    assert kept("M2", range(2, 41, 2), 40) == [10, 20, 30, 40]
    assert kept("M3:part=1/2", range(2, 65, 2), 64) == [8, 16, 24, 32, 48, 64]


def test_intervals_are_given_in_steps():
    assert kept("sectional:every=20000,then=40000") == list(
        steps(Sectional(every=20_000, then=40_000), PAPER)[1:]
    )


def test_a_last_evaluation_at_another_distance_does_not_count_as_the_interval():
    assert kept("M2", (*range(1000, 12_001, 1000), 12_300), 12_300) == [5000, 10_000, 12_300]


def test_the_nearest_evaluation_stands_for_a_step_that_was_not_measured():
    assert kept("sparse:every=2500", range(1000, 10_001, 1000), 10_000) == [
        2000,
        5000,
        7000,
        10_000,
    ]


def test_step_0_and_the_last_evaluation_are_kept_of_a_run_that_ended_early():
    assert kept("M2", tuple(range(0, 7001, 1000)), PAPER) == [0, 5000, 7000]


def test_a_branch_keeps_its_only_row():
    assert kept("M2", (0, 600), 600) == [0, 600]


def test_what_is_kept_of_what_was_kept_by_the_same_numbers_is_the_same():
    for method in ("M2:every=5000", "M3:every=4000,then=8000", "M4:every=4000"):
        once = kept(method)
        again = [s for s in kept(method, tuple(once)) if s in once]
        assert again == kept(method, tuple(again)) and set(again) <= set(once)


BAD = [
    ("M5", "unknown method 'M5'", "dense (M1), sparse (M2), sectional (M3) or exponential (M4)"),
    ("M2:rate=3", "sparse takes no 'rate=3'", "sparse:every=…"),
    ("M2:5000", "sparse takes no '5000'", "sparse:every=…"),
    ("M2:every=5,every=6", "every is given twice", "every=…"),
    ("M3:every=often", "every=often", "sectional:every=160"),
    ("M3:part=2", "part=2", "part=0.6"),
    ("M4:rate=0", "rate=0", "rate=0.02"),
    ("M2:every=0", "every=0", "sparse:every="),
]


@pytest.mark.parametrize(("text", "why", "help"), BAD)
def test_a_method_that_is_none_is_refused(text: str, why: str, help: str):
    with pytest.raises(LawdslError) as error:
        read_sampling(text)

    (diagnostic,) = error.value.diagnostics
    assert (diagnostic.code, diagnostic.place) == ("R0806", "--sample")
    assert why in diagnostic.message
    assert help in str(diagnostic.help)


UNFIT = [
    ("M2:every=500", DENSE, "an interval of 500 steps, of a run that was evaluated every 1,000"),
    ("M3", range(1000, 6001, 1000), "every 4,000 steps, of a first part of the run of 3,600"),
    ("M2", range(1000, 4001, 1000), "every 5,000 steps, of a run of 4,000"),
]


@pytest.mark.parametrize(("text", "measured", "why"), UNFIT)
def test_a_method_that_the_evaluations_do_not_allow_is_refused(
    text: str, measured: range, why: str
):
    with pytest.raises(LawdslError) as error:
        kept(text, measured, measured[-1])

    (diagnostic,) = error.value.diagnostics
    assert (diagnostic.code, diagnostic.place) == ("R0806", "a run")
    assert why in diagnostic.message
    assert "evaluate more often" in str(diagnostic.help)


TABLE = (
    "# measured in June\n# setting D_min = 10 unit token\nrun,step [step],D [token],L\n"
    + "".join(
        f"{run},{step},{10 * step},{4 - step / 100}\n"
        for step in range(0, 41, 2)  # the runs take turns
        for run in ("a", "b")
        if run == "a" or step <= 22
    )
)


def collected(folder: Path, text: str, *words: str) -> str:
    (folder / "dense.csv").write_text(text, encoding="utf-8")
    command = ["collect", str(folder / "dense.csv"), "-o", str(folder / "thin.csv"), *words]
    done = CliRunner().invoke(cli, command)
    return f"{done.output}{done.exception or ''}"


def test_each_run_of_a_table_is_thinned_and_its_comments_stay(tmp_path: Path):
    assert "9 of 33 evaluations of 2 runs" in collected(tmp_path, TABLE, "--sample", "M2")
    thin = read_table(tmp_path / "thin.csv")
    pairs = list(zip(thin.texts("run"), thin.numbers("step"), strict=True))
    assert [step for run, step in pairs if run == "a"] == [0, 10, 20, 30, 40]
    assert [step for run, step in pairs if run == "b"] == [0, 10, 20, 22]
    assert thin.units == {"step": "step", "D": "token"}
    assert thin.notes == (
        "measured in June",
        "setting D_min = 10 unit token",
        "sampled: sparse, 9 of 33 evaluations",
    )


NO_TABLE = [
    (TABLE, (), "R0801", "with --sample"),
    (
        TABLE.replace("run,", "model,"),
        ("--sample", "M1"),
        "R0801",
        "no column run, run_id or run_name",
    ),
    (TABLE.replace("step [step]", "at"), ("--sample", "M1"), "R0801", "no column step"),
    (TABLE.replace("a,6,", "a,6.5,"), ("--sample", "M1"), "D0106", "6.5 is no number of steps"),
]


@pytest.mark.parametrize(("text", "words", "code", "why"), NO_TABLE)
def test_a_table_that_cannot_be_thinned_is_refused(
    text: str, words: tuple[str, ...], code: str, why: str, tmp_path: Path
):
    said = collected(tmp_path, text, *words)
    assert code in said and why in said
    assert not (tmp_path / "thin.csv").exists()
