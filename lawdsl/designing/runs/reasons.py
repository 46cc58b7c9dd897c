"""Why a run is in a batch, in words that its measurements can be held against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.designing.runs.posterior import LawPosterior

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

SAME = 1e-6  # distance in coordinates below which two points are one
WORTH_NAMING = 0.25  # part of the variance of a parameter that a run has to remove


class Reasons:
    """What distinguishes runs of a batch, in the order in which they are chosen.

    Args:
        z: coordinates of candidate rows, shape (rows, axes).
        ends: the last row of each candidate, shape (candidates,).
        fitted: coordinates of the fitted rows, shape (fitted rows, axes).
        targets: coordinates of the targets, shape (points, axes).
        available: which candidates are not done, shape (candidates,).
        affordable: which of them the batch could have, shape (candidates,).
        parameters: names of the parameters of the law.
        otherwise: what is said of a run without another reason.
    """

    def __init__(
        self,
        z: Array,
        ends: Numbers,
        fitted: Array,
        targets: Array,
        available: NDArray[np.bool_],
        affordable: NDArray[np.bool_],
        parameters: Sequence[str],
        otherwise: str,
    ) -> None:
        self._z, self._fitted, self._parameters = z[ends], fitted, tuple(parameters)
        self._otherwise = otherwise
        distances = np.min(np.linalg.norm(self._z[:, None] - targets[None], axis=2), axis=1)
        self._nearest = float(np.min(distances[affordable], initial=np.inf))
        nearer = float(np.min(distances[available], initial=np.inf)) < self._nearest - SAME
        self._nearness = f"nearest {'affordable ' * nearer}to the target"
        self._distances = distances
        self._repeated = len(fitted) and len(np.unique(np.round(fitted, 6), axis=0)) < len(fitted)

    def of(self, candidate: int, law: LawPosterior, rows: Numbers) -> str:
        """Why a candidate was chosen; called before the law is conditioned on it.

        Args:
            candidate: its number.
            law: of the fit, given all rows and picks so far.
            rows: its candidate rows.
        """
        point = self._z[candidate]
        gaps = np.linalg.norm(self._fitted - point, axis=1)
        is_repeat = bool(len(gaps)) and float(np.min(gaps)) < SAME
        first_repeat = is_repeat and not self._repeated
        self._repeated = self._repeated or is_repeat
        self._fitted = np.vstack([self._fitted, point])
        if first_repeat:
            return "repeats a setting: without repeats the noise is not known"
        if is_repeat:
            return "repeats a setting: less noise there"
        reasons = []
        if self._distances[candidate] <= self._nearest * (1 + 1e-9) + SAME:
            reasons.append(self._nearness)
        drops = law.parameter_drops(rows)
        named = [i for i in np.argsort(-drops)[:2] if drops[i] >= WORTH_NAMING]
        if named:
            texts = [
                f"{self._parameters[i]} by {100 * (1 - np.sqrt(1 - drops[i])):.0f} %" for i in named
            ]
            reasons.append(f"narrows {' and '.join(texts)}")
        return "; ".join(reasons) or self._otherwise
