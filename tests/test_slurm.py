"""Sweeps as Slurm job arrays: the scripts are run by bash, with stand-ins for Slurm's programs."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
import sweeps
from click.testing import CliRunner
from sweeps import TEXT, made, planned, with_lines

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run import locks
from lawdsl.runners.sweeps import array_task, inputs, scheduler, workers

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 60


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which stand-ins for sbatch and scontrol write down how they are called."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, answer in (("sbatch", "echo 4711"), ("scontrol", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(programs))}/{name}.calls\n')
        program.write_text(program.read_text() + answer + "\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(inputs, "describe", sweeps.inspect)
    monkeypatch.setattr(workers, "WORKER", sweeps.WORKER)
    return programs


def lawdsl(*arguments: object) -> dict[str, object]:
    done = CliRunner().invoke(cli, [*map(str, arguments), "--json"], standalone_mode=False)
    assert done.exception is None, done.exception
    return json.loads(done.stdout)["result"]


def task(script: Path, number: int, **fake: object) -> subprocess.Popen[bytes]:
    """A task of an array, as Slurm starts it."""
    variables = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_JOB_ID": "4711"}
    return subprocess.Popen(
        ["bash", str(script)],
        env={**os.environ, **variables, "FAKE": json.dumps(fake), "PYTHONPATH": str(ROOT)},
    )


def tasks_of(script: Path) -> list[list[Path]]:
    """The folders of the runs of each task."""
    tasks = json.loads(script.with_suffix(".json").read_text())["tasks"]
    return [[Path(folder) for folder in task] for task in tasks]


def test_each_task_does_one_run(tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scheduler, "POLL", 0.01)
    path = made(tmp_path)
    result = lawdsl("run", path, "--slurm", "--jobs", "3", "--sbatch=--partition=gpu")
    (array,) = result["arrays"]
    assert (array["runs"], array["job"], result["plan"]["jobs"]) == (6, "4711", 3)
    script = Path(array["script"])
    assert (slurm / "sbatch.calls").read_text().split() == ["--parsable", str(script)]
    text = script.read_text()
    for line in ("--array=0-5%3", "--requeue", "--cpus-per-task=1", "--nodes=1"):
        assert f"#SBATCH {line}\n" in text
    assert "gpus-per-node" not in text
    # options of the user come last: of two that contradict each other, sbatch takes the last
    directives = [line for line in text.splitlines() if line.startswith("#SBATCH")]
    assert directives[-1] == "#SBATCH --partition=gpu"
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert array_task.main([str(script.with_suffix(".json")), "2"]) == 0
    folders = tasks_of(script)
    states = {run.folder: run.state.status for run in planned(path).runs}
    assert [states.pop(folder) for folder in folders[2]] == ["done"]
    assert set(states.values()) == {"begun"}
    # the next array excludes what is done, and all its tasks may be active at once
    again = lawdsl("run", path, "--slurm")
    assert (again["arrays"][0]["runs"], again["plan"]["jobs"]) == (5, 6)


BRANCHED = TEXT.replace("[run]\n", "[schedule]\nbranches = [0.25, 1]\ndecay = 0.2\n[run]\n")


def begins(folder: Path) -> list[str]:
    return re.findall(r"begins at step (\d+)", (folder / "log.txt").read_text())


def test_branches_are_done_in_the_task_of_their_stable_run_after_it(
    tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(scheduler, "POLL", 0.01)
    path = made(tmp_path, BRANCHED)
    (array,) = lawdsl("run", path, "--slurm")["arrays"]
    script = Path(array["script"])
    assert array["runs"] == 18 and "--array=0-5\n" in script.read_text()
    plan = {run.folder: run.order for run in planned(path).runs}
    for folders in tasks_of(script):
        stable = next(folder for folder in folders if plan[folder].branch_steps)
        prefixes = [order.prefix for f in folders if (order := plan[f]) and f != stable]
        assert [prefix and prefix.folder for prefix in prefixes] == [stable.name] * 2
    folders = tasks_of(script)[0]
    assert array_task.main([str(script.with_suffix(".json")), "0"]) == 0
    assert sorted(begins(folder) for folder in folders) == [["0"], ["16"], ["4"]]
    states = {run.folder: run.state.status for run in planned(path).runs}
    assert {states[folder] for folder in folders} == {"done"}


@pytest.mark.slow
def test_a_task_of_branches_that_is_stopped_goes_on_and_branches_alone_are_tasks(
    tmp_path: Path, slurm: Path
):
    path = made(tmp_path, BRANCHED)
    script = Path(lawdsl("run", path, "--slurm")["arrays"][0]["script"])
    folders = tasks_of(script)[0]
    process = task(script, 0, _stable={"seconds": 0.1})
    end = time.monotonic() + LIMIT
    # the first branch can begin while the stable run goes on
    while not any(list(folder.glob("checkpoints/step-*")) for folder in folders):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGUSR1)
    assert process.wait(LIMIT) == 75
    assert (slurm / "scontrol.calls").read_text() == "requeue 4711_0\n"
    assert (
        task(script, 0, **{"steps=20": {"wrong": "error[R0503]: it has changed"}}).wait(LIMIT) == 1
    )
    states = {run.folder: run.state.status for run in planned(path).runs if run.folder in folders}
    assert sorted(states.values()) == ["done", "done", "failed"]
    (left,) = (folder for folder, status in states.items() if status == "failed")
    # its stable run is done, so that it need not wait
    again = Path(lawdsl("run", path, "--slurm")["arrays"][0]["script"])
    tasks = tasks_of(again)
    assert [left] in tasks and len(tasks) == 6
    assert task(again, tasks.index([left])).wait(LIMIT) == 0
    assert begins(left)[-1] == "16"


def test_branches_of_a_stable_run_that_another_process_does_are_left_to_it(
    tmp_path: Path, slurm: Path
):
    path = made(tmp_path, BRANCHED)
    (stable, *_) = (run for run in planned(path).runs if run.order.branch_steps)
    stable.folder.mkdir(parents=True)
    (stable.folder / "lock").write_text(json.dumps({"host": "other", "pid": 1, "since": "now"}))
    (array,) = lawdsl("run", path, "--slurm")["arrays"]
    assert array["runs"] == 15


def test_a_precision_that_is_chosen_without_a_gpu_is_reported(tmp_path: Path, slurm: Path):
    path = made(tmp_path, with_lines(TEXT, run='device = "cuda"'))
    for texts in (["small", "large"], []):
        done = CliRunner().invoke(cli, ["run", str(path), "--slurm", "--json"])
        found = [d for d in json.loads(done.stdout)["diagnostics"] if d["code"] == "R0144"]
        # those that have begun keep their precision
        assert [d["message"].split()[0] for d in found] == texts
        assert all("is trained in float32" in d["message"] for d in found)
    assert {run.order.run.training.precision for run in planned(path).runs} == {"float32"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_task_that_is_stopped_is_saved_and_goes_back_into_the_queue_at_its_time_limit(
    tmp_path: Path, slurm: Path, number: signal.Signals
):
    path = made(tmp_path)
    script = Path(lawdsl("run", path, "--slurm")["arrays"][0]["script"])
    (folder,) = tasks_of(script)[0]
    process = task(script, 0, _seed={"seconds": 0.1})
    end = time.monotonic() + LIMIT
    while not (folder / "points.jsonl").exists():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(LIMIT) == 75
    step = json.loads((folder / "checkpoint.json").read_text())["step"]
    calls = slurm / "scontrol.calls"
    if number == signal.SIGUSR1:
        assert calls.read_text() == "requeue 4711_0\n"
    else:  # `scancel` sends it too
        assert not calls.exists()
    assert task(script, 0).wait(LIMIT) == 0
    assert f"begins at step {step} " in (folder / "log.txt").read_text()


@pytest.mark.slow
def test_a_task_takes_back_the_run_that_it_held_on_a_node_that_was_lost(
    tmp_path: Path, slurm: Path
):
    path = made(tmp_path)
    script = Path(lawdsl("run", path, "--slurm")["arrays"][0]["script"])
    (folder,) = tasks_of(script)[0]
    lost = {"host": "gone", "pid": 1, "since": "now"}
    (folder / "lock").write_text(json.dumps(lost))
    assert task(script, 0).wait(LIMIT) == 1  # it may be at work there
    assert locks.named(folder) == lost
    (folder / "lock").write_text(json.dumps(lost | {"task": "4711_1"}))
    assert task(script, 0).wait(LIMIT) == 1
    (folder / "lock").write_text(json.dumps(lost | {"task": "4711_0"}))
    assert task(script, 0).wait(LIMIT) == 0


def test_runs_with_other_resources_are_arrays_of_their_own(tmp_path: Path, slurm: Path):
    text = with_lines(TEXT, run='device = "cuda"\nprocesses = 4')
    text = text.replace("learning_rate = 1e-2", "learning_rate = 1e-2\nnodes = 2\nthreads = 3")
    arrays = lawdsl("run", made(tmp_path, text), "--slurm")["arrays"]
    texts = [Path(array["script"]).read_text() for array in arrays]
    assert [array["runs"] for array in arrays] == [3, 3]
    shared = next(text for text in texts if "--nodes=2" in text)
    alone = next(text for text in texts if "--nodes=1" in text)
    assert "#SBATCH --gpus-per-node=2" in shared and "#SBATCH --cpus-per-task=6" in shared
    assert "#SBATCH --gpus-per-node=4" in alone and "srun" not in alone
    assert 'srun --kill-on-bad-exit=0 --cpus-per-task="$SLURM_CPUS_PER_TASK" ' in shared
    assert "export MASTER_ADDR=" in shared
    for array in arrays:
        assert subprocess.run(["bash", "-n", array["script"]], check=False).returncode == 0


def test_an_array_that_slurm_refuses_is_reported_and_stays(tmp_path: Path, slurm: Path):
    (slurm / "sbatch").write_text(
        "#!/bin/sh\necho 'sbatch: error: invalid partition' >&2; exit 1\n"
    )
    done = CliRunner().invoke(cli, ["run", str(made(tmp_path)), "--slurm"], standalone_mode=False)
    assert isinstance(done.exception, LawdslError)
    (diagnostic,) = done.exception.diagnostics
    assert diagnostic.code == "R0143" and "invalid partition" in diagnostic.message
    assert list((tmp_path / "runs" / "slurm").glob("array-*.sh"))


def test_arrays_that_were_submitted_before_the_one_that_slurm_refuses_are_named(
    tmp_path: Path, slurm: Path
):
    once = shlex.quote(str(slurm / "once"))
    (slurm / "sbatch").write_text(f"#!/bin/sh\nmkdir {once} 2> /dev/null && echo 4711\n")
    text = TEXT.replace("learning_rate = 1e-2", "learning_rate = 1e-2\nthreads = 3")
    path = str(made(tmp_path, text))
    done = CliRunner().invoke(cli, ["run", path, "--slurm"], standalone_mode=False)
    assert isinstance(done.exception, LawdslError)
    (diagnostic,) = done.exception.diagnostics
    assert diagnostic.code == "R0143"
    assert diagnostic.notes[0].startswith("submitted as job 4711: ")


def test_without_slurm_the_command_for_it_is_printed(
    tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "")
    path = made(tmp_path)
    done = CliRunner().invoke(cli, ["run", str(path), "--slurm"], standalone_mode=False)
    (script,) = (tmp_path / "runs" / "slurm").glob("array-*.sh")
    assert done.exception is None and f"sbatch {script}   # 6 runs" in done.stdout
    said = done.stdout.splitlines()[-3:]
    assert said[0].startswith("nothing was submitted: sbatch is not on this machine")
    assert said[2] == f"state of the runs: lawdsl run {path} --dry-run"


def test_where_logs_and_states_are_is_printed(tmp_path: Path, slurm: Path):
    path = made(tmp_path)
    for options, logs in (([], True), (["--sbatch=--output=x.log"], False)):
        arguments = ["run", str(path), "--slurm", *options]
        said = CliRunner().invoke(cli, arguments, standalone_mode=False).stdout
        assert (f"logs: {tmp_path}/runs/slurm/4711_*.log" in said) == logs
        assert f"state of the runs: lawdsl run {path} --dry-run" in said


def test_an_array_of_one_task_is_one_number_and_has_no_limit(tmp_path: Path, slurm: Path):
    text = TEXT.replace('{code = 0}, {code = "1/3"}, {code = 1}', "{code = 1}")
    text = with_lines(text.replace("learning_rate = 1e-2", "learning_rate = 1e-2\nthreads = 3"))
    for array in lawdsl("run", made(tmp_path, text), "--slurm", "--jobs", "2")["arrays"]:
        assert "#SBATCH --array=0\n" in Path(array["script"]).read_text()


def test_where_nothing_is_left_nothing_is_submitted(
    tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch
):
    path = made(tmp_path)
    for run in planned(path).runs:
        run.folder.mkdir(parents=True)
        (run.folder / "spec.json").write_text(run.order.model_dump_json(by_alias=True))
        (run.folder / "done.json").write_text('{"status": "done", "step": 20}')
    said = CliRunner().invoke(cli, ["run", str(path), "--slurm"], standalone_mode=False).stdout
    assert said.endswith("nothing was submitted: nothing is left to do\n")


@pytest.mark.parametrize(
    "options",
    [["--sbatch=--time=1"], ["--slurm", "--ray", "auto"], ["--slurm", "--reuse-workers"]],
)
def test_options_that_exclude_each_other_are_refused(tmp_path: Path, options: list[str]):
    done = CliRunner().invoke(cli, ["run", str(made(tmp_path)), *options])
    assert done.exit_code == 2
