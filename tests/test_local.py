"""Sweeps on one machine: what is done stays done, whatever dies, stops or is started twice."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import sweeps
from sweeps import TEXT, carried_out, engine, folder_of, made, planned

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run import locks
from lawdsl.runners.run.memory import StepPlan
from lawdsl.runners.run.step_plan import write_step_plan
from lawdsl.runners.spec import ExecutionConfig
from lawdsl.runners.sweeps import scheduler, workers
from lawdsl.runners.sweeps.machine import Machine
from lawdsl.runners.sweeps.run_folders import prepare, read_state
from lawdsl.runners.sweeps.scheduler import Policy, RunOutcome, StopRequest, run_jobs

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, str(ROOT / "tests" / "sweep_command.py"))
FIRST = "small_code=0.3333_seed=1"


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "POLL", 0.01)


def statuses(path: Path, **changes: Any) -> dict[str, str]:
    return {label: outcome.status for label, outcome in carried_out(path, **changes).items()}


def rows(path: Path, label: str) -> list[dict[str, Any]]:
    lines = (folder_of(path, label) / "points.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def steps(path: Path, label: str) -> list[int]:
    return [row["step"] for row in rows(path, label)]


def begun(path: Path, label: str) -> list[str]:
    """What each worker of a run said when it began."""
    log = (folder_of(path, label) / "log.txt").read_text()
    return [line for line in log.splitlines() if line.startswith("begins")]


def test_every_run_is_done_once(tmp_path: Path):
    path = made(tmp_path)
    assert set(statuses(path).values()) == {"done"}
    assert len(list((tmp_path / "runs").iterdir())) == 6
    assert steps(path, FIRST) == [0, 5, 10, 15, 20]
    assert carried_out(path) == {}


def test_a_grid_that_grows_adds_runs_and_one_that_shrinks_takes_none_away(tmp_path: Path):
    path = made(tmp_path, TEXT.replace("{code = 0}, ", ""))
    carried_out(path)
    path.write_text(TEXT.replace(", {code = 1}", ", {code = 0.5}"))
    new = {f"{size}_code={share}_seed=1" for size in ("small", "large") for share in ("0", "0.5")}
    assert statuses(path) == dict.fromkeys(new, "done")
    assert len(list((tmp_path / "runs").iterdir())) == 8


def test_another_configuration_makes_other_runs(tmp_path: Path):
    path = made(tmp_path)
    carried_out(path)
    path.write_text(TEXT.replace("learning_rate = 3e-3", "learning_rate = 4e-3"))
    assert set(statuses(path)) == {f"large_code={r}_seed=1" for r in ("0", "0.3333", "1")}


def test_workers_are_told_their_threads_and_no_more_than_are_asked_for_run_at_once(tmp_path: Path):
    path = made(tmp_path, TEXT.replace("[run]", "[run]\nthreads = 3"))
    at_work: list[int] = []
    with StopRequest() as stop:
        run_jobs(
            engine(), planned(path).to_do, stop, progress=lambda tokens, n, speed: at_work.append(n)
        )
    assert max(at_work) == 2
    (line,) = begun(path, FIRST)
    assert json.loads(line.partition("with ")[2])["OMP_NUM_THREADS"] == "3"


def test_progress_counts_the_tokens_of_all_runs(tmp_path: Path):
    path = made(tmp_path)
    seen: list[int] = []
    with StopRequest() as stop:
        run_jobs(
            engine(),
            planned(path).to_do,
            stop,
            progress=lambda tokens, n, speed: seen.append(tokens),
        )
    assert seen == sorted(seen) and seen[-1] == 6 * 640


def test_a_run_whose_worker_is_killed_goes_on_where_it_was(tmp_path: Path, fake_worker):
    path = made(tmp_path)
    fake_worker(**{FIRST: {"dies": [8, 13]}})
    assert set(statuses(path).values()) == {"done"}
    assert [line.split()[3] for line in begun(path, FIRST)] == ["0", "5", "10"]
    assert steps(path, FIRST) == [0, 5, 10, 15, 20]


def test_a_run_that_dies_too_often_has_failed_and_the_others_go_on(tmp_path: Path, fake_worker):
    path = made(tmp_path)
    fake_worker(**{FIRST: {"dies": [3, 4, 6, 7]}})
    found = carried_out(path, policy=Policy(retries=1))
    outcome = found.pop(FIRST)
    assert {o.status for o in found.values()} == {"done"}
    assert outcome.status == "failed" and "killed by SIGKILL" in outcome.message
    assert outcome.log[-1].startswith("begins at step 0")
    end = json.loads((folder_of(path, FIRST) / "done.json").read_text())
    assert end["status"] == "failed" and end["step"] == 0 and end["log"] == list(outcome.log)
    assert statuses(path) == {FIRST: "done"}  # it is tried again, from where it was
    assert not folder_of(path, FIRST).joinpath("done.json").read_text().count("failed")


def test_input_that_is_wrong_is_not_tried_twice(tmp_path: Path, fake_worker):
    path = made(tmp_path)
    fake_worker(small={"wrong": "error[R0503]: the model has changed"})
    found = carried_out(path)
    assert found[FIRST].status == "failed" and "the model has changed" in found[FIRST].message
    log = (folder_of(path, FIRST) / "log.txt").read_text()
    assert log.count("R0503") == 1


def test_a_run_that_diverges_is_recorded_and_not_done_again(tmp_path: Path, fake_worker):
    path = made(tmp_path)
    fake_worker(**{FIRST: {"diverges": 12}})
    found = carried_out(path)
    assert found.pop(FIRST).status == "diverged"
    assert {o.status for o in found.values()} == {"done"}
    assert steps(path, FIRST) == [0, 5, 10]
    assert carried_out(path) == {}


def test_a_run_that_is_out_of_memory_is_recorded_and_tried_again_when_asked(
    tmp_path: Path, fake_worker
):
    path = made(tmp_path)
    fake_worker(**{FIRST: {"memory": 3}})
    assert carried_out(path)[FIRST].status == "oom"
    assert carried_out(path)[FIRST].status == "oom"
    assert json.loads((folder_of(path, FIRST) / "done.json").read_text())["status"] == "oom"
    path.write_text(TEXT.replace("[run]", "[run]\nmicro_batch = 2"))
    assert statuses(path) == {FIRST: "done"}


@pytest.mark.parametrize(
    ("rows", "micro", "status"), [(3, 2, "done"), (2, 1, "done"), (1, 1, "oom")]
)
def test_half_the_micro_batch_is_tried_until_it_fits(
    rows: int, micro: int, status: str, tmp_path: Path, fake_worker
):
    path = made(tmp_path)
    fake_worker(**{FIRST: {"memory": rows}})
    assert carried_out(path, policy=Policy(halve=True))[FIRST].status == status
    order = json.loads((folder_of(path, FIRST) / "spec.json").read_text())
    assert order["how"]["micro_batch"] == micro
    assert order["run"]["training"]["batch"] == 4


@pytest.mark.parametrize(("chosen", "status"), [(4, "done"), (None, "oom")])
def test_a_micro_batch_that_the_run_chose_itself_is_halved_without_being_asked(
    chosen: int | None, status: str, tmp_path: Path, fake_worker
):
    path = made(tmp_path)
    fake_worker(**{FIRST: {"memory": 2}})
    (run,) = (run.folder for run in planned(path).runs if run.label == FIRST)
    if chosen:
        run.mkdir(parents=True)
        write_step_plan(run, StepPlan(chosen, False, 0))
    assert carried_out(path)[FIRST].status == status


def test_two_sweeps_at_once_do_every_run_once(tmp_path: Path):
    path = made(tmp_path)
    environment = {**os.environ, "FAKE": json.dumps({"small": {"seconds": 0.02}})}
    both = [command("run", path, environment) for _ in range(2)]
    for process in both:
        _, said = process.communicate()
        assert process.returncode in (0, 1), said
        assert "Traceback" not in said
    assert {read_state(f).status for f in (tmp_path / "runs").iterdir()} == {"done"}
    for run in (tmp_path / "runs").iterdir():
        assert (run / "log.txt").read_text().count("begins") == 1


def command(name: str, path: Path, environment: dict[str, str], *options: str):
    """The command line in a process of its own; pytest's own folder for modules is that of tests."""
    return subprocess.Popen(
        [*COMMAND, name, str(path), *options],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def waited(path: Path, label: str, step: int) -> None:
    """Wait until a run has measured something after a step."""
    for _ in range(2000):
        for found in (path.parent / "runs").glob(f"{label}-*"):
            if read_state(found).step >= step:
                return
        time.sleep(0.01)
    raise AssertionError(f"{label} never came to step {step}")


SLOW = {"": {"seconds": 0.05}}
SHARED = TEXT.replace("hidden_size = 1000}", "hidden_size = 1000}\nprocesses = 2")
"""Two processes share each run of the larger model."""


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGTERM, 75),
        (signal.SIGINT, 130),
        pytest.param(signal.SIGUSR1, 75, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 75, marks=pytest.mark.slow),
    ],
)
def test_a_sweep_that_is_told_to_stop_lets_its_runs_save_and_goes_on_later(
    number: int, code: int, tmp_path: Path
):
    path = made(tmp_path)
    process = command("run", path, {**os.environ, "FAKE": json.dumps(SLOW)}, "--jobs", "2")
    waited(path, "large_code=0_seed=1", 5)
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == code, said
    assert "stopped; the same command resumes the runs" in said
    saved = [f for f in (tmp_path / "runs").iterdir() if (f / "checkpoint.json").exists()]
    assert len(saved) == 2 and not any((f / "done.json").exists() for f in saved)
    assert all(read_state(f).held_by == "" for f in saved)
    assert set(statuses(path).values()) == {"done"}
    for label in ("large_code=0_seed=1", FIRST):
        assert steps(path, label) == [0, 5, 10, 15, 20]


