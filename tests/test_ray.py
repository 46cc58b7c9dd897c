"""Sweeps on a Ray cluster: what is done stays done, whatever node or process dies."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import runs
import sweeps
from click.testing import CliRunner
from ray.cluster_utils import Cluster
from sweeps import TEXT, folder_of, made, planned

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.sweeps import inputs, local, ray, ray_cluster, scheduler, workers
from lawdsl.runners.sweeps.machine import Machine
from lawdsl.runners.sweeps.plan import PlannedRun
from lawdsl.runners.sweeps.run_folders import last_row, read_state
from lawdsl.runners.sweeps.scheduler import Job, RunOutcome, StopRequest, run_jobs

ROOT = Path(__file__).resolve().parent.parent
FIRST = "large_code=0_seed=1"
ONE = TEXT.replace('{code = 0}, {code = "1/3"}, {code = 1}', "{code = 0}")
ONE = ONE[: ONE.index("[[models]]")] + ONE[ONE.rindex("[[models]]") :]  # the larger model only
HEALTH = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300}
HEALTH |= {"health_check_timeout_ms": 1000, "health_check_failure_threshold": 3}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head without CPUs, two nodes of one CPU, dead after a second's silence; it is joined."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(ROOT))
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.add_node(wait=False, num_cpus=1)
        cluster.add_node(wait=False, num_cpus=1)
        cluster.wait_for_nodes()
        with ray_cluster.joined(cluster.address):
            yield cluster
        cluster.shutdown()


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "POLL", 0.02)


def worker(**fake: Any) -> tuple[str, ...]:
    """The fake worker, told by its command what to do: nodes have an environment of their own."""
    program = (
        "import os, runpy, sys; _, os.environ['FAKE'], *sys.argv = sys.argv;"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    return (sys.executable, "-c", program, json.dumps(fake), sweeps.WORKER[1])


def slow(label: str = "", seconds: float = 0.05) -> tuple[str, ...]:
    return worker(**{label: {"seconds": seconds}})


def carried_out(
    cluster: Cluster, path: Path, progress: Callable[..., None] | None = None, **changes: Any
) -> dict[str, RunOutcome]:
    """Label -> what became of the run."""
    machine = ray_cluster.machine_of(ray_cluster.nodes())
    engine = ray.RayEngine(**{"machine": machine, "worker": worker(), **changes})
    to_do = planned(path, machine).to_do
    with StopRequest() as stop:
        found = run_jobs(engine, to_do, stop, progress=progress or (lambda *reported: None))
    return {outcome.run.label: outcome for outcome in found}


def steps(path: Path, label: str) -> list[int]:
    lines = (folder_of(path, label) / "points.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


def log(path: Path, label: str) -> list[str]:
    return (folder_of(path, label) / "log.txt").read_text().splitlines()


def begun(path: Path, label: str) -> list[int]:
    """The step at which each worker of a run began."""
    return [int(line.split()[3]) for line in log(path, label) if line.startswith("begins")]


def when(path: Path, label: str, step: int, act: Callable[[], None]) -> Callable[..., None]:
    """What does something once, as soon as a run has measured something after a step."""
    done: list[bool] = []

    def progress(tokens: int, at_work: int, speed: object) -> None:
        found = [*(path.parent / "runs").glob(f"{label}-*")]
        if not done and found and last_row(found[0]).get("step", -1) >= step:
            done.append(True)
            act()

    return progress


def chain(path: Path, label: str) -> tuple[int, int, int]:
    """The worker that holds a run, the process that watches over it, and the node's own."""
    holder = json.loads((folder_of(path, label) / "lock").read_text())["pid"]
    watch = _parent(holder)
    return holder, watch, _parent(watch)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def renewed(cluster: Cluster, raylet: int) -> None:
    """Put a new node in the place of one that was killed."""
    processes = {node.all_processes["raylet"][0].process: node for node in cluster.worker_nodes}
    (killed,) = (process for process in processes if process.pid == raylet)
    killed.wait()
    cluster.remove_node(processes[killed])
    cluster.add_node(num_cpus=1)


# --- runs on two nodes


@pytest.mark.slow
def test_runs_of_a_node_that_dies_go_on_on_the_other(cluster: Cluster, tmp_path: Path):
    path = made(tmp_path)
    killed: list[int] = []

    def kill() -> None:
        killed.extend(chain(path, FIRST))
        os.kill(killed[2], signal.SIGKILL)

    found = carried_out(cluster, path, when(path, FIRST, 5, kill), worker=slow("large"))
    renewed(cluster, killed[2])
    assert len(found) == 6 and {o.status for o in found.values()} == {"done"}
    for label in found:
        assert steps(path, label) == [0, 5, 10, 15, 20]
        assert begun(path, label)[0] == 0
        assert len(begun(path, label)) == (2 if label == FIRST else 1)
    assert begun(path, FIRST)[1] > 5  # the worker saved when its node was gone
    lost = [line for line in log(path, FIRST) if "was lost" in line]
    assert len(lost) == 1 and lost[0].endswith("; the run is started again")
    assert not any(Path(f"/proc/{pid}/cwd").exists() for pid in killed)
    assert not [*path.parent.glob("runs/.*")]


