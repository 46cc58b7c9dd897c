"""Table of runs -> a law that can be fitted: one whose parameters its grid identifies."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .collect import RunsTable

JOINT = {"N": 3, "D": 3, "r": 5}
"""Values that dcpt.l3 needs of each variable: an exponent of one takes three, that of the share,
with what is added to it and the loss that is left, four; and one to spare."""
SHARES_ALONE = 5  # least number of shares: mixing.two_domain has three parameters
SIZES_ALONE = 5  # least number of sizes: mixing.size has three parameters
STEPS_ALONE = 5  # least number of steps: mixing.step has three parameters

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Advice:
    """The recommended next command for a table.

    Attributes:
        command: that fits a law to it; empty where no law that ships can be fitted.
        why: the reason against the law of size, tokens and share together; empty for that law.
    """

    command: str
    why: str = ""


def advise(table: RunsTable, path: Path, domain: str) -> Advice | None:
    """Recommend how to continue with a table in a file.

    Args:
        table: the table.
        path: of its file, for the command.
        domain: the domain whose loss is fitted, as a law of its share.

    Returns:
        The advice; None where the table has no loss of the domain.
    """
    loss, share = f"L_{domain}", f"r_{domain}"
    rows = [row for row in _rows(table) if row.get(loss) is not None]
    if not rows or any(row.get(share) is None for row in rows):
        return None
    phases = {row.get("phase") for row in rows if row["step"]}
    if phases <= {"stable"} or phases <= {"end"} or phases <= {None}:
        return _advise(rows, path, loss, share, {})
    # equal D do not mean equal training: R0804
    advices = [
        _advise([row for row in rows if row["phase"] == phase], path, loss, share, {"phase": phase})
        for phase in ("end", "stable")
        if phase in phases
    ]
    return next((advice for advice in advices if advice.command), next(iter(advices), None))


def _advise(
    rows: Sequence[Row], path: Path, loss: str, share: str, phase: dict[str, Any]
) -> Advice:
    """Recommend how to continue with rows of one phase.

    Args:
        rows: at least one.
        path: of the file.
        loss, share: the columns of the domain.
        phase: the condition that selects these rows; empty where they are all.
    """
    columns = {"N": "N", "D": "D", "r": share}
    level_counts = {name: len({row[column] for row in rows}) for name, column in columns.items()}
    fit = f"L={loss}"
    if all(level_counts[name] >= least for name, least in JOINT.items()):
        return Advice(_command("dcpt.l3", path, fit, f"r={share}", where=phase))
    why = (
        f"dcpt.l3 takes {JOINT['N']} sizes, {JOINT['D']} numbers of tokens and {JOINT['r']} shares"
        f" at least; these runs have {level_counts['N']}, {level_counts['D']} and {level_counts['r']}"
    )
    if phase:
        why += f" where phase = {phase['phase']}"
    cell, shares = _most(rows, ("N", "D"), share)
    if shares >= SHARES_ALONE:
        return Advice(
            _command("mixing.two_domain", path, fit, f"r={share}", where=phase | cell), why
        )
    cell, sizes = _most(rows, ("D", share), "N")
    if sizes >= SIZES_ALONE:
        return Advice(_command("mixing.size", path, fit, where=phase | cell), why)
    cell, steps = _most(
        [row for row in rows if row["step"]], ("N", share, "seed"), "step", last=False
    )
    if steps >= STEPS_ALONE:
        return Advice(_command("mixing.step", path, fit, "S=step", where=phase | cell), why)
    return Advice("", why)


def _rows(table: RunsTable) -> Iterable[Row]:
    """The rows of runs that are done, by columns without their units."""
    names = [header.partition(" ")[0] for header in table.columns]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*table.columns.values(), strict=True))
    return [row for row in rows if row.get("status") == "done"]


def _most(
    rows: Sequence[Row], fixed: Sequence[str], varying: str, *, last: bool = True
) -> tuple[dict[str, Any], int]:
    """The point at which most values of a column are measured, others fixed; and their number.

    Args:
        last: take the place with the largest values where there are several, else the smallest.
    """
    pairs = {(tuple(row[name] for name in fixed), row[varying]) for row in rows}
    counts = Counter(cell for cell, _ in pairs)
    if not counts:
        return {}, 0
    number = max(counts.values())
    cell = (max if last else min)(cell for cell, n in counts.items() if n == number)
    return dict(zip(fixed, cell, strict=True)), number


def _command(law: str, path: Path, *bound: str, where: Mapping[str, Any] | None = None) -> str:
    words = ["lawdsl", "fit", law, str(path), *bound]
    for name, value in (where or {}).items():
        # repr, since a condition must equal the stored number to its last digit
        words += ["--where", f"{name} = {value if isinstance(value, str) else repr(value)}"]
    return shlex.join(words)
