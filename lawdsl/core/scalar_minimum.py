"""The minimum of a function of one number between two bounds.

Brent's method: parabolas through the three best points, golden sections where these do not help (Brent
(1973), Algorithms for Minimization without Derivatives, chapter 5). The steps are those of SciPy's
`minimize_scalar(method="bounded")`, and a test compares them; importing that takes 0.15 s of CPU time in each
command (`python -X importtime -c "import scipy.optimize"`).
"""

from __future__ import annotations

import math
from collections.abc import Callable

GOLDEN = 0.5 * (3.0 - math.sqrt(5.0))  # the smaller part of a golden section
RELATIVE_TOLERANCE = math.sqrt(2.2e-16)  # of the position: nearer points have equal values
MAX_EVALUATIONS = 500


def bounded_minimum(
    function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-5
) -> tuple[float, float]:
    """Search for a local minimum, which is the global one where the function has no other.

    Args:
        function: the function.
        low, high: the bounds of its argument, finite; the function is not evaluated at them.
        tolerance: the absolute error of the position that ends the search.

    Returns:
        The position of the minimum, and the value there.
    """
    low, high = float(low), float(high)
    best = second = third = low + GOLDEN * (high - low)
    value = float(function(best))
    of_second = of_third = value
    step = earlier = 0.0
    for _ in range(MAX_EVALUATIONS - 1):
        middle = 0.5 * (low + high)
        near = RELATIVE_TOLERANCE * abs(best) + tolerance / 3.0
        if not abs(best - middle) > 2.0 * near - 0.5 * (high - low):
            break
        parabolic = None
        if abs(earlier) > near:
            r = (best - second) * (value - of_third)
            q = (best - third) * (value - of_second)
            p = (best - third) * q - (best - second) * r
            q = 2.0 * (q - r)
            p, q = -p if q > 0.0 else p, abs(q)
            before, earlier = earlier, step
            if abs(p) < abs(0.5 * q * before) and q * (low - best) < p < q * (high - best):
                parabolic = p / q
        if parabolic is None:
            earlier = low - best if best >= middle else high - best
            step = GOLDEN * earlier
        else:
            step, trial = parabolic, best + parabolic
            if trial - low < 2.0 * near or high - trial < 2.0 * near:
                step = near if middle >= best else -near
        trial = best + (max(abs(step), near) if step >= 0 else -max(abs(step), near))
        there = float(function(trial))
        if there <= value:
            low, high = (best, high) if trial >= best else (low, best)
            third, of_third, second, of_second = second, of_second, best, value
            best, value = trial, there
        else:
            low, high = (trial, high) if trial < best else (low, trial)
            if there <= of_second or second == best:
                third, of_third, second, of_second = second, of_second, trial, there
            elif there <= of_third or third in (best, second):
                third, of_third = trial, there
    return best, value
