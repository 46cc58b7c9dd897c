"""What predictions need of a law is kept between commands, and changes nothing but their time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_triangular

import lawdsl
from lawdsl.cli import main
from lawdsl.compiling.model import Model
from lawdsl.compiling.stored_parts import parts_of_plain, plain_parts
from lawdsl.fitting import prediction_cache
from lawdsl.fitting.extrapolation.triangular import BLOCK, solve_lower
from lawdsl.fitting.preparation.build_problem import compile_law
from lawdsl.language.library import shipped

N = np.repeat([1e8, 3e8, 1e9, 3e9], 4)
D = np.tile([2e9, 8e9, 3e10, 1.2e11], 4)
NOISE = np.exp(np.random.default_rng(0).normal(0, 0.003, 16))
POINT = ("N=1e9,7e9", "D=1e12")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> str:
    losses = (1.69 + 406.4 / N**0.34 + 410.7 / D**0.28) * NOISE
    fit = lawdsl.fit("chinchilla", {"N": N, "D": D, "L": losses}, starts=8)
    path = tmp_path_factory.mktemp("fit") / "fit.json"
    fit.save(path)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def path(written: str, tmp_path: Path) -> Path:
    path = tmp_path / "fit.json"
    path.write_text(written, encoding="utf-8")
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LAWDSL_NO_CACHE", raising=False)
    return tmp_path / "cache" / "lawdsl" / "predictions"


@pytest.fixture
def predict(path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[Any, ...]]:
    def run(*arguments: str) -> tuple[Any, ...]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(["predict", str(path), *(arguments or POINT)])
        return (stop.value.code, *capsys.readouterr())

    return run


def entry(cache: Path) -> Path:
    (only,) = cache.iterdir()
    return only


COMMANDS: tuple[tuple[str, ...], ...] = (
    POINT,
    (*POINT, "--json"),
    (*POINT, "--level", "80%", "--json"),
    (*POINT, "--wrong", "5%", "--json"),
    (*POINT, "--wrong", "learned"),
    (*POINT, "--no-intervals"),
    ("N=1e9", "D=-1"),
    ("N=1e9",),
    ("n=1e9", "D=1e10"),
    ("N=1 kg", "D=1e10"),
    (),
)


def test_a_prediction_prints_the_same_with_the_cache_and_without(
    cache: Path, predict: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LAWDSL_NO_CACHE", "1")
    expected = [predict(*c) for c in COMMANDS]
    assert not cache.exists()
    monkeypatch.delenv("LAWDSL_NO_CACHE")
    for _ in range(2):  # the first fills it
        assert [predict(*c) for c in COMMANDS] == expected
    assert entry(cache)
    assert [code for code, *_ in expected] == [0, 0, 0, 0, 0, 0, 3, 2, 2, 2, 0]


def test_with_the_cache_a_prediction_loads_neither_algebra_nor_scipy(path: Path, cache: Path):
    code = (
        "import sys, lawdsl.cli\n"
        "try: lawdsl.cli.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('\\nLOADED', *{m.partition('.')[0] for m in sys.modules})"
    )
    command = [sys.executable, "-c", code, "predict", str(path), *POINT]
    first, second = (
        subprocess.run(command, capture_output=True, text=True, env=os.environ.copy())
        for _ in range(2)
    )
    heavy = {"sympy", "mpmath", "flint", "scipy", "lark", "pandas"}
    assert heavy & set(second.stdout.rpartition("LOADED")[2].split()) == set()
    assert first.stdout.partition("LOADED")[0] == second.stdout.partition("LOADED")[0]


def test_a_fit_that_was_edited_is_checked_however_often_the_original_was_read(
    path: Path, cache: Path, predict: Any
):
    predict()
    content = json.loads(path.read_text())
    content["parameters"]["E"]["value"] = 9.0
    path.write_text(json.dumps(content))
    for _ in range(2):
        code, _, errors = predict()
        assert code == 3 and "F0108" in errors


def other_number(content: Any) -> None:
    content["ready"]["forms"][0]["tapes"][0]["instructions"][-1][2][0] = 10**6


def later_argument(content: Any) -> None:
    steps = content["ready"]["forms"][0]["tapes"][1]["instructions"]
    next(s for s in steps if s[2])[2][0] = len(steps) - 1


def truth(content: Any) -> None:
    steps = content["ready"]["forms"][0]["tapes"][0]["instructions"]
    next(s for s in steps if s[0] == "input")[1] = True


def operation(content: Any) -> None:
    steps = content["ready"]["forms"][0]["tapes"][0]["instructions"]
    next(s for s in steps if s[2])[0] = "__import__"


def arity(content: Any) -> None:
    steps = content["ready"]["forms"][0]["tapes"][0]["instructions"]
    next(s for s in steps if s[0] == "power")[2].append(0)


def constant(content: Any) -> None:
    steps = content["ready"]["forms"][0]["tapes"][0]["instructions"]
    next(s for s in steps if s[0] == "constant")[1] = "1"


def factor(content: Any) -> None:
    content["ready"]["forms"][0]["gradient"][0][0][0] = 99


def slopes(content: Any) -> None:
    content["ready"]["forms"][0]["gradient"].pop()


def version(content: Any) -> None:
    content["origin"][0] = "0.0.0"


def fit_of_another(content: Any) -> None:
    content["origin"][-1] = "0" * 64


def quantile(content: Any) -> None:
    content["ready"]["quantile"] = -1.0


def law(content: Any) -> None:
    content["ready"]["law"]["variables"][0]["bounds"][0]["relation"] = "!="


@pytest.mark.parametrize(
    "damage",
    [
        *(other_number, later_argument, truth, operation, arity, constant, factor, slopes),
        *(version, fit_of_another, quantile, law),
        *("", "{", "[]", "null", "[" * 100_000, "\0", '{"origin": NaN}'),
    ],
    ids=lambda d: getattr(d, "__name__", str(d)[:9]),
)
def test_an_entry_that_is_damaged_or_foreign_is_replaced(
    damage: Any, path: Path, cache: Path, predict: Any
):
    expected = predict()
    intact = entry(cache).read_text()
    content: Any = json.loads(intact)
    if callable(damage):
        damage(content)
    entry(cache).write_text(json.dumps(content) if callable(damage) else damage)
    assert prediction_cache.ready_fit(path.read_text()) is None
    assert predict() == expected
    assert entry(cache).read_text() == intact


def test_without_a_folder_for_the_cache_fits_predict_all_the_same(cache: Path, predict: Any):
    cache.parent.parent.write_text("no folder")
    code, printed, _ = predict()
    assert code == 0 and printed == predict()[1]


def test_the_cache_keeps_the_entries_written_last(
    path: Path, cache: Path, predict: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(prediction_cache, "MAX_ENTRIES", 2)
    cache.mkdir(parents=True)
    for age, name in enumerate("abc"):
        (cache / f"{name}.json").write_text("{}")
        os.utime(cache / f"{name}.json", (age, age))
    predict()
    assert (cache / "c.json").exists() and len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("log", [False, True])
def test_a_stored_law_has_the_values_and_slopes_of_the_law(log: bool):
    laws = [
        lawdsl.load(name) for name in (["chinchilla", "dcpt.l3"] if log else sorted(shipped())[::4])
    ]
    scalar = [law for law in laws if not law.indexed]
    assert len(scalar) > 1
    for law in scalar:
        rng = np.random.default_rng(1)
        columns = rng.uniform(0.1, 0.9, (len(law.variables), 9))
        theta = rng.uniform(0.1, 0.9, (3, len(law.parameters)))
        model = compile_law(law, log).model(columns)
        assert isinstance(model, Model)
        plain = json.loads(json.dumps(plain_parts(model.parts)))
        again = Model(parts_of_plain(plain, len(columns), len(law.parameters)), columns)
        for one, other in zip(model.slopes(theta), again.slopes(theta), strict=True):
            assert np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, 2 * BLOCK + 5])
def test_triangular_systems_are_solved_as_by_scipy(size: int):
    rng = np.random.default_rng(size)
    matrix = rng.normal(size=(size, size))
    factor = np.linalg.cholesky(matrix @ matrix.T + size * np.eye(size))
    for right in (rng.normal(size=size), rng.normal(size=(size, 3))):
        expected = solve_triangular(factor, right, lower=True)
        np.testing.assert_allclose(solve_lower(factor, right), expected, rtol=1e-10, atol=1e-13)
    with pytest.raises(ValueError, match="infs or NaNs"):
        solve_lower(factor, np.full(size, np.nan))