def test_a_run_whose_process_is_killed_goes_on_where_it_was(cluster: Cluster, tmp_path: Path):
    """The worker first, then the process that watches over it; the second is resumed elsewhere."""
    path = made(tmp_path, ONE)
    killed: list[int] = []

    def kill() -> None:
        killed.extend(chain(path, FIRST)[1:])
        os.kill(killed[0], signal.SIGKILL)

    fake = worker(**{FIRST: {"seconds": 0.05, "dies": [3]}})
    found = carried_out(cluster, path, when(path, FIRST, 10, kill), worker=fake)
    assert found[FIRST].status == "done"
    assert steps(path, FIRST) == [0, 5, 10, 15, 20]
    first, second, third = begun(path, FIRST)
    assert (first, second) == (0, 0) and third >= 10
    assert "killed by SIGKILL" in log(path, FIRST)[1]


@pytest.mark.slow
def test_branches_begin_from_a_stable_run_wherever_that_is(cluster: Cluster, tmp_path: Path):
    text = ONE.replace("[run]\n", "[schedule]\nbranches = [0.25, 0.5, 1]\ndecay = 0.2\n[run]\n")
    path = made(tmp_path, text)
    fake = worker(_stable={"seconds": 0.05, "dies": [6]})
    found = carried_out(cluster, path, worker=fake)
    assert {outcome.status for outcome in found.values()} == {"done"}
    assert begun(path, f"{FIRST}_stable") == [0, 5]
    for end, begins in ((5, 4), (10, 8), (20, 16)):
        assert begun(path, f"{FIRST}_steps={end}") == [begins]
        assert steps(path, f"{FIRST}_steps={end}") == [0, end]


def test_a_signal_reaches_the_workers_and_they_save(cluster: Cluster, tmp_path: Path):
    path = made(tmp_path)

    told: list[bool] = []

    def progress(tokens: int, at_work: int, speed: object) -> None:
        steps = [last_row(f).get("step", 0) for f in (tmp_path / "runs").iterdir()]
        if not told and sum(step >= 5 for step in steps) == 2:
            told.append(True)
            os.kill(os.getpid(), signal.SIGTERM)

    found = carried_out(cluster, path, progress, worker=slow(seconds=0.25))
    assert sorted(o.status for o in found.values()) == ["left"] * 4 + ["stopped"] * 2
    saved = [f for f in (tmp_path / "runs").iterdir() if (f / "checkpoint.json").exists()]
    assert len(saved) == 2 and not any((f / "done.json").exists() for f in saved)
    assert all(read_state(f).held_by == "" for f in saved)
    with StopRequest() as nothing:  # the folders are all that another engine needs
        run_jobs(sweeps.engine(), planned(path).to_do, nothing)
    assert all(read_state(f).status == "done" for f in (tmp_path / "runs").iterdir())
    assert steps(path, FIRST) == [0, 5, 10, 15, 20]
    assert len(begun(path, FIRST)) == 2 and begun(path, FIRST)[1] >= 5


def test_a_second_signal_ends_the_runs_where_they_are(cluster: Cluster, tmp_path: Path):
    path = made(tmp_path, ONE)
    told: list[float] = []

    def progress(tokens: int, at_work: int, speed: object) -> None:
        begun = [f for f in (tmp_path / "runs").iterdir() if last_row(f)]
        if begun and (not told or (len(told) == 1 and time.monotonic() - told[0] > 0.5)):
            told.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGTERM)

    found = carried_out(cluster, path, progress, worker=slow(seconds=3600))
    assert len(told) == 2
    assert found[FIRST].status == "stopped"
    assert read_state(folder_of(path, FIRST)).held_by == ""


