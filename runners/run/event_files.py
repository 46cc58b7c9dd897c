"""Scalars of a run -> event files of TensorBoard, without TensorFlow.

A file is a sequence of records of TFRecord: the length (uint64), its masked CRC-32C, the content and
its masked CRC-32C, all little-endian; the mask rotates the sum to the right by 15 bits and adds
0xa282ead8. The content is a message `Event` of protocol buffers (tensorboard/compat/proto/
event.proto). The first event of a file names the version; in a run that is resumed, the second is a
`SessionLog` with status START, which makes a TensorBoard that is open forget the steps from there
on. Source: tensorflow/core/lib/io/record_writer.h.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

PATTERN = "events.out.tfevents.*"
VERSION = b"brain.Event:2"
CRC_POLYNOMIAL = 0x82F63B78  # of CRC-32C (Castagnoli), bits reversed: RFC 3720, section B.4
CRC_MASK = 0xA282EAD8
START = b"\x08\x01"  # SessionLog.status = START
# tags of fields in protocol buffers: (number << 3) | kind, with kind 0 for variable-length integers,
# 1 for doubles, 2 for messages and strings, 5 for floats
WALL_TIME, STEP, FILE_VERSION, SUMMARY, SESSION_LOG = b"\x09", b"\x10", b"\x1a", b"\x2a", b"\x3a"
VALUE, TAG, SIMPLE_VALUE = b"\x0a", b"\x0a", b"\x15"

Position = tuple[str, int]
"""The name of a run's newest event file, and its bytes."""


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (CRC_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


CRC_TABLE = _crc_table()


class EventFile:
    """A new event file of a run, open to be appended to. Writes are buffered until `flush`.

    Args:
        folder: the folder of the run.
        first_step: steps from here on in earlier files are no longer valid; None in a new run.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path, first_step: int | None = None) -> None:
        self.path = folder / _new_name(folder)
        self.size = 0
        self._file: BinaryIO = self.path.open("xb")
        self._write(_event(0) + FILE_VERSION + _sized(VERSION))
        if first_step is not None:
            self._write(_event(first_step) + SESSION_LOG + _sized(START))

    @property
    def position(self) -> Position:
        """What a checkpoint keeps and `cut_events` takes."""
        return self.path.name, self.size

    def add(self, step: int, scalars: Mapping[str, float], wall_time: float | None = None) -> None:
        """Append scalars.

        Args:
            step: the number of updates.
            scalars: name -> value.
            wall_time: seconds since 1970; now if None.

        Raises:
            OSError: they cannot be written.
        """
        values = b"".join(
            VALUE
            + _sized(
                TAG + _sized(name.encode()) + SIMPLE_VALUE + struct.pack("<f", _float32(value))
            )
            for name, value in scalars.items()
        )
        self._write(_event(step, wall_time) + SUMMARY + _sized(values))

    def flush(self) -> None:
        """Hand what is buffered to the system.

        Raises:
            OSError: it cannot be written.
        """
        self._file.flush()

    def close(self) -> None:
        """Close the file.

        Raises:
            OSError: what is buffered cannot be written.
        """
        self._file.close()

    def _write(self, content: bytes) -> None:
        length = struct.pack("<Q", len(content))
        record = length + _masked_crc(length) + content + _masked_crc(content)
        self._file.write(record)
        self.size += len(record)


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


def _event(step: int, wall_time: float | None = None) -> bytes:
    """The fields that every event has."""
    seconds = time.time() if wall_time is None else wall_time
    return WALL_TIME + struct.pack("<d", seconds) + STEP + _varint(step)


def _sized(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """A number from 0 on in groups of 7 bits, the lowest first."""
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def _float32(value: float) -> float:
    """A value that a float of 32 bits can hold: infinite beyond its range."""
    try:
        struct.pack("<f", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


def _masked_crc(content: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in content:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + CRC_MASK) & 0xFFFFFFFF)
