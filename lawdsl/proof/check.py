"""Law -> Check: a verdict on each of its claims, and warnings where it may be undefined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, Span
from lawdsl.core.time_limit import MIN_SECONDS, OutOfTime, TimeBudget, time_limit
from lawdsl.language import tree
from lawdsl.language.claim_texts import claim_text
from lawdsl.language.elements import warn_without_effect
from lawdsl.language.pieces import first_condition
from lawdsl.language.symbols import Claim, Declarations
from lawdsl.law.law import Law, load
from lawdsl.proof.decide import CLAIM_SECONDS, check_claim
from lawdsl.proof.definedness import ProvedParts, doubts
from lawdsl.proof.domain import domain_of
from lawdsl.proof.indexed_claims import check_indexed
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.verdict import Check, Verdict, undecided

TOTAL_SECONDS = 60.0  # for all claims of one law, unless the caller says otherwise
# with less than this share of a claim's time left in total, the total limit is the one reported
EXHAUSTED_SHARE = 0.05


def check(
    law: Law | str | Path,
    *,
    values: Mapping[str, float] | None = None,
    seconds: float = CLAIM_SECONDS,
    total: float | None = None,
    on_verdict: Callable[[Verdict], None] | None = None,
) -> Check:
    """Decide every claim of a law.

    Args:
        law: the law, or the name or path of one.
        values: the values of all its parameters, as a fit gives them. What is then proved is
            certified, for these values and on the whole domain of the variables.
        seconds: CPU time (s) allowed for all work on one claim; a claim that takes longer is
            undecided.
        total: CPU time (s) allowed for the law, its warnings included; claims that are not reached
            are undecided. `TOTAL_SECONDS` unless given, or `seconds` where that is more.
        on_verdict: called with each verdict as it is reached.

    Raises:
        LawdslError: a law that cannot be read, or a value for a name that is not a parameter.
    """
    law = law if isinstance(law, Law) else load(law)
    return check_unknown(
        law, (), values=values, seconds=seconds, total=total, on_verdict=on_verdict
    )


def check_unknown(
    law: Law,
    known: Sequence[Verdict | None],
    *,
    values: Mapping[str, float] | None = None,
    seconds: float = CLAIM_SECONDS,
    total: float | None = None,
    on_verdict: Callable[[Verdict], None] | None = None,
) -> Check:
    """As `check`, without the claims whose verdicts are known.

    Args:
        law: the law.
        known: the known verdicts, None for the other claims, in their order; empty for none.
        values: as for `check`, like the following.
        seconds: CPU time (s) per claim.
        total: CPU time (s) for the law.
        on_verdict: called with each verdict, known ones included.
    """
    law = law.at(**values) if values is not None else law
    law = law.built()  # one too involved is refused, claims or not
    total = max(TOTAL_SECONDS, seconds) if total is None else total
    clock = TimeBudget(total)
    verdicts = []
    defined = ProvedParts()
    for claim, before in zip_longest(law.claims, known[: len(law.claims)]):
        verdict = before or _decided(law, claim, seconds, clock, defined)
        verdict = replace(verdict, inherited_from=_origin(law.declarations, claim))
        if values is not None and verdict.verdict in ("proved", "inside"):
            verdict = replace(verdict, verdict="certified")
        verdicts.append(verdict)
        if on_verdict is not None:
            on_verdict(verdict)
    # warnings come last: they must not take time from claims
    warning_clock = TimeBudget(min(seconds, clock.remaining()))
    warnings = () if values is not None else tuple(_unclaimed_doubts(law, warning_clock.seconds))
    warnings = (*warn_without_effect(law.declarations), *warnings)
    return Check(
        law.name, law.digest, tuple(verdicts), warnings, clock.spent(), warning_clock.spent()
    )


def _origin(declared: Declarations, claim: Claim) -> str:
    """The extended law that makes a claim; empty for one that the law's own file makes."""
    if claim.text.name == declared.text.name:
        return ""
    for part in declared.laws.values():
        if part.text.name == claim.text.name:
            return part.name
        further = _origin(part, claim)
        if further:
            return further
    return ""


def _decided(
    law: Law, claim: Claim, seconds: float, clock: TimeBudget, defined: ProvedParts
) -> Verdict:
    """The verdict on one claim, within the remaining time for all claims."""
    decide = check_indexed if law.indexed else partial(check_claim, defined=defined)
    remaining = clock.remaining()
    if remaining >= seconds:
        return decide(law, claim, seconds=seconds)
    reason = f"the {clock.seconds:g} s for all claims of a law are used up (--total-time-limit)"
    if remaining < MIN_SECONDS:
        line, _ = claim.text.position(claim.span.start)
        verdict = replace(undecided(f"not reached: {reason}"), expect=claim.expect)
        return replace(verdict, claim=claim_text(claim), place=(claim.text.name, line))
    verdict = decide(law, claim, seconds=remaining)
    exhausted = verdict.verdict == "undecided" and clock.remaining() < EXHAUSTED_SHARE * seconds
    return replace(verdict, blame=reason) if exhausted else verdict


def _unclaimed_doubts(law: Law, seconds: float) -> Iterator[Diagnostic]:
    """Warnings about parts without a value, for a law that does not claim to be finite."""
    if seconds < MIN_SECONDS:
        return
    if any(isinstance(c.claim, tree.Finite) for c in law.claims):
        return
    if law.indexed:
        yield from _indexed_doubts(law, seconds)
        return
    formula = law.declarations.output.formula
    assert formula is not None
    if first_condition((formula,), law.declarations) is not None:
        yield from _piecewise_doubts(law, seconds)
        return
    try:
        with time_limit(seconds):
            unproved = doubts(law, [formula], SignCalculus(domain_of(law), valued=True))
    except OutOfTime:
        return
    for doubt in unproved[:3]:
        message = f"`{doubt.text}` is not proved to have a value on the whole domain"
        help = "declare the domains it needs, or claim where it holds: `require L finite for …`"
        source = law.declarations.text
        in_source = doubt.node.span.end <= len(source.text)
        span = doubt.node.span if in_source else None
        yield Diagnostic("L0503", message, "warning", text=source, span=span, help=help)


def _piecewise_doubts(law: Law, seconds: float) -> Iterator[Diagnostic]:
    """A warning for a piecewise law, unless every part has a value where it is taken."""
    source, output = law.declarations.text, law.declarations.output
    claim = Claim(tree.Finite(tree.Name(output.name)), (), "proved", source, Span(0, 0))
    if check_claim(law, claim, seconds=seconds).verdict != "proved":
        message = f"`{output.text}` is not proved to have a value on the whole domain"
        help = "declare the domains it needs, or claim where it holds: `require L finite for …`"
        yield Diagnostic("L0503", message, "warning", text=source, span=output.span, help=help)


def _indexed_doubts(law: Law, seconds: float) -> Iterator[Diagnostic]:
    """A warning for a law with index sets, unless it has a value at all labels."""
    source, output = law.declarations.text, law.declarations.output
    output_node = (
        tree.Element(output.name, output.indices) if output.indices else tree.Name(output.name)
    )
    claim = Claim(tree.Finite(output_node), (), "proved", source, Span(0, 0))
    if check_indexed(law, claim, seconds).verdict != "proved":
        message = f"`{output.text}` is not proved to have a value on the whole domain"
        help = "declare the domains it needs, or claim where it holds: `require L finite for …`"
        yield Diagnostic("L0503", message, "warning", text=source, span=output.span, help=help)
