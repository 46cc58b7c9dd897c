"""Scalars of a run -> event files of TensorBoard, written by the package `tensorboard`.

Its `RecordWriter` writes to a file opened here. Its `EventFileWriter` writes from a thread, so a
checkpoint could not determine the number of bytes of the steps before it.

The first event of a file has the version; in a resumed run, the second is a `SessionLog` with
status START, at which an open TensorBoard discards the steps from there on.
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
"""Name and size in bytes of a run's newest event file."""


class EventFile:
    """A new event file of a run, open to be appended to. Writes are buffered until `flush`.

    Args:
        folder: the folder of the run.
        first_step: steps from this one on in earlier files are invalid; None in a new run.

    Raises:
        ImportError: `tensorboard` is not installed.
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path, first_step: int | None = None) -> None:
        # imported here because a run without curves does not need tensorboard
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
        """The position stored in a checkpoint, the input of `cut_events`."""
        return self.path.name, self._file.tell()

    def add(self, step: int, scalars: Mapping[str, float], wall_time: float | None = None) -> None:
        """Append scalars, each rounded to a float of 32 bits: values beyond its range become
        infinite.

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
        """Flush the buffer to the operating system.

        Raises:
            OSError: it cannot be written.
        """
        self._records.flush()

    def close(self) -> None:
        """Close the file.

        Raises:
            OSError: the buffer cannot be written.
        """
        self._records.close()

    def _write(self, wall_time: float | None = None, **fields: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        seconds = time.time() if wall_time is None else wall_time
        self._records.write(Event(wall_time=seconds, **fields).SerializeToString())


def cut_events(folder: Path, position: Position | None) -> None:
    """Remove the events that were appended after a checkpoint.

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
    """A name that sorts after those of all event files in a folder, because TensorBoard reads them
    in this order.
    """
    seconds = [int(path.name.split(".")[3]) for path in folder.glob(PATTERN) if _number(path)]
    number = max([int(time.time()), *(second + 1 for second in seconds)])
    return f"events.out.tfevents.{number:010d}.{socket.gethostname()}"


def _number(path: Path) -> bool:
    return path.name.split(".")[3].isdecimal()