def test_a_second_signal_ends_the_runs_where_they_are(tmp_path: Path):
    path = made(tmp_path)
    deaf = {"": {"seconds": 3600}}  # never comes to the end of its step
    process = command("run", path, {**os.environ, "FAKE": json.dumps(deaf)})
    waited(path, "large_code=0_seed=1", 0)
    for _ in range(2):
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 75
    assert read_state(folder_of(path, "large_code=0_seed=1")).held_by == ""


def test_runs_end_saved_when_the_sweep_is_killed(tmp_path: Path):
    path = made(tmp_path)
    process = command("run", path, {**os.environ, "FAKE": json.dumps(SLOW)}, "--jobs", "1")
    waited(path, "large_code=0_seed=1", 5)
    process.kill()
    process.communicate()
    run = folder_of(path, "large_code=0_seed=1")
    for _ in range(1000):
        if not read_state(run).held_by:
            break
        time.sleep(0.01)
    assert (run / "checkpoint.json").exists() and not (run / "done.json").exists()
    assert set(statuses(path).values()) == {"done"}


def test_a_run_that_another_process_holds_is_skipped_and_named(tmp_path: Path):
    path = made(tmp_path)
    slow = {FIRST: {"seconds": 3600}}
    plan = planned(path)
    run = next(run for run in plan.runs if run.label == FIRST)
    prepare(run.folder, run.order)
    holding = subprocess.Popen(
        [*sweeps.WORKER, str(run.folder)],
        env={**os.environ, "FAKE": json.dumps(slow), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.DEVNULL,
    )
    try:
        waited(path, FIRST, 0)
        found = carried_out(path)
        outcome = found.pop(FIRST)
        assert outcome.status == "held" and f"/{holding.pid} since" in outcome.message
        assert {o.status for o in found.values()} == {"done"}
        assert [r.state.held_by for r in planned(path).runs if r.label == FIRST] == [
            outcome.message
        ]
    finally:
        holding.kill()
        holding.wait()
    assert statuses(path) == {FIRST: "done"}  # the lock went with its process


def test_a_run_of_another_host_is_done_only_where_it_is_stolen(tmp_path: Path, command_line):
    path = made(tmp_path)
    run = next(run for run in planned(path).runs if run.label == FIRST)
    prepare(run.folder, run.order)
    left = {"host": "node-17", "pid": 4711, "since": "2026-01-02T03:04:05+00:00"}
    (run.folder / "lock").write_text(json.dumps(left))
    done = command_line("run", path, "--quiet")
    assert done.return_value == 1
    said = "warning[R0111]: small_code=0.3333_seed=1 is held by: node-17/4711 since 2026-01-02"
    assert said in done.stderr and "with --steal if its host no longer exists" in done.stderr
    assert (
        json.loads((run.folder / "lock").read_text()) == left and read_state(run.folder).step == 0
    )
    assert command_line("run", path, "--quiet", "--steal").return_value == 0
    assert steps(path, FIRST) == [0, 5, 10, 15, 20]


def test_a_run_that_a_process_of_this_host_holds_is_not_stolen(tmp_path: Path, command_line):
    path = made(tmp_path)
    run = next(run for run in planned(path).runs if run.label == FIRST)
    prepare(run.folder, run.order)
    with locks.hold(run.folder, FIRST):
        assert command_line("run", path, "--quiet", "--steal").return_value == 1
    assert not (run.folder / "points.jsonl").exists()


def test_a_run_that_comes_to_no_end_keeps_no_other_from_its_own(tmp_path: Path, fake_worker):
    path = made(tmp_path)
    fake_worker(**{"large_code=0_": {"seconds": 3600}})
    ended: list[str] = []
    with StopRequest() as stop:

        def tell(outcome: RunOutcome) -> None:
            ended.append(outcome.status)
            stop.count = 2 if len(ended) == 5 else 0

        found = run_jobs(engine(), planned(path).to_do, stop, ended=tell)
    assert ended == ["done"] * 5 + ["stopped"]
    assert {o.run.label for o in found if o.status != "done"} == {"large_code=0_seed=1"}


def test_processes_that_have_lost_one_of_them_are_ended_and_the_run_is_taken_up(
    tmp_path: Path, fake_worker, monkeypatch
):
    monkeypatch.setattr(workers, "KILL_AFTER_SECONDS", 0.1)
    path = made(tmp_path, SHARED)
    fake_worker(large={"loses": 1, "seconds": 0.02})
    found = carried_out(path, jobs=1)
    assert {outcome.status for outcome in found.values()} == {"done"}
    for share in ("0", "0.3333", "1"):
        log = (folder_of(path, f"large_code={share}_seed=1") / "log.txt").read_text()
        assert (
            "killed by SIGKILL, as the system does where memory runs out; the run is started" in log
        )
        assert steps(path, f"large_code={share}_seed=1") == [0, 5, 10, 15, 20]


@pytest.mark.parametrize("code", ["R0408", "R0409"])
def test_several_processes_of_which_the_first_finds_the_run_held_say_so(
    code: str, tmp_path: Path, fake_worker
):
    """It is not tried again, and nothing is written to a folder that is another's."""
    path = made(tmp_path, SHARED)
    fake_worker(
        large={"wrong": f"error[{code}]: run r is held by a/1 since then\n   --> a\n    = help: b"}
    )
    found = carried_out(path, jobs=1)
    assert {o.status for o in found.values() if "large" in o.run.label} == {"held"}
    assert not (folder_of(path, "large_code=0_seed=1") / "done.json").exists()


def test_what_a_worker_says_is_wrong_is_its_own_first_line_and_of_this_time(
    tmp_path: Path, fake_worker
):
    path = made(tmp_path)
    run = next(run for run in planned(path).runs if run.label == FIRST)
    prepare(run.folder, run.order)
    (run.folder / "log.txt").write_text("error[R0408]: run r is held by a/1, long ago\n")
    fake_worker(
        small={
            "wrong": "error[R0503]: the model has changed\n   --> model\n    = help: put it back"
        }
    )
    outcome = carried_out(path)[FIRST]
    assert outcome.status == "failed"
    assert outcome.message == "error[R0503]: the model has changed"


@pytest.mark.parametrize("call", ["start_worker", "fail"])
def test_a_disk_that_is_full_stops_a_sweep_with_a_message_or_not_at_all(
    call: str, tmp_path: Path, fake_worker, command_line, monkeypatch
):
    path = made(tmp_path)
    fake_worker(**{FIRST: {"wrong": "error[R0503]: it has changed"}})

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    where = {"start_worker": workers, "fail": scheduler}[call]
    with monkeypatch.context() as patch:
        patch.setattr(where, call, full)
        done = command_line("run", path, "--quiet")
    if call == "start_worker":
        assert "error[R0107]: no process can be started for the run" in str(done.exception)
        assert "No space left on device" in str(done.exception)
    else:
        assert done.return_value == 1
        assert "(which could not be written there: No space left on device)" in done.stderr
        assert "5 done" in done.stdout
    fake_worker()
    assert command_line("run", path, "--quiet").return_value == 0


def test_each_gpu_has_its_run_and_a_run_of_two_has_both(tmp_path: Path):
    path = made(tmp_path, SHARED)
    gpus = Machine(cores=2, gpus={"0": "NVIDIA L4", "3": "NVIDIA L4"})
    plan = planned(path, gpus)
    with StopRequest() as stop:
        found = run_jobs(engine(machine=gpus, jobs=1), plan.to_do, stop)
        assert {outcome.status for outcome in found} == {"done"}
    (line,) = begun(path, "large_code=0_seed=1")
    assert json.loads(line.partition("with ")[2])["CUDA_VISIBLE_DEVICES"] == "0,3"
    (line,) = begun(path, FIRST)
    assert json.loads(line.partition("with ")[2])["CUDA_VISIBLE_DEVICES"] == "0"


def test_runs_at_once_are_spread_over_the_gpus():
    machine = Machine(cores=2, gpus={"0": "", "1": ""})
    used: list[str] = []
    for _ in range(4):
        used += engine(machine=machine).gpus_for(ExecutionConfig(), used)
    assert used == ["0", "1", "0", "1"]


def test_a_folder_that_holds_another_run_is_not_written_over(tmp_path: Path):
    path = made(tmp_path)
    carried_out(path)
    run = folder_of(path, FIRST)
    other = folder_of(path, "small_code=1_seed=1")
    (run / "done.json").unlink()
    (run / "spec.json").write_text((other / "spec.json").read_text())
    with pytest.raises(LawdslError) as error:
        carried_out(path)
    assert error.value.diagnostics[0].code == "R0107"
