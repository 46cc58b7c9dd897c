"""Fits of the shipped laws to noisy planted tables, points in their domains, and exports as modules."""

from __future__ import annotations

import importlib.util
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from planted import PLANTED, as_measured

import lawdsl
from lawdsl.core.diagnostics import Text
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.library import declared
from lawdsl.law.law import Law

NOISE = 0.003
POINTS = 1000
VALUE_RTOL = 1e-12
SLOPE_RTOL = 1e-10
INTERVAL_RTOL = (
    1e-9  # of the width: the factor of the covariance cancels where parameters correlate
)
_numbers = itertools.count()


def law(name: str) -> Law:
    """A shipped law; `mixing.implicit` with 3 hidden domains in place of its 30."""
    shipped = lawdsl.load(name)
    if name != "mixing.implicit":
        return shipped
    text = shipped.declarations.text.text.replace("1..30", "1..3")
    return Law(declared(Text("implicit.law", text), Path())[0])


def noisy(name: str) -> dict[str, np.ndarray]:
    """The planted table of a law as a user has it, with noise on the output."""
    planted = PLANTED[name]
    table = as_measured(name) if lawdsl.load(name).indexed else planted.table()
    if name == "mixing.bimix":  # the loss on each of its domains
        columns = {n: np.tile(x, 3) for n, x in planted.columns.items()}
        domains = np.repeat(["i", "a", "b"], len(planted.columns["S"]))
        own = np.choose(
            np.repeat([0, 1, 2], len(planted.columns["S"])), [columns[f"r[{x}]"] for x in "iab"]
        )
        more = np.repeat([1.0, 1.2, 0.7], len(planted.columns["S"]))
        loss = (9 * more / columns["S"] ** 0.45 + 1.6 * more) / own**0.12
        table = {**columns, "domain": domains, "L": loss}
    output = planted.output
    rng = np.random.default_rng(3)
    return {**table, output: table[output] * np.exp(NOISE * rng.normal(size=len(table[output])))}


@cache
def fitted(name: str) -> Fit | Fits:
    """The fit of a shipped law to its noisy planted table."""
    quick: dict[str, Any] = {"claims": False, "rolled_check": False, "intervals": "delta"}
    if lawdsl.load(name).indexed:
        # a search for the many parameters of the joint law takes half a minute
        starts = PLANTED[name].parameters if name == "mixing.joint" else 2
        return lawdsl.fit(law(name), noisy(name), starts=starts, **quick)
    planted, choice = PLANTED[name].parameters, law(name).objective.choice
    start = {n: x for n, x in planted.items() if choice is None or n != choice.name}
    if choice is not None:
        quick |= {"intervals": "bootstrap", "resamples": 100}
    return lawdsl.fit(name, noisy(name), starts=start, **quick)


@dataclass(frozen=True)
class Points:
    """Points in the domain of a fit.

    Attributes:
        table: as `predict` takes them, label of rows included.
        values: variable -> its values, shape (points,), or (points, labels).
        labels: set -> the label of the rows.
    """

    table: Mapping[str, Any]
    values: Mapping[str, np.ndarray]
    labels: Mapping[str, str]


