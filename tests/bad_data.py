"""The bank of bad inputs: for each how it is made, the code it must be answered with, and the
evidence that must stand in the answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from planted import PLANTED, grid, law_of

import lawdsl
from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.diagnostics.alternative_minima import several_optima
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.solvers.descent import descend
from lawdsl.fitting.solvers.starts import chosen_starts

Array = np.ndarray
Columns = dict[str, Any]

SIZES, TOKENS = np.geomspace(7e7, 1.6e10, 12), np.geomspace(5e9, 5e11, 12)
RAY = np.geomspace(1e7, 1e11, 30)


@dataclass(frozen=True)
class Bad:
    """A bad input.

    Attributes:
        table: makes the table.
        code: that it is answered with.
        evidence: what must stand in the message, its place or its notes.
        verdict: what becomes of the fit; refused where there is none.
        law: what is fitted.
        options: of the fit.
        ask: how the diagnostics are got, where it is no plain fit.
    """

    table: Callable[[], Any]
    code: str
    evidence: tuple[str, ...]
    verdict: str = "refused"
    law: Any = "chinchilla"
    options: Mapping[str, Any] = field(default_factory=dict)
    ask: Callable[[Any, Any], tuple[Diagnostic, ...]] | None = None


def noise(count: int, size: float = 0.003, seed: int = 0) -> Array:
    return size * np.random.default_rng(seed).normal(size=count)


def exact(law: str, columns: Columns) -> Array:
    p = PLANTED[law]
    return p.formula(**columns, **p.parameters)


def runs(size: float = 0.003, seed: int = 0, **columns: Array) -> Columns:
    """A clean table for chinchilla, 144 rows unless columns are given."""
    at = {**grid(N=SIZES, D=TOKENS), **columns}
    return {**at, "L": exact("chinchilla", at) * np.exp(noise(len(at["N"]), size, seed))}


def with_cells(column: str, cells: Mapping[int, Any]) -> Callable[[], Columns]:
    """A clean table with some cells replaced; rows are counted from 1."""

    def table() -> Columns:
        made = {k: list(v) for k, v in runs().items()}
        for row, cell in cells.items():
            made[column][row - 1] = cell
        return made

    return table


def changed(
    change: Callable[[Columns, Array], Array], size: float = 0.003
) -> Callable[[], Columns]:
    """A clean table whose losses are changed by a function of its columns and of noise."""

    def table() -> Columns:
        made = runs(size)
        made["L"] = change(made, np.random.default_rng(7).normal(size=len(made["L"])))
        return made

    return table


def scaled(rows: Any, factor: float) -> Callable[[], Columns]:
    def change(t: Columns, e: Array) -> Array:
        loss = t["L"].copy()
        loss[rows] = loss[rows] * factor
        return loss

    return changed(change)


def of_other(
    law: str, columns: Columns | None = None, size: float = 0.003
) -> Callable[[], Columns]:
    """Data that follow another law than the one that is fitted."""

    def table() -> Columns:
        at = dict(columns or PLANTED[law].columns)
        loss = exact(law, at)
        return {**at, "L": loss * np.exp(noise(len(loss), size))}

    return table


def heavy_tailed(seed: int = 0) -> Columns:
    """Noise that now and then is far larger than usual, on 900 rows: a tail as of 1/size²."""
    at = grid(N=np.geomspace(7e7, 1.6e10, 30), D=np.geomspace(5e9, 5e11, 30))
    off = 0.003 * np.random.default_rng(seed).standard_t(2, 900)
    return {**at, "L": exact("chinchilla", at) * np.exp(off)}


def along_lines(t: Columns, e: Array) -> Array:
    """Noise that wanders from checkpoint to checkpoint of one run, sizes being runs."""
    order = np.lexsort((t["D"], t["N"]))
    walk = np.zeros(len(e))
    for before, row in zip([None, *order[:-1]], order, strict=True):
        new = before is None or t["N"][row] != t["N"][before]
        walk[row] = e[row] if new else 0.9 * walk[before] + np.sqrt(1 - 0.81) * e[row]
    return exact("chinchilla", {"N": t["N"], "D": t["D"]}) * np.exp(0.004 * walk)


def copied(count: int) -> Callable[[], Columns]:
    return lambda: {k: np.repeat(v, count) for k, v in runs().items()}


def measured_again() -> Columns:
    """Five evaluations of each of 36 runs: their small noise is not that of the runs."""
    at = {k: np.repeat(v, 5) for k, v in PLANTED["chinchilla"].columns.items()}
    off = np.repeat(noise(36, 0.004), 5) + noise(180, 0.0005, 1)
    return {**at, "L": exact("chinchilla", at) * np.exp(off)}


def predicted(beyond: Columns) -> Callable[[Any, Any], tuple[Diagnostic, ...]]:
    """The warnings of a prediction with a good fit."""

    def ask(law: Any, table: Any) -> tuple[Diagnostic, ...]:
        fit = lawdsl.fit(law, table, starts=6)
        assert fit.verdict == "trusted"
        return fit.predict_with_warnings(beyond)[1]

    return ask


def optima(law: Any, table: Any) -> tuple[Diagnostic, ...]:
    """What is said of the places that searches from 24 starts have reached."""
    columns = np.array([table[q.name] for q in law.variables])
    problem = problem_of(law, columns, table["L"], law.objective)
    with np.errstate(all="ignore"):
        reached = descend(problem, chosen_starts(prepare(law), problem, 24, 0))
        return tuple(
            several_optima(prepare(law), problem, min(reached, key=lambda d: d.loss), reached)
        )


X = np.linspace(0.1, 4.0, 60)
FAR = np.geomspace(1, 1000, 200)
TWO_DECAYS = law_of(
    "variable x > 0\nparameter A, B, a, b > 0\nL = A*exp(-a*x) + B*exp(-b*x)\nminimize squared(L)"
)
DISTANCE = law_of("variable x\nparameter c\nL = 1 + (x^2 - c^2)^2 + 0*c\nminimize squared(L)")
PRODUCT = law_of("variable x > 0\nparameter a, b > 0\nL = 1 + a*b*x")
LOGARITHM = law_of("variable x > 0\nparameter a > 100\nL = log(x - a)")
SQUARED = {"objective": "squared(log)"}
CPT = PLANTED["dcpt.share"]


def shares(change: Callable[[Array], Array], law_noise: float = 0.002) -> Callable[[], Columns]:
    """A table for the share term, with shares or losses changed."""

    def table() -> Columns:
        r = np.linspace(0, 1, 25)
        loss = exact("dcpt.share", {"r": r}) * np.exp(noise(25, law_noise))
        return {"r": change(r), "L": loss}

    return table


BANK: dict[str, Bad] = {
    # ---- cells
    "a loss that is NaN": Bad(with_cells("L", {17: math.nan}), "D0107", (":17 column L", "nan")),
    "a loss that is infinite": Bad(with_cells("L", {17: math.inf}), "D0107", (":17", "inf")),
    "a negative loss": Bad(with_cells("L", {9: -2.7}), "D0109", (":9 column L", "-2.7")),
    "a loss of 0": Bad(with_cells("L", {9: 0.0, 12: 0.0}), "D0109", (":9", "rows 9, 12")),
    "no tokens": Bad(with_cells("D", {3: 0.0}), "D0108", (":3 column D", "domain D > 0")),
    "negative tokens": Bad(with_cells("D", {3: -1e9}), "D0108", (":3 column D", "-1000000000")),
    "a share in percent": Bad(shares(lambda r: 100 * r), "D0108", (":2 column r",), law="dcpt.share"),
    "a missing loss": Bad(with_cells("L", {5: None}), "D0106", (":5 column L", "is empty")),
    "numbers as strings": Bad(
        lambda: {**runs(), "D": [str(x) for x in runs()["D"]]}, "D0106", (":1 column D", "is text"),
    ),
    "a word for a number": Bad(with_cells("N", {4: "70M"}), "D0106", (":4 column N", '"70M"')),
    # ---- tables
    "an empty table": Bad(lambda: {"N": [], "D": [], "L": []}, "D0103", ("no rows",)),
    "three rows": Bad(
        lambda: {k: v[:3] for k, v in runs().items()}, "D0110", ("3 rows, 5 parameters",),
    ),
    "columns of different lengths": Bad(lambda: {**runs(), "L": [2.0]}, "D0102", ("L 1",)),
    "no column for the loss": Bad(
        lambda: {"N": SIZES, "D": TOKENS, "loss": SIZES}, "D0104", ("unknown column `L`",),
    ),
    "a unit of another thing": Bad(
        lambda: {("N [token]" if k == "N" else k): v for k, v in runs().items()}, "D0112", ("param",),
    ),
    "conditions that no row meets": Bad(
        runs, "D0103", ("no row is left",), options={"where": "N > 1e12"},
    ),
    "half of D in billions": Bad(
        lambda: {**runs(), "D": runs()["D"] * np.where(np.arange(144) % 2, 1e-9, 1)},
        "D0113", ("column D", "nothing lies between 500 and 5e+09"),
    ),
    "some of N in millions": Bad(
        lambda: {**runs(), "N": runs()["N"] * np.where(np.arange(144) % 9, 1, 1e-6)},
        "D0113", ("column N", "two scales"),
    ),
    "a loss that never changes": Bad(changed(lambda t, e: 0 * e + 2.5), "D0111", ("2.5",)),
    "twenty copies of each row": Bad(
        copied(20), "D0114", ("2,736 of 2,880 rows repeat",), "caution",
    ),
    "two copies of each row": Bad(copied(2), "D0114", ("144 of 288 rows repeat",), "caution"),
    # ---- designs
    "as many rows as parameters": Bad(
        lambda: runs(N=SIZES[[0, 9, 3, 11, 6]], D=TOKENS[[4, 0, 11, 6, 9]]), "F0102",
        ("5 rows, 5 parameters",), "caution",
    ),
    "one size": Bad(
        lambda: runs(N=np.full(30, 1e9), D=RAY), "F0101", ("N has one value: 1e+09",), "not trusted",
    ),
    "two sizes": Bad(
        lambda: runs(**grid(N=[1e8, 1e9], D=TOKENS)), "F0101", ("N has two values",), "not trusted",
    ),
    "one ray, D = 20 N": Bad(
        lambda: runs(N=RAY, D=20 * RAY), "F0101", ("D = 20 N in every row",), "not trusted",
    ),
    "nearly one ray": Bad(
        lambda: runs(N=RAY, D=20 * RAY * np.exp(noise(30, 1e-4))), "F0101", ("D ≈ 20 N",),
        "not trusted",
    ),
    "one column for two variables": Bad(
        lambda: runs(N=RAY, D=RAY), "F0101", ("D = 1 N in every row",), "not trusted",
        options={"columns": {"D": "N"}},
    ),
    "factors of a product": Bad(
        lambda: {"x": X, "L": 1 + 6 * X}, "F0114", ("no data can tell a and b apart",), "not trusted",
        law=PRODUCT,
    ),
    "no small shares": Bad(
        lambda: {"r": 0.6 + 0.4 * CPT.columns["r"], "L": exact("dcpt.share", {
            "r": 0.6 + 0.4 * CPT.columns["r"]}) * np.exp(noise(11, 0.003))},
        "F0101", ("cannot be",), "not trusted", law="dcpt.share",
    ),
    # ---- searches
    "one start": Bad(
        runs, "F0104", ("one start",), "caution",
        options={"starts": {"E": 1, "A": 400, "B": 400, "alpha": 0.3, "beta": 0.3}},
    ),
    "a start at 0": Bad(
        runs, "F0106", ("E",),
        options={"starts": {"E": 0, "A": 0, "B": 0, "alpha": 0, "beta": 0}},
    ),
    "a law without a value there": Bad(
        lambda: {"x": X, "L": 1 + X}, "F0107", ("has no value",), law=LOGARITHM,
    ),
    # ---- the wrong law
    "a bound that is active": Bad(
        changed(lambda t, e: 9 / t["N"] ** 0.1 + 30 / t["D"] ** 0.2 - 0.3), "F0103",
        ("E lies on its bound E > 0",), "caution",
    ),
    "a score in place of the loss": Bad(
        changed(lambda t, e: 1 / t["L"] * np.exp(0.003 * e)), "F0116",
        ("N and D together", "of their squares"), "not trusted",
    ),
    "columns in a law that can only rise": Bad(
        lambda: {"x": X, "L": 6 - X}, "F0112", ("worse than their mean",), "not trusted",
        law=law_of("variable x > 0\nparameter a > 0\nL = a*x"),
    ),
    "noise and nothing else": Bad(
        changed(lambda t, e: 2.5 * np.exp(0.1 * e)), "F0101", ("cannot be",), "not trusted",
    ),
    "perplexity in place of the loss": Bad(
        changed(lambda t, e: np.exp(t["L"])), "F0116", ("the residuals", "measured against fitted"),
        "not trusted",
    ),
    "data of another law": Bad(
        of_other("kaplan", grid(N=np.geomspace(1e6, 1.5e9, 12), D=np.geomspace(2.2e7, 2.3e10, 12))),
        "F0116", ("N and D together", "% of their squares"), "not trusted",
    ),
    "a bend that the law cannot follow": Bad(
        changed(lambda t, e: t["L"] * np.exp(0.02 * np.log(t["N"] / 1e9) ** 2 / 7)),
        "F0116", ("the residuals rise with N: measured against fitted",), "caution",
    ),
    "a share that acts the other way round": Bad(
        lambda: {"r": np.linspace(0, 1, 40), "L": 2.5 + 0.3 * (np.linspace(0, 1, 40) - 0.5) ** 2
                 + noise(40, 0.001)},
        "F0101", ("gamma", "with these data"), "not trusted", law="dcpt.share",
    ),
    "a law that breaks": Bad(
        changed(lambda t, e: t["L"] * np.where(t["D"] > 1.2e11, 0.97, 1)), "F0116",
        ("the residuals rise with D: measured against fitted",), "caution",
    ),
    # ---- the wrong rows
    "an outlier": Bad(scaled(slice(76, 77), 1.2), "F0115", (":77", "1 row lies", "+20 %"), "caution"),
    "an outlier among few rows": Bad(
        lambda: {k: (v * np.where(np.arange(36) == 7, 1.3, 1) if k == "L" else v)
                 for k, v in PLANTED["chinchilla"].table(0.003).items()},
        "F0115", (":8", "1 row lies"), "caution",
    ),
    "a decimal point that has moved": Bad(
        scaled(slice(100, 101), 0.1), "F0115", (":101", "-90 %"), "caution",
    ),
    "an outlier that squares follow": Bad(
        scaled(slice(0, 1), 1.3), "F0115", (":1", "1 row lies"), "caution", options=SQUARED,
    ),
    "three runs that diverged": Bad(
        with_cells("L", {20: 7.1, 21: 6.4, 90: 9.3}), "F0115",
        ("3 rows lie", "row 20", "row 21", "row 90"), "caution",
    ),
    "an outlier in heavy-tailed noise": Bad(
        changed(lambda t, e: exact("chinchilla", {"N": t["N"], "D": t["D"]}) * np.exp(
            0.003 * np.random.default_rng(3).standard_t(3, 144) + np.where(np.arange(144) == 30, 0.5, 0)
        )), "F0115", (":31", "1 row lies"), "caution",
    ),
    "some losses in bits": Bad(
        scaled(slice(0, 144, 8), 1 / np.log(2)), "F0115", ("18 rows lie", "another unit"), "caution",
    ),
    "half of the losses in bits": Bad(
        scaled(np.random.default_rng(5).random(144) < 0.5, 1 / np.log(2)), "F0115", ("two clouds", "of 144 rows"),
        "not trusted", options=SQUARED,
    ),
    "a first evaluation before training": Bad(
        with_cells("L", {1: 10.8, 13: 10.8, 25: 10.8}), "F0115", ("3 rows lie",), "caution",
    ),
    # ---- the wrong noise
    "noise that grows with N": Bad(
        changed(lambda t, e: exact("chinchilla", {"N": t["N"], "D": t["D"]}) * np.exp(
            0.001 * e * (t["N"] / 7e7) ** 0.5)), "F0117", ("N is above", "times as far"), "caution",
    ),
    "noise that falls with D": Bad(
        changed(lambda t, e: exact("chinchilla", {"N": t["N"], "D": t["D"]}) * np.exp(
            0.03 * e * (t["D"] / 5e9) ** -0.6)), "F0117", ("D is up to", "times as far"), "caution",
    ),
    "noise of one size fitted by logarithms": Bad(
        lambda: {"x": FAR, "L": 3 / FAR**0.7 + noise(200, 0.003)},
        "F0117", ("times as far",), "caution",
        law=law_of("variable x > 0\nparameter a, b > 0\nL = a/x^b"), options=SQUARED,
    ),
    "heavy tails under a squared loss": Bad(
        heavy_tailed, "F0117",
        ("heavier tails",), "caution", options=SQUARED,
    ),
    "checkpoints of few runs": Bad(
        changed(along_lines), "F0119", ("differ in D alone", "correlated: 0.7"), "caution",
    ),
    "one run measured again": Bad(
        measured_again, "F0119", ("correlated", "measured again"), "caution",
    ),
    # ---- the use
    "two terms that may change places": Bad(
        lambda: {"x": X, "L": (np.exp(-0.3 * X) + 2 * np.exp(-2 * X)) * np.exp(noise(60, 0.001))},
        "F0118", ("2 optima", "A is", "change places"), "", law=TWO_DECAYS, ask=optima,
    ),
    "a sign that the data do not see": Bad(
        lambda: {"x": X - 2, "L": 1 + ((X - 2) ** 2 - 1.44) ** 2 + noise(60, 0.01)},
        "F0118", ("c is", "1.2", "-1.2"), "", law=DISTANCE, ask=optima,
    ),
    "a prediction beyond the data": Bad(
        runs, "F0109", ("1.6e+12 is 100 times the largest fitted",), "",
        ask=predicted({"N": [1.6e12], "D": [1e11]}),
    ),
    "a prediction below the data": Bad(
        runs, "F0109", ("100 times below the smallest fitted",), "",
        ask=predicted({"N": [1e9], "D": [5e7]}),
    ),
}  # fmt: skip
