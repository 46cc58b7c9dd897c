"""Mutation testing of the core: changes drawn at random, and the tests that must notice them.

    python tests/mutation/campaign.py record --out mutation
    python tests/mutation/campaign.py run --out mutation --count 300 --seed 0
    python tests/mutation/campaign.py report --out mutation

`record` runs the quick tests once and notes which blocks of the code each of them enters. `run` draws
mutations and runs, for each, the tests that enter its block, quickest first, until one fails; a
mutation that no test notices has survived. It continues where it was interrupted, and no file of the
project is changed. `report` prints the share that was caught and the survivors; those that change
nothing but the speed, or nothing at all, are listed with the reason in equivalent.toml.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import tomllib
import types
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import hook
import sites

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
EQUIVALENT = HERE / "equivalent.toml"
FOLDERS = ["lawdsl/proof", "lawdsl/solving", "lawdsl/fitting", "lawdsl/data"]
# torch takes seconds to load and none of these folders is behind it
UNRELATED = [
    "test_cpt",
    "test_failed_runs",
    "test_refused_runs",
    "test_checkpoints",
    "test_collect",
    "test_corpora",
    "test_bad_corpora",
]
UNRELATED += ["test_damaged_checkpoints", "test_collected_files", "test_corpus_damage"]
UNRELATED += ["test_sweep_mistakes", "test_validation_mistakes"]
UNRELATED += [
    "test_evaluation",
    "test_evaluation_steps",
    "test_losses",
    "test_models",
    "test_streams",
]
UNRELATED += ["test_ray", "test_distributed", "test_real_sweeps", "test_recipes", "test_schedules"]
UNRELATED += ["test_sweep", "test_plan", "test_validation", "test_weights_and_runs", "test_wheel"]
UNRELATED += ["test_locks", "test_points", "test_layers", "test_startup", "test_readme"]
UNRELATED += ["test_rooms", "test_contributing"]

BUDGET = 60.0  # CPU seconds of tests for one mutation, as recorded
MEMORY = 6 << 30
HARNESS_FAILED = 70


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("command", choices=["record", "run", "report"])
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the record and the results"
    )
    parser.add_argument("--count", type=int, default=300, help="mutations to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folders", nargs="+", default=FOLDERS, help="where to mutate")
    parser.add_argument("--budget", type=float, default=BUDGET, help="CPU seconds of tests each")
    parser.add_argument("--again", action="store_true", help="try survivors once more")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.command == "record":
        record(options.out, options.folders)
    elif options.command == "run":
        run(options)
    report(options.out, options)


def record(out: Path, folders: list[str]) -> None:
    """Run the quick tests with the recorder; raises SystemExit where some fail."""
    path = out / "record.jsonl"
    path.unlink(missing_ok=True)
    ignored = [f"--ignore=tests/{name}.py" for name in UNRELATED]
    environment = _environment(out) | {
        "LAWDSL_MUTATION_FOLDERS": ":".join(folders),
        "LAWDSL_MUTATION_RECORD": str(path.resolve()),
        "PYTHONPATH": str(HERE),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "recorder", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *ignored], cwd=ROOT, env=environment)
    hashes = {file: _hash(file) for folder in folders for file in _files(folder)}
    (out / "sources.json").write_text(json.dumps(hashes, indent=1))
    if done.returncode:
        print("warning: tests that fail without any mutation are left out")


def _environment(out: Path) -> dict[str, str]:
    return dict(os.environ) | {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # what fails under a mutation is not replayed in the project's own tests
        "HYPOTHESIS_STORAGE_DIRECTORY": str((out / "hypothesis").resolve()),
    }


def _files(folder: str) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / folder).rglob("*.py"))]


def _hash(file: str) -> str:
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Tests by block, and by file; each with its recorded CPU seconds."""

    by_block: dict[tuple[str, int], list[str]]
    by_file: dict[str, list[str]]
    seconds: dict[str, float]

    def tests_of(self, mutation: sites.Mutation, budget: float) -> list[str]:
        """Those that enter the mutation's block, quickest first, as many as the budget allows."""
        place = (mutation.file, mutation.block)
        tests = self.by_block[place] if mutation.block else self.by_file[mutation.file]
        chosen, spent = [], 0.0
        for test in sorted(tests, key=self.seconds.__getitem__):
            spent += self.seconds[test] + 0.01
            if spent > budget and chosen:
                break
            chosen.append(test)
        return chosen


