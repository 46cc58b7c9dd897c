"""What exported modules say, for which labels they compute, and what cannot be exported."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from exports import (
    DOMAINS,
    INTERVAL_RTOL,
    OUTPUTS,
    POINTS,
    SLOPE_RTOL,
    VALUE_RTOL,
    close,
    fitted,
    mixture,
    module,
    points,
)
from planted import PLANTED, law_of
from quick import some
from raised import code_of

import lawdsl
from lawdsl.exporting import TARGETS
from lawdsl.exporting.export import WRITERS
from lawdsl.exporting.latex_document import NOTES
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.result_parts import Intervals, Parameter
from lawdsl.language.latex import formula_latex
from lawdsl.language.parser import parse
from lawdsl.language.tree import Definition

LAWS = sorted(PLANTED)


# ---- labels


@pytest.mark.parametrize("target", ["python", "numpy", "torch"])
def test_each_label_has_its_own_parameters_and_errors(target: str):
    made = module(mixture().export(target))
    shares = dict(zip(DOMAINS, (0.4, 0.1, 0.2, 0.3), strict=True))
    table = {f"r[{name}]": [x] for name, x in shares.items()}
    band = mixture().predict_with_errors(table, discrepancy=0)
    for number, label in enumerate(OUTPUTS):
        found = [float(x) for x in made.predict_with_interval(shares, label)]
        assert found == pytest.approx([b[0, number] for b in (band.values, band.low, band.high)])
        assert float(made.predict(list(shares.values()), validation=label)) == pytest.approx(
            found[0]
        )


def test_a_part_alone_is_exported_with_its_label():
    text = mixture().part("books").to_numpy()
    shares = [0.4, 0.1, 0.2, 0.3]
    assert module(text).predict(shares) == pytest.approx(mixture()(r=shares, validation="books"))
    assert text.startswith('"""mixing.m4')


def test_wrong_labels_and_shares_are_refused():
    for target in ("python", "numpy", "torch"):
        predict = module(mixture().export(target)).predict
        good = dict(zip(DOMAINS, (0.4, 0.1, 0.2, 0.3), strict=True))
        with pytest.raises(ValueError, match="none of github, books, wiki"):
            predict(good, "poems")
        for bad in (
            {**good, "web": 0.9},
            {**good, "web": -0.1, "code": 0.6},
            {"web": 1.0},
            [0.5, 0.5],
        ):
            with pytest.raises(ValueError, match="r"):
                predict(bad, "books")


def labelled_table() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    x, label = rng.uniform(1, 9, 60), np.tile(["u", "v", "w"], 20)
    k = {"u": 1.0, "v": 2.0, "w": 3.5}
    y = 1 + np.array([k[each] for each in label]) / x**0.5
    return {"x": x, "task": label, "L": y * np.exp(0.01 * rng.normal(size=60))}


SHARED = "index i over task\nvariable x > 0\nparameter E > 0\nparameter k[i] > 0\nparameter a > 0\n"


@pytest.mark.parametrize(
    "more",
    [
        "L[i] = E + k[i]/x^a",  # one fit, in which rows differ in their label
        "parameter b[i]\nL[i] = E + k[i]*x^b[i]/x^a\ntie b[i] = 2*a - 1",
        "parameter b[i]\nL[i] = E + k[i]*b[i]/x^a\nfix b[i] = 1.5",
        "let s = sum(k[j] for j)\nL[i] = E + s*k[i]/x^a\nidentify sum(k[j] for j) = 3",
    ],
)
def test_labels_that_share_parameters(more: str):
    text = SHARED.replace("index i", "index i, j") if "[j]" in more else SHARED
    fits = lawdsl.fit(law_of(text + more), labelled_table(), starts=2, claims=False)
    assert isinstance(fits, Fits)
    made = module(fits.to_numpy())
    x = np.linspace(1, 9, 7)
    for label in ("u", "v", "w"):
        band = fits.predict_with_errors({"x": x, "task": [label] * 7}, discrepancy=0)
        found = made.predict_with_interval(x, label)
        for ends, expected in zip(found, (band.values, band.low, band.high), strict=True):
            close(ends, expected, INTERVAL_RTOL)


