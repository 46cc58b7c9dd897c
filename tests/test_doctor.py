"""`lawdsl doctor`: what is wrong is said, whatever a check does, and what is right passes."""

from __future__ import annotations

import ast
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.doctor import checks as table
from lawdsl.runners.doctor.checks import CHECKS
from lawdsl.runners.doctor.execution import (
    Session,
    check_result,
    do_check,
    examine,
    interrupted,
    redacted,
)
from lawdsl.runners.doctor.records import (
    NEEDS,
    TIME_USED_UP,
    CheckResult,
    DoctorCheck,
    Examination,
    Measurement,
    at_least,
    at_most,
    equal,
    not_measured,
)
from lawdsl.runners.doctor.report import markdown
from lawdsl.runners.sweeps.machine import Machine

ROOT = Path(__file__).resolve().parent.parent
ROOM = ROOT / "runners" / "doctor"

FAULTS = """
import os, signal, sys, time
from lawdsl.runners.doctor.records import Measurement, at_most, not_measured
from lawdsl.runners.doctor.small_runs import RunFailed

def passes(check_input):
    yield at_most("small", 1.0, 2.0)

def fails(check_input):
    yield at_most("error", 3.0, 2.0, why="it is too large")
    yield Measurement("after", 1)

def is_killed(check_input):
    yield Measurement("before", 1)
    os.kill(os.getpid(), signal.SIGKILL)

def aborts(check_input):
    yield Measurement("before", 1)
    os.abort()

def raises(check_input):
    yield Measurement("before", 1)
    print("reading /home/somebody/secret/file.txt", file=sys.stderr)
    raise ValueError("no such kernel")

def run_fails(check_input):
    raise RunFailed("a run failed: no memory", ("its log",))
    yield

def hangs(check_input):
    yield Measurement("before", 1)
    time.sleep(600)

def ignores_the_end(check_input):
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield Measurement("child", child.pid)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1)

def measures_nothing(check_input):
    yield not_measured("rate", "there is no compiler")
"""


def fault(name: str, seconds: float = 30.0, **changes: object) -> DoctorCheck:
    """A check of the module FAULTS."""
    values = {"seconds": (seconds, seconds)} | changes
    return DoctorCheck(name, "what it shows", "doctor_faults", name, **values)  # type: ignore[arg-type]


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
        ([Measurement("a", 1)], 0, 60.0, "passed", ""),
        ([Measurement("a", 1), not_measured("b", "no GPU")], 0, 60.0, "passed", ""),
        ([not_measured("a", "no compiler")], 0, 60.0, "not measured", "no compiler"),
        ([], 0, 60.0, "not measured", "it yielded no figure"),
        ([at_most("a", 3, 2, why="large")], 0, 60.0, "failed", "a: large"),
        ([at_most("a", float("nan"), 2)], 0, 60.0, "failed", "a"),
        ([at_least("a", float("nan"), 2)], 0, 60.0, "failed", "a"),
        ([equal("a", "x", "y", "they differ")], 0, 60.0, "failed", "a: they differ"),
        ([Measurement("a", 1)], 1, 60.0, "failed", ""),
        ([Measurement("a", 1)], -9, 60.0, "failed", "its process was killed by SIGKILL"),
        ([Measurement("a", 1)], None, 60.0, "failed", "it was not finished after 60 s"),
        ([Measurement("a", 1)], 124, 60.0, "failed", "it was not finished after 60 s"),
        # the time of all checks was up, not its own: that is no fault of the machine
        ([Measurement("a", 1)], 124, None, "not measured", "it was cut short"),
        ([Measurement("a", 1)], None, None, "not measured", "it was cut short"),
        ([], None, None, "not measured", "it was cut short"),
        ([at_most("a", 3, 2)], None, None, "failed", "a"),
    ],
)
def test_a_check_is_judged_by_its_figures_and_its_end(
    figures: list[Measurement], code: int | None, limit: float | None, status: str, why: str
):
    result = check_result(fault("any"), figures, code, limit)

    assert (result.status, list(result.figures)) == (status, figures)
    assert result.why.startswith(why) and bool(result.why) == bool(why)


def test_a_check_of_speed_may_be_cut_short():
    for limit, whose in ((60.0, "its time"), (None, "the time of all checks")):
        result = check_result(fault("any", may_be_cut=True), [Measurement("a", 1)], None, limit)

        assert result.status == "passed"
        assert result.why == f"it was cut short: {whose} was used up"


