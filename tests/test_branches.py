"""A stable run with decay branches: the runs it stands for, bit for bit, at a part of their cost."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sweeps
from click.testing import CliRunner, Result
from sweeps import engine, made, planned

from lawdsl.cli import cli, progress
from lawdsl.core.diagnostics import LawdslError
from lawdsl.reporting.runs import outcome_line
from lawdsl.runners.run import exit_status
from lawdsl.runners.run.model_facts import ModelFacts
from lawdsl.runners.run.schedules import learning_rate, phase, schedule_areas
from lawdsl.runners.spec import Training
from lawdsl.runners.sweeps import inputs, scheduler, workers
from lawdsl.runners.sweeps.machine import Machine
from lawdsl.runners.sweeps.plan import Plan
from lawdsl.runners.sweeps.scheduler import Policy, RunOutcome, StopRequest, run_jobs
from lawdsl.runners.tables.collect import RunsTable, collect

BRANCHES = "[schedule]\nbranches = [0.25, 0.5, 1]\ndecay = 0.2\n"
TEXT = sweeps.TEXT.replace("[run]\n", f"{BRANCHES}[run]\n")
FIRST = "small_code=0.3333_seed=1"


def branched(text: str, **changes: str) -> str:
    """A sweep with other lines in its table [schedule]: decay="0.1"."""
    for name, value in changes.items():
        text = re.sub(rf"(?m)^{name} = .*\n", "", text)
        text = text.replace("[schedule]\n", f"[schedule]\n{name} = {value}\n")
    return text


# --- a sweep


@pytest.fixture
def fake(fake_worker: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.setattr(scheduler, "POLL", 0.01)
    return fake_worker


ONE = TEXT.replace('{code = 0}, {code = "1/3"}, {code = 1}', '{code = "1/3"}').replace(
    '[[models]]\nname = "large"\nconfig = {hidden_size = 1000}\ninitialization = "width-scaled"\n',
    "",
)


def carried_out(plan: Plan, **changes: Any) -> dict[str, RunOutcome]:
    """End of a label -> what became of the run; only of those that were not done before."""
    with StopRequest() as stop:
        found = run_jobs(engine(**changes), plan.to_do, stop)
    return {outcome.run.label.rpartition("_")[2]: outcome for outcome in found}


def begun(plan: Plan) -> dict[str, list[str]]:
    """End of a label -> the step at which each worker of the run began."""
    return {
        run.label.rpartition("_")[2]: re.findall(
            r"begins at step (\d+)", (run.folder / "log.txt").read_text()
        )
        for run in plan.runs
    }


def test_branches_begin_where_the_stable_run_has_come_to(tmp_path: Path, fake):
    plan = planned(made(tmp_path, ONE))
    progress: list[int] = []
    with StopRequest() as stop:
        found = run_jobs(
            engine(), plan.to_do, stop, progress=lambda tokens, *_: progress.append(tokens)
        )
    assert {outcome.status for outcome in found} == {"done"}
    assert begun(plan) == {"stable": ["0"], "steps=5": ["4"], "steps=10": ["8"], "steps=20": ["16"]}
    assert progress == sorted(progress)
    assert progress[-1] == sum(run.tokens for run in plan.runs) == (16 + 1 + 2 + 4) * 32
    assert not list(plan.folder.glob("*/checkpoints/*"))  # all are used
    again = planned(tmp_path / "sweep.toml")
    assert again.to_do == [] and sum(run.tokens for run in again.runs) == progress[-1]


ROWS = branched(ONE, constant_rows="true").replace('"dense"\nevery = 5', '"list"\nsteps = [8, 16]')
ALONE = re.sub(r"(?s)\[schedule\].*(?=\[run\])", "", ROWS).replace(
    "batch = 4", 'batch = 4\nschedule = "warmup-stable-decay"\ndecay = 4'
)
"""The longest branch of ROWS, as the run of a sweep without branches."""


def test_a_run_that_was_made_without_branches_is_not_made_again(tmp_path: Path, command):
    path = made(tmp_path, ALONE)
    carried_out(planned(path))
    (alone,) = planned(path).runs
    path.write_text(ROWS)
    plan = planned(path)
    branch = next(run for run in plan.runs if run.label == f"{FIRST}_steps=20")
    assert (branch.folder, branch.state.status, plan.others) == (alone.folder, "done", ())
    done = command(path)
    assert done.return_value == 0, done.output
    assert not list(tmp_path.glob("runs/*_steps=20-*"))
    assert begun(planned(path))["steps=20"] == ["0"]
    # it is known as a branch now, so that rows of its stable run are in the table once
    for source in (path, tmp_path / "runs"):
        assert sorted(column(collect([source]), "step")) == [5, 8, 10, 16, 20]


def test_a_branch_is_not_made_again_without_branches(tmp_path: Path, fake):
    path = made(tmp_path, ROWS)
    carried_out(planned(path))
    path.write_text(ALONE)
    (run,) = planned(path).runs
    assert run.state.status == "done" and run.folder.name.startswith(f"{FIRST}_steps=20-")


def test_a_branch_begins_while_the_stable_run_goes_on(tmp_path: Path, fake):
    fake(_stable={"waits": [6, "*_steps=5-*/done.json"]})
    plan = planned(made(tmp_path, ONE))
    carried_out(plan)
    ends = {
        run.label.rpartition("_")[2]: (run.folder / "done.json").stat().st_mtime_ns
        for run in plan.runs
    }
    assert ends["steps=5"] <= ends["stable"]


def test_a_stable_run_that_is_killed_goes_on_and_so_do_its_branches(tmp_path: Path, fake):
    fake(_stable={"dies": [6, 15]}, **{"_steps=10": {"dies": [9]}})
    plan = planned(made(tmp_path, ONE))
    assert {outcome.status for outcome in carried_out(plan).values()} == {"done"}
    assert begun(plan)["stable"] == ["0", "5", "10"] and begun(plan)["steps=10"] == ["8", "8"]


def test_branches_of_a_stable_run_that_fails_are_left_and_done_later(tmp_path: Path, fake):
    fake(_stable={"wrong": "error[R0503]: it has changed"})
    path = made(tmp_path, ONE)
    found = carried_out(planned(path))
    assert found.pop("stable").status == "failed"
    assert {outcome.status for outcome in found.values()} == {"left"}
    assert all("_stable is not done" in outcome.message for outcome in found.values())
    fake()
    assert {outcome.status for outcome in carried_out(planned(path)).values()} == {"done"}


def test_a_branch_that_could_begin_does_though_the_stable_run_fails(tmp_path: Path, fake):
    fake(_stable={"dies": [6], "seconds": 0.03})
    found = carried_out(planned(made(tmp_path, ONE)), policy=Policy(retries=0))
    assert {name: outcome.status for name, outcome in found.items()} == {
        "stable": "failed", "steps=5": "done", "steps=10": "left", "steps=20": "left",
    }  # fmt: skip


def test_a_branch_whose_checkpoint_is_gone_is_planned_and_begun_at_step_0(tmp_path: Path, fake):
    path = made(tmp_path, ONE)
    first = planned(path)
    stable = [run for run in first.runs if run.order.branch_steps]
    with StopRequest() as stop:
        run_jobs(engine(), stable, stop)
    assert planned(path).runs[2].begins == 8
    shutil.rmtree(exit_status.checkpoint_path(stable[0].folder, 8))
    plan = planned(path)
    assert [run.begins for run in plan.runs] == [0, 4, 0, 16]
    assert plan.runs[2].tokens == 10 * 32
    assert {outcome.status for outcome in carried_out(plan).values()} == {"done"}
    assert begun(plan)["steps=10"] == ["0"]


def test_checkpoints_stay_while_a_branch_needs_them(tmp_path: Path, fake):
    path = made(tmp_path, ONE)
    fake(**{"_steps=10": {"wrong": "error[R0503]: it has changed"}})
    plan = planned(path)
    carried_out(plan)
    kept = [place.name for place in plan.runs[0].folder.glob("checkpoints/*")]
    assert kept == ["step-00000008"]
    fake()
    assert {outcome.status for outcome in carried_out(planned(path)).values()} == {"done"}
    assert begun(plan)["steps=10"] == ["8"]
    assert not (plan.runs[0].folder / "checkpoints").exists()


def test_a_branch_that_is_done_alone_leaves_the_checkpoints_of_the_others(tmp_path: Path, fake):
    plan = planned(made(tmp_path, ONE))
    for run in plan.runs[:2]:  # as tasks of a queue do them
        with StopRequest() as stop:
            run_jobs(engine(), [run], stop)
    kept = sorted(place.name for place in plan.runs[0].folder.glob("checkpoints/*"))
    assert kept == ["step-00000008", "step-00000016"]


# --- the command


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, fake) -> Callable[..., Result]:
    """Invokes `lawdsl run` with the fake worker, and models that are only described."""
    monkeypatch.setattr(inputs, "describe", sweeps.inspect)
    monkeypatch.setattr(workers, "WORKER", sweeps.WORKER)

    def invoke(path: Path, *options: str) -> Result:
        return CliRunner().invoke(cli, ["run", str(path), *options], standalone_mode=False)

    return invoke


def test_the_plan_says_what_branches_save(tmp_path: Path, command):
    said = command(made(tmp_path, ONE), "--dry-run").output
    assert "branches begin from stable runs: 736 tokens instead of 1.12 k (66%)" in said
    assert "branches begin" not in command(made(tmp_path / "b"), "--dry-run").output


def test_a_stable_run_that_is_done_is_said_to_have_made_checkpoints(tmp_path: Path, command):
    """And not the losses of step 0, unless it was evaluated later."""
    done = command(made(tmp_path, ONE)).output
    assert re.search(rf"done +{FIRST}_stable  checkpoints for 3 branches\n", done)
    assert done.count("checkpoints for") == 1
    losses = {"code": 2.5}
    outcome = {"label": "a", "status": "done", "message": "", "losses": losses, "branches": 3}
    assert "checkpoints for 3 branches" in outcome_line(outcome | {"step": 0}).plain
    assert "code 2.5000" in outcome_line(outcome | {"step": 16}).plain


def test_a_plan_is_printed_with_what_refuses_it(
    tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch
):
    """Also for GPUs that are elsewhere, and where the command itself starts nothing."""
    text = sweeps.with_lines(ONE, run='device = "cuda"\nprocesses = 2')
    path = made(tmp_path, text.replace("steps = 20", "steps = 2_000"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = command(path, "--dry-run")
    assert done.return_value == 3
    assert "branches begin from stable runs" in done.stdout and "of disk at most" in done.stdout
    assert [code in done.stderr for code in ("error[R0112]", "error[R0106]")] == [True, True]
    assert done.stderr.index("error[R0112]") < done.stderr.index("error[R0106]")
    document = json.loads(command(path, "--dry-run", "--json").stdout)
    assert not document["ok"] and document["result"]["plan"]["runs"]
    assert {d["code"] for d in document["diagnostics"]} == {"R0106", "R0112"}
    with pytest.raises(LawdslError, match="R0112"):
        raise command(path).exception
    assert not (tmp_path / "runs").exists()


def test_an_inspection_that_takes_long_is_announced(
    tmp_path: Path, command, monkeypatch: pytest.MonkeyPatch
):
    path = made(tmp_path, ONE)
    announced = "inspecting small: sizes and memory"
    assert announced not in command(path, "--dry-run").stderr
    monkeypatch.setattr(progress.notice.__wrapped__, "__defaults__", (0.01,))

    def inspect(*arguments: Any) -> list[ModelFacts]:
        time.sleep(0.05)
        return sweeps.inspect(*arguments)

    monkeypatch.setattr(inputs, "describe", inspect)
    assert announced in command(path, "--dry-run").stderr
    assert announced not in command(path, "--dry-run", "--quiet").stderr


def test_a_sweep_with_branches_is_one_document(tmp_path: Path, command):
    done = command(made(tmp_path, ONE), "--json")
    document = json.loads(done.stdout)
    assert done.return_value == 0 and document["ok"] and document["diagnostics"] == []
    assert [outcome["status"] for outcome in document["result"]["outcomes"]] == ["done"] * 4
    assert [run["begins"] for run in document["result"]["plan"]["runs"]] == [0, 4, 8, 16]


def test_branches_that_are_left_are_said_with_the_reason(tmp_path: Path, command, fake):
    fake(_stable={"wrong": "error[R0503]: it has changed"})
    done = command(made(tmp_path, ONE), "--json")
    found = json.loads(done.stdout)["diagnostics"]
    assert done.return_value == 1 and [d["code"] for d in found] == ["R0108", "R0116"]
    assert found[1]["message"] == (
        f"3 runs were not begun: their stable run {FIRST}_stable is not done"
    )


# --- the table


def column(table: RunsTable, name: str) -> list[Any]:
    (header,) = (h for h in table.columns if h.partition(" ")[0] == name)
    return list(table.columns[header])


@pytest.mark.parametrize("source", ["sweep.toml", "runs"])
def test_rows_are_the_ends_of_decays(source: str, tmp_path: Path, fake):
    carried_out(planned(made(tmp_path, ONE)))
    table = collect([tmp_path / source])
    assert table.warnings == () and column(table, "D") == [5 * 32, 10 * 32, 20 * 32]
    assert set(column(table, "schedule")) == {"warmup-stable-decay"}
    assert column(table, "phase") == ["end"] * 3 and column(table, "decay_steps") == [1, 2, 4]
    assert column(table, "steps") == [5, 10, 20]


def test_rows_of_branches_are_those_of_the_precision_that_the_machine_chose(tmp_path: Path, fake):
    path = made(tmp_path, ONE)
    carried_out(planned(path, Machine(2, {"0": "NVIDIA H100"})))
    table = collect([path])
    assert table.warnings == () and column(table, "D") == [5 * 32, 10 * 32, 20 * 32]
    assert set(column(table, "precision")) == {"bfloat16"}
    path.write_text(sweeps.with_lines(ONE, training='precision = "float32"'))
    with pytest.raises(LawdslError, match="R0801"):  # those are other runs
        collect([path])


def test_rows_at_the_constant_rate_are_rows_once_where_a_sweep_says_so(tmp_path: Path, fake):
    text = branched(ONE, constant_rows="true").replace("every = 5", "every = 2")
    carried_out(planned(made(tmp_path, text)))
    table = collect([tmp_path / "sweep.toml"])
    found = sorted(zip(column(table, "step"), column(table, "phase"), strict=True))
    stable = [(step, "stable") for step in range(2, 17, 2)]
    assert found == sorted([*stable, (5, "end"), (10, "end"), (20, "end")])
    (warning,) = table.warnings
    assert warning.code == "R0804" and "8 evaluations are at a constant" in warning.message
    shutil.rmtree(next((tmp_path / "runs").glob("*_stable-*")))
    again = collect([tmp_path / "runs"])
    assert sorted(column(again, "step")) == sorted(column(table, "step"))


def test_a_stable_run_without_rows_is_missed_by_no_table(tmp_path: Path, fake):
    carried_out(planned(made(tmp_path, ONE)))
    folders = {path.name.rpartition("-")[0]: path for path in (tmp_path / "runs").iterdir()}
    shutil.rmtree(folders[f"{FIRST}_stable"])
    assert collect([tmp_path / "sweep.toml"]).warnings == ()
    shutil.rmtree(folders[f"{FIRST}_steps=10"])
    (warning,) = collect([tmp_path / "sweep.toml"]).warnings
    assert warning.code == "R0802" and "1 of 3 runs" in warning.message


def test_the_run_that_k1_to_k3_are_of_is_the_stable_one(tmp_path: Path, fake):
    text = branched(ONE, constant_rows="true").replace("every = 5", "every = 1")
    text += '[table]\ndlc = {steps = 1, model = "small", shares = {code = "1/3"}}\n'
    carried_out(planned(made(tmp_path, text)))
    table = collect([tmp_path / "sweep.toml"])
    first = column(table, "L_code")[column(table, "step").index(1)]
    assert set(column(table, "k1")) == {first} and None not in column(table, "k3")


# --- phases


@pytest.mark.parametrize(
    ("fields", "phases"),
    [
        ({"schedule": "constant", "warmup": 2}, "ssssss"),
        ({"schedule": "cosine"}, "ssddde"),
        ({"schedule": "cosine", "warmup": 2}, "ssssde"),
        ({"schedule": "cosine", "final": 1.0}, "ssssss"),
        ({"schedule": "warmup-stable-decay", "decay": 2}, "ssssde"),
        ({"schedule": "warmup-stable-decay", "decay": 1, "final": 0.0}, "ssssse"),
    ],
)
def test_the_phase_of_a_step_is_that_of_its_last_update(fields: dict[str, Any], phases: str):
    training = Training(steps=5, batch=1, sequence=1, learning_rate=1e-3, **fields)
    assert "".join(phase(training, step)[0] for step in range(6)) == phases


def test_a_branch_has_the_rates_and_areas_of_the_stable_run_until_it_begins():
    common = {"batch": 1, "sequence": 1, "learning_rate": 3e-3, "warmup": 3}
    stable = Training(steps=16, schedule="constant", **common)
    branch = Training(steps=20, schedule="warmup-stable-decay", decay=4, **common)
    for step in range(16):
        assert learning_rate(stable, step) == learning_rate(branch, step)
        assert schedule_areas(stable, step + 1) == schedule_areas(branch, step + 1)
    assert learning_rate(branch, 16) < learning_rate(branch, 15)
