"""Many fits in several processes, which exchange JSON: nothing is pickled.

Run as a module, it is such a process: it reads a law, options and tables from standard input and
writes one line for each fit to standard output.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.records import read, to_plain
from lawdsl.core.time_limit import OutOfTime, remaining_time
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.fitting.fit import fit_with
from lawdsl.fitting.fits_by_group import FailedGroup, FittedGroup, read_group
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.result_parts import FittedLaw
from lawdsl.fitting.storage import fitted_law, read_again
from lawdsl.law.law import Law

Group = FittedGroup | FailedGroup
Part = tuple[tuple[str, ...], Any]

POLL_SECONDS = 0.1  # between two looks at what the processes have done


def fit_group(law: Law, labels: tuple[str, ...], table: Any, options: FitOptions) -> Group:
    """Fit a group, or record why it cannot be fitted.

    Args:
        law: the law, after its changes.
        labels: the labels of the group.
        table: its rows.
        options: the options of the fit.
    """
    rows = len(table) if isinstance(table, Table) else 0
    try:
        table = read_table(table, options.columns)
        rows = len(table)
        return FittedGroup(labels, fit_with(law, table, options))
    except LawdslError as error:
        return FailedGroup(labels, rows, error.diagnostics)


def fit_in_processes(
    law: Law,
    parts: Sequence[Part],
    options: FitOptions,
    processes: int,
    progress: Callable[[int, int], None] | None,
) -> list[Group]:
    """Fit a law to many tables in several processes.

    Args:
        law: the law, after its changes.
        parts: the labels and the rows of each group.
        options: the options of each fit.
        processes: the number of processes.
        progress: called with the number of groups done, and of all groups.

    Returns:
        The groups in the order of `parts`.

    Raises:
        ChildProcessError: a process was ended, or ended by itself.
        OutOfTime: the processes have used the CPU time that a limit leaves.
    """
    results: list[Group | None] = [None] * len(parts)
    readable: list[tuple[int, tuple[str, ...], Table]] = []
    for number, (labels, source) in enumerate(parts):
        try:
            readable.append((number, labels, read_table(source, options.columns)))
        except LawdslError as error:
            results[number] = FailedGroup(labels, 0, error.diagnostics)
    shares = [share for k in range(processes) if (share := readable[k::processes])]
    with tempfile.TemporaryDirectory() as name:
        running: list[_Process] = []
        try:
            for k, share in enumerate(shares):
                request = _request(law, options, [(labels, table) for _, labels, table in share])
                running.append(_Process.started(Path(name) / str(k), request))
            _wait(running, len(parts) - len(readable), len(parts), progress)
        finally:  # also when the time is up, or the command is interrupted
            for process in running:
                process.end()
        for process, share in zip(running, shares, strict=True):
            for (number, _, _), line in zip(share, process.lines(), strict=True):
                results[number] = read_group(json.loads(line))
    return [result for result in results if result is not None]


@dataclass(frozen=True)
class _Process:
    """A process and the folder of its files."""

    folder: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def started(cls, folder: Path, request: bytes) -> _Process:
        """Start a process that reads a request."""
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
                [sys.executable, "-P", "-m", "lawdsl.fitting.fit_processes", str(folder / "time")],
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
        """What it has written.

        Raises:
            ChildProcessError: it was ended, or failed.
        """
        code = self.process.returncode
        if code:
            errors = (self.folder / "errors").read_text(encoding="utf-8", errors="replace")
            last = "".join(errors.strip().splitlines()[-1:])
            raise ChildProcessError(f"a process of fit_many ended with code {code}: {last}")
        return (self.folder / "results").read_text(encoding="utf-8").splitlines()


def _wait(
    running: Sequence[_Process],
    done: int,
    total: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Wait until all processes have ended or one has failed, and report their progress.

    Raises:
        OutOfTime: together they have used the CPU time that a limit leaves.
    """
    reported = 0
    while any(process.process.poll() is None for process in running):
        if any(process.process.returncode for process in running):
            return
        time.sleep(POLL_SECONDS)
        if sum(process.seconds for process in running) > remaining_time():
            raise OutOfTime
        written = done + sum(process.done for process in running)
        if progress is not None and written > reported:
            reported = written
            progress(reported, total)


def _request(law: Law, options: FitOptions, parts: Sequence[Part]) -> bytes:
    """The law, the options and the tables as JSON."""
    given = {
        each.name: getattr(options, each.name)
        for each in fields(FitOptions)
        if each.name != "progress"
    }
    if isinstance(given["starts"], Mapping):
        given["starts"] = {name: float(x) for name, x in given["starts"].items()}
    content = {
        "law": to_plain(fitted_law(law)),
        "options": to_plain(given),
        "tables": [{"labels": labels, **_plain_table(table)} for labels, table in parts],
    }
    return json.dumps(content).encode("utf-8")


def _plain_table(table: Table) -> dict[str, Any]:
    """A table as plain data, with its cells in the stream format of Arrow."""
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


def _table(plain: Mapping[str, Any]) -> Table:
    """The table that `_plain_table` describes."""
    with pa.ipc.open_stream(base64.b64decode(plain["cells"])) as reader:
        cells = reader.read_all()
    return Table(
        plain["name"],
        {name: cells.column(k) for k, name in enumerate(cells.column_names)},
        plain["units"],
        np.array(plain["rows"], dtype=np.int64),
        tuple(plain["notes"]),
        plain["typed"],
        frozenset(plain["computed"]),
    )


def _results(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The result of each table of a request, as plain data."""
    law = read_again(read(FittedLaw, request["law"]))
    given = request["options"]
    options = FitOptions(**{**given, "where": tuple(given["where"]), "run": tuple(given["run"])})
    for plain in request["tables"]:
        yield fit_group(law, tuple(plain["labels"]), _table(plain), options).to_json()


def _say_time(path: Path) -> None:
    """Write the CPU time of this process to a file, again and again."""
    while True:
        path.write_text(repr(time.process_time()))
        time.sleep(POLL_SECONDS)


def main() -> None:
    """Fit what standard input asks for; the argument is a file for the CPU time used."""
    threading.Thread(target=_say_time, args=(Path(sys.argv[1]),), daemon=True).start()
    for result in _results(json.load(sys.stdin.buffer)):
        sys.stdout.write(json.dumps(result, allow_nan=False) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
