"""Verdict -> what an editor shows behind the `require` line."""

from __future__ import annotations

from lawdsl.core.diagnostics import printable
from lawdsl.proof.verdict import Verdict

MAX_HINT = 80  # characters of a hint
DECIDING = "deciding"
STALE = "before the last edit"


def verdict_hint(verdict: Verdict, *, stale: bool = False) -> str:
    """A verdict in a few words, with its evidence.

    Args:
        verdict: the verdict.
        stale: whether it was reached before the last edit of what it depends on.
    """
    text = _evidence(verdict)
    if verdict.expect != "proved" and verdict.ok:
        text += ", as expected"
    elif verdict.expect != "proved":
        text += f", expected {verdict.expect}"
    text = printable(text)
    text = text if len(text) <= MAX_HINT else f"{text[: MAX_HINT - 1]}…"
    return f"{text} ({STALE})" if stale else text


def _evidence(verdict: Verdict) -> str:
    match verdict.verdict:
        case "inside":
            return f"proved, with equality at {verdict.face}" if verdict.face else "proved inside"
        case "conditional":
            return f"proved where {verdict.condition}"
        case "refuted":
            at = ", ".join(f"{name} = {value}" for name, value in verdict.witness)
            return f"refuted at {at}" if at else "refuted"
    return verdict.word


def verdict_details(verdict: Verdict) -> list[str]:
    """The evidence of a verdict, in lines of plain text.

    Args:
        verdict: the verdict.
    """
    lines = [f"{verdict.claim}: {verdict.word}"]
    if verdict.condition is not None:
        lines.append(f"it holds {'exactly ' if verdict.exact else ''}where {verdict.condition}")
    lines += verdict.proof
    lines += [f"proved with `parameter {bound}`" for bound in verdict.remedy]
    if verdict.verdict == "refuted":
        at = ", ".join(f"{name} = {value}" for name, value in verdict.witness)
        lines.append(f"at {at}: {verdict.value}" if at else str(verdict.value))
        if verdict.never:
            lines.append("it holds nowhere")
    if verdict.blame is not None:
        lines.append(verdict.blame)
    return [printable(line) for line in lines]
