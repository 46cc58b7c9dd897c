"""Event files of a run, as TensorBoard reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tensorboard.compat.proto.event_pb2 import SessionLog


def read_events(path: Path) -> list[Any]:
    """The events of a file: `tensorboard.compat.proto.event_pb2.Event`."""
    return list(LegacyEventFileLoader(str(path)).Load())


def scalars(event: Any) -> dict[str, float]:
    """Name -> value."""
    return {value.tag: value.simple_value for value in event.summary.value}


def is_restart(event: Any) -> bool:
    """Whether TensorBoard forgets the steps from that of the event on."""
    return event.session_log.status == SessionLog.START


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Name -> steps and values of all event files of a run, in the order of the files."""
    named: dict[str, list[tuple[int, float]]] = {}
    for path in sorted(folder.glob("*tfevents*")):
        for event in read_events(path):
            for name, value in scalars(event).items():
                named.setdefault(name, []).append((event.step, value))
    return named
