"""Public record -> the blocks that describe it: the table of all records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lawdsl.fitting.predicted_points import PredictedPoints
from lawdsl.reporting.answers import show_answer, show_answers
from lawdsl.reporting.comparisons import show_comparison, show_comparisons
from lawdsl.reporting.designs import show_design
from lawdsl.reporting.documents.blocks import (
    Block,
    Code,
    Details,
    Findings,
    Formula,
    Heading,
    Lines,
    Rows,
)
from lawdsl.reporting.documents.recorder import Recorder, recorded
from lawdsl.reporting.documents.render_html import notebook_html
from lawdsl.reporting.documents.render_text import text_of
from lawdsl.reporting.ensembles import show_ensemble
from lawdsl.reporting.fits import show_fits
from lawdsl.reporting.fits_by_group import findings_by_group, show_fits_by_group
from lawdsl.reporting.pipeline_answers import show_pipeline_answers
from lawdsl.reporting.pipelines import show_pipeline
from lawdsl.reporting.predictions import show_predictions
from lawdsl.reporting.runs import show_plan
from lawdsl.reporting.terminal import show_check, show_fit, show_verdict
from lawdsl.reporting.trends import show_trends

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


def document_of(record: Any) -> tuple[Block, ...]:
    """The blocks of a public record.

    Args:
        record: a law, a fit, a check, a comparison, an answer, …

    Raises:
        KeyError: a record without a document.
    """
    names = (base.__name__ for base in type(record).__mro__)
    name = next(name for name in (*names, "") if name in DOCUMENTS or not name)
    return DOCUMENTS[name](record)


def text(record: Any) -> str:
    """A public record as plain text, for `print`."""
    return text_of(document_of(record))


def html(record: Any) -> str:
    """A public record as HTML, for notebooks."""
    return notebook_html(document_of(record))


def formula_of(law: Law) -> Formula:
    """The formula of a law."""
    from lawdsl.language.printer import print_formula

    formula = law.declarations.output.formula
    assert formula is not None
    return Formula(law.latex(), f"{law.output} = {print_formula(formula)}")


def _law(law: Law) -> tuple[Block, ...]:
    from lawdsl.core.units import unit_text

    rows = [
        [q.name, kind, unit_text(q.unit), q.doc or ""]
        for kind, group in (
            ("variable", law.variables),
            ("setting", law.settings),
            ("parameter", law.parameters),
        )
        for q in group
    ]
    source = Details("the law as written", [Code(law.declarations.text.text.rstrip())])
    blocks: list[Block] = [Heading(f"{law.name}: {law.title}", 3), formula_of(law)]
    if law.sources:
        blocks.append(Lines(law.sources))
    if law.notes:
        blocks.append(Lines([f"note: {note}" for note in law.notes]))
    return (*blocks, Rows(["name", "is", "unit", "meaning"], rows), source)


def _fit(fit: Fit) -> tuple[Block, ...]:
    return (
        formula_of(fit.read_law()),
        *recorded(show_fit, fit),
        *_findings(fit.diagnostics),
    )


def _fits(fits: Fits) -> tuple[Block, ...]:
    return (
        formula_of(fits.read_law()),
        *recorded(show_fits, fits),
        *_findings(fits.diagnostics),
    )


def _fits_by_group(fits: FitsByGroup) -> tuple[Block, ...]:
    return (*recorded(show_fits_by_group, fits), *_findings(findings_by_group(fits)))


def _ensemble(ensemble: Ensemble) -> tuple[Block, ...]:
    return (*recorded(show_ensemble, ensemble), *_findings(ensemble.diagnostics))


def _check(check: Check) -> tuple[Block, ...]:
    blocks = recorded(show_check, check, proofs=False)
    proofs = [Lines([v.claim, *(f"  {step}" for step in v.proof)]) for v in check.claims if v.proof]
    folded = [Details("proofs", proofs)] if proofs else []
    return (*blocks, *folded, *_findings(check.warnings))


def _verdict(verdict: Verdict) -> tuple[Block, ...]:
    return recorded(show_verdict, verdict)


def _comparison(comparison: Comparison) -> tuple[Block, ...]:
    return (*recorded(show_comparison, comparison), *_findings(comparison.diagnostics))


def _comparisons(comparisons: Comparisons) -> tuple[Block, ...]:
    return recorded(show_comparisons, comparisons)


def _answer(answer: Answer) -> tuple[Block, ...]:
    if answer.declared is None:
        return (Lines([f"{answer.question}: {answer.title}", f"  {answer.status}"]),)
    return (*recorded(show_answer, answer.declared, answer), *_findings(answer.diagnostics))


def _answers(answers: Answers) -> tuple[Block, ...]:
    first = answers.answers[0]
    if first.declared is None:
        return tuple(block for answer in answers.answers for block in _answer(answer))
    blocks = recorded(show_answers, first.declared, answers.answers, answers.varying)
    found = dict.fromkeys(d for answer in answers.answers for d in answer.diagnostics)
    return (*blocks, *_findings(tuple(found)))


def _trends(trends: Trends) -> tuple[Block, ...]:
    return (*recorded(show_trends, trends), *_findings(trends.diagnostics))


def _pipeline(result: PipelineResult) -> tuple[Block, ...]:
    return (*recorded(show_pipeline, result), *_findings(result.diagnostics))


def _pipeline_answers(result: PipelineAnswers) -> tuple[Block, ...]:
    return (*recorded(show_pipeline_answers, result), *_findings(result.diagnostics))


def _plan(plan: Any) -> tuple[Block, ...]:
    return (*recorded(show_plan, plan.to_json()), *_findings((*plan.warnings, *plan.errors)))


def _band(band: Band) -> tuple[Block, ...]:
    import numpy as np

    arrays = np.moveaxis(band.stacked(), 0, -1)
    if arrays.ndim == 3:
        points, labels = arrays.shape[:2]
        names = [str(k) for k in range(labels)]
        predicted = PredictedPoints(
            ["row"],
            [(k,) for k in range(points)],
            "prediction",
            "column",
            names,
            arrays,
            band.level,
        )
    else:
        rows = [(k,) for k in range(len(arrays))]
        predicted = PredictedPoints(["row"], rows, "prediction", "", (), arrays, band.level)
    recorder = Recorder()
    show_predictions(predicted, recorder)
    return (*recorder.blocks, *_findings(band.warnings))


def _findings(diagnostics: Sequence[Any]) -> tuple[Block, ...]:
    return (Findings(tuple(diagnostics)),) if diagnostics else ()


def _design(design: Design) -> tuple[Block, ...]:
    return (*recorded(show_design, design), *_findings(design.warnings))


DOCUMENTS: dict[str, Callable[[Any], tuple[Block, ...]]] = {
    "Law": _law,
    "Fit": _fit,
    "Fits": _fits,
    "FitsByGroup": _fits_by_group,
    "Ensemble": _ensemble,
    "Check": _check,
    "Verdict": _verdict,
    "Comparison": _comparison,
    "Comparisons": _comparisons,
    "Answer": _answer,
    "Answers": _answers,
    "Trends": _trends,
    "PipelineResult": _pipeline,
    "PipelineAnswers": _pipeline_answers,
    "Plan": _plan,
    "Band": _band,
    "Design": _design,
}
"""Name of a public record -> its document."""
