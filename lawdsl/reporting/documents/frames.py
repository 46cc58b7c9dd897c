"""Public record -> its rows as a data frame of pandas, else polars, else pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from lawdsl.comparing.result import Comparison, Comparisons
    from lawdsl.data.trends.result import Trends
    from lawdsl.designing.runs.records import Design
    from lawdsl.fitting.ensembles.ensemble import Ensemble
    from lawdsl.fitting.fits_by_group import FitsByGroup
    from lawdsl.fitting.prediction_bands import Band
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits
    from lawdsl.law.law import Law
    from lawdsl.pipelines.branching.result import PipelineAnswers
    from lawdsl.pipelines.result import PipelineResult
    from lawdsl.proof.verdict import Check, Verdict
    from lawdsl.solving.result import Answer, Answers

Columns = Mapping[str, Sequence[Any]]
BACKENDS: tuple[Literal["pandas", "polars", "pyarrow"], ...] = ("pandas", "polars", "pyarrow")
"""Libraries of data frames in the order of preference; pyarrow is always installed."""


def to_frame(record: Any) -> Any:
    """The rows of a public record as a data frame.

    Args:
        record: a fit (its parameters), a check (its claims), a comparison (its rankings), an answer
            (its unknowns), …

    Returns:
        A frame of pandas, of polars where pandas is not installed, else a table of pyarrow.
    """
    import narwhals as nw

    names = (base.__name__ for base in type(record).__mro__)
    columns = FRAMES[next(name for name in names if name in FRAMES)](record)
    backend = next(name for name in BACKENDS if find_spec(name) is not None)
    return nw.from_dict(
        {name: list(values) for name, values in columns.items()}, backend=backend
    ).to_native()


def _of_rows(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Columns:
    return {name: [row.get(name) for row in rows] for name in names}


def _parameters(fit: Fit) -> Columns:
    names = ("parameter", "value", "error", "low", "high", "at_bound", "identified", "fixed")
    ends, errors = fit.intervals.ends, fit.intervals.errors
    rows = []
    for name, p in fit.parameters.items():
        low, high = ends.get(name, (None, None))
        rows.append(
            {
                **{"parameter": name, "value": p.printed, "error": errors.get(name)},
                **{"low": low, "high": high, "at_bound": p.at_bound},
                **{"identified": p.identified, "fixed": False},
            }
        )
    for name, h in fit.held.items():
        low, high = ends.get(name, (None, None))
        row: dict[str, Any] = {"parameter": name, "value": h.value, "error": errors.get(name)}
        rows.append({**row, "low": low, "high": high, "identified": True, "fixed": True})
    return _of_rows(rows, names)


def _parameters_by_label(fits: Fits) -> Columns:
    from lawdsl.fitting.findings_by_label import label_of

    tables = [(label_of(part), _parameters(part)) for part in fits.parts]
    first = tables[0][1]
    joined: dict[str, list[Any]] = {"label": [], **{name: [] for name in first}}
    for label, table in tables:
        joined["label"] += [label] * len(table["parameter"])
        for name, values in table.items():
            joined[name] += values
    return joined


def _members(ensemble: Ensemble) -> Columns:
    """One row for each member: its label, weight and parameters."""
    rows = []
    for part in ensemble.parts:
        for number, (member, weight) in enumerate(zip(part.members, part.weights, strict=True)):
            label: dict[str, Any] = {"label": part.label} if part.label else {}
            values = dict(zip(part.parameters, member, strict=True))
            rows.append({**label, "member": number, "weight": weight, **values})
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def _groups_of_fits(fits: FitsByGroup) -> Columns:
    """One row for each group: its labels, parameters with standard errors, objective and verdict."""
    names, rows = fits.parameter_names, []
    for group in fits.groups:
        values, errors = group.printed, group.errors
        rows.append(
            {
                **{"rows": group.rows, "verdict": group.fit.verdict},
                "findings": ", ".join(dict.fromkeys(d.code for d in group.fit.diagnostics)) or None,
                "objective": group.objective,
                **{name: values.get(name) for name in names},
                **{f"{name} error": errors.get(name) for name in names},
            }
        )
    rows += [{"rows": f.rows, "failure": f.message} for f in fits.failures]
    labels = [group.labels for group in fits.groups] + [f.labels for f in fits.failures]
    columns = {column: [each[k] for each in labels] for k, column in enumerate(fits.by)}
    both = [name for each in names for name in (each, f"{each} error")]
    others = ["rows", "verdict", "findings", "objective", *both, "failure"]
    # a column of the table may be called like one of these
    taken = {name: f"{name} of the fit" if name in columns else name for name in others}
    return columns | {taken[name]: column for name, column in _of_rows(rows, others).items()}


def _claims(check: Check) -> Columns:
    return _verdicts(check.claims)


def _verdicts(verdicts: Sequence[Verdict]) -> Columns:
    return {
        "claim": [v.claim for v in verdicts],
        "verdict": [v.verdict for v in verdicts],
        "expected": [v.expect for v in verdicts],
        "ok": [v.ok for v in verdicts],
        "condition": [v.condition for v in verdicts],
        "witness": [", ".join(f"{n} = {x}" for n, x in v.witness) or None for v in verdicts],
        "seconds": [v.seconds for v in verdicts],
    }


def _standings(comparison: Comparison) -> Columns:
    rows = [(ranking, s) for ranking in comparison.rankings for s in ranking.standings]
    return {
        "protocol": [ranking.protocol for ranking, _ in rows],
        "part": [ranking.part for ranking, _ in rows],
        "law": [s.law for _, s in rows],
        "best_rank": [s.rank[0] for _, s in rows],
        "worst_rank": [s.rank[1] for _, s in rows],
        "score": [s.score for _, s in rows],
        "behind": [s.behind.value if s.behind else 0.0 for _, s in rows],
        "parameters": [s.parameters for _, s in rows],
        "r2": [s.scores.r2 for _, s in rows],
        "mae": [s.scores.mae for _, s in rows],
    }


def _standings_by_label(comparisons: Comparisons) -> Columns:
    joined: dict[str, list[Any]] = {}
    for label, part in comparisons.parts.items():
        table = _standings(part)
        joined.setdefault("label", []).extend([label] * len(table["law"]))
        for name, values in table.items():
            joined.setdefault(name, []).extend(values)
    return joined


def _unknowns(answer: Answer) -> Columns:
    names = ("name", "value", "low", "high", "unit", "place")
    rows = []
    for u in answer.unknowns:
        low, high = u.ends or (None, None)
        rows.append(
            {
                "name": u.name,
                "value": u.value,
                "low": low,
                "high": high,
                "unit": u.unit,
                "place": u.place,
            }
        )
    if answer.goal is not None:
        low, high = answer.goal.ends or (None, None)
        rows.append(
            {"name": answer.goal.text, "value": answer.goal.value, "low": low, "high": high}
        )
    return _of_rows(rows, names)


def _answers(answers: Answers) -> Columns:
    from lawdsl.reporting.answer_tables import rows_of

    headers, rows = rows_of(answers.answers, answers.varying)
    return {name: [row[n] for row in rows] for n, name in enumerate(headers)}


def _series(trends: Trends) -> Columns:
    rows = [(trend, series) for trend in trends.trends for series in trend.series]
    counts = ("compared", "pairs", "as_claimed", "too_small", "against", "beyond_chance")
    return {
        "claim": [trend.claim for trend, _ in rows],
        "verdict": [trend.verdict for trend, _ in rows],
        **{name: [getattr(series, name) for _, series in rows] for name in counts},
    }


def _groups(result: PipelineResult) -> Columns:
    rows = [
        {
            **{"step": number, "law": step.law},
            **group.labels,
            **{"rows": group.rows, "predicted": group.predicted, "error": group.error},
            **group.parameters,
        }
        for number, step in enumerate(result.steps, 1)
        for group in step.groups
    ]
    return _of_rows(rows, list(dict.fromkeys(name for row in rows for name in row)))


def _answers_of_pipeline(result: PipelineAnswers) -> Columns:
    rows = []
    for number, step in enumerate(result.steps, 1):
        for group in getattr(step, "groups", ()):
            estimates = getattr(group, "estimates", None)
            if estimates is None:
                continue
            for name, value in estimates.items():
                low, high = group.ends.get(name, (None, None))
                asked = {"step": number, "question": getattr(step, "question", "")}
                answer = {"unknown": name, "value": value, "low": low, "high": high}
                rows.append({**asked, **group.labels, **group.values, **answer})
    return _of_rows(rows, list(dict.fromkeys(name for row in rows for name in row)))


def _planned_runs(plan: Any) -> Columns:
    runs = plan.to_json()["runs"]
    plain = ("label", "model", "N", "D", "status", "step", "steps", "tokens", "flop", "seconds")
    corpora = dict.fromkeys(name for run in runs for name in run["shares"])
    rows = [
        {name: run[name] for name in plain}
        | {f"r_{name}": run["shares"].get(name, 0.0) for name in corpora}
        | {f"L_{name}": loss for name, loss in run["losses"].items()}
        for run in runs
    ]
    return _of_rows(rows, list(dict.fromkeys(name for row in rows for name in row)))


def _points(band: Band) -> Columns:
    import numpy as np

    from lawdsl.fitting.prediction_bands import BAND_ARRAYS

    arrays = band.stacked()
    columns = {
        name: array.ravel().tolist() for name, array in zip(BAND_ARRAYS, arrays, strict=False)
    }
    if arrays.ndim == 2:
        return {**{name: values.tolist() for name, values in band.points.items()}, **columns}
    row, label = (numbers.ravel().tolist() for numbers in np.indices(arrays.shape[1:]))
    return {"row": row, "label": [band.labels[k] for k in label], **columns}


def _quantities(law: Law) -> Columns:
    from lawdsl.core.units import unit_text

    kinds = {"variable": law.variables, "setting": law.settings, "parameter": law.parameters}
    rows = [(kind, q) for kind, group in kinds.items() for q in group]
    return {
        "name": [q.name for _, q in rows],
        "kind": [kind for kind, _ in rows],
        "unit": [unit_text(q.unit) for _, q in rows],
        "meaning": [q.doc or "" for _, q in rows],
    }


def _designed_runs(design: Design) -> Columns:
    names = list(dict.fromkeys(name for run in design.runs for name in run.point))
    halves = {
        f"half {target.name}": [run.halves[k] for run in design.runs]
        for k, target in enumerate(design.targets)
    }
    return {
        "run": [run.label for run in design.runs],
        **{name: [run.point.get(name) for run in design.runs] for name in names},
        "cost": [run.cost for run in design.runs],
        "share": [run.share for run in design.runs],
        **halves,
        "reason": [run.reason for run in design.runs],
    }


FRAMES: dict[str, Callable[[Any], Columns]] = {
    "Law": _quantities,
    "Fit": _parameters,
    "Fits": _parameters_by_label,
    "FitsByGroup": _groups_of_fits,
    "Ensemble": _members,
    "Check": _claims,
    "Verdict": lambda verdict: _verdicts([verdict]),
    "Comparison": _standings,
    "Comparisons": _standings_by_label,
    "Answer": _unknowns,
    "Answers": _answers,
    "Trends": _series,
    "PipelineResult": _groups,
    "PipelineAnswers": _answers_of_pipeline,
    "Plan": _planned_runs,
    "Band": _points,
    "Design": _designed_runs,
}
"""Name of a public record -> its columns."""
