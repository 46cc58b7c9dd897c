"""Two checkpoints of a run, for tests of checkpoints."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import dying
import pytest

from lawdsl.runners.training import checkpoints


def save(folder: Path, *steps: int, keep: int = 2) -> Path:
    """Save checkpoints of these steps; the folder of the last one."""
    for step in steps:
        place = checkpoints.save(folder, step, dying.tensors(step), dying.state(step), keep)
    return place


def names(folder: Path) -> list[str]:
    """The names in a folder, sorted."""
    return sorted(os.listdir(folder))


def saved_pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fixture: checkpoints of the steps 100 and 200; to be copied."""
    folder = tmp_path_factory.mktemp("pair")
    save(folder, 100, 200)
    return folder


def copied_pair(pair: Path, tmp_path: Path) -> Path:
    """A fixture: a copy of that pair."""
    return Path(shutil.copytree(pair, tmp_path / "checkpoints"))
