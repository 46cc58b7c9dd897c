"""What runs a sweep with branches has, and what they cost."""

from __future__ import annotations

from pathlib import Path

import pytest
import sweeps
from sweeps import made, planned
from test_branches import BRANCHES, FIRST, TEXT, branched

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.spec import Prefix, write_order
from lawdsl.runners.sweeps import plan as planning
from lawdsl.runners.training import branching

# --- what runs there are


def test_a_branch_is_the_run_that_it_is_without_a_stable_run(tmp_path: Path):
    """With its identity, so that a run made from the start is not made again, nor the branch."""
    branches = {run.label: run.order.run for run in planned(made(tmp_path / "a", TEXT)).runs}
    for end, decay in ((5, 1), (10, 2), (20, 4)):
        text = sweeps.TEXT.replace("steps = 20", f"steps = {end}\ndecay = {decay}")
        text = text.replace("batch = 4", 'batch = 4\nschedule = "warmup-stable-decay"')
        text = text.replace('"dense"\nevery = 5', '"list"\nsteps = []')
        (alone,) = (
            run for run in planned(made(tmp_path / str(end), text)).runs if run.label == FIRST
        )
        branch = branches[f"{FIRST}_steps={end}"]
        assert branch == alone.order.run and branch.identity() == alone.order.run.identity()
        assert alone.order.prefix is None and alone.order.branch_steps == ()


def test_a_stable_run_has_the_steps_of_the_longest_branch_and_says_where_all_begin(tmp_path: Path):
    runs_of = {run.label: run for run in planned(made(tmp_path, TEXT)).runs}
    stable = runs_of[f"{FIRST}_stable"]
    assert stable.order.branch_steps == (4, 8, 16) and not stable.order.how.save_final
    training = stable.order.run.training
    assert (training.schedule, training.steps, training.decay) == ("constant", 16, 0)
    for end, begins in ((5, 4), (10, 8), (20, 16)):
        order = runs_of[f"{FIRST}_steps={end}"].order
        assert order.prefix == Prefix(folder=stable.folder.name, step=begins)
        assert branching.shares_steps(stable.order.run, order.run, begins)
        assert not branching.shares_steps(stable.order.run, order.run, begins + 1)


def test_a_checkpoint_that_a_branch_cannot_begin_from_is_named(tmp_path: Path):
    stable, _, branch, *_ = planned(made(tmp_path, TEXT)).runs
    write_order(stable.folder, stable.order)
    (stable.folder / "checkpoints" / "step-00000004").mkdir(parents=True)
    usable, warning = branching.newest(branch.folder, branch.order, branch.order.prefix)
    assert usable is None and warning.code == "R0412"
    assert warning.notes == ("step-00000008 is missing", "step-00000004: manifest.json is missing")


def test_decays_may_be_equally_long(tmp_path: Path):
    text = TEXT.replace("decay = 0.2", "decay_steps = 3")
    runs_of = {run.label: run.order for run in planned(made(tmp_path, text)).runs}
    assert runs_of[f"{FIRST}_stable"].branch_steps == (2, 7, 17)
    for end, begins in ((5, 2), (10, 7), (20, 17)):
        order = runs_of[f"{FIRST}_steps={end}"]
        assert order.run.training.decay == 3 and order.prefix.step == begins


def test_the_last_learning_rate_of_branches_does_not_change_the_stable_run(tmp_path: Path):
    both = [made(tmp_path / name, TEXT) for name in ("a", "b")]
    both[1].write_text(TEXT.replace("batch = 4", "batch = 4\nfinal = 0"))
    first, second = (planned(path).runs for path in both)
    for one, other in zip(first, second, strict=True):
        equal = one.order.run.identity() == other.order.run.identity()
        assert equal == bool(one.order.branch_steps)


def test_one_branch_needs_no_stable_run(tmp_path: Path):
    found = planned(made(tmp_path, branched(TEXT, branches="[1]"))).runs
    assert [run.label for run in found][:2] == ["small_code=0_seed=1_steps=20", f"{FIRST}_steps=20"]
    assert all(run.order.prefix is None and run.tokens == 20 * 32 for run in found)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("branches = [0.25, 0.26]", "two branches have 5 steps"),
        ("branches = [0.5, 0]", "above 0"),
        ("branches = [2]", "above 0 and up to 1"),
        ("branches = [-0.5]", "above 0 and up to 1"),
        ("branches = [1]\ndecay = 0", "above 0 and below 1"),
        ("branches = [1]\ndecay = 1.5", "above 0 and below 1"),
        (
            "branches = [1]\ndecay = 0.001",
            "a decay over 0.001 of the branch of 20 steps has no step",
        ),
        ("branches = []", "names no branch"),
        ("branches = [0.01]", "no step, of 20"),
        ("branches = [0.05, 1]", "none before its decay"),
        ("branches = [1]\ndecay = 1", "above 0 and below 1"),
        ("branches = [1]\ndecays = 0.1", "unknown key schedule.decays"),
        ('branches = [1]\nkind = "cyclic"', "must be 'stable'"),
        ("decay = 0.1", "schedule.branches is missing"),
        ("branches = [0.5, 1]\ndecay_steps = 10", "none before its decay"),
        ("branches = [1]\ndecay_steps = 0.1", "schedule.decay_steps"),
        ("branches = [1]\ndecay = 0.1\ndecay_steps = 2", "both specify the length"),
    ],
)
def test_mistakes_are_said(lines: str, said: str, tmp_path: Path):
    text = sweeps.TEXT.replace("[run]\n", f"[schedule]\n{lines}\n[run]\n")
    with pytest.raises(LawdslError) as error:
        planned(made(tmp_path, text))
    (found,) = error.value.diagnostics
    assert found.code == "R0102" and "schedule." in found.place and said in found.message


