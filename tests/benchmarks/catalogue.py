"""Whether each law of the literature is found again from a table of its own, without starts.

    python tests/benchmarks/catalogue.py [--noise 0.003] [--rows 120] [--seed 0] [--only NAME]

A table is simulated at the parameters of tests/catalogue_values.py, with Gaussian noise of the logarithm, or of the output itself
where the objective of the law is; laws of mixtures have five losses on random shares, at released coefficients. A fit is at
the optimum if its objective is no larger than that of a descent from these parameters, up to 1e-6.
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
from catalogue_values import FIVE, MIXTURES, RELEASED, VALUES, Span, of_mixture
from rich.console import Console

import lawdsl
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
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


def mixtures(name: str, law: Law, rows: int, noise: float, seed: int) -> dict[str, np.ndarray]:
    """A table of the losses of five groups of domains on random mixtures, at released coefficients."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    shares = rng.dirichlet(np.ones(len(FIVE)), rows)
    columns = {f"r[{n}]": np.tile(shares[:, j], len(FIVE)) for j, n in enumerate(FIVE)}
    exact = [np.exp(c) + np.exp(k + shares @ np.array(t)) for c, k, *t in RELEASED]
    errors = np.exp(noise * rng.standard_normal(rows * len(FIVE)))
    losses = {law.output: np.concatenate(exact) * errors}
    return {**columns, **losses, "validation": np.repeat(FIVE, rows)}


def truth(name: str) -> dict[str, float]:
    """The parameters at which the table of a law is simulated, without those that follow from others."""
    if name not in MIXTURES:
        return dict(VALUES[name][0])
    groups = zip(FIVE, RELEASED, strict=True)
    every = {p: v for label, row in groups for p, v in of_mixture(name, label, row).items()}
    follows = f", {FIVE[-1]}]" if name == "mixing.m4" else None  # each row of t sums to 0
    return {p: v for p, v in every.items() if follows is None or not p.endswith(follows)}


def objectives(fit: Fit | Fits) -> list[float]:
    """The objective of a fit, or of each label that is fitted by itself."""
    return [part.objective.sum for part in (fit.parts if isinstance(fit, Fits) else [fit])]


def main() -> int:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--noise", type=float, default=0.003)
    parser.add_argument("--rows", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only laws whose name contains this")
    options = parser.parse_args()
    outcomes = []
    for name in (*VALUES, *MIXTURES):
        if options.only not in name:
            continue
        law = lawdsl.load(name)
        make = mixtures if name in MIXTURES else simulated
        table = make(name, law, options.rows, options.noise, options.seed)
        near = lawdsl.fit(law, table, starts=truth(name), claims=False, rolled_check=False)
        began = time.process_time()
        fit = lawdsl.fit(law, table, claims=False, rolled_check=False, seed=options.seed)
        took = time.process_time() - began
        ends, known = objectives(fit), objectives(near)
        found = all(end <= best * (1 + 1e-6) for end, best in zip(ends, known, strict=True))
        outcomes.append((found, fit.verdict))
        codes = " ".join(sorted({d.code for d in fit.diagnostics}))
        out.print(
            f"{name:28} {sum(ends):14.8g} {sum(known):14.8g} {fit.verdict:11} "
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
