"""Findings -> verdicts: one for each use of a fit, and one for all uses.

A fit is used for its minimum, for the values of its parameters, or for predictions. Each use
depends on some of these subjects: whether the optimum was found, whether the rows determine the
parameters, whether the residuals are noise, whether the rows are compatible with declared priors
and sufficient without them, and whether predictions beyond the rows are reliable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lawdsl.core.diagnostics import Diagnostic

SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "optimum": ("F0104", "F0105", "F0106", "F0118", "F0158"),
    "rank": ("F0101",),
    "parameters": ("F0103", "F0114", "F0121", "F0122", "F0130", "F0138"),
    "priors": ("F0136", "F0137"),
    "residuals": ("F0102", "F0112", "F0115", "F0116", "F0117", "F0119", "F0132", "F0145", "F0155"),
    "claims": ("F0113",),
    "prediction": ("F0126", "F0127", "F0131", "F0134", "F0140", "F0141", "F0143", "F0144"),
}
"""What findings are about -> their codes. Findings about tables (D0101 and so on) concern the
residuals."""

NOT_TRUSTED = "F0110"  # the code of predictions by a fit that is not trusted

NEEDS: Mapping[str, tuple[str, ...]] = {
    "optimum": ("optimum",),
    "parameters": ("optimum", "rank", "parameters", "residuals", "priors"),
    "residuals": ("optimum", "residuals"),
    "prediction": ("optimum", "rank", "residuals", "priors", "prediction"),
}
"""Use -> the subjects that it needs."""

ASSUMPTIONS: Mapping[str, str] = {"parameters": "if the law is right"}
"""Use -> what a fit that is trusted for it assumes: intervals of parameters take the law as right,
those of predictions do not."""


def subject(code: str) -> str:
    """The subject of a finding: a key of `SUBJECTS`."""
    return next((name for name, codes in SUBJECTS.items() if code in codes), "residuals")


def findings_for(use: str, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings that concern a use.

    Args:
        use: a key of `NEEDS`.
        diagnostics: the findings of a fit.
    """
    return [d for d in diagnostics if subject(d.code) in NEEDS[use]]


def overall_verdict(diagnostics: Iterable[Diagnostic]) -> str:
    """The verdict for all uses: trusted without a finding, not trusted with an error, else caution."""
    severities = {d.severity for d in diagnostics}
    if not severities:
        return "trusted"
    return "not trusted" if "error" in severities else "caution"


def verdict_for(use: str, diagnostics: Iterable[Diagnostic]) -> str:
    """The verdict for one use, by the findings about the subjects that it depends on.

    Args:
        use: a key of `NEEDS`.
        diagnostics: the findings of a fit.

    Raises:
        KeyError: an unknown use.
    """
    if use not in NEEDS:
        raise KeyError(f"{use!r} is not one of {', '.join(NEEDS)}")
    return overall_verdict(findings_for(use, diagnostics))
