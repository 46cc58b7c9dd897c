"""Shipped runs -> a law with its claims, fits, predictions of held-out shares, and an answer.

`lawdsl demo` prints this complete decision on real data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lawdsl.data.binding import bind
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.data.trends.trends import trends
from lawdsl.fitting.fit import fit
from lawdsl.fitting.result import Fit
from lawdsl.language.library import question, shipped_folder
from lawdsl.law.law import Law, load
from lawdsl.proof.check import check
from lawdsl.reporting.answers import show_answer
from lawdsl.reporting.report.entries import Entry
from lawdsl.reporting.terminal import show_check, show_fit, show_law, show_rows
from lawdsl.reporting.trends import show_trends
from lawdsl.solving.solve import Asked

if TYPE_CHECKING:
    from rich.console import Console

    from lawdsl.solving.result import Answer

LAW = "dcpt.l3"
TABLE = "code_and_english.csv"
LOSSES = ("general", "code")  # on English manuals, and on Python source
ENDS = "phase = end"  # the learning rate has decayed, so the loss is that of a run of D tokens
# at fewer tokens, the loss still changes by adaptation to the new mixture
FITTED_ROWS = (ENDS, "step >= 400")
D_MIN = {"D_min": 409_600e-9}  # Gtoken: D after 400 steps of 1,024 tokens
# any value from 0.25 to 1 changes R² by less than 0.0002
FIXED = {"E": 0.5}
HELD_OUT_SHARES = (0.2, 0.67)  # of code
MAX_PREDICTION_ERROR = 0.03  # of the predictions of held-out losses
QUESTION = "dcpt.tradeoff"
TOLERATED_RISE = 0.02  # of the general loss, relative


@dataclass(frozen=True)
class HeldOut:
    """The final loss of a run that was not fitted, and its prediction: nat/token."""

    loss: str
    model: str
    share: float
    measured: float
    predicted: float

    @property
    def relative_error(self) -> float:
        """The relative error of the prediction: predicted/measured - 1."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True)
class Tradeoff:
    """The answer to usage 1 for the largest model, compared with measurements.

    Attributes:
        answer: the answer by the fits.
        measured: the share of code at which the general loss of the runs crosses the limit, by
            linear interpolation between two runs; `between` are their shares.
    """

    answer: Answer
    measured: float
    between: tuple[float, float]


def run(out: Console | None) -> tuple[dict[str, Any], bool, list[Entry]]:
    """Fit the D-CPT Law to both losses of runs that ship, and predict those of other shares.

    Args:
        out: the console to print to; None prints nothing.

    Returns:
        The results as plain data, whether every prediction is within MAX_PREDICTION_ERROR of the
        measured loss, and the entries of a report: the fits and the answer.
    """
    data = read_table(shipped_folder() / "data" / TABLE)
    law = load(LAW).with_settings(**D_MIN)
    verdicts = check(law)
    observed = {name: trends(LAW, data, where=ENDS, columns=_columns(name)) for name in LOSSES}
    fits = {name: _fit(law, data, name, FITTED_ROWS) for name in LOSSES}
    rows = [row for name in LOSSES for row in _predict_held_out(law, data, name)]
    tradeoff = _tradeoff(data, fits)
    if out is not None:
        _heading(out, "the law")
        show_law(law, out)
        _heading(out, "what it promises")
        show_check(verdicts, out, proofs=False)
        _heading(out, f"what was measured: {_table_summary(data)}")
        for name in LOSSES:
            out.print(f"{name} loss: ", end="")
            show_trends(observed[name], out, details=False)
        for name in LOSSES:
            _heading(out, f"fitted to the {name} loss, where {', '.join(FITTED_ROWS)}")
            show_fit(fits[name], out)
            out.print(*(f"  {d.message} ({d.code})" for d in fits[name].diagnostics), sep="\n")
        _heading(out, "what it promises, for the fitted values")
        _show_claims(fits, out)
        _heading(out, "losses after the last step at shares that no fit has seen")
        headers = ("loss", "model", "share of code", "measured", "predicted", "off by")
        show_rows(
            headers, [(*asdict(row).values(), f"{row.relative_error:+.2%}") for row in rows], out
        )
        _heading(out, f"how much code, if the general loss may rise by {TOLERATED_RISE:.0%}")
        show_answer(question(QUESTION)[0], tradeoff.answer, out, details=False)
        low, high = tradeoff.between
        passing = f"the runs themselves pass that limit between {low:g} and {high:g}"
        out.print(f"{passing}, at {tradeoff.measured:.3f} on the line between them")
        out.print(*(f"  {d.message} ({d.code})" for d in tradeoff.answer.diagnostics), sep="\n")
        out.print("next: lawdsl laws, lawdsl new my_law, lawdsl fit LAW runs.csv -o fit.json")
    result = {
        "law": law.name,
        "claims": verdicts.to_json()["claims"],
        "trends": {name: part.to_json()["trends"] for name, part in observed.items()},
        "fits": {name: part.to_json() for name, part in fits.items()},
        "held_out": [asdict(row) | {"relative_error": row.relative_error} for row in rows],
        "answer": tradeoff.answer.to_json(),
        "measured": {"r_d": tradeoff.measured, "between": list(tradeoff.between)},
    }
    accurate = all(abs(row.relative_error) < MAX_PREDICTION_ERROR for row in rows)
    entries = [Entry(name, fits[name]) for name in LOSSES]
    files = {"general": "general.json", "domain": "code.json"}
    entries.append(Entry("answer", tradeoff.answer, "", files))
    return result, accurate and tradeoff.answer.ok, entries


