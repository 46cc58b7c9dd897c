"""Where the exceptions to a claim are: what they have in common, and the variable that parts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from lawdsl.observing.moves import Array, Codes, Mask, Moves
from lawdsl.observing.records import Range, Split

GAIN = 3.0  # in log-likelihood: a smaller one is no answer to where
ROWS = 10  # of the table of a split; a variable of more values is parted in two


@dataclass(frozen=True)
class Seen:
    """Differences of one kind, and which of them are exceptions, shape (n,).

    `through` is the number of the variable that is followed from end to end; -1 for none.
    """

    moves: Moves
    against: Mask
    through: int = -1


def ranges(
    moves: Moves, chosen: Mask, names: Sequence[str], levels: Sequence[Array]
) -> tuple[Range, ...]:
    """What the chosen differences have in common that not all have, the most telling first."""
    found = []
    for i, (name, values) in enumerate(zip(names, levels, strict=True)):
        low, high = moves.low[i], moves.high[i]
        least, most = int(np.min(low[chosen])), int(np.max(high[chosen]))
        own = np.unique(np.concatenate([low, high]))
        below, above = own[own < least], own[own > most]
        if not len(below) and not len(above):
            continue
        inside = (low >= least) & (high <= most)
        followed = bool((low != high).any())  # then the next one begins where the last one ends
        next_below, next_above = (
            (least, most) if followed else (max(below, default=0), min(above, default=0))
        )
        found.append(
            Range(
                name,
                low=float(values[least]),
                high=float(values[most]),
                below=float(values[next_below]) if len(below) else None,
                above=float(values[next_above]) if len(above) else None,
                gain=_gain(int(np.sum(chosen)), int(np.sum(inside)), len(chosen)),
            )
        )
    return tuple(sorted(found, key=lambda r: -r.gain))


def place(moves: Moves, at: int, names: Sequence[str], levels: Sequence[Array]) -> str:
    """Where one difference lies: `N = 1, r = 0.1 to 0.2`."""
    parts = []
    for i, (name, values) in enumerate(zip(names, levels, strict=True)):
        low, high = (f"{values[ends[i][at]]:.6g}" for ends in (moves.low, moves.high))
        parts.append(f"{name} = {low}" + (f" to {high}" if high != low else ""))
    return ", ".join(parts)


def _gain(wrong: int, inside: int, total: int) -> float:
    """What it tells that all exceptions lie inside."""
    either = [(wrong, inside), (0, total - inside)]
    return float(sum(_likelihood(*pair) for pair in either) - _likelihood(wrong, total))


def split(seen: Sequence[Seen], names: Sequence[str], levels: Sequence[Array]) -> Split | None:
    """The variable, and the value of it, that tell most about which differences are exceptions.

    Parted in two at that value, each part with its own share of exceptions, the differences of one
    kind gain most in log-likelihood; what gains less than 3 is no answer.
    """
    best = (GAIN, -1, 0)
    for own in seen:
        for i in range(len(names)):
            gain, at = _best_cut(own.moves.low[i], own.against)
            if gain > best[0] and i != own.through:
                best = (gain, i, at)
    gain, i, cut = best
    if i < 0:
        return None
    return Split(names[i], gain, dict(_parts(seen, i, levels[i], cut)))


def _best_cut(code: Codes, against: Mask) -> tuple[float, int]:
    """The largest gain of parting at a value, and the number of the last value below."""
    if not len(code):
        return 0.0, 0
    number, failed = np.bincount(code), np.bincount(code, weights=against)
    below, failed_below = np.cumsum(number)[:-1], np.cumsum(failed)[:-1]
    total, wrong = len(code), float(np.sum(against))
    parted = _likelihood(failed_below, below) + _likelihood(wrong - failed_below, total - below)
    gain = parted - _likelihood(wrong, total)
    at = int(np.argmax(gain)) if len(gain) else 0
    return (float(gain[at]), at) if len(gain) else (0.0, 0)


def _likelihood(failed: ArrayLike, number: ArrayLike) -> NDArray[np.float64]:
    """The best log-likelihood of so many exceptions among so many."""
    failed, number = np.asarray(failed), np.asarray(number)
    share = failed / np.maximum(number, 1)
    return xlogy(failed, share) + xlogy(number - failed, 1 - share)


def _parts(
    seen: Sequence[Seen], i: int, values: Array, cut: int
) -> Iterator[tuple[str, tuple[tuple[int, int] | None, ...]]]:
    """A row for each value of a variable, or for those below and above the cut."""
    codes = np.unique(np.concatenate([own.moves.low[i] for own in seen if own.through != i]))
    if len(codes) > ROWS:
        below, above = codes[codes <= cut], codes[codes > cut]
        sets = [(f"to {values[below[-1]]:.6g}", below), (f"from {values[above[0]]:.6g}", above)]
    else:
        sets = [(_label(seen, i, values, code), np.array([code])) for code in codes]
    for label, which in sets:
        yield label, tuple(_count(own, i, which) for own in seen)


def _label(seen: Sequence[Seen], i: int, values: Array, code: int) -> str:
    """`0.1`, or `0.1 to 0.2` where the differences lead from one value to the other."""
    own = [o.moves for o in seen if o.through != i]
    ends = np.unique(np.concatenate([moves.high[i][moves.low[i] == code] for moves in own]))
    if len(ends) == 1 and ends[0] == code:
        return f"{values[code]:.6g}"
    return (
        f"{values[code]:.6g} to {values[ends[0]]:.6g}"
        if len(ends) == 1
        else f"from {values[code]:.6g}"
    )


def _count(own: Seen, i: int, which: Codes) -> tuple[int, int] | None:
    """Exceptions, and differences, at some values; None where they follow the variable itself."""
    if i == own.through:
        return None
    inside = np.isin(own.moves.low[i], which)
    return int(np.sum(own.against & inside)), int(np.sum(inside))
