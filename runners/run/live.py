"""The progress of an active run between its evaluations: `live.json` in its folder.

The results of the run do not depend on it: it may be missing or outdated, and is removed when the
worker ends.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

LIVE = "live.json"


@dataclass(frozen=True)
class LiveProgress:
    """The progress and the speed of an active run.

    Attributes:
        tokens: number of tokens trained on.
        tokens_per_second: the speed in the most recent steps.
        mfu: the utilisation of the devices' peak, 0 to 1; None where the peak is not known.
    """

    step: int
    tokens: int
    tokens_per_second: float
    mfu: float | None = None


def write_live(folder: Path, progress: LiveProgress) -> None:
    """Write the progress; errors of the system are ignored.

    Args:
        folder: the folder of the run.
        progress: its progress.
    """
    partial = folder / f".{LIVE}"
    with suppress(OSError):
        # not synced: it is useless after a crash
        partial.write_text(json.dumps(asdict(progress)), encoding="utf-8")
        os.replace(partial, folder / LIVE)


def read_live(folder: Path) -> LiveProgress | None:
    """The progress of an active run; None if unknown."""
    try:
        return LiveProgress(**json.loads((folder / LIVE).read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def remove_live(folder: Path) -> None:
    """Remove the progress of a run whose worker ends."""
    for name in (LIVE, f".{LIVE}"):
        with suppress(OSError):
            (folder / name).unlink(missing_ok=True)
