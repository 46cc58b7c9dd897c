"""Whether each law of the literature is found again from a table of its own, without starts.

    python tests/benchmarks/catalogue.py [--noise 0.003] [--rows 120] [--seed 0] [--only NAME]

A table is simulated at the parameters of tests/catalogue_values.py, with Gaussian noise of the logarithm, or of the output itself
where the objective of the law is. A fit is at the optimum if its objective is no larger than that of a descent from these
parameters, up to 1e-6.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import argparse
import time
import warnings
import zlib

import numpy as np
import sympy as sp
from catalogue_values import VALUES, Span
from rich.console import Console

import lawdsl
from lawdsl.law.law import Law

out = Console(highlight=False, width=140)


def column(span: Span, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Values of a variable: of a logarithmic range, or drawn from a grid; each value of a short grid occurs."""
    if isinstance(span, tuple):
        return np.exp(np.linspace(*np.log(span), rows))[rng.permutation(rows)]
    return rng.permutation(np.resize(np.asarray(span, dtype=float), rows))


def simulated(name: str, law: Law, rows: int, noise: float, seed: int) -> dict[str, np.ndarray]:
    """A table of a law at its parameters."""
    truth, spans = VALUES[name]
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    table = {variable: column(span, rows, rng) for variable, span in spans.items()}
    numbers = {law.symbols[s.name]: s.value for s in law.settings}
    numbers |= {law.symbols[p]: v for p, v in truth.items()}
    variables = list(spans)
    formula = law.expression.xreplace({s: sp.Float(repr(float(v))) for s, v in numbers.items()})
    compute = sp.lambdify([law.symbols[v] for v in variables], formula, "numpy")
    values = np.asarray(compute(*table.values()), dtype=float) + np.zeros(rows)
    errors = noise * rng.standard_normal(rows)
    in_logarithms = "log" in law.objective.name
    noisy = values * np.exp(errors) if in_logarithms else values + errors * np.std(values)
    return {**table, law.output: noisy}


def main() -> int:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--noise", type=float, default=0.003)
    parser.add_argument("--rows", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only laws whose name contains this")
    options = parser.parse_args()
    outcomes = []
    for name in VALUES:
        if options.only not in name:
            continue
        law = lawdsl.load(name)
        table = simulated(name, law, options.rows, options.noise, options.seed)
        near = lawdsl.fit(
            law, table, starts=dict(VALUES[name][0]), claims=False, rolled_check=False
        )
        began = time.process_time()
        fit = lawdsl.fit(law, table, claims=False, rolled_check=False, seed=options.seed)
        took = time.process_time() - began
        found = fit.objective.sum <= near.objective.sum * (1 + 1e-6)
        outcomes.append((found, fit.verdict))
        codes = " ".join(sorted({d.code for d in fit.diagnostics}))
        out.print(
            f"{name:28} {fit.objective.sum:14.8g} {near.objective.sum:14.8g} {fit.verdict:11} "
            f"{took:6.2f} s {'' if found else 'MISSED':7} {codes}"
        )
    count = len(outcomes)
    found = sum(at for at, _ in outcomes)
    trusted = sum(verdict == "trusted" for _, verdict in outcomes)
    wrong = sum(verdict == "trusted" and not at for at, verdict in outcomes)
    out.print(f"{found} of {count} at the optimum, {trusted} trusted, {wrong} trusted above it")
    return 0 if found == count and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
