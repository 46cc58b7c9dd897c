"""What each command loads: help and syntax without algebra, checks without SciPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

ALGEBRA = {"sympy", "mpmath"}
NUMBERS = {"numpy", "scipy", "pyarrow", "pandas", "polars"}
FRAMES = {"pandas", "polars", "sklearn", "torch"}
OPTIMISERS = {"scipy.optimize", "scipy.linalg", "scipy.sparse", "scipy.stats"}
RUNNER = {"torch", "transformers", "tokenizers", "pydantic"}


def loaded(*arguments: str) -> set[str]:
    """The top-level modules, and the parts of SciPy, that are loaded when a command has run."""
    code = (
        "import sys, lawdsl.cli\n"
        "try: lawdsl.cli.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "parts = {'.'.join(m.split('.')[:2]) for m in sys.modules if m.startswith('scipy.')}\n"
        "print('\\nLOADED', *{m.partition('.')[0] for m in sys.modules} | parts)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.rpartition("LOADED")[2].split())


@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    [
        (("--help",), ALGEBRA | NUMBERS | {"rich"}),
        (("--version",), ALGEBRA | NUMBERS | {"rich"}),
        (("fit", "--help"), ALGEBRA | NUMBERS),
        (("trends", "--help"), ALGEBRA | NUMBERS),
        (("corpus", "--help"), ALGEBRA | NUMBERS | RUNNER),
        (("corpora", "laws"), {"sympy", "scipy", "pyarrow", "tokenizers", "torch"}),
        (("mixtures", "halving", "web", "code", "--count", "4"), ALGEBRA | NUMBERS),
        (("fmt", "--check", "laws/chinchilla.law"), ALGEBRA | NUMBERS),
        (("check", "--syntax", "chinchilla"), ALGEBRA | NUMBERS),
        (("explain", "L0301"), ALGEBRA | NUMBERS),
        (("laws",), ALGEBRA | NUMBERS),
        (("show", "chinchilla"), {"scipy", "pyarrow", "pandas", "polars"}),
        (("check", "chinchilla"), {"scipy", "pyarrow", "pandas", "polars"}),
        (("fit", "dcpt.share", "laws/data/c4_share.csv"), FRAMES | OPTIMISERS),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_loads_only_what_it_needs(arguments: tuple[str, ...], forbidden: set[str]):
    assert not loaded(*arguments) & forbidden


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
