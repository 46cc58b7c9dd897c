"""What each command loads: help and syntax without algebra, checks without SciPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

ALGEBRA = {"sympy", "mpmath"}
NUMBERS = {"numpy", "scipy", "pyarrow", "pandas", "polars"}
RUNNER = {"torch", "transformers", "tokenizers", "pydantic"}


def loaded(*arguments: str) -> set[str]:
    """The top-level modules that are loaded when a command has run."""
    code = (
        "import sys, lawdsl.cli\n"
        "try: lawdsl.cli.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('\\nLOADED', *{m.partition('.')[0] for m in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True
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
        (("show", "chinchilla"), {"scipy", "pyarrow", "pandas", "polars"}),
        (("check", "chinchilla"), {"scipy", "pyarrow", "pandas", "polars"}),
        (("fit", "dcpt.share", "laws/data/c4_share.csv"), {"polars", "sklearn", "torch"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_loads_only_what_it_needs(arguments: tuple[str, ...], forbidden: set[str]):
    assert not loaded(*arguments) & forbidden
