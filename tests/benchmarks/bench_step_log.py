"""The time that a run spends on its curves, as a share of the time of its steps.

    python tests/benchmarks/bench_step_log.py [--steps 200]

A Qwen2 model of 0.2M parameters takes steps of 16 rows of 256 tokens; the calls of the log are timed
while it does. The goal is less than 1 %.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import runs

from lawdsl.runners.training import step_log

MODEL = runs.QWEN2 | {
    "hidden_size": 64,
    "intermediate_size": 176,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 256,
}
GOAL = 0.01  # share of the time of a step


def main() -> int:
    """Run it; the exit code is 1 where the goal is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    spent = 0.0

    class Timed(step_log.StepLog):
        def add(self, *given: Any) -> None:
            nonlocal spent
            begun = time.perf_counter()
            super().add(*given)
            spent += time.perf_counter() - begun

    with tempfile.TemporaryDirectory() as folder, mock.patch.object(step_log, "StepLog", Timed):
        data, run = Path(folder) / "data", Path(folder) / "run"
        for number, name in enumerate(runs.SIZES):
            runs.write_corpus(data / name, runs.documents(20_000, number, 0))
        order = runs.order(
            data,
            MODEL,
            steps=steps,
            batch=16,
            sequence=256,
            evaluate=(0, steps),
            max_epochs=1e6,
            how={"log": ["tensorboard"], "checkpoint_every": 10**6},
        )
        assert runs.do(run, order) == 0
        seconds = runs.json.loads((run / "done.json").read_text())["seconds"]
    share = spent / seconds
    print(
        f"{1e3 * seconds / steps:.2f} ms a step, of which {1e6 * spent / steps:.0f} µs for curves"
    )
    print(f"{100 * share:.2f} % of the time; the goal is {100 * GOAL:.0f} %")
    return int(share >= GOAL)


if __name__ == "__main__":
    sys.exit(main())
