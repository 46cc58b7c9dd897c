"""A fit whose residuals have a pattern + its table -> shipped laws whose residuals have none.

A pattern in the residuals is evidence that the law is misspecified. A law of the same variables
without such a pattern may be better; `lawdsl compare` tests whether it predicts better.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import conjunction
from lawdsl.fitting.fit import fit_with, objective_of
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.result import Fit
from lawdsl.language import library
from lawdsl.language.law_changes import LawChanges
from lawdsl.law.law import Law, load

PATTERN = "F0116"
MAX_ROWS = 5000  # rows: fits of further laws to a longer table are slow
MAX_RIVALS = 6
STARTS = 8


OUTSIDE = "D0108"  # the code of rows outside the domain of a law

PATTERN_TOO, OPTIONS, UNTRUSTED, EXCLUDED, UNFITTED = range(5)
"""Reasons why a law is not suggested."""


def with_rival_laws(
    fit: Fit,
    law: Law,
    table: Any,
    options: FitOptions,
    *,
    named: str = "",
    settings: Mapping[str, float] | None = None,
) -> Fit:
    """Add the names of shipped laws without patterns to the findings about patterns of a fit.

    Values of settings apply to these laws too, but omitted bounds and fixed or tied parameters do
    not.

    Args:
        fit: the fit.
        law: its law.
        table: the table, as for `fit`.
        options: the options of the fit.
        named: the name or file of the law, for the command that is suggested; its name if empty.
        settings: setting -> value given by the user.
    """
    if not any(d.code == PATTERN for d in fit.diagnostics) or fit.data.rows > MAX_ROWS:
        return fit
    rivals = rival_laws(law)
    if not rivals:
        return fit
    failures = {rival.name: _failure(rival, table, options) for rival in rivals}
    better = [rival for rival in rivals if failures[rival.name] is None]
    if better:
        names = [rival.name for rival in better]
        verb = "leaves" if len(names) == 1 else "leave"
        same = all(rival.objective.name == law.objective.name for rival in better)
        command = shlex.join(
            [
                *("lawdsl", "compare", named or law.name, *names),
                *_row_arguments(table, options, settings or {}),
                *_objective_arguments(fit, options, same=same),
            ]
        )
        help = (
            f"fitted to these rows, {conjunction(names)} {verb} no pattern: see which predicts "
            f"better, `{command}`"
        )
        if options.weights is not None:
            help += ", which takes no weights"
    else:
        reasons = _no_rival_text(failures, options)
        help = "fit a smaller range" + (f": {reasons}" if reasons else "")
    return replace(fit, diagnostics=tuple(_with_help(d, help) for d in fit.diagnostics))


def rival_laws(law: Law) -> list[Law]:
    """Shipped laws with the variables, the output and the settings of a law.

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
        if rival.indexed or law.name in rival.declarations.laws:
            continue  # a law that is built on this one is no rival of it
        shared = {q.name: settings[q.name] for q in rival.settings if q.name in settings}
        rivals.append(LawChanges.of(settings=shared).apply(rival))
    return rivals[:MAX_RIVALS]


def _row_arguments(table: Any, options: FitOptions, settings: Mapping[str, float]) -> Iterator[str]:
    """The command-line arguments that select the rows of the fit."""
    yield str(table) if isinstance(table, str | Path) else "DATA"
    yield from (f"{name}={column}" for name, column in options.columns.items())
    for condition in options.where:
        yield from ("--where", condition)
    for column in options.run:
        yield from ("--run", column)
    if options.drop_bad:
        yield "--drop-bad"
    for name, value in settings.items():
        yield from ("--set", f"{name}={value!r}")


def _objective_arguments(fit: Fit, options: FitOptions, *, same: bool) -> Iterator[str]:
    """The command-line options of the objective of the fit; also those needed by laws with other
    objectives.
    """
    objective = options.objective
    numbers = {f"--{name}": getattr(options, name) for name in ("delta", "quantile", "over")}
    if objective is None and not same:
        objective = f"{fit.objective.loss}({'log' if fit.objective.of_logs else 'raw'})"
        numbers = {f"--{name}": value for name, value in fit.objective.parameters.items()}
    if objective is not None:
        yield from ("--objective", objective)
    for name, value in numbers.items():
        if value is not None:
            yield from (name, repr(value))


def _no_rival_text(failures: Mapping[str, int | None], options: FitOptions) -> str:
    """The reasons why no law is suggested, each law at most once; empty where none is known."""
    specified = [
        n for n in ("objective", "delta", "quantile", "over") if getattr(options, n) is not None
    ]
    flags = conjunction([f"--{name}" for name in specified]) if specified else ""
    texts = {
        PATTERN_TOO: ("leaves a pattern, too", "leave a pattern, too"),
        OPTIONS: (f"does not take {flags}", f"do not take {flags}"),
        UNTRUSTED: ("has no fit that can be trusted", "have no fits that can be trusted"),
        EXCLUDED: ("excludes some of these rows from its domain",)
        + ("exclude some of these rows from their domains",),
    }
    parts = []
    for reason, (one, several) in texts.items():
        names = [name for name, failure in failures.items() if failure == reason]
        if names:
            parts.append(f"{conjunction(names)} {one if len(names) == 1 else several}")
    return "; ".join(parts)


def _failure(rival: Law, table: Any, options: FitOptions) -> int | None:
    """The reason why a law is not suggested; None for one whose residuals have no pattern."""
    try:
        objective_of(rival, options)
    except LawdslError:
        return OPTIONS
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
    except LawdslError as error:
        return EXCLUDED if any(d.code == OUTSIDE for d in error.diagnostics) else UNFITTED
    assert isinstance(fit, Fit)
    if any(d.code == PATTERN for d in fit.diagnostics):
        return PATTERN_TOO
    return UNTRUSTED if fit.verdict == "not trusted" else None


def _with_help(finding: Diagnostic, help: str) -> Diagnostic:
    return replace(finding, help=help) if finding.code == PATTERN else finding
