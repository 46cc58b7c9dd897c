"""Many fits in several processes.

Run as a module, it is such a process: it reads a law, options and tables from standard input and
writes one line for each fit to standard output.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.records import read
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.fitting.fit import fit_with, objective_of
from lawdsl.fitting.fit_by_label import fit_part, parts_of
from lawdsl.fitting.fits_by_group import FailedGroup, FittedGroup, read_group
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.processes import (
    POLL_SECONDS,
    options_of,
    plain_table,
    request_of,
    run_processes,
)
from lawdsl.fitting.result_parts import FittedLaw
from lawdsl.fitting.storage import read_again
from lawdsl.law.law import Law

Group = FittedGroup | FailedGroup
Part = tuple[tuple[str, ...], Any]


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
        LawdslError: a process was ended, or failed (C0009).
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
    requests = [
        request_of(law, options, {"tables": [{"labels": b, **plain_table(c)} for _, b, c in share]})
        for share in shares
    ]
    answers = run_processes(requests, len(parts) - len(readable), len(parts), progress)
    for share, answer in zip(shares, answers, strict=True):
        for (number, _, _), content in zip(share, answer, strict=True):
            results[number] = read_group(content)
    return [result for result in results if result is not None]


def table_of(plain: Mapping[str, Any]) -> Table:
    """The table that `plain_table` describes."""
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
    """The result of each table of a request, or of each part of its table, as plain data."""
    law = read_again(read(FittedLaw, request["law"]))
    options = options_of(request)
    if "parts" in request:
        objective = objective_of(law, options)
        parts = parts_of(law, table_of(request["table"]), options)
        for number in request["parts"]:
            yield fit_part(parts, number, objective).to_json()
        return
    for plain in request["tables"]:
        yield fit_group(law, tuple(plain["labels"]), table_of(plain), options).to_json()


def say_time(path: Path) -> None:
    """Write the CPU time of this process to a file, again and again."""
    while True:
        path.write_text(repr(time.process_time()))
        time.sleep(POLL_SECONDS)


def main() -> None:
    """Fit what standard input asks for; the argument is a file for the CPU time used."""
    threading.Thread(target=say_time, args=(Path(sys.argv[1]),), daemon=True).start()
    for result in _results(json.load(sys.stdin.buffer)):
        sys.stdout.write(json.dumps(result, allow_nan=False) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