# ---- what a module says


def test_a_module_says_what_it_is():
    fit = fitted("repeated")
    assert isinstance(fit, Fit)
    for target in ("python", "numpy", "torch", "jax", "javascript", "latex"):
        text = fit.export(target)
        assert "Muennighoff et al. 2023, arXiv:2305.16264" in text
        assert fit.law.digest in text and fit.data.digest in text
        assert "D_eff = U_D*(1 + R_D*(1 - exp(-seen/R_D)))" in text
        assert f"verdict: {fit.verdict}" in text
    made = module(fit.to_python())
    assert made.PARAMETERS == pytest.approx(fit.values, rel=0, abs=0)
    assert fit.law.digest in made.__doc__ and "N > 0" in made.predict.__doc__


def test_values_that_are_to_be_distrusted_are_marked():
    x = np.linspace(1, 9, 15)
    law = law_of("variable x > 0 unit Gtoken\nparameter E, A, B, a > 0\nL = E + A*B/x^a\n")
    noise = np.exp(0.002 * np.random.default_rng(1).normal(size=15))
    fit = lawdsl.fit(law, {"x": x, "L": (3 / x**0.5 - 0.2) * noise}, starts=4, claims=False)
    assert isinstance(fit, Fit) and fit.parameters["E"].at_bound == "lower"
    latex = fit.to_latex()
    assert r"$E$\textsuperscript{a} & $0$ \\" in latex  # as a fit prints it
    assert f"$A$\\textsuperscript{{b}} & ${fit.values['A']:.6g}$" in latex
    assert r"$B$\textsuperscript{b} & $" in latex and r"$a$ & $" in latex
    for mark, note in ("a", "on its lower bound"), ("b", "not identified"):
        assert rf"\footnotesize \textsuperscript{{{mark}}} {note}" in latex
    for target in ("python", "numpy", "torch", "jax", "javascript"):
        sign = "//" if target == "javascript" else "#"
        lines = [line.strip() for line in fit.export(target).splitlines()]
        for name, note in ("E", "on its lower bound"), ("A", "not identified"):
            line = [x for x in lines if x.startswith((f'"{name}": ', f'["{name}"]: '))][0]
            assert f"{sign} {note}" in line
    notes = {p["name"]: p["notes"] for p in json.loads(fit.export("json"))["parameters"]}
    assert notes["A"] == {"A": "not identified"} and notes["a"] == {}


def test_every_doubt_about_a_value_has_a_footnote():
    intervals = Intervals("delta", 0.95, "rows", {}, {"other": (1.0, 2.0)})
    for bound, identified in product((None, "lower", "upper"), (True, False)):
        doubts = intervals.doubts("A", Parameter(1.0, bound, identified))
        assert ", ".join(doubts) in NOTES
    assert intervals.doubts("A", Parameter(1.0)) == ["hardly determined"]
    assert intervals.doubts("other", Parameter(1.0)) == []


def test_values_that_are_not_free_are_marked():
    latex = mixture().to_latex()
    assert "standard error" in latex
    table = {"x": np.linspace(1, 9, 12), "L": 2 + 3 / np.linspace(1, 9, 12)}
    law = law_of("variable x > 0\nparameter E, A, a > 0\nL = E + A/x^a\n")
    fit = lawdsl.fit(law, table, starts=2, claims=False, fix={"a": 1})
    assert r"$a$\textsuperscript{a} & $1$" in fit.to_latex()
    assert r"\textsuperscript{a} fixed, not fitted" in fit.to_latex()


def test_units_are_stated():
    fit = fitted("repeated")
    assert isinstance(fit, Fit)
    units = {v["name"]: v["unit"] for v in json.loads(fit.export("json"))["variables"]}
    assert any(units.values())
    latex, module_text = fit.to_latex(), fit.to_python()
    for name, unit in units.items():
        assert f"${name}$ & {unit or 'none stated'}" in latex
        assert unit is None or f"in {unit}" in module_text
    assert "$L$ & nat/token" in latex and " param, " in latex  # the fitted ranges, too


