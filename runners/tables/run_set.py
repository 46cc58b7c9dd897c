"""Folders and sweeps -> the distinct runs of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import abridged

from ..run.metrics_log import POINTS, read
from ..run.schedules import phase
from ..spec import ORDER, RunOrder, Training, canonical_json, read_order
from ..sweeps.run_folders import read_state
from ..sweeps.stages import TrainingStage
from ..sweeps.sweep import GridRun, Sweep, read_sweep

MAX_RUNS_LISTED = 5  # maximum number of runs listed in a message
ENDS = {
    "diverged": "diverged",
    "oom": "ran out of memory",
    "failed": "failed",
    "unfinished": "not finished",
}
"""Status of a run -> its description in messages."""


@dataclass(frozen=True)
class GatheredRun:
    """A run with the facts for a table.

    Attributes:
        folder: the folder of the run.
        order: its specification.
        status: done, diverged, oom, failed, or unfinished.
        points: its rows as written.
        domain: the corpus that is the domain.
        general: the general corpus.
        reference: the identity of the run that determines k1, k2 and k3, and their unit in steps.
    """

    folder: Path
    order: RunOrder
    status: str
    points: tuple[Mapping[str, Any], ...]
    domain: str | None = None
    general: str | None = None
    reference: tuple[str, int] | None = None

    @property
    def identity(self) -> str:
        """The identity of the run; see `Run.identity`."""
        return self.order.run.identity()

    @property
    def label(self) -> str:
        """The name of the run in messages."""
        return self.order.label


def gather_runs(sources: Iterable[Path]) -> tuple[list[GatheredRun], list[Diagnostic]]:
    """The runs of some folders and sweeps, each once, sorted by size, mixture and seed; and
    warnings.

    Raises:
        LawdslError: there is no run (R0801), a specification or rows cannot be read, or runs are
            inconsistent (R0803).
    """
    gathered: list[GatheredRun] = []
    warnings: list[Diagnostic] = []
    for source in sources:
        if source.suffix == ".toml":
            runs, missing = _of_sweep(source)
            warnings += missing
        else:
            runs = _below(source)
        gathered += runs
    runs = _each_row_once(_in_order(_each_once(gathered)))
    _check_alike(runs)
    return runs, [*warnings, *_ends(runs), *_schedules(runs)]


def _below(folder: Path) -> list[GatheredRun]:
    """The runs in a folder, or the run in the folder itself."""
    is_run = (folder / ORDER).exists()
    folders = [folder] if is_run else [path.parent for path in folder.glob(f"*/{ORDER}")]
    if not folders:
        message = (
            "this folder contains no runs" if folder.is_dir() else "this folder does not exist"
        )
        help = "give the `folder` of a sweep, or its sweep.toml"
        raise LawdslError(Diagnostic("R0801", message, place=str(folder), help=help))
    return [_gather_run(run) for run in folders]


def _gather_run(folder: Path) -> GatheredRun:
    """One run, with the entries of its specification for the table."""
    order, now = read_order(folder), read_state(folder)
    domain, general, run, unit = (
        order.columns.get(name) for name in ("domain", "general", "dlc_run", "dlc_steps")
    )
    return GatheredRun(
        folder=folder,
        order=order,
        status="unfinished" if now.status in ("new", "begun") else now.status,
        points=tuple(read(folder / POINTS)),
        domain=None if domain is None else str(domain),
        general=None if general is None else str(general),
        reference=None if run is None or unit is None else (str(run), int(unit)),
    )


def _of_sweep(path: Path) -> tuple[list[GatheredRun], list[Diagnostic]]:
    """The runs in a sweep's folder that its file specifies, and a warning if some are missing.

    They are identified by the content of the file. It does not show whether the corpora and the
    weights are still those of the runs, so two runs that match one description are an error.
    """
    sweep = read_sweep(path)
    # a stable run without evaluations contributes nothing to a table
    expected = {
        _described(sweep, cell, stage): stage.has_rows
        for cell in sweep.cells
        for stage in sweep.stages_of(cell)
    }
    gathered: dict[str, GatheredRun] = {}
    for run in _below(sweep.folder):
        what = _description(sweep, run.order)
        if what in gathered and gathered[what].identity == run.identity:
            # a run that was executed twice, under two labels
            gathered[what] = _each_once([gathered[what], run])[0]
        elif what in gathered:
            message = f"two runs are {run.label}: their corpora, weights, precision or router losses differ"
            notes = (str(gathered[what].folder), str(run.folder))
            help = "move the one away that is out of date"
            raise LawdslError(Diagnostic("R0803", message, place=str(path), notes=notes, help=help))
        elif what in expected:
            gathered[what] = run
    reference = None
    if sweep.dlc is not None:
        cell, unit = sweep.dlc
        reference_run = gathered.get(_described(sweep, cell, sweep.stages[cell.model][0]))
        reference = None if reference_run is None else (reference_run.identity, unit)
    # a run may have been executed for another sweep, with another domain or none
    runs = [
        replace(run, domain=sweep.domain, general=sweep.general, reference=reference)
        for run in gathered.values()
    ]
    needed = [what for what, has_rows in expected.items() if has_rows]
    missing = sum(what not in gathered for what in needed)
    if not missing:
        return runs, []
    message = f"{missing} of {len(needed)} runs of {sweep.name} have not begun"
    help = f"lawdsl run {path}"
    return runs, [Diagnostic("R0802", message, "warning", place=str(path), help=help)]


def _described(sweep: Sweep, cell: GridRun, stage: TrainingStage) -> str:
    """The description of a run from a sweep, without the content of its files."""
    model = sweep.models[cell.model]
    return canonical_json(
        {
            "model": [cell.model, model.initialization or "loaded"],
            "mixture": {name: str(share) for name, share in cell.mixture.items()},
            "validation": sorted(sweep.validation),
            "training": _plain(sweep, cell.model, stage.training),
            "evaluate": stage.evaluate,
            "seed": cell.seed,
        }
    )


def _description(sweep: Sweep, order: RunOrder) -> str:
    """The description of a run from its specification, with the fields that a sweep can set."""
    run = order.run
    return canonical_json(
        {
            "model": [run.model.name, run.model.initialization],
            "mixture": {name: source.share for name, source in run.corpora.items()},
            "validation": sorted(run.validation),
            "training": _plain(sweep, run.model.name, run.training),
            "evaluate": run.evaluate,
            "seed": run.seed,
        }
    )


def _plain(sweep: Sweep, model: str, training: Training) -> dict[str, Any]:
    """Training settings without the fields that are taken from model and machine if the sweep omits
    them.
    """
    of_sweep = sweep.training.get(model)
    stated = of_sweep is not None and "router_loss" in of_sweep.model_fields_set
    excluded = set() if stated else {"router_loss"}
    if of_sweep is not None and of_sweep.precision == "auto":
        excluded.add("precision")
    return training.model_dump(mode="json", exclude=excluded)


def _each_once(runs: Sequence[GatheredRun]) -> list[GatheredRun]:
    """Of several copies of a run, keep the most advanced one.

    A run without domain data may be part of the sweeps of several domains, and is kept for each.
    """
    unique: dict[tuple[str, str | None], GatheredRun] = {}
    for run in runs:
        key = (run.identity, run.domain)
        if key not in unique or len(run.points) > len(unique[key].points):
            unique[key] = run
    return list(unique.values())


def _each_row_once(runs: Sequence[GatheredRun]) -> list[GatheredRun]:
    """Of rows that branches share with their stable run, or with each other, keep one.

    Duplicated measurements would make the standard errors of a fit too small.
    """
    seen = {
        (run.folder, point["step"])
        for run in runs
        if run.order.branch_steps
        for point in run.points
    }
    unique = []
    for run in runs:
        prefix = run.order.prefix
        if prefix is None:
            unique.append(run)
            continue
        stable = run.folder.parent / prefix.folder
        points = tuple(
            point
            for point in run.points
            # step 0 is the reference for changes of the loss in each run
            if not 0 < point["step"] <= prefix.step or (stable, point["step"]) not in seen
        )
        seen |= {(stable, point["step"]) for point in points if point["step"] <= prefix.step}
        unique.append(replace(run, points=points))
    return unique


def _in_order(runs: Sequence[GatheredRun]) -> list[GatheredRun]:
    """The runs sorted by size, mixture, seed and number of steps."""
    corpora = sorted({name for run in runs for name in run.order.run.corpora})

    def sort_key(gathered: GatheredRun) -> tuple[Any, ...]:
        run = gathered.order.run
        shares = [run.corpora[name].fraction if name in run.corpora else 0 for name in corpora]
        return (
            gathered.order.columns.get("N") or 0,
            run.model.name,
            shares,
            run.seed,
            run.training.steps,
            gathered.identity,
        )

    return sorted(runs, key=sort_key)


def _check_alike(runs: Sequence[GatheredRun]) -> None:
    """Raise an error if the same name denotes different inputs, so that losses are not comparable.

    Raises:
        LawdslError: with every such name; R0803.
    """
    kinds: dict[str, Callable[[GatheredRun], Mapping[str, str]]] = {
        "validation sets": lambda run: run.order.run.validation,
        "corpora": lambda run: {n: s.fingerprint for n, s in run.order.run.corpora.items()},
        "models": lambda run: {run.order.run.model.name: run.order.run.model.fingerprint},
    }
    problems = []
    for kind, of in kinds.items():
        first_by_value: dict[str, dict[str, GatheredRun]] = {}
        for run in runs:
            for name, fingerprint in of(run).items():
                first_by_value.setdefault(name, {}).setdefault(fingerprint, run)
        for name, different in first_by_value.items():
            if len(different) > 1:
                message = f"{len(different)} different {kind} are called {name}"
                notes = tuple(f"as in {run.folder}" for run in different.values())
                help = "collect the runs of each into a table of its own, from their sweep.toml"
                problems.append(
                    Diagnostic("R0803", message, notes=notes[:MAX_RUNS_LISTED], help=help)
                )
    if problems:
        raise LawdslError(problems)


def _ends(runs: Sequence[GatheredRun]) -> list[Diagnostic]:
    """Warnings about unfinished runs, whose rows are included in the table."""
    ends = []
    for status, words in ENDS.items():
        labels = [run.label for run in runs if run.status == status]
        if labels:
            several = f"{len(labels)} run{'s' if len(labels) > 1 else ''}"
            ends.append(
                Diagnostic(
                    "R0802",
                    f"{several} {words}: the rows until then are in the table",
                    "warning",
                    notes=(abridged(labels, MAX_RUNS_LISTED),),
                    help="leave them out of a fit with --where 'status = done'",
                )
            )
    return ends


def _schedules(runs: Sequence[GatheredRun]) -> list[Diagnostic]:
    """A warning if equal D does not imply equal training.

    The loss during the decay differs from that of a shorter run at its end, and the loss at a
    constant rate from that of a run with a decay: Hägele et al. (2024), arXiv:2405.18392.
    """
    phases = Counter[str]()
    falling = set[tuple[str, int]]()
    for run in runs:
        training = run.order.run.training
        for point in run.points:
            if point["step"]:
                step_phase = phase(training, point["step"])
                phases[step_phase] += 1
                if step_phase == "decay":
                    falling.add((training.schedule, training.steps))
    if phases["decay"]:
        listed = ", ".join(
            f"{schedule} over {steps:,} steps" for schedule, steps in sorted(falling)
        )
        message = (
            f"{phases['decay']:,} evaluations lie where the learning rate falls: the losses are not"
            " those of runs of that D"
        )
        help = "fit the ends of runs: --where 'phase = end'; [schedule] has a decay for each D"
        return [Diagnostic("R0804", message, "warning", notes=(listed,), help=help)]
    if phases["stable"] and phases["end"]:
        message = (
            f"{phases['stable']:,} evaluations are at a constant learning rate and"
            f" {phases['end']:,} at the end of a decay: equal D are not alike"
        )
        help = "fit one kind: --where 'phase = end', or --where 'phase = stable'"
        return [Diagnostic("R0804", message, "warning", help=help)]
    return []
