"""Reads event files of TensorBoard bit by bit; shares no code with what writes them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Event:
    wall_time: float = 0.0
    step: int = 0
    version: str = ""
    is_start: bool = False
    scalars: dict[str, float] = field(default_factory=dict)


def crc32c(content: bytes) -> int:
    """By the polynomial itself, x^32 + x^28 + … + 1, bit by bit."""
    remainder = 0xFFFFFFFF
    for byte in content:
        for bit in range(8):
            high = (remainder >> 31) ^ (byte >> bit & 1)
            remainder = (remainder << 1 & 0xFFFFFFFF) ^ (0x1EDC6F41 if high else 0)
    return int(f"{remainder ^ 0xFFFFFFFF:032b}"[::-1], 2)


def _masked(content: bytes) -> int:
    crc = crc32c(content)
    return ((crc >> 15) | (crc << 17) & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF


def read_events(path: Path) -> list[Event]:
    content, events = path.read_bytes(), []
    while content:
        length, of_length = struct.unpack("<QI", content[:12])
        assert _masked(content[:8]) == of_length, "sum of the length"
        message = content[12 : 12 + length]
        (of_message,) = struct.unpack("<I", content[12 + length : 16 + length])
        assert _masked(message) == of_message, "sum of the content"
        events.append(_event(message))
        content = content[16 + length :]
    return events


def _fields(message: bytes) -> list[tuple[int, bytes | int]]:
    """The fields of a protocol buffer: numbers, and their content."""
    found: list[tuple[int, bytes | int]] = []
    while message:
        key, message = _number(message)
        kind = key & 7
        if kind == 0:
            value, message = _number(message)
            found.append((key >> 3, value))
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            assert kind == 2
            size, message = _number(message)
        found.append((key >> 3, message[:size]))
        message = message[size:]
    return found


def _number(message: bytes) -> tuple[int, bytes]:
    value = 0
    for position, byte in enumerate(message):
        value |= (byte & 0x7F) << 7 * position
        if byte < 0x80:
            return value, message[position + 1 :]
    raise AssertionError("a number without an end")


def _event(message: bytes) -> Event:
    event = Event()
    for number, value in _fields(message):
        if number == 2:
            assert isinstance(value, int)
            event.step = value
            continue
        assert isinstance(value, bytes)
        if number == 1:
            (event.wall_time,) = struct.unpack("<d", value)
        elif number == 3:
            event.version = value.decode()
        elif number == 7:
            event.is_start = _fields(value) == [(1, 1)]
        else:
            assert number == 5
            for _, scalar in _fields(value):
                assert isinstance(scalar, bytes)
                named = dict(_fields(scalar))
                tag, number_bytes = named[1], named[2]
                assert isinstance(tag, bytes) and isinstance(number_bytes, bytes)
                (event.scalars[tag.decode()],) = struct.unpack("<f", number_bytes)
    return event


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Name -> steps and values of all event files of a run, in the order of the files."""
    found: dict[str, list[tuple[int, float]]] = {}
    for path in sorted(folder.glob("*tfevents*")):
        for event in read_events(path):
            for name, value in event.scalars.items():
                found.setdefault(name, []).append((event.step, value))
    return found
