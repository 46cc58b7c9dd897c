"""`bag:30` -> the kind of an ensemble and its number of members; loads no array library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction

FEWEST_MEMBERS, MOST_MEMBERS = 2, 1000

KINDS = {
    "bag": "drawn with replacement, as many as there are (bagging)",
    "subbag": "four fifths of them, drawn without replacement (subbagging)",
    "starts": "all of them, each member from one random start",
    "boost": "drawn with replacement, those with large errors more often (AdaBoost.R2)",
}
"""Kind of an ensemble -> the rows to which each member is fitted.

Breiman (1996), Machine Learning 24 (bagging); Bühlmann and Yu (2002), Annals of Statistics 30
(subbagging); Drucker (1997), ICML (AdaBoost.R2), as in scikit-learn's `AdaBoostRegressor`.
"""


@dataclass(frozen=True)
class EnsembleKind:
    """What is asked for.

    Attributes:
        name: a key of `KINDS`.
        members: the number of members.
    """

    name: str
    members: int


def parse_ensemble(text: Any) -> EnsembleKind:
    """Read `bag:30`.

    Args:
        text: the kind and the number of members.

    Raises:
        LawdslError: another text; F0170.
    """
    name, _, members = str(text).strip().partition(":")
    if name not in KINDS:
        message = f"unknown kind of ensemble `{name}`"
        raise _error(message, f"the kinds are {disjunction(KINDS)}, with a number: bag:30")
    if not members:
        raise _error(f"`{name}` lacks the number of members", f"write {name}:30")
    is_number = members.isascii() and members.isdigit() and len(members) < 9
    if not (is_number and FEWEST_MEMBERS <= int(members) <= MOST_MEMBERS):
        message = f"an ensemble has {FEWEST_MEMBERS} to {MOST_MEMBERS:,} members, not `{members}`"
        raise _error(message, f"write {name}:30")
    return EnsembleKind(name, int(members))


def _error(message: str, help: str) -> LawdslError:
    return LawdslError(Diagnostic("F0170", message, place="--ensemble", help=help))
