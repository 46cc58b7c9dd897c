"""Sweeps whose runs are real: models are trained, by `lawdsl run` in a process of its own."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import runs
from sweeps import MACHINE

from lawdsl.runners.sweeps.grid import orders_of
from lawdsl.runners.sweeps.inputs import inputs_of
from lawdsl.runners.sweeps.local import LocalEngine
from lawdsl.runners.sweeps.plan import Plan, plan_of
from lawdsl.runners.sweeps.run_folders import last_row, read_state
from lawdsl.runners.sweeps.scheduler import Policy, RunOutcome, StopRequest, run_jobs
from lawdsl.runners.sweeps.sweep import read_sweep
from lawdsl.runners.sweeps.workers import WORKER

pytestmark = pytest.mark.slow

LIMIT = 1200  # seconds after which a sweep is given up
TEXT = """
name = "real"
folder = "runs"
[corpora]
general = {folder = "data/general", max_epochs = 1e4}
code = {folder = "data/code", max_epochs = 1e4}
[validation]
general = "data/general-held"
code = "data/code-held"
MODELS
[grid]
shares = [{code = 0.3}]
rest = "general"
[training]
steps = 160
batch = 4
sequence = 32
learning_rate = 3e-3
[evaluation]
schedule = "dense"
every = 10
[run]
device = "cpu"
checkpoint_every = 25
"""


def model(name: str, **fields: Any) -> str:
    """The lines of a model in the file of a sweep."""
    config = ", ".join(f"{key} = {json.dumps(value)}" for key, value in runs.QWEN2.items())
    lines = [f'name = "{name}"', f"config = {{{config}}}", 'initialization = "width-scaled"']
    return "\n".join(["[[models]]", *lines, *(f"{key} = {v}" for key, v in fields.items())])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    runs.write_corpora(folder)
    return folder


def made(folder: Path, data: Path, *models: str, **training: Any) -> Path:
    """The file of a sweep; its corpora lie elsewhere."""
    text = TEXT.replace("MODELS", "\n".join(models))
    for key, value in training.items():
        old = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        text = text.replace(old, f"{key} = {value}")
    folder.mkdir(exist_ok=True)
    (folder / "data").symlink_to(data)
    (folder / "sweep.toml").write_text(text, encoding="utf-8")
    return folder / "sweep.toml"


def started(path: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lawdsl", "run", str(path), *options],
        env=runs.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code of a command, and all that it has said."""
    said = "".join(process.communicate(timeout=LIMIT))
    assert "Traceback" not in said
    return process.returncode, said


def until(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + LIMIT
    while not happened():
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.02)


def folders(path: Path) -> dict[str, Path]:
    """Label -> folder, of all runs of a sweep."""
    return {f.name.partition("_")[0]: f for f in (path.parent / "runs").glob("*")}


def at_work(path: Path) -> list[str]:
    """The runs that are begun and held by a process."""
    return [label for label, folder in folders(path).items() if read_state(folder).held_by]


def steps_of(path: Path) -> dict[str, int]:
    return {label: last_row(folder).get("step", 0) for label, folder in folders(path).items()}


