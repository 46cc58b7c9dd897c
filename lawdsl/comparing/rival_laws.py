"""A fit whose residuals have a pattern + its table -> shipped laws whose residuals have none.

A pattern in the residuals estimates by what the law is wrong. A law of equal variables that leaves
none may be the better one; `lawdsl compare` says whether it predicts better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import conjunction
from lawdsl.fitting.fit import fit_with
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.result import Fit
from lawdsl.language import library
from lawdsl.language.law_changes import LawChanges
from lawdsl.law.law import Law, load

PATTERN = "F0116"
MAX_ROWS = 5000  # of a longer table each further fit takes long
MAX_RIVALS = 6
STARTS = 8


def with_rival_laws(fit: Fit, law: Law, table: Any, options: FitOptions) -> Fit:
    """The fit, whose findings about patterns name shipped laws that leave none.

    Args:
        fit: the fit.
        law: its law.
        table: the table, as `fit` takes it.
        options: of the fit.
    """
    if not any(d.code == PATTERN for d in fit.diagnostics) or fit.data.rows > MAX_ROWS:
        return fit
    rivals = rival_laws(law)
    if not rivals:
        return fit
    without = [rival.name for rival in rivals if _leaves_no_pattern(rival, table, options)]
    names = [rival.name for rival in rivals]
    if without:
        verb = "leaves" if len(without) == 1 else "leave"
        help = (
            f"fitted to these rows, {conjunction(without)} {verb} no pattern: see which predicts "
            f"better, `lawdsl compare {' '.join([law.name, *without])} DATA`"
        )
    else:
        help = (
            f"fit a smaller range: {conjunction(names)} {'leave' if len(names) > 1 else 'leaves'}"
        )
        help += " a pattern, too, or cannot be fitted"
    return replace(fit, diagnostics=tuple(_with_help(d, help) for d in fit.diagnostics))


def rival_laws(law: Law) -> list[Law]:
    """Shipped laws with the variables and the output of a law, and its settings.

    Args:
        law: the law.
    """
    variables = {q.name for q in law.variables}
    settings = {q.name: q.value for q in law.settings if q.value is not None}
    rivals = []
    for name in library.shipped():
        declared, _ = library.declarations(name)
        named = {s.name for s in declared.symbols.values() if s.kind == "variable"}
        if name == law.name or named != variables or declared.output.name != law.output:
            continue
        rival = load(name)
        if rival.indexed:
            continue
        shared = {q.name: settings[q.name] for q in rival.settings if q.name in settings}
        rivals.append(LawChanges.of(settings=shared).apply(rival))
    return rivals[:MAX_RIVALS]


def _leaves_no_pattern(rival: Law, table: Any, options: FitOptions) -> bool:
    """Whether the residuals of a law that can be fitted to a table have no pattern."""
    few = replace(
        options,
        starts=STARTS,
        claims=False,
        rolled_check=False,
        horizon=None,
        intervals="delta",
        enforce=False,
        progress=None,
    )
    try:
        fit = fit_with(rival, table, few)
    except LawdslError:
        return False
    assert isinstance(fit, Fit)
    return fit.verdict != "not trusted" and all(d.code != PATTERN for d in fit.diagnostics)


def _with_help(finding: Diagnostic, help: str) -> Diagnostic:
    return replace(finding, help=help) if finding.code == PATTERN else finding
