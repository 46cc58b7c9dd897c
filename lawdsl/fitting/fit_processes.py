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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.records import read, to_plain
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

POLL_SECONDS = 0.2  # between two looks at what the processes have done


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
    """
    results: list[Group | None] = [None] * len(parts)
    readable: list[tuple[int, tuple[str, ...], Table]] = []
    for number, (labels, source) in enumerate(parts):
        try:
            readable.append((number, labels, read_table(source, options.columns)))
        except LawdslError as error:
            results[number] = FailedGroup(labels, 0, error.diagnostics)
    shares = [share for k in range(processes) if (share := readable[k::processes])]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max(1, len(shares))) as pool:
        outputs = [Path(folder) / f"{k}.jsonl" for k in range(len(shares))]
        futures = [
            pool.submit(_run, _request(law, options, [(a, b) for _, a, b in share]), output)
            for share, output in zip(shares, outputs, strict=True)
        ]
        _report(futures, outputs, len(parts) - len(readable), len(parts), progress)
        for future, share, output in zip(futures, shares, outputs, strict=True):
            future.result()
            lines = output.read_text(encoding="utf-8").splitlines()
            for (number, _, _), line in zip(share, lines, strict=True):
                results[number] = read_group(json.loads(line))
    return [result for result in results if result is not None]


def _report(
    futures: Sequence[Future[None]],
    outputs: Sequence[Path],
    done: int,
    total: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Report progress until all processes have ended."""
    running, reported = set(futures), 0
    while running:
        _, running = wait(running, timeout=POLL_SECONDS if progress is not None else None)
        if progress is not None:
            written = sum(o.read_bytes().count(b"\n") for o in outputs if o.exists())
            if done + written > reported:
                reported = done + written
                progress(reported, total)


def _run(request: bytes, output: Path) -> None:
    """Run one process, and wait for its end."""
    package = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    # each process has one core
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
    with output.open("wb") as file:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "lawdsl.fitting.fit_processes"],
            input=request,
            stdout=file,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
        )
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise ChildProcessError(
            f"a process of fit_many ended with code {done.returncode}: {''.join(last)}"
        )


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


def main() -> None:
    """Fit what standard input asks for."""
    for result in _results(json.load(sys.stdin.buffer)):
        sys.stdout.write(json.dumps(result, allow_nan=False) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
