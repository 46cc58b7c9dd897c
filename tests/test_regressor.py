"""LawRegressor: scikit-learn's own checks, frames and arrays, pipelines, searches, weights, mistakes."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import lawdsl
from lawdsl.regressor import LawRegressor

ROOT = Path(__file__).resolve().parent.parent
LAWS = ROOT / "tests" / "fixtures" / "regressor"
LINE = str(LAWS / "line.law")
TRUE = {"E": 1.8, "A": 480.0, "alpha": 0.35, "B": 2000.0, "beta": 0.37}


def measured(rows: int = 40, noise: float = 0.002) -> pd.DataFrame:
    """Runs of a Chinchilla law, with text that the law does not need, columns in no order."""
    rng = np.random.default_rng(5)
    size, tokens = 10 ** rng.uniform(7.5, 10, rows), 10 ** rng.uniform(9, 11.5, rows)
    loss = TRUE["E"] + TRUE["A"] / size ** TRUE["alpha"] + TRUE["B"] / tokens ** TRUE["beta"]
    loss *= np.exp(rng.normal(0, noise, rows))
    names = [f"run {i}" for i in range(rows)]
    return pd.DataFrame({"run": names, "D": tokens, "N": size, "L": loss})


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return measured()


@pytest.fixture(scope="module")
def reference(runs: pd.DataFrame) -> lawdsl.Fit:
    return lawdsl.fit("chinchilla", runs, starts=4)


def chinchilla(**options: Any) -> LawRegressor:
    return LawRegressor("chinchilla", **{"starts": 4, **options})


# A law with a domain refuses most of what the checks feed: columns of any number and sign.


@pytest.mark.parametrize(
    ("law", "columns"),
    [
        pytest.param("line", {"x": 0}, id="line"),
        pytest.param("plane", {"x": 0, "z": 1}, id="plane", marks=pytest.mark.slow),
    ],
)
def test_it_passes_every_check_of_scikit_learn(law: str, columns: dict[str, int]):
    model = LawRegressor(str(LAWS / f"{law}.law"), columns=columns, starts=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke some
        found = check_estimator(model, on_skip=None, on_fail=None)
    failed = {c["check_name"]: c["exception"] for c in found if c["status"] == "failed"}
    passed = [c for c in found if c["status"] == "passed"]
    assert failed == {}
    assert len(passed) >= 50


@pytest.mark.parametrize(
    "table",
    [
        lambda runs: runs,
        lambda runs: pl.from_pandas(runs),
        lambda runs: pa.Table.from_pandas(runs),
        lambda runs: runs[["N", "D"]].to_numpy(),
        lambda runs: runs[["N", "D"]].to_numpy().tolist(),
    ],
    ids=["pandas", "polars", "arrow", "array", "list"],
)
def test_every_kind_of_table_gives_the_fit_of_the_library(
    table: Any, runs: pd.DataFrame, reference: lawdsl.Fit
):
    X = table(runs)
    model = chinchilla().fit(X, runs["L"])
    assert model.parameters_ == model.fit_.values == reference.values
    assert model.fit_.data.digest == reference.data.digest
    # columns that lie apart in memory may go through other kernels
    np.testing.assert_allclose(model.predict(X), reference.predict(runs), rtol=1e-13)
    assert model.score(X, runs["L"]) == pytest.approx(reference.metrics.r2, rel=1e-12)


def test_it_remembers_the_columns_it_was_fitted_to(runs: pd.DataFrame):
    model = chinchilla().fit(runs, runs["L"])
    assert model.n_features_in_ == 4
    assert list(model.feature_names_in_) == ["run", "D", "N", "L"]
    model.fit(runs[["N", "D"]].to_numpy(), runs["L"])
    assert model.n_features_in_ == 2 and not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize(
    ("columns", "change"),
    [
        (
            {"N": "size", "D": "tokens"},
            lambda runs: runs.rename(columns={"N": "size", "D": "tokens"}),
        ),
        ({"N": 2, "D": 1}, lambda runs: runs.rename(columns={"N": "size", "D": "tokens"})),
        ({"N": 1, "D": 0}, lambda runs: runs[["D", "N", "L"]].to_numpy()),
        ({"N": np.int64(1), "D": 0}, lambda runs: runs[["D", "N", "L"]].to_numpy()),
    ],
    ids=["names", "positions in a frame", "positions in an array", "positions of NumPy"],
)
def test_columns_are_bound_by_name_or_position(
    columns: dict[str, Any], change: Any, runs: pd.DataFrame, reference: lawdsl.Fit
):
    X = change(runs)
    model = chinchilla(columns=columns).fit(X, runs["L"])
    assert model.parameters_ == reference.values
    # columns that lie apart in memory may go through other kernels
    np.testing.assert_allclose(model.predict(X), reference.predict(runs), rtol=1e-13)


def test_a_unit_in_a_header_is_converted_also_where_only_an_array_is_predicted(
    runs: pd.DataFrame, reference: lawdsl.Fit
):
    X = pd.DataFrame({"N [Mparam]": runs["N"] / 1e6, "D": runs["D"]})
    model = chinchilla().fit(X, runs["L"])
    assert model.parameters_ == pytest.approx(reference.values, rel=1e-6)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        predicted = model.predict(X.to_numpy())
    np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-13)


def test_a_column_called_y_is_not_mistaken_for_the_measurements(runs: pd.DataFrame):
    X = runs.rename(columns={"N": "y"})
    model = chinchilla(columns={"N": "y"}).fit(X, runs["L"])
    assert model.fit_.data.columns == {"N": "y", "D": "D", "L": "y_"}


def test_options_reach_the_fit(runs: pd.DataFrame):
    model = chinchilla(objective="huber(raw)", delta=0.01, seed=3).fit(runs, runs["L"])
    assert model.fit_.objective.name == "huber(L, 0.01)"
    assert model.fit_.seed == 3
    small = pd.DataFrame({"N": [0.5, 1.8, 4.0] * 4, "D": np.repeat([1.0, 3, 9, 27], 3)})
    small["r"] = np.linspace(0, 1, 12)
    y = 1 + 0.5 / small["N"] ** 0.3 + small["r"] / small["D"] + 0.2 / (small["r"] + 0.1)
    dcpt = LawRegressor(
        "dcpt.l3", starts=1, settings={"D_min": 0.5}, without="C > C0", objective="squared(log)"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = dcpt.fit(small, y).fit_
    assert fitted.law.settings == {"D_min": 0.5} and fitted.law.dropped == ("C > C0",)


def test_parameters_are_held_and_intervals_are_of_the_level_asked_for(runs: pd.DataFrame):
    model = chinchilla(fix={"E": 1.8}, tie={"beta": "alpha"}, intervals="profile", level=0.9)
    found = model.fit(runs, runs["L"]).fit_
    assert found.held["E"].value == 1.8
    assert found.held["beta"].value == pytest.approx(found.values["alpha"])
    assert set(model.parameters_) == {"A", "alpha", "B"}
    assert (found.intervals.method, found.intervals.level) == ("profile", 0.9)
    assert model.predict(runs) == pytest.approx(runs["L"], rel=0.05)
    few = runs.iloc[[0, 9, 20, 33]]  # more rows than parameters that are left, fewer than all
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(few[["N", "D"]].to_numpy(), few["L"])
    assert model.fit_.data.rows == 4


def test_a_weight_may_be_any_number_from_0(runs: pd.DataFrame):
    weights = np.random.default_rng(2).integers(0, 4, len(runs))
    whole = chinchilla().fit(runs, runs["L"], sample_weight=weights)
    half = chinchilla().fit(runs, runs["L"], sample_weight=weights / 2)
    assert half.predict(runs) == pytest.approx(whole.predict(runs), rel=1e-9)
    assert half.fit_.objective.sum == pytest.approx(whole.fit_.objective.sum / 2)


def test_a_clone_has_the_same_settings_and_no_fit(runs: pd.DataFrame):
    model = LawRegressor(lawdsl.load("chinchilla"), starts=2).fit(runs, runs["L"])
    copy = clone(model)
    assert copy.law.digest == model.law.digest and copy.starts == 2
    assert not hasattr(copy, "fit_")
    assert copy.fit(runs, runs["L"]).parameters_ == model.parameters_


def test_a_fitted_one_can_be_kept_and_read_again(runs: pd.DataFrame):
    model = LawRegressor(lawdsl.load("chinchilla"), starts=2).fit(runs, runs["L"])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(runs), model.predict(runs))


def test_it_stands_at_the_end_of_a_pipeline(runs: pd.DataFrame, reference: lawdsl.Fit):
    """Columns in logarithms are brought back, and the rest is left out, before the law sees them."""
    logs = runs.assign(N=np.log10(runs["N"]), D=np.log10(runs["D"]))
    back = FunctionTransformer(lambda x: 10**x)
    chosen = ColumnTransformer([("back", back, ["N", "D"])])
    for prepare in (chosen, clone(chosen).set_output(transform="pandas")):
        columns = {"N": 0, "D": 1}
        pipeline = make_pipeline(prepare, chinchilla(columns=columns)).fit(logs, runs["L"])
        assert pipeline[-1].parameters_ == pytest.approx(reference.values, rel=1e-6)
        assert pipeline.predict(logs) == pytest.approx(reference.predict(runs), rel=1e-9)


def test_a_grid_search_chooses_the_law_that_predicts_best(runs: pd.DataFrame):
    grid = {"law": ["mixing.size", "chinchilla"], "objective": [None, "squared(log)"]}
    search = GridSearchCV(chinchilla(), grid, cv=3, error_score="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the smaller law: it does not fit
        search.fit(runs, runs["L"])
    assert search.best_params_["law"] == "chinchilla"
    assert search.best_score_ > 0.99
    assert search.best_estimator_.fit_.data.rows == len(runs)


def test_it_is_cross_validated_with_weights(runs: pd.DataFrame):
    ones = np.ones(len(runs))
    plain = cross_val_score(chinchilla(), runs, runs["L"], cv=3)
    weighted = cross_val_score(chinchilla(), runs, runs["L"], cv=3, params={"sample_weight": ones})
    assert len(plain) == 3 and min(plain) > 0.98
    assert weighted == pytest.approx(plain, rel=1e-6)


def test_a_weight_says_how_often_a_row_counts(runs: pd.DataFrame):
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 4, len(runs))
    repeated = runs.loc[runs.index.repeat(weights)]
    model = chinchilla().fit(runs, runs["L"], sample_weight=weights)
    other = chinchilla().fit(repeated, repeated["L"])
    plain = chinchilla().fit(runs, runs["L"])
    assert model.predict(runs) == pytest.approx(other.predict(runs), rel=1e-9)
    assert model.predict(runs) != pytest.approx(plain.predict(runs), rel=1e-5)


MISTAKES = {
    "too many columns": (
        lambda X, y: chinchilla().fit(X.assign(more=1).to_numpy(), y),
        r"X has 3 feature\(s\), `chinchilla` 2 variable\(s\): N, D; say .*columns=\{'N': 0\}",
    ),
    "no such position": (
        lambda X, y: chinchilla(columns={"N": 0, "D": 2}).fit(X, y),
        r"X has 2 feature\(s\), counted from 0: unknown column 2",
    ),
    "fewer rows than parameters": (
        lambda X, y: chinchilla().fit(X.to_numpy()[:4], y[:4]),
        r"Found array with 4 sample\(s\).* minimum of 5",
    ),
    "lengths": (lambda X, y: chinchilla().fit(X, y[:-1]), "inconsistent numbers of samples"),
    "text as measurements": (lambda X, y: chinchilla().fit(X, ["a"] * len(X)), "convert"),
    "too few weights": (lambda X, y: chinchilla().fit(X, y, [1, 2]), r"shape \(2,\), not \(40,\)"),
    "weights below 0": (lambda X, y: chinchilla().fit(X, y, -y), "not numbers from 0"),
    "weights of 0": (lambda X, y: chinchilla().fit(X, y, 0 * y), "zero in every row"),
    "other columns": (
        lambda X, y: chinchilla().fit(X, y).predict(X.rename(columns={"N": "size"})),
        "feature names should match",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_arrays_of_the_wrong_shape_are_value_errors(mistake: str, runs: pd.DataFrame):
    work, message = MISTAKES[mistake]
    with pytest.raises(ValueError, match=message):
        work(runs[["N", "D"]], runs["L"])


REFUSED = {
    "unknown law": (lambda X, y: LawRegressor("chinchila").fit(X, y), "L0310"),
    "unknown variable": (lambda X, y: chinchilla(columns={"size": "N"}).fit(X, y), "D0116"),
    "missing column": (lambda X, y: chinchilla().fit(X[["N"]], y), "D0104"),
    "name in an array": (
        lambda X, y: chinchilla(columns={"N": "N", "D": 1}).fit(X.to_numpy(), y),
        "D0104",
    ),
    "outside the domain": (lambda X, y: chinchilla().fit(-X, y), "D0108"),
    "outside the domain, predicted": (
        lambda X, y: chinchilla().fit(X, y).predict(-X),
        "D0108",
    ),
    "no logarithm": (lambda X, y: chinchilla().fit(X, -y), "D0109"),
    "unknown objective": (lambda X, y: chinchilla(objective="mean").fit(X, y), "L0404"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_law_cannot_use_is_refused_with_its_code(case: str, runs: pd.DataFrame):
    work, code = REFUSED[case]
    with pytest.raises(lawdsl.LawdslError) as caught:
        work(runs[["N", "D"]], runs["L"])
    assert caught.value.diagnostics[0].code == code


def test_a_fit_that_is_not_trusted_is_announced_with_its_reasons(runs: pd.DataFrame):
    rising = np.sort(runs["L"])[np.argsort(np.argsort(runs["N"]))]  # the loss rises with the size
    with pytest.warns(ConvergenceWarning, match="the fit is not trusted: ") as caught:
        model = chinchilla().fit(runs, rising)
    assert model.fit_.verdict == "not trusted"
    errors = [d.message for d in model.fit_.diagnostics if d.severity == "error"]
    assert errors and all(message in str(caught[0].message) for message in errors)


def test_it_is_a_name_of_the_library_and_loads_nothing_until_it_is_used():
    program = (
        "import sys; from lawdsl import *; import lawdsl; print('sklearn' in sys.modules); "
        "print(lawdsl.LawRegressor.__module__, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "lawdsl.regressor", "True"]


def test_without_scikit_learn_it_says_what_to_install():
    program = "import sys; sys.modules['sklearn'] = None; import lawdsl; lawdsl.LawRegressor"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last == (
        "ImportError: LawRegressor needs scikit-learn 1.6 or later: pip install 'lawdsl[sklearn]'"
    )
