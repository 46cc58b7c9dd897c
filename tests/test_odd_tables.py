"""Tables whose cells are fine and whose whole is odd: copies, rounding, units, exchanged columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import law_of

import lawdsl
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.read import read_table
from lawdsl.data.rounding import steps

Columns = dict[str, Any]

LAW = law_of(
    "variable N > 0 unit param\nvariable D > 0 unit token\nparameter E, A, alpha, B, beta > 0\n"
    "L = E + A/N^alpha + B/D^beta\nminimize huber(log(L), 0.001)"
)


def runs(seed: int = 0, noise: float = 0.003, points: int = 6) -> Columns:
    axes = np.meshgrid(np.geomspace(5e7, 8e9, points), np.geomspace(1e9, 3e11, points))
    N, D = (axis.ravel() for axis in axes)
    L = 1.69 + 406.4 / N**0.34 + 410.7 / D**0.28
    errors = np.random.default_rng(seed).normal(0, noise, len(N))
    return {"N": N, "D": D, "L": L * np.exp(errors)}


def diagnostics_by_code(table: Any, **options: Any) -> dict[str, Diagnostic]:
    fit = lawdsl.fit(LAW, table, claims=False, **options)
    assert (fit.verdict == "trusted") == (not fit.diagnostics)
    return {d.code: d for d in fit.diagnostics}


# ---- copies


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([5], "1 of 37 rows repeats another row exactly"),
        ([5, 22], "2 of 38 rows repeat another row exactly"),
        ([5, 5, 5, 5], "4 of 40 rows repeat another row exactly"),
    ],
)
def test_a_copy_is_named_however_few_there_are(rows: list[int], message: str):
    table = {name: np.append(x, x[rows]) for name, x in runs().items()}

    told = diagnostics_by_code(table)["D0114"]

    assert told.message == message
    assert f"row {rows[0] + 1} occurs" in told.notes[0]


def test_equal_measurements_of_few_digits_are_no_copies():
    table = {name: np.tile(x, 4) for name, x in runs(points=4).items()}
    errors = np.random.default_rng(1).normal(0, 0.01, 64)
    table["L"] = np.round(table["L"] * np.exp(errors), 2)
    cells = {tuple(row) for row in zip(*table.values(), strict=True)}

    assert len(cells) < 64  # some are equal
    assert "D0114" not in diagnostics_by_code(table)


# ---- rounding


@pytest.mark.parametrize(("places", "noise"), [(1, 0.003), (2, 0.0005), (1, 0.01)])
def test_rounding_that_hides_the_noise_is_named(places: int, noise: float):
    table = runs(noise=noise)
    table["L"] = np.round(table["L"], places)

    assert f"rounded to steps of {10.0**-places:g}" in diagnostics_by_code(table)["F0132"].message


def test_steps_that_are_no_power_of_ten_are_seen():
    table = runs(noise=0.001)
    table["L"] = np.round(table["L"] * 64) / 64  # as in half precision

    assert "steps of 0.0156" in diagnostics_by_code(table)["F0132"].message


@pytest.mark.parametrize("places", [3, 4, 6])
def test_enough_digits_are_no_rounding(places: int):
    table = runs()
    table["L"] = np.round(table["L"], places)

    assert diagnostics_by_code(table) == {}


@pytest.mark.parametrize(
    ("numbers", "step"),
    [
        ([2.5, 3.1, 4.0], 0.1),
        ([2.25, 3.5, 4.0], 0.25),
        ([2.531, 3.117, 4.002], 0.001),
        ([1200, 3100, 500], 100),
        ([2.5, 0.031, 410.0], 0.001),
        ([np.float32(2.6), np.float32(3.1)], 0.1),
        ([np.pi, np.e, 1.0], 0),
        ([0.0, 0.0], 0),
    ],
)
def test_the_step_of_a_column(numbers: list[float], step: float):
    assert np.min(steps(np.array(numbers, dtype=np.float64))) == pytest.approx(step)


def test_each_number_of_two_digits_has_a_step_of_its_own():
    assert steps(np.array([2.5, 0.031, 410.0])) == pytest.approx([0.1, 0.001, 10.0])


# ---- units


@pytest.mark.parametrize(
    ("name", "scale", "unit"),
    [("N", 1e6, "Mparam"), ("N", 1e9, "Gparam"), ("D", 1e9, "Gtoken"), ("D", 1e6, "Mtoken")],
)
def test_a_column_without_a_unit_that_makes_no_sense_in_the_laws(
    name: str, scale: float, unit: str
):
    table = runs()
    table[name] = table[name] / scale

    told = diagnostics_by_code(table)["D0123"]

    assert name in told.message and f"`{name} [{unit}]`" in (told.help or "")


@pytest.mark.parametrize(
    ("column", "values", "binding"),
    [
        ("log10_tokens", np.log10, "D=10^log10_tokens"),
        ("tokens_log10", np.log10, "D=10^tokens_log10"),
        ("log2_D", np.log2, "D=2^log2_D"),
        ("ln_D", np.log, "D=exp(ln_D)"),
        ("logD", np.log, "D=exp(logD)"),  # by the magnitudes: 10^23 tokens are not usual
    ],
)
def test_a_column_of_logarithms_is_not_taken_for_another_unit(
    column: str, values: Callable[[np.ndarray], np.ndarray], binding: str
):
    table = runs()
    table[column] = values(table.pop("D"))
    (told,) = [d for d in lawdsl.fit(LAW, table, D=column).diagnostics if d.code == "D0123"]
    assert told.help == f'is the column a logarithm? bind "{binding}"'


def test_magnitudes_of_logarithms_alone_leave_both_possible():
    table = runs()
    table["x"] = np.log10(table.pop("D"))
    (told,) = [d for d in lawdsl.fit(LAW, table, D="x").diagnostics if d.code == "D0123"]
    assert "is the column in another unit" in (told.help or "")
    assert (told.help or "").endswith('; or is the column a logarithm? bind "D=10^x"')


@pytest.mark.parametrize(
    ("unit", "meant"),
    [("M", "Mparam"), ("B", "Gparam"), ("millions", "Mparam"), ("M params", "Mparam")],
)
def test_a_prefix_alone_is_no_unit_and_the_variable_tells_which(unit: str, meant: str):
    table = runs()
    table["size"] = table.pop("N") / 1e6
    with pytest.raises(LawdslError) as error:
        lawdsl.fit(LAW, table, N=f"size [{unit}]")
    (told,) = error.value.diagnostics
    assert told.code == "D0112" and told.message == f"column size: `{unit}` is not a unit"
    assert (told.help or "").startswith(
        f"did you mean `{meant}`? bind it: 'N=size [{meant}]'; units"
    )

    table[f"size [{unit}]"] = table.pop("size")
    with pytest.raises(LawdslError) as error:
        lawdsl.fit(LAW, table, N="size")
    (told,) = error.value.diagnostics
    assert "write it into the header, `size [" + meant + "]`" in (told.help or "")


def test_raw_counts_for_a_law_in_billions():
    law = law_of(
        "variable N > 0 unit Gparam\nparameter E, A, alpha > 0\nL = E + A/N^alpha\n"
        "minimize huber(log(L), 0.001)"
    )
    N = np.geomspace(5e7, 8e9, 20)
    L = 1.7 + 0.35 / (N / 1e9) ** 0.34
    errors = np.random.default_rng(0).normal(0, 1e-3, 20)
    (told,) = lawdsl.fit(law, {"N": N, "L": L * np.exp(errors)}).diagnostics

    assert told.code == "D0123" and "`N [param]`" in (told.help or "")


def test_a_unit_in_the_header_is_believed(tmp_path: Path):
    table = runs()
    lines = ["N [Mparam],D [Gtoken],L"]
    lines += [
        f"{n / 1e6!r},{d / 1e9!r},{x!r}"
        for n, d, x in zip(*(table[name].tolist() for name in "NDL"), strict=True)
    ]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines) + "\n")

    assert diagnostics_by_code(path) == {}

    tiny = [line.replace("[Mparam]", "[param]").replace("[Gtoken]", "[token]") for line in lines]
    path.write_text("\n".join(tiny) + "\n")

    assert diagnostics_by_code(path) == {}


def test_a_prediction_far_outside_asks_for_the_unit():
    table = runs()
    fit = lawdsl.fit(LAW, {**table, "N": table["N"] / 1e6}, claims=False)
    _, (told, *_) = fit.predict_with_warnings({"N": [7e9], "D": [2e10]})

    assert told.code == "F0109"
    assert "another unit? the fit has N from 50 to 8000 param" in told.notes[0]

    _, (near,) = fit.predict_with_warnings({"N": [16000.0], "D": [2e10]})
    assert (near.help or "").startswith("predictions are within ")


@pytest.mark.parametrize("shown", [lambda y: y, lambda y: np.round(y, 5), lambda y: 100 * y])
def test_accuracies_of_few_questions_may_be_equal_by_chance(shown: Callable[[Any], Any]):
    rng = np.random.default_rng(0)
    law = law_of("variable N > 0\nparameter a, b\ny = a + b*log(N)\nminimize squared(y)")
    N = np.repeat(np.geomspace(1e8, 1e10, 8), 4)
    y = np.rint(164 * (0.1 + 0.02 * np.log(N / 1e8) + rng.normal(0, 0.01, 32))) / 164
    copied = np.r_[np.arange(32), np.full(12, 5)]

    assert lawdsl.fit(law, {"N": N, "y": shown(y)}).verdict == "trusted"
    found = lawdsl.fit(law, {"N": N[copied], "y": shown(y)[copied]}).diagnostics
    assert "D0114" in [d.code for d in found]


# ---- values that a law cannot give


@pytest.mark.parametrize(
    ("unit", "value"), [("", -2.5), ("unit nat/token", -2.5), ("unit nat/token", -0.01)]
)
def test_a_value_below_what_the_law_can_give_is_refused_by_row(unit: str, value: float):
    law = law_of(
        "variable r in [0, 1]\nparameter E, C, gamma, epsilon > 0\n"
        f"L = E + C/(r + epsilon)^gamma {unit}\nminimize squared(L)"
    )
    r = np.linspace(0, 1, 12)
    L = 2.3 + 0.15 / (r + 0.1) ** 0.74 + np.random.default_rng(0).normal(0, 1e-3, 12)
    L[4] = value

    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.fit(law, {"r": r, "L": L})
    (told,) = error.value.diagnostics
    fit = lawdsl.fit(law, {"r": r, "L": L}, drop_bad=True)

    assert told.code == "D0124" and ":5 column L" in told.place
    assert isinstance(fit, lawdsl.Fit) and fit.data.dropped == 1 and fit.verdict == "trusted"


@pytest.mark.parametrize("unit", ["", "unit nat/token"])
def test_noise_below_0_is_data_where_other_values_are_near_0(unit: str):
    """A loss is never negative, a difference of two may be measured so: both are in nats."""
    law = law_of(f"variable x > 0\nparameter A, k > 0\ny = A*exp(-k*x) {unit}\nminimize squared(y)")
    x = np.linspace(0.1, 12, 40)
    y = 2 * np.exp(-x) + np.random.default_rng(0).normal(0, 0.02, 40)

    assert np.any(y < 0)
    assert lawdsl.fit(law, {"x": x, "y": y}).verdict == "trusted"


def test_a_law_that_may_be_negative_takes_negative_values():
    law = law_of("variable x > 0\nparameter a, b\ny = a + b*x\nminimize squared(y)")
    x = np.linspace(1, 5, 12)
    y = 0.5 * x - 2 + np.random.default_rng(0).normal(0, 0.01, 12)

    assert lawdsl.fit(law, {"x": x, "y": y}).diagnostics == ()


def test_equal_measurements_of_a_constant_are_no_copies():
    """A law without variables has one setting, at which measurements of few digits agree by chance."""
    law = law_of("parameter c\nL = c\nminimize squared(L)")
    L = 20 + np.random.default_rng(0).normal(0, 1, 60)

    assert "D0114" not in {d.code for d in lawdsl.fit(law, {"L": np.round(L, 2)}).diagnostics}
    copied = np.append(L, L[[3, 5, 8]])
    told = {d.code: d for d in lawdsl.fit(law, {"L": copied}).diagnostics}
    assert told["D0114"].message == "3 of 63 rows repeat another row exactly"


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([2.0, 3.0, 4.0, 5e9, 6e9], 5),
        ([2.0, 3.0, 5e9, 6e9, 7e9], 2),
        ([2.0, 3.0, 5e9, 6e9], 4),
        ([5e9, 6e9, 2.0, 3.0], 2),
    ],
)
def test_of_two_scales_the_rows_of_the_rarer_are_named(
    values: list[float], line: int, tmp_path: Path
):
    """Those of the larger one, where there are as many of each."""
    law = law_of("variable D > 0\nparameter a, b > 0\nL = a + b/D\nminimize squared(L)")
    lines = [f"{value},{2.5 + k / 100}" for k, value in enumerate(values)]
    (tmp_path / "runs.csv").write_text("\n".join(["D,L", *lines, ""]))

    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.fit(law, tmp_path / "runs.csv")

    (diagnostic,) = error.value.diagnostics
    assert (
        diagnostic.code == "D0113"
        and diagnostic.place == f"{tmp_path / 'runs.csv'}:{line} column D"
    )


def test_counts_beyond_the_digits_of_a_float_are_rounded():
    table = read_table({"C": np.array([2**53 + 1, 10**18 + 1])})

    assert table.numbers("C").tolist() == [2.0**53, 1e18]


def test_a_batch_has_fewer_tokens_than_a_run():
    """A variable that says so is not measured by the tokens of training runs."""
    B = np.geomspace(3e4, 3e7, 20)
    fit = lawdsl.fit("batch.tradeoff", {"B": B, "S": 5e3 * (1 + 1e6 / B)}, claims=False)
    assert [d.code for d in fit.diagnostics if d.code == "D0123"] == []
