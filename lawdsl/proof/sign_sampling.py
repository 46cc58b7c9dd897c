"""Sum -> whether it certainly takes both signs on a box: saves proofs that must fail."""

from __future__ import annotations

import zlib
from fractions import Fraction

import numpy as np
import sympy as sp

from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.interval_evaluation import interval_sign
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.proof.box import Box
from lawdsl.proof.sampling import Column, draw_wide

SAMPLE_RTOL = 1e-9  # relative to Σ |term|: a smaller sum in float64 may be rounding error
SAMPLE_POINTS = 48  # points of a box; few, as the test only saves time


class SignSampler:
    """Random points of one box, shared by all tested sums."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self._columns: dict[sp.Symbol, Column] = {}

    def both_signs(self, e: sp.Expr) -> bool:
        """Whether a sum is certainly positive at one of the points and negative at another.

        The points with the extreme values of Σ t_i/Σ |t_i| in float64 are verified by intervals.
        """
        inputs = sorted(e.free_symbols, key=str)
        for s in inputs:
            if s not in self._columns:
                # by name: `hash` of a string differs from process to process
                rng = np.random.default_rng(zlib.crc32(s.name.encode()))
                self._columns[s] = draw_wide(self.box, s, rng, SAMPLE_POINTS)
        try:
            tape = compile_tape([e, *e.args], inputs)
        except LawdslError:
            return False
        value, *terms = evaluate(tape, [self._columns[s] for s in inputs])
        with np.errstate(all="ignore"):
            share = np.nan_to_num(value / sum(np.abs(term) for term in terms))
        extremes = int(np.argmin(share)), int(np.argmax(share))
        if not share[extremes[0]] < -SAMPLE_RTOL or not share[extremes[1]] > SAMPLE_RTOL:
            return False
        points = [[Fraction(float(self._columns[s][i])) for s in inputs] for i in extremes]
        return [interval_sign(tape, point) for point in points] == [-1, 1]