@pytest.mark.parametrize("target", ["python", "numpy", "torch"])
def test_some_parameters_may_have_other_values(target: str):
    fit = fitted("repeated")
    assert isinstance(fit, Fit)
    made = module(fit.export(target))
    point = [1e9, 1e10, 1e10][: len(fit.read_law().variables)]
    whole = made.predict(*point, parameters={**made.PARAMETERS, "E": 1.0})
    assert float(made.predict(*point, parameters={"E": 1.0})) == float(whole)
    with pytest.raises(ValueError, match="'F' is none of the parameters: E, A"):
        made.parameter_gradient(*point, parameters={"F": 1.0})


def test_formulas_read_as_the_law_is_written():
    text = fitted("repeated").to_numpy()
    assert "    seen = np.maximum(D / U - 1.0, 0.0)\n" in text
    assert "    D_eff = U_D * (1.0 + R_D * (1.0 - np.exp(-seen / R_D)))\n" in text
    assert "    return E + A / N_eff ** alpha + B / D_eff ** beta\n" in text
    assert (
        "c[i] + k[i] * np.exp(sum(t[i][j] * r[j] for j in range(3)))"
        in fitted("mixing.m4").to_numpy()
    )


def test_latex_is_the_law_with_its_definitions():
    text = fitted("repeated").to_latex()
    assert (
        r"L &= E + \frac{A}{N_{\mathrm{eff}}^{\alpha}} + \frac{B}{D_{\mathrm{eff}}^{\beta}} \\"
        in text
    )
    assert r"\mathrm{seen} &= \max\left(\frac{D}{U} - 1, 0\right) \\" in text
    values = {n: float(x) for n, x in re.findall(r"\$([^$]+)\$ & \$([\d.]+)", text)}
    assert values["R_{D}"] == pytest.approx(fitted("repeated").values["R_D"], rel=1e-2)
    assert r"\sum_{j} t_{i,j} \, r_{j}" in fitted("mixing.m4").to_latex()
    assert r"$t_{i,a}$" in fitted("mixing.m4").to_latex()


@pytest.mark.parametrize(
    ("formula", "latex"),
    [
        ("a*-b", r"a \, \left(-b\right)"),
        ("x*(-3)", r"x \, \left(-3\right)"),
        ("2*2^3", r"2 \cdot 2^{3}"),
        ("a*(2*b)", r"a \cdot 2 \, b"),
        ("2*(1/3)", r"2 \cdot \frac{1}{3}"),
        ("-(-a)", r"-\left(-a\right)"),
        ("-(-a)*b", r"-\left(-a \, b\right)"),
        ("-(-a*b)", r"-\left(-a \, b\right)"),
        ("a - -b", r"a - \left(-b\right)"),
        ("a + -b*x", r"a + \left(-b \, x\right)"),
        ("x/(-a*b)", r"\frac{x}{-a \, b}"),
        ("-a/b", r"-\frac{a}{b}"),
        ("-a*b + x", r"-a \, b + x"),
        ("-(a + b)*x", r"-\left(a + b\right) \, x"),
        ("(-a)^2", r"\left(-a\right)^{2}"),
        ("x^-a", "x^{-a}"),
    ],
)
def test_latex_is_read_as_the_formula(formula: str, latex: str):
    (statement,) = parse(f"L = {formula}")[0].statements
    assert isinstance(statement, Definition)
    assert formula_latex(statement.formula) == latex


def test_values_in_latex_have_two_digits_of_their_error():
    from lawdsl.exporting.latex_document import value_latex
    from lawdsl.language.latex import number_latex

    assert value_latex(1.81723, 0.0312) == r"1.817 \pm 0.031"
    assert value_latex(482.01, 124.58) == r"480 \pm 120"
    assert value_latex(6.4123e13, 2.5e11) == r"(6.412 \pm 0.025) \cdot 10^{13}"
    assert value_latex(0.35, math.nan) == "0.35"
    assert number_latex("1e-3") == "10^{-3}" and number_latex("2.5e9") == r"2.5 \cdot 10^{9}"