def test_a_sweep_that_is_stopped_and_killed_ends_as_one_that_is_not(
    data: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    """Rows and weights, bit for bit; one of the runs is shared by two processes."""
    models = (model("two", processes=2), model("one"))
    whole, broken = (made(tmp_path / name, data, *models) for name in ("whole", "broken"))
    code, said = ended(started(whole, "--jobs", "2"))
    assert code == 0, said

    for times, number in enumerate((signal.SIGTERM, signal.SIGINT, signal.SIGKILL), 1):
        sweep, before = started(broken, "--jobs", "2"), steps_of(broken).get("two", 0)

        def further(before: int = before) -> bool:
            """Whether the run of two processes is at work and has measured something since."""
            return "two" in at_work(broken) and steps_of(broken)["two"] > before

        until(further, sweep)
        sweep.send_signal(number)
        code, said = ended(sweep)
        assert code == {signal.SIGTERM: 75, signal.SIGINT: 130}.get(number, -number), said
        end = time.monotonic() + LIMIT
        while at_work(broken):
            assert time.monotonic() < end
            time.sleep(0.05)
        log = (folders(broken)["two"] / "log.txt").read_text()
        assert log.count(" of 160, saved") == times and "Traceback" not in log, log
    code, said = ended(started(broken, "--jobs", "2"))
    assert code == 0, said
    found, wanted = folders(broken), folders(whole)
    differences = {label: runs.differences(found[label], wanted[label]) for label in wanted}
    assert differences == {"one": [], "two": []}
    rows = sum(len(runs.rows(folder)) for folder in found.values())
    record_property(
        "figure",
        "lawdsl run, real runs, one shared by two processes: stopped by SIGTERM (75), SIGINT (130)"
        f" and killed, saved each time; then {rows} rows and all weights bit for bit those of an"
        " unbroken sweep",
    )


def planned(path: Path) -> Plan:
    sweep = read_sweep(path)
    inputs = inputs_of(sweep)
    return plan_of(sweep, inputs, orders_of(sweep, inputs), MACHINE, 2)


def carried_out(path: Path, worker: tuple[str, ...]) -> dict[str, RunOutcome]:
    with StopRequest() as stop:
        found = run_jobs(
            LocalEngine(MACHINE, 2, Policy(retries=0), worker), planned(path).to_do, stop
        )
    return {outcome.run.label.partition("_")[0]: outcome for outcome in found}


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit")
def test_a_run_that_memory_does_not_suffice_for_is_recorded_and_the_others_go_on(
    data: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    """Of the host's memory, of which each process may have so much and no more."""
    limit = 1500 << 20
    models = (model("big", batch=6144), model("pair", batch=12288, processes=2), model("small"))
    path = made(tmp_path, data, *models, steps=1, every=1)
    found = carried_out(path, ("prlimit", f"--as={limit}", *WORKER))
    assert {label: outcome.status for label, outcome in found.items()} == {
        "big": "oom",
        "pair": "oom",
        "small": "done",
    }
    told = {label: runs.done(folders(path)[label]) for label in ("big", "pair")}
    for label, done in told.items():
        assert done["status"] == "oom" and 100 << 20 < done["peak_memory_bytes"] < limit
        log = (folders(path)[label] / "log.txt").read_text()
        assert "error[R0507]: memory did not suffice" in log and "Traceback" not in log, log
    made_smaller = path.read_text().replace("[run]", "[run]\nmicro_batch = 256")
    path.write_text(made_smaller)
    found = carried_out(path, ("prlimit", f"--as={limit}", *WORKER))
    assert {label: o.status for label, o in found.items()} == {"big": "done", "pair": "done"}
    peak = max(done["peak_memory_bytes"] for done in told.values()) >> 20
    record_property(
        "figure",
        f"a sweep of three runs, {limit >> 20} MiB a process: two out of memory, recorded with"
        f" {peak} MiB at most, the third done; with a smaller micro-batch all are",
    )


DISK = """
import subprocess, sys
from pathlib import Path

disk, sweep = Path(sys.argv[1]), Path(sys.argv[2])
command = [sys.executable, "-m", "lawdsl", "run", str(sweep), "--quiet", "--jobs", "1"]

def attempt():
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.returncode, done.stderr, "======", sep="\\n")

(disk / "other").write_bytes(bytes(int(sys.argv[3])))
attempt()
(disk / "other").unlink()
attempt()
sweep.write_text(sweep.read_text().replace("steps = ", "steps = 1"))
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
attempt()
subprocess.run(["cp", "-r", disk, disk.with_name("copy")], check=True)
"""


def test_a_full_and_a_read_only_disk_stop_a_sweep_with_a_message(
    data: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    """On a disk of its own, in memory, which only a process that may mount can have."""
    whole = made(tmp_path / "whole", data, model("one"), steps=100)
    assert ended(started(whole))[0] == 0
    path = made(tmp_path / "full", data, model("one"), steps=100)
    disk = path.parent / "runs"
    disk.mkdir()
    mounted = (
        f'mount -t tmpfs -o size=1400k none "{disk}" && exec "$0" -c "$1" "{disk}" "{path}" $2'
    )
    # what is left suffices for what certainly is written, and not for two checkpoints at a time
    command = ["unshare", "-m", "sh", "-c", mounted, sys.executable, DISK, "935000"]
    if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "true"]).returncode:
        pytest.skip("needs the right to mount")
    done = subprocess.run(
        command, env=runs.environment(), capture_output=True, text=True, check=False
    )
    if "mount:" in done.stderr:
        pytest.skip("needs the right to mount")
    assert done.stderr == ""
    full, free, read_only, _ = done.stdout.split("======\n")
    assert full.startswith("1\n") and "error[R0108]: one_code=0.3_seed=0 failed: " in full, full
    assert "error[R0403]" in full and "No space left on device" in full
    assert "it needs about " in full and " are free" in full
    assert free.startswith("0\n"), free
    assert read_only.startswith("3\nerror[R0107]") and "Read-only file system" in read_only
    (one,) = (path.parent / "copy").glob("one*")
    assert not runs.differences(one, folders(whole)["one"])
    record_property(
        "figure",
        "a sweep on a full disk: its run says the bytes it needs and that are free, and ends with"
        " room bit for bit as another; on a read-only disk one message, exit code 3",
    )


# --- several nodes, here processes of one machine


def node(path: Path, number: int, port: int) -> subprocess.Popen[str]:
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "NODE_RANK": str(number)}
    return subprocess.Popen(
        [sys.executable, "-m", "lawdsl", "run", str(path)],
        env=runs.environment() | place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("sharded", ["false", "true"], ids=["copied", "sharded"])
def test_two_nodes_do_a_run_as_one_does_and_go_on_where_they_were_stopped(
    tmp_path: Path, data: Path, sharded: str
):
    alone = made(tmp_path / "alone", data, model("a"), steps=60)
    assert ended(started(alone))[0] == 0
    more = {"processes": 2, "nodes": 2, "sharded": sharded}
    whole, broken = (
        made(tmp_path / name, data, model("a", **more), steps=60) for name in ("whole", "broken")
    )
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port = some.getsockname()[1]
    both = [node(whole, number, port) for number in (0, 1)]
    assert [ended(process)[0] for process in both] == [0, 0]
    both = [node(broken, number, port) for number in (0, 1)]
    until(lambda: any(broken.parent.glob("runs/*/checkpoints/step-*")), both[0])
    both[0].send_signal(signal.SIGTERM)
    assert [ended(process)[0] for process in both] == [75, 0]
    both = [node(broken, number, port) for number in (0, 1)]
    assert [ended(process)[0] for process in both] == [0, 0]
    found = [folders(path)["a"] for path in (alone, whole, broken)]
    assert runs.rows(found[1]) == runs.rows(found[2])
    assert runs.done(found[1])["weights"] == runs.done(found[2])["weights"]
    np.testing.assert_allclose(runs.losses(found[1]), runs.losses(found[0]), rtol=1e-5, atol=0)


def test_a_job_array_does_the_runs_of_a_sweep(tmp_path: Path, data: Path):
    path = made(tmp_path / "sweep", data, model("a"), model("b", learning_rate=1e-3), steps=20)
    code, said = ended(started(path, "--slurm"))
    assert code == 0 and "sbatch" in said
    (script,) = (path.parent / "runs" / "slurm").glob("*.sh")
    for number in range(2):
        variables = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_JOB_ID": "1"}
        done = subprocess.run(
            ["bash", str(script)], env=runs.environment() | variables, timeout=LIMIT, check=False
        )
        assert done.returncode == 0
    done = {name: read_state(folder).status for name, folder in folders(path).items()}
    assert (done["a"], done["b"]) == ("done", "done")
