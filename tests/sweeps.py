"""Small sweeps for tests: corpora of a few tokens, models that are only described, a fake worker."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lawdsl.runners.run.model_facts import ModelFacts
from lawdsl.runners.sweeps.grid import orders_of
from lawdsl.runners.sweeps.inputs import SweepInputs, inputs_of
from lawdsl.runners.sweeps.local import LocalEngine
from lawdsl.runners.sweeps.machine import Machine
from lawdsl.runners.sweeps.plan import Plan, plan_of
from lawdsl.runners.sweeps.scheduler import RunOutcome, StopRequest, run_jobs
from lawdsl.runners.sweeps.sweep import Sweep, read_sweep

WORKER = (sys.executable, str(Path(__file__).parent / "fake_worker.py"))
MACHINE = Machine(cores=2, gpus={})

TEXT = """
name = "python-from-manuals"
folder = "runs"
[corpora]
general = "corpora/general"
code = "corpora/code"
[validation]
general = "corpora/general-validation"
code = "corpora/code-validation"
[[models]]
name = "small"
config = {hidden_size = 100}
initialization = "width-scaled"
learning_rate = 1e-2
[[models]]
name = "large"
config = {hidden_size = 1000}
initialization = "width-scaled"
[grid]
shares = [{code = 0}, {code = "1/3"}, {code = 1}]
rest = "general"
seeds = [1]
[training]
steps = 20
batch = 4
sequence = 8
learning_rate = 3e-3
[evaluation]
schedule = "dense"
every = 5
[run]
checkpoint_every = 5
"""


def corpus(folder: Path, tokens: int = 2000, vocabulary: int = 50, tokenizer: str = "one") -> Path:
    """A corpus whose documents have 50 tokens each."""
    folder.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(len(str(folder.name))).integers(0, vocabulary, tokens)
    (folder / "tokens.bin").write_bytes(values.astype("<u2").tobytes())
    bounds = np.array([*range(0, tokens, 50), tokens], dtype="<i8")
    np.save(folder / "documents.npy", bounds)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    files = ("tokens.bin", "documents.npy", "tokenizer.json")
    facts = {
        "schema": 1,
        "name": folder.name,
        "tokens": tokens,
        "documents": len(bounds) - 1,
        "dtype": "uint16",
        "bytes": 4 * tokens,
        "vocabulary": vocabulary,
        "end_of_text": 0,
        "sha256": {f: hashlib.sha256((folder / f).read_bytes()).hexdigest() for f in files},
        "sources": [],
    }
    (folder / "corpus.json").write_text(json.dumps(facts))
    return folder


def made(folder: Path, text: str = TEXT) -> Path:
    """The file of a sweep, and the corpora that it names."""
    for name in ("general", "code", "general-validation", "code-validation"):
        corpus(folder / "corpora" / name)
    path = folder / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return path


def inspect(sources: Sequence[Any], passes: object = None) -> list[ModelFacts]:
    """Facts of models without torch: of width 100 and 1,000 parameters a unit of width."""
    found = []
    for source in sources:
        width = source["hidden_size"] if isinstance(source, dict) else 100
        name = json.dumps(source, sort_keys=True)
        mark = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
        weights = not isinstance(source, dict)
        n = 1000 * width
        found.append(ModelFacts(mark, weights, n + 50 * width, n, 50 * width, 2, width, 50, 64))
    return found


def sweep_in(folder: Path, text: str = TEXT) -> tuple[Sweep, SweepInputs]:
    sweep = read_sweep(made(folder, text))
    return sweep, inputs_of(sweep, inspect)


def planned(path: Path, machine: Machine = MACHINE, jobs: int = 2) -> Plan:
    """The plan of a sweep whose file and corpora are there."""
    sweep = read_sweep(path)
    inputs = inputs_of(sweep, inspect)
    return plan_of(sweep, inputs, orders_of(sweep, inputs, machine), machine, jobs)


def engine(**changes: Any) -> LocalEngine:
    return LocalEngine(**{"machine": MACHINE, "jobs": 2, "worker": WORKER, **changes})


def carried_out(path: Path, **changes: Any) -> dict[str, RunOutcome]:
    """Label -> the outcome of each run of a sweep that was not done before."""
    plan = planned(path)
    with StopRequest() as stop:
        outcomes = run_jobs(engine(**changes), plan.to_do, stop)
    return {outcome.run.label: outcome for outcome in outcomes}


def folder_of(path: Path, label: str) -> Path:
    """The folder of a run of a sweep."""
    (folder,) = (path.parent / "runs").glob(f"{label}-*")
    return folder


def with_lines(text: str, **tables: str) -> str:
    """The text of a sweep with further lines in some of its tables: grid="rest = 'code'"."""
    for table, lines in tables.items():
        text = text.replace(f"\n[{table}]\n", f"\n[{table}]\n{lines}\n", 1)
    return text