def points(fit: Fit | Fits, count: int = POINTS, seed: int = 0, label: int = 0) -> Points:
    """Random points in the fitted ranges; shares of a mixture, some of which are 0."""
    rng = np.random.default_rng(seed)
    read = fit.read_law()
    values: dict[str, np.ndarray] = {}
    table: dict[str, Any] = {}
    ranges = fit.data.ranges if isinstance(fit, Fit) else fit.parts[0].data.ranges
    sets: dict[str, str] = {}
    names: dict[str, dict[str, str]] = {q.name: {} for q in read.variables}
    if isinstance(fit, Fits):
        names = fit.elements_of_variables(read)
        sets = {over: fit.labels[over][label] for over in sets_of_rows(fit)}
    for name, elements in names.items():
        if elements:
            shares = rng.dirichlet(np.ones(len(elements)), count)
            if name != "h" and "bimix" not in read.name:  # their laws have no value at 0
                shares[: count // 4, 0] = 0.0
            shares /= shares.sum(axis=1, keepdims=True)
            values[name] = shares
            table |= {text: shares[:, k] for k, text in enumerate(elements.values())}
            continue
        low, high = ranges[name if name in ranges else f"{name}[d]"]
        values[name] = rng.uniform(low, high, count)
        if low > 0:
            values[name] = np.exp(rng.uniform(np.log(low), np.log(high), count))
        table[name] = values[name]
    table |= {over: np.repeat(x, count) for over, x in sets.items()}
    return Points(table, values, sets)


def sets_of_rows(fits: Fits) -> tuple[str, ...]:
    """The sets of which a prediction has one label."""
    read = fits.read_law()
    return tuple(read.declarations.indices[i].over for i in fits.asked(read))


def module(text: str) -> ModuleType:
    """A generated Python module, loaded from a file as its user does."""
    with tempfile.TemporaryDirectory() as folder:
        name = f"exported_{next(_numbers)}"
        path = Path(folder) / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        specification = importlib.util.spec_from_file_location(name, path)
        assert specification is not None and specification.loader is not None
        made = importlib.util.module_from_spec(specification)
        sys.modules[name] = made
        specification.loader.exec_module(made)
    return made


def close(found: Any, expected: Any, rtol: float) -> None:
    """Equal up to rounding, relative to each value and, near a zero of the law, to the largest."""
    expected = np.asarray(expected, dtype=float)
    finite = expected[np.isfinite(expected)]
    size = np.max(np.abs(finite), initial=0.0)
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=rtol, atol=size * rtol / 10)


def one_by_one(function: Callable[..., Any], at: Points, count: int) -> list[Any]:
    """The results of a function of floats at the first points."""
    rows = [{name: x[k].tolist() for name, x in at.values.items()} for k in range(count)]
    return [function(**row, **at.labels) for row in rows]


OUTPUTS, DOMAINS = ("github", "books", "wiki"), ("web", "code", "news", "math")


@cache
def mixture() -> Fits:
    """Losses on three sets after training on mixtures of four."""
    rng = np.random.default_rng(7)
    shares = rng.dirichlet(np.ones(4), 30)
    t = rng.normal(size=(3, 4))
    losses = np.array([1.0, 2.1, 0.6]) + np.array([0.5, 0.2, 0.9]) * np.exp(shares @ t.T)
    losses *= np.exp(1e-3 * rng.normal(size=losses.shape))
    table = {f"r[{name}]": shares[:, j] for j, name in enumerate(DOMAINS)}
    table |= {f"L[{name}]": losses[:, i] for i, name in enumerate(OUTPUTS)}
    made = lawdsl.fit("mixing.m4", table, starts=4, claims=False)
    assert isinstance(made, Fits)
    return made


NODE = shutil.which("node")
RUNNER = """
import * as law from "./law.mjs";
import { readFileSync } from "node:fs";
const rows = JSON.parse(readFileSync("points.json", "utf8"));
const attempt = (f, row) => { try { return f(row); } catch (error) { return error.message; } };
const all = (f) => (f ? rows.map((row) => attempt(f, row)) : []);
console.log(JSON.stringify([
    all(law.predict), all(law.predictWithInterval), all(law.gradient), all(law.parameterGradient),
], (_, x) => (typeof x === "number" && !Number.isFinite(x) ? String(x) : x)));
"""


def in_node(text: str, rows: list[dict[str, Any]], folder: Path) -> Any:
    """The results of a generated module at each row."""
    assert NODE is not None
    (folder / "law.mjs").write_text(text, encoding="utf-8")
    (folder / "run.mjs").write_text(RUNNER, encoding="utf-8")
    (folder / "points.json").write_text(json.dumps(rows), encoding="utf-8")
    done = subprocess.run(
        [NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
