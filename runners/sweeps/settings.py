"""The settings of runs in a sweep -> errors about settings with which no run can be trained."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lawdsl.core.diagnostics import Diagnostic

from ..spec import ExecutionConfig, Training

DEVICE = re.compile(r"auto|cpu(:0)?|cuda(:[0-9]+)?")


def setting_errors(
    raw: Mapping[str, Any],
    training: Mapping[str, Training],
    how: Mapping[str, ExecutionConfig],
) -> Iterator[Diagnostic]:
    """Yield errors about settings with which each run of a model would fail at its first step.

    Args:
        raw: the tables of the file, for the locations of settings.
        training, how: model -> the settings of its runs, if they are valid.

    Returns:
        An iterator over diagnostics: a device that does not exist (R0501), processes that cannot
        share a batch (R0502).
    """
    models = raw.get("models")
    for number, model in enumerate(models if isinstance(models, list) else (), 1):
        name = str(model.get("name")) if isinstance(model, dict) else ""
        if name not in how:
            continue
        execution = how[name]
        if not DEVICE.fullmatch(execution.device):
            message = f"unknown device {execution.device!r}"
            help = 'device = "auto", "cpu", "cuda", or "cuda:1" for the second GPU'
            if execution.device.lower().rstrip("s") in ("gpu", "nvidia"):
                help = 'write device = "cuda"'
            yield Diagnostic("R0501", message, place=_place("device", number, model), help=help)
        if name not in training or training[name].batch % execution.processes == 0:
            continue
        batch, processes = training[name].batch, execution.processes
        fewer = next(n for n in range(processes, 0, -1) if batch % n == 0)
        larger = -(-batch // processes) * processes
        yield Diagnostic(
            "R0502",
            f"{processes} processes cannot share a batch of {batch:,} row{'' if batch == 1 else 's'} evenly",
            place=_place("processes", number, model),
            help=f"processes = {fewer}, or batch = {larger} in [training]",
        )


def _place(key: str, number: int, model: Mapping[str, Any]) -> str:
    """The path of a setting, in a model's table or in the common one."""
    return f"models[{number}].{key}" if key in model else f"run.{key}"
