"""`lawdsl doctor`: what is wrong is said, whatever a check does, and what is right passes."""

from __future__ import annotations

import ast
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
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
from click.testing import CliRunner

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.doctor import checks as table
from lawdsl.runners.doctor.checks import CHECKS
from lawdsl.runners.doctor.execution import Session, do, examine, interrupted, judged, redacted
from lawdsl.runners.doctor.records import (
    NEEDS,
    TIME_USED_UP,
    Check,
    CheckInput,
    CheckResult,
    Examination,
    Figure,
    at_least,
    at_most,
    equal,
    not_measured,
)
from lawdsl.runners.doctor.report import markdown
from lawdsl.runners.sweeps.machine import Machine

ROOT = Path(__file__).resolve().parent.parent
GIB = 2**30
ROOM = ROOT / "runners" / "doctor"
ON_CPU = [check for check in CHECKS if check.needs == "cpu"]

FAULTS = """
import os, signal, sys, time
from lawdsl.runners.doctor.records import Figure, at_most, not_measured
from lawdsl.runners.doctor.small_runs import RunFailed

def passes(given):
    yield at_most("small", 1.0, 2.0)

def fails(given):
    yield at_most("error", 3.0, 2.0, why="it is too large")
    yield Figure("after", 1)

def is_killed(given):
    yield Figure("before", 1)
    os.kill(os.getpid(), signal.SIGKILL)

def aborts(given):
    yield Figure("before", 1)
    os.abort()

def raises(given):
    yield Figure("before", 1)
    print("reading /home/somebody/secret/file.txt", file=sys.stderr)
    raise ValueError("no such kernel")

def run_fails(given):
    raise RunFailed("a run failed: no memory", ("its log",))
    yield

def hangs(given):
    yield Figure("before", 1)
    time.sleep(600)

def ignores_the_end(given):
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield Figure("child", child.pid)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1)

def measures_nothing(given):
    yield not_measured("rate", "there is no compiler")
"""


def fault(name: str, seconds: float = 30.0, **changes: object) -> Check:
    """A check of the module FAULTS."""
    values = {"seconds": (seconds, seconds)} | changes
    return Check(name, "what it shows", "doctor_faults", name, **values)  # type: ignore[arg-type]


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module FAULTS, where a check's process finds it."""
    (tmp_path / "doctor_faults.py").write_text(FAULTS, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(tmp_path)]))


@pytest.fixture
def session() -> Iterator[Session]:
    with Session() as one:
        yield one
    assert not one.folder.exists()


# --- the table