def test_a_learning_rate_is_specified_once(tmp_path: Path):
    text = TEXT.replace("batch = 4", "batch = 4\ndecay = 3")
    text = text.replace('name = "large"', 'name = "large"\nschedule = "constant"')
    with pytest.raises(LawdslError) as error:
        planned(made(tmp_path, text))
    places = [found.place.partition(": ")[2] for found in error.value.diagnostics]
    assert places == ["training.decay", "models[2].schedule"]


def test_a_warm_up_must_end_before_the_first_decay(tmp_path: Path):
    assert planned(made(tmp_path, TEXT.replace("batch = 4", "batch = 4\nwarmup = 4")))
    with pytest.raises(LawdslError, match="R0702.*5 steps and a decay over 1, of 5"):
        planned(made(tmp_path, TEXT.replace("batch = 4", "batch = 4\nwarmup = 5")))


@pytest.mark.parametrize(
    ("schedule", "warmup", "location", "helps"),
    [
        ("branches = [0.25, 1]\ndecay = 0.7", 2, "schedule.decay", "3 steps of this branch"),
        ("branches = [0.25, 1]\ndecay_steps = 4", 2, "schedule.decay_steps", "3 steps of this"),
        ("branches = [0.25, 1]\ndecay = 0.2", 6, "schedule.branches", "leave this branch out"),
    ],
)
def test_a_branch_without_room_for_its_decay_is_named(
    schedule: str, warmup: int, location: str, helps: str, tmp_path: Path
):
    text = sweeps.TEXT.replace("[run]\n", f"[schedule]\n{schedule}\n[run]\n")
    with pytest.raises(LawdslError) as error:
        planned(made(tmp_path, text.replace("batch = 4", f"batch = 4\nwarmup = {warmup}")))
    (found,) = error.value.diagnostics
    assert (found.code, found.place.partition(": ")[2]) == ("R0702", location)
    assert "the branch of 5 steps" in found.message and helps in (found.help or "")
    assert "more steps" not in (found.help or "")


def test_evaluations_may_be_left_out_only_where_ends_are_evaluated(tmp_path: Path):
    without = TEXT.replace('[evaluation]\nschedule = "dense"\nevery = 5\n', "")
    assert planned(made(tmp_path, without))
    for text in (without.replace(BRANCHES, ""), branched(without, constant_rows="true")):
        with pytest.raises(LawdslError, match="evaluation is missing"):
            planned(made(tmp_path, text))


def test_models_are_exported_from_a_branch_and_not_from_its_stable_run(tmp_path: Path):
    text = TEXT.replace('{code = 0}, {code = "1/3"}, ', "").replace(
        'folder = "runs"', 'folder = "runs"\nexport = "models/{model}"'
    )
    with pytest.raises(LawdslError, match="several runs would put their models into one folder"):
        planned(made(tmp_path, text))
    assert planned(made(tmp_path, branched(text, branches="[1]")))


# --- what they cost


def test_a_grid_of_sizes_and_tokens_takes_less_than_two_fifths_of_separate_runs(tmp_path: Path):
    """Six numbers of tokens: .9 of the longest run, and six decays of a tenth."""
    steps = sweeps.TEXT.replace("steps = 20", "steps = 60")
    ends = "[schedule]\nbranches = ['1/6', '1/3', '1/2', '2/3', '5/6', 1]\n[run]\n"
    whole = planned(made(tmp_path, steps.replace("[run]\n", ends)))
    a_step = 32
    separate = sum(
        run.order.run.training.steps * a_step for run in whole.runs if not run.order.branch_steps
    )
    assert separate == 6 * 3.5 * 60 * a_step
    tokens = sum(run.tokens for run in whole.runs)
    assert tokens == 6 * (54 + 1 + 2 + 3 + 4 + 5 + 6) * a_step
    assert tokens < 0.4 * separate
    shown = whole.to_json()["runs"]
    assert sum(run["tokens"] for run in shown) == tokens
    assert [run["begins"] for run in shown[:7]] == [0, 9, 18, 27, 36, 45, 54]
    assert [run["stable"] for run in shown[:7]] == [True] + [False] * 6


def test_flop_are_those_of_the_steps_and_evaluations_that_are_made(tmp_path: Path):
    whole = planned(made(tmp_path, TEXT))
    stable, first, *_ = whole.runs
    a_set = 2 * 249 * 8  # tokens of both validation sets
    per_token = first.flops / (1 * 32 + a_set / 3)
    assert stable.flops == pytest.approx(per_token * (16 * 32 + a_set / 3))


def test_checkpoints_for_branches_are_part_of_the_disk(tmp_path: Path):
    parts = "[0.25, 0.5, 0.75, 1]"
    few, more = (
        planned(made(tmp_path / name, branched(TEXT, branches=branches)))
        for name, branches in (("few", "[0.25, 0.5, 1]"), ("more", parts))
    )
    sizes = [3 * (100_000 + 5_000), 3 * (1_000_000 + 50_000)]
    # a further checkpoint of each stable run, and a further model
    assert more.disk - few.disk == sum(12 * n + 4 * n for n in sizes)


def test_a_branch_waits_for_its_stable_run_in_the_estimated_time():
    assert planning._makespan([4, 1, 1], 2) == 4
    assert planning._makespan([4, 1, 1], 2, {1: (0, 2.0), 2: (0, 4.0)}) == 5
    assert planning._makespan([4, 2, 1], 1, {1: (0, 1.0), 2: (0, 4.0)}) == 7
    # a branch that is listed before its stable run, and a run that fills the time
    assert planning._makespan([3, 2, 2], 2, {0: (1, 2.0)}) == 5
