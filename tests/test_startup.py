"""What each command loads: help and syntax without algebra, checks without SciPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

ALGEBRA = {"sympy", "mpmath"}
NUMBERS = {"numpy", "scipy", "pyarrow", "pandas", "polars"}
FRAMES = {"pandas", "polars", "sklearn", "torch"}
OPTIMISERS = {"scipy.optimize", "scipy.linalg", "scipy.sparse", "scipy.stats"}
RUNNER = {"torch", "transformers", "tokenizers", "pydantic"}


def loaded(*commands: Sequence[str]) -> list[set[str]]:
    """The top-level modules, and the parts of SciPy, after each command, run one after another."""
    code = (
        "import json, os, sys\n"
        "import lawdsl.cli\n"
        "out, sys.stdout = sys.stdout, open(os.devnull, 'w')\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    try: lawdsl.cli.main(words)\n"
        "    except SystemExit: pass\n"
        "    parts = {'.'.join(m.split('.')[:2]) for m in sys.modules if m.startswith('scipy.')}\n"
        "    print(*{m.partition('.')[0] for m in sys.modules} | parts, file=out)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(commands)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [set(line.split()) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("forbidden", "commands"),
    [
        (ALGEBRA | NUMBERS | {"rich"}, [["--help"], ["--version"]]),
        (
            ALGEBRA | NUMBERS,
            [
                ["fit", "--help"],
                ["trends", "--help"],
                ["corpus", "--help"],
                ["mixtures", "halving", "web", "code", "--count", "4"],
                ["fmt", "--check", "laws/chinchilla.law"],
                ["check", "--syntax", "chinchilla"],
                ["explain", "L0301"],
                ["laws"],
            ],
        ),
        (RUNNER, [["corpus", "--help"]]),
        ({"sympy", "scipy", "pyarrow", "tokenizers", "torch"}, [["corpora", "laws"]]),
        (
            {"scipy", "pyarrow", "pandas", "polars"},
            [["show", "chinchilla"], ["check", "chinchilla"]],
        ),
        (FRAMES | OPTIMISERS, [["fit", "dcpt.share", "laws/data/c4_share.csv"]]),
    ],
    ids=lambda value: ", ".join(map(" ".join, value)) if isinstance(value, list) else "",
)
def test_commands_load_only_what_they_need(forbidden: set[str], commands: list[list[str]]):
    found = loaded(*commands)

    assert len(found) == len(commands)
    for words, modules in zip(commands, found, strict=True):
        assert not modules & forbidden, words


def threads_after(*arguments: str, **environment: str) -> str:
    """The threads of NumPy's library that a command asks for, as its process sees them at its end."""
    code = (
        "import os, sys, lawdsl.cli\n"
        "try: lawdsl.cli.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('\\nTHREADS', os.environ.get('OPENBLAS_NUM_THREADS', 'all'))"
    )
    own = {name: text for name, text in os.environ.items() if not name.startswith("OPENBLAS")}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env=own | environment,
        capture_output=True,
        text=True,
    )
    return done.stdout.rpartition("THREADS")[2].strip()


def test_commands_compute_with_one_thread_unless_they_train_or_the_user_says_otherwise():
    assert threads_after("explain", "L0301") == "1"
    assert threads_after("explain", "L0301", OPENBLAS_NUM_THREADS="3") == "3"
    assert threads_after("run", "--help") == "all"


def test_the_first_collection_waits_until_a_command_has_started_and_then_all_is_as_usual():
    code = (
        "import gc\n"
        "from lawdsl.cli.first_collection import OBJECTS, postpone_first_collection\n"
        "usual = gc.get_threshold(); before = gc.get_stats()[0]['collections']\n"
        "postpone_first_collection()\n"
        "kept = [[] for _ in range(OBJECTS // 2)]\n"
        "assert gc.get_stats()[0]['collections'] == before\n"
        "kept += [[] for _ in range(OBJECTS)]\n"
        "assert gc.get_stats()[0]['collections'] > before and gc.get_threshold() == usual\n"
        "gc.disable(); gc.set_threshold(0); postpone_first_collection()\n"
        "assert not gc.isenabled() and gc.callbacks == []\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tools_of_numpy_for_fortran_and_tests_are_loaded_only_where_they_are_used():
    code = (
        "import sys\n"
        "from lawdsl.cli.unused_parts import postpone_unused_parts\n"
        "postpone_unused_parts()\n"
        "import numpy, scipy.optimize, scipy.special\n"
        "assert 'numpy.f2py.crackfortran' not in sys.modules and 'unittest' not in sys.modules\n"
        "numpy.testing.assert_allclose([1.0], [1.0])\n"
        "from numpy.testing import assert_equal\n"
        "assert numpy.f2py.get_include() and 'unittest' in sys.modules\n"
        "postpone_unused_parts()\n"
        "assert numpy.testing.assert_equal is assert_equal\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_known_law_is_fitted_to_a_new_table_without_algebra_and_predicts_without_arrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LAWDSL_NO_CACHE", raising=False)
    lines = (ROOT / "laws" / "data" / "c4_share.csv").read_text().splitlines()
    (tmp_path / "fewer.csv").write_text("\n".join(lines[:-1]))
    (tmp_path / "more.csv").write_text("\n".join(lines))
    fit = str(tmp_path / "fit.json")

    (first,) = loaded(["fit", "dcpt.share", str(tmp_path / "fewer.csv")])
    (second,) = loaded(["fit", "dcpt.share", str(tmp_path / "more.csv"), "-o", fit])
    loaded(["predict", fit, "r=0.5"])
    (again,) = loaded(["predict", fit, "r=0.5,0.7"])

    assert "sympy" in first and not second & ALGEBRA
    assert "numpy" in again and not again & (ALGEBRA | {"scipy", "pyarrow", "pandas"})
