"""Commands print and write what they did: text to the letter, numbers to rounding."""

from __future__ import annotations

import math
import re

import golden
import pytest

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
# relative: other processors take sums in another order, and draws of a bootstrap magnify that;
# `python tests/golden.py` compares to the last digit, on the machine that recorded
TOLERANCE = 2e-2
FIT_DIGEST = re.compile(r'"digest": "[0-9a-f]{64}"')  # of a fit: of all digits of its parameters
# how many starts reach the best optimum, and work done, depend on the last bits
COUNTS = re.compile(r'(starts agree|"agreed": |"evaluations": |"iterations": |\d+ of \d+ starts)')


@pytest.fixture(scope="module")
def now() -> dict[str, str]:
    return dict(golden.outputs())


@pytest.mark.parametrize("case", sorted(path.stem for path in golden.FOLDER.glob("*.txt")))
def test_a_command_prints_what_it_did(case: str, now: dict[str, str]):
    before = (golden.FOLDER / f"{case}.txt").read_text(encoding="utf-8").splitlines()
    after = now[case].splitlines()

    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if case == "use":
            old, new = (FIT_DIGEST.sub("", line) for line in (old, new))
        assert NUMBER.sub("#", old) == NUMBER.sub("#", new)
        if COUNTS.search(old):
            continue
        for a, b in zip(NUMBER.findall(old), NUMBER.findall(new), strict=True):
            assert math.isclose(float(a), float(b), rel_tol=TOLERANCE, abs_tol=1e-9), (old, new)


def test_every_case_is_recorded():
    assert {path.stem for path in golden.FOLDER.glob("*.txt")} >= set(golden.CASES)
