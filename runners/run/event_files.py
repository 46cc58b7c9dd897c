"""Scalars of a run -> event files of TensorBoard, written by the package `tensorboard`.

Its `RecordWriter` writes to a file of ours, not its `EventFileWriter`: that one writes from a thread,
so a checkpoint could not tell how many bytes belong to the steps before it.

The first event of a file names the version; in a run that is resumed, the second is a `SessionLog`
with status START, which makes a TensorBoard that is open forget the steps from there on.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

PATTERN = "events.out.tfevents.*"
VERSION = "brain.Event:2"

Position = tuple[str, int]
"""The name of a run's newest event file, and its bytes."""


class EventFile:
    """A new event file of a run, open to be appended to. Writes are buffered until `flush`.

    Args:
        folder: the folder of the run.
        first_step: steps from here on in earlier files are no longer valid; None in a new run.

    Raises:
        ImportError: `tensorboard` is not installed.
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path, first_step: int | None = None) -> None:
        # here, as a run without curves needs no tensorboard
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        self.path = folder / _new_name(folder)
        self._file = self.path.open("xb")
        self._records = RecordWriter(self._file)
        self._write(file_version=VERSION)
        if first_step is not None:
            self._write(step=first_step, session_log=SessionLog(status=SessionLog.START))

    @property
    def position(self) -> Position:
        """What a checkpoint keeps and `cut_events` takes."""
        return self.path.name, self._file.tell()

    def add(self, step: int, scalars: Mapping[str, float], wall_time: float | None = None) -> None:
        """Append scalars, each rounded to a float of 32 bits: infinite beyond its range.

        Args:
            step: the number of updates.
            scalars: name -> value.
            wall_time: seconds since 1970; now if None.

        Raises:
            OSError: they cannot be written.
        """
        from tensorboard.compat.proto.summary_pb2 import Summary

        with np.errstate(over="ignore"):
            rounded = {name: float(np.float32(value)) for name, value in scalars.items()}
        values = [Summary.Value(tag=name, simple_value=value) for name, value in rounded.items()]
        self._write(wall_time, step=step, summary=Summary(value=values))

    def flush(self) -> None:
        """Hand what is buffered to the system.

        Raises:
            OSError: it cannot be written.
        """
        self._records.flush()

    def close(self) -> None:
        """Close the file.

        Raises:
            OSError: what is buffered cannot be written.
        """
        self._records.close()

    def _write(self, wall_time: float | None = None, **fields: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        seconds = time.time() if wall_time is None else wall_time
        self._records.write(Event(wall_time=seconds, **fields).SerializeToString())


def cut_events(folder: Path, position: Position | None) -> None:
    """Remove what was appended to a run's event files after a checkpoint.

    Args:
        folder: the folder of the run.
        position: the position at the checkpoint; None removes all event files.

    Raises:
        OSError: they cannot be changed.
    """
    name, size = position or ("", 0)
    for path in folder.glob(PATTERN):
        if path.name > name:
            path.unlink()
        elif path.name == name and path.stat().st_size > size:
            os.truncate(path, size)


def _new_name(folder: Path) -> str:
    """A name behind those of all event files in a folder: TensorBoard reads them in this order."""
    seconds = [int(path.name.split(".")[3]) for path in folder.glob(PATTERN) if _number(path)]
    number = max([int(time.time()), *(second + 1 for second in seconds)])
    return f"events.out.tfevents.{number:010d}.{socket.gethostname()}"


def _number(path: Path) -> bool:
    return path.name.split(".")[3].isdecimal()
