"""How often verdicts on random laws are wrong, by a referee that shares no code with the tool.

python tests/benchmarks/soundness.py --count 2000 --seed 0
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from independent_laws import make, make_piecewise
from independent_referee import objections

import lawdsl
from lawdsl.core.diagnostics import LawdslError


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=2000)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--seconds", type=float, default=0.3, help="CPU time for one claim")
    arguments.add_argument("--piecewise", action="store_true", help="laws with `if` only")
    given = arguments.parse_args()
    counts: Counter[str] = Counter()
    wrong, took, referee = 0, 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.count):
            rng = random.Random(f"{given.seed}:{number}")
            case = make_piecewise(rng) if given.piecewise else make(rng)
            path = case.write(Path(folder))
            try:
                found = lawdsl.check(lawdsl.load(str(path)), seconds=given.seconds)
            except LawdslError as error:
                counts[f"refused {error.diagnostics[0].code}"] += 1
                continue
            (verdict,) = found.claims
            took += verdict.seconds
            counts[verdict.verdict] += 1
            counts[f"{case.kind}: {verdict.verdict}"] += 1
            began = time.process_time()
            for objection in objections(case, verdict.to_json(), seed=number):
                wrong += 1
                print(f"--- {given.seed}:{number}: {objection}\n{case.text()}{verdict}", flush=True)
            referee += time.process_time() - began
            if (number + 1) % 50 == 0:
                print(
                    f"{number + 1} laws, {wrong} wrong: {dict(counts)}", file=sys.stderr, flush=True
                )
    for what, count in sorted(counts.items()):
        print(f"{what:24} {count}")
    print(
        f"{given.count} laws, {took:.0f} s of CPU in the checks, {referee:.0f} s in the referee: {wrong} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
