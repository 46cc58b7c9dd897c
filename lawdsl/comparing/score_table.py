"""Laws + table + protocols -> ScoreTable: the tables of papers, in one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lawdsl.comparing.compare import COMPARISON_STARTS, read_laws
from lawdsl.comparing.findings import note_of_unconfirmed, unconfirmed_fits
from lawdsl.comparing.result import ComparedLaw
from lawdsl.comparing.score_table_cells import (
    MODULE,
    Job,
    compute_all,
    jobs_of,
    kept_cells,
    work_of,
)
from lawdsl.comparing.score_table_parts import (
    ScoreTableOptions,
    ScoreTableParts,
    columns_of_loss,
    score_table_parts,
)
from lawdsl.comparing.score_table_result import FoldScores, ScoreCell, ScoreTable
from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import as_texts
from lawdsl.core.records import read
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.processes import check_processes, plain_table, request_of, run_processes
from lawdsl.language.law_changes import LawChanges
from lawdsl.law.law import Law, load

MAX_REASONS = 5


def score_table(
    laws: Law | str | Path | Sequence[Law | str | Path],
    table: Any,
    /,
    *,
    protocols: str | Sequence[str] | None = None,
    losses: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    starts: int = COMPARISON_STARTS,
    objective: str | None = None,
    delta: float | None = None,
    where: str | Sequence[str] = (),
    run: str | Sequence[str] = (),
    settings: Mapping[str, float] | None = None,
    without: str | Sequence[str] = (),
    fix: Mapping[str, float] | None = None,
    tie: Mapping[str, str] | None = None,
    drop_bad: bool = False,
    seed: int = 0,
    processes: int = 1,
    resume: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    columns: Mapping[str, str] | None = None,
    **named_columns: str,
) -> ScoreTable:
    """Score laws by several protocols, losses and groups of rows, as in the tables of papers.

    Each law is fitted in each fold of each protocol, for each group of rows and each loss by
    itself, and scored on the rows that the fold holds out: Huber's loss of the logarithms, as its
    sum and per row, and R². Unlike `compare`, it has no intervals and no ranks.

    Args:
        laws: laws, or names or paths of them.
        table: as for `compare`.
        protocols: protocols of `compare`, or axes: N, D, r and domain stand for leave-one-out:N,
            segments:D, leave-two-out:r and leave-two-out:domain (Que et al. 2024, Tables 2, 3, 4
            and 8); by default those of `compare`.
        losses: the names of the losses: ("general", "domain") fits L_general with r_general and
            L_domain with r_domain, where the table has such columns. In a binding, * is the name.
        by: the column, or several, whose cells tell groups apart; each group has its own fits.
        starts, objective, delta, where, run, settings, without, fix, tie, drop_bad, seed, columns,
            named_columns: as for `compare`.
        processes: the number of processes; the scores are the same for any.
        resume: a file that keeps each finished cell; cells that it has are not computed again.
        progress: called with the number of cells done, and of all cells.

    Returns:
        The table.

    Raises:
        LawdslError: laws, a table or protocols that cannot be used.
        ValueError: not a number of processes.
    """
    options = FitOptions(
        starts=starts,
        objective=objective,
        delta=delta,
        where=as_texts(where),
        run=as_texts(run),
        drop_bad=drop_bad,
        seed=seed,
        progress=progress,
        columns={**(columns or {}), **named_columns},
    )
    changes = LawChanges.of(settings=settings, without=without, fix=fix, tie=tie)
    names = None if protocols is None else as_texts(protocols)
    how = ScoreTableOptions(names, as_texts(losses), as_texts(by))
    path = None if resume is None else Path(resume)
    return score_table_with(laws, table, how, changes, options, processes, path)


def score_table_with(
    laws: Law | str | Path | Sequence[Law | str | Path],
    table: Any,
    how: ScoreTableOptions,
    changes: LawChanges,
    options: FitOptions,
    processes: int = 1,
    resume: Path | None = None,
) -> ScoreTable:
    """Score laws, with the changes and options as records.

    Args:
        laws, table: as for `score_table`.
        how: the protocols, losses and groups.
        changes: the changes of the laws.
        options: the options of all fits.
        processes, resume: as for `score_table`.

    Raises:
        LawdslError: laws, a table or protocols that cannot be used, or a process that failed (C0009).
        OutOfTime: as `run_processes` raises it.
    """
    check_processes(processes)
    sources = [laws] if isinstance(laws, (Law, str, Path)) else list(laws)
    loaded = [law if isinstance(law, Law) else load(law) for law in sources]
    first_loss = next(iter(how.losses), "")
    # formulas of columns are computed for each loss, whose name they may have
    plain_columns = {n: c for n, c in options.columns.items() if not first_loss or "*" not in c}
    rows = read_table(table, plain_columns)
    if loaded and first_loss:
        columns_of_loss(loaded, rows, options.columns, first_loss)
    changed, objective, warnings = read_laws(loaded, rows, changes, options)
    parts = score_table_parts(changed, rows, objective, how, options)
    jobs = jobs_of(parts.parts, options)
    cells = _cells(jobs, parts, (changed, rows, how), options, processes, resume)
    first = parts.parts[0].rows
    listed = tuple(_cell(job, parts, cells[job.place]) for job in jobs)
    named = tuple(
        ComparedLaw(e.name, law.digest, e.problem.parameters, dict(law.given), law.dropped)
        for e, law in zip(first.entries, changed, strict=True)
    )
    return ScoreTable(
        laws=named,
        protocols=tuple(protocol.name for protocol, _ in first.plan),
        losses=tuple(dict.fromkeys(part.loss for part in parts.parts)),
        by=parts.by,
        groups=tuple(dict.fromkeys(part.group for part in parts.parts)),
        rows={(part.loss, part.group): part.rows.data.rows for part in parts.parts},
        data=rows.name,
        where=options.where,
        objective=objective.name.replace("L", changed[0].output),
        delta=objective.delta,
        cells=listed,
        diagnostics=(*warnings, *parts.warnings, *findings_of_cells(listed)),
        starts=int(options.starts),
        seed=int(options.seed),
    )


def _cells(
    jobs: Sequence[Job],
    parts: ScoreTableParts,
    inputs: tuple[Sequence[Law], Table, ScoreTableOptions],
    options: FitOptions,
    processes: int,
    path: Path | None,
) -> dict[tuple[int, int, int], tuple[FoldScores, ...]]:
    """The folds of all cells, by their position."""
    kept = kept_cells(path)
    cells = {job.place: kept[job.key] for job in jobs if job.key in kept}
    # the longest first, so that the processes end at about the same time
    left = sorted((job for job in jobs if job.key not in kept), key=lambda job: -len(job.folds))
    report = options.progress

    def done(job: Job, folds: tuple[FoldScores, ...]) -> None:
        cells[job.place] = folds
        if report is not None:
            report(len(cells), len(jobs))

    if processes == 1 or len(left) < 2:
        compute_all(left, parts.parts, options, path, done)
        return cells
    laws, rows, how = inputs
    work = work_of(plain_table(rows), laws, how, path)
    shares = [share for k in range(processes) if (share := left[k::processes])]
    requests = [
        request_of(laws[0], options, {**work, "keys": [job.key for job in share]})
        for share in shares
    ]
    answers = run_processes(requests, len(cells), len(jobs), report, MODULE)
    computed = {
        content["key"]: tuple(read(FoldScores, fold) for fold in content["folds"])
        for answer in answers
        for content in answer
    }
    return cells | {job.place: computed[job.key] for job in left}


def _cell(job: Job, parts: ScoreTableParts, folds: tuple[FoldScores, ...]) -> ScoreCell:
    part = parts.parts[job.part]
    names = part.rows.entries[job.law].name, part.rows.plan[job.protocol][0].name
    return ScoreCell(part.loss, part.group, *names, folds)


def findings_of_cells(cells: Iterable[ScoreCell]) -> list[Diagnostic]:
    """One finding of each kind for each protocol: folds that failed, that do not determine every
    parameter, or whose fits may not be the best.

    Args:
        cells: all cells.
    """
    by_protocol: dict[str, dict[str, list[ScoreCell]]] = {}
    for cell in cells:
        by_protocol.setdefault(cell.protocol, {}).setdefault(cell.law, []).append(cell)
    diagnostics = []
    for protocol, of_laws in by_protocol.items():
        undetermined: list[str] = []
        unconfirmed: list[str] = []
        for law, of_law in of_laws.items():
            folds = [fold for cell in of_law for fold in cell.folds]
            total = f"{len(folds)} folds" if len(folds) > 1 else "1 fold"
            reasons = [
                f"{', '.join(filter(None, (cell.loss, cell.group, fold.fold)))}: {fold.failed}"
                for cell in of_law
                for fold in cell.folds
                if fold.failed
            ]
            if reasons:
                message = f"{protocol}: `{law}` has no score in {len(reasons)} of {total}"
                help = "ask for more --starts, choose another protocol, or leave the law out"
                shown = tuple(reasons[:MAX_REASONS])
                diagnostics.append(Diagnostic("F0204", message, notes=shown, help=help))
            counts = Counter(name for fold in folds for name in fold.not_identified)
            if counts:
                names = ", ".join(f"{name} in {n}" for name, n in counts.items())
                undetermined.append(f"{law}: {names} of {total}")
            fits = [fold for fold in folds if not fold.failed]
            alone = sum(fold.converged and fold.agreed == 1 for fold in fits)
            unfinished = sum(not fold.converged for fold in fits)
            unconfirmed += note_of_unconfirmed(law, alone, unfinished, total)
        if undetermined:
            message = f"{protocol}: the fitted rows do not determine every parameter"
            help = (
                "fits as good may have other scores: compare without --table says how far they "
                "differ; measure more values of what is left out"
            )
            diagnostics.append(
                Diagnostic("F0205", message, "warning", notes=tuple(undetermined), help=help)
            )
        diagnostics += unconfirmed_fits(protocol, unconfirmed)
    return diagnostics