def read_coverage(out: Path) -> Coverage:
    by_block: dict[tuple[str, int], list[str]] = defaultdict(list)
    by_file: dict[str, list[str]] = defaultdict(list)
    seconds: dict[str, float] = {}
    for line in (out / "record.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["failed"]:
            continue
        seconds[entry["test"]] = entry["seconds"]
        for file, block in entry["blocks"]:
            by_block[file, block].append(entry["test"])
        for file in {file for file, _ in entry["blocks"]}:
            by_file[file].append(entry["test"])
    return Coverage(by_block, by_file, seconds)


def run(options: argparse.Namespace) -> None:
    """Draw mutations and try each one that has no result yet."""
    recorded = json.loads((options.out / "sources.json").read_text())
    stale = [
        file
        for folder in options.folders
        for file in _files(folder)
        if recorded.get(file) != _hash(file)
    ]
    if stale:
        raise SystemExit(
            f"changed since it was recorded: {', '.join(stale[:5])}; run `record` again"
        )
    coverage = read_coverage(options.out)
    drawn = draw(options)
    results = read_results(options.out)
    os.environ.update(_environment(options.out))
    _preload()
    _check_without_mutation(coverage)
    for number, mutation in enumerate(drawn, 1):
        key = _key(mutation)
        known = results.get(key)
        if known and not (options.again and known["status"] == "survived"):
            continue
        tests = coverage.tests_of(mutation, options.budget)
        result = try_mutation(mutation, tests, coverage.seconds) if tests else {"status": "not run"}
        result |= {"key": key, "tests": len(tests)}
        result["shown"] = mutation.describe((ROOT / mutation.file).read_bytes())
        with (options.out / "results.jsonl").open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{number}/{len(drawn)}  {result['status']:10}  {result['shown']}", flush=True)


def _check_without_mutation(coverage: Coverage) -> None:
    """Raise SystemExit where tests fail although nothing is changed: every mutation would be caught."""
    nothing = sites.Mutation("", 1, 0, 0, "", "nothing", 0)
    quickest = sorted(coverage.seconds, key=coverage.seconds.__getitem__)[:200]
    result = try_mutation(nothing, quickest, coverage.seconds)
    if result["status"] != "survived":
        raise SystemExit(f"tests fail without any mutation: {result['by']}")


def draw(options: argparse.Namespace) -> list[sites.Mutation]:
    """The first `count` of all mutations in an order that the seed decides."""
    mutations = sites.all_sites(ROOT, options.folders)
    random.Random(options.seed).shuffle(mutations)
    valid = (m for m in mutations if m.is_valid((ROOT / m.file).read_bytes()))
    return list(itertools.islice(valid, options.count))


def _key(mutation: sites.Mutation) -> str:
    text = json.dumps([*dataclasses.astuple(mutation), _hash(mutation.file)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_results(out: Path) -> dict[str, dict[str, Any]]:
    path = out / "results.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def _preload() -> None:
    """Import what every test needs once; each mutation is tried in a fork of this process."""
    import flint  # noqa: F401
    import hypothesis  # noqa: F401
    import lark  # noqa: F401
    import mpmath  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import scipy.linalg  # noqa: F401
    import scipy.optimize  # noqa: F401
    import scipy.stats  # noqa: F401
    import sympy  # noqa: F401


def try_mutation(
    mutation: sites.Mutation, tests: list[str], seconds: dict[str, float]
) -> dict[str, Any]:
    """Run the tests with the mutation in a process of its own.

    A test that fails, an import that fails and a run that takes many times the recorded time all
    count as caught.
    """
    expected = sum(seconds[test] for test in tests)
    allowed = 4 * expected + 20
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        code = HARNESS_FAILED
        try:
            code = _run_child(mutation, tests, allowed, writing)
        finally:  # never on into the parent's code
            os._exit(code)
    os.close(writing)
    deadline = time.monotonic() + 5 * allowed
    status = _wait(child, deadline)
    with os.fdopen(reading) as pipe:
        failed = pipe.read().strip()
    if status is None or os.WIFSIGNALED(status):
        return {"status": "caught", "by": "time or memory limit"}
    code = os.WEXITSTATUS(status)
    if code == 0:
        return {"status": "survived"}
    if code in (1, 2):
        return {"status": "caught", "by": failed or "an error while tests are collected"}
    raise SystemExit(f"pytest ended with {code} for {mutation}")


def _wait(child: int, deadline: float) -> int | None:
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _run_child(mutation: sites.Mutation, tests: list[str], allowed: float, writing: int) -> int:
    quiet = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(quiet, descriptor)
    resource.setrlimit(resource.RLIMIT_CPU, (int(allowed) + 5, int(allowed) + 10))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

    def compile_source(path: str, source: bytes) -> types.CodeType | None:
        if hook.relative(path, ROOT) != mutation.file:
            return None
        return compile(mutation.apply(source), path, "exec", dont_inherit=True)

    sys.dont_write_bytecode = False  # of what is not changed: compiling takes most of a short run
    hook.install(compile_source)
    import pytest

    class Failure:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                os.write(writing, report.nodeid.encode())

    preloaded = "ignore::pytest.PytestAssertRewriteWarning"  # hypothesis
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:anyio", "-W", preloaded]
    options.append("--hypothesis-seed=0")
    return int(pytest.main([*options, *tests], plugins=[Failure()]))


def read_equivalent() -> dict[tuple[str, str, str], str]:
    """Mutations that no test can notice, by what identifies them, and why."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutation", [])
    return {(e["file"], e["line"], e["change"]): e["reason"] for e in entries}


def report(out: Path, options: argparse.Namespace) -> None:
    results, equivalent = read_results(out), read_equivalent()
    counts: Counter[str] = Counter()
    for mutation in draw(options):
        result = results.get(_key(mutation))
        if result is None:
            continue
        status, note = result["status"], f"{result['tests']} tests"
        reason = equivalent.get(mutation.identity((ROOT / mutation.file).read_bytes()))
        if status != "caught" and reason is not None:
            status, note = "equivalent", reason
        counts[status] += 1
        if status != "caught":
            print(f"{status}  {result['shown']}  ({note})")
    if total := counts.total():
        shown = ", ".join(f"{count} {status}" for status, count in counts.most_common())
        share = 100 * counts["caught"] / total
        print(f"{total} mutations: {shown}; {share:.1f} % caught")


if __name__ == "__main__":
    main()
