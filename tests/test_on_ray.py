"""Sweeps on a Ray cluster: what is done stays done, whatever node dies."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sweeps
from sweeps import TEXT, made, planned

from lawdsl.runners import carrying_out, on_ray, ray_cluster
from lawdsl.runners.carrying_out import Outcome, Stop
from lawdsl.runners.run_folders import state

ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head without CPUs, and two nodes of one CPU; a node is dead after a second's silence."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(ROOT))
        soon = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300, "health_check_timeout_ms": 1000, "health_check_failure_threshold": 3}
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": soon}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.add_node(num_cpus=1)
        cluster.add_node(num_cpus=1)
        yield cluster
        cluster.shutdown()


def worker(**fake: Any) -> tuple[str, ...]:
    """The fake worker, told by its command what to do: nodes have an environment of their own."""
    program = "import os, runpy, sys; os.environ['FAKE'] = sys.argv[2]; sys.argv = sys.argv[3:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    program = (
        "import os, runpy, sys; _, os.environ['FAKE'], *sys.argv = sys.argv;"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    return (sys.executable, "-c", program, json.dumps(fake), sweeps.WORKER[1])


def test_x(cluster: Cluster, tmp_path: Path):
    path = made(tmp_path)
    t = time.time()
    with ray_cluster.joined(cluster.address):
        nodes = ray_cluster.nodes()
        print(nodes)
        plan = planned(path, ray_cluster.machine_of(nodes))
        print("join", time.time() - t)
        t = time.time()
        with Stop() as stop:
            found = on_ray.Engine(plan and ray_cluster.machine_of(nodes), worker=worker()).run(plan.to_do, stop, lambda o: print(f"{time.time()-t:.2f}", o.status, o.message))
        print("ran", time.time() - t)
    print("left", time.time() - t)
    print(*[p.read_text() for p in tmp_path.glob("runs/*/log.txt")])
    assert 0
