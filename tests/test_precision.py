"""Designs that determine little: a fit of them is never called trusted, and says why."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from planted import law_of
from quick import some, without

import lawdsl

Columns = dict[str, np.ndarray]

PRECISION = law_of(
    "variable N, D > 0\nvariable P in [1, 16]\nparameter E, A, B, alpha, beta, gamma > 0\n"
    "let N_eff = N*(1 - exp(-P/gamma))\nL = A/N_eff^alpha + B/D^beta + E\n"
    "minimize huber(log(L), 0.001)"
)
TWO = law_of(
    "variable N, D > 0\nparameter E, A, alpha, B, beta > 0\nL = E + A/N^alpha + B/D^beta\n"
    "minimize huber(log(L), 0.001)"
)
POWER = law_of("variable x > 0\nparameter E, A, alpha > 0\ny = E + A/x^alpha\nminimize squared(y)")
SHARE = law_of(
    "variable r in [0, 1]\nparameter E, C, gamma, epsilon > 0\n"
    "L = E + C/(r + epsilon)^gamma\nminimize squared(L)"
)


def noise(seed: int, rows: int, size: float) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).normal(0, size, rows))


def messages_by_code(fit: lawdsl.Fit | lawdsl.Fits) -> dict[str, str]:
    return {d.code: d.message for d in fit.diagnostics}


def two(N: np.ndarray, D: np.ndarray, seed: int = 0, size: float = 0.003) -> Columns:
    L = 1.69 + 406.4 / N**0.34 + 410.7 / D**0.28
    return {"N": N, "D": D, "L": L * noise(seed, len(N), size)}


@pytest.mark.parametrize("seed", some(range(3), 1))
def test_one_model_size_determines_no_exponent_of_it(seed: int):
    D, P = (axis.ravel() for axis in np.meshgrid(np.geomspace(1e9, 1e11, 5), [3.0, 4, 6, 12]))
    N = np.full(20, 5e7)
    L = 1.7 + 400 / (N * (1 - np.exp(-P / 2))) ** 0.34 + 410 / D**0.28
    options = {"claims": False, "rolled_check": False}
    fit = lawdsl.fit(
        PRECISION, {"N": N, "D": D, "P": P, "L": L * noise(seed, 20, 0.003)}, **options
    )

    assert fit.verdict != "trusted"
    (named,) = [d for d in fit.diagnostics if d.code in ("F0101", "F0130")]
    assert "alpha" in named.message and named.notes[-1] == "N has one value: 5e+07"

    bound = [name for name, q in fit.parameters.items() if q.at_bound]
    if bound:
        # the intervals of the table are profiles
        assert named.message.endswith(f"by the delta method with {', '.join(bound)} free")
        assert f"profile intervals keep {', '.join(bound)} within" in named.notes[0]
        # the table has no interval that a bound alone makes narrow
        low, high = fit.intervals.ends.get("alpha", (0.0, np.inf))
        assert low <= 0.34 <= high and high > 4 * low and "alpha" not in fit.intervals.errors
        columns = {"N": N, "D": D, "P": P, "L": L * noise(seed, 20, 0.003)}
        assert "alpha" not in lawdsl.fit(PRECISION, columns, intervals="delta").intervals.ends


def test_a_lower_objective_that_a_profile_finds_is_said():
    D, P = (axis.ravel() for axis in np.meshgrid(np.geomspace(1e9, 1e11, 5), [3.0, 4, 6, 12]))
    N = np.full(20, 5e7)
    L = 1.7 + 400 / (N * (1 - np.exp(-P / 2))) ** 0.34 + 410 / D**0.28
    quick = {"claims": False, "rolled_check": False}
    table = {"N": N, "D": D, "P": P, "L": L * noise(9, 20, 0.003)}
    fit = lawdsl.fit(PRECISION, table, starts=1, **quick)
    assert lawdsl.fit(PRECISION, table, **quick).objective.sum < fit.objective.sum
    assert fit.intervals.method == "delta" and fit.verdict != "trusted"
    assert "has found a lower objective" in messages_by_code(fit)["F0104"]


@pytest.mark.parametrize("power", [1.0, 0.5, 1.5])
@pytest.mark.parametrize("width", some([0.01, 0.02], 1))
def test_two_variables_near_a_line_leave_the_rest_of_their_ranges_open(power: float, width: float):
    N = np.geomspace(5e7, 8e9, 40)
    D = 2e10 * (N / 1e9) ** power * noise(7, 40, width)
    fit = lawdsl.fit(TWO, two(N, D), claims=False, rolled_check=False)

    assert fit.verdict != "trusted"
    assert "F0131" in messages_by_code(fit) or "F0101" in messages_by_code(fit)


def test_of_three_variables_two_may_be_near_a_line():
    law = law_of(
        "variable x, y, z > 0\nparameter a, b, c, d\nL = d + a*x + b*y + c*z\nminimize squared(L)"
    )
    rng = np.random.default_rng(0)
    x, z = np.linspace(1, 5, 30), rng.uniform(1, 5, 30)
    y = 6 - x + 0.1 * rng.normal(size=30)
    L = 1 + x + 2 * y + z + 0.1 * rng.normal(size=30)

    assert set(messages_by_code(lawdsl.fit(law, {"x": x, "y": y, "z": z, "L": L}))) == {"F0131"}


def test_what_is_open_does_not_depend_on_units():
    N = np.geomspace(5e7, 8e9, 40)
    table = two(N, 20 * N * noise(7, 40, 0.02))
    scaled = {**table, "N": table["N"] / 1e9, "D": table["D"] / 1e9}
    first, second = lawdsl.fit(TWO, table), lawdsl.fit(TWO, scaled)

    assert set(messages_by_code(first)) == set(messages_by_code(second)) == {"F0131"}
    assert first.verdict == second.verdict == "caution"


def test_a_grid_of_both_variables_leaves_nothing_open():
    N, D = (
        axis.ravel() for axis in np.meshgrid(np.geomspace(5e7, 8e9, 5), np.geomspace(1e9, 3e11, 5))
    )

    assert messages_by_code(lawdsl.fit(TWO, two(N, D))) == {}


def test_variables_that_only_scatter_about_a_line_by_a_factor_are_told_apart():
    N = np.geomspace(5e7, 8e9, 60)
    D = 20 * N * np.exp(np.random.default_rng(1).uniform(-1.5, 1.5, 60))

    assert messages_by_code(lawdsl.fit(TWO, two(N, D, size=0.001))) == {}


@pytest.mark.parametrize(
    ("rows", "spare"), [(4, "1 row is"), (5, "2 rows are"), (6, None), (9, None)]
)
def test_a_law_is_not_tested_by_one_or_two_spare_rows(rows: int, spare: str | None):
    x = np.geomspace(1, 100, rows)
    fit = lawdsl.fit(POWER, {"x": x, "y": (2 + 1 / x**0.5) * noise(3, rows, 0.001)})

    assert fit.verdict == ("trusted" if spare is None else "caution")
    assert messages_by_code(fit).get("F0102") == (
        None if spare is None else f"{rows} rows, 3 parameters: {spare} left to test the law"
    )


def test_a_weak_exponent_is_named_with_its_interval():
    r = np.array([0.05, 0.1, 0.2, 0.5, 1.0])
    y = (2.3 + 0.15 / (r + 0.1) ** 0.74) * noise(2, 5, 0.001)
    fit = lawdsl.fit(SHARE, {"r": r, "L": y})

    assert fit.verdict == "caution"
    assert "F0102" in messages_by_code(fit)
    assert (
        "gamma (" in messages_by_code(fit)["F0130"]
        and "epsilon (" in messages_by_code(fit)["F0130"]
    )


def test_copies_of_rows_are_no_spare_rows():
    x = np.tile([1.0, 3.0, 10.0, 30.0], 3)
    y = np.tile((2 + 1 / x[:4] ** 0.5) * noise(3, 4, 0.001), 3)

    fit = lawdsl.fit(POWER, {"x": x, "y": y})

    assert (
        messages_by_code(fit)["F0102"]
        == "4 different rows, 3 parameters: 1 row is left to test the law"
    )


def test_repeated_measurements_at_as_many_settings_as_parameters_do_not_test_a_law():
    x = np.tile([1.0, 5.0, 30.0], 5)
    fit = lawdsl.fit(POWER, {"x": x, "y": (2 + 1 / x**0.5) * noise(3, 15, 0.001)})

    assert messages_by_code(fit)["F0102"].startswith("3 settings of the variables, 3 parameters")


def test_settings_that_nearly_agree_do_not_test_a_law():
    """Trained tokens are whole batches, so that planned replicates differ in their last digits."""
    x = np.repeat([1.0, 5.0, 30.0], 5) * noise(4, 15, 1e-4)
    fit = lawdsl.fit(POWER, {"x": x, "y": (2 + 1 / x**0.5) * noise(3, 15, 0.001)})

    assert messages_by_code(fit)["F0102"].startswith("3 settings of the variables, 3 parameters")


@pytest.mark.parametrize(
    "x",
    [np.linspace(2020, 2021, 12), np.geomspace(1, 1e6, 12), np.linspace(1e-6, 1e-3, 12)],
    ids=["years", "six decades", "next to 0"],
)
def test_settings_that_differ_by_a_part_of_their_range_are_several(x: np.ndarray):
    y = 2 - 0.3 * (x - x[0]) / np.ptp(x) + np.random.default_rng(0).normal(0, 1e-3, 12)
    law = law_of("variable x\nparameter a, b\ny = a + b*x\nminimize squared(y)")

    assert "F0102" not in messages_by_code(lawdsl.fit(law, {"x": x, "y": y}))


def test_rows_that_were_joined_with_a_copy_in_single_precision_are_no_spare_rows():
    x = np.geomspace(1, 30, 4)
    y = (2 + 1 / x**0.5) * noise(3, 4, 0.001)
    both = [np.append(values, values.astype(np.float32).astype(float)) for values in (x, y)]
    fit = lawdsl.fit(POWER, {"x": both[0], "y": both[1]})

    assert (
        messages_by_code(fit)["F0102"]
        == "4 different rows, 3 parameters: 1 row is left to test the law"
    )
    assert messages_by_code(fit)["D0114"] == "4 of 8 rows repeat another row exactly"


@pytest.mark.parametrize("heavy", [[0, 11], [0, 5, 11]])
def test_rows_with_hardly_any_weight_do_not_test_a_law(heavy: list[int]):
    """The law passes through the heavy rows, and the others hardly count where it misses them."""
    law = law_of("variable x\nparameter a, b\ny = a + b*x\nminimize squared(y)")
    x = np.linspace(1, 5, 12)
    y = 2 + x + np.random.default_rng(0).normal(0, 0.1, 12)
    weights = np.full(12, 1e-9)
    weights[heavy] = 1.0
    table = {"x": x, "y": y, "copies": weights}

    assert (
        "effective rows of 12"
        in messages_by_code(lawdsl.fit(law, table, weights="copies"))["F0102"]
    )
    table["copies"] = np.where(weights == 1, 3.0, 1.0)
    assert "F0102" not in messages_by_code(lawdsl.fit(law, table, weights="copies"))


def test_shares_that_sum_to_1_are_not_taken_apart():
    law = law_of(
        "variable p in [0, 1]\nvariable q in [0, 1]\nparameter c, k > 0\nparameter s, t\n"
        "L = c + k*exp(s*p + t*q^2)\nminimize squared(L)"
    )
    p = np.linspace(0.02, 0.98, 40)
    L = 2 + 0.5 * np.exp(-p + 0.5 * (1 - p) ** 2)
    fit = lawdsl.fit(law, {"p": p, "q": 1 - p, "L": L * noise(0, 40, 1e-5)})

    assert "F0131" not in messages_by_code(fit)


SURFACE = (
    "variable N, D > 0\nparameter w0, w1, w2, w3, w4, w5\n"
    "L = exp(w0 + w1*log(N) + w2*log(D) + w3*log(N)^2 + w4*log(D)^2 + w5*log(N)*log(D))\n"
)
SQUARED, LOGARITHMIC = "minimize squared(L)", "minimize squared(log(L))"


def surface(N: np.ndarray, D: np.ndarray, unit: float) -> Columns:
    n, d = np.log(N) - 20, np.log(D) - 24
    L = np.exp(0.9 - 0.05 * n - 0.03 * d + 0.01 * n**2 + 0.005 * d**2 + 0.002 * n * d)
    return {"N": N / unit, "D": D / unit, "L": L * noise(0, len(N), 0.002)}


def scattered() -> tuple[np.ndarray, np.ndarray]:
    N, D = np.random.default_rng(1).uniform(-0.5, 0.5, (2, 60)) * np.log(100)
    return 5e8 * np.exp(N), 1e10 * np.exp(D)


@pytest.mark.parametrize("unit", [1.0, 1e9])
def test_a_regression_on_logarithms_is_identified_in_any_unit(unit: float):
    """log(D) is far from 0 in its range: columns that are not centred are nearly collinear."""
    names = ("r", "b", "D", "N")
    pairs = list(itertools.combinations_with_replacement(names, 2))
    terms = ["1", *(f"log({n})" for n in names), *(f"log({m})*log({n})" for m, n in pairs)]
    law = law_of(
        f"variable {', '.join(names)} > 0\n"
        f"parameter {', '.join(f'w{i}' for i in range(len(terms)))}\n"
        f"L = exp({' + '.join(f'w{i}*{term}' for i, term in enumerate(terms))})\n{SQUARED}"
    )
    centres, widths = [
        np.array(values) for values in ([-6.6, 12.4, 23.3, 19.3], [3.7, 4.2, 3.9, 2.8])
    ]
    z = (np.random.default_rng(5).uniform(-0.5, 0.5, (60, 4)) * widths).T
    L = np.exp(0.9 - 0.03 * z[2] - 0.05 * z[3] + 0.02 * (z[0] + 0.3 * z[3]) ** 2)
    L *= np.exp(0.015 * (z[1] - 0.3 * z[2]) ** 2) * noise(0, 60, 0.002)
    table = dict(zip(names, np.exp(z + centres[:, None]) / unit, strict=True))
    fit = lawdsl.fit(law, {**table, "L": L})

    assert fit.verdict == "trusted"
    assert fit.parameters.keys() == fit.intervals.ends.keys()


def test_intervals_of_a_regression_on_logarithms_are_those_of_ordinary_least_squares():
    table = surface(*scattered(), 1.0)
    fit = lawdsl.fit(law_of(SURFACE + LOGARITHMIC), table)
    n, d = np.log(table["N"]), np.log(table["D"])
    columns = np.column_stack([np.ones(60), n - 20, d - 24, n * n, d * d, n * d])
    columns[:, 3:] = np.column_stack([(n - 20) ** 2, (d - 24) ** 2, (n - 20) * (d - 24)])
    squares = np.linalg.lstsq(columns, np.log(table["L"]))[1][0]
    errors = np.sqrt(np.diag(np.linalg.inv(columns.T @ columns)) * squares / 54)

    assert [fit.intervals.errors[f"w{i}"] for i in (3, 4, 5)] == pytest.approx(errors[3:], rel=1e-4)


# the unit of the loss, and how far the rows are from one line
UNITED = [(unit, width) for unit in (1.0, 1e9) for width in (0.0, 1e-6, 1e-3)]


@pytest.mark.parametrize(("unit", "width"), without(UNITED, UNITED[1:-1]))
def test_a_regression_on_one_line_is_not_identified_in_any_unit(unit: float, width: float):
    N, _ = scattered()
    fit = lawdsl.fit(law_of(SURFACE + LOGARITHMIC), surface(N, 20 * N * noise(3, 60, width), unit))

    assert fit.verdict == "not trusted"
    (message,) = [d for d in fit.diagnostics if d.code == "F0101"]
    assert "N in every row" in message.notes[-1]


@pytest.mark.parametrize("seed", [7, 8])
def test_an_exponential_that_underflows_between_the_rows_is_open_there(seed: int):
    """exp(-800) moves with no parameter, its logarithm does."""
    N, _ = scattered()
    table = surface(N, 20 * N * noise(seed, 60, 0.01), 1e9)
    fit = lawdsl.fit(law_of(SURFACE + SQUARED), table)

    assert fit.verdict != "trusted"
    assert "F0131" in messages_by_code(fit) or "F0101" in messages_by_code(fit)


@pytest.mark.parametrize("size", [0.0, 0.01])
def test_a_polynomial_far_from_0_is_identified(size: float):
    law = law_of(
        "variable x\nparameter a, b, c, d\ny = a + b*x + c*x^2 + d*x^3\nminimize squared(y)"
    )
    x = np.linspace(2020, 2026, 30)
    z = x - 2023
    y = 3 + 0.5 * z + 0.1 * z**2 + 0.05 * z**3 + np.random.default_rng(0).normal(0, size, 30)
    fit = lawdsl.fit(law, {"x": x, "y": y})

    assert fit.verdict == "trusted"
    assert all(p.identified for p in fit.parameters.values())


def test_a_constant_is_tested_by_repeated_measurements():
    fit = lawdsl.fit(
        law_of("parameter c > 0\ny = c\nminimize squared(y)"), {"y": noise(0, 40, 0.05)}
    )

    assert "F0102" not in messages_by_code(fit)


@pytest.mark.parametrize("width", [0.001, 0.003, 0.01, 0.03])
def test_two_variables_with_nearly_one_sum_are_no_shares(width: float):
    """They leave the difference of their slopes open, whatever chance has determined."""
    rng = np.random.default_rng(0)
    x = np.linspace(1, 5, 30)
    y = 6 - x + width * rng.normal(size=30)
    law = law_of("variable x, y > 0\nparameter a, b, d\nL = d + a*x + b*y\nminimize squared(L)")
    fit = lawdsl.fit(
        law, {"x": x, "y": y, "L": 1 + x + 2 * y + 0.1 * rng.normal(size=30)}, claims=False
    )

    assert fit.verdict != "trusted"
    assert {"F0101", "F0131"} & set(messages_by_code(fit))


@pytest.mark.parametrize("whole", [1.0, 100.0])
def test_rounded_shares_and_percentages_are_not_taken_apart(whole: float):
    rng = np.random.default_rng(1)
    r = np.round(rng.dirichlet((2, 2, 2), 40) * whole, 3 if whole == 1 else 1)
    law = law_of(
        "variable p, q, s >= 0\nparameter a, b, c\nL = a*p + b*q + c*s\nminimize squared(L)"
    )
    loss = r @ np.array([1.0, 2.0, 3.0]) / whole + 0.01 * rng.normal(size=40)
    fit = lawdsl.fit(law, dict(zip("pqs", r.T, strict=True)) | {"L": loss}, claims=False)

    assert "F0131" not in messages_by_code(fit)
