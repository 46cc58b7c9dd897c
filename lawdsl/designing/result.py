"""The result of a design: mixtures with exact shares, and how they were chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lawdsl import __version__
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.formats.csv import csv_text
from lawdsl.designing.domains import Domain, fraction_text
from lawdsl.fitting.options import is_whole

SHARE_PREFIX = "r_"  # prefix of the columns of shares, as in tables of runs
MIXTURE_COLUMN = "mixture"
MAX_MIXTURES = 100_000  # greatest number of mixtures


@dataclass(frozen=True)
class Mixtures:
    """Chosen mixtures.

    Attributes:
        domains: the domains in the order they were given.
        shares: the shares of the domains in each mixture, which sum to 1 exactly, shape (mixtures,
            domains).
        candidates: the number of mixtures to choose from.
        how: the method of selection, as lines of text.
        warnings: deviations from the request.
    """

    domains: tuple[Domain, ...]
    shares: tuple[tuple[Fraction, ...], ...]
    candidates: int
    how: tuple[str, ...]
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of shares, one per domain."""
        return tuple(SHARE_PREFIX + domain.name for domain in self.domains)

    def to_csv(self) -> str:
        """A CSV table with one row per mixture: its number and its shares. Notes above describe how
        it was made. Shares without a short exact decimal are rounded to a double.
        """
        return csv_text(*self.to_rows())

    def to_rows(self) -> tuple[list[str], list[str], list[list[Any]]]:
        """The notes, the headers and the rows of the table of `to_csv`."""
        caps = ", ".join(f"{domain.name} {fraction_text(domain.cap)}" for domain in self.domains)
        rows = [
            [number, *(_share_text(share) for share in shares)]
            for number, shares in enumerate(self.shares, start=1)
        ]
        notes = (*self.how, f"largest shares: {caps}")
        return list(map(one_line, notes)), [MIXTURE_COLUMN, *self.columns], rows

    def to_json(self) -> dict[str, Any]:
        """The mixtures as plain data; the keys are stable."""
        return {
            "columns": [MIXTURE_COLUMN, *self.columns],
            "rows": [[i, *map(float, shares)] for i, shares in enumerate(self.shares, start=1)],
            "largest": {domain.name: float(domain.cap) for domain in self.domains},
            "candidates": self.candidates,
            "how": list(self.how),
        }


def provenance(what: str, count: int, grid: int, seed: int) -> str:
    """Describe in one line, for the notes of a table, how its mixtures were chosen.

    Args:
        what: the method.
        count: the number of mixtures.
        grid: the number of grid steps in 1.
        seed: the seed of the draws.

    Returns:
        The line.
    """
    return f"lawdsl {__version__}: {count} mixtures by {what}, grid 1/{grid}, seed {seed}"


def shares_in_order(
    domains: Sequence[Domain],
    sorted_domains: Sequence[Domain],
    units: Iterable[Sequence[int]],
    total: int,
) -> tuple[tuple[Fraction, ...], ...]:
    """Convert units into shares, in the order in which the domains were given.

    Args:
        domains: in that order.
        sorted_domains: the sorted domains in the order of the units.
        units: for each mixture the units of each domain.
        total: the number of units that make up 1.

    Returns:
        For each mixture its exact shares, shape (mixtures, domains).
    """
    positions = [sorted_domains.index(domain) for domain in domains]
    return tuple(
        tuple(Fraction(domain_units[i], total) for i in positions) for domain_units in units
    )


def check_count(count: object) -> None:
    """Raise an error for an invalid number of mixtures.

    Raises:
        LawdslError: it is not a whole number in the allowed range; M0103.
    """
    if not is_whole(count) or not 1 <= count <= MAX_MIXTURES:
        message = f"`{count}` is not a valid number of mixtures"
        help = f"give a whole number from 1 to {MAX_MIXTURES:,}"
        raise LawdslError(Diagnostic("M0103", message, help=help))


def too_few_mixtures(available: int, count: int, grid: int, help: str) -> LawdslError:
    """Create the error for more mixtures requested than available.

    Args:
        available: the number of mixtures on the grid.
        count: the number requested.
        grid: the number of grid steps in 1.
        help: what to do.

    Returns:
        The error, M0103.
    """
    count_text = f"there are {available:,} mixtures" if available != 1 else "there is 1 mixture"
    message = f"{count_text} on the grid 1/{grid}, fewer than {count:,}"
    return LawdslError(Diagnostic("M0103", message, help=help))


def unreachable_domains(domains: Iterable[Domain], grid: int) -> Iterator[Diagnostic]:
    """Yield a warning for each domain with a cap below one step of the grid.

    Args:
        domains: the domains.
        grid: the number of grid steps in 1.

    Returns:
        An iterator over diagnostics, M0105.
    """
    for domain in domains:
        if 0 < domain.cap * grid < 1:
            message = (
                f"{domain.name} may have {float(domain.cap):.4g} at most, less than the grid "
                f"1/{grid}: no mixture has any"
            )
            help = f"choose a finer one, --grid 1/{-(-1 // domain.cap)}"
            yield Diagnostic("M0105", message, "warning", help=help)


def one_line(note: str) -> str:
    """A note without line breaks, as required for a comment line of a table."""
    return " ".join(note.split())


def _share_text(share: Fraction) -> str:
    return repr(float(share))
