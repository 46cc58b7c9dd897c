"""Mixtures that lie evenly among all that the caps allow: low-discrepancy points on the simplex.

Points of Sobol's sequence, scrambled, become shares domain by domain: each share is the quantile of
its distribution given those before it, all mixtures of the grid being equally likely (for no caps
and a fine grid the transformation of Fang and Wang 1994, Number-theoretic Methods in Statistics).
These distributions are counts of mixtures, whole numbers that are exact whatever the caps, so
nothing is drawn in vain, rounded or put back inside.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.designing.domains import Domain, by_cap, steps
from lawdsl.designing.result import Mixtures, check_count, chosen_by, in_order, never, too_few
from lawdsl.fitting.options import check_seed

GRID = "1/4096"
LARGEST = 2_000_000  # domains times steps of the grid
BITS = 53  # of a double


def spread(
    domains: Sequence[Domain], count: int = 40, *, grid: str | Fraction = GRID, seed: int = 0
) -> Mixtures:
    """Mixtures spread evenly over all that the caps allow.

    The first of them are those that fewer would be: with 64, the first 32 are spread as well.

    Args:
        domains: two or more.
        count: how many; all differ. The sequence is at its best for powers of 2.
        grid: what shares are multiples of, 1 divided by a whole number.
        seed: of the scrambling.

    Raises:
        LawdslError: a grid, count or seed that cannot be used; M0103, M0104, F0106.
    """
    check_count(count)
    check_seed(seed)
    whole = steps(grid)
    if whole * len(domains) > LARGEST:
        help = f"give 1/{LARGEST // len(domains)} or a coarser one"
        raise LawdslError(Diagnostic("M0104", f"1/{whole} is too fine a grid", help=help))
    worked = by_cap(domains)
    caps = [int(domain.cap * whole) for domain in worked]
    below = _below(caps, whole)
    candidates = below[0][-1] - below[0][-2]
    if candidates < count:
        help = f"choose a finer one, --grid 1/{4 * whole}, ask for fewer, or raise the caps"
        raise too_few(candidates, count, whole, help)
    units: dict[tuple[int, ...], None] = {}
    for point in _points(len(domains) - 1, seed):
        units[_mixture(point, below, caps, whole)] = None
        if len(units) == count:
            break
    return Mixtures(
        tuple(domains),
        in_order(domains, worked, list(units), whole),
        candidates,
        (chosen_by("spread (Sobol's sequence)", count, whole, seed),),
        tuple(never(worked, whole)),
    )


def _below(caps: Sequence[int], whole: int) -> list[list[int]]:
    """Of each domain and those behind it: how many mixtures of fewer than n units they have, for
    each n up to one more than 1 is."""
    last = caps[-1]
    below = [[min(n, last + 1) for n in range(whole + 2)]]
    for cap in reversed(caps[:-1]):
        after = below[-1]
        ways = (after[n + 1] - after[max(n - cap, 0)] for n in range(whole + 1))
        below.append(list(itertools.accumulate(ways, initial=0)))
    return below[::-1]


def _points(dimensions: int, seed: int) -> Iterator[list[int]]:
    """The points of a scrambled Sobol's sequence, in units of 1/2^BITS."""
    from scipy.stats.qmc import Sobol

    sequence = Sobol(dimensions, scramble=True, rng=seed)
    for doubling in itertools.count(6):
        for point in sequence.random_base2(doubling if doubling == 6 else doubling - 1):
            yield [int(x * (1 << BITS)) for x in point.tolist()]


def _mixture(
    point: Sequence[int], below: Sequence[Sequence[int]], caps: Sequence[int], whole: int
) -> tuple[int, ...]:
    """The mixture of a point, in units: each share the quantile of its distribution."""
    left, units = whole, []
    for at, cap, after in zip(point, caps, below[1:], strict=False):
        among = after[left + 1] - after[max(left - cap, 0)]
        rank = at * among >> BITS  # among the mixtures by this share, the smallest first
        rest = bisect_left(after, after[left + 1] - rank) - 1
        units.append(left - rest)
        left = rest
    return (*units, left)
