"""Random questions with several unknowns, against an independent referee.

    python tests/benchmarks/random_joint_questions.py [--count 500] [--seed 0] [--smooth 10]

Says how many answers were certain and wrong, wrong without certainty, and undecided, of each kind;
one question in `--smooth` is asked again for other givens, to judge sensitivities.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from joint_referee import answered, judged, sensitivities_off
from random_joint_questions import questions


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smooth", type=int, default=10)
    options = parser.parse_args()
    told: Counter[str] = Counter()
    kinds: Counter[tuple[str, str]] = Counter()
    spent = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number, question in enumerate(questions(options.seed, options.count)):
            began = time.process_time()
            asked, answer = answered(question, Path(folder))
            spent += time.process_time() - began
            found = judged(question, answer, seed=number)
            word = f"{found.word}, certain" if found.certain else found.word
            told[word] += 1
            kinds[question.kind, found.word] += 1
            if found.word != "right":
                print(
                    f"--- {number} {question.kind}: {word}: {found.why}\n{question.text}",
                    flush=True,
                )
            if options.smooth and number % options.smooth == 0:
                off = sensitivities_off(asked, answer, question.given)
                told["not smooth" if off is None else "wrong slope" if off else "right slope"] += 1
                if off:
                    print(f"--- {number} {question.kind}: slope {off}\n{question.text}", flush=True)
    print(dict(told))
    for kind, word in sorted(kinds):
        print(f"{kind:12} {word:10} {kinds[kind, word]}")
    print(f"{1000 * spent / options.count:.0f} ms of CPU for an answer")


if __name__ == "__main__":
    main()
