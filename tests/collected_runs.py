"""Runs of a sweep at a constant learning rate, made by the fake worker, for tests of tables of runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_worker
import pytest
import sweeps
from sweeps import made, planned

from lawdsl.runners.sweeps.run_folders import prepare

# at a constant rate, where every row is that of a run of its D
TEXT = sweeps.TEXT.replace("batch = 4", 'batch = 4\nschedule = "constant"')


def fake_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A fixture: does the runs of a sweep in this process, with the fake worker; its file."""

    def run(text: str = TEXT, folder: Path = tmp_path, **does: Any) -> Path:
        monkeypatch.setenv("FAKE", json.dumps(does))
        path = made(folder, text)
        work(path)
        return path

    return run


def work(path: Path) -> None:
    """Do what is left of a sweep."""
    for run in planned(path).to_do:
        prepare(run.folder, run.order)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OMP_NUM_THREADS", "1")
            patch.setattr(fake_worker.signal, "signal", lambda *_: None)  # pytest keeps its own
            fake_worker.main(run.folder)


def folder(path: Path, label: str) -> Path:
    """The folder of a run."""
    (run,) = (path.parent / "runs").glob(f"{label}-*")
    return run
