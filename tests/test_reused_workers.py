"""A process that executes several runs gives what each gives in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import runs
from sweeps import TEXT, engine, made, planned

from lawdsl.runners import spec
from lawdsl.runners.sweeps import scheduler
from lawdsl.runners.sweeps.machine import Machine
from lawdsl.runners.sweeps.reused_workers import ReusableProcess, ReusedWorker, end_all
from lawdsl.runners.sweeps.run_folders import prepare
from lawdsl.runners.sweeps.scheduler import Job, Policy, RunOutcome, StopRequest, run_jobs

FIRST = "small_code=0.3333_seed=1"
FEWER = TEXT.replace('{code = 0}, {code = "1/3"}', '{code = "1/3"}')  # two runs of each model


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "POLL", 0.01)


def done(path: Path, **changes: Any) -> dict[str, RunOutcome]:
    with StopRequest() as stop, closing(engine(reuse=True, **changes)) as local:
        found = run_jobs(local, planned(path).to_do, stop)
    return {outcome.run.label: outcome for outcome in found}


def processes(path: Path) -> list[tuple[str, list[str]]]:
    """Model and processes of every run."""
    return [
        (
            run.order.run.model.name,
            [
                line.split()[1]
                for line in (run.folder / "log.txt").read_text().splitlines()
                if line.startswith("process ")
            ],
        )
        for run in planned(path).runs
    ]


def test_a_process_does_all_runs_of_a_model(tmp_path: Path):
    path = made(tmp_path, FEWER)
    assert {outcome.status for outcome in done(path, jobs=1).values()} == {"done"}
    by_model: dict[str, set[str]] = {}
    for model, found in processes(path):
        by_model.setdefault(model, set()).update(found)
    assert sorted(len(found) for found in by_model.values()) == [1, 1]
    assert not set.intersection(*by_model.values())


def test_a_process_does_a_stable_run_and_its_branches(tmp_path: Path):
    text = FEWER.replace("[run]\n", "[schedule]\nbranches = [0.5, 1]\ndecay = 0.2\n[run]\n")
    path = made(tmp_path, text)
    assert {outcome.status for outcome in done(path, jobs=1).values()} == {"done"}
    small = [found for model, found in processes(path) if model == "small"]
    assert len(small) == 6 and len({each for found in small for each in found}) == 1


@pytest.mark.slow
def test_an_idle_process_leaves_its_gpu_to_a_run_of_another_model(tmp_path: Path):
    path = made(tmp_path, TEXT.replace("[run]", '[run]\ndevice = "cuda"'))
    runs_of = {run.order.run.model.name: run for run in planned(path).runs}
    small, large = Job(runs_of["small"]), Job(runs_of["large"])
    for name, expected in (("one", ("0", "0", [])), ("two", ("0", "1", [("0",)]))):
        gpus = {str(number): "H100" for number in range(("one", "two").index(name) + 1)}
        machine = Machine(cores=2, gpus=gpus)
        with closing(engine(reuse=True, machine=machine, jobs=len(gpus))) as local:
            for job in (small, large):
                prepare(job.run.folder, job.run.order)
                local.begin(job, [])
                idle = [process.gpus for process in local.idle]
                while local.exit(job) is None:
                    time.sleep(0.01)
            assert (*small.worker.gpus, *large.worker.gpus, idle) == expected


def test_what_a_library_prints_while_it_is_imported_is_no_answer(tmp_path: Path):
    process = subprocess.Popen(["printf", "a library\\n0\\n"], stdout=subprocess.PIPE)
    process.wait()
    reusable = ReusableProcess(process, key=None)
    assert reusable.answer() == 0
    end_all([reusable], 1.0)


SLOW_TO_END = "import sys, time; print(7, flush=True); sys.stdin.read(); time.sleep(60)"


def slow_to_end() -> ReusableProcess:
    """A process that has answered that its run failed, and then takes a minute to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_TO_END], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    return ReusableProcess(process, key=None)


def test_a_process_that_is_slow_to_end_does_not_hold_up_the_other_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("lawdsl.runners.sweeps.local.ROOM_SECONDS", 0.1)
    local, reusable = engine(reuse=True), slow_to_end()
    run = planned(made(tmp_path, FEWER)).runs[0]
    prepare(run.folder, run.order)
    job = Job(run, worker=SimpleNamespace(worker=ReusedWorker(run.folder, reusable, (0, 0))))
    # the answer may come in two parts where the output is not buffered
    while (ended := local.exit(job)) is None:
        time.sleep(0.01)
    assert ended.code == 7
    assert reusable.process.poll() is None and local.ending == [reusable]
    # before another one is started it is killed, whose memory that one may need
    local.begin(job, [])
    assert reusable.process.poll() is not None and not local.ending
    while local.exit(job) is None:
        time.sleep(0.01)
    local.close()


def test_processes_that_are_slow_to_end_have_a_common_time_limit():
    both = [slow_to_end(), slow_to_end()]
    begun = time.monotonic()
    end_all(both, 0.2)
    assert time.monotonic() - begun < 5
    assert all(reusable.process.poll() is not None for reusable in both)


