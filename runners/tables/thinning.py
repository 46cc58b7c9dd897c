"""A table of runs as a file -> the same table with the checkpoints of one method of sampling."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.data.formats import FORMATS
from lawdsl.data.read import read_table
from lawdsl.data.table import bad_rows

from .checkpoint_sampling import Sampling, kept_steps
from .collect import RunsTable

STEP = "step"


def is_table(source: Path) -> bool:
    """Whether a source of `collect` is a table by its name."""
    return not source.is_dir() and source.suffix.lower() in {
        s for form in FORMATS for s in form.suffixes if s
    }


def thin(source: Path, sampling: Sampling, notes: Sequence[str] = ()) -> RunsTable:
    """Keep some checkpoints of each run of a table; its comments and settings stay.

    The length of a run is that of its last row.

    Args:
        source: a table with a column of runs, one of RUN_NAMES, and a column `step`.
        sampling: the method.
        notes: further lines at the top of the table.

    Raises:
        LawdslError: it cannot be read, has no such column (R0801), a step that is not a whole number
            (D0106), or evaluations that do not suffice for the method (R0806).
    """
    from lawdsl.data.default_runs import RUN_NAMES  # which loads computer algebra

    table = read_table(source)
    name = next((name for name in RUN_NAMES if name in table.columns), None)
    if name is None or STEP not in table.columns:
        missing = f"no column {STEP}" if name else f"no column {disjunction(RUN_NAMES)}"
        help = "rename the columns with the run and the step of each row"
        raise LawdslError(
            Diagnostic("R0801", f"the table has {missing}", place=str(source), help=help)
        )
    at = table.numbers(STEP)
    bad = np.flatnonzero((at < 0) | (at != np.round(at)) | ~np.isfinite(at))
    if len(bad):
        message = f"column {STEP}: {at[bad[0]]:g} is no number of steps"
        raise LawdslError(
            bad_rows("D0106", table, STEP, bad, message, "give whole numbers, 0 before training")
        )
    runs, numbers = np.unique(table.texts(name), return_inverse=True)
    keep = np.zeros(len(table), dtype=bool)
    # rows sorted by run, so that each run is a slice: the time is not runs times rows
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(len(runs)), side="right")
    for run, rows in zip(runs.tolist(), np.split(order, ends[:-1]), strict=True):
        steps = at[rows].astype(np.int64)
        kept = kept_steps(steps.tolist(), int(steps.max()), sampling, f"{source}, run {run}")
        keep[rows] = np.isin(steps, sorted(kept))
    kept_table = table.keep(keep)
    headers = [f"{n} [{table.units[n]}]" if n in table.units else n for n in table.columns]
    cells = [column.to_pylist() for column in kept_table.columns.values()]
    line = f"sampled: {sampling}, {len(kept_table):,} of {len(table):,} evaluations"
    more = (line for note in notes for line in note.splitlines())
    return RunsTable(
        dict(zip(headers, cells, strict=True)),
        (*table.notes, *more, line),
        len(runs),
        (),
        len(table),
    )
