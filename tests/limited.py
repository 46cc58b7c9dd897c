"""A command under limits, and what it took: `python limited.py REPORT COMMAND...`.

REPORT, a JSON file, then has the exit code, the CPU seconds and the peak of memory in bytes. A
program of its own, and a small one: of a process the system reports no less memory than the one
that began it had, and a test that has loaded torch has much.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

CPU = 10  # seconds
OUTPUT = 1 << 20  # bytes a file


def run(command: list[str], report: Path, **options: Any) -> dict[str, Any]:
    """Run a command; for a test. Options are those of `subprocess.run`."""
    program = [sys.executable, "-I", __file__, str(report), *command]
    subprocess.run(program, check=True, stdin=subprocess.DEVNULL, **options)
    return json.loads(report.read_text(encoding="utf-8"))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT, OUTPUT))
    done = subprocess.run(sys.argv[2:], check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024
    seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * unit
    took = {"code": done.returncode, "seconds": seconds, "memory": memory}
    Path(sys.argv[1]).write_text(json.dumps(took), encoding="utf-8")
