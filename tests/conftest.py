"""What every test gets: strict arithmetic warnings, and the real data where they are present."""

from __future__ import annotations

import gc
import itertools
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded


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