def test_the_command_does_a_sweep_and_says_it_in_one_document(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = made(tmp_path, ONE)
    monkeypatch.setattr(workers, "WORKER", worker())
    monkeypatch.setattr(inputs, "describe", sweeps.inspect)
    monkeypatch.setattr(ray_cluster, "joined", nullcontext)  # it is
    arguments = ["run", str(path), "--ray", cluster.address, "--json"]
    dry = CliRunner().invoke(cli, [*arguments, "--dry-run"], standalone_mode=False)
    assert dry.return_value == 0 and not (tmp_path / "runs").exists()
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    content = json.loads(done.stdout)
    assert done.return_value == 0 and content["ok"], done.stderr
    assert [o["status"] for o in content["result"]["outcomes"]] == ["done"]
    assert content["result"]["plan"]["jobs"] == 2


# --- nodes and folders that will not do


def test_a_folder_that_a_node_does_not_see_is_said(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A name that means another folder in each process stands for a disk that is not shared."""
    path = made(tmp_path, ONE.replace('"runs"', '"/proc/self/cwd/runs"'))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LawdslError) as error:
        carried_out(cluster, path)
    assert [d.code for d in error.value.diagnostics] == ["R0115", "R0115"]
    host = socket.gethostname()
    message = f"the node {host} does not see /proc/self/cwd/runs"
    assert {d.message for d in error.value.diagnostics} == {message}
    assert not [*tmp_path.glob("runs/*")] and not [*tmp_path.glob("runs/.*")]


def test_runs_that_no_node_could_do_are_refused(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = made(tmp_path, ONE.replace("[run]", '[run]\ndevice = "cuda"'))
    monkeypatch.setattr(inputs, "describe", sweeps.inspect)
    monkeypatch.setattr(ray_cluster, "joined", nullcontext)
    arguments = ["run", str(path), "--ray", cluster.address]
    with pytest.raises(LawdslError) as error:
        CliRunner().invoke(cli, arguments, standalone_mode=False, catch_exceptions=False)
    (found,) = error.value.diagnostics
    assert (found.code, found.message) == ("R0114", "no node of the cluster has 1 CPU and 1 GPU")
    assert sorted(found.notes) == [
        f"{socket.gethostname()}: {cpus}" for cpus in ("0 CPUs", "1 CPU", "1 CPU")
    ]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nowhere", "auto"])
def test_an_address_where_no_cluster_is_is_refused_at_once(
    address: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(LawdslError) as error, ray_cluster.joined(address):
        pass
    assert [d.code for d in error.value.diagnostics] == ["R0113"]


def test_ray_that_is_not_installed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = made(tmp_path, ONE)
    monkeypatch.setattr(inputs, "describe", sweeps.inspect)
    find = importlib.util.find_spec
    there = lambda name: None if name == "ray" else find(name)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", there)
    with pytest.raises(LawdslError) as error:
        arguments = ["run", str(path), "--ray", "auto"]
        CliRunner().invoke(cli, arguments, standalone_mode=False, catch_exceptions=False)
    (found,) = error.value.diagnostics
    assert (found.code, found.help) == ("R0101", "pip install 'lawdsl[ray]'")


# --- minutes


@pytest.mark.slow
def test_a_run_whose_node_is_silent_and_may_live_is_not_begun_beside_it(
    cluster: Cluster, tmp_path: Path
):
    path = made(tmp_path, ONE)
    frozen: list[int] = []

    def freeze() -> None:
        frozen.extend(chain(path, FIRST))
        for pid in frozen[::-1]:
            os.kill(pid, signal.SIGSTOP)

    progress = when(path, FIRST, 5, freeze)
    found = carried_out(cluster, path, progress, worker=slow(), grace=3.0)
    assert found[FIRST].status == "held"
    assert f"/{frozen[0]} since" in found[FIRST].message
    for pid in frozen:
        os.kill(pid, signal.SIGKILL)
    renewed(cluster, frozen[2])
    assert carried_out(cluster, path)[FIRST].status == "done"
    assert steps(path, FIRST) == [0, 5, 10, 15, 20]
    assert begun(path, FIRST) == [0, 5]


@pytest.mark.slow
def test_a_node_says_itself_whether_a_process_of_it_has_ended(cluster: Cluster, tmp_path: Path):
    (tmp_path / "lock").write_text(json.dumps({"host": "h", "pid": 1, "since": "then"}))
    job = Job(SimpleNamespace(folder=tmp_path))  # type: ignore[arg-type]
    nodes = ray._Cluster(ray.RayEngine(Machine(1, {})), locks=False)
    nodes._current_nodes = lambda: [replace(n, host="h") for n in ray_cluster.nodes()]  # type: ignore
    with open(tmp_path / "lock", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert nodes.lock_holder(job, "h/1") == "h/1"
    assert nodes.lock_holder(job, "h/1") == ""
    assert (tmp_path / "lock").read_text() == ""


@pytest.mark.slow
def test_a_machine_that_dies_at_once_costs_what_was_not_saved(cluster: Cluster, tmp_path: Path):
    path = made(tmp_path, ONE)
    killed: list[int] = []

    def kill() -> None:
        killed.extend(chain(path, FIRST))
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    found = carried_out(cluster, path, when(path, FIRST, 10, kill), worker=slow())
    renewed(cluster, killed[2])
    assert found[FIRST].status == "done"
    assert steps(path, FIRST) == [0, 5, 10, 15, 20]
    assert begun(path, FIRST)[1] in (5, 10)


@pytest.mark.slow
def test_runs_end_when_their_driver_is_killed_and_the_next_goes_on(
    cluster: Cluster, tmp_path: Path
):
    path = made(tmp_path)
    driver = command(path, cluster.address, slow())
    wait_until(driver, path, 5)
    pids = chain(path, FIRST)[:2]
    driver.kill()
    driver.communicate()
    while any(Path(f"/proc/{pid}/cwd").exists() for pid in pids):
        time.sleep(0.05)
    assert {o.status for o in carried_out(cluster, path).values()} == {"done"}
    assert steps(path, FIRST) == [0, 5, 10, 15, 20]
    assert begun(path, FIRST)[1] >= 5


@pytest.mark.slow
def test_workers_see_the_gpus_that_ray_gives_them(cluster: Cluster, tmp_path: Path):
    path = made(tmp_path)
    node = cluster.add_node(num_cpus=4, num_gpus=2)
    try:
        found = carried_out(cluster, path, worker=slow(seconds=0.02))
    finally:
        cluster.remove_node(node)
    assert {o.status for o in found.values()} == {"done"}
    seen = [json.loads(log(path, label)[0].partition("with ")[2]) for label in found]
    assert {one["CUDA_VISIBLE_DEVICES"] for one in seen} == {"0", "1"}


@pytest.mark.slow
def test_rows_and_weights_are_those_of_the_local_engine(cluster: Cluster, tmp_path: Path):
    runs.write_corpora(tmp_path / "data")
    orders = [runs.order(tmp_path / "data", share=share) for share in ("0.3", "0.6")]

    def to_do(where: str) -> list[PlannedRun]:
        folders = [tmp_path / where / str(number) for number in range(2)]
        both = zip(orders, folders, strict=True)
        return [
            PlannedRun(order, folder, read_state(folder), 24 * 128, 0, 0) for order, folder in both
        ]

    with StopRequest() as stop:
        here = run_jobs(local.LocalEngine(Machine(2, {}), 2), to_do("here"), stop)
        machine = ray_cluster.machine_of(ray_cluster.nodes())
        there = run_jobs(ray.RayEngine(machine), to_do("there"), stop)
    assert {o.status for o in (*here, *there)} == {"done"}
    for number in range(2):
        one, other = tmp_path / "here" / str(number), tmp_path / "there" / str(number)
        assert alike(runs.rows(one)) == alike(runs.rows(other))
        assert runs.done(one)["weights"] == runs.done(other)["weights"]


def alike(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in runs.VARYING} for row in rows]


@pytest.mark.slow
def test_a_cluster_of_ones_own_ends_with_the_sweep(tmp_path: Path):
    """Interrupted as a terminal does it, all processes of the command at once, and run again."""
    path = made(tmp_path, ONE)
    driver = command(path, "local", slow(seconds=0.2))
    wait_until(driver, path, 5)
    os.killpg(driver.pid, signal.SIGINT)
    _, said = driver.communicate()
    assert driver.returncode == 130, said
    # whether a tenth of the tokens is passed before the signal is a matter of time
    assert [line for line in said.splitlines() if not line.endswith("at work")] == [
        "stopping: the runs save themselves; a second signal kills them",
        "stopped; the same command resumes the runs",
    ]
    assert read_state(folder_of(path, FIRST)).held_by == ""
    driver = command(path, "local", worker(), "--json")
    document, said = driver.communicate()
    assert driver.returncode == 0 and said == ""
    assert json.loads(document)["ok"]
    assert steps(path, FIRST) == [0, 5, 10, 15, 20]
    assert begun(path, FIRST)[1] >= 5


def command(
    path: Path, address: str, fake: tuple[str, ...], *options: str
) -> subprocess.Popen[str]:
    """The command line in a process of its own, and a group of its own."""
    program = (
        "import json, sys, sweep_command; from lawdsl.runners.sweeps import workers;"
        "workers.WORKER = tuple(json.loads(sys.argv.pop())); sweep_command.main(sys.argv[1:])"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, "run", path, "--ray", address, *options, json.dumps(fake)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(driver: subprocess.Popen[str], path: Path, step: int) -> None:
    """Until the first run has come to a step."""
    reached: list[bool] = []
    look = when(path, FIRST, step, lambda: reached.append(True))
    while not reached:
        look(0, 0)
        assert driver.poll() is None
        time.sleep(0.05)
