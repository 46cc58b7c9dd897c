"""Mixtures whose shares are halved again and again, as the Data Mixing Laws were measured on.

Ye et al. 2024, arXiv:2403.16952, Algorithm 2. As printed it never gives a share of 0, yet draws a
quarter of the mixtures from those that have one; and it draws 41 where 40 are asked for. Here, as
in the paper's released code, a share below the grid is 0, and N are N.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.designing.domains import Domain, by_cap, steps
from lawdsl.designing.result import Mixtures, check_count, chosen_by, in_order, never, too_few
from lawdsl.fitting.options import check_seed

GRID = "1/16"  # of the paper's search
FINEST = 4096  # steps of a grid
MOST_SUMS = 500_000  # that are kept while mixtures are counted
SOURCE = "Ye et al. 2024, arXiv:2403.16952, Algorithm 2"

Ways = dict[int, tuple[int, int]]
"""What is left for the further domains, in units -> how many ways there are to share it among
them: with a share of 0, and without."""


def halving(
    domains: Sequence[Domain], count: int = 40, *, grid: str | Fraction = GRID, seed: int = 0
) -> Mixtures:
    """Mixtures of shares that are halved: a quarter of them lacks some domain, the rest has all.

    A domain has its largest share on the grid, a half of that, a quarter, … and, below the grid,
    nothing. The one with the smallest cap has what is left, if that is within its cap. Of these
    candidates mixtures are drawn, each as likely as any other; they are counted, not listed, so
    there may be more than could be.

    Args:
        domains: two or more.
        count: how many; all differ.
        grid: the least share but 0, 1 divided by a whole number.
        seed: of the draws.

    Raises:
        LawdslError: a grid, count or seed that cannot be used; M0103, M0104, F0106.
    """
    check_count(count)
    check_seed(seed)
    number = steps(grid)
    if number > FINEST:
        help = f"give 1/{FINEST} or a coarser one; what is halved soon falls below any"
        raise LawdslError(Diagnostic("M0104", f"1/{number} is too fine a grid", help=help))
    worked = by_cap(domains)
    tree = _tree(worked, number)
    lacking, full = tree.ways[0].get(tree.whole, (0, 0))
    if lacking + full < count:
        raise too_few(lacking + full, count, number, _finer(worked, count, number))
    few = min(max(count // 4, count - full), lacking)
    draws = random.Random(seed)
    units = [
        *(_mixture(tree, rank, True) for rank in _ranks(draws, lacking, few)),
        *(_mixture(tree, rank, False) for rank in _ranks(draws, full, count - few)),
    ]
    draws.shuffle(units)
    how = (
        chosen_by(f"halving ({SOURCE})", count, number, seed),
        f"{few} of the {lacking:,} that lack a domain, {count - few} of the {full:,} that have all",
    )
    warnings = tuple(never(worked[:-1], number)) or tuple(_uneven(count, few, lacking, full))
    shares = in_order(domains, worked, units, tree.whole)
    return Mixtures(tuple(domains), shares, lacking + full, how, warnings)


@dataclass(frozen=True)
class _Tree:
    """The recursion over domains, counted.

    Attributes:
        whole: how many units are 1; a unit divides all shares.
        values: of each domain but the last, the units that it may have.
        ways: of each domain, in how many ways it and those behind it can share what is left.
    """

    whole: int
    values: tuple[tuple[int, ...], ...]
    ways: tuple[Ways, ...]


def _tree(worked: Sequence[Domain], grid: int) -> _Tree:
    most = [int(domain.cap * grid) for domain in worked[:-1]]  # Γ/δ
    finest = max(one.bit_length() for one in most)  # halvings of the largest share
    whole, unit = grid << finest, 1 << finest
    values = tuple(tuple(_halved(one, unit)) for one in most)
    last = int(worked[-1].cap * whole)
    lefts = _lefts(values, last, whole)
    ways: list[Ways] = [{left: (0, 1) if left else (1, 0) for left in lefts[-1]}]
    for own, here in zip(reversed(values), reversed(lefts[:-1]), strict=True):
        ways.append({left: _ways(own, left, ways[-1]) for left in here})
    return _Tree(whole, values, tuple(reversed(ways)))


def _halved(most: int, unit: int) -> Iterator[int]:
    """A largest share of so many steps of the grid, its half, …, 0, in units."""
    for halvings in range(most.bit_length()):
        yield most * unit >> halvings
    yield 0


def _lefts(values: Sequence[Sequence[int]], last: int, whole: int) -> list[set[int]]:
    """What may be left, before each domain, so that those behind it can take it all."""
    room = [last]
    for own in reversed(values):
        room.append(room[-1] + own[0])
    room.reverse()
    lefts = [{whole} if whole <= room[0] else set()]
    for own, after in zip(values, room[1:], strict=True):
        lefts.append({left - v for left in lefts[-1] for v in own if 0 <= left - v <= after})
        if sum(map(len, lefts)) > MOST_SUMS:
            message = "for so many domains the grid is too fine: the mixtures cannot be counted"
            help = "choose a coarser --grid, or `lawdsl mixtures spread`"
            raise LawdslError(Diagnostic("M0104", message, help=help))
    return lefts


def _ways(own: Sequence[int], left: int, after: Ways) -> tuple[int, int]:
    """How many ways there are to share what is left, given how many each rest has behind it."""
    lacking = full = 0
    for value in own:
        zero, none = after.get(left - value, (0, 0))
        lacking += zero if value else zero + none
        full += none if value else 0
    return lacking, full


def _ranks(draws: random.Random, among: int, count: int) -> list[int]:
    """Distinct numbers below one that may be larger than any list."""
    if among <= sys.maxsize:
        return draws.sample(range(among), count)
    found: dict[int, None] = {}
    while len(found) < count:
        found[draws.randrange(among)] = None
    return list(found)


def _mixture(tree: _Tree, rank: int, lacking: bool) -> list[int]:
    """The units of one mixture, by its number among those that lack a domain or that do not."""
    left, seen, units = tree.whole, False, []
    for own, after in zip(tree.values, tree.ways[1:], strict=True):
        for value in own:
            zero, none = after.get(left - value, (0, 0))
            here = none if value and not lacking else 0
            if lacking:
                here = zero + none if seen or not value else zero
            if rank < here:
                break
            rank -= here
        units.append(value)
        left -= value
        seen = seen or not value
    return [*units, left]


def _finer(worked: Sequence[Domain], count: int, grid: int) -> str:
    """What to do where a grid has fewer mixtures than asked for: a finer one need not have more."""
    while (grid := 2 * grid) <= FINEST:
        try:
            tree = _tree(worked, grid)
        except LawdslError:
            break
        if sum(tree.ways[0].get(tree.whole, ())) >= count:
            return f"choose a finer one, --grid 1/{grid}, or ask for fewer"
    return "halves of these caps seldom sum to 1: `lawdsl mixtures spread` finds more"


def _uneven(count: int, few: int, lacking: int, full: int) -> Iterator[Diagnostic]:
    """Another part than a quarter lacks a domain."""
    if few != count // 4:
        short = f"{lacking:,} lack a domain" if few < count // 4 else f"{full:,} have all"
        message = f"{few} of {count} mixtures lack a domain, not {count // 4}: only {short}"
        help = "choose a finer --grid, or ask for fewer"
        yield Diagnostic("M0106", message, "warning", help=help)
