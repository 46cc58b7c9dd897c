"""Freedom of a law -> the messages about parameters that cannot be determined."""

from __future__ import annotations

from lawdsl.core.diagnostics import Diagnostic, Span, Text
from lawdsl.core.enumerations import conjunction
from lawdsl.language.keywords import ascii_name, nearest
from lawdsl.law.law import Law
from lawdsl.proof.identifiability.result import Freedom, Symmetry

IDENTIFY = "say in the law which are meant, `identify sum(t[i, j] for j) = 0`, or write fewer"
"""What to do about elements of a law with index sets, which are fixed for all labels at once."""


def findings(
    law: Law, freedom: Freedom, severity: str = "warning", text: Text | None = None
) -> list[Diagnostic]:
    """The messages about the freedom of a law: one for each lost direction, and one where more may
    be lost.

    The last is omitted for a fit, where the data show which parameters are not determined.

    Args:
        law: the law.
        freedom: its lost directions.
        severity: `error` where the parameters are being fitted.
        text: the text of the law, where the message refers to it.
    """
    diagnostics = [
        Diagnostic(
            "F0114",
            _message(law, symmetry),
            severity,
            text=text,
            span=_declared(law, symmetry, text),
            notes=_notes(symmetry),
            help=IDENTIFY if "[" in symmetry.held else _help(law, symmetry),
        )
        for symmetry in freedom.symmetries
    ]
    if not freedom.certain and severity == "warning":
        diagnostics.append(_doubt(freedom, text))
    return diagnostics


def _declared(law: Law, symmetry: Symmetry, text: Text | None) -> Span | None:
    """Where a parameter without effect is declared; None of several, or in another file."""
    symbol = law.declarations.symbols.get(symmetry.held)
    if text is None or symbol is None or len(symmetry.parameters) != 1:
        return None
    name = text.text[symbol.span.start : symbol.span.end]
    return symbol.span if ascii_name(name) == symbol.name else None


def _doubt(freedom: Freedom, text: Text | None) -> Diagnostic:
    more = "more of the parameters" if freedom.symmetries else "all parameters"
    return Diagnostic(
        "F0114",
        f"whether data can tell {more} apart is not certain",
        "warning",
        text=text,
        notes=("the time was used up, or the law has pieces that differ in what they depend on",),
        help="fit it: a fit says what its data determine",
    )


def _message(law: Law, symmetry: Symmetry) -> str:
    names = list(symmetry.parameters)
    if not names[1:]:
        return f"{names[0]} has no effect on {law.output}: no data determine it"
    message = f"no data can tell {conjunction(names)} apart"
    if symmetry.transformation is None:
        return f"{message}: in one direction among them no prediction changes"
    return f"{message}: {symmetry.transformation} changes no prediction"


def _help(law: Law, symmetry: Symmetry) -> str:
    """What to do; a parameter without effect may be another one misspelt."""
    if len(symmetry.parameters) == 1:
        others = [q.name for q in law.parameters if q.name != symmetry.held]
        alike = nearest(symmetry.held, others)
        if alike is not None:
            return f"is `{symmetry.held}` a misspelling of `{alike}`? {symmetry.fixing}"
    return symmetry.fixing


def _notes(symmetry: Symmetry) -> tuple[str, ...]:
    if not symmetry.field:
        return ("no formula for the direction was found",)
    if not symmetry.proved:
        return (f"{symmetry.equation}, seen at random points to 100 digits",)
    return (symmetry.equation,)
