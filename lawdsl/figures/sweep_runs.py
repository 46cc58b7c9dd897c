"""Runs of a sweep, from its plan or from a table of runs -> the quantities that a figure draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.arrow_arrays import to_numpy
from lawdsl.data.table import Table
from lawdsl.figures import theme
from lawdsl.figures.run_table import numbers_of, read_runs, unit_size
from lawdsl.fitting.extrapolation.run_size import FLOP_PER_PARAMETER_AND_TOKEN

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

DONE, COMING, FAILED = STATE_NAMES = ("done", "to come", "failed")
STATES: Mapping[str, str] = {
    "done": DONE,
    "finished": DONE,
    "completed": DONE,
    "new": COMING,
    "begun": COMING,
    "unfinished": COMING,
    "diverged": FAILED,
    "oom": FAILED,
    "failed": FAILED,
    "crashed": FAILED,
    "killed": FAILED,
}
"""Status of a run -> the state that is drawn; runs of any other status are still to come."""
MAX_NAMED = 100  # sizes that are treated as models of their own


@dataclass(frozen=True, eq=False)
class SweepRuns:
    """Runs, one entry each.

    Attributes:
        name: the name of the sweep, or of the table.
        models: the names of the models; the last is empty, for runs that name no model.
        model: the index of each run's model, shape (runs,).
        state: the index of each run's state in STATE_NAMES, shape (runs,).
        N: parameters without embeddings, in `units["N"]`, shape (runs,).
        D: tokens of the whole run, in `units["D"]`; those of the last row, if the runs are from a
            table.
        finished: the completed share of each run's steps, shape (runs,).
        flop: the FLOP of the whole run; nan where N or D of a table has no unit.
        seconds: the estimated time until all runs are done (s); None where it is not known.
        shares: corpus -> its share in each run, shape (runs,).
        losses: validation set -> the loss of each run's last evaluation, nan where there is none.
        units: N, D and L -> their units as text; empty for none.
        domain: the corpus whose share is varied; empty where none is named.
        note: how many rows were left out; empty for none.
    """

    name: str
    models: tuple[str, ...]
    model: Codes
    state: Codes
    N: Array
    D: Array
    finished: Array
    flop: Array
    seconds: float | None
    shares: Mapping[str, Array]
    losses: Mapping[str, Array]
    units: Mapping[str, str]
    domain: str = ""
    note: str = ""

    def __len__(self) -> int:
        return len(self.model)

    def count(self, state: str) -> int:
        """The number of runs in a state."""
        return int(np.sum(self.are(state)))

    def are(self, state: str) -> NDArray[np.bool_]:
        """The mask of runs in a state, shape (runs,)."""
        of_state: NDArray[np.bool_] = self.state == STATE_NAMES.index(state)
        return of_state


def runs_of(
    source: Any, columns: Mapping[str, str] | None = None, *, drop_bad: bool = False
) -> SweepRuns:
    """The runs of a plan or of a table.

    Args:
        columns: N, D or L -> the column of the table that it is.
        drop_bad: whether rows of a table that are no runs are left out, instead of refused.
        source: the plan of a sweep, a table of runs as `lawdsl collect` makes it, or what is read
            as one: a path, a data frame, a mapping of arrays.

    Raises:
        LawdslError: a table without columns N and D, or without a row that has both (G0113), or one
            that cannot be read; columns of a plan (G0104).
    """
    if hasattr(source, "supplies"):  # a plan, whose class lies in a room below
        if columns or drop_bad:
            message = "the plan of a sweep has no columns and no bad rows"
            raise LawdslError(Diagnostic("G0104", message, help="leave the options out"))
        return _of_plan(source.to_json())
    if not isinstance(source, Table):
        source = getattr(source, "columns", source)
    table, note = read_runs(source, columns or {}, drop_bad=drop_bad)
    return replace(_of_table(table), note=note)


def _of_plan(plan: Mapping[str, Any]) -> SweepRuns:
    runs = plan["runs"]

    def column(value: Callable[[Mapping[str, Any]], Any]) -> Array:
        found = [value(run) for run in runs]
        return np.array([np.nan if x is None else x for x in found], dtype=np.float64)

    def by_name(key: str, absent: float) -> dict[str, Array]:
        names = dict.fromkeys(name for run in runs for name in run[key])
        return {n: column(lambda run, n=n: run[key].get(n, absent)) for n in names}  # type: ignore[misc]

    steps, done = column(lambda run: run["steps"]), column(lambda run: run["step"])
    state = _state_codes([run["status"] for run in runs])
    models = (*dict.fromkeys(run["model"] for run in runs), "")
    return SweepRuns(
        name=plan["name"],
        models=models,
        model=np.array([models.index(run["model"]) for run in runs], dtype=np.int64),
        state=state,
        N=column(lambda run: run["N"]),
        D=column(lambda run: run["D"]),
        finished=np.where(state == STATE_NAMES.index(DONE), 1.0, np.clip(done / steps, 0, 1)),
        flop=column(lambda run: run["flop"]),
        seconds=plan["seconds"],
        shares=by_name("shares", 0.0),
        losses=by_name("losses", np.nan),
        units={"N": "param", "D": "token", "L": "nat/token"},
        domain=next((run["domain"] for run in runs if run["domain"]), ""),
    )


def _of_table(table: Table) -> SweepRuns:
    """The last row of each run; each row counts as a run if no column names the runs.

    Raises:
        LawdslError: no row has both N and D (G0113).
    """
    tokens = table.numbers("D")
    if not np.any(np.isfinite(tokens) & np.isfinite(table.numbers("N"))):
        message = f"no row of {table.name} has both N and D"
        help = "give a table of runs with their model sizes and tokens as numbers"
        raise LawdslError(Diagnostic("G0113", message, help=help))
    last = _last_rows(table, tokens)
    rows = table.at(table.rows[last])
    names = [name for name in rows.columns if name.startswith("r_") and name != "r_domain"]
    losses = [name for name in rows.columns if name.startswith("L_") and name != "L_domain"]
    losses += ["L"] * ("L" in rows.columns)
    parameters, tokens = rows.numbers("N"), tokens[last]
    active = rows.numbers("N_active") if "N_active" in rows.columns else parameters
    done, state = STATE_NAMES.index(DONE), np.zeros(len(rows), dtype=np.int64)
    if "status" in rows.columns:
        names_of_states, codes = _texts(rows, "status")
        state = _state_codes(names_of_states)[codes]
    models, model = _models(rows, parameters)
    units = rows.units
    unit_of_active = units.get("N_active") or units.get("N", "")
    return SweepRuns(
        name=Path(table.name).name,
        models=models,
        model=model,
        state=state,
        N=parameters,
        D=tokens,
        finished=(state == done).astype(np.float64),
        flop=FLOP_PER_PARAMETER_AND_TOKEN
        * (active * unit_size(unit_of_active, "param"))
        * (tokens * unit_size(units.get("D", ""), "token")),
        seconds=None,
        shares={name.removeprefix("r_"): numbers_of(rows, name) for name in names},
        losses={name.removeprefix("L_"): numbers_of(rows, name) for name in losses},
        units={
            "N": units.get("N", ""),
            "D": units.get("D", ""),
            "L": units.get(losses[0], "") if losses else "",
        },
        domain=next(filter(None, _texts(rows, "domain")[0]), "")
        if "domain" in rows.columns
        else "",
    )


def _last_rows(table: Table, tokens: Array) -> NDArray[np.int64]:
    """The position of the row with the most tokens of each run, in the order of the table."""
    if "run" not in table.columns:
        return np.arange(len(table))
    _, codes = _texts(table, "run")
    order = np.lexsort((tokens, codes))
    ends = np.append(np.flatnonzero(np.diff(codes[order])), len(order) - 1)
    return np.sort(order[ends])


def _texts(table: Table, name: str) -> tuple[list[str], Codes]:
    """The distinct texts of a column, and the index of each row's text, shape (rows,)."""
    encoded = table.columns[name].combine_chunks().dictionary_encode()
    cells = [str(cell).strip() for cell in encoded.dictionary.to_pylist()]
    codes = np.nan_to_num(to_numpy(encoded.indices), nan=len(cells)).astype(np.int64)
    return [*cells, ""], codes


