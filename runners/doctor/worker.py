"""The process of one check.

    python -m lawdsl.runners.doctor.worker MODULE:FUNCTION FOLDER DEVICE SECONDS [quick]

writes each figure to `figures.jsonl` as soon as it is measured. Exit codes: 0 done; 1 the check
cannot continue, the last line printed is the reason; 124 time limit reached; 143 ended by SIGTERM.
Any other code is a crash.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

from lawdsl.core.diagnostics import LawdslError, render

from .execution import FIGURES, TIME_UP, WORK
from .records import CheckInput
from .small_runs import RunFailed, TimeUp

MARGIN_SECONDS = 2.0  # between the deadline given to a check and the time at which it is ended
PARENT_SECONDS = 0.5  # between checks that the parent process is alive


def main(arguments: list[str]) -> int:
    """Do one check; return the exit code."""
    target, folder, device, seconds, *rest = arguments
    # so that the processes of runs are ended
    signal.signal(signal.SIGTERM, _exit)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    module, _, function = target.partition(":")
    check_input = CheckInput(
        Path(folder) / WORK,
        cast("Literal['cpu', 'cuda']", device),
        time.monotonic() + float(seconds) - MARGIN_SECONDS,
        quick="quick" in rest,
    )
    try:
        check = getattr(import_module(module, __package__), function)
        with (
            (Path(folder) / FIGURES).open("a", encoding="utf-8") as out,
            closing(check(check_input)) as figures,
        ):
            for figure in figures:
                out.write(json.dumps(figure.to_json()) + "\n")
                out.flush()
    except LawdslError as error:
        for diagnostic in error.diagnostics:
            print(render(diagnostic), file=sys.stderr)
        print(error.diagnostics[0].message, file=sys.stderr)
        return 1
    except RunFailed as error:
        print(*error.log, str(error), sep="\n", file=sys.stderr)
        return 1
    except TimeUp as error:
        print(error, file=sys.stderr)
        return TIME_UP
    return 0


def _end_with(parent: int) -> None:
    """End this process when its parent, which may be killed at any moment, has ended."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def _exit(number: int, frame: Any) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
