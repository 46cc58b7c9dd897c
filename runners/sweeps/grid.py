"""A sweep and the facts of its inputs -> the specifications of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lawdsl.core.diagnostics import LawdslError

from ..run.model_facts import ModelFacts
from ..spec import CorpusSpec, ModelSpec, Paths, Prefix, Run, RunOrder, Training, read_order
from .inputs import SweepInputs
from .machine import Machine, resolved_precision
from .run_folders import folders_by_identity, read_state
from .stages import TrainingStage
from .sweep import GridRun, Sweep

Folders = Mapping[str, tuple[Path, ...]]
"""Identity -> the folders of a run; see `folders_by_identity`."""


def orders_of(sweep: Sweep, inputs: SweepInputs, machine: Machine | None = None) -> list[RunOrder]:
    """Return the specifications of the runs, in the order of the sweep's file.

    Args:
        sweep: the sweep.
        inputs: the facts of its corpora and models.
        machine: the machine of the runs, which determines their precision if the sweep does not;
            None for one without GPUs.

    Returns:
        One specification per run.
    """
    existing = folders_by_identity(sweep.folder)
    for model in sweep.training:
        sweep = _with_known_precision(sweep, inputs, model, machine, existing)
    reference = None
    if sweep.dlc is not None:
        cell, unit = sweep.dlc
        # of a stable run and its branches, the stable run, which has the rows at constant rate
        reference = (_run(sweep, inputs, cell, sweep.stages[cell.model][0]).identity(), unit)
    return [
        order for cell in sweep.cells for order in _orders(sweep, inputs, cell, reference, existing)
    ]


def _with_known_precision(
    sweep: Sweep, inputs: SweepInputs, model: str, machine: Machine | None, existing: Folders
) -> Sweep:
    """The sweep with one precision per model: that of its existing runs, if any.

    Thus a sweep can be continued from any machine.
    """
    settings = sweep.training[model]
    if settings.precision != "auto":
        return sweep
    cells = [cell for cell in sweep.cells if cell.model == model]
    for precision in ("float32", "bfloat16"):
        known = _with_precision(sweep, model, precision)
        orders = (order for cell in cells for order in _orders(known, inputs, cell, None, existing))
        if any(order.run.identity() in existing for order in orders):
            return known
    chosen = resolved_precision(settings, sweep.how[model], machine)
    return _with_precision(sweep, model, chosen.precision)


def _with_precision(sweep: Sweep, model: str, precision: str) -> Sweep:
    update = {"precision": precision}
    training = sweep.training[model].model_copy(update=update)
    stages = tuple(
        replace(stage, training=stage.training.model_copy(update=update))
        for stage in sweep.stages[model]
    )
    return replace(
        sweep,
        training={**sweep.training, model: training},
        stages={**sweep.stages, model: stages},
    )


def folder_of(sweep: Sweep, order: RunOrder, existing: Folders | None = None) -> Path:
    """Return the folder of a run, named by its label and its identity.

    A run that was started under another label, as a branch or with its shares written differently,
    is the same run and keeps its folder. Of several folders, a finished one takes precedence, then
    the one with this label. A stable run and an equal ordinary run do not replace each other: one
    has checkpoints for branches, the other a model.

    Args:
        sweep: the sweep.
        order: the order of the run.
        existing: the folders of runs; None to list them.

    Returns:
        The path.
    """
    identity = order.run.identity()
    own = sweep.folder / f"{order.label}-{identity}"
    folders = (folders_by_identity(sweep.folder) if existing is None else existing).get(
        identity, ()
    )
    if set(folders) <= {own}:
        return own
    equal = [folder for folder in folders if folder == own or _is_equal(folder, order)]
    return min(equal, key=lambda f: (read_state(f).status != "done", f != own), default=own)


def _is_equal(folder: Path, order: RunOrder) -> bool:
    """Whether a folder has the run of a specification, with the same purpose."""
    with suppress(LawdslError, OSError):
        other = read_order(folder)
        is_stable = bool(other.branch_steps) == bool(order.branch_steps)
        return is_stable and other.run.identity() == order.run.identity()
    return False


def _run(sweep: Sweep, inputs: SweepInputs, cell: GridRun, stage: TrainingStage) -> Run:
    model, facts = sweep.models[cell.model], inputs.models[cell.model]
    return Run(
        model=ModelSpec(
            name=cell.model,
            fingerprint=facts.fingerprint,
            initialization=model.initialization or "loaded",
        ),
        corpora={
            name: CorpusSpec(
                fingerprint=inputs.corpora[name].fingerprint,
                share=str(share),
                max_epochs=sweep.corpora[name].max_epochs,
            )
            for name, share in cell.mixture.items()
        },
        validation={name: facts.fingerprint for name, facts in inputs.validation.items()},
        training=_training(stage.training, facts),
        evaluate=stage.evaluate,
        seed=cell.seed,
    )


def _training(training: Training, facts: ModelFacts) -> Training:
    """The training settings of a run, with the router loss of its model if the sweep omits it."""
    if facts.experts is None or "router_loss" in training.model_fields_set:
        return training
    return training.model_copy(update={"router_loss": facts.experts.router_loss})


def _orders(
    sweep: Sweep,
    inputs: SweepInputs,
    cell: GridRun,
    reference: tuple[str, int] | None,
    existing: Folders,
) -> Iterator[RunOrder]:
    """The specification of each run of a cell; a branch refers to the folder of the preceding
    stable run.
    """
    stable_folder = ""
    for stage in sweep.stages_of(cell):
        order = _order(sweep, inputs, cell, stage, reference)
        if stage.branch_steps:
            order = order.model_copy(update={"until": sweep.pause_of(cell)})
            stable_folder = folder_of(sweep, order, existing).name
        elif stage.begins:
            prefix = Prefix(folder=stable_folder, step=stage.begins)
            order = order.model_copy(update={"prefix": prefix})
        yield order


def _order(
    sweep: Sweep,
    inputs: SweepInputs,
    cell: GridRun,
    stage: TrainingStage,
    reference: tuple[str, int] | None,
) -> RunOrder:
    model, facts = sweep.models[cell.model], inputs.models[cell.model]
    columns: dict[str, str | int | float | None] = {
        "sweep": sweep.name,
        "domain": sweep.domain,
        "general": sweep.general,
        "N": facts.non_embedding,
        "N_total": facts.parameters,
    }
    # in all runs or in none: a column with gaps cannot be bound to a law
    if any(model.active != model.non_embedding for model in inputs.models.values()):
        columns["N_active"] = facts.active
    if reference is not None:
        columns |= {"dlc_run": reference[0], "dlc_steps": reference[1]}
    columns |= {f"U_{name}": inputs.corpora[name].tokens for name in cell.mixture}
    how = sweep.how[cell.model]
    if stage.branch_steps:
        # a stable run keeps its checkpoints instead
        how = how.model_copy(update={"save_final": False})
    return RunOrder(
        label=cell.label + stage.suffix,
        run=_run(sweep, inputs, cell, stage),
        paths=Paths(
            model=model.folder or model.config or {},
            corpora={name: inputs.corpora[name].folder for name in cell.mixture},
            validation=dict(sweep.validation),
        ),
        how=how,
        columns=columns,
        branch_steps=stage.branch_steps,
    )
