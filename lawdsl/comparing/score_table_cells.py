"""The cells of a table of scores: computed here or in several processes, and kept in a file.

Run as a module, it is such a process: it reads laws, options and a table from standard input and
writes one line for each cell to standard output.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lawdsl.comparing.cross_validation import fit_and_score
from lawdsl.comparing.protocols import Fold
from lawdsl.comparing.score_table_parts import (
    ScoreTableOptions,
    ScoreTablePart,
    score_table_parts,
)
from lawdsl.comparing.score_table_result import FoldScores
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.output_files import writing
from lawdsl.core.records import Misplaced, read, to_plain
from lawdsl.fitting.fit import in_one_step
from lawdsl.fitting.fit_processes import say_time, table_of
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.processes import options_of
from lawdsl.fitting.result_parts import FittedLaw
from lawdsl.fitting.storage import fitted_law, read_again

MODULE = "lawdsl.comparing.score_table_cells"
LINE_START = b'{"key": '  # of each line of a file of cells
VERSION = 1  # of the scores: cells that another version has kept are computed again


@dataclass(frozen=True)
class Job:
    """One cell that is to be computed.

    Attributes:
        part: the position of its rows among the parts of the table.
        law: the position of the law.
        protocol: the position of the protocol.
        folds: the folds.
        key: a digest of all that its scores depend on.
    """

    part: int
    law: int
    protocol: int
    folds: tuple[Fold, ...]
    key: str

    @property
    def place(self) -> tuple[int, int, int]:
        """The position of its cell."""
        return self.part, self.law, self.protocol


def jobs_of(parts: Sequence[ScoreTablePart], options: FitOptions) -> list[Job]:
    """The cells of a table of scores, in order.

    Args:
        parts: the parts of the table.
        options: the options of each fit.
    """
    jobs = []
    for number, part in enumerate(parts):
        for k, entry in enumerate(part.rows.entries):
            law = json.dumps(to_plain(fitted_law(entry.law)), sort_keys=True)
            for protocol_number, (_, folds) in enumerate(part.rows.plan):
                digest = hashlib.sha256(f"{VERSION} {options.starts} {options.seed} ".encode())
                digest.update(law.encode() + repr(entry.problem.objective).encode())
                # little-endian on every machine, so that a file of cells is valid on all of them
                for values in (part.rows.data.columns[k], part.rows.data.target):
                    digest.update(np.ascontiguousarray(values, dtype="<f8").data)
                for fold in folds:
                    digest.update(f"{fold.part} {fold.label}".encode())
                    if entry.measured is not None:
                        digest.update(repr(entry.measured.values(fold)[0].values).encode())
                    for rows in (fold.fit, fold.test):
                        digest.update(np.ascontiguousarray(rows, dtype="<i8").data)
                jobs.append(Job(number, k, protocol_number, tuple(folds), digest.hexdigest()))
    return jobs


def compute(job: Job, part: ScoreTablePart, options: FitOptions) -> tuple[FoldScores, ...]:
    """Fit a law to each fold, and score it.

    Args:
        job: the cell.
        part: its rows.
        options: the options of each fit.
    """
    scored = []
    for fold in job.folds:
        result, _ = fit_and_score(
            part.rows.entries[job.law], fold, options.seed, int(options.starts), spread=False
        )
        scores = result.scores
        huber_sum, huber_mean, r2 = math.nan, math.nan, math.nan
        if scores is not None and not result.failed:
            huber_sum, huber_mean, r2 = scores.huber.sum, scores.huber.mean, scores.r2
        scored.append(
            FoldScores(
                result.fold,
                result.part,
                result.fitted,
                result.tested,
                huber_sum,
                huber_mean,
                r2,
                result.agreed,
                result.converged,
                result.not_identified,
                result.failed,
            )
        )
    return tuple(scored)


def kept_cells(path: Path | None) -> dict[str, tuple[FoldScores, ...]]:
    """The cells in a file, by their keys. Lines that cannot be read are ignored: a process may have
    been ended while it wrote one.

    Args:
        path: the file; None for no cells.

    Raises:
        LawdslError: the file cannot be read, or begins with something else than a cell, so that it
            is not a file of cells (L0313).
    """
    if path is None or not path.exists():
        return {}
    with writing(path):
        lines = path.read_bytes().strip().splitlines()
    if lines and not lines[0].startswith(LINE_START[: len(lines[0])]):
        message = (
            "the file has other content than finished cells, and cells would be appended to it"
        )
        help = "give a new file: --resume NEW.jsonl"
        raise LawdslError(Diagnostic("L0313", message, place=str(path), help=help))
    cells = {}
    for line in lines:
        try:
            content = json.loads(line)
            cells[str(content["key"])] = tuple(read(FoldScores, f) for f in content["folds"])
        except (ValueError, KeyError, TypeError, Misplaced):
            continue
    return cells


def keep(path: Path | None, key: str, folds: tuple[FoldScores, ...]) -> None:
    """Append a cell to a file. Several processes may append to one file.

    Args:
        path: the file; None for none.
        key: the key of the cell.
        folds: its folds.

    Raises:
        LawdslError: it cannot be written.
    """
    if path is None:
        return
    line = json.dumps({"key": key, "folds": to_plain(folds)}, allow_nan=False)
    with writing(path):
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            # one call, so that lines of other processes do not come between; it begins with a line
            # end, because the last line may be incomplete
            os.write(file, f"\n{line}\n".encode())
        finally:
            os.close(file)


def work_of(
    table: Mapping[str, Any], laws: Iterable[Any], how: ScoreTableOptions, path: Path | None
) -> dict[str, Any]:
    """What all processes are sent besides the options of fits.

    Args:
        table: the table as plain data.
        laws: the laws after their changes.
        how: the protocols, losses and groups.
        path: the file of the cells.
    """
    return {
        "table": table,
        "laws": [to_plain(fitted_law(law)) for law in laws],
        "how": to_plain(how),
        "path": None if path is None else str(path),
    }


def compute_all(
    jobs: Iterable[Job],
    parts: Sequence[ScoreTablePart],
    options: FitOptions,
    path: Path | None,
    done: Callable[[Job, tuple[FoldScores, ...]], None],
) -> None:
    """Compute cells, and keep each.

    Args:
        jobs: the cells.
        parts: the parts of the table.
        options: the options of each fit.
        path: the file of the cells; None for none.
        done: called with each cell.
    """
    for job in jobs:
        folds = compute(job, parts[job.part], options)
        keep(path, job.key, folds)
        done(job, folds)


def main() -> None:
    """Compute the cells that standard input asks for; the argument is a file for the CPU time."""
    threading.Thread(target=say_time, args=(Path(sys.argv[1]),), daemon=True).start()
    request = json.load(sys.stdin.buffer)
    options = options_of(request)
    laws = [read_again(read(FittedLaw, law)) for law in request["laws"]]
    how = read(ScoreTableOptions, request["how"])
    table = table_of(request["table"])
    parts = score_table_parts(laws, table, in_one_step(laws[0], options), how, options).parts
    asked = set(request["keys"])
    jobs = [job for job in jobs_of(parts, options) if job.key in asked]

    def say(job: Job, folds: tuple[FoldScores, ...]) -> None:
        sys.stdout.write(json.dumps({"key": job.key, "folds": to_plain(folds)}) + "\n")
        sys.stdout.flush()

    path = None if request["path"] is None else Path(request["path"])
    compute_all(jobs, parts, options, path, say)


if __name__ == "__main__":
    main()