def _columns(loss: str) -> dict[str, str]:
    return {"L": f"L_{loss}", "r": f"r_{loss}"}


def _fit(law: Law, data: Table, loss: str, where: Sequence[str], *, claims: bool = True) -> Fit:
    fitted = fit(law, data, where=where, columns=_columns(loss), fix=FIXED, claims=claims)
    assert isinstance(fitted, Fit)  # the law has no index sets
    return fitted


def _predict_held_out(law: Law, data: Table, loss: str) -> list[HeldOut]:
    """Predictions for each model by a fit to the other shares, compared with the measured losses."""
    columns = _columns(loss)
    others = [*FITTED_ROWS, *(f"r_code != {share}" for share in HELD_OUT_SHARES)]
    training_fit = _fit(law, data, loss, others, claims=False)
    last = f"step = {np.max(data.numbers('step')):g}"
    names = [q.name for q in law.variables]
    held_out: list[HeldOut] = []
    for share in HELD_OUT_SHARES:
        for model in dict.fromkeys(data.texts("model")):
            where = [last, f"r_code = {share}", f"model = {model}"]
            rows = bind(law, data, columns, where=where)
            assert rows.target is not None
            predicted = training_fit.predict(dict(zip(names, rows.columns[:, :1], strict=True)))
            measured = float(np.mean(rows.target))  # the mean over all seeds
            held_out.append(HeldOut(loss, model, share, measured, float(predicted[0])))
    return held_out


def _tradeoff(data: Table, fits: dict[str, Fit]) -> Tradeoff:
    """The largest share of code for which the general loss of the largest model stays below the
    limit.
    """
    size, step = data.numbers("N"), data.numbers("step")
    last = (size == np.max(size)) & (step == np.max(step))
    initial = float(np.mean(data.numbers("L0_general")[last]))
    givens = {"N": np.max(size) / 1e9, "D": np.mean(data.numbers("D")[last]) / 1e9}
    tradeoff_question = Asked(QUESTION, general=fits["general"], domain=fits["code"])
    answer = tradeoff_question.answer({**givens, "L0": initial, "T": TOLERATED_RISE}, proofs=False)
    shares = np.unique(data.numbers("r_code")[last])
    last_runs = data.numbers("r_code")[last], data.numbers("L_general")[last]
    losses = np.array([np.mean(last_runs[1][last_runs[0] == share]) for share in shares])
    limit = initial * (1 + TOLERATED_RISE)
    above = int(np.argmax(losses > limit))  # the first share whose loss exceeds the limit
    low, high = float(shares[above - 1]), float(shares[above])
    fraction = (limit - losses[above - 1]) / (losses[above] - losses[above - 1])
    return Tradeoff(answer, float(low + fraction * (high - low)), (low, high))


def _show_claims(fits: dict[str, Fit], out: Console) -> None:
    """Print the verdicts for the fitted values, one column per loss."""
    pairs = zip(*(fits[name].claims for name in LOSSES), strict=True)
    rows = [(a.claim, *(_verdict_text(c.verdict, c.face) for c in (a, b))) for a, b in pairs]
    show_rows(("claim", *LOSSES), rows, out)


def _verdict_text(verdict: str, face: str | None) -> str:
    return f"{verdict} but for {face}" if face else verdict


def _table_summary(data: Table) -> str:
    """The numbers of runs, models, shares and evaluations of a table."""
    runs, shares = (len(set(data.texts(name))) for name in ("run", "r_code"))
    sizes = sorted(set(data.numbers("N")))
    models = f"{len(sizes)} models of {sizes[0]:,.0f} to {sizes[-1]:,.0f} parameters"
    return f"{runs} runs of {models}, {shares} shares, {len(data):,} evaluations"


def _heading(out: Console, title: str) -> None:
    out.print(f"\n== {title} ==\n", style="bold")
