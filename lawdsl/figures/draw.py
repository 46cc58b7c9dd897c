"""Result + kind -> figure: the table of all kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.figures import theme
from lawdsl.figures.figure import Figure
from lawdsl.figures.kind_table import KINDS, Kind
from lawdsl.figures.options import ONE_NAME, check_name
from lawdsl.fitting.verdicts import NOT_TRUSTED
from lawdsl.language.keywords import did_you_mean

INSTALL = "pip install 'lawdsl[figures]'"


def kinds_of(result: Any) -> list[Kind]:
    """The kinds of figure that a result has, the first of them the default."""
    names = {base.__name__ for base in type(result).__mro__}
    return [kind for kind in KINDS if names & set(kind.results)]


def draw(result: Any, name: str | None = None, /, **options: Any) -> Figure:
    """Draw a figure of a result.

    Args:
        result: a public record: a fit, a comparison, an answer.
        name: the name of the kind; by default the first that the result has.
        options: the options of the kind.

    Raises:
        LawdslError: Altair is not installed (G0101), a kind that this result does not have (G0102),
            an option that the kind does not have, or of another type (G0104).
    """
    kinds = {kind.name: kind for kind in kinds_of(result)}
    if name is None and kinds:
        name = next(iter(kinds))
    if not isinstance(name, str) or name not in kinds:
        raise LawdslError(_no_kind(result, "" if name is None else name, kinds))
    require_altair()
    function = getattr(import_module(kinds[name].module), kinds[name].function)
    accepted = [p for p in function.__kwdefaults__ or {}]
    for option, value in options.items():
        if option not in accepted:
            message = f"a figure of kind {name} has no option {option!r}"
            help = f"it has {', '.join(accepted)}" if accepted else "it has none"
            raise LawdslError(Diagnostic("G0104", message, help=help))
        if function.__annotations__[option] == ONE_NAME:
            check_name(option, value)
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):  # charts are validated as a whole when they are written
        return _with_distrust(function(result, **options), result)


def _with_distrust(figure: Figure, result: Any) -> Figure:
    """A figure that says so where a fit behind it is not trusted."""
    names = {base.__name__ for base in type(result).__mro__}
    fits = (result,) if "Fit" in names else result.parts if "Fits" in names else ()
    if "FitsByGroup" in names:
        fits = tuple(part for group in result.groups for part in group.parts)
    untrusted = [fit for fit in fits if fit.distrust()]
    warnings = tuple(dict.fromkeys(d for fit in untrusted for d in fit.distrust()))
    lines = [d.message for d in warnings]
    if warnings and len(fits) > 1:
        codes = dict.fromkeys(
            d.code for fit in untrusted for d in fit.diagnostics if d.severity == "error"
        )
        lines = [f"{len(untrusted)} of {len(fits)} fits are not trusted: {', '.join(codes)}"]
    if figure.kind == "answer":  # what asked has printed its warnings
        answers = getattr(result, "answers", (result,))
        found = [d for a in answers for d in a.diagnostics if d.code == NOT_TRUSTED]
        lines = list(
            dict.fromkeys(f"{d.place}: {d.message}" if d.place else d.message for d in found)
        )
    if not lines:
        return figure
    description = " ".join(
        [*(f"{line[0].upper()}{line[1:]}." for line in lines), figure.description]
    )
    theme.add_to_subtitle(figure.chart, lines, description)
    return replace(figure, description=description, warnings=warnings)


def require_altair() -> None:
    """Raise an error where the plotting libraries are not installed.

    Raises:
        LawdslError: G0101.
    """
    missing = [name for name in ("altair", "vl_convert") if find_spec(name) is None]
    if missing:
        be = "is" if len(missing) == 1 else "are"
        message = f"figures need {' and '.join(missing)}, which {be} not installed"
        raise LawdslError(Diagnostic("G0101", message, help=INSTALL))


def _no_kind(result: Any, name: object, kinds: Mapping[str, Kind]) -> Diagnostic:
    """The error for a kind of figure that a result does not have."""
    what = type(result).__name__
    if not kinds:
        return Diagnostic(
            "G0102", f"no figure can be made of a {what}", help="see `lawdsl plot --help`"
        )
    help = did_you_mean(str(name), kinds, f"it has {', '.join(kinds)}")
    return Diagnostic("G0102", f"a {what} has no figure of kind {name!r}", help=help)
