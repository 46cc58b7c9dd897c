"""A cache of decided claims, in files of the user.

An entry has the verdicts and warnings of `lawdsl check` for a law as it is written, under the SHA-256
of its text, of the texts of all laws it builds on, of the time limits and of the code of lawdsl. It is
plain data. What depends on the speed of a machine is decided again: a law has no entry while a claim
is undecided, a warning took long, or the search for what no data determine did not end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, Span, Text
from lawdsl.core.entry_cache import LAW_FOLDERS, EntryCache
from lawdsl.language.symbols import Declarations
from lawdsl.proof.verdict import Check, Verdict

FOLDERS = (
    *LAW_FOLDERS,
    "proof",
    "proof/signs",
    "proof/rules",
    "proof/branch_and_bound",
    "proof/identifiability",
)
CACHE = EntryCache("checks", 1, FOLDERS)
MAX_ENTRIES = 256  # beyond these the oldest are removed
SAFE_SHARE = 0.5  # of its time limit: warnings that took more may be incomplete on another day
DECIDED = ("proved", "inside", "conditional", "refuted")
LOST = ("needs", "failure")  # parts of a verdict that are no plain data; figures alone need them
DAMAGED = (ValueError, KeyError, TypeError, AttributeError, IndexError)


def kept_check(law: Declarations, limits: Sequence[float | None]) -> Check | None:
    """The verdicts on a law in the cache; None if it has no intact entry.

    Args:
        law: the law, as its file declares it.
        limits: CPU time (s) per claim, and for all.
    """
    with contextlib.suppress(OSError, *DAMAGED):
        entry = CACHE.read(_key(law, limits))
        if entry is not None:
            texts = _texts(law)
            claims = tuple(verdict_of(part) for part in entry["claims"])
            decided = all(verdict.verdict in DECIDED for verdict in claims)
            if decided and len(claims) == len(law.claims):
                warnings = tuple(diagnostic_of(part, texts) for part in entry["warnings"])
                times = float(entry["seconds"]), float(entry["warning_seconds"])
                return Check(law.name, str(entry["digest"]), claims, warnings, *times)
    return None


def keep_check(
    law: Declarations, limits: Sequence[float | None], decided: Check, warning_limit: float
) -> None:
    """Keep the verdicts on a law, if they do not depend on the speed of the machine.

    Args:
        law: the law, as its file declares it.
        limits: CPU time (s) per claim, and for all.
        decided: the verdicts, and all warnings that follow from the law.
        warning_limit: CPU time (s) that was allowed for the warnings.
    """
    if any(v.verdict not in DECIDED for v in decided.claims) or any(
        d.edits or d.suggested for d in decided.warnings
    ):
        return
    if decided.warning_seconds > SAFE_SHARE * warning_limit:
        return
    texts = _texts(law)
    if any(d.text is not None and texts.get(d.text.name) != d.text for d in decided.warnings):
        return
    entry = {
        "claims": [plain_verdict(v) for v in decided.claims],
        "warnings": [plain_diagnostic(d) for d in decided.warnings],
        "digest": decided.digest,
        "seconds": decided.seconds,
        "warning_seconds": decided.warning_seconds,
    }
    with contextlib.suppress(OSError, *DAMAGED):
        CACHE.keep(_key(law, limits), entry, MAX_ENTRIES)


def _key(law: Declarations, limits: Sequence[float | None]) -> str:
    laws = {law.name: law, **law.laws}
    texts = sorted((name, part.text.name, part.text.text) for name, part in laws.items())
    return repr((texts, tuple(limits)))


def _texts(law: Declarations) -> dict[str, Text]:
    return {part.text.name: part.text for part in (law, *law.laws.values())}


def plain_verdict(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain data, but for what figures alone need.

    Args:
        verdict: the verdict.
    """
    return {f.name: getattr(verdict, f.name) for f in fields(verdict) if f.name not in LOST}


def verdict_of(part: Mapping[str, Any]) -> Verdict:
    """A verdict from plain data.

    Args:
        part: the result of `plain_verdict`, also after JSON.

    Raises:
        One of `DAMAGED`.
    """
    place = part["place"]
    return Verdict(
        **{
            **part,
            "proof": tuple(map(str, part["proof"])),
            "remedy": tuple(map(str, part["remedy"])),
            "witness": tuple((str(name), str(value)) for name, value in part["witness"]),
            "place": None if place is None else (str(place[0]), int(place[1])),
        }
    )


def plain_diagnostic(d: Diagnostic) -> dict[str, Any]:
    """A diagnostic as plain data, but for its edits.

    Args:
        d: the diagnostic.
    """
    return {
        "code": d.code,
        "message": d.message,
        "severity": d.severity,
        "text": None if d.text is None else d.text.name,
        "span": None if d.span is None else [d.span.start, d.span.end],
        "label": d.label,
        "place": d.place,
        "notes": list(d.notes),
        "help": d.help,
    }


def diagnostic_of(part: Mapping[str, Any], texts: Mapping[str, Text]) -> Diagnostic:
    """A diagnostic from plain data.

    Args:
        part: the result of `plain_diagnostic`, also after JSON.
        texts: name of a file -> its text.

    Raises:
        One of `DAMAGED`.
    """
    text, span = part["text"], part["span"]
    return Diagnostic(
        **{
            **part,
            "text": None if text is None else texts[text],
            "span": None if span is None else Span(int(span[0]), int(span[1])),
            "notes": tuple(map(str, part["notes"])),
        }
    )
