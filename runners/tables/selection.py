"""A design -> the file with which `lawdsl run` makes its runs: a selection from a sweep."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lawdsl import __version__
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.designing.runs.records import Design

from ..sweeps.file_errors import read_toml, selection


def selection_text(design: Design, sweep: Path, output: Path) -> str:
    """The text of a file that selects the runs of a design from its sweep.

    Args:
        design: whose runs are cells of the sweep.
        sweep: the path of the sweep.
        output: where the file will lie, to which the path of the sweep is made relative.
    """
    base = _base(sweep)
    relative = os.path.relpath(base, output.absolute().parent).replace(os.sep, "/")
    width = max(len(json.dumps(run.label)) for run in design.runs)
    lines = [
        f"# lawdsl {__version__}: {len(design.runs)} runs for {design.subject}, "
        f"{design.cost:.3g} {design.unit}".rstrip(),
        f"extends = {json.dumps(relative)}",
        "only = [",
    ]
    for run in design.runs:
        quoted = f"{json.dumps(run.label)},"
        reason = " ".join(run.reason.split())
        lines.append(f"    {quoted:{width + 1}}  # {run.cost:.3g} {design.unit}: {reason}".rstrip())
    return "\n".join([*lines, "]", ""])


def selected_labels(path: Path, sweep: Path) -> tuple[str, ...]:
    """The labels of the runs that a file selects from a sweep; none where there is no such file.

    Args:
        path: of the file.
        sweep: the path of the sweep.

    Raises:
        LawdslError: the file is something else, which a design must not replace; N0110.
    """
    if not path.exists():
        return ()
    raw = read_toml(path)
    if "extends" in raw:
        chosen = selection(path, raw)
        if Path(os.path.abspath(path.parent / chosen.extends)) == _base(sweep):
            return chosen.only
    message = f"{path} is no selection of runs of {sweep}"
    help = "a loop keeps its batch in this file: give another one, -o next.toml"
    raise LawdslError(Diagnostic("N0110", message, place=str(path), help=help))


def _base(sweep: Path) -> Path:
    """The sweep that has the grid: a selection is of the sweep that it extends."""
    raw = read_toml(sweep)
    own = Path(os.path.abspath(sweep))
    return Path(os.path.abspath(own.parent / raw["extends"])) if "extends" in raw else own