# ---- JSON


def evaluated(document: dict[str, Any], inputs: dict[str, Any], row: dict[str, int]) -> Any:
    """The steps of a document at points, by an interpreter that knows its schema alone.

    Args:
        document: the document.
        inputs: variable -> its values, shape (points,), or (labels, points).
        row: index of a label of the row -> its position.

    Returns:
        The tables of all steps: position of each index -> values; and the indices.
    """
    import itertools

    steps, labels = document["program"]["steps"], document["labels"]
    parameters = {p["name"]: p for p in document["parameters"]}
    variables = {v["name"]: v for v in document["variables"]}
    sets: dict[str, str] = {}
    for step in (each for each in steps if each["op"] == "leaf"):
        name = step["name"]
        declared = parameters[name]["sets"] if name in parameters else [variables[name]["set"]]
        for s, over in zip(step["subscripts"], declared, strict=False):
            if "index" in s:
                sets[s["index"]] = over
    assert not document["rows"].keys() - row.keys()
    indices = sorted(sets)
    spaces = [range(len(labels[sets[index]])) for index in indices]
    tables: list[dict[tuple[int, ...], Any]] = []

    def leaf(step: dict[str, Any], place: dict[str, int]) -> Any:
        name = step["name"]
        if name in parameters:
            values, declared = np.array(parameters[name]["values"]), parameters[name]["sets"]
        else:
            values, declared = inputs[name], [variables[name]["set"]]
        for s, over in zip(step["subscripts"], declared, strict=False):
            if over is not None:
                known = labels[over]
                at = known.index(s["label"]) if "label" in s else None
                at = place[s["index"]] if "index" in s else row[s["row"]] if at is None else at
                values = values[at]
        return values

    def combined(step: dict[str, Any], at: tuple[int, ...]) -> Any:
        around = [
            spaces[k] if index in step["over"] else [at[k]] for k, index in enumerate(indices)
        ]
        places = [p for p in itertools.product(*around) if step["op"] != "others" or p != at]
        parts = [
            np.prod([tables[k][p] + np.zeros(POINTS) for k in step["arguments"]], axis=0)
            for p in places
        ]
        if step["op"] in ("prod", "others"):
            return np.prod(parts, axis=0)
        return np.sum(parts, axis=0)

    for step in steps:
        table = {}
        for at in itertools.product(*spaces):
            x = [tables[k][at] for k in step["arguments"]]
            match step["op"]:
                case "number":
                    y = math.nan if step["value"] is None else step["value"]
                case "leaf":
                    y = leaf(step, dict(zip(indices, at, strict=True)))
                case "sum" | "prod" | "others" | "contract":
                    y = combined(step, at)
                case op:
                    with np.errstate(all="ignore"):
                        y = OPERATIONS[op](*x)
            table[at] = y
        tables.append(table)
    return tables, indices


OPERATIONS: dict[str, Callable[..., Any]] = {
    **{"add": np.add, "multiply": np.multiply, "power": np.power},
    **{"max": np.maximum, "min": np.minimum, "abs": np.abs, "sign": np.sign},
    **{name: getattr(np, name) for name in ("exp", "log", "log10", "sqrt", "sin", "cos", "tan")},
    **{name: getattr(np, name) for name in ("tanh", "sinh", "cosh")},
    **{"atan": np.arctan, "step": lambda x: np.heaviside(x, 0.5)},
    "reached": lambda x, y: np.where(x == y, 1.0, 0.0),
    "finite log": lambda x: np.log(np.where(x == 0, 1.0, x)),
}
"""Operation of a document -> what docs/export.md says that it computes."""