@pytest.mark.slow
def test_no_more_processes_than_runs_at_once(tmp_path: Path):
    path = made(tmp_path)
    assert {outcome.status for outcome in done(path, jobs=2).values()} == {"done"}
    assert len({each for _, found in processes(path) for each in found}) <= 4


def test_a_run_that_fails_takes_its_process_with_it_and_goes_on_in_another(
    tmp_path: Path, fake_worker
):
    path = made(tmp_path, FEWER)
    fake_worker(**{FIRST: {"dies": [7]}})
    assert {outcome.status for outcome in done(path, jobs=1).values()} == {"done"}
    first = next(run for run in planned(path).runs if run.label == FIRST)
    log = (first.folder / "log.txt").read_text()
    assert log.count("process ") == 2 and "its worker was killed by SIGKILL" in log


def test_a_run_that_diverges_leaves_its_process_to_the_next(tmp_path: Path, fake_worker):
    path = made(tmp_path, FEWER)
    fake_worker(**{FIRST: {"diverges": 12}})
    found = done(path, jobs=1)
    assert found[FIRST].status == "diverged"
    assert (
        len({each for model, found in processes(path) if model == "small" for each in found}) == 1
    )


@pytest.mark.slow
def test_wrong_input_and_lack_of_memory_are_judged_as_ever(tmp_path: Path, fake_worker):
    path = made(tmp_path)
    fake_worker(**{FIRST: {"wrong": "error[R0503]: it has changed"}, "large_code=1": {"memory": 4}})
    found = done(path, policy=Policy(halve=True))
    assert found[FIRST].status == "failed" and "it has changed" in found[FIRST].message
    assert [o.status for o in found.values()].count("done") == 5


def test_runs_stay_on_the_gpu_where_their_process_waits(tmp_path: Path):
    path = made(tmp_path, TEXT.replace("[run]", '[run]\ndevice = "cuda"'))
    machine = Machine(cores=2, gpus={"0": "H100", "1": "H100"})
    assert {o.status for o in done(path, machine=machine).values()} == {"done"}
    assert len({each for _, found in processes(path) for each in found}) <= 4


# --- the true worker


def served(folders: list[Path]) -> tuple[list[int], float]:
    """The exit codes of runs that one process does, and the CPU seconds that they took in all."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    requests = [json.dumps({"folder": str(f), "log": str(f / "log.txt")}) for f in folders]
    process = subprocess.run(
        [sys.executable, "-m", "lawdsl.runners.cpt", "--serve"],
        input="\n".join(requests) + "\n",
        env=runs.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [int(line) for line in process.stdout.split()], seconds


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_the_losses_and_weights_are_those_of_processes_of_their_own(
    data: Path, tmp_path: Path, compiled: bool
):
    """Among them runs of another shape and length, one that diverges, and one that is done already."""
    how = {"compile": compiled}
    short: dict[str, Any] = {"steps": 6, "evaluate": (0, 3, 6), "how": how}
    longer = {**short, "steps": 8, "how": {**how, "checkpoint_every": 4}}
    orders = [
        runs.order(data, seed=1, **short),
        runs.order(data, seed=2, share="0.7", **short),
        runs.order(data, seed=1, learning_rate=1e30, clip=None, **short),
        runs.order(data, seed=1, sequence=16, **short),
        runs.order(data, seed=3, **short),
        runs.order(data, seed=4, **longer),
    ]
    together = [tmp_path / "together" / str(number) for number in range(len(orders))]
    alone = [tmp_path / "alone" / str(number) for number in range(len(orders))]
    for folders in (together, alone):
        for folder, order in zip(folders, orders, strict=True):
            spec.write_order(folder, order)
    codes, _ = served([*together, together[0]])
    assert codes == [0, 0, 1, 0, 0, 0, 0]
    for one, other in zip(together, alone, strict=True):
        assert subprocess.run(
            [sys.executable, "-m", "lawdsl.runners.cpt", str(other)],
            env=runs.environment(),
            capture_output=True,
            check=False,
        ).returncode in (0, 1)
        assert runs.done(one)["status"] == runs.done(other)["status"]
        assert runs.rows(one) == runs.rows(other)
        if runs.done(one)["status"] == "done":
            assert runs.differences(one, other) in ([], ["log.txt is left"])


@pytest.mark.slow
def test_start_up_is_paid_once(
    data: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    """Ten runs of 0.2M parameters and 20 steps."""
    model = {**runs.QWEN2, "hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 4}
    folders = [[tmp_path / kind / str(seed) for seed in range(10)] for kind in ("one", "ten")]
    for kind in folders:
        for seed, folder in enumerate(kind):
            order = runs.order(data, model, seed=seed, steps=20, evaluate=(0, 20))
            spec.write_order(folder, order)
    codes, one = served(folders[0])
    assert codes == [0] * 10
    ten = sum(served([folder])[1] for folder in folders[1])
    for together, alone in zip(*folders, strict=True):
        assert runs.done(together)["weights"] == runs.done(alone)["weights"]
    assert one < ten / 2
    record_property(
        "figure",
        f"ten runs of 0.2M parameters, 20 steps: {one / 10:.2f} CPU s a run in one process,"
        f" {ten / 10:.2f} in processes of their own",
    )
