"""What a sweep will cost is said before it starts, and what cannot be done is not begun."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import sweeps
from sweeps import MACHINE, TEXT, made, planned

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run.model_facts import Experts, ModelFacts
from lawdsl.runners.spec import ExecutionConfig
from lawdsl.runners.sweeps import machine, plan
from lawdsl.runners.sweeps.grid import orders_of
from lawdsl.runners.sweeps.inputs import inputs_of
from lawdsl.runners.sweeps.machine import Machine, at_once
from lawdsl.runners.sweeps.run_folders import write_order
from lawdsl.runners.sweeps.sweep import read_sweep

GPUS = Machine(cores=8, gpus={"0": "NVIDIA H100 80GB HBM3", "1": "NVIDIA H100 80GB HBM3"})


def row(step: int, **changes: object) -> str:
    point = {"step": step, "tokens": 32 * step, "tokens_per_second": 1e4, "device": "cpu"}
    return json.dumps(point | changes) + "\n"


def begin(run: plan.PlannedRun, *rows: str, status: str = "") -> None:
    """Let a run have rows, and an end if it has a status."""
    write_order(run.folder, run.order)
    (run.folder / "points.jsonl").write_text("".join(rows))
    if status:
        (run.folder / "done.json").write_text(json.dumps({"status": status, "step": 20}))


def test_tokens_needed_are_counted_against_those_there_are(tmp_path: Path):
    found = planned(made(tmp_path))
    by_name = {supply.corpus: supply for supply in found.supplies}
    assert by_name["code"].needed == by_name["general"].needed == 20 * 4 * 8
    assert by_name["code"].tokens == 2000
    assert by_name["code"].epochs == pytest.approx(80 / 249)  # rows drawn of those there are
    assert sum(run.tokens for run in found.runs) == 6 * 640


def too_small(path: Path) -> LawdslError:
    with pytest.raises(LawdslError) as error:
        planned(path)
    return error.value


def test_a_corpus_that_is_too_small_is_refused_with_the_runs_and_a_way_out(tmp_path: Path):
    path = made(tmp_path)
    sweeps.corpus(tmp_path / "corpora" / "code", 401)  # 50 rows of the 80 that share 1 needs
    (found,) = too_small(path).diagnostics
    assert found.code == "R0106" and found.place.endswith("corpora.code")
    assert found.notes == ("too small for small_code=1_seed=1, large_code=1_seed=1",)
    assert "1.6 passes, and 1 allowed" in found.message
    steps = re.search(r"for (\d+) steps at most", found.help or "")
    passes = re.search(r"max_epochs = ([\d.]+)", found.help or "")
    assert steps and passes
    path.write_text(TEXT.replace("steps = 20", f"steps = {steps[1]}"))
    assert planned(path).supplies[1].epochs <= 1
    path.write_text(TEXT.replace("steps = 20", f"steps = {int(steps[1]) + 1}"))
    assert too_small(path).diagnostics[0].code == "R0106"
    allowed = f'code = {{folder = "corpora/code", max_epochs = {passes[1]}}}'
    path.write_text(TEXT.replace('code = "corpora/code"', allowed, 1))
    assert planned(path).supplies[1].allowed == float(passes[1])


def test_runs_that_are_done_or_diverged_are_not_done_again(tmp_path: Path):
    path = made(tmp_path)
    first = planned(path)
    begin(first.runs[0], row(0), row(20), status="done")
    begin(first.runs[1], row(0), row(10), status="diverged")
    begin(first.runs[2], row(0), row(10), status="oom")
    begin(first.runs[3], row(0), row(10), status="failed")
    begin(first.runs[4], row(0), row(10))
    again = planned(path)
    statuses = [run.state.status for run in again.runs]
    assert statuses == ["done", "diverged", "oom", "failed", "begun", "new"]
    assert {run.label for run in again.to_do} == {run.label for run in first.runs[2:]}


def test_runs_of_other_grids_are_left_and_named(tmp_path: Path):
    path = made(tmp_path)
    for run in planned(path).runs:
        begin(run, row(0))
    path.write_text(TEXT.replace("{code = 0}, ", ""))
    names = [folder.name.rpartition("-")[0] for folder in planned(path).others]
    assert names == ["large_code=0_seed=1", "small_code=0_seed=1"]


def test_the_longest_runs_come_first(tmp_path: Path):
    labels = [run.label for run in planned(made(tmp_path)).to_do]
    assert [label.partition("_")[0] for label in labels] == ["large"] * 3 + ["small"] * 3


def test_what_is_half_done_takes_half_the_time(tmp_path: Path):
    path = made(tmp_path)
    before = planned(path).runs[0]
    begin(before, row(0, tokens_per_second=None), row(10, tokens_per_second=None))
    after = planned(path).runs[0]
    assert after.seconds - plan.START_SECONDS == pytest.approx(
        (before.seconds - plan.START_SECONDS) / 2
    )


def test_time_is_estimated_from_runs_of_the_same_model_if_there_are_any(tmp_path: Path):
    path = made(tmp_path)
    first = planned(path)
    assert first.rate.startswith("a rough guess")
    begin(first.runs[0], row(0), row(20, tokens_per_second=100.0), status="done")
    small, large = planned(path).runs[1], planned(path).runs[4]
    assert planned(path).rate == "measured on some of these models"
    trained = 640 + 5 * 2 * 249 * 8 / 3  # five evaluations of two sets, at a third of the work
    assert small.seconds == pytest.approx(plan.START_SECONDS + trained / 100)
    assert large.seconds > 5 * small.seconds  # as many FLOP a second, and more to do
    begin(first.runs[3], row(0), row(20, tokens_per_second=50.0), status="done")
    assert planned(path).rate == "measured on these models"
    assert planned(path).runs[4].seconds == pytest.approx(plan.START_SECONDS + trained / 50)


def test_the_guess_counts_no_core_twice_and_is_said_to_be_one(tmp_path: Path):
    path = made(tmp_path, sweeps.with_lines(SMALL_ALONE, run="processes = 4\nthreads = 2"))
    first = planned(path)
    assert first.rate.startswith("a rough guess, 7e+10 FLOP/s a run: none has measured its speed")
    begin(first.runs[0], row(0, tokens_per_second=None), status="done")
    assert planned(path).rate == first.rate


def test_rates_of_another_kind_of_device_say_nothing(tmp_path: Path):
    path = made(tmp_path)
    run = planned(path).runs[0]
    begin(run, row(0), row(20, tokens_per_second=1e6, device="NVIDIA H100"), status="done")
    assert planned(path).rate.startswith("a rough guess")
    assert planned(path, GPUS).rate.startswith("measured")


@pytest.mark.parametrize(("jobs", "seconds"), [(1, 10), (2, 5), (3, 4), (9, 4)])
def test_the_whole_takes_as_long_as_its_busiest_place(jobs: int, seconds: float):
    assert plan._makespan([4, 3, 2, 1], jobs) == seconds


def test_the_disk_holds_checkpoints_of_what_is_at_work_and_every_model(tmp_path: Path):
    path = made(tmp_path)
    large = 1_050_000
    kept = 4 * 3 * (large + 105_000)
    assert planned(path, jobs=1).disk == 3 * 12 * large + kept
    assert planned(path, jobs=2).disk == 2 * 3 * 12 * large + kept
    path.write_text(TEXT.replace("[run]", "[run]\nsave_final = false"))
    assert planned(path, jobs=1).disk == 3 * 12 * large


@pytest.mark.parametrize(
    ("here", "hows", "jobs", "expected"),
    [
        (MACHINE, [ExecutionConfig()], None, 2),
        (Machine(16, {}), [ExecutionConfig(threads=4)], None, 4),
        (Machine(16, {}), [ExecutionConfig(threads=4, processes=2)], None, 2),
        (Machine(16, {}), [ExecutionConfig(), ExecutionConfig(threads=8)], None, 2),
        (Machine(2, {}), [ExecutionConfig(threads=4)], None, 1),
        (MACHINE, [ExecutionConfig()], 7, 7),
        (GPUS, [ExecutionConfig()], None, 2),
        (GPUS, [ExecutionConfig(processes=2)], None, 1),
        (GPUS, [ExecutionConfig(device="cpu")], None, 8),
        (MACHINE, [], None, 1),
    ],
)
def test_as_many_runs_go_on_at_once_as_the_machine_bears(
    here: Machine, hows: list[ExecutionConfig], jobs: int | None, expected: int
):
    assert at_once(here, hows, jobs) == expected


def test_several_runs_may_share_a_gpu():
    assert at_once(GPUS, [ExecutionConfig()], jobs_per_gpu=4) == 8


@pytest.mark.parametrize(
    "how", [ExecutionConfig(device="cuda"), ExecutionConfig(device="cuda", processes=2)]
)
def test_gpus_that_are_not_there_are_not_waited_for(how: ExecutionConfig):
    with pytest.raises(LawdslError) as error:
        at_once(MACHINE, [how])
    (diagnostic,) = error.value.diagnostics
    needed = {1: "1 GPU", 2: "2 GPUs"}[how.processes]
    assert diagnostic.code == "R0112"
    assert diagnostic.message == f"a run takes {needed}, this machine has 0"


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        (None, {"0": "NVIDIA H100 80GB HBM3", "1": "NVIDIA L4"}),
        ("1", {"1": "NVIDIA L4"}),
        ("", {}),
        ("-1", {}),
    ],
)
def test_gpus_are_those_that_the_driver_lists_and_nothing_hides(
    visible: str | None, found: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    driver = tmp_path / "nvidia-smi"
    driver.write_text("#!/bin/sh\necho '0, NVIDIA H100 80GB HBM3'\necho '1, NVIDIA L4'\n")
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert machine.this_machine().gpus == found


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 8), ("200000 100000", 2), ("50000 100000", 1)]
)
def test_a_containers_quota_counts_as_cores(
    quota: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(machine, "QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda pid: range(8))
    assert machine.this_machine().cores == cores


# --- what is to be known before it starts


def facts(width: int = 100, **changes: object) -> ModelFacts:
    (one,) = sweeps.inspect([{"hidden_size": width}])
    return replace(one, **changes)


def planned_of(path: Path, *models: ModelFacts) -> plan.Plan:
    """The plan of a sweep whose models are these."""
    sweep = read_sweep(path)
    inputs = inputs_of(sweep, lambda sources: list(models))
    return plan.plan_of(sweep, inputs, orders_of(sweep, inputs), MACHINE, 2)


def test_a_plan_of_plain_models_with_room_warns_of_nothing(tmp_path: Path):
    assert planned(made(tmp_path)).warnings == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sharded = true", "sharded = true: its runs have one process"),
        ("micro_batch = 5", "micro_batch = 5: a process has 4 rows"),
        ("processes = 2\nmicro_batch = 3", "micro_batch = 3: a process has 2 rows"),
        ('log = ["tensorboard", "tensorboard"]', "log names tensorboard 2 times"),
    ],
)
def test_settings_without_effect_are_said(line: str, said: str, tmp_path: Path):
    small, large = planned(made(tmp_path, sweeps.with_lines(TEXT, run=line))).warnings
    assert (small.code, small.severity) == ("R0145", "warning") and said in small.message
    assert small.place.endswith("models.small") and large.place.endswith("models.large")


def test_dropout_that_is_off_is_said(tmp_path: Path):
    small = facts(dropout={"resid_pdrop": 0.1, "attn_pdrop": 0.2})
    path = made(tmp_path)
    (found,) = planned_of(path, small, facts(1000)).warnings
    assert (found.code, found.severity) == ("R0117", "warning")
    assert "small is trained without dropout" in found.message
    assert "attn_pdrop = 0.2, resid_pdrop = 0.1" in found.message
    path.write_text(sweeps.with_lines(TEXT, training="dropout = true"))
    assert planned_of(path, small, facts(1000)).warnings == ()


def test_experts_are_said_and_counted(tmp_path: Path):
    experts = Experts(count=8, used=2, parameters=800_000, auxiliary=("aux_loss_coef = 0.01",))
    found = planned_of(made(tmp_path), facts(), facts(1000, experts=experts))
    (said,) = found.warnings
    assert (said.code, said.severity) == ("R0118", "warning")
    assert "2 of 8 experts work on a token" in said.message
    assert "N = 1,000,000 counts all, N_active = 400,000" in said.message
    assert "aux_loss_coef = 0.01" in said.notes[0] and "is not added" in said.notes[0]
    columns = [run.order.columns for run in found.runs]
    assert {(c["N"], c["N_active"]) for c in columns} == {(100_000, 100_000), (1_000_000, 400_000)}
    dense = planned_of(made(tmp_path), facts(), facts(1000))
    assert sum(r.flops for r in dense.runs) > sum(r.flops for r in found.runs)


def test_experts_of_unknown_number_are_said_too(tmp_path: Path):
    unknown = Experts(count=0, used=0, parameters=800_000, auxiliary=())
    (said,) = planned_of(made(tmp_path), facts(experts=unknown), facts(1000)).warnings
    assert said.code == "R0118" and "count all of them" in said.message


SMALL_ALONE = re.sub(r'\[\[models\]\]\nname = "large".*?(?=\[grid\])', "", TEXT, flags=re.DOTALL)
KEPT, SAVED = 4 * 105_000, 12 * 105_000  # bytes of the small model, and of a checkpoint of it


@pytest.mark.parametrize(
    ("free", "severity"),
    [
        (2 * 3 * SAVED + 3 * KEPT, None),  # two runs at work, three models kept
        (2 * 3 * SAVED + 3 * KEPT - 1, "warning"),
        (SAVED + 3 * KEPT, "warning"),  # the last run saves beside the models of the others
        (SAVED + 3 * KEPT - 1, "error"),
    ],
)
def test_a_disk_that_is_too_small_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, severity: str | None
):
    path = made(tmp_path, SMALL_ALONE)
    monkeypatch.setattr(plan, "free_bytes", lambda folder: free)
    if severity == "error":
        with pytest.raises(LawdslError) as error:
            planned_of(path, facts())
        (found,) = error.value.diagnostics
        assert found.code == "R0119" and "2.52 MB at least" in found.message
        return
    warnings = planned_of(path, facts()).warnings
    assert [(d.code, d.severity) for d in warnings] == ([("R0119", severity)] if severity else [])


def test_what_is_never_written_needs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs shorter than the steps between checkpoints, of which no model is kept."""
    text = sweeps.with_lines(SMALL_ALONE, run="save_final = false").replace(
        "checkpoint_every = 5", "checkpoint_every = 100"
    )
    monkeypatch.setattr(plan, "free_bytes", lambda folder: 1000)
    (found,) = planned_of(made(tmp_path, text), facts()).warnings
    assert (found.code, found.severity) == ("R0119", "warning")
