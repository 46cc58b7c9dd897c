"""Records of the doctor: the input of a check, the figures that it yields, and its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Status = Literal["passed", "failed", "not measured"]
TIME_USED_UP = "the time of all checks was used up"
"""Part of the reason for results that were truncated or skipped because of the total time limit."""
INTERRUPTED = "the examination was interrupted"
"""The reason for results that were truncated or skipped because of a signal."""
NEEDS = ("cpu", "cuda", "several gpus")
"""Possible requirements of a check."""


@dataclass(frozen=True)
class Measurement:
    """One line of a check: what was measured, and what is expected of it.

    Attributes:
        name: the name of the measured quantity.
        value: the value; None where it was not measured.
        unit: the unit of the value.
        expected: the bound or value to compare with, as text; empty if there is none.
        ok: whether the value is as expected; a figure that is not fails its check.
        why: why it was not measured, or what an unexpected value means.
    """

    name: str
    value: float | int | str | None
    unit: str = ""
    expected: str = ""
    ok: bool = True
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """The figure as plain data; the keys are stable."""
        return asdict(self)


def not_measured(name: str, why: str, unit: str = "") -> Measurement:
    """A figure without a value, and the reason."""
    return Measurement(name, None, unit, why=why)


def at_most(name: str, value: float, bound: float, unit: str = "", why: str = "") -> Measurement:
    """A figure that must not exceed a bound; NaN does."""
    ok = value <= bound
    return Measurement(name, value, unit, f"at most {bound:.3g}", ok, "" if ok else why)


def at_least(name: str, value: float, bound: float, unit: str = "", why: str = "") -> Measurement:
    """A figure that must reach a bound; NaN does not."""
    ok = value >= bound
    return Measurement(name, value, unit, f"at least {bound:.3g}", ok, "" if ok else why)


def equal(name: str, value: str, expected: str, why: str) -> Measurement:
    """A figure that must equal another, such as a digest."""
    ok = value == expected
    return Measurement(name, value, "", expected, ok, "" if ok else why)


@dataclass(frozen=True)
class CheckInput:
    """The input of a check.

    Attributes:
        folder: an empty folder for this check.
        device: cpu or cuda.
        deadline: when it has to end, by `time.monotonic`.
        quick: whether the smallest version is requested.
    """

    folder: Path
    device: Literal["cpu", "cuda"]
    deadline: float
    quick: bool = False

    @property
    def on_gpu(self) -> bool:
        """Whether the check concerns the GPU."""
        return self.device == "cuda"

    def remaining(self) -> float:
        """Seconds until it has to end."""
        return self.deadline - time.monotonic()


CheckFunction = Callable[[CheckInput], Iterator[Measurement]]
"""A check yields each figure as soon as it is measured, so that a crash loses none before it."""


@dataclass(frozen=True)
class DoctorCheck:
    """One row of the table of checks.

    Attributes:
        name: its name in the report and for `--only`.
        shows: what it shows, in a sentence without a period.
        module: the module with its function, relative to this package.
        function: the name of the function, a `CheckFunction`.
        needs: cpu, cuda or several gpus.
        seconds: its time limit on a CPU and on a GPU; it is ended then.
        quick: whether `--quick` runs it too.
        may_be_cut: whether the figures obtained by its time limit suffice; otherwise reaching it is
            a failure.
    """

    name: str
    shows: str
    module: str
    function: str
    needs: Literal["cpu", "cuda", "several gpus"] = "cpu"
    seconds: tuple[float, float] = (60.0, 120.0)
    quick: bool = True
    may_be_cut: bool = False


@dataclass(frozen=True)
class CheckResult:
    """The result of a check.

    Attributes:
        name: the name of the check.
        shows: what the check shows.
        status: passed, failed or not measured.
        seconds: how long it took.
        figures: its figures, in the order in which they were measured.
        why: why it failed or was not measured; empty where it passed.
        log: the last lines that it printed, where it failed.
    """

    name: str
    shows: str
    status: Status
    seconds: float = 0.0
    figures: tuple[Measurement, ...] = ()
    why: str = ""
    log: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result as plain data; the keys are stable."""
        plain = asdict(self)
        return plain | {"figures": [figure.to_json() for figure in self.figures]}


@dataclass(frozen=True)
class Examination:
    """The results of all checks of a machine.

    Attributes:
        device: the device that was examined, cpu or cuda.
        quick: whether only the quick checks were requested.
        seconds: the total duration.
        results: the results of the checks, in the order of the table.
        date: when it ended, in UTC; empty if unknown.
        command: the command line, without options that do not affect results; empty if there was
            none.
    """

    device: str
    quick: bool
    seconds: float
    results: tuple[CheckResult, ...]
    date: str = ""
    command: str = ""

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The checks that failed."""
        return tuple(result for result in self.results if result.status == "failed")

    @property
    def unfinished(self) -> tuple[CheckResult, ...]:
        """The checks that were truncated or skipped because of the total time limit or a signal."""
        reasons = (TIME_USED_UP, INTERRUPTED)
        return tuple(r for r in self.results if any(reason in r.why for reason in reasons))

    def count(self, status: Status) -> int:
        """The number of checks of a status."""
        return sum(result.status == status for result in self.results)

    def to_json(self) -> dict[str, Any]:
        """The examination as plain data; the keys are stable."""
        return {
            "device": self.device,
            "quick": self.quick,
            "seconds": self.seconds,
            "date": self.date,
            "command": self.command,
            "passed": self.count("passed"),
            "failed": self.count("failed"),
            "not_measured": self.count("not measured"),
            "checks": [result.to_json() for result in self.results],
        }
