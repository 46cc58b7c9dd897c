"""`lawdsl design --loop`: design, run, collect, fit, until the target is known precisely enough.

The state of the loop is what its files and the folders of the runs say: the batch that is being run is
the selection on disk, and finished runs are known by their identity. So a loop that was killed goes on
where it was, and no run is made twice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from lawdsl.cli.options import print_message
from lawdsl.core import files
from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.output_files import writing

if TYPE_CHECKING:
    from lawdsl.designing.runs.pool import Pool
    from lawdsl.designing.runs.records import Design

STOPPED = (75, 130)  # exit codes of `lawdsl run` after a signal
NO_ROWS = "R0801"
NOTHING_MORE = ("N0105", "N0106", "N0107")
"""Codes of candidates that do not bear on the target, are too few, or give a question no answer."""
WORTHWHILE = 0.01  # of an interval: what all candidates together have to take off it
HELD_SECONDS = 60  # a run whose sweep was killed saves itself first

Step = Callable[[str | None], tuple["Design", "Pool"]]
"""Path of the table of the runs so far, None for no runs -> the design, and its candidates."""


@dataclass(frozen=True)
class LoopEnd:
    """How a loop ended.

    Attributes:
        design: the last one; None where the runs were stopped before there was one.
        code: the exit code of `lawdsl run` where that ended the loop; None where the design did.
        note: why it ended, where the design does not say so.
    """

    design: Design | None
    code: int | None = None
    note: str = ""


@dataclass(frozen=True)
class LoopFiles:
    """The files of a loop.

    Attributes:
        sweep: whose grid the candidates are.
        table: of the runs so far, which is written anew after each batch.
        selection: the batch, as a sweep of its own.
        silent: whether runs print no progress.
    """

    sweep: Path
    table: Path
    selection: Path
    silent: bool = False


def run_loop(step: Step, paths: LoopFiles, say: Callable[[str], None], jobs: int | None) -> LoopEnd:
    """Design, run and collect until the target is precise, the budget is spent, or nothing helps.

    Args:
        step: makes a design from the runs so far.
        paths: the files.
        say: prints a line of progress.
        jobs: the number of runs in parallel; None for that of `lawdsl run`.

    Returns:
        How it ended.

    Raises:
        LawdslError: input that a design, or the runner, cannot use.
    """
    seen: int | None = None
    design: Design | None = None
    while True:
        try:
            design, pool = step(_collected(paths))
        except LawdslError as error:
            if design is None or not {d.code for d in error.diagnostics} <= set(NOTHING_MORE):
                raise
            return LoopEnd(design, note=error.diagnostics[0].message)
        settled = _settled(pool)
        if seen is not None and settled == seen:
            return LoopEnd(design, 1, "no run of the batch was finished")
        pending = _pending(paths, pool)
        done = [] if pool.done is None else pool.done.nonzero()[0].tolist()
        if pending and pool.bill([*done, *pending]) <= design.budget * (1 + 1e-9):
            say(f"going on with {paths.selection}: {_count(len(pending))} not done")
        else:
            end = _end(design)
            if end is not None:
                return end
            _write_selection(design, paths)
            say(_batch_text(design))
        code = _run(paths, jobs, say)
        if code in STOPPED:
            return LoopEnd(None, code)
        seen = settled


def _collected(paths: LoopFiles) -> str | None:
    """Write the table of the runs so far; None while there are no rows."""
    from lawdsl.runners.tables.collect import collect
    from lawdsl.runners.tables.files import write_table

    try:
        table = collect([paths.sweep])
    except LawdslError as error:
        if {d.code for d in error.diagnostics} != {NO_ROWS}:
            raise
        return None
    write_table(paths.table, table)
    return str(paths.table)


def _settled(pool: Pool) -> int:
    """How many candidates are done or cannot be run."""
    done = 0 if pool.done is None else int(pool.done.sum())
    return done + len(pool.left_out)


def _pending(paths: LoopFiles, pool: Pool) -> list[int]:
    """The runs of the last batch that are not done: those of a loop that was interrupted."""
    import numpy as np

    from lawdsl.runners.tables.selection import selected_labels

    labels = selected_labels(paths.selection, paths.sweep)
    done = np.zeros(len(pool), dtype=bool) if pool.done is None else pool.done
    return [
        number
        for number, name in enumerate(pool.labels)
        if not done[number] and any(name == own or name.startswith(f"{own}_") for own in labels)
    ]


def _end(design: Design) -> LoopEnd | None:
    """The end of the loop, where there is nothing more to run."""
    if design.certain or not design.runs:
        return LoopEnd(design)
    if design.targets and all(_settles_nothing(t.half, t.best) for t in design.targets):
        return LoopEnd(
            design, note="what is left would narrow no target by one per cent of its interval"
        )
    return None


def _settles_nothing(half: float | None, best: float | None) -> bool:
    if half is None or best is None or not math.isfinite(half):
        return False
    return best > (1 - WORTHWHILE) * half


def _write_selection(design: Design, paths: LoopFiles) -> None:
    from lawdsl.runners.tables.selection import selection_text

    with writing(paths.selection):
        files.write(paths.selection, selection_text(design, paths.sweep, paths.selection))


def _run(paths: LoopFiles, jobs: int | None, say: Callable[[str], None]) -> int:
    """Run the selection, with all that it prints on standard error; return the exit code."""
    from lawdsl.cli.run import run
    from lawdsl.runners.run.locks import holder
    from lawdsl.runners.sweeps.sweep import read_sweep

    folder = read_sweep(paths.sweep).folder
    end = time.monotonic() + HELD_SECONDS
    while held := _first(holder(f) for f in sorted(folder.glob("*")) if f.is_dir()):
        if time.monotonic() > end:
            break
        say(f"waiting for {held}")
        time.sleep(1)
    arguments = [str(paths.selection), *(["--jobs", str(jobs)] if jobs else [])]
    arguments += ["-q"] if paths.silent else []
    with redirect_stdout(StringIO()):  # its plan; what becomes of the runs is on standard error
        return int(run.main(arguments, "lawdsl run", standalone_mode=False) or 0)


def _first(texts: Iterable[str]) -> str:
    return next(filter(None, texts), "")


def _batch_text(design: Design) -> str:
    """What is run next, and what it is for."""
    from lawdsl.reporting.designs import percent_text

    share = 100 * (design.spent + design.cost) / design.budget
    text = f"{_count(len(design.runs))} next, {share:.3g} % of the budget with them"
    targets = [
        f"{t.name} {percent_text(t.half)}, then {percent_text(t.after)}" for t in design.targets
    ]
    return "; ".join([text, *targets])


def _count(number: int) -> str:
    return f"{number} run{'' if number == 1 else 's'}"


def report(end: LoopEnd) -> None:
    """Say why a loop has ended, where its design does not."""
    if end.note:
        print_message(end.note)
    if end.code in STOPPED:
        print_message("stopped; the same command goes on")
