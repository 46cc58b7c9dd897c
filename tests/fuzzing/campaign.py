"""Random inputs by the thousand: `python tests/fuzzing/campaign.py texts --count 200000 --seed 0`.

Kinds: `texts` are read and resolved, `check` proves claims, `solve` answers questions, `tables` are
fitted, stored `fits` are predicted with, checked and asked; `every` runs a share of each. No input may
end in a fault (anything raised but a message to the user), take more than 10 s of CPU, or more than
1 GiB of memory. Inputs are mutations of the shipped files, the fixtures of the tests and the examples
of messages; of texts, those that reach a new line of `lawdsl.language` are mutated further.

Findings are minimised and written to the folder of `--out`. Started again with the same folder, a
campaign goes on where it was. Exits with 1 where there are findings.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded

from lines import Lines
from minimising import minimised
from targets import KINDS, ROOT, Case, keep_fits, seeds, warm_up
from working import Finding, Watch, run_batch

BATCH = {"texts": 500, "check": 100, "solve": 100, "tables": 50, "fits": 100}
SHARES = {"texts": 0.9, "check": 0.03, "solve": 0.02, "tables": 0.02, "fits": 0.03}
MOST = 4000  # texts of a corpus
GROWING = 5000  # inputs from which on the corpus grows: it takes a minute to see what it reaches
WATCHED, FIRST, LATER = 20_000, 8, 64  # one input in 8 is watched first, later one in 64
EVERY = 30.0  # s between lines of progress


class Campaign:
    """One kind of input: what was done, what was found, and the corpus, all kept in a folder."""

    def __init__(self, kind: str, seed: int, out: Path, corpus: Sequence[str] = ()) -> None:
        self.kind, self.seed, self.folder = kind, seed, out / kind
        self.make, self.run = KINDS[kind]
        self.corpus_folder = self.folder / "corpus"
        self.corpus_folder.mkdir(parents=True, exist_ok=True)
        self.state_file = self.folder / "state.json"
        self.state: dict[str, Any] = {"seed": seed, "done": 0, "seconds": 0.0, "outcomes": {}}
        self.state |= {"findings": {}, "slowest": [0.0, -1]}
        if self.state_file.exists():
            self.state = json.loads(self.state_file.read_text(encoding="utf-8"))
            if self.state["seed"] != seed:
                raise SystemExit(f"{self.folder} is of --seed {self.state['seed']}")
        kept = [p.read_bytes() for p in sorted(self.corpus_folder.iterdir())]
        self.corpus = [*seeds(), *corpus, *(c.decode("utf-8", "surrogatepass") for c in kept)]
        self.lines: Lines | None = None

    def go(self, count: int) -> None:
        """Run inputs until so many are done."""
        if self.kind in ("fits", "solve"):
            keep_fits(self.folder.parent / "fits-kept")
        with tempfile.TemporaryDirectory(prefix="lawdsl-fuzz-") as scratch:
            self.scratch = Path(scratch)
            warm_up(self.kind, self.scratch)
            if self.kind == "texts" and count - self.state["done"] > GROWING:
                self.lines = Lines(ROOT / "lawdsl" / "language")
                for text in self.corpus:  # what the corpus reaches is not new
                    self._again(Case(text.encode("utf-8", "surrogatepass")))
            said = began = time.monotonic()
            before = self.state["seconds"]
            while self.state["done"] < count:
                first = self.state["done"]
                self._batch(first, min(count, first + BATCH[self.kind]))
                self.state["seconds"] = before + time.monotonic() - began
                self.state_file.write_text(json.dumps(self.state, indent=1), encoding="utf-8")
                if time.monotonic() - said > EVERY or self.state["done"] >= count:
                    said = time.monotonic()
                    print(self, flush=True)

    def __str__(self) -> str:
        state, found = self.state, self.state["findings"]
        kinds = {kind: 0 for kind in ("fault", "hang", "memory", "death")}
        for key in found:
            kinds[key.partition(" ")[0]] += 1
        listed = ", ".join(f"{n} {k}" for k, n in kinds.items())
        slowest, number = state["slowest"]
        return (
            f"{self.kind}: {state['done']:,} inputs in {state['seconds']:,.0f} s, "
            f"the slowest {slowest:.1f} s of CPU ({number}); distinct findings: {listed}; "
            f"outcomes: {families(state['outcomes'])}"
        )

    def _input(self, corpus: Sequence[str], number: int) -> Case:
        return self.make(random.Random(f"{self.seed}:{self.kind}:{number}"), corpus)

    def _batch(self, first: int, last: int) -> None:
        make = partial(self._input, list(self.corpus))
        every = FIRST if first < WATCHED else LATER
        watch = Watch(self.lines.watch, every) if self.lines else None
        batch = run_batch(range(first, last), make, self.run, self.scratch, watch)
        self.state["done"] += batch.done
        for outcome, count in batch.outcomes.items():
            self.state["outcomes"][outcome] = self.state["outcomes"].get(outcome, 0) + count
        self.state["slowest"] = max(self.state["slowest"], list(batch.slowest))
        for number, finding in batch.findings.items():
            self._found(number, make(number), finding)
        for number in batch.new:
            self._grow(make(number))

    def _again(self, case: Case) -> bool:
        assert self.lines is not None
        try:
            return self.lines.watch(partial(self.run, case, self.scratch))
        except Exception:  # a finding, which is kept as one
            return False

    def _grow(self, case: Case) -> None:
        """Keep a text that reaches what no other of the corpus does."""
        if len(self.corpus) < MOST and self._again(case):
            self.corpus.append(case.content.decode("utf-8", "surrogatepass"))
            name = hashlib.sha256(case.content).hexdigest()[:16]
            (self.corpus_folder / name).write_bytes(case.content)

    def _found(self, number: int, case: Case, finding: Finding) -> None:
        """Count a finding; keep the first at its place, minimised."""
        key = f"{finding.kind} {finding.where}".strip()
        count = self.state["findings"].get(key, 0)
        if finding.kind == "hang":  # of which the place is not known: each may be another
            key = f"hang {number}"
        self.state["findings"][key] = count + 1
        if count:
            return
        name = f"{self.kind}-{number}"
        print(f"{name}: {key}", flush=True)
        (self.folder / f"{name}.txt").write_text(
            f"{key}\nlawdsl {' '.join(case.arguments)}\n\n{finding.details}", encoding="utf-8"
        )
        (self.folder / f"{name}{case.suffix}").write_bytes(case.content)
        small = minimised(case, finding, self.run, self.scratch)
        (self.folder / f"{name}-small{case.suffix}").write_bytes(small.content)


def families(outcomes: dict[str, int]) -> str:
    """How often each outcome, the most frequent first; refusals by the first two digits of their code."""
    counts: dict[str, int] = {}
    for outcome, count in outcomes.items():
        family = f"{outcome[:-2]}.." if outcome.startswith("refused ") else outcome
        counts[family] = counts.get(family, 0) + count
    listed = sorted(counts.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{family} {count:,}" for family, count in listed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("kind", choices=(*KINDS, "every"))
    parser.add_argument("--count", type=int, default=1000, help="inputs in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("fuzz"), help="folder of what is found")
    parser.add_argument("--corpus", type=Path, help="folder of further texts to begin with")
    told = parser.parse_args()
    files = sorted(told.corpus.iterdir()) if told.corpus else []
    more = [p.read_bytes().decode("utf-8", "surrogatepass") for p in files]
    kinds = KINDS if told.kind == "every" else (told.kind,)
    found = False
    for kind in kinds:
        campaign = Campaign(kind, told.seed, told.out, more)
        campaign.go(round(told.count * (SHARES[kind] if told.kind == "every" else 1)))
        found = found or bool(campaign.state["findings"])
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
