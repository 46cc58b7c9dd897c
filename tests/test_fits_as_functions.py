"""A fit called with values, and its formula as a SymPy expression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from planted import PLANTED, as_measured
from quick import some

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits


def fitted(name: str) -> Any:
    """A shipped law on its planted table; one start, at the planted values, is enough."""
    planted, law = PLANTED[name], lawdsl.load(name)
    quick: dict[str, Any] = {"claims": False, "rolled_check": False}
    if law.indexed:
        return lawdsl.fit(law, as_measured(name), starts=4, **quick)
    chosen = law.objective.choice and law.objective.choice.name
    start = {name: x for name, x in planted.parameters.items() if name != chosen}
    return lawdsl.fit(law, planted.table(), starts=start, **quick)


@pytest.fixture(scope="module")
def fit() -> Fit:
    return fitted("chinchilla")


@pytest.fixture(scope="module")
def mixture() -> Fits:
    return fitted("mixing.m4")


def error_of(action: Any) -> lawdsl.Diagnostic:
    with pytest.raises(LawdslError) as caught:
        action()
    return caught.value.diagnostics[0]


def test_a_fit_is_called_with_numbers(fit: Fit):
    predicted = fit(N=7e9, D=1.4e12)
    assert type(predicted) is float
    assert predicted == fit.predict({"N": [7e9], "D": [1.4e12]})[0]


def test_values_broadcast(fit: Fit):
    N, D = np.array([1e8, 1e9, 1e10]), np.array([[1e10], [1e11]])
    predicted = fit(N=N, D=D)
    assert predicted.shape == (2, 3)
    assert predicted[1, 2] == fit(N=1e10, D=1e11)
    assert fit(N=[1e9], D=1e10).shape == (1,)


def test_a_call_has_the_domain_of_predictions(fit: Fit):
    missing = error_of(lambda: fit(N=1e9))
    assert missing.code == "D0104" and missing.message == "`chinchilla` needs a value of D"
    assert "fit(N=…, D=…)" in str(missing.help) and not missing.place
    for values in ({"N": -1.0, "D": 1e12}, {"N": np.nan, "D": 1e12}):
        called = error_of(lambda values=values: fit(**values))
        table = {name: [x] for name, x in values.items()}
        assert called == error_of(lambda table=table: fit.predict(table))


def test_wrong_calls_are_explained(fit: Fit):
    misspelt = error_of(lambda: fit(N=1e9, D=1e12, n=1))
    assert misspelt.code == "D0116" and "`n`" in misspelt.message
    assert error_of(lambda: fit(N="big", D=1e12)).code == "D0106"
    assert error_of(lambda: fit(N=[1, 2], D=[1, 2, 3])).code == "D0151"


def test_a_fit_of_a_table_with_other_names_is_called_with_those_of_the_law():
    table = PLANTED["chinchilla"].table()
    renamed = {"params": table["N"], "tokens": table["D"], "L": table["L"]}
    start = dict(PLANTED["chinchilla"].parameters)
    made = lawdsl.fit("chinchilla", renamed, N="params", D="tokens", starts=start, claims=False)
    assert isinstance(made, Fit)
    assert made(N=7e9, D=1e12) == made.predict({"params": [7e9], "tokens": [1e12]})[0]


def test_fits_of_labels_give_each_label(mixture: Fits):
    shares = {"a": 0.5, "b": 0.25, "c": 0.25}
    expected = mixture.predict({f"r[{name}]": [x] for name, x in shares.items()})[0]
    assert mixture(r=shares) == dict(zip(mixture.outputs, expected, strict=True))
    assert mixture(r=shares, validation="i") == expected[0]
    assert type(mixture(r=shares, validation="i")) is float


def test_shares_may_be_an_array_whose_last_axis_is_that_of_the_labels(mixture: Fits):
    shares = np.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]])
    predicted = mixture(r=shares, validation="i")
    assert predicted.shape == (2,)
    assert predicted[1] == mixture(r={"a": 0.0, "b": 0.5, "c": 0.5}, validation="i")


def test_wrong_shares_are_explained(mixture: Fits):
    assert error_of(lambda: mixture(r={"a": 0.5, "x": 0.5})).code == "D0120"
    assert error_of(lambda: mixture(r=[0.5, 0.5])).code == "D0151"
    assert error_of(lambda: mixture(r=0.5)).code == "D0151"
    assert error_of(lambda: mixture(r=[0.5, 0.5, 0.5])).code == "D0121"
    assert error_of(lambda: mixture(q=1, r=[0.5, 0.25, 0.25])).code == "D0116"


def test_a_law_of_measured_domains_is_called_with_what_was_measured():
    fits = fitted("dcpt.cross_k1")
    known = fits(N=1.0, D=2.0, r=0.5, k1=1.7, domain="domain1")
    table = {"N": [1.0], "D": [2.0], "r": [0.5], "k1": [1.7], "domain": ["domain1"]}
    assert known == fits.predict(table)[0]


# ---- the expression


def test_the_expression_is_in_plain_symbols(fit: Fit):
    e = fit.expression
    point = {"N": 7e9, "D": 1.4e12}
    assert e.free_symbols == {sympy.Symbol("N"), sympy.Symbol("D")}
    assert float(e.subs(point)) == pytest.approx(fit(**point), rel=1e-14)
    assert float(e.subs(sympy.Symbol("N"), 7e9).subs("D", 1.4e12)) == pytest.approx(fit(**point))


WITHOUT_LABELS = sorted(name for name in PLANTED if not lawdsl.load(name).indexed)


@pytest.mark.parametrize("name", some(sorted(WITHOUT_LABELS), 10))
def test_the_expression_of_a_shipped_law_is_what_it_predicts(name: str):
    made = fitted(name)
    columns = PLANTED[name].columns
    symbols = [sympy.Symbol(variable) for variable in columns]
    values = sympy.lambdify(symbols, made.expression, "numpy")(*columns.values())
    # a change of the loss passes through 0, where its terms cancel
    rounding = 1e-14 * np.max(np.abs(values))
    np.testing.assert_allclose(values, made.predict(dict(columns)), rtol=1e-12, atol=rounding)


@pytest.mark.parametrize("name", ["mixing.explicit", "mixing.powers", "dcpt.cross_k3"])
def test_the_expressions_of_labels_are_what_they_predict(name: str):
    fits = fitted(name)
    table = as_measured(name)
    predicted = fits.predict(table)
    (e,) = fits.expressions.values()
    columns = {s: table.get(s.name, table.get(s.name.removesuffix("[d]"))) for s in e.free_symbols}
    values = sympy.lambdify(list(columns), e, "numpy")(*columns.values())
    np.testing.assert_allclose(values, predicted, rtol=1e-12)


def test_each_label_has_its_expression(mixture: Fits):
    assert list(mixture.expressions) == mixture.outputs
