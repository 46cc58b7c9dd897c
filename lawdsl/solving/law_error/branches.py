"""Constraints with max, min or abs of fitted laws -> constraints on their branches.

If the margin decreases in max(a, b), it is nonnegative if and only if it is nonnegative with both a
and b substituted: max(a, b) <= c means a <= c and b <= c. If it increases, one of them is
sufficient. The same applies to min(a, b) = -max(-a, -b) and |a| = max(a, -a). The probability that
several events all occur is bounded below by Bonferroni's inequality, 1 minus the sum of the
probabilities that each does not; the probability of at least one event is bounded below by that of
the most probable one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import sympy as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAX_BRANCHES = 64  # of one constraint: with more branches its kinks are not split


@dataclass(frozen=True)
class Branches:
    """A constraint that follows from others, of which `all` or `any` must hold."""

    need: Literal["all", "any"]
    parts: tuple[Branches | int, ...]


Node = Branches | int
"""A constraint: the index of a margin that must be nonnegative, or a combination of constraints."""


def split(
    margin: sp.Expr,
    laws: Collection[sp.Symbol],
    positive: Collection[sp.Symbol],
    margins: list[sp.Expr],
) -> Node:
    """Split a constraint, margin >= 0, at the kinks of fitted laws on which its margin depends
    affinely with a factor of known sign. Other kinks remain in its margins.

    Args:
        margin: the margin, in the symbols of the laws' values and all others.
        laws: the symbols of the laws' values.
        positive: the positive ones of these.
        margins: the margins to which the new margins are appended.

    Returns:
        The constraint; its numbers are positions in `margins`.
    """
    # SymPy determines the sign of a factor from the assumptions on its symbols
    signed = {symbol: sp.Dummy(symbol.name, positive=True) for symbol in positive}
    original = {dummy: symbol for symbol, dummy in signed.items()}
    found: list[sp.Expr] = []
    node = _split(margin.xreplace(signed), {signed.get(s, s) for s in laws}, found)
    if len(found) > MAX_BRANCHES:
        node, found = 0, [margin.xreplace(signed)]
    first = len(margins)
    margins += [m.xreplace(original) for m in found]
    return _numbered(node, first)


def _split(margin: sp.Expr, laws: set[sp.Symbol], margins: list[sp.Expr]) -> Node:
    found = _kink(margin, laws) if len(margins) <= MAX_BRANCHES else None
    if found is None:
        margins.append(margin)
        return len(margins) - 1
    kink, need = found
    branches = (kink.args[0], -kink.args[0]) if isinstance(kink, sp.Abs) else kink.args
    return Branches(
        need, tuple(_split(margin.xreplace({kink: each}), laws, margins) for each in branches)
    )


def _kink(margin: sp.Expr, laws: set[sp.Symbol]) -> tuple[sp.Expr, Literal["all", "any"]] | None:
    """An outermost max, min or abs of laws at which the margin can be split, and which of its
    branches are required.
    """
    kinks = [k for k in margin.atoms(sp.Max, sp.Min, sp.Abs) if k.free_symbols & laws]
    for kink in sorted(kinks, key=str):
        if any(kink != other and other.has(kink) for other in kinks):
            continue
        value = sp.Dummy(real=True)
        slope = sp.diff(margin.xreplace({kink: value}), value)
        # if the slope depends on the kink, as for 1/max(a, b), a pole may lie between two branches
        if value in slope.free_symbols:
            continue
        rising = not isinstance(kink, sp.Min)
        if slope.is_nonpositive:
            return kink, "all" if rising else "any"
        if slope.is_nonnegative:
            return kink, "any" if rising else "all"
    return None


def _numbered(node: Node, first: int) -> Node:
    if isinstance(node, int):
        return node + first
    return Branches(node.need, tuple(_numbered(part, first) for part in node.parts))


def probability(node: Node, each: Array) -> Array:
    """A lower bound on the probability that a constraint holds, shape (points,).

    Args:
        node: the constraint.
        each: the probabilities of all margins, shape (margins, points).
    """
    if isinstance(node, int):
        return np.asarray(each[node])
    parts = np.array([probability(part, each) for part in node.parts])
    if node.need == "any":
        return np.asarray(np.max(parts, axis=0))
    return np.maximum(0.0, 1.0 - np.sum(1.0 - parts, axis=0))


def numbers(node: Node) -> Iterator[int]:
    """The margins on which a constraint depends."""
    if isinstance(node, int):
        yield node
    else:
        for part in node.parts:
            yield from numbers(part)


def combined_margin(node: Node, margins: Array) -> Array:
    """The margin of a constraint, shape (points,), of all margins, shape (margins, points)."""
    if isinstance(node, int):
        return np.asarray(margins[node])
    parts = np.array([combined_margin(part, margins) for part in node.parts])
    return np.asarray(np.min(parts, axis=0) if node.need == "all" else np.max(parts, axis=0))


def conjuncts(nodes: Sequence[Node]) -> Iterator[Node]:
    """The constraints that must all hold; none of them is itself a conjunction."""
    for node in nodes:
        if isinstance(node, Branches) and node.need == "all":
            yield from conjuncts(node.parts)
        else:
            yield node
