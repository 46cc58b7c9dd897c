"""Checks -> results: each check runs in a process of its own that is ended at its time limit.

A check may crash, hang, run out of memory or be killed: the figures that it has yielded are kept,
and the other checks continue.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from ..sweeps.machine import Machine, this_machine
from .checks import CHECKS
from .records import INTERRUPTED, TIME_USED_UP, CheckResult, DoctorCheck, Examination, Measurement

TOTAL_SECONDS = {"cpu": 120.0, "cuda": 600.0}
"""Time limit of all checks together, by device."""
# -P: a file of the working directory must not be imported in place of a module
WORKER = (sys.executable, "-P", "-m", "lawdsl.runners.doctor.worker")
PACKAGE = Path(__file__).resolve().parents[2]
FIGURES = "figures.jsonl"
WORK = "work"
TIME_UP = 124  # exit code of a check that has reached its deadline
LOG_TAIL_LINES = 12  # lines of a failed check's output that are reported
MAX_LINE_CHARACTERS = 300  # characters of such a line
END_SECONDS = 5.0  # seconds in which a check has to end its own processes
LEAST_SECONDS = (
    3.0  # seconds without which a check is not started: torch alone takes as long to load
)
QUOTED_PATH = re.compile(r"([\"'])/(?:[^\"'\n]*/)([^\"'/\n]*)\1")
PATH = re.compile(r"(?<![\w.])/(?:[^\s/:'\"<>|,;()]+/)+([^\s/:'\"<>|,;()]*)")

Device = Literal["cpu", "cuda"]
Announce = Callable[[DoctorCheck, CheckResult | None], None]


class Session:
    """The folder of an examination, its results so far, and the process of the active check.

    A context manager: however the block ends, that process is ended and the folder removed.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lawdsl-doctor-"))
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = time.monotonic()
        self.results: list[CheckResult] = []

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the active check and remove the folder; a signal handler may call it."""
        if self.process is not None:
            _end(self.process)
        shutil.rmtree(self.folder, ignore_errors=True)


def examine(
    session: Session,
    device: Device,
    *,
    checks: Sequence[DoctorCheck] = CHECKS,
    quick: bool = False,
    machine: Machine | None = None,
    announce: Announce = lambda check, result: None,
) -> Examination:
    """Do all checks in order.

    Args:
        session: the folder to work in.
        device: cpu or cuda.
        checks: the checks, in this order.
        quick: do_check only the quick checks.
        machine: the hardware available to checks; that of this machine if None.
        announce: called with each check when it begins, and again with its result.

    Returns:
        The results.
    """
    machine = machine or this_machine()
    session.started_at = time.monotonic()
    session.results.clear()
    for check in checks:
        left = TOTAL_SECONDS[device] - (time.monotonic() - session.started_at)
        why = _why_not(check, device, machine, quick, left)
        if why:
            result = CheckResult(check.name, check.shows, "not measured", why=why)
        else:
            announce(check, None)
            result = do_check(session, check, device, quick=quick, left=left)
        session.results.append(result)
        announce(check, result)
    return _examination(session, device, quick)


def interrupted(
    session: Session,
    device: Device,
    *,
    checks: Sequence[DoctorCheck] = CHECKS,
    quick: bool = False,
    machine: Machine | None = None,
) -> Examination:
    """End an examination early; a signal handler may call it.

    Args:
        session: its folder and results; it is closed.
        device: cpu or cuda.
        checks: the checks, in their order.
        quick: whether only the quick checks are requested.
        machine: the hardware available to checks; that of this machine if None.

    Returns:
        The results so far, with the figures of the active check; the others are not measured.
    """
    machine = machine or this_machine()
    for check in checks[len(session.results) :]:
        figures = tuple(_figures(session.folder / check.name / FIGURES))
        # checks that would have been skipped anyway need not be repeated
        why = _why_not(check, device, machine, quick, math.inf) or INTERRUPTED
        result = CheckResult(check.name, check.shows, "not measured", 0.0, figures, why)
        session.results.append(result)
    session.close()
    return _examination(session, device, quick)


def _examination(session: Session, device: Device, quick: bool) -> Examination:
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    seconds = time.monotonic() - session.started_at
    return Examination(device, quick, seconds, tuple(session.results), date)


def _why_not(check: DoctorCheck, device: Device, machine: Machine, quick: bool, left: float) -> str:
    """Why a check is skipped; empty if it is not."""
    if check.needs != "cpu" and device == "cpu":
        return "it needs a GPU with CUDA" if check.needs == "cuda" else "it needs several GPUs"
    if check.needs == "several gpus" and len(machine.gpus) < 2:
        return f"it needs several GPUs, and there is {len(machine.gpus) or 'none'}"
    if quick and not check.quick:
        return "--quick leaves it out"
    if left < LEAST_SECONDS:
        return TIME_USED_UP
    return ""


def do_check(
    session: Session,
    check: DoctorCheck,
    device: Device,
    *,
    quick: bool = False,
    left: float = TOTAL_SECONDS["cuda"],
) -> CheckResult:
    """Do one check in a process of its own.

    Args:
        session: the folder to work in.
        check: the check.
        device: cpu or cuda.
        quick: whether its smallest version is requested.
        left: remaining seconds for all checks.

    Returns:
        Its result.
    """
    folder = session.folder / check.name
    (folder / WORK).mkdir(parents=True)
    own = check.seconds[device == "cuda"]
    seconds = min(own, left)
    command = [*WORKER, f"{check.module}:{check.function}", str(folder), device, f"{seconds}"]
    begun = time.monotonic()
    with (folder / "log.txt").open("wb") as log:
        session.process = subprocess.Popen(
            [*command, "quick"] if quick else command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_environment(folder),
            start_new_session=True,
        )
        with suppress(subprocess.TimeoutExpired):
            session.process.wait(timeout=seconds)
        code = session.process.poll()
        _end(session.process)
    session.process = None
    result = check_result(check, _figures(folder / FIGURES), code, own if own <= left else None)
    log_lines = _log_tail(folder / "log.txt") if result.status == "failed" else ()
    # a message of the check itself is the last line that it prints
    if code and code > 0 and log_lines:
        result = replace(result, why=result.why or log_lines[-1])
    shutil.rmtree(folder, ignore_errors=True)
    return replace(result, seconds=time.monotonic() - begun, log=log_lines)


def check_result(
    check: DoctorCheck, figures: Sequence[Measurement], code: int | None, limit: float | None
) -> CheckResult:
    """Judge a check by its figures and by how its process ended.

    Args:
        check: the check.
        figures: the figures that it has yielded.
        code: the exit code, below 0 for a signal; None where it was ended because its time was up.
        limit: the time limit of the check; None if the limit of all checks was shorter.

    Returns:
        The result, without its log and seconds.
    """
    figures = tuple(figures)
    unexpected = [figure for figure in figures if not figure.ok]
    measured = [figure for figure in figures if figure.value is not None]
    status: Literal["passed", "failed", "not measured"] = "passed"
    why = ""
    if unexpected:
        first = unexpected[0]
        status, why = "failed", first.name + (f": {first.why}" if first.why else "")
    elif code in (None, TIME_UP) and limit is not None and not check.may_be_cut:
        status, why = "failed", f"it was not finished after {limit:.0f} s"
    elif code is None or code == TIME_UP:
        cause = TIME_USED_UP if limit is None else "its time was used up"
        why = f"it was cut short: {cause}"
        # the figures of other checks come last: without them nothing is shown
        status = "passed" if measured and check.may_be_cut else "not measured"
    elif code < 0:
        name = signal.Signals(-code).name
        cause = ", as the system does where memory runs out" if name == "SIGKILL" else ""
        status, why = "failed", f"its process was killed by {name}{cause}"
    elif code:
        status = "failed"
    elif not measured:
        status, why = "not measured", figures[0].why if figures else "it yielded no figure"
    return CheckResult(check.name, check.shows, status, figures=figures, why=why)


def redacted(text: str) -> str:
    """Remove from a text what a report must not contain: folders of paths and the host name."""
    # first, because these folder names may contain spaces, at which an unquoted path seems to end
    for folder in _private_folders():
        text = re.sub(rf"(?<![\w.]){re.escape(folder)}(?![\w-])", "/…", text)
    text = QUOTED_PATH.sub(r"\1…/\2\1", text)  # may have spaces
    text = PATH.sub(r"…/\1", text).replace("/……", "…")
    text = re.sub(r"(?<![\w./…])/…", "…", text)
    host = platform.node()
    return text.replace(host, "HOST") if len(host) > 2 else text


def _private_folders() -> list[str]:
    """The folders whose names are removed from the paths of a report, the longest first."""
    folders = {sys.prefix, sys.base_prefix, tempfile.gettempdir(), str(PACKAGE)}
    folders.add(os.path.expanduser("~"))
    with suppress(OSError):  # it may be gone
        folders.add(os.getcwd())
    folders |= {os.path.realpath(folder) for folder in folders}
    absolute = (folder.rstrip("/") for folder in folders if folder.startswith("/"))
    return sorted(filter(None, absolute), key=len, reverse=True)


def _environment(folder: Path) -> dict[str, str]:
    """The environment of a check: it has its own compile caches, so that compilation is measured."""
    return {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONUNBUFFERED": "1",
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process: SIGTERM, so that it ends its own processes, then SIGKILL for all."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_SECONDS)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # bounded: a signal handler may have interrupted another wait, which cannot continue meanwhile
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=END_SECONDS)


def _figures(path: Path) -> list[Measurement]:
    """The figures that a check has yielded; an incomplete last line is omitted."""
    figures = []
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError, TypeError):
                figures.append(_redacted_figure(Measurement(**json.loads(line))))
    return figures


def _redacted_figure(figure: Measurement) -> Measurement:
    value = redacted(figure.value) if isinstance(figure.value, str) else figure.value
    return replace(figure, name=redacted(figure.name), value=value, why=redacted(figure.why))


def _log_tail(path: Path) -> tuple[str, ...]:
    """The last lines that a check has printed, redacted."""
    text = path.read_bytes()[-(LOG_TAIL_LINES * 1000) :].decode("utf-8", errors="replace")
    return _shortened(line.rstrip() for line in text.splitlines() if line.strip())


def _shortened(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(redacted(line)[:MAX_LINE_CHARACTERS] for line in list(lines)[-LOG_TAIL_LINES:])
