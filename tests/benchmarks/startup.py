"""The CPU time of commands in processes of their own, beside that of importing NumPy and SciPy's optimisers.

    python tests/benchmarks/startup.py [--rounds 5] [--against PYTHON] [--only predict]

Cold: without what earlier commands have cached. Warm: with it. Files are in the cache of the operating
system in both cases, and Python's compiled modules are on disk. All times are user and system time, the
least of the rounds; the commands take turns, so that a busy machine slows all of them down. `--against`
names the Python of another checkout, which runs the same commands for comparison.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RIVAL = ("-c", "import numpy, scipy.optimize")
TABLE = str(ROOT / "laws" / "data" / "c4_share.csv")
FIT = ("fit", "dcpt.share", TABLE, "--quiet", "-o", "{folder}/fit.json")
COMMANDS: dict[str, tuple[str, ...]] = {
    "--help": ("--help",),
    "laws": ("laws",),
    "show": ("show", "chinchilla"),
    "check": ("check", "chinchilla"),
    "fit": FIT,
    "predict": ("predict", "{folder}/fit.json", "r=0.5"),
    "plot": ("plot", "{folder}/fit.json", "-o", "{folder}/fit.svg"),
}
GOALS = {"check": 0.5, "fit": 1.0, "predict": 0.4}  # s, warm


def environment(cache: str | None) -> dict[str, str]:
    """The environment of a process: one thread, compiled modules, and a folder of the cache."""
    own = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    own |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return own | ({"LAWDSL_NO_CACHE": "1"} if cache is None else {"XDG_CACHE_HOME": cache})


def cpu(command: tuple[str, ...], environment: Mapping[str, str]) -> float:
    """User and system time of a process, in s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # not in a checkout, whose package would be imported whatever Python runs
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules(command: tuple[str, ...], environment: Mapping[str, str]) -> int:
    """How many modules a process imports."""
    command = (command[0], "-X", "importtime", *command[1:])
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True)
    return sum(line.startswith("import time:") for line in done.stderr.splitlines()) - 1


def main() -> int:
    """Print the table; the exit code is 1 where a goal is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", metavar="PYTHON")
    parser.add_argument("--only", choices=COMMANDS)
    options = parser.parse_args()
    chosen = {k: c for k, c in COMMANDS.items() if options.only in (None, k)}
    with tempfile.TemporaryDirectory() as folder:

        def filled(python: str, name: str) -> tuple[str, ...]:
            # each Python has its own fit, which may have other last digits
            own = Path(folder) / ("own" if python == sys.executable else "other")
            own.mkdir(exist_ok=True)
            return (python, "-m", "lawdsl", *(a.format(folder=own) for a in COMMANDS[name]))

        cold, warm = environment(None), environment(f"{folder}/cache")
        tasks = {("rival", ""): ((sys.executable, *RIVAL), cold)}
        for name in chosen:
            tasks["cold", name] = filled(sys.executable, name), cold
            tasks["warm", name] = filled(sys.executable, name), warm
            if options.against:
                tasks["other", name] = filled(options.against, name), cold
        fits = [(filled(p, "fit"), cold) for p in (sys.executable, options.against) if p]
        for command, where in (*fits, *tasks.values()):
            cpu(command, where)  # compiles modules, writes the fit, fills the cache
        best: dict[tuple[str, str], float] = {}
        for _ in range(options.rounds):
            for key, (command, where) in tasks.items():
                best[key] = min(best.get(key, 1e9), cpu(command, where))
        counts = {name: modules(*tasks["warm", name]) for name in chosen}
    rival = best["rival", ""]
    print(f"import numpy, scipy.optimize: {rival:.2f} s\n")
    print(f"{'command':10}{'cold':>8}{'warm':>8}{'modules':>9}{'/ rival':>9}{'/ other':>9}")
    for name, count in counts.items():
        line = f"{name:10}{best['cold', name]:8.2f}{best['warm', name]:8.2f}{count:9}"
        line += f"{best['warm', name] / rival:9.2f}"
        if options.against:
            line += f"{best['warm', name] / best['other', name]:9.2f}"
        missed = best["warm", name] > GOALS.get(name, 1e9)
        print(line + (f"  more than {GOALS[name]} s" if missed else ""))
    return int(any(best["warm", name] > GOALS.get(name, 1e9) for name in chosen))


if __name__ == "__main__":
    sys.exit(main())