def test_each_row_of_the_table_has_its_function_and_a_time_limit():
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    for check in CHECKS:
        tree = ast.parse((ROOM / f"{check.module.lstrip('.')}.py").read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert check.function in functions
        assert check.needs in NEEDS
        assert check.seconds[1] > 0 and (check.seconds[0] > 0) == (check.needs == "cpu")


# --- results


@pytest.mark.parametrize(
    ("figures", "code", "limit", "status", "why"),
    [
        ([Figure("a", 1)], 0, 60.0, "passed", ""),
        ([Figure("a", 1), not_measured("b", "no GPU")], 0, 60.0, "passed", ""),
        ([not_measured("a", "no compiler")], 0, 60.0, "not measured", "no compiler"),
        ([], 0, 60.0, "not measured", "it yielded no figure"),
        ([at_most("a", 3, 2, why="large")], 0, 60.0, "failed", "a: large"),
        ([at_most("a", float("nan"), 2)], 0, 60.0, "failed", "a"),
        ([at_least("a", float("nan"), 2)], 0, 60.0, "failed", "a"),
        ([equal("a", "x", "y", "they differ")], 0, 60.0, "failed", "a: they differ"),
        ([Figure("a", 1)], 1, 60.0, "failed", ""),
        ([Figure("a", 1)], -9, 60.0, "failed", "its process was killed by SIGKILL"),
        ([Figure("a", 1)], None, 60.0, "failed", "it was not finished after 60 s"),
        ([Figure("a", 1)], 124, 60.0, "failed", "it was not finished after 60 s"),
        # the time of all checks was up, not its own: that is no fault of the machine
        ([Figure("a", 1)], 124, None, "not measured", "it was cut short"),
        ([Figure("a", 1)], None, None, "not measured", "it was cut short"),
        ([], None, None, "not measured", "it was cut short"),
        ([at_most("a", 3, 2)], None, None, "failed", "a"),
    ],
)
def test_a_check_is_judged_by_its_figures_and_its_end(
    figures: list[Figure], code: int | None, limit: float | None, status: str, why: str
):
    result = judged(fault("any"), figures, code, limit)

    assert (result.status, list(result.figures)) == (status, figures)
    assert result.why.startswith(why) and bool(result.why) == bool(why)


def test_a_check_of_speed_may_be_cut_short():
    for limit, whose in ((60.0, "its time"), (None, "the time of all checks")):
        result = judged(fault("any", may_be_cut=True), [Figure("a", 1)], None, limit)

        assert result.status == "passed"
        assert result.why == f"it was cut short: {whose} was used up"


def test_paths_and_the_host_are_not_reported():
    text = redacted(
        f'File "/home/ann lee/x.py", line 3, in /home/ann/lawdsl/cpt.py on {platform.node()}'
    )

    assert "ann" not in text and '"…/x.py"' in text and "…/cpt.py" in text
    assert len(platform.node()) <= 2 or platform.node() not in text
    assert redacted("12 tokens/s, 3/4 of N/A") == "12 tokens/s, 3/4 of N/A"


def test_the_report_shows_what_failed_and_why_the_rest_was_not_measured():
    results = (
        CheckResult(
            "products",
            "the rate of products",
            "passed",
            2.25,
            (Figure("bfloat16", 123456.7, "GFLOP/s"), at_most("error", 1e-6, 1e-5)),
        ),
        CheckResult(
            "resume",
            "killed and resumed",
            "failed",
            9.0,
            (equal("weights", "ab", "cd", "they differ | a lot"),),
            "weights: they differ | a lot",
            ("last line",),
        ),
        CheckResult("gpus", "two GPUs", "not measured", why="it needs several GPUs"),
    )
    text = markdown(Examination("cpu", False, 11.4, results))

    assert text.splitlines()[2] == (
        "**Something is wrong with training on the CPU: `resume`.** 1 check passed, 1 failed, "
        "1 not measured, in 11 s."
    )
    assert "| products | passed | 2.2 | the rate of products |" in text
    assert "| resume | failed | 9.0 | weights: they differ \\| a lot |" in text
    assert "| gpus | not measured |  | it needs several GPUs |" in text
    assert "| bfloat16 | 123,457 GFLOP/s |  |" in text
    assert "| error | 1e-06 | at most 1e-05 |" in text
    assert "| weights | ab | **cd** they differ \\| a lot |" in text
    assert "```\nlast line\n```" in text
    assert "## gpus" not in text  # the table says all


def test_checks_for_which_the_time_did_not_suffice_are_named_as_a_command(session: Session):
    rows = (fault("passes"), fault("fails"))
    with mock.patch.dict("lawdsl.runners.doctor.execution.TOTAL_SECONDS", {"cpu": 0.0}):
        examined = examine(session, "cpu", checks=rows, machine=Machine(1, {}))

    command = "for the rest: `lawdsl doctor --only passes --only fails`."
    assert command in markdown(examined)
    others = (CheckResult("gpus", "two GPUs", "not measured", why="it needs several GPUs"),)
    assert "for the rest" not in markdown(Examination("cpu", True, 0.0, others))


def test_a_check_that_was_cut_short_is_not_passed_over_in_the_verdict():
    results = (
        CheckResult("machine", "the machine", "passed"),
        CheckResult("resume", "a run", "not measured", 9.0, (Figure("step", 20),), TIME_USED_UP),
    )
    text = markdown(Examination("cpu", False, 120.0, results, "2026-05-01 10:00 UTC", "lawdsl x"))

    assert "**Not all was measured; what was measured of training on the CPU is in order.**" in text
    assert "Written on 2026-05-01 10:00 UTC by `lawdsl x`." in text
    assert "| step | 20 |  |" in text  # a check that was cut keeps its figures


def test_what_was_not_measured_is_not_called_in_order():
    results = (CheckResult("gpus", "two GPUs", "not measured", why="it needs several GPUs"),)

    text = markdown(Examination("cpu", True, 0.0, results))

    assert "**Nothing was measured.**" in text


# --- isolation


def test_a_check_that_crashes_is_reported_with_exit_1_and_the_others_go_on(
    faults: None, tmp_path: Path
):
    rows = (fault("is_killed"), fault("passes"))
    report = tmp_path / "report.md"
    with mock.patch.object(table, "CHECKS", rows):
        done = CliRunner().invoke(
            cli, ["doctor", "--device", "cpu", "--json", "-o", str(report)], standalone_mode=False
        )

    assert done.return_value == 1, done.output
    document = json.loads(done.stdout)
    killed, passed = document["result"]["checks"]
    assert killed["status"] == "failed" and "SIGKILL" in killed["why"]
    assert [figure["name"] for figure in killed["figures"]] == ["before"]
    assert passed["status"] == "passed"
    assert [d["code"] for d in document["diagnostics"]] == ["R0901"]
    assert "its process was killed by SIGKILL" in report.read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written_is_refused_before_the_checks(tmp_path: Path):
    rows = mock.patch.object(table, "CHECKS", (fault("passes"),))
    begun = mock.patch("lawdsl.runners.doctor.execution.do", side_effect=AssertionError)
    for path in (tmp_path / "no" / "report.md", tmp_path):
        with rows, begun, pytest.raises(LawdslError) as error:
            CliRunner().invoke(
                cli, ["doctor", "-o", str(path)], standalone_mode=False, catch_exceptions=False
            )
        (diagnostic,) = error.value.diagnostics
        assert diagnostic.code == "L0313" and "a folder that exists" in diagnostic.help
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_report_that_cannot_be_written_after_the_checks_is_printed(
    form: list[str], tmp_path: Path
):
    folder = tmp_path / "reports"
    folder.mkdir()

    def done(session: Session, check: Check, *_: object, **__: object) -> CheckResult:
        folder.rmdir()
        return CheckResult(check.name, check.shows, "passed", 1.0, (Figure("a", 17),))

    rows = mock.patch.object(table, "CHECKS", (fault("passes"),))
    with rows, mock.patch("lawdsl.runners.doctor.execution.do", done):
        arguments = ["doctor", "--device", "cpu", "-o", str(folder / "report.md"), *form]
        result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert result.return_value == 3, result.output
    assert "L0313" in result.output
    assert ("| a | 17 |" if not form else '"value": 17') in result.stdout


def test_an_interrupted_examination_has_the_results_until_then(session: Session):
    rows = (fault("passes"), fault("hangs"), fault("fails"))
    session.results.append(CheckResult("passes", "what it shows", "passed", 1.0, (Figure("a", 1),)))
    (session.folder / "hangs").mkdir()
    figures = json.dumps(Figure("before", 1).to_json()) + "\n"
    (session.folder / "hangs" / "figures.jsonl").write_text(figures, encoding="utf-8")

    text = markdown(interrupted(session, "cpu", checks=rows))

    assert "The examination was interrupted before the end" in text
    assert "`lawdsl doctor --only hangs --only fails`" in text
    assert "| a | 1 |" in text and "| before | 1 |" in text
    assert "Not all was measured" in text and not session.folder.exists()


@pytest.mark.slow
def test_whatever_a_check_does_it_has_a_result(faults: None, session: Session):
    rows = [fault(name) for name in ("passes", "fails", "aborts", "raises", "run_fails")]
    rows += [fault("hangs", 3.0), fault("measures_nothing"), fault("no_such_function")]

    examined = examine(session, "cpu", checks=rows, machine=Machine(1, {}))

    results = {result.name: result for result in examined.results}
    assert {name: result.status for name, result in results.items()} == {
        "passes": "passed",
        "fails": "failed",
        "aborts": "failed",
        "raises": "failed",
        "run_fails": "failed",
        "hangs": "failed",
        "measures_nothing": "not measured",
        "no_such_function": "failed",
    }
    assert results["fails"].why == "error: it is too large" and len(results["fails"].figures) == 2
    assert "SIGABRT" in results["aborts"].why
    assert results["raises"].why == "ValueError: no such kernel"
    assert "reading …/file.txt" in results["raises"].log
    assert results["run_fails"].why == "a run failed: no memory"
    assert "its log" in results["run_fails"].log
    assert results["hangs"].why == "it was not finished after 3 s"
    assert [figure.name for figure in results["hangs"].figures] == ["before"]
    assert results["measures_nothing"].why == "there is no compiler"
    assert "no_such_function" in results["no_such_function"].why


@pytest.mark.slow
def test_processes_of_a_check_that_does_not_end_are_killed(faults: None, session: Session):
    result = do(session, fault("ignores_the_end", 3.0), "cpu")

    assert result.why == "it was not finished after 3 s"
    (child,) = result.figures
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child.value}/status").exists() and time.monotonic() < deadline:
        state = Path(f"/proc/{child.value}/status").read_text(encoding="utf-8")
        if "zombie" in state:
            break
        time.sleep(0.05)
    else:
        assert time.monotonic() < deadline


