"""Domains -> mixtures whose shares are halved repeatedly, as for the Data Mixing Laws.

The shares of a domain are cap, cap/2, cap/4, … on the grid, and 0: Ye et al. (2024),
arXiv:2403.16952, Algorithm 2. As printed, the algorithm never yields a share of 0, although it
draws a quarter of the mixtures from those with one, and it draws 41 mixtures if 40 are requested.
Here, as in the paper's released code, a share below the grid is 0, and N mixtures are drawn if N
are requested.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

HALVING_GRID = "1/16"  # grid of the search in the paper
MAX_GRID_STEPS = 4096  # steps of a grid
MAX_REMAINDERS = 500_000  # greatest number in memory while mixtures are counted
HALVING_SOURCE = "Ye et al. 2024, arXiv:2403.16952, Algorithm 2"

Counts = dict[int, tuple[int, int]]
"""Units that remain for the further domains -> the number of ways in which these can share them:
with a share of 0, and without.
"""


def halving(
    domains: Sequence[Domain],
    count: int = 40,
    *,
    grid: str | Fraction = HALVING_GRID,
    seed: int = 0,
) -> Mixtures:
    """Draw mixtures of halved shares: in a quarter of them some domain has no share, in the others
    all have one.

    A domain has its largest share on the grid, a half of that, a quarter, …, or 0. The domain with
    the smallest cap gets the remainder, if that is within its cap. Mixtures are drawn from these
    candidates with equal probability; candidates are counted, not listed, so their number may
    exceed memory.

    Args:
        domains: at least two domains.
        count: the number of distinct mixtures.
        grid: the smallest positive share, 1 divided by a whole number.
        seed: the seed of the draws.

    Returns:
        The mixtures, with exact shares.

    Raises:
        LawdslError: a grid, count or seed that cannot be used; M0103, M0104, F0106.
    """
    check_count(count)
    check_seed(seed)
    number = grid_steps(grid)
    if number > MAX_GRID_STEPS:
        help = f"give 1/{MAX_GRID_STEPS} or a coarser one; what is halved soon falls below any"
        raise LawdslError(Diagnostic("M0104", f"1/{number} is too fine a grid", help=help))
    sorted_domains = sort_by_cap(domains)
    tree = _count_tree(sorted_domains, number)
    lacking, full = tree.counts[0].get(tree.total, (0, 0))
    if lacking + full < count:
        raise too_few_mixtures(
            lacking + full, count, number, _finer_grid_help(sorted_domains, count, number)
        )
    lacking_count = min(max(count // 4, count - full), lacking)
    draws = random.Random(seed)
    units = [
        *(
            _mixture_of_rank(tree, rank, True)
            for rank in _sample_ranks(draws, lacking, lacking_count)
        ),
        *(
            _mixture_of_rank(tree, rank, False)
            for rank in _sample_ranks(draws, full, count - lacking_count)
        ),
    ]
    draws.shuffle(units)
    provenance_lines = (
        provenance(f"halving ({HALVING_SOURCE})", count, number, seed),
        f"{lacking_count} of the {lacking:,} that lack a domain, {count - lacking_count} of the {full:,} that have all",
    )
    warnings = tuple(unreachable_domains(sorted_domains[:-1], number)) or tuple(
        _warn_uneven(count, lacking_count, lacking, full)
    )
    shares = shares_in_order(domains, sorted_domains, units, tree.total)
    return Mixtures(tuple(domains), shares, lacking + full, provenance_lines, warnings)


@dataclass(frozen=True)
class _CountedTree:
    """The recursion over domains, with the number of mixtures in each branch.

    Attributes:
        total: the number of units in a share of 1; every share is a whole number of units.
        values: for each domain but the last, its possible shares in units.
        counts: for each domain, the number of ways in which it and the domains after it can share a
            remainder.
    """

    total: int
    values: tuple[tuple[int, ...], ...]
    counts: tuple[Counts, ...]


def _count_tree(sorted_domains: Sequence[Domain], grid: int) -> _CountedTree:
    largest = [int(domain.cap * grid) for domain in sorted_domains[:-1]]  # Γ/δ in the paper
    # number of halvings of the largest share
    finest = max(largest_steps.bit_length() for largest_steps in largest)
    # units per step of the grid, such that every half is a whole number
    total, unit = grid << finest, 1 << finest
    values = tuple(tuple(_halvings(largest_steps, unit)) for largest_steps in largest)
    last = int(sorted_domains[-1].cap * total)
    remainders = _remainders(values, last, total)
    counts: list[Counts] = [
        {remainder: (0, 1) if remainder else (1, 0) for remainder in remainders[-1]}
    ]
    for domain_values, domain_remainders in zip(
        reversed(values), reversed(remainders[:-1]), strict=True
    ):
        counts.append(
            {
                remainder: _count_shares(domain_values, remainder, counts[-1])
                for remainder in domain_remainders
            }
        )
    return _CountedTree(total, values, tuple(reversed(counts)))


def _halvings(most: int, unit: int) -> Iterator[int]:
    """A largest share of `most` grid steps, halved repeatedly down to 0, in units."""
    for halvings in range(most.bit_length()):
        yield most * unit >> halvings
    yield 0


def _remainders(values: Sequence[Sequence[int]], last: int, total: int) -> list[set[int]]:
    """The possible remainders before each domain that the domains after it can use up exactly."""
    capacities = [last]
    for values_of_domain in reversed(values):
        capacities.append(capacities[-1] + values_of_domain[0])
    capacities.reverse()
    remainders = [{total} if total <= capacities[0] else set()]
    for values_of_domain, after in zip(values, capacities[1:], strict=True):
        remainders.append(
            {
                remainder - v
                for remainder in remainders[-1]
                for v in values_of_domain
                if 0 <= remainder - v <= after
            }
        )
        if sum(map(len, remainders)) > MAX_REMAINDERS:
            message = "for so many domains the grid is too fine: the mixtures cannot be counted"
            help = "choose a coarser --grid, or `lawdsl mixtures spread`"
            raise LawdslError(Diagnostic("M0104", message, help=help))
    return remainders


def _count_shares(domain_values: Sequence[int], remainder: int, after: Counts) -> tuple[int, int]:
    """The number of ways in which a remainder can be shared, from the counts of the next domain."""
    lacking = full = 0
    for value in domain_values:
        with_zero, without_zero = after.get(remainder - value, (0, 0))
        lacking += with_zero if value else with_zero + without_zero
        full += without_zero if value else 0
    return lacking, full


def _sample_ranks(draws: random.Random, among: int, count: int) -> list[int]:
    """Sample distinct numbers below a bound that may exceed the length of any list."""
    # `random.sample` needs the length of a range, which is limited
    if among <= sys.maxsize:
        return draws.sample(range(among), count)
    distinct: dict[int, None] = {}
    while len(distinct) < count:
        distinct[draws.randrange(among)] = None
    return list(distinct)


def _mixture_of_rank(tree: _CountedTree, rank: int, lacking: bool) -> list[int]:
    """The units of the mixture with a given rank among those that lack a domain, or among those
    that do not.
    """
    remainder, has_zero, units = tree.total, False, []
    for domain_values, after in zip(tree.values, tree.counts[1:], strict=True):
        for value in domain_values:
            with_zero, without_zero = after.get(remainder - value, (0, 0))
            count = without_zero if value and not lacking else 0
            if lacking:
                count = with_zero + without_zero if has_zero or not value else with_zero
            if rank < count:
                break
            rank -= count
        units.append(value)
        remainder -= value
        has_zero = has_zero or not value
    return [*units, remainder]


def _finer_grid_help(sorted_domains: Sequence[Domain], count: int, grid: int) -> str:
    """Help if a grid has fewer mixtures than requested: a finer grid need not have more."""
    while (grid := 2 * grid) <= MAX_GRID_STEPS:
        try:
            tree = _count_tree(sorted_domains, grid)
        except LawdslError:
            break
        if sum(tree.counts[0].get(tree.total, ())) >= count:
            return f"choose a finer one, --grid 1/{grid}, or ask for fewer"
    return "halves of these caps seldom sum to 1: `lawdsl mixtures spread` finds more"


def _warn_uneven(count: int, lacking_count: int, lacking: int, full: int) -> Iterator[Diagnostic]:
    """A warning if the share of mixtures that lack a domain is not a quarter."""
    if lacking_count != count // 4:
        reason = (
            f"{lacking:,} lack a domain" if lacking_count < count // 4 else f"{full:,} have all"
        )
        message = (
            f"{lacking_count} of {count} mixtures lack a domain, not {count // 4}: only {reason}"
        )
        help = "choose a finer --grid, or ask for fewer"
        yield Diagnostic("M0106", message, "warning", help=help)
