"""Exported formulas compute what the fit does: values, derivatives, intervals."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from catalogue_values import NOT_SIMULATED, VALUES
from exports import (
    DOMAINS,
    INTERVAL_RTOL,
    POINTS,
    SLOPE_RTOL,
    VALUE_RTOL,
    Points,
    close,
    fitted,
    mixture,
    module,
    one_by_one,
    points,
)
from planted import PLANTED, law_of
from quick import without

import lawdsl
from lawdsl.compiling.autodiff import Slopes
from lawdsl.compiling.tape import compile_tape
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.library import shipped

LAWS = sorted(PLANTED)
DEAR = ("cmr.general", "cmr.general_apart", "mixing.m1", "repeated")
"""Laws of which a fit takes one to three seconds."""
CASES = without(LAWS, DEAR)


def numpy_of_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy in the place of JAX, which is not installed everywhere."""
    jax = ModuleType("jax")
    jax.core = ModuleType("jax.core")  # type: ignore[attr-defined]
    jax.core.Tracer = type("Tracer", (), {})
    jax.numpy = np  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.numpy", np)


# ---- values


@pytest.mark.parametrize("target", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("name", CASES)
def test_an_array_module_predicts_what_the_fit_does(
    name: str, target: str, monkeypatch: pytest.MonkeyPatch
):
    if target == "jax":
        numpy_of_jax(monkeypatch)
    fit = fitted(name)
    at = points(fit)
    with np.errstate(all="ignore"):
        predicted = module(fit.export(target)).predict(**at.values, **at.labels)
    close(predicted, fit.predict(at.table), VALUE_RTOL)


@pytest.mark.parametrize("name", CASES)
def test_a_python_module_predicts_what_the_fit_does(name: str):
    fit = fitted(name)
    at = points(fit)
    made = module(fit.to_python())
    assert not re.search(r"^(import|from) (?!math\b)", fit.to_python(), re.MULTILINE)
    close(one_by_one(made.predict, at, POINTS), fit.predict(at.table), VALUE_RTOL)


def test_arrays_broadcast_and_scalars_give_a_scalar():
    fit = fitted("chinchilla")
    for target in ("numpy", "torch"):
        made = module(fit.export(target))
        N, D = np.array([1e8, 1e9, 1e10]), np.array([[1e10], [1e11]])
        close(made.predict(N, D), fit(N=N, D=D), VALUE_RTOL)
        assert float(made.predict(7e9, 1.4e12)) == pytest.approx(fit(N=7e9, D=1.4e12), rel=1e-12)


def test_tensors_keep_their_type_and_gradient():
    made = module(fitted("chinchilla").export("torch"))
    N = torch.tensor([1e8, 1e9], dtype=torch.float32, requires_grad=True)
    loss = made.predict(N, 1e10)
    assert loss.dtype == torch.float32
    loss.sum().backward()
    assert N.grad is not None and bool((N.grad < 0).all())


# ---- intervals


@pytest.mark.parametrize("target", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("name", CASES)
def test_intervals_are_those_of_the_fit(name: str, target: str, monkeypatch: pytest.MonkeyPatch):
    if target == "jax":
        numpy_of_jax(monkeypatch)
    fit = fitted(name)
    at = points(fit)
    band = fit.predict_with_errors(at.table, discrepancy=0, level=0.9)
    made = module(fit.export(target, level=0.9))
    with np.errstate(all="ignore"):
        value, low, high = map(np.asarray, made.predict_with_interval(**at.values, **at.labels))
    close(value, band.values, VALUE_RTOL)
    same = (np.isfinite(low) == np.isfinite(band.low)) & (
        np.isfinite(high) == np.isfinite(band.high)
    )
    assert same.all()
    known = np.isfinite(band.high) & np.isfinite(band.low)
    close((high - low)[known], (band.high - band.low)[known], INTERVAL_RTOL)
    close((high - value)[known], (band.high - band.values)[known], INTERVAL_RTOL)


@pytest.mark.parametrize("name", CASES)
def test_intervals_of_the_python_module_are_those_of_the_fit(name: str):
    fit = fitted(name)
    at = points(fit)
    band = fit.predict_with_errors(at.table, discrepancy=0)
    found = np.array(one_by_one(module(fit.to_python()).predict_with_interval, at, 200)).T
    for ends, expected in zip(found, (band.values, band.low, band.high), strict=True):
        close(ends, expected[:200], INTERVAL_RTOL)


def test_what_the_rows_do_not_determine_has_an_infinite_interval():
    """Of mixing.m3 only a product is known: where a share is 0, the loss is; elsewhere it is not
    when the rows lie at one share."""
    fit = lawdsl.fit(
        law_of("variable x > 0\nparameter a, b, c\nL = a + b*x + c*x^2"),
        {"x": np.repeat([1.0, 2.0], 6), "L": np.linspace(3, 4, 12)},
        starts=2,
        objective="squared(raw)",
        claims=False,
    )
    made = module(fit.to_python())
    assert made.predict_with_interval(3.0)[2] == math.inf
    assert made.predict_with_interval(1.0)[2] < math.inf
    band = fit.predict_with_errors({"x": [1.0]}, discrepancy=0)
    assert made.predict_with_interval(1.0)[2] == pytest.approx(band.high[0], rel=1e-9)


# ---- derivatives


def exact_slopes(fit: Fit, table: Any) -> dict[str, np.ndarray]:
    """The derivatives by the parameters of lawdsl's own compiled law."""
    law = fit.law_of_spread()
    columns = {f"{name}[d]": name for name in table if name.startswith("k")}
    problem, theta, _ = fit._posed(law, replace(law.objective, log=False), table, columns)
    slopes = problem.model.slopes(theta[None])[1][0]
    return {q.name: x for q, x in zip(law.parameters, slopes, strict=True)}


def exact_variable_slopes(fit: Fit, table: Any) -> dict[str, np.ndarray]:
    """The derivatives by the variables of the compiled law; one with a value a row has its label."""
    law = fit.read_law()
    table = {**table, **{f"{name}[d]": x for name, x in table.items() if name.startswith("k")}}
    values = fit.values | {q.name: q.value for q in law.settings}
    quantities = [*law.variables, *law.parameters, *law.settings]
    tape = compile_tape([law.expression], [q.symbol for q in quantities])
    rows = len(next(iter(table.values())))
    inputs = [table[q.name] if q in law.variables else [values[q.name]] * rows for q in quantities]
    slopes = Slopes(tape).values_and_gradients(np.array(inputs, float))[1][0]
    return {q.name: x for q, x in zip(law.variables, slopes, strict=False)}


WITHOUT_LABELS = [name for name in LAWS if not lawdsl.load(name).indexed]
WITH_LABELS = [name for name in LAWS if name not in WITHOUT_LABELS]


@pytest.mark.parametrize("name", WITHOUT_LABELS)
def test_gradients_are_the_exact_derivatives(name: str):
    fit = fitted(name)
    assert isinstance(fit, Fit)
    at = points(fit)
    made = module(fit.to_numpy())
    for found, expected in (
        (made.parameter_gradient(**at.values), exact_slopes(fit, at.table)),
        (made.gradient(**at.values), exact_variable_slopes(fit, at.table)),
    ):
        assert set(found) == set(expected)
        for parameter, slopes in expected.items():
            close(np.broadcast_to(found[parameter], slopes.shape), slopes, SLOPE_RTOL)


@pytest.mark.parametrize("name", WITHOUT_LABELS)
def test_gradients_of_the_python_module_and_of_torch_are_the_exact_derivatives(name: str):
    fit = fitted(name)
    assert isinstance(fit, Fit)
    at = points(fit)
    expected, by_variable = exact_slopes(fit, at.table), exact_variable_slopes(fit, at.table)
    made = module(fit.to_python())
    for k, found in enumerate(one_by_one(made.parameter_gradient, at, POINTS)):
        assert found == pytest.approx({n: x[k] for n, x in expected.items()}, rel=SLOPE_RTOL)
    for k, found in enumerate(one_by_one(made.gradient, at, POINTS)):
        assert found == pytest.approx({n: x[k] for n, x in by_variable.items()}, rel=SLOPE_RTOL)
    tensors = {n: torch.tensor(x, requires_grad=True) for n, x in at.values.items()}
    made = module(fit.export("torch"))
    parameters = {
        n: torch.tensor(x, dtype=torch.float64, requires_grad=True)
        for n, x in made.PARAMETERS.items()
    }
    spread_out = {n: x + torch.zeros(POINTS, dtype=torch.float64) for n, x in parameters.items()}
    loss = made.predict(**tensors, parameters=spread_out)
    loss.sum().backward()
    for variable, tensor in tensors.items():
        close(tensor.grad, by_variable[variable], SLOPE_RTOL)
    for parameter, slopes in expected.items():
        assert float(parameters[parameter].grad) == pytest.approx(slopes.sum(), rel=SLOPE_RTOL)


def free_slopes(made: ModuleType, slopes: Any, number: int) -> list[np.ndarray]:
    """The derivatives by the free parameters of one part, which may move several elements."""
    if not hasattr(made, "PARTS"):
        return [slopes[name] for name in made.FREE]
    return made._free_slopes(slopes, made.PARTS[number]["terms"])


@pytest.mark.parametrize("name", WITH_LABELS)
def test_gradients_of_laws_with_index_sets_are_the_exact_derivatives(name: str):
    fits = fitted(name)
    assert isinstance(fits, Fits)
    made = module(fits.to_numpy())
    for number, part in enumerate(fits.parts):
        at = points(fits, label=number)
        expected = list(exact_slopes(part, at.table).values())
        found = free_slopes(made, made.parameter_gradient(**at.values, **at.labels), number)
        for one, other in zip(found, expected, strict=True):
            close(np.broadcast_to(one, other.shape), other, SLOPE_RTOL)


def arrays_of(slopes: Any) -> dict[str, np.ndarray]:
    """Derivatives, nested along labels, as arrays: name -> shape (…, points)."""
    return {name: along_points(each) for name, each in slopes.items()}


def along_points(each: Any) -> np.ndarray:
    if isinstance(each, list):
        return np.array([along_points(part) for part in each])
    return np.broadcast_to(np.asarray(each, dtype=float), POINTS)


def of_points(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """The derivatives at one point after the other, as `arrays_of` gives them."""
    return {
        name: np.moveaxis(np.array([row[name] for row in rows], dtype=float), 0, -1)
        for name in rows[0]
    }


def at_each_point(values: Any) -> torch.Tensor:
    """A parameter with an axis of points behind those of its labels, as a leaf of PyTorch."""
    tensor = torch.tensor(values, dtype=torch.float64)[..., None]
    return tensor.repeat(*[1] * (tensor.ndim - 1), POINTS).requires_grad_()


@pytest.mark.parametrize("name", WITH_LABELS)
def test_gradients_by_label_are_the_same_in_python_and_pytorch(name: str):
    """Those of NumPy are compared with the exact derivatives in another test."""
    fits = fitted(name)
    assert isinstance(fits, Fits)
    at = points(fits)
    numpy, python = module(fits.to_numpy()), module(fits.to_python())
    for function in ("gradient", "parameter_gradient"):
        expected = arrays_of(getattr(numpy, function)(**at.values, **at.labels))
        found = of_points(one_by_one(getattr(python, function), at, POINTS))
        assert set(found) == set(expected)
        for name_of, slopes in expected.items():
            close(found[name_of], slopes, SLOPE_RTOL)
    made = module(fits.export("torch"))
    inputs = {n: torch.tensor(x, requires_grad=True) for n, x in at.values.items()}
    parameters = {n: at_each_point(x) for n, x in made.PARAMETERS.items()}
    made.predict(**inputs, **at.labels, parameters=parameters).sum().backward()
    for name_of, slopes in arrays_of(numpy.parameter_gradient(**at.values, **at.labels)).items():
        close(parameters[name_of].grad, slopes, SLOPE_RTOL)
    by_variable = arrays_of(numpy.gradient(**at.values, **at.labels))
    shares = {v.name.partition("[")[0] for v in fits.read_law().variables if "[" in v.name}
    for name_of in set(inputs) - shares:  # of shares the last is what the others leave
        close(inputs[name_of].grad, by_variable[name_of], SLOPE_RTOL)


@pytest.mark.parametrize("name", WITH_LABELS)
def test_gradients_by_shares_are_those_of_shares_that_change_alone(name: str):
    fits = fitted(name)
    assert isinstance(fits, Fits)
    at = points(fits)
    found = module(fits.to_numpy()).gradient(**at.values, **at.labels)
    texts = fits.elements_of_variables(fits.read_law())
    for variable, slopes in exact_variable_slopes(fits.parts[0], at.table).items():
        base, _, label = variable.rstrip("]").partition("[")
        if not texts[base]:  # not shares: one value a row
            close(np.broadcast_to(found[base], slopes.shape), slopes, SLOPE_RTOL)
            continue
        # the law of a part writes the last share as 1 minus the others
        k = list(texts[base]).index(label)
        close(found[base][k] - found[base][-1], slopes, SLOPE_RTOL)


# ---- a law without parameters, of which there is no fit


def test_every_shipped_law_is_exported_here():
    indexed = {name for name in shipped() if lawdsl.load(name).indexed}
    unfitted = {name for name in shipped() if not lawdsl.load(name).parameters}
    assert set(shipped()) - indexed - unfitted - {*LAWS} <= {*VALUES, *NOT_SIMULATED}


@pytest.mark.parametrize("target", ["python", "numpy", "torch", "jax"])
def test_a_law_without_parameters_computes_its_formula(
    target: str, monkeypatch: pytest.MonkeyPatch
):
    if target == "jax":
        numpy_of_jax(monkeypatch)
    law = lawdsl.load("dcpt.threshold").at()
    rng = np.random.default_rng(0)
    at = Points({}, {q.name: 1.1 + rng.uniform(0, 2, POINTS) for q in law.variables}, {})
    quantities = [*law.variables, *law.settings]
    tape = compile_tape([law.expression], [q.symbol for q in quantities])
    inputs = [at.values.get(q.name, np.full(POINTS, q.value)) for q in quantities]
    values, slopes = Slopes(tape).values_and_gradients(np.array(inputs, dtype=float))
    made = module(law.export(target))
    if target == "python":
        close(one_by_one(made.predict, at, POINTS), values[0], VALUE_RTOL)
        by_variable = of_points(one_by_one(made.gradient, at, POINTS))
    elif target == "torch":
        tensors = {n: torch.tensor(x, requires_grad=True) for n, x in at.values.items()}
        predicted = made.predict(**tensors)
        close(predicted.detach(), values[0], VALUE_RTOL)
        predicted.sum().backward()
        by_variable = {n: x.grad.numpy() for n, x in tensors.items()}
    else:
        close(made.predict(**at.values), values[0], VALUE_RTOL)
        by_variable = arrays_of(made.gradient(**at.values)) if target == "numpy" else {}
    for name, exact in zip(at.values, slopes[0], strict=False):
        if by_variable:
            close(by_variable[name], exact, SLOPE_RTOL)


# ---- domains


@pytest.mark.parametrize("target", ["python", "numpy", "torch", "jax"])
def test_values_outside_the_domain_are_refused(target: str, monkeypatch: pytest.MonkeyPatch):
    if target == "jax":
        numpy_of_jax(monkeypatch)
    made = module(fitted("dcpt.l3").export(target))
    good = {"N": 1.0, "D": 2.0, "r": 0.5}
    for bad in ({"N": -1.0}, {"N": 0.0}, {"D": 0.01}, {"r": 1.5}, {"r": math.nan}, {"N": math.inf}):
        for function in (made.predict, made.predict_with_interval, made.parameter_gradient):
            with pytest.raises(ValueError, match=next(iter(bad))):
                function(**good | bad)
    if target != "python":
        with pytest.raises(ValueError, match="r = 1.5 is outside its domain: r <= 1"):
            made.predict(1.0, 2.0, np.array([0.2, 1.5]))


@pytest.mark.parametrize("target", ["python", "numpy", "torch", "jax"])
def test_what_is_no_number_is_refused_with_the_name_of_its_variable(
    target: str, monkeypatch: pytest.MonkeyPatch
):
    if target == "jax":
        numpy_of_jax(monkeypatch)
    made = module(fitted("dcpt.l3").export(target))
    good = {"N": 1.0, "D": 2.0, "r": 0.5}
    for name in good:
        for bad in ("much", [1.0, "x"], {"a": 1.0}, object(), 1j):
            for function in (made.predict, made.predict_with_interval, made.parameter_gradient):
                with pytest.raises(TypeError, match=f"^{name} = .* is n"):
                    function(**good | {name: bad})
        with pytest.raises((TypeError, ValueError), match=f"^{name} = "):  # NumPy has nan for None
            made.predict(**good | {name: None})
    shares = module(mixture().export(target)).predict
    for bad in (None, "much", 0.5, [0.4, None, 0.2, 0.4], [0.4, "x", 0.2, 0.4]):
        with pytest.raises((TypeError, ValueError), match=r"^(r|r\[code\]|the last axis of r)\b"):
            shares(bad, "books")
    with pytest.raises(TypeError, match=r"^r\[code\] = 'x' is n"):
        shares(dict(zip(DOMAINS, (0.4, "x", 0.2, 0.4), strict=True)), "books")


# ---- JAX itself


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_module_of_jax_computes_with_jax(name: str):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    fit = fitted(name)
    at = points(fit)
    made = module(fit.to_jax())
    close(made.predict(**at.values, **at.labels), fit.predict(at.table), VALUE_RTOL)
    function = jax.jit(lambda values: made.predict(**values, **at.labels))
    close(function(dict(at.values)), fit.predict(at.table), VALUE_RTOL)
    slopes = jax.grad(lambda values: made.predict(**values, **at.labels).sum())(dict(at.values))
    exact = module(fit.to_numpy()).gradient(**at.values, **at.labels)
    for variable in (name for name, x in at.values.items() if x.ndim == 1):
        close(slopes[variable], np.broadcast_to(exact[variable], POINTS), SLOPE_RTOL)
