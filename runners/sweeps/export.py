"""Trained models -> folders from which later sweeps start."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.disk import replace_folder
from .plan import PlannedRun
from .run_folders import MODEL
from .sweep import Sweep

MARK_FILE = "lawdsl.json"  # in an exported folder: identifies the run of its model


def export_folder(sweep: Sweep, run: PlannedRun) -> Path | None:
    """Return the folder to which the model of a run is exported.

    Args:
        sweep: the sweep.
        run: one of its runs.

    Returns:
        The folder; None if the sweep exports no models, and for a stable run.
    """
    if sweep.export is None or run.order.branch_steps:
        return None
    return Path(sweep.export.replace("{model}", run.order.run.model.name))


def refuse_overwriting(sweep: Sweep, runs: Iterable[PlannedRun]) -> None:
    """Raise an error if an export would overwrite anything but an exported model.

    Args:
        sweep: the sweep.
        runs: its runs.

    Raises:
        LawdslError: with every such folder; R0107.
    """
    problems = []
    for run in runs:
        folder = export_folder(sweep, run)
        if folder is not None and folder.exists() and _exported_run(folder) is None:
            message = f"the model of {run.label} is wanted in a folder that holds something else"
            help = "move the folder away, or choose another one: `export` in the sweep"
            problems.append(Diagnostic("R0107", message, place=str(folder), help=help))
    if problems:
        raise LawdslError(problems)


def export(sweep: Sweep, run: PlannedRun) -> Path | None:
    """Copy the model of a run that is done, atomically.

    Args:
        sweep: the sweep.
        run: the run.

    Returns:
        The folder; None if the sweep exports nothing, or the model has been exported already.

    Raises:
        LawdslError: the run has no model any more, or it cannot be copied (R0107).
    """
    folder = export_folder(sweep, run)
    identity = run.order.run.identity()
    if folder is None or _exported_run(folder) == identity:
        return None
    temporary = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.copytree(run.folder / MODEL, temporary)
        mark = {"run": identity, "label": run.label, "sweep": sweep.name}
        # before the rename: an exported folder always identifies the run of its model
        (temporary / MARK_FILE).write_text(json.dumps(mark, indent=2) + "\n", encoding="utf-8")
        replace_folder(temporary, folder)
    except OSError as error:
        message = f"the model of {run.label} cannot be put there: {error.strerror or error}"
        help = "make room; or remove the run's folder, to run it again, if its model is gone"
        raise LawdslError(Diagnostic("R0107", message, place=str(folder), help=help)) from None
    return folder


def _exported_run(folder: Path) -> str | None:
    """The identity of the run whose model is in a folder; None if the folder is no exported model."""
    try:
        return str(json.loads((folder / MARK_FILE).read_bytes())["run"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