@pytest.mark.slow
def test_an_interrupt_ends_all_and_leaves_nothing(tmp_path: Path):
    place = tmp_path / "temporary"
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "lawdsl", "doctor", "--device", "cpu", "--only", "resume"]
    doctor = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(place.glob("*/resume/work/*/checkpoints")) and time.monotonic() < deadline:
        time.sleep(0.05)
    doctor.send_signal(signal.SIGINT)
    report, said = doctor.communicate(timeout=30)

    assert doctor.returncode == 130 and "interrupted" in said
    assert "| resume | not measured |  | the examination was interrupted |" in report
    assert not list(place.glob("lawdsl-doctor-*"))
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [line for line in lines if bytes(place) in line]


@pytest.mark.slow
def test_a_check_ends_with_the_process_that_started_it(faults: None, tmp_path: Path):
    program = (
        "import subprocess, sys, time\n"
        "from lawdsl.runners.doctor.execution import WORKER\n"
        f"command = [*WORKER, 'doctor_faults:hangs', {str(tmp_path)!r}, 'cpu', '600']\n"
        "print(subprocess.Popen(command, start_new_session=True).pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    check = Path("/proc") / parent.stdout.readline().strip()
    deadline = time.monotonic() + 60
    while not (tmp_path / "figures.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    parent.kill()
    parent.communicate()
    while check.exists() and "zombie" not in (check / "status").read_text(encoding="utf-8"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_check_that_lacks_what_it_needs_says_so(session: Session):
    rows = [
        fault("a", needs="cuda"),
        fault("b", needs="several gpus"),
        fault("c", quick=False),
    ]
    examined = examine(session, "cpu", checks=rows, quick=True, machine=Machine(1, {}))
    one = examine(session, "cuda", checks=rows[1:2], machine=Machine(1, {"0": "H200"}))

    results = [*examined.results, *one.results]
    assert {result.status for result in results} == {"not measured"}
    assert [result.why for result in results] == [
        "it needs a GPU with CUDA",
        "it needs several GPUs",
        "--quick leaves it out",
        "it needs several GPUs, and there is 1",
    ]
    assert not examined.failed


def test_an_unknown_check_is_refused_with_the_names_of_all():
    done = CliRunner().invoke(cli, ["doctor", "--only", "resme"])

    assert done.exit_code == 2
    assert "there is no check 'resme'" in done.output and "resume" in done.output


# --- the checks


def figures_of(check: Check, folder: Path, seconds: float = 120.0) -> list[Figure]:
    """The figures of a check, which is done in this process."""
    function = getattr(import_module(check.module, "lawdsl.runners.doctor"), check.function)
    given = CheckInput(folder, "cpu", time.monotonic() + seconds)
    with closing(function(given)) as figures:
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
    given = CheckInput(tmp_path, "cuda", time.monotonic() + 60)
    with (
        mock.patch.object(machine, "this_machine", lambda: Machine(2, {})),
        mock.patch.object(machine.torch.cuda, "device_count", lambda: 0),
    ):
        (seen,) = machine._gpus(given)

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
def test_each_check_alone_passes_on_this_cpu(check: Check, session: Session):
    patient = replace(check, seconds=(400, 400))  # other tests take the cores too
    result = do(session, patient, "cpu")

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
