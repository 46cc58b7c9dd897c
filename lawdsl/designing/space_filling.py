"""Domains -> mixtures spread evenly within the caps: low-discrepancy points on the simplex.

Points u of a scrambled Sobol sequence become shares domain by domain: x_k is the quantile u_k of
its conditional distribution given x_1, …, x_(k-1), if all mixtures on the grid are equally likely
(without caps and on a fine grid, the transformation of Fang and Wang (1994), Number-theoretic
Methods in Statistics). These distributions are computed from exact counts of mixtures for any caps,
so that no point is rejected, rounded or projected.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.designing.domains import Domain, grid_steps, sort_by_cap
from lawdsl.designing.result import (
    Mixtures,
    check_count,
    provenance,
    shares_in_order,
    too_few_mixtures,
    unreachable_domains,
)
from lawdsl.fitting.options import check_seed

SPREAD_GRID = "1/4096"
MAX_GRID_CELLS = 2_000_000  # domains times steps of the grid
DOUBLE_BITS = 53  # significand of a double


def spread(
    domains: Sequence[Domain], count: int = 40, *, grid: str | Fraction = SPREAD_GRID, seed: int = 0
) -> Mixtures:
    """Spread mixtures evenly over the region that the caps allow.

    The first n mixtures are the design for n: of 64, the first 32 are evenly spread, too.

    Args:
        domains: at least two domains.
        count: the number of distinct mixtures. The sequence is most even for powers of 2.
        grid: the step of which all shares are multiples; 1 divided by a whole number.
        seed: the seed of the scrambling.

    Returns:
        The mixtures, with exact shares.

    Raises:
        LawdslError: a grid, count or seed that cannot be used; M0103, M0104, F0106.
    """
    check_count(count)
    check_seed(seed)
    total = grid_steps(grid)
    if total * len(domains) > MAX_GRID_CELLS:
        help = f"give 1/{MAX_GRID_CELLS // len(domains)} or a coarser one"
        raise LawdslError(Diagnostic("M0104", f"1/{total} is too fine a grid", help=help))
    sorted_domains = sort_by_cap(domains)
    caps = [int(domain.cap * total) for domain in sorted_domains]
    cumulative = _cumulative_counts(caps, total)
    candidates = cumulative[0][-1] - cumulative[0][-2]
    if candidates < count:
        help = f"choose a finer one, --grid 1/{4 * total}, ask for fewer, or raise the caps"
        raise too_few_mixtures(candidates, count, total, help)
    units: dict[tuple[int, ...], None] = {}
    for point in _sobol_points(len(domains) - 1, seed):
        units[_mixture_of_point(point, cumulative, caps, total)] = None
        if len(units) == count:
            break
    return Mixtures(
        tuple(domains),
        shares_in_order(domains, sorted_domains, list(units), total),
        candidates,
        (provenance("spread (Sobol's sequence)", count, total, seed),),
        tuple(unreachable_domains(sorted_domains, total)),
    )


def _cumulative_counts(caps: Sequence[int], total: int) -> list[list[int]]:
    """For each domain and n: the number of mixtures of it and the domains after it that use fewer
    than n units, n up to the whole plus one."""
    last = caps[-1]
    below = [[min(n, last + 1) for n in range(total + 2)]]
    for cap in reversed(caps[:-1]):
        after = below[-1]
        counts = (after[n + 1] - after[max(n - cap, 0)] for n in range(total + 1))
        below.append(list(itertools.accumulate(counts, initial=0)))
    return below[::-1]


def _sobol_points(dimensions: int, seed: int) -> Iterator[list[int]]:
    """The points of a scrambled Sobol's sequence, in units of 1/2^BITS."""
    from scipy.stats.qmc import Sobol

    sequence = Sobol(dimensions, scramble=True, rng=seed)
    # Sobol points are balanced in powers of two only
    for doubling in itertools.count(6):
        for point in sequence.random_base2(doubling if doubling == 6 else doubling - 1):
            # whole numbers, since ranks of mixtures may have more digits than a double
            yield [int(x * (1 << DOUBLE_BITS)) for x in point.tolist()]


def _mixture_of_point(
    point: Sequence[int], below: Sequence[Sequence[int]], caps: Sequence[int], total: int
) -> tuple[int, ...]:
    """The mixture of a point, in units: each share the quantile of its distribution."""
    remainder, units = total, []
    for coordinate, cap, after in zip(point, caps, below[1:], strict=False):
        count = after[remainder + 1] - after[max(remainder - cap, 0)]
        # ordered by this share, the smallest first
        rank = coordinate * count >> DOUBLE_BITS
        new_remainder = bisect_left(after, after[remainder + 1] - rank) - 1
        units.append(remainder - new_remainder)
        remainder = new_remainder
    return (*units, remainder)
