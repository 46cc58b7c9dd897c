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

if TYPE_CHECKING:
    from lawdsl.comparing.comparison import compare
    from lawdsl.comparing.records import Comparison
    from lawdsl.core.diagnostics import Diagnostic, LawdslError
    from lawdsl.fitting.fit import fit
    from lawdsl.fitting.fits import Fits, load_fit
    from lawdsl.fitting.fitted import Fit
    from lawdsl.law.law import Law, load
    from lawdsl.observing.trends import trends
    from lawdsl.pipelines.records import PipelineResult
    from lawdsl.pipelines.running import run_pipeline
    from lawdsl.proof.checking import check
    from lawdsl.proof.verdicts import Check, Verdict
    from lawdsl.regressor import LawRegressor as LawRegressor
    from lawdsl.solving.answering import Asked, solve
    from lawdsl.solving.records import Answer

__version__ = "0.1.0"

_HOMES = {
    "Answer": "lawdsl.solving.records",
    "Asked": "lawdsl.solving.answering",
    "Check": "lawdsl.proof.verdicts",
    "Comparison": "lawdsl.comparing.records",
    "Diagnostic": "lawdsl.core.diagnostics",
    "Fit": "lawdsl.fitting.fitted",
    "Fits": "lawdsl.fitting.fits",
    "Law": "lawdsl.law.law.law",
    "LawRegressor": "lawdsl.regressor",
    "LawdslError": "lawdsl.core.diagnostics",
    "PipelineResult": "lawdsl.pipelines.records",
    "Verdict": "lawdsl.proof.verdicts",
    "check": "lawdsl.proof.checking",
    "compare": "lawdsl.comparing.comparison",
    "fit": "lawdsl.fitting.fit",
    "load": "lawdsl.law.law.law",
    "load_fit": "lawdsl.fitting.fits",
    "run_pipeline": "lawdsl.pipelines.running",
    "solve": "lawdsl.solving.answering",
    "trends": "lawdsl.observing.trends",
}

# without LawRegressor, for which scikit-learn must be installed
__all__ = [
    "Answer",
    "Asked",
    "Check",
    "Comparison",
    "Diagnostic",
    "Fit",
    "Fits",
    "Law",
    "LawdslError",
    "PipelineResult",
    "Verdict",
    "check",
    "compare",
    "fit",
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
