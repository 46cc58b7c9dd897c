"""Processes that fit: they are sent JSON and answer with lines of JSON; nothing is pickled."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.records import to_plain
from lawdsl.core.time_limit import OutOfTime, remaining_time
from lawdsl.data.table import Table
from lawdsl.fitting.options import FitOptions, is_whole
from lawdsl.fitting.storage import fitted_law
from lawdsl.law.law import Law

POLL_SECONDS = 0.1  # between two looks at what the processes have done
MOST_PROCESSES = 1024
FIT_PROCESSES = "lawdsl.fitting.fit_processes"


def check_processes(processes: Any) -> None:
    """Refuse a number of processes that is not one.

    Raises:
        ValueError: not a whole number from 1 to 1,024.
    """
    if not is_whole(processes) or not 1 <= processes <= MOST_PROCESSES:
        raise ValueError(f"the number of processes is a whole number from 1, not {processes!r}")


def run_processes(
    requests: Sequence[bytes],
    done: int,
    total: int,
    progress: Callable[[int, int], None] | None,
    module: str = FIT_PROCESSES,
) -> list[list[Any]]:
    """Send each request to a process of its own, and wait for all of them.

    Args:
        requests: what each process is sent; see `request_of`. It answers with one line of JSON for
            each result.
        done: the number of fits that are done already, for the progress.
        total: the number of all fits.
        progress: called with the number of fits done, and of all fits.
        module: the module that each process runs.

    Returns:
        For each request the documents that its process has answered with.

    Raises:
        LawdslError: a process was ended, or failed (C0009).
        OutOfTime: the processes have used the CPU time that a limit leaves.
    """
    with tempfile.TemporaryDirectory() as name:
        running: list[_Process] = []
        try:
            for k, request in enumerate(requests):
                running.append(_Process.started(Path(name) / str(k), request, module))
            failed = _wait(running, done, total, progress)
            if failed is not None:
                raise LawdslError(failed.failure())
        finally:  # also when the time is up, or the command is interrupted
            for process in running:
                process.end()
        return [[json.loads(line) for line in process.lines()] for process in running]


@dataclass(frozen=True)
class _Process:
    """A process and the folder of its files."""

    folder: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def started(cls, folder: Path, request: bytes, module: str) -> _Process:
        """Start a process of a module that reads a request."""
        folder.mkdir()
        (folder / "request").write_bytes(request)
        package = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        # each process has one core
        environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
        with (
            (folder / "request").open("rb") as request_file,
            (folder / "results").open("wb") as results,
            (folder / "errors").open("wb") as errors,
        ):
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(folder / "time")],
                stdin=request_file,
                stdout=results,
                stderr=errors,
                env=environment,
            )
        return cls(folder, process)

    @property
    def done(self) -> int:
        """The number of results that it has written."""
        return (self.folder / "results").read_bytes().count(b"\n")

    @property
    def seconds(self) -> float:
        """The CPU time that it says to have used (s)."""
        try:
            return float((self.folder / "time").read_text())
        except (OSError, ValueError):  # it has not said so yet, or is writing it
            return 0.0

    def end(self) -> None:
        """End it if it is running."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def lines(self) -> list[str]:
        """What it has written."""
        return (self.folder / "results").read_text(encoding="utf-8").splitlines()

    def failure(self) -> Diagnostic:
        """Why it has ended, of a process that was ended or failed."""
        code = self.process.returncode
        if code < 0:
            message = f"a process that fits was ended by signal {-code}"
            help = "it may have needed more memory than there is: use fewer --threads"
            return Diagnostic("C0009", message, help=help)
        errors = (self.folder / "errors").read_text(encoding="utf-8", errors="replace")
        last = "".join(errors.strip().splitlines()[-1:])
        message = f"a process that fits failed with code {code}: {last}"
        return Diagnostic("C0009", message, help="see whether it works with --threads 1")


def _wait(
    running: Sequence[_Process],
    done: int,
    total: int,
    progress: Callable[[int, int], None] | None,
) -> _Process | None:
    """Wait until all processes have ended or one has failed, and report their progress.

    Returns:
        The first process that has failed, or None.

    Raises:
        OutOfTime: together they have used the CPU time that a limit leaves.
    """
    reported = 0
    while True:
        codes = [each.process.poll() for each in running]
        failed = [each for each, code in zip(running, codes, strict=True) if code]
        if failed or None not in codes:
            return failed[0] if failed else None
        time.sleep(POLL_SECONDS)
        if sum(process.seconds for process in running) > remaining_time():
            raise OutOfTime
        written = done + sum(process.done for process in running)
        if progress is not None and written > reported:
            reported = written
            progress(reported, total)


def request_of(law: Law, options: FitOptions, content: Mapping[str, Any]) -> bytes:
    """What a process is sent, as JSON.

    Args:
        law: the law, after its changes.
        options: the options of each fit.
        content: the work: plain data.
    """
    given = {
        each.name: getattr(options, each.name)
        for each in fields(FitOptions)
        if each.name != "progress"
    }
    if isinstance(given["starts"], Mapping):
        given["starts"] = {name: float(x) for name, x in given["starts"].items()}
    options_and_law = {"law": to_plain(fitted_law(law)), "options": to_plain(given)}
    return json.dumps({**options_and_law, **content}).encode("utf-8")


def options_of(request: Mapping[str, Any]) -> FitOptions:
    """The options of fits in a request that `request_of` has written.

    Args:
        request: the request, read as JSON.
    """
    given = request["options"]
    return FitOptions(**{**given, "where": tuple(given["where"]), "run": tuple(given["run"])})


def plain_table(table: Table) -> dict[str, Any]:
    """A table as plain data, with its cells in the stream format of Arrow.

    Args:
        table: the table.
    """
    cells = pa.table(list(table.columns.values()), names=list(table.columns))
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, cells.schema) as writer:
        writer.write_table(cells)
    return {
        "name": table.name,
        "cells": base64.b64encode(stream.getvalue()).decode("ascii"),
        "units": dict(table.units),
        "rows": table.rows.tolist(),
        "notes": list(table.notes),
        "typed": table.typed,
        "computed": sorted(table.computed),
    }
