"""Precision belongs to what a run is: chosen by the machine when its order is written, then fixed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import sweeps
from rich.console import Console
from sweeps import TEXT, made
from test_memory import PROFILES

from lawdsl.core.diagnostics import LawdslError
from lawdsl.reporting.runs import show_plan
from lawdsl.runners.run.model_facts import ModelFacts
from lawdsl.runners.spec import (
    CorpusSpec,
    ExecutionConfig,
    ModelSpec,
    Run,
    RunOrder,
    Training,
    write_order,
)
from lawdsl.runners.sweeps import machine
from lawdsl.runners.sweeps.grid import folder_of, orders_of
from lawdsl.runners.sweeps.inputs import inputs_of
from lawdsl.runners.sweeps.machine import Machine
from lawdsl.runners.sweeps.plan import Plan, plan_of
from lawdsl.runners.sweeps.sweep import read_sweep
from lawdsl.runners.tables.run_set import gather_runs

CPU = Machine(2, {}, host_bytes=8 * 2**30)
H100 = Machine(2, {"0": "NVIDIA H100 80GB HBM3"}, {"0": 80 * 2**30}, {"0": 9.0})
V100 = Machine(2, {"0": "Tesla V100-SXM2-16GB"}, {"0": 16 * 2**30}, {"0": 7.0})
NAMELESS = Machine(2, {"GPU-1": ""})


def a_run(**training: object) -> Run:
    return Run(
        model=ModelSpec(name="m", fingerprint="f"),
        corpora={
            "general": CorpusSpec(fingerprint="g", share="2/3"),
            "code": CorpusSpec(fingerprint="c", share="1/3"),
        },
        validation={"code": "v"},
        training=Training(steps=20, batch=4, sequence=8, learning_rate=1e-3, **training),
        evaluate=(0, 10, 20),
        seed=1,
    )


def orders(path: Path, where: Machine | None) -> list[RunOrder]:
    sweep = read_sweep(path)
    return orders_of(sweep, inputs_of(sweep, sweeps.inspect), where)


def precisions(path: Path, where: Machine | None) -> set[str]:
    return {order.run.training.precision for order in orders(path, where)}


@pytest.mark.parametrize(
    ("precision", "identity"),
    [("float32", "918131f7935f8dd1"), ("bfloat16", "5b52fa57980d2ac0")],
)
def test_identities_are_those_of_earlier_versions(precision: str, identity: str):
    assert a_run(precision=precision).identity() == identity
    assert (a_run().identity() == identity) == (precision == "float32")


def test_every_precision_is_another_run_and_auto_is_none():
    names = {a_run(precision=name).identity() for name in ("float32", "tf32", "bfloat16")}
    assert len(names) == 3
    with pytest.raises(ValueError, match="a run names one"):
        a_run(precision="auto")


def test_how_a_run_is_executed_is_no_part_of_its_identity():
    assert "checkpoint_activations" in ExecutionConfig.model_fields
    assert not set(ExecutionConfig.model_fields) & {*Run.model_fields, *Training.model_fields}


@pytest.mark.parametrize(
    ("where", "precision"),
    [(None, "float32"), (CPU, "float32"), (V100, "float32"), (NAMELESS, "float32")]
    + [(H100, "bfloat16"), (Machine(2, {"0": "A100"}), "bfloat16")]
    + [(Machine(2, {"0": "NVIDIA L4", "1": "Tesla T4"}), "float32")],
)
def test_gpus_that_have_bfloat16_use_it(where: Machine | None, precision: str, tmp_path: Path):
    assert precisions(made(tmp_path), where) == {precision}


def test_what_the_sweep_says_stands(tmp_path: Path):
    text = sweeps.with_lines(TEXT, training='precision = "float32"')
    assert precisions(made(tmp_path, text), H100) == {"float32"}
    on_cpu = sweeps.with_lines(TEXT, run='device = "cpu"')
    assert precisions(made(tmp_path, on_cpu), H100) == {"float32"}


def test_a_sweep_that_has_begun_keeps_its_precision_on_any_machine(tmp_path: Path):
    path = made(tmp_path)
    first = orders(path, CPU)[0]
    write_order(folder_of(read_sweep(path), first), first)
    by_model = {o.run.model.name: o.run.training.precision for o in orders(path, H100)}
    assert by_model == {"small": "float32", "large": "bfloat16"}


def test_the_table_takes_the_runs_whatever_precision_the_machine_chose(tmp_path: Path):
    path = made(tmp_path)
    for order in orders(path, H100):
        write_order(folder_of(read_sweep(path), order), order)
    runs, _ = gather_runs([path])
    assert len(runs) == 6
    path.write_text(sweeps.with_lines(TEXT, training='precision = "float32"'))
    assert gather_runs([path])[0] == []


BRANCHED = TEXT.replace("[run]\n", "[schedule]\nbranches = [0.25, 1]\ndecay = 0.2\n[run]\n")
STATED = sweeps.with_lines(BRANCHED, training='precision = "float32"')


def test_decay_branches_have_the_identities_of_the_precision_that_the_machine_chose(tmp_path: Path):
    path = made(tmp_path, STATED)
    stated = {order.label: order.run.identity() for order in orders(path, CPU)}
    path.write_text(BRANCHED)
    assert {order.label: order.run.identity() for order in orders(path, CPU)} == stated
    on_gpu = {order.label: order.run for order in orders(path, H100)}
    assert {run.training.precision for run in on_gpu.values()} == {"bfloat16"}
    path.write_text(STATED.replace('precision = "float32"', 'precision = "bfloat16"'))
    low = {order.label: order.run.identity() for order in orders(path, CPU)}
    assert {label: run.identity() for label, run in on_gpu.items()} == low
    assert not set(low.values()) & set(stated.values())


def test_decay_branches_that_have_begun_keep_their_precision(tmp_path: Path):
    path = made(tmp_path, BRANCHED)
    begun = [order for order in orders(path, CPU) if order.prefix][-1]
    write_order(folder_of(read_sweep(path), begun), begun)
    by_model = {(o.run.model.name, o.run.training.precision) for o in orders(path, H100)}
    assert by_model == {("small", "bfloat16"), ("large", "float32")}


def plan(path: Path, where: Machine, facts: dict[str, object] | None = None) -> Plan:
    sweep = read_sweep(path)

    def inspect(sources: list[object]) -> list[ModelFacts]:
        known = sweeps.inspect(sources)
        return [ModelFacts(**vars(one) | {"memory": PROFILES} | (facts or {})) for one in known]

    inputs = inputs_of(sweep, inspect)
    return plan_of(sweep, inputs, orders_of(sweep, inputs, where), where, 2)


def test_tf32_is_refused_on_a_cpu(tmp_path: Path):
    path = made(tmp_path, sweeps.with_lines(TEXT, training='precision = "tf32"'))
    with pytest.raises(LawdslError) as error:
        plan(path, Machine(2, {}))
    assert {d.code for d in error.value.diagnostics} == {"R0501"}
    assert plan(path, Machine(2, {"0": "NVIDIA L4"})).warnings == ()


def test_the_plan_says_what_a_run_takes_of_a_gpu(tmp_path: Path):
    found = plan(made(tmp_path), H100)
    memory = found.runs[0].memory
    assert memory is not None and memory.on_gpu and memory.available == 80 * 2**30
    assert (memory.micro, memory.checkpointed) == (4, False)
    assert json.loads(json.dumps(found.to_json()))["runs"][0]["memory"]["micro_batch"] == 4
    assert found.warnings == ()


def test_what_cannot_fit_is_refused_with_a_way_out(tmp_path: Path):
    small = Machine(2, {"0": "NVIDIA A2"}, {"0": 16 * 10**9})
    with pytest.raises(LawdslError) as error:
        plan(made(tmp_path), small)
    (first, _) = error.value.diagnostics
    assert first.code == "R0125"
    assert "a run of small takes at least 16.1 GB with micro_batch = 1" in first.message
    assert first.message.endswith("a GPU has 16 GB")
    assert first.help.startswith("more processes with sharded = true")


@pytest.mark.parametrize(
    ("line", "gigabytes", "help"),
    [
        ("threads = 1", 30, "micro_batch = 1 in [run]"),
        ("threads = 1", 20, "checkpoint_activations = true in [run]"),
        # all rows at once need no second copy of the gradients
        ("micro_batch = 1\ncheckpoint_activations = true", 16.1, "micro_batch = 4 in [run]"),
        ("micro_batch = 2", 16.1, "micro_batch = 4 and checkpoint_activations = true in [run]"),
        ("threads = 1", 15, "a smaller model, or a host with more memory"),
        ("processes = 2", 25, "a smaller model, or a host with more memory"),
    ],
)
def test_advice_about_memory_is_what_makes_a_run_fit(
    line: str, gigabytes: float, help: str, tmp_path: Path
):
    """Where nothing does, the part is named that no micro-batch changes."""
    path = made(tmp_path, sweeps.with_lines(TEXT, run=line))
    host = Machine(2, {}, host_bytes=int(gigabytes * 10**9))
    with pytest.raises(LawdslError) as error:
        plan(path, host)
    first = error.value.diagnostics[0]
    assert (first.code, first.help) == ("R0125", help)
    state = 32 if "processes" in line else 16
    fixed = (f"weights, gradients and moments alone take {state} GB, with any micro_batch",)
    assert first.notes == (() if "[run]" in help else fixed)
    if "[run]" not in help:
        return
    changed = help.removesuffix(" in [run]").replace(" and ", "\n")
    names = [setting.partition(" = ")[0] for setting in changed.splitlines()]
    kept = [old for old in line.splitlines() if old.partition(" = ")[0] not in names]
    path = made(tmp_path, sweeps.with_lines(TEXT, run="\n".join([changed, *kept])))
    assert {d.severity for d in plan(path, host).warnings} <= {"warning"}
    memory = plan(path, host).runs[0].memory
    assert memory is not None and memory.bytes <= gigabytes * 10**9


def test_a_model_whose_passes_cannot_be_counted_is_said_with_the_reason(tmp_path: Path):
    found = plan(made(tmp_path), V100, {"memory": {}, "uncounted": "shapes depend on data"})
    shown = io.StringIO()
    show_plan(found.to_json(), Console(file=shown, width=120))
    assert (
        "the memory of small is unknown, and its runs may fail: shapes depend" in shown.getvalue()
    )


def test_runs_that_may_not_fit_are_warned_of(tmp_path: Path):
    path = made(tmp_path, sweeps.with_lines(TEXT, run="micro_batch = 1"))
    host = Machine(2, {}, host_bytes=45 * 10**9)
    found = {(d.code, d.severity) for d in plan(path, host).warnings}
    assert found == {("R0125", "warning")}
    enough = Machine(2, {}, host_bytes=130 * 10**9)
    assert plan(path, enough).warnings == ()


def test_fewer_runs_at_once_are_advised_only_where_one_alone_fits(tmp_path: Path):
    path = made(tmp_path)
    (memory,) = {run.memory for run in plan(path, Machine(2, {}, host_bytes=10**12)).runs}
    assert memory is not None
    for part, help in ((0.97, "micro_batch = 2 in [run]"), (1.5, "lower --jobs, or micro_batch")):
        host = Machine(2, {}, host_bytes=int(part * memory.bytes))
        warning = plan(path, host).warnings[0]
        assert (warning.code, warning.severity) == ("R0125", "warning")
        assert warning.help.startswith(help)


def test_a_model_whose_passes_cannot_be_counted_has_no_estimate(tmp_path: Path):
    found = plan(made(tmp_path), V100, {"memory": {}})
    assert {run.memory for run in found.runs} == {None}
    assert found.warnings == ()


def test_memory_and_capability_of_gpus_are_the_drivers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    driver = tmp_path / "nvidia-smi"
    line = "0, NVIDIA H200, GPU-abc, 143771, 9.0"
    driver.write_text(f"#!/bin/sh\necho '{line}'\n")
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    found = machine.this_machine()
    assert (found.gpus, found.gpu_bytes) == ({"0": "NVIDIA H200"}, {"0": 143771 * 2**20})
    assert found.capabilities == {"0": 9.0}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-abc")
    assert machine.this_machine().gpus == {"GPU-abc": "NVIDIA H200"}
    assert machine.this_machine().host_bytes