def _state_codes(status: Sequence[str]) -> Codes:
    """The state of each status; a row without a status is a finished measurement."""
    states = [STATES.get(text, COMING) if text else DONE for text in status]
    return np.array([STATE_NAMES.index(state) for state in states], dtype=np.int64)


def _models(rows: Table, sizes: Array) -> tuple[tuple[str, ...], Codes]:
    """The names of models, and the index of each row's model; sizes where no model is named."""
    if "model" in rows.columns:
        names, codes = _texts(rows, "model")
        return tuple(names), codes
    levels = levels_of(sizes, MAX_NAMED)
    return (*levels.labels, ""), levels.codes


@dataclass(frozen=True, eq=False)
class Levels:
    """The distinct values of a variable, ascending, or ranges if there are many.

    Attributes:
        labels: the label of each level, to three digits.
        codes: the index of each run's level, shape (runs,); -1 for none.
        are_ranges: whether they are ranges, labelled by their middles.
    """

    labels: tuple[str, ...]
    codes: NDArray[np.int64]
    are_ranges: bool


def levels_of(values: Array, most: int, *, linear: bool = False) -> Levels:
    """The distinct values of a variable; if there are more than `most`, ranges that are evenly
    spaced on their axis.

    Args:
        values: shape (runs,); nan for none.
        most: the largest number of levels.
        linear: whether ranges are evenly spaced on a linear axis even if the values span decades.
    """
    known = np.isfinite(values)
    distinct = np.unique(values[known])
    if len(distinct) <= most:
        labels = [theme.short(v) for v in distinct]
        unique = list(dict.fromkeys(labels))  # values that agree to three digits are one level
        places = np.array([unique.index(label) for label in labels] or [0], dtype=np.int64)
        codes = places[
            np.searchsorted(distinct, np.where(known, values, 0.0)).clip(0, len(places) - 1)
        ]
        return Levels(tuple(unique), np.where(known, codes, -1), are_ranges=False)
    low, high = float(distinct[0]), float(distinct[-1])
    logarithmic = not linear and theme.is_logarithmic(distinct)
    edges = theme.grid(low, high, 2 * most + 1, logarithmic=logarithmic)
    middles = [theme.short(v) for v in edges[1::2]]
    codes = np.searchsorted(edges[2:-1:2], np.where(known, values, low), side="right")
    return Levels(tuple(middles), np.where(known, codes, -1), are_ranges=True)


def counted(across: Levels, down: Levels, state: Codes) -> list[dict[str, Any]]:
    """Count the runs at each pair of levels that occurs.

    Args:
        across, down: the levels of both variables.
        state: the index of each run's state in STATE_NAMES, shape (runs,).

    Returns:
        For each pair the labels `across` and `down`, and the numbers of runs that are done, to come
        and failed.
    """
    known = (across.codes >= 0) & (down.codes >= 0)
    shape = len(across.labels), len(down.labels), len(STATE_NAMES)
    flat = np.ravel_multi_index((across.codes[known], down.codes[known], state[known]), shape)
    numbers = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
    return [
        {
            "across": across.labels[i],
            "down": down.labels[j],
            **{name: int(numbers[i, j, k]) for k, name in enumerate(STATE_NAMES)},
        }
        for i, j in np.argwhere(numbers.sum(axis=2) > 0).tolist()
    ]
