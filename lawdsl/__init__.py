"""lawdsl: scaling laws written as papers print them; checked, fitted, used.

import lawdsl

law = lawdsl.load("dcpt.l3")             # a shipped law, or the path of a .law file
print(lawdsl.check(law).claims)          # what it promises, proved or refuted
fit = lawdsl.fit(law, "runs.csv", L="loss_code", r="r_code")
fit.predict({"N": [7.0], "D": [10.0], "r": [0.5]})
lawdsl.solve("dcpt.limited_data", domain=fit, N=7.0, D_d=5.0)["r_d"]
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lawdsl.core.presentation import register

if TYPE_CHECKING:
    from lawdsl.comparing.compare import compare
    from lawdsl.comparing.result import Comparison
    from lawdsl.core.diagnostics import Diagnostic, LawdslError
    from lawdsl.core.warning_categories import (
        ExtrapolationWarning,
        NotTrustedWarning,
    )
    from lawdsl.data.trends.trends import trends
    from lawdsl.designing.design import design
    from lawdsl.designing.runs.records import Design
    from lawdsl.fitting.ensembles.ensemble import Ensemble
    from lawdsl.fitting.ensembles.fit_ensemble import fit_ensemble
    from lawdsl.fitting.fit import fit
    from lawdsl.fitting.fit_many import fit_many
    from lawdsl.fitting.fits_by_group import FitsByGroup
    from lawdsl.fitting.result import Fit
    from lawdsl.fitting.result_by_label import Fits, load_fit
    from lawdsl.law.law import Law, load
    from lawdsl.pipelines.result import PipelineResult
    from lawdsl.pipelines.run import run_pipeline
    from lawdsl.proof.check import check
    from lawdsl.proof.verdict import Check, Verdict
    from lawdsl.regressor import LawRegressor as LawRegressor
    from lawdsl.solving.result import Answer
    from lawdsl.solving.solve import Asked, solve

__version__ = "0.1.0"

_HOMES = {
    "Answer": "lawdsl.solving.result",
    "Asked": "lawdsl.solving.solve",
    "Check": "lawdsl.proof.verdict",
    "Comparison": "lawdsl.comparing.result",
    "Design": "lawdsl.designing.runs.records",
    "Diagnostic": "lawdsl.core.diagnostics",
    "Ensemble": "lawdsl.fitting.ensembles.ensemble",
    "ExtrapolationWarning": "lawdsl.core.warning_categories",
    "Fit": "lawdsl.fitting.result",
    "Fits": "lawdsl.fitting.result_by_label",
    "FitsByGroup": "lawdsl.fitting.fits_by_group",
    "Law": "lawdsl.law.law",
    "LawRegressor": "lawdsl.regressor",
    "LawdslError": "lawdsl.core.diagnostics",
    "NotTrustedWarning": "lawdsl.core.warning_categories",
    "PipelineResult": "lawdsl.pipelines.result",
    "Verdict": "lawdsl.proof.verdict",
    "check": "lawdsl.proof.check",
    "compare": "lawdsl.comparing.compare",
    "design": "lawdsl.designing.design",
    "fit": "lawdsl.fitting.fit",
    "fit_ensemble": "lawdsl.fitting.ensembles.fit_ensemble",
    "fit_many": "lawdsl.fitting.fit_many",
    "load": "lawdsl.law.law",
    "load_ipython_extension": "lawdsl.notebook_magic",
    "load_fit": "lawdsl.fitting.result_by_label",
    "run_pipeline": "lawdsl.pipelines.run",
    "solve": "lawdsl.solving.solve",
    "trends": "lawdsl.data.trends.trends",
}

_PRESENTERS = {
    "export": "lawdsl.exporting.export:export",
    "frame": "lawdsl.reporting.documents.frames:to_frame",
    "html": "lawdsl.reporting.documents.document_of:html",
    "plot": "lawdsl.figures.draw:draw",
    "report": "lawdsl.reporting.report.write:report",
    "text": "lawdsl.reporting.documents.document_of:text",
    "torch": "lawdsl.exporting.torch_module:to_torch",
}
"""Display of a public record -> its function."""

register(_PRESENTERS)

# without LawRegressor, for which scikit-learn must be installed
__all__ = [
    "Answer",
    "Asked",
    "Check",
    "Comparison",
    "Design",
    "Diagnostic",
    "Ensemble",
    "ExtrapolationWarning",
    "Fit",
    "Fits",
    "FitsByGroup",
    "Law",
    "LawdslError",
    "NotTrustedWarning",
    "PipelineResult",
    "Verdict",
    "check",
    "compare",
    "design",
    "fit",
    "fit_ensemble",
    "fit_many",
    "load",
    "load_fit",
    "run_pipeline",
    "solve",
    "trends",
]

# In a checkout the grammar and the laws lie beside this package; in a wheel, inside it.
_above = Path(__file__).resolve().parent.parent
if (_above / "grammars" / "law.lark").is_file():
    __path__.append(str(_above))


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is asked for: `lawdsl --help` needs no algebra."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'lawdsl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