def test_paths_and_the_host_are_not_reported():
    text = redacted(
        f'File "/home/ann lee/x.py", line 3, in /home/ann/lawdsl/cpt.py on {platform.node()}'
    )

    assert "ann" not in text and '"…/x.py"' in text and "…/cpt.py" in text
    assert len(platform.node()) <= 2 or platform.node() not in text
    assert redacted("12 tokens/s, 3/4 of N/A") == "12 tokens/s, 3/4 of N/A"


def test_a_path_with_spaces_that_is_not_quoted_is_not_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = tmp_path / "John Smith"
    (home / "my project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "my project")

    for text, shown in (
        (f"open {home}/secret/x.py: no such file", "open …/x.py: no such file"),
        (f"open {home}/my project/secret/x.py", "open …/x.py"),
        (f"in {home}/my project.", "in …."),
        (f"in {home}, or '{home}/a b/x.py'", "in …, or '…/x.py'"),
        (f"file://{home}/x.py", "file://…/x.py"),
        (f"{sys.prefix}/lib/torch.py", "…/torch.py"),
    ):
        assert redacted(text) == shown


def test_the_report_shows_what_failed_and_why_the_rest_was_not_measured():
    results = (
        CheckResult(
            "products",
            "the rate of products",
            "passed",
            2.25,
            (Measurement("bfloat16", 123456.7, "GFLOP/s"), at_most("error", 1e-6, 1e-5)),
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

    command = "for the rest: `lawdsl doctor --device cpu --only passes --only fails`."
    assert command in markdown(examined)
    others = (CheckResult("gpus", "two GPUs", "not measured", why="it needs several GPUs"),)
    assert "for the rest" not in markdown(Examination("cpu", True, 0.0, others))


def test_a_check_that_was_cut_short_is_not_passed_over_in_the_verdict():
    results = (
        CheckResult("machine", "the machine", "passed"),
        CheckResult(
            "resume", "a run", "not measured", 9.0, (Measurement("step", 20),), TIME_USED_UP
        ),
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
    begun = mock.patch("lawdsl.runners.doctor.execution.do_check", side_effect=AssertionError)
    for path in (tmp_path / "no" / "report.md", tmp_path):
        with rows, begun, pytest.raises(LawdslError) as error:
            CliRunner().invoke(
                cli, ["doctor", "-o", str(path)], standalone_mode=False, catch_exceptions=False
            )
        (diagnostic,) = error.value.diagnostics
        assert diagnostic.code == "L0313" and "folder" in diagnostic.message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_report_that_cannot_be_written_after_the_checks_is_printed(
    form: list[str], tmp_path: Path
):
    folder = tmp_path / "reports"
    folder.mkdir()

    def done(session: Session, check: DoctorCheck, *_: object, **__: object) -> CheckResult:
        folder.rmdir()
        return CheckResult(check.name, check.shows, "passed", 1.0, (Measurement("a", 17),))

    rows = mock.patch.object(table, "CHECKS", (fault("passes"),))
    with rows, mock.patch("lawdsl.runners.doctor.execution.do_check", done):
        arguments = ["doctor", "--device", "cpu", "-o", str(folder / "report.md"), *form]
        result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert result.return_value == 3, result.output
    assert "L0313" in result.output
    assert ("| a | 17 |" if not form else '"value": 17') in result.stdout


def test_an_interrupted_examination_has_the_results_until_then(session: Session):
    rows = (
        *(fault("passes"), fault("hangs"), fault("fails")),
        *(fault("aborts", needs="cuda"), fault("raises", quick=False)),
    )
    session.results.append(
        CheckResult("passes", "what it shows", "passed", 1.0, (Measurement("a", 1),))
    )
    (session.folder / "hangs").mkdir()
    figures = json.dumps(Measurement("before", 1).to_json()) + "\n"
    (session.folder / "hangs" / "figures.jsonl").write_text(figures, encoding="utf-8")

    text = markdown(interrupted(session, "cpu", checks=rows, quick=True, machine=Machine(1, {})))

    assert "The examination was interrupted before the end" in text
    assert "`lawdsl doctor --device cpu --only hangs --only fails`" in text
    assert "| a | 1 |" in text and "| before | 1 |" in text
    # what would not have been done is not for the rest
    assert "| aborts | not measured |  | it needs a GPU with CUDA |" in text
    assert "| raises | not measured |  | --quick leaves it out |" in text
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
    result = do_check(session, fault("ignores_the_end", 3.0), "cpu")

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
    assert "unknown check 'resme'" in done.output and "resume" in done.output
