"""Event files of a run: what TensorBoard reads in them."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest
from event_reading import curves, is_restart, read_events, scalars

from lawdsl.runners.run.event_files import PATTERN, EventFile, cut_events


def events_in(folder: Path) -> list[list[Any]]:
    return [read_events(path) for path in sorted(folder.glob(PATTERN))]


def test_a_file_has_its_version_and_every_scalar(tmp_path: Path):
    file = EventFile(tmp_path)
    before = time.time()
    for step in (1, 300, 2**40):
        file.add(step, {"train/loss": 1.5 + step % 7, "größe": -0.25})
    file.close()
    ((first, *others),) = events_in(tmp_path)
    assert first.file_version == "brain.Event:2"
    assert [event.step for event in others] == [1, 300, 2**40]
    assert scalars(others[1]) == {"train/loss": 1.5 + 300 % 7, "größe": -0.25}
    assert all(before <= event.wall_time <= time.time() for event in others)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, -1e300, 1e-50, 0.1])
def test_any_number_can_be_written(tmp_path: Path, value: float):
    file = EventFile(tmp_path)
    file.add(1, {"x": value})
    file.close()
    ((_, event),) = events_in(tmp_path)
    expected = math.copysign(math.inf, value) if abs(value) > 1e40 else value
    assert scalars(event)["x"] == pytest.approx(expected, rel=1e-7, nan_ok=True)


def test_what_is_written_after_a_checkpoint_is_removed(tmp_path: Path):
    first = EventFile(tmp_path)
    first.add(1, {"x": 1.0})
    kept = first.position
    first.add(2, {"x": 2.0})
    first.close()
    second = EventFile(tmp_path, 3)
    second.add(3, {"x": 3.0})
    second.close()
    assert len(events_in(tmp_path)) == 2
    cut_events(tmp_path, kept)
    (events,) = events_in(tmp_path)
    assert [event.step for event in events[1:]] == [1]
    third = EventFile(tmp_path, 2)
    third.add(2, {"x": 5.0})
    third.close()
    # what a TensorBoard does that has been open all the time: it forgets steps from 2 on
    restart = events_in(tmp_path)[1][1]
    assert is_restart(restart) and restart.step == 2
    assert curves(tmp_path) == {"x": [(1, 1.0), (2, 5.0)]}
    cut_events(tmp_path, None)
    assert not events_in(tmp_path)


def test_files_of_one_second_are_in_order(tmp_path: Path):
    names = []
    for _ in range(3):
        file = EventFile(tmp_path)
        names.append(file.path.name)
        file.close()
    assert names == sorted(set(names))
    assert all("tfevents" in name for name in names)
