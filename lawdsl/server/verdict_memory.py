"""Verdicts that the worker has reached, for the texts that they still hold for."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.editing.claims import claim_key, claimed_lines, law_key, premises
from lawdsl.editing.document import Document
from lawdsl.language.library import OpenFiles
from lawdsl.proof.verdict import Verdict

MAX_LAWS = 64  # laws, each state of one counted, whose verdicts are cached


@dataclass
class LawVerdicts:
    """The verdicts on the claims of a law, whatever claims it made.

    Attributes:
        verdicts: key of a claim -> its verdict.
        warnings: the keys of all claims of a text, and that text -> its warnings.
    """

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    warnings: tuple[str, tuple[Diagnostic, ...]] | None = None


@dataclass
class VerdictMemory:
    """The verdicts on the laws that were decided last, by `law_key`."""

    laws: OrderedDict[str, LawVerdicts] = field(default_factory=OrderedDict)

    def of(self, key: str) -> LawVerdicts:
        """The record of a law, which becomes the newest."""
        if key not in self.laws:
            self.laws[key] = LawVerdicts()
            while len(self.laws) > MAX_LAWS:
                self.laws.popitem(last=False)
        self.laws.move_to_end(key)
        return self.laws[key]


@dataclass
class ClaimStates:
    """What is known of the claims of a document.

    Attributes:
        lines: words of a `require` line -> the key of its claim, also of lines edited since.
        verdicts: key of a claim -> its last verdict, which may be about an earlier version.
        current: the keys of the claims whose verdicts hold for the present version.
        premises: key of a claim -> a digest of what a verdict on it depends on in this version.
        reached: key of a claim -> that digest in the version for which its verdict was reached.
        warnings: the warnings that follow from the law, for the text in `warned`.
        warned: the text that they are about.
        deciding: whether the other claims are being decided.
    """

    lines: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    current: set[str] = field(default_factory=set)
    premises: dict[str, str] = field(default_factory=dict)
    reached: dict[str, str] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    warned: str = ""
    deciding: bool = False

    @property
    def to_show(self) -> bool:
        """Whether there are messages about the claims of the present version."""
        unexpected = any(not self.verdicts[c].ok for c in self.current)
        return unexpected or bool(self.warnings)

    def of_line(self, words: str) -> tuple[Verdict | None, bool]:
        """The last verdict on the claim of a line, and whether it holds for the present version."""
        key = self.lines.get(words, "")
        return self.verdicts.get(key), key in self.current


def keys_of(document: Document) -> tuple[str, list[str]]:
    """The key of a law without errors, and those of its claims.

    Args:
        document: its document.
    """
    law = document.declarations
    assert law is not None
    return law_key(law, document), [claim_key(claim) for claim in law.claims]


def updated(
    states: ClaimStates, document: Document, memory: VerdictMemory, opened: OpenFiles
) -> ClaimStates:
    """What is known of the claims after an edit.

    A verdict is current while nothing changes that it depends on, also in a text with mistakes.
    After an edit without mistakes all claims are decided again, as `lawdsl check` would decide them.

    Args:
        states: what was known before.
        document: the version after the edit.
        memory: verdicts on earlier versions, among which may be one like this.
        opened: the texts of open files.
    """
    reached = states.reached | {c: states.premises.get(c, "") for c in states.current}
    by_words = premises(document, opened)
    if document.declarations is None:  # nothing is decided until its errors are corrected
        needed = {states.lines[words]: d for words, d in by_words.items() if words in states.lines}
        return ClaimStates(
            lines=states.lines,
            verdicts=states.verdicts,
            current={c for c in states.verdicts if _unchanged(c, reached, needed)},
            premises=needed,
            reached=reached,
        )
    key, claims = keys_of(document)
    known = memory.of(key)
    lines = dict(claimed_lines(document))
    needed = {lines[words]: digest for words, digest in by_words.items() if words in lines}
    decided = {c for c in claims if c in known.verdicts}
    last = {c: known.verdicts.get(c) or states.verdicts.get(c) for c in claims}
    verdicts = {c: verdict for c, verdict in last.items() if verdict is not None}
    warned = known.warnings is not None and known.warnings[0] == document.text
    after = ClaimStates(
        lines=lines,
        verdicts=verdicts,
        current=decided | {c for c in verdicts if _unchanged(c, reached, needed)},
        premises=needed,
        reached=reached,
        warnings=known.warnings[1] if known.warnings is not None and warned else (),
        warned=document.text if warned else "",
    )
    after.deciding = not (warned and all(c in decided for c in claims))
    return after


def _unchanged(claim: str, reached: dict[str, str], needed: dict[str, str]) -> bool:
    """Whether a verdict was reached with the premises that a claim has now."""
    return bool(needed.get(claim)) and needed[claim] == reached.get(claim)
