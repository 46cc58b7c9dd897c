"""The result of a design: which runs to do next, and what they are expected to teach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.presentation import Presented
from lawdsl.core.records import read

DESIGN_SCHEMA = 1
METHODS = ("criterion", "spread", "first")
DERIVED = ("schema", "certain", "cost")
"""Keys of the plain data that follow from others."""


@dataclass(frozen=True)
class TargetEstimate:
    """A number that is to be known, and how well it is known.

    Attributes:
        name: `L at N = 70, D = 1.4`, or the unknown of a question.
        unit: as text; empty for none.
        value: by the present fits; None before the first run.
        half: half its 95 % interval, relative to the value: 0.02 for ± 2 %; infinite where the runs
            determine nothing; None before the first run. For a prediction it is the interval of what
            a run there would measure, widened so that it holds 95 % with a confidence of 90 %.
        after: the same once the batch is measured, as expected.
        best: the same once every candidate is measured, as expected.
        noise: the part of `best` that is the noise of a run at the target, which no other run lowers;
            0 where the target is not measured.
        dof: degrees of freedom of the standard deviation that the interval allows for; None where it
            is known otherwise.
    """

    name: str
    unit: str = ""
    value: float | None = None
    half: float | None = None
    after: float | None = None
    best: float | None = None
    noise: float = 0.0
    dof: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The estimate as plain data; the keys are stable."""
        return asdict(self)


@dataclass(frozen=True)
class DesignedRun:
    """A run of the batch.

    Attributes:
        label: as the candidates call it.
        point: column that the laws read -> its value at the end of the run, as the candidates have it.
        cost: in the unit of the design.
        share: of the whole budget.
        halves: half the interval of each target once this run and those before it are measured.
        reason: why it is in the batch.
    """

    label: str
    point: Mapping[str, float]
    cost: float
    share: float
    halves: tuple[float, ...]
    reason: str

    def to_json(self) -> dict[str, Any]:
        """The run as plain data; the keys are stable."""
        return {
            "label": self.label,
            "point": dict(self.point),
            "cost": self.cost,
            "share": self.share,
            "halves": list(self.halves),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Design(Presented):
    """Which runs to do next.

    Attributes:
        subject: the law, or the question.
        candidates: the name of the table or sweep.
        pool: the number of candidates that are left.
        targets: what is to be known.
        runs: the batch, in the order in which it was chosen; empty where nothing is to be run.
        method: `criterion`: the expected drop of the variance of the targets; `spread`: runs far
            from one another, where the runs so far determine no target; `first`: before the first
            fit.
        budget: of all runs.
        spent: on the candidates that are done.
        unit: of costs.
        stop: half the interval that is precise enough, 0.01 for ± 1 %; None without one.
        rivals: further laws by which the runs were judged.
        warnings: about the fits, the candidates and the targets.
        done: the number of candidates that are done.
        compared: of very many candidates, how many were compared as batches; None for all.
        command: the command line that made it; empty in Python.
    """

    subject: str
    candidates: str
    pool: int
    targets: tuple[TargetEstimate, ...]
    runs: tuple[DesignedRun, ...]
    method: str
    budget: float
    spent: float
    unit: str
    stop: float | None = None
    rivals: tuple[str, ...] = ()
    warnings: tuple[Diagnostic, ...] = field(default=())
    done: int = 0
    compared: int | None = None
    command: str = ""

    @property
    def cost(self) -> float:
        """What the batch costs."""
        return sum(run.cost for run in self.runs)

    @property
    def certain(self) -> bool:
        """Whether every target is known as precisely as was asked for."""
        if self.stop is None:
            return False
        return all(t.half is not None and t.half <= self.stop for t in self.targets)

    @property
    def exhausted(self) -> bool:
        """Whether a target is not yet known as precisely as was asked for, and no run can follow."""
        return self.stop is not None and not self.certain and not self.runs

    @property
    def labels(self) -> list[str]:
        """The labels of the runs of the batch."""
        return [run.label for run in self.runs]

    def to_json(self) -> dict[str, Any]:
        """The design as plain data; the keys are stable."""
        return {
            "schema": DESIGN_SCHEMA,
            "subject": self.subject,
            "candidates": self.candidates,
            "pool": self.pool,
            "done": self.done,
            "compared": self.compared,
            "method": self.method,
            "command": self.command,
            "certain": self.certain,
            "stop": self.stop,
            "budget": self.budget,
            "spent": self.spent,
            "cost": self.cost,
            "unit": self.unit,
            "rivals": list(self.rivals),
            "targets": [target.to_json() for target in self.targets],
            "runs": [run.to_json() for run in self.runs],
        }

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Design:
        """The design of what `to_json` returned, without its warnings.

        Args:
            content: the plain data.

        Raises:
            KeyError, TypeError, ValueError: data of another form.
        """
        stored = {name: value for name, value in content.items() if name not in DERIVED}
        return read(cls, {**stored, "warnings": []})


def worst(halves: Sequence[float | None]) -> float:
    """The widest of some intervals; infinite where one is not known."""
    return max((float("inf") if half is None else half for half in halves), default=float("inf"))
