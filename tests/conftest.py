"""What every test gets: strict arithmetic warnings, and the real data where they are present."""

from __future__ import annotations

import gc
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded
if "LAWDSL_TEST_CACHE" not in os.environ:  # workers have that of the process that starts them
    _CACHE = tempfile.TemporaryDirectory(prefix="lawdsl-cache-", ignore_cleanup_errors=True)
    os.environ["LAWDSL_TEST_CACHE"] = os.environ["XDG_CACHE_HOME"] = _CACHE.name


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while tests are collected: what is imported stays, and there is much of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


TIDY = 200  # tests after which what they have left is no longer looked through
_TESTS = itertools.count(1)


def pytest_runtest_teardown() -> None:
    """Keep collections of garbage short: SymPy's caches grow to millions of objects, and to look
    through them takes half a second of somebody's time limit."""
    if next(_TESTS) % TIDY == 0:
        gc.collect()
        gc.freeze()


@pytest.fixture
def shared_data() -> Path:
    """The folder of real measurements, beside a checkout or in LAWDSL_DATA; not of the project."""
    folder = Path(os.environ.get("LAWDSL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs the measurements in {folder}, or where LAWDSL_DATA says")
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the corpora of small runs; tests only read it."""
    import runs  # torch, for those who ask

    folder = tmp_path_factory.mktemp("data")
    runs.write_corpora(folder)
    return folder


@pytest.fixture(scope="session")
def unbroken(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing interrupts; tests only read it."""
    import runs

    folder = tmp_path_factory.mktemp("unbroken")
    assert runs.do(folder, runs.order(data)) == runs.DONE
    return folder


@pytest.fixture
def fake_worker(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets what the fake worker of sweeps does: part of a label -> what."""
    return lambda **does: monkeypatch.setenv("FAKE", json.dumps(does))


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command line in this process, with the fake worker: arguments -> `click.testing.Result`."""
    import sweeps
    from click.testing import CliRunner

    from lawdsl.cli import cli
    from lawdsl.runners.sweeps import inputs, workers

    monkeypatch.setattr(workers, "WORKER", sweeps.WORKER)
    monkeypatch.setattr(inputs, "describe", sweeps.inspect)
    return lambda *arguments: CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests recorded with `record_property("figure", text)`."""
    passed = terminalreporter.stats.get("passed", [])
    figures = [
        text for report in passed for name, text in report.user_properties if name == "figure"
    ]
    if figures:
        terminalreporter.section("figures")
        for text in figures:
            terminalreporter.write_line(text)


# ---- fits of a law with index sets


@pytest.fixture(scope="session")
def noisy() -> Any:
    """Fits of a Data Mixing Law to losses with noise."""
    import mixing_cases

    return mixing_cases.fitted(mixing_cases.M4, mixing_cases.wide(noise=1e-3))


# ---- fits and a question of the tests of answers


@pytest.fixture(scope="session")
def share() -> Any:
    """A fit of dcpt.share."""
    import answer_fits  # lawdsl, for those who ask

    return answer_fits.planted_fit("dcpt.share")


@pytest.fixture(scope="session")
def cpt() -> Any:
    """A fit of dcpt.l1."""
    import answer_fits

    return answer_fits.planted_fit("dcpt.l1")


@pytest.fixture(scope="session")
def least(share: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The question for the smallest share that keeps the loss, asked of that fit."""
    import answer_fits

    path = tmp_path_factory.mktemp("questions") / "least.law"
    path.write_text(answer_fits.LEAST, encoding="utf-8")
    return answer_fits.lawdsl.Asked(path, loss=share)
