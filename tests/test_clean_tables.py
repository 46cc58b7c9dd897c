"""No false alarms: tables that follow the law, with even noise and a design that shows it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from planted import PLANTED

import lawdsl
from lawdsl.fitting.bound_distances import bound_distances
from lawdsl.fitting.preparation.build_problem import problem_of

LAWS = (
    "chinchilla",
    "kaplan",
    "mixing.size",
    "mixing.step",
    "mixing.two_domain",
    "cmr.domain",
    "cmr.ratio",
    "cmr.share",
    "dcpt.share",
    "dcpt.l1",
    "dcpt.l2",
    "dcpt.l3",
    "dcpt.l4",
    "dcpt.l5",
)
NOISES = (0.001, 0.002, 0.005, 0.01, 0.02)
SURE = 0.15  # standard error of each parameter, relative to its size and to the room to its bound
WEAK = np.pi / 2  # least absolute residuals, which Huber's small delta comes near to, waste a third
MOST = 3000  # rows: a law that needs more at some noise is measured with less noise

Columns = dict[str, np.ndarray]


def scattered(law: lawdsl.Law, rows: int, rng: np.random.Generator) -> Columns:
    """Each variable on its own: even in its logarithm, or in itself where 0 belongs to it."""
    found = {}
    for q in law.variables:
        values = PLANTED[law.name].columns[q.name]
        low, high = float(np.min(values)), float(np.max(values))
        if low > 0:
            found[q.name] = np.exp(rng.uniform(np.log(low), np.log(high), rows))
        else:
            found[q.name] = rng.uniform(low, high, rows)
            found[q.name][: rows // 10] = low
    return found


def repeated(law: lawdsl.Law, rows: int, rng: np.random.Generator) -> Columns:
    """The grid of the planted table, again and again: the same runs with other seeds."""
    columns = PLANTED[law.name].columns
    count = len(next(iter(columns.values())))
    which = np.resize(np.arange(count), max(rows, count))
    return {name: values[which] for name, values in columns.items()}


def few_values(law: lawdsl.Law, rows: int, rng: np.random.Generator) -> Columns:
    """Values drawn from six for each variable."""
    pool = scattered(law, 6, rng)
    for q in law.variables:  # the ends belong to the design
        values = PLANTED[law.name].columns[q.name]
        pool[q.name][:2] = np.min(values), np.max(values)
    return {name: rng.choice(values, rows) for name, values in pool.items()}


DESIGNS: tuple[Callable[..., Columns], ...] = (scattered, repeated, few_values)


def table(name: str, design: Callable[..., Columns], noise: float, seed: int) -> Columns:
    """The smallest table of a design, by doubling, that tells every parameter."""
    law, p = lawdsl.load(name), PLANTED[name]
    rng = np.random.default_rng(seed)
    output = p.output
    rows = len(law.parameters) + 3
    while True:
        columns = design(law, rows, rng)
        exact = p.formula(**columns, **p.parameters)
        size = noise if law.objective.log else noise * float(np.mean(np.abs(exact)))
        settings = len(np.unique(list(columns.values()), axis=1).T)
        if sure(law, columns, exact, size) and settings > len(law.parameters):
            break
        rows *= 2
        if rows > MOST:
            return table(name, design, noise / 4, seed)
    e = size * rng.normal(size=len(exact))
    return {**columns, output: exact * np.exp(e) if law.objective.log else exact + e}


def sure(law: lawdsl.Law, columns: Columns, exact: np.ndarray, noise: float) -> bool:
    """Whether the design determines all parameters, by the Jacobian at the true ones."""
    problem = problem_of(
        law, np.array([columns[q.name] for q in law.variables]), exact, law.objective
    )
    values = PLANTED[law.name].parameters
    theta = np.array([values[q.name] for q in law.parameters])
    size = np.abs(theta)
    for i, q in enumerate(law.parameters):
        distance = bound_distances(problem.transforms, values).get(q.name, ("", np.inf))[1]
        size[i] = min(size[i], distance)
    jacobian = problem.slopes(theta[None])[1][0] * size
    if np.linalg.matrix_rank(jacobian) < len(theta):
        return False
    errors = noise * np.sqrt(WEAK * np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    return bool(np.max(errors) < SURE)


def alarms(number: int) -> tuple[str, list[str]]:
    """What the tool finds wrong with one clean table, and which table it was."""
    names = LAWS
    name = names[number % len(names)]
    design = DESIGNS[(number // len(names)) % len(DESIGNS)]
    noise = NOISES[number % len(NOISES)]
    made = table(name, design, noise, number)
    fit = lawdsl.fit(name, made, seed=number)
    found = [f"{d.code} {d.message}" for d in fit.diagnostics if d.code != "F0113"]
    if fit.verdict != "trusted" and not found:
        found = [fit.verdict]
    return f"{number}: {name}, {design.__name__}, {fit.data.rows} rows", found


def no_alarm(count: int, record: Callable[[str, object], None]) -> None:
    answers = dict(alarms(n) for n in range(count))
    wrong = {where: found for where, found in answers.items() if found}
    record("figure", f"clean tables: {len(wrong)} alarms on {len(answers)}")

    assert len(answers) == count
    assert wrong == {}


def test_clean_tables_raise_no_alarm(record_property: Callable[[str, object], None]):
    no_alarm(8, record_property)


@pytest.mark.slow
def test_a_hundred_clean_tables_raise_no_alarm(record_property: Callable[[str, object], None]):
    no_alarm(100, record_property)
