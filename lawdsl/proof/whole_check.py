"""Law -> its verdicts and all warnings that follow from it, which the cache of verdicts keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lawdsl.core.time_limit import TimeBudget
from lawdsl.law.law import Law
from lawdsl.proof.check import check_unknown
from lawdsl.proof.check_cache import keep_check
from lawdsl.proof.identifiability import findings, freedom
from lawdsl.proof.verdict import Check, Verdict


def whole_check(
    law: Law,
    limits: tuple[float, float | None],
    *,
    values: Mapping[str, float] | None = None,
    on_verdict: Callable[[Verdict], None] | None = None,
    known: Sequence[Verdict | None] = (),
    keep: bool = False,
) -> Check:
    """Decide every claim of a law, and look for parameters that no data determine.

    Args:
        law: the law.
        limits: CPU time (s) per claim, and for all.
        values: the values of all its parameters; then what no data determine is not looked for.
        on_verdict: called with each verdict as it is reached.
        known: verdicts that are not decided again, None for the other claims, in their order.
        keep: whether the law is as its file declares it, and its verdicts go to the cache.

    Raises:
        LawdslError: a law that is too involved, or a value for a name that is not a parameter.
    """
    seconds, total = limits
    decided = check_unknown(
        law, known, values=values, seconds=seconds, total=total, on_verdict=on_verdict
    )
    clock = TimeBudget(math.inf)
    lost = freedom(law) if values is None else None
    text = law.declarations.text
    unidentifiable = [] if lost is None else findings(law, lost, text=text)
    took = clock.spent()
    whole = replace(
        decided,
        warnings=(*decided.warnings, *unidentifiable),
        seconds=decided.seconds + took,
        warning_seconds=decided.warning_seconds + took,
    )
    if keep and lost is not None and lost.certain:
        keep_check(law.declarations, limits, whole, seconds)
    return whole
