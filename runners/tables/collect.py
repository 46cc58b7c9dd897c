"""The folders of runs -> one table whose columns are the variables of the laws.

A row is an evaluation. The headers have units, so that laws in billions can be fitted as well:

    lawdsl fit dcpt.l3 runs.parquet L=L_code r=r_code

Only each run's own folder is read. k1, k2 and k3 follow D-CPT (Que et al. (2024),
arXiv:2406.01375), appendix H.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.formats import RUN_TABLE_SCHEMA

from ..run.schedules import phase
from .checkpoint_sampling import Sampling, kept_steps
from .run_set import GatheredRun, gather_runs

LOT = 0.2e9  # tokens: the unit of the CMR laws
FIRST = ("run", "label", "sweep", "domain", "model", "seed", "status", "N", "N_total", "D", "step")
FAMILIES = ("r_", "L_", "se_", "L0_", "dL_", "drawn_", "epochs_", "U_")
UNITS: Mapping[str, str] = {
    "N": "param",
    "N_total": "param",
    "N_active": "param",
    "D": "token",
    "step": "step",
    "L_": "nat/token",
    "se_": "nat/token",
    "L0_": "nat/token",
    "dL_": "nat/token",
    "U_": "token",
    "k1": "nat/token",
    "k2": "nat/token",
    "k3": "nat/token",
    "train_loss": "nat/token",
    "tokens_per_second": "token/second",
    "peak_memory": "byte",
    "seconds": "second",
}
"""Column, or prefix of a family of columns -> unit."""

Row = dict[str, Any]


@dataclass(frozen=True)
class RunsTable:
    """A table of runs.

    Attributes:
        columns: header with unit -> a value per row; None if unknown.
        notes: lines at the top of the table.
        runs: the number of runs.
        warnings: about the runs.
        sampled_from: the number of rows before sampling; None if there was none.
    """

    columns: Mapping[str, Sequence[Any]]
    notes: tuple[str, ...]
    runs: int
    warnings: tuple[Diagnostic, ...]
    sampled_from: int | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.columns["run"])


def collect(
    sources: Iterable[Path],
    *,
    step_0: bool = False,
    notes: Sequence[str] = (),
    sampling: Sampling | None = None,
) -> RunsTable:
    """Collect all runs in some folders, or of some sweeps, into a table.

    Columns: run (its identity), label, sweep, domain, model, seed, status; N without embeddings
    and N_total; D tokens trained on, T, which is D in lots of 0.2 billion, and step; for each
    corpus r_ its requested share, drawn_ its actual share until then, epochs_ the passes over
    it, U_ its tokens; for each validation set L_, its standard error se_, L0_ before training and
    dL_ = L_ - L0_; where the runs are of several domains, r_domain and L_domain of each's own; k1,
    k2 and k3 where a sweep names the run they are of; schedule, decay_steps and the phase of the
    schedule (stable, decay, end); learning_rate, S1, S2 and the rest.

    Args:
        sources: folders of runs, their parent folders, sweep.toml files.
        step_0: include the rows of step 0, where a law of D has no value; L0_ has their losses.
        notes: further lines at the top of the table: the origin of the data.
        sampling: the method by which evaluations are chosen; None keeps all. The setting D_min, k1, k2
            and k3 are those of all evaluations, so that tables of several methods have the same.

    Returns:
        The table.

    Raises:
        LawdslError: there is no run or no row (R0801), something cannot be read, runs are
            inconsistent (R0803), or their evaluations do not suffice for the sampling (R0806).
    """
    runs, warnings = gather_runs(sources)
    by_identity = {run.identity: run for run in runs}
    rows = [row for run in runs for row in _rows(run, _learnability(run, by_identity))]
    selected = [row for row in rows if _finite(row) and (step_0 or row["step"] > 0)]
    measured = [row["D"] for row in selected if row["D"] > 0]
    if not measured:
        help = "let the runs go on until something is measured after step 0"
        raise LawdslError(Diagnostic("R0801", "the runs have no rows yet", help=help))
    if diverged := sum(not _finite(row) for row in rows):
        message = f"{diverged} evaluations of a loss that is not finite are left out"
        help = "their runs are in the table until then; see the column status"
        warnings.append(Diagnostic("R0802", message, "warning", help=help))
    if len({row["domain"] for row in selected}) > 1:
        for row in selected:
            if row["domain"] is not None:  # the mixture need not have any of it
                row["r_domain"] = row.get(f"r_{row['domain']}", 0.0)
            row["L_domain"] = row.get(f"L_{row['domain']}")
    sampled_from: int | None = None
    sampled: tuple[str, ...] = ()
    if sampling is not None:
        sampled_from = len(selected)
        selected = _sampled(selected, runs, sampling)
        sampled = (f"sampled: {sampling}, {len(selected):,} of {sampled_from:,} evaluations",)
    all_notes = (
        f"lawdsl runs, schema {RUN_TABLE_SCHEMA}: {len(selected):,} evaluations of {len(runs):,} runs",
        *(line for note in notes for line in note.splitlines()),
        *sampled,
        f"setting D_min = {min(measured)} unit token",
    )
    # the share of a corpus that a run does not use is 0, not unknown
    shares = {name for row in selected for name in row if name.startswith(("r_", "drawn_"))}
    absent = dict.fromkeys(shares - {"r_domain"}, 0.0)
    columns = {}
    for name in _in_order(selected):
        values = [row.get(name, absent.get(name)) for row in selected]
        if any(value is not None for value in values):
            columns[header(name)] = values
    return RunsTable(columns, all_notes, len(runs), tuple(warnings), sampled_from)


def _sampled(rows: Sequence[Row], runs: Sequence[GatheredRun], sampling: Sampling) -> list[Row]:
    """The rows that a method keeps, of each run by itself."""
    measured: dict[str, set[int]] = {}
    for row in rows:
        measured.setdefault(row["run"], set()).add(row["step"])
    kept = {
        run.identity: kept_steps(
            sorted(measured[run.identity]), run.order.last_step, sampling, run.label
        )
        for run in runs
        if run.identity in measured
    }
    return [row for row in rows if row["step"] in kept[row["run"]]]


def _rows(run: GatheredRun, learnability: Row) -> list[Row]:
    """The evaluations of a run, one per row."""
    before = run.points[0]["losses"] if run.points and run.points[0]["step"] == 0 else {}
    return [_row(run, point, before) | learnability for point in run.points]


def _row(run: GatheredRun, point: Mapping[str, Any], before: Mapping[str, Any]) -> Row:
    """One evaluation; `before` are the losses of step 0."""
    of, training, declared = run.order.run, run.order.run.training, run.order.columns
    row: Row = {name: value for name, value in declared.items() if not name.startswith("dlc_")}
    row |= {
        "run": run.identity,
        "label": run.label,
        "domain": run.domain,
        "general": run.general,
        "model": of.model.name,
        "seed": of.seed,
        "status": run.status,
        "D": point["tokens"],
        "T": point["tokens"] / LOT,
        "step": point["step"],
    }
    drawn = sum(point["rows"].values())
    for name, source in of.corpora.items():
        share = float(source.fraction)
        row[f"r_{name}"] = share
        row[f"drawn_{name}"] = point["rows"][name] / drawn if drawn else share
        row[f"epochs_{name}"] = point["epochs"][name]
    for name, measured in point["losses"].items():
        row[f"L_{name}"], row[f"se_{name}"] = measured["loss"], measured["se"]
        if name in before:
            row[f"L0_{name}"] = before[name]["loss"]
            row[f"dL_{name}"] = measured["loss"] - before[name]["loss"]
    setting_names = ("schedule", "steps", "batch", "sequence", "precision")
    row |= {name: getattr(training, name) for name in setting_names}
    row |= {"decay_steps": training.decay, "phase": phase(training, point["step"])}
    same = ("learning_rate", "S1", "S2", "train_loss", "router_loss", "tokens_per_second", "mfu")
    row |= {name: point.get(name) for name in (*same, "seconds", "device")}
    row["peak_memory"] = point.get("peak_memory_bytes")
    return row


def _learnability(run: GatheredRun, by_identity: Mapping[str, GatheredRun]) -> Row:
    """k1, k2 and k3 of the run's domain; None if a required loss was not measured.

    D-CPT (2406.01375), appendix H, with u steps in place of 1000: k1 = L(u), k2 = L(0) - L(5u), and
    k3 = (dL_10 - dL_0)/10 with dL_i = L((i + 1)u) - L(iu), to which its sum telescopes.
    """
    if run.reference is None or run.reference[0] not in by_identity:
        return {}
    identity, unit = run.reference
    losses = {
        point["step"]: measured["loss"]
        for point in by_identity[identity].points
        if (measured := point["losses"].get(run.domain))
    }
    curve = [losses.get(i * unit) for i in range(12)]
    zero, one, five, ten, eleven = (curve[i] for i in (0, 1, 5, 10, 11))
    k: Row = {"k1": one, "k2": None, "k3": None}
    if zero is not None and five is not None:
        k["k2"] = zero - five
    if zero is not None and one is not None and ten is not None and eleven is not None:
        k["k3"] = ((eleven - ten) - (one - zero)) / 10
    return k


def _finite(row: Row) -> bool:
    return all(math.isfinite(value) for name, value in row.items() if name.startswith("L_"))


def _in_order(rows: Iterable[Row]) -> list[str]:
    """All columns in order: those of the run, the variables of the laws by family, the rest."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    families = [n for family in FAMILIES for n in sorted(names) if n.startswith(family)]
    return [*FIRST, *families, *(n for n in names if n not in (*FIRST, *families))]


def header(name: str) -> str:
    """A column's name with its unit, as tables write it: `D [token]`.

    Args:
        name: of the column.
    """
    family = next((family for family in FAMILIES if name.startswith(family)), name)
    return f"{name} [{UNITS[family]}]" if family in UNITS else name
