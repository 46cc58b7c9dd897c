"""Table of runs -> a recommended law whose parameters are identifiable from its grid."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .collect import RunsTable

JOINT = {"N": 3, "D": 3, "r": 5}
"""Minimum number of values of each variable for dcpt.l3. A power of N or D requires three; the
terms in r have four parameters, and one value is added.
"""
SHARES_ALONE = 5  # minimum number of shares: mixing.two_domain has three parameters
SIZES_ALONE = 5  # minimum number of sizes: mixing.size has three parameters
STEPS_ALONE = 5  # minimum number of steps: mixing.step has three parameters

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Advice:
    """The recommended next command for a table.

    Attributes:
        command: the command that fits a law to it; empty if no shipped law can be fitted.
        why: why not the joint law of size, tokens and share; empty for that law.
    """

    command: str
    why: str = ""


def advise(table: RunsTable, path: Path, domain: str) -> Advice | None:
    """Recommend how to continue with a table in a file.

    Args:
        table: the table.
        path: the path of its file, for the command.
        domain: the domain whose loss is fitted, as a law of its share; in a table of several
            domains, only its rows are used.

    Returns:
        The advice; None if the table has no loss of the domain.
    """
    loss, share = f"L_{domain}", f"r_{domain}"
    rows = [row for row in _rows(table) if row.get(loss) is not None]
    domains = {row["domain"] for row in rows if row.get("domain") is not None}
    condition: dict[str, Any] = {}
    if len(domains) > 1:
        # other rows are of other mixtures, in which this domain has no share
        rows = [row for row in rows if row["domain"] == domain]
        condition = {"domain": domain}
    if not rows or any(row.get(share) is None for row in rows):
        return None
    phases = {row.get("phase") for row in rows if row["step"]}
    if phases <= {"stable"} or phases <= {"end"} or phases <= {None}:
        return _advise(rows, path, loss, share, condition)
    # equal D do not mean equal training: R0804
    advices = [
        _advise(
            [row for row in rows if row["phase"] == phase],
            path,
            loss,
            share,
            condition | {"phase": phase},
        )
        for phase in ("end", "stable")
        if phase in phases
    ]
    return next((advice for advice in advices if advice.command), next(iter(advices), None))


def _advise(
    rows: Sequence[Row], path: Path, loss: str, share: str, condition: dict[str, Any]
) -> Advice:
    """Recommend how to continue with rows of one phase and domain.

    Args:
        rows: at least one.
        path: the path of the file.
        loss, share: the columns of the domain.
        condition: column -> value that selects these rows; empty if these are all rows.
    """
    columns = {"N": "N", "D": "D", "r": share}
    level_counts = {name: len({row[column] for row in rows}) for name, column in columns.items()}
    fit = f"L={loss}"
    sizes = {row["N"] for row in rows}
    # several models of equal size, such as those of different base corpora, have no common law of N
    several = len({(row.get("model"), row["N"]) for row in rows}) > len(sizes)
    size = ("model",) if several else ("N",)
    if not several and all(level_counts[name] >= least for name, least in JOINT.items()):
        return Advice(_command("dcpt.l3", path, fit, f"r={share}", where=condition))
    why = "dcpt.l3 takes one model of each size; these runs have several of one"
    if not several:
        why = (
            f"dcpt.l3 takes {JOINT['N']} sizes, {JOINT['D']} numbers of tokens and {JOINT['r']} shares"
            f" at least; these runs have {level_counts['N']}, {level_counts['D']} and"
            f" {level_counts['r']}"
        )
    if condition:
        why += f" where {' and '.join(f'{name} = {value}' for name, value in condition.items())}"
    cell, shares = _most(rows, (*size, "D"), share)
    if shares >= SHARES_ALONE:
        return Advice(
            _command("mixing.two_domain", path, fit, f"r={share}", where=condition | cell), why
        )
    cell, count = _most(rows, ("D", share), "N")
    if count >= SIZES_ALONE and not several:
        return Advice(_command("mixing.size", path, fit, where=condition | cell), why)
    cell, steps = _most(
        [row for row in rows if row["step"]], (*size, share, "seed"), "step", last=False
    )
    if steps >= STEPS_ALONE:
        return Advice(_command("mixing.step", path, fit, "S=step", where=condition | cell), why)
    return Advice("", why)


def _rows(table: RunsTable) -> Iterable[Row]:
    """The rows of runs that are done, by columns without their units."""
    names = [header.partition(" ")[0] for header in table.columns]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*table.columns.values(), strict=True))
    return [row for row in rows if row.get("status") == "done"]


def _most(
    rows: Sequence[Row], fixed: Sequence[str], varying: str, *, last: bool = True
) -> tuple[dict[str, Any], int]:
    """The values of fixed columns at which the most values of another column are measured, and
    their number.

    Args:
        last: of several such points, choose that with the largest values, else the smallest.
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
        # repr, because a condition must equal the stored number exactly
        words += ["--where", f"{name} = {value if isinstance(value, str) else repr(value)}"]
    return shlex.join(words)
