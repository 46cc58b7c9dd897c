"""LawRegressor for laws with index sets: labels in a column of X, one loss per row in y."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exports import law, noisy
from sklearn.base import clone
from sklearn.ensemble import AdaBoostRegressor, BaggingRegressor
from sklearn.model_selection import cross_val_score

import lawdsl
from lawdsl.regressor import LawRegressor

DOMAINS = ("books", "code", "web")
RESIDUALS = {"books": (2.6, 0.5), "code": (1.4, 0.9)}
QUICK: dict[str, Any] = {"starts": 2, "seed": 1}


def rows(count: int = 24, noise: float = 0.002) -> tuple[pd.DataFrame, np.ndarray]:
    """Losses of two validation sets by `mixing.m4`, in the long format."""
    rng = np.random.default_rng(2)
    frames = []
    for label, (c, k) in RESIDUALS.items():
        shares = rng.dirichlet(np.ones(3), count)
        slopes = np.array([-0.6, 0.2, 0.4]) if label == "books" else np.array([0.3, -0.8, 0.5])
        loss = (c + k * np.exp(shares @ slopes)) * np.exp(noise * rng.normal(size=count))
        frame = pd.DataFrame(shares, columns=[f"r[{d}]" for d in DOMAINS])
        frames.append(frame.assign(validation=label, loss=loss))
    frame = pd.concat(frames, ignore_index=True)
    return frame.drop(columns="loss"), frame["loss"].to_numpy()


X, Y = rows()


def regressor(**options: Any) -> LawRegressor:
    return LawRegressor("mixing.m4", **{**QUICK, **options})


@pytest.fixture(scope="module")
def fitted() -> LawRegressor:
    return regressor().fit(X, Y)


def test_the_fit_is_that_of_the_library(fitted: LawRegressor):
    expected = lawdsl.fit("mixing.m4", X.assign(L=Y), claims=False, **QUICK)
    assert fitted.parameters_ == expected.values
    predicted = fitted.predict(X)
    assert predicted.shape == (len(X),)
    np.testing.assert_allclose(predicted, Y, rtol=0.01)
    np.testing.assert_array_equal(predicted[:5], fitted.predict(X[:5]))


def test_rows_in_any_order_have_their_own_label(fitted: LawRegressor):
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(fitted.predict(X.iloc[order]), fitted.predict(X)[order])


def test_wide_shares_and_other_names_are_bound():
    names = {f"r[{d}]": f"share_{d}" for d in DOMAINS} | {"validation": "domain"}
    made = regressor(columns={"r": "share_*", "validation": "domain"})
    predicted = made.fit(X.rename(columns=names), Y).predict(X.rename(columns=names))
    np.testing.assert_allclose(predicted, regressor().fit(X, Y).predict(X), rtol=1e-9)


def test_weights_stand_for_repeated_rows():
    weights = np.where(X["validation"] == "code", 2.0, 1.0)
    repeated = X.index.repeat(weights.astype(int))
    by_weight = regressor().fit(X, Y, sample_weight=weights)
    by_rows = regressor().fit(X.loc[repeated], Y[repeated])
    np.testing.assert_allclose(by_weight.predict(X), by_rows.predict(X), rtol=1e-6)


def test_an_array_says_which_column_is_what(fitted: LawRegressor):
    columns = {name: k for k, name in enumerate(X.columns)}
    made = clone(regressor(columns=columns)).fit(X.to_numpy(), Y)
    np.testing.assert_allclose(made.predict(X.to_numpy()), fitted.predict(X), rtol=1e-12)
    with pytest.raises(ValueError, match="has index sets: give a data frame"):
        regressor().fit(X.to_numpy(), Y)
    with pytest.raises(ValueError, match="unknown column 9"):
        regressor(columns={"validation": 9}).fit(X.to_numpy(), Y)


def test_labels_of_an_array_are_texts_as_they_are_written():
    columns = {name: k for k, name in enumerate(X.columns)}
    labels = X["validation"].map({"books": "01", "code": "1"})
    array = X.assign(validation=labels).to_numpy()
    made = regressor(columns=columns).fit(array, Y)
    assert sorted(made.fit_.labels["validation"]) == ["01", "1"]
    # the rows of one label alone, as a fold may have them
    alone = array[labels == "01"]
    np.testing.assert_allclose(made.predict(alone), made.predict(array)[labels == "01"], rtol=1e-12)


@pytest.mark.parametrize("ensemble", [BaggingRegressor, AdaBoostRegressor])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ensembles_take_it_as_their_estimator(ensemble: Any):
    columns = {name: k for k, name in enumerate(X.columns)}
    made = ensemble(regressor(columns=columns), n_estimators=3, random_state=0).fit(X, Y)
    predicted = made.predict(X)
    assert predicted.shape == (len(X),)
    np.testing.assert_allclose(predicted, Y, rtol=0.02)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_cross_validation_and_labels_that_were_not_fitted(fitted: LawRegressor):
    order = np.random.default_rng(0).permutation(len(X))
    scores = cross_val_score(regressor(), X.iloc[order], Y[order], cv=3)
    assert np.all(scores > 0.95)
    with pytest.raises(lawdsl.LawdslError, match="poems"):
        fitted.predict(X.assign(validation="poems"))


def test_hidden_labels_are_those_of_the_law():
    table = pd.DataFrame(noisy("mixing.implicit"))
    output = law("mixing.implicit").output
    made = LawRegressor(law("mixing.implicit"), **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two starts are few for it
        made.fit(table.drop(columns=output), table[output])
    expected = made.fit_.predict_with_warnings(table)[0]
    np.testing.assert_array_equal(made.predict(table.drop(columns=output)), expected)


def test_a_frame_without_labels_is_refused():
    with pytest.raises(lawdsl.LawdslError, match="D0104|D0120|label"):
        regressor().fit(X.drop(columns="validation"), Y)
