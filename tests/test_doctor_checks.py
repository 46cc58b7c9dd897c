"""The checks of `lawdsl doctor`, one by one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import commands
import pytest

from lawdsl.runners.doctor.checks import CHECKS
from lawdsl.runners.doctor.execution import Session, do_check
from lawdsl.runners.doctor.records import (
    CheckInput,
    DoctorCheck,
    Measurement,
)
from lawdsl.runners.sweeps.machine import Machine

ROOT = Path(__file__).resolve().parent.parent
GIB = 2**30
ON_CPU = [check for check in CHECKS if check.needs == "cpu"]


@pytest.fixture
def session() -> Iterator[Session]:
    with Session() as one:
        yield one
    assert not one.folder.exists()


def figures_of(check: DoctorCheck, folder: Path, seconds: float = 120.0) -> list[Measurement]:
    """The figures of a check, which is done in this process."""
    function = getattr(import_module(check.module, "lawdsl.runners.doctor"), check.function)
    check_input = CheckInput(folder, "cpu", time.monotonic() + seconds)
    with closing(function(check_input)) as figures:
        return list(figures)


def test_the_machine_is_described(tmp_path: Path):
    figures = {figure.name: figure for figure in figures_of(CHECKS[0], tmp_path)}

    assert 1 <= int(figures["cores that may be used"].value or 0) <= (os.cpu_count() or 1)
    assert all(figure.ok for figure in figures.values())
    assert {"torch", "transformers", "numpy", "sympy", "BLAS of torch"} <= set(figures)


def test_a_gpu_that_torch_does_not_see_is_wrong(tmp_path: Path):
    machine = import_module("lawdsl.runners.doctor.machine")
    with mock.patch.object(machine, "this_machine", lambda: Machine(2, {"0": "NVIDIA H200"})):
        figures = {figure.name: figure for figure in figures_of(CHECKS[0], tmp_path)}

    seen = figures["GPUs that torch sees"]
    assert (seen.value, seen.ok) == (0, False) and "without CUDA" in seen.why


def test_a_gpu_that_is_asked_for_where_the_driver_lists_none_is_wrong(tmp_path: Path):
    machine = import_module("lawdsl.runners.doctor.machine")
    check_input = CheckInput(tmp_path, "cuda", time.monotonic() + 60)
    with (
        mock.patch.object(machine, "this_machine", lambda: Machine(2, {})),
        mock.patch.object(machine.torch.cuda, "device_count", lambda: 0),
    ):
        (seen,) = machine._gpus(check_input)

    assert (seen.ok, seen.expected) == (False, "at least 1")
    assert seen.why == "the driver lists no GPU, or there is no driver"


def test_the_source_of_the_package_is_named(tmp_path: Path):
    machine = import_module("lawdsl.runners.doctor.machine")
    for record, source in (
        (None, "a package index"),
        ('{"url": "file:///home/ann/lawdsl", "dir_info": {}}', "a local folder"),
        ('{"url": "https://x/l.tar.gz", "archive_info": {}}', "an archive"),
        (
            json.dumps({"url": "x", "vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}}),
            "a repository, commit 0123456789ab",
        ),
        ("{", "unknown"),
    ):
        installed = SimpleNamespace(read_text=lambda name, record=record: record)
        with mock.patch.object(machine, "distribution", lambda name, one=installed: one):
            assert machine._installed_from(tmp_path) == source
    if not shutil.which("git"):
        return
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert machine._installed_from(tmp_path) == "a checkout, commit unknown"
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    commit = ["git", "-C", str(tmp_path), *identity, "commit", "-q", "--allow-empty", "-m", "one"]
    subprocess.run(commit, check=True)
    assert re.fullmatch("a checkout, commit [0-9a-f]{12}", machine._installed_from(tmp_path))


def test_the_rate_of_products_counts_two_operations_a_term():
    import torch

    from lawdsl.runners.doctor import products

    ticks = iter(range(100))
    with mock.patch.object(products.time, "perf_counter", lambda: float(next(ticks))):
        rate = products.product_rate(torch.device("cpu"), torch.float32, 16, 0.01)
    assert rate == 2 * 16**3


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["aten::mm", "aten::_scaled_dot_product_flash_attention_for_cpu"], ["flash"]),
        (["aten::_scaled_dot_product_cudnn_attention_backward"], ["cuDNN"]),
        (["cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16"], ["cuDNN"]),
        (["void pytorch_flash::flash_fwd_kernel<...>"], ["flash"]),
        (["aten::_scaled_dot_product_efficient_attention"], ["memory-efficient"]),
        (["fmha_cutlassF_bf16_aligned_64x64_rf_sm80"], ["memory-efficient"]),
        (["aten::_scaled_dot_product_attention_math", "aten::bmm"], ["math"]),
        (["aten::mm", "aten::softmax"], []),
    ],
)
def test_the_backend_of_attention_is_recognised(names: list[str], expected: list[str]):
    from lawdsl.runners.doctor.attention_backends import backends

    assert backends(names) == expected


@pytest.mark.slow
def test_attention_without_a_fast_kernel_is_wrong(tmp_path: Path):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    (attention,) = (check for check in CHECKS if check.name == "attention")
    with sdpa_kernel(SDPBackend.MATH):
        figures = figures_of(attention, tmp_path)

    assert [(figure.value, figure.ok) for figure in figures] == [("math", False)] * 2


@pytest.mark.slow
def test_a_wrong_loss_is_wrong(tmp_path: Path):
    from lawdsl.runners.doctor import gradients

    (eager,) = (check for check in CHECKS if check.name == "gradients")
    right = gradients.models.LanguageModelLoss

    class OneTokenMissing(right):  # type: ignore[valid-type,misc]
        def forward(self, tokens, each=False):  # type: ignore[no-untyped-def]
            return super().forward(tokens[:, :-1], each)

    # `load` examines the model with the right one
    models = SimpleNamespace(load=gradients.models.load, LanguageModelLoss=OneTokenMissing)
    with mock.patch.object(gradients, "models", models):
        figures = figures_of(eager, tmp_path)
    assert len(figures) == 4 and not any(figure.ok for figure in figures)


@pytest.mark.slow
@pytest.mark.parametrize("check", ON_CPU, ids=lambda check: check.name)
def test_each_check_alone_passes_on_this_cpu(check: DoctorCheck, session: Session):
    patient = replace(check, seconds=(400, 400))  # other tests take the cores too
    result = do_check(session, patient, "cpu")

    assert result.status == "passed", (result.why, result.log)
    assert any(figure.value is not None for figure in result.figures)
    assert str(Path.home()) not in json.dumps(result.to_json())


@pytest.mark.slow
def test_the_whole_command_passes_quickly(tmp_path: Path):
    report = tmp_path / "report.md"
    done = commands.run("doctor", "--quick", "--device", "cpu", "-o", report)

    text = report.read_text(encoding="utf-8")
    assert done.returncode == 0, text
    assert "**Nothing is wrong with what was measured of training on the CPU.**" in text
    for check in CHECKS:
        assert f"| {check.name} | " in text and (f"## {check.name}: " in text) == check.quick
    assert " UTC by `lawdsl doctor --quick --device cpu`." in text
    assert str(Path.home()) not in text and str(ROOT) not in text


@pytest.mark.slow
def test_the_large_model_is_measured_against_the_estimate_of_a_sweep(tmp_path: Path):
    """The check of the large model where there is no GPU, with a small one that is not compiled."""
    from lawdsl.runners.doctor import small_runs, training_speed
    from lawdsl.runners.run.memory import Placement, step_bytes
    from lawdsl.runners.training.memory import profile

    (check,) = (check for check in CHECKS if check.name == "large-model")
    orders = []

    def order(data, config, how, **rest):  # type: ignore[no-untyped-def]
        orders.append(small_runs.order(data, config, how | {"compile": False}, **rest))
        return orders[-1]

    small = {
        "QWEN2_HALF_BILLION": small_runs.TINY,
        "LARGE_ROWS": 4,
        "LARGE_SEQUENCE": 32,
        "MICRO_BATCHES": (2, 4),
        "order": order,
    }
    no_gpu = mock.patch.object(training_speed.torch.cuda, "reset_peak_memory_stats")
    with mock.patch.multiple(training_speed, **small), no_gpu:
        figures = {figure.name: figure for figure in figures_of(check, tmp_path)}

    assert [ordered.how.micro_batch for ordered in orders] == [2, 4]
    counted = profile(small_runs.TINY, 32, "bfloat16")
    for micro in (2, 4):
        # on a CPU the memory of the whole process is measured
        peak = figures[f"micro-batch {micro}: peak memory"]
        estimate = step_bytes(counted, 4, micro, Placement("cpu", "bfloat16"))
        assert not peak.ok and peak.expected == f"at most {estimate / GIB:.3g}"
        assert float(figures[f"micro-batch {micro}: training"].value or 0) > 0
        assert figures[f"micro-batch {micro}: MFU"].why.startswith("the device is not in the table")
    assert figures["saving"].value is not None


@pytest.mark.slow
def test_memory_that_suffices_shows_nothing_and_runs_beside_go_on(tmp_path: Path):
    """The check of memory where there is no GPU: what it takes is not missing on a CPU."""
    from lawdsl.runners.doctor import memory_exhaustion as exhaustion

    (check,) = (check for check in CHECKS if check.name == "memory")
    no_gpu = {
        "_free": lambda: 80 * GIB,
        "_peak": lambda rows: rows * GIB,
        "_take": lambda size: size,
    }
    with mock.patch.multiple(exhaustion, SEQUENCE=64, **no_gpu):
        figures = {figure.name: figure for figure in figures_of(check, tmp_path)}

    assert figures["memory of 8 rows at once"].value == 8
    assert [name for name, figure in figures.items() if not figure.ok] == ["out of memory at first"]
    assert figures["then, with a smaller micro-batch"].value == "done"
    assert figures["runs beside it"].value == "active"
    assert figures["losses of the runs beside it"].value == "equal"


@pytest.mark.slow
def test_too_little_memory_is_not_measured(tmp_path: Path):
    from lawdsl.runners.doctor import memory_exhaustion as exhaustion

    (check,) = (check for check in CHECKS if check.name == "memory")
    with mock.patch.object(exhaustion, "_free", lambda: 6 * GIB):
        (figure,) = figures_of(check, tmp_path)
    assert (
        figure.value is None and figure.why == "the GPU has 6.0 GiB of free memory, 12 are needed"
    )


def test_the_limit_of_a_container_counts_as_free_memory_where_it_is_less(tmp_path: Path):
    machine = import_module("lawdsl.runners.doctor.machine")
    meminfo, limit = tmp_path / "meminfo", tmp_path / "memory.max"
    meminfo.write_text(f"MemTotal: {64 * 2**20} kB\nMemAvailable: {32 * 2**20} kB\n")
    for text, free, ok in (
        ("1073741824\n", 1, False),
        ("max\n", 32, True),
        (f"{2**40}\n", 32, True),
    ):
        limit.write_text(text)
        with mock.patch.multiple(machine, MEMINFO=meminfo, MEMORY_LIMIT=limit):
            figures = {figure.name: figure for figure in machine._memory()}
        assert (figures["free memory"].value, figures["free memory"].ok) == (free, ok)
        assert ("container" in figures["free memory"].why) == (not ok)


def test_evaluation_is_measured_with_the_first_micro_batch_that_fits(tmp_path: Path):
    from lawdsl.runners.doctor import training_speed

    evaluated = []

    def large(check_input, data, micro, *, evaluate):  # type: ignore[no-untyped-def]
        if micro >= 8:
            raise MemoryError
        evaluated.append((micro, evaluate))
        yield Measurement(f"micro-batch {micro}: training", 1.0)

    (check,) = (check for check in CHECKS if check.name == "large-model")
    fakes = {"_large": large, "write_corpora": lambda folder, **_: folder}
    with mock.patch.multiple(training_speed, **fakes):
        figures = {figure.name: figure for figure in figures_of(check, tmp_path)}

    assert evaluated == [(4, True), (2, False), (1, False)]
    assert figures["micro-batch 8"].why == "out of memory"
    assert figures["micro-batch 16"].why == "micro-batch 8 is out of memory already"


@pytest.mark.parametrize(
    ("stdout", "stderr", "log"),
    [
        ('{"result": null, "diagnostics": [{"message": "no disk"}]}', "", ("no disk",)),
        ("", "Traceback\nValueError: no", ("Traceback", "ValueError: no")),
        ("half of {", "killed", ("half of {", "killed")),
    ],
)
def test_the_cause_of_a_sweep_that_fails_is_reported(
    stdout: str, stderr: str, log: tuple[str, ...], tmp_path: Path
):
    from lawdsl.runners.doctor import memory_exhaustion as exhaustion
    from lawdsl.runners.doctor.small_runs import RunFailed, TimeUp

    check_input = CheckInput(tmp_path, "cpu", time.monotonic() + 60)
    failed = subprocess.CompletedProcess([], 1, stdout, stderr)
    with mock.patch.object(exhaustion.subprocess, "run", return_value=failed):
        with pytest.raises(RunFailed, match="lawdsl run failed") as error:
            exhaustion._sweep(check_input, 8)
    assert error.value.log == log
    # a check whose time is up has not failed by that alone
    late = subprocess.TimeoutExpired([], 1.0)
    with mock.patch.object(exhaustion.subprocess, "run", side_effect=late):
        with pytest.raises(TimeUp, match="before lawdsl run was done"):
            exhaustion._sweep(check_input, 8)
