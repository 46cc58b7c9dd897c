"""Random questions with one unknown, answered and judged: how many answers are certain, and how many wrong.

python tests/benchmarks/random_questions.py --count 2000 --seed 0
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from random_questions import KINDS, PIECEWISE, questions
from refereeing import verdict

import lawdsl


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--piecewise", action="store_true", help="goals and constraints with `if`")
    parser.add_argument("--first", type=int, default=0, help="the number of the first question")
    parser.add_argument(
        "--show", default="wrong certain;wrong;fault;refused;undecided, beaten;undecided"
    )
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    kinds: Counter[tuple[str, str]] = Counter()
    kinds_drawn = PIECEWISE if arguments.piecewise else KINDS
    drawn = questions(arguments.count, arguments.seed, kinds_drawn)
    slowest, began = 0.0, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random.law"
        for i, question in enumerate(drawn):
            if i < arguments.first:
                continue
            path.write_text(question.text, encoding="utf-8")
            start = time.process_time()
            try:
                answer = lawdsl.Asked(path, **question.fits).answer(question.given, proofs=False)
                slowest = max(slowest, time.process_time() - start)
                found, why = verdict(question, answer)
            except lawdsl.LawdslError as error:
                found, why = "refused", str(error).splitlines()[0]
            except Exception as error:  # a fault is a result
                found, why = "fault", repr(error)
            counts[found] += 1
            if i % 100 == 99:
                print(f"{i + 1}: {dict(counts)}", file=sys.stderr, flush=True)
            kinds[question.kind, found] += 1
            if found in arguments.show.split(";"):
                print(
                    f"--- {i}: {found}: {why}\n{question.text}{dict(question.given) or ''}",
                    flush=True,
                )
    for kind in sorted({kind for kind, _ in kinds}):
        own = {found: n for (k, found), n in kinds.items() if k == kind}
        print(f"{kind:12}", own)
    print(dict(counts), f"{time.process_time() - began:.0f} s, slowest answer {slowest:.1f} s")


if __name__ == "__main__":
    main()
