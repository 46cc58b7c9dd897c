"""Verdict -> what an editor shows behind the `require` line."""

from __future__ import annotations

from lawdsl.core.diagnostics import printable
from lawdsl.proof.verdict import Verdict

MAX_HINT = 80  # characters of a hint
MAX_DETAIL = 500  # characters of a line of evidence
DECIDING = "deciding"
STALE = "before the last edit"


def verdict_hint(verdict: Verdict, *, stale: bool = False) -> str:
    """A verdict in a few words, with its evidence.

    Args:
        verdict: the verdict.
        stale: whether it was reached before the last edit of what it depends on.
    """
    text = _evidence(verdict)
    if verdict.verdict == "refuted" and verdict.witness:
        text += f" at {_point(verdict)}"
    text = printable(text + _expectation(verdict))
    text = text if len(text) <= MAX_HINT else f"{text[: MAX_HINT - 1]}…"
    return f"{text} ({STALE})" if stale else text


def _expectation(verdict: Verdict) -> str:
    if verdict.expect == "proved":
        return ""
    return ", as expected" if verdict.ok else f", expected {verdict.expect}"


def _evidence(verdict: Verdict) -> str:
    match verdict.verdict:
        case "inside":
            return f"proved, with equality at {verdict.face}" if verdict.face else "proved inside"
        case "conditional":
            return f"proved where {verdict.condition}"
    return verdict.word


def _point(verdict: Verdict) -> str:
    return ", ".join(f"{name} = {value}" for name, value in verdict.witness)


def verdict_details(verdict: Verdict) -> list[str]:
    """What the line of a claim does not say: its verdict, and below it the evidence, in plain text.

    Args:
        verdict: the verdict.
    """
    lines = [_evidence(verdict) + _expectation(verdict)]
    if verdict.condition is not None and verdict.exact:
        lines.append("the condition is also necessary")
    lines += [f"it is proved with `parameter {bound}`" for bound in verdict.remedy]
    if verdict.verdict == "refuted":
        at = _point(verdict)
        lines.append(f"at {at}: {verdict.value}" if at else str(verdict.value))
        if verdict.never:
            lines.append("it holds at no point: the opposite is proved")
    if verdict.blame is not None:
        lines.append(verdict.blame)
    lines += verdict.proof
    return [printable(_shortened(line)) for line in lines]


def _shortened(line: str) -> str:
    """A line with its middle left out, where it is long."""
    if len(line) <= MAX_DETAIL:
        return line
    half = MAX_DETAIL // 2
    left_out = len(line) - 2 * half
    return f"{line[:half]} … {left_out} characters, which `lawdsl check` prints … {line[-half:]}"
