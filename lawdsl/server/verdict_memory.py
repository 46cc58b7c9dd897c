"""Verdicts that the worker has reached, for the texts that they still hold for."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.editing.claims import claim_key, claimed_lines, law_key
from lawdsl.editing.document import Document
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
        current: the keys of the claims whose verdicts are about the present version.
        warnings: the warnings that follow from the law, for the text in `warned`.
        warned: the text that they are about.
        deciding: whether the other claims are being decided.
    """

    lines: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    current: set[str] = field(default_factory=set)
    warnings: tuple[Diagnostic, ...] = ()
    warned: str = ""
    deciding: bool = False

    def of_line(self, words: str) -> tuple[Verdict | None, bool]:
        """The last verdict on the claim of a line, and whether it is about the present version."""
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


def updated(states: ClaimStates, document: Document, memory: VerdictMemory) -> ClaimStates:
    """What is known of the claims after an edit.

    Args:
        states: what was known before.
        document: the version after the edit.
        memory: verdicts on earlier versions, among which may be one like this.
    """
    if document.declarations is None:  # nothing is decided until its errors are corrected
        return ClaimStates(states.lines, states.verdicts)
    key, claims = keys_of(document)
    known = memory.of(key)
    verdicts = {c: known.verdicts.get(c) or states.verdicts.get(c) for c in claims}
    warned = known.warnings is not None and known.warnings[0] == document.text
    found = ClaimStates(
        lines=dict(claimed_lines(document)),
        verdicts={c: verdict for c, verdict in verdicts.items() if verdict is not None},
        current={c for c in claims if c in known.verdicts},
        warnings=known.warnings[1] if known.warnings is not None and warned else (),
        warned=document.text if warned else "",
    )
    found.deciding = not (warned and all(c in found.current for c in claims))
    return found
