"""A design -> the file with which `lawdsl run` makes its runs: a selection from a sweep."""

from __future__ import annotations

import json
import os
from pathlib import Path

from lawdsl import __version__
from lawdsl.designing.runs.records import Design


def selection_text(design: Design, sweep: Path, output: Path) -> str:
    """The text of a file that selects the runs of a design from its sweep.

    Args:
        design: whose runs are cells of the sweep.
        sweep: the path of the sweep.
        output: where the file will lie, to which the path of the sweep is made relative.
    """
    relative = os.path.relpath(sweep.absolute(), output.absolute().parent).replace(os.sep, "/")
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