@pytest.mark.parametrize("name", some(LAWS, 14))
def test_the_json_document_is_enough_to_compute_the_law_and_its_derivatives(name: str):
    fit = fitted(name)
    document = json.loads(fit.export("json"))
    assert document["schema"] == "lawdsl formula 1"
    assert document["law"]["digest"] == fit.law.digest
    at = points(fit)
    inputs = {n: x.T for n, x in at.values.items()}
    row = {index: 0 for index in document["rows"]}
    tables, indices = evaluated(document, inputs, row)
    start = (0,) * len(indices)
    program = document["program"]
    found = np.broadcast_to(tables[program["value"]][start], POINTS)
    close(found, fit.predict(at.table), VALUE_RTOL)
    made = module(fit.to_numpy())
    exact = {
        **made.parameter_gradient(**at.values, **at.labels),
        **made.gradient(**at.values, **at.labels),
    }
    compared = 0
    of_name = [d["name"] for d in program["derivatives"]]
    for derivative in program["derivatives"]:
        expected = exact.get(derivative["name"])
        if expected is None or of_name.count(derivative["name"]) > 1:  # a sum of several
            continue
        while isinstance(expected, list):  # along the labels, of which the first is compared
            expected = expected[0]
        step = tables[derivative["step"]][start]
        close(np.broadcast_to(step, POINTS), np.broadcast_to(expected, POINTS), SLOPE_RTOL)
        compared += 1
    assert compared


def test_the_json_document_has_the_covariance():
    fit = fitted("dcpt.l3")
    assert isinstance(fit, Fit) and fit.spread is not None
    (interval,) = json.loads(fit.export("json"))["intervals"]
    np.testing.assert_allclose(interval["covariance"], fit.spread.covariance, rtol=1e-9, atol=0)
    assert interval["parameters"] == list(fit.spread.names)


# ---- laws without a fit, and what cannot be exported


PUBLISHED = {"E": 1.8172, "A": 482.01, "alpha": 0.3478, "B": 2085.43, "beta": 0.3658}


def test_published_values_are_exported_without_a_fit():
    law = lawdsl.load("chinchilla")
    made = module(law.at(**PUBLISHED).to_python())
    expected = PLANTED["chinchilla"].formula(7e9, 1.4e12, **PUBLISHED)
    assert made.predict(7e9, 1.4e12) == pytest.approx(expected, rel=1e-14)
    assert not hasattr(made, "predict_with_interval")
    assert made.parameter_gradient(7e9, 1.4e12)["E"] == 1.0


def test_what_cannot_be_exported_is_explained():
    law = lawdsl.load("chinchilla")
    assert code_of(lambda: law.to_python()) == "E0102"
    assert code_of(lambda: law.at(**PUBLISHED).export("cobol")) == "E0101"
    assert code_of(lambda: lawdsl.load("mixing.m4").to_python()) == "E0102"
    assert code_of(lambda: fitted("chinchilla").to_python(level=1.0)) == "F0120"


def test_a_fit_without_errors_is_exported_without_intervals():
    fit = fitted("chinchilla")
    assert isinstance(fit, Fit)
    made = replace(fit, spread=None)
    text = made.to_numpy()
    assert "# no intervals: " in text and "predict_with_interval" not in text
    assert module(text).predict(1e9, 1e10) == pytest.approx(fit(N=1e9, D=1e10))


# ---- the command


def test_the_command_writes_a_module(tmp_path: Path):
    fit = fitted("chinchilla")
    fit.save(tmp_path / "fit.json")
    done = run("export", "fit.json", "--to", "python", "-o", "loss.py", cwd=tmp_path)
    assert done.returncode == 0 and "wrote loss.py" in done.stderr
    assert (tmp_path / "loss.py").read_text(encoding="utf-8") == fit.to_python()
    shown = run("export", "fit.json", "--to", "latex", cwd=tmp_path)
    assert shown.stdout == fit.to_latex()


def test_the_command_takes_published_values():
    values = [text for name, x in PUBLISHED.items() for text in ("--set", f"{name}={x}")]
    done = run("export", "chinchilla", "--to", "numpy", *values)
    assert done.returncode == 0
    assert float(module(done.stdout).predict(7e9, 1.4e12)) == pytest.approx(1.9, abs=0.2)
    missing = run("export", "chinchilla", "--to", "numpy", *values[:-2])
    assert missing.returncode == 3 and "E0102" in missing.stderr and "beta" in missing.stderr


def test_the_command_knows_every_target():
    assert tuple(WRITERS) == TARGETS
