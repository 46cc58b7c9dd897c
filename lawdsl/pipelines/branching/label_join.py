"""Labels of the groups of several steps -> the combinations that agree in all common columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Labels = Mapping[str, str]


@dataclass(frozen=True)
class JoinedLabels:
    """A combination of one group of each step.

    Attributes:
        labels: the labels of all of them, column -> value.
        positions: the position of each group among those of its step.
    """

    labels: Labels
    positions: tuple[int, ...]


def join_labels(steps: Sequence[Sequence[Labels]]) -> list[JoinedLabels]:
    """All combinations whose labels agree in every column that they share (a natural join).

    Steps without a common column are combined in every way. The order is that of the steps.

    Args:
        steps: the labels of the groups of each step.
    """
    joined = [JoinedLabels({}, ())]
    for groups in steps:
        joined = [
            JoinedLabels({**one.labels, **labels}, (*one.positions, position))
            for one in joined
            for position, labels in enumerate(groups)
            if agree(one.labels, labels)
        ]
    return joined


def agree(labels: Labels, others: Labels) -> bool:
    """Whether two groups have the same value in every column that both have."""
    return all(others.get(name, text) == text for name, text in labels.items())


def ambiguous(joined: Sequence[JoinedLabels]) -> Labels | None:
    """Labels that several groups of one step and several of another have; None for none.

    Nothing says which of these belong together.
    """
    alike: dict[tuple[tuple[str, str], ...], list[tuple[int, ...]]] = {}
    for one in joined:
        alike.setdefault(tuple(sorted(one.labels.items())), []).append(one.positions)
    for labels, positions in alike.items():
        if sum(len(set(of_step)) > 1 for of_step in zip(*positions, strict=True)) > 1:
            return dict(labels)
    return None
