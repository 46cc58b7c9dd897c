"""Fits -> the part of a report about their laws: formula, names, claims, proofs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lawdsl.core.units import unit_text
from lawdsl.fitting.findings_by_label import generalise_labels
from lawdsl.fitting.result import Fit
from lawdsl.law.law import Law
from lawdsl.proof.check import check
from lawdsl.proof.verdict import Verdict
from lawdsl.reporting.documents.blocks import (
    Block,
    Code,
    Details,
    Findings,
    Heading,
    Lines,
    Paragraph,
    Rows,
)
from lawdsl.reporting.documents.document_of import formula_of
from lawdsl.reporting.report.entries import Entry

CLAIM_SECONDS = 2.0
"""CPU time (s) for the proofs of a law, so that a report takes seconds."""


def law_blocks(entries: Sequence[Entry]) -> Iterator[Block]:
    """The laws of fits, each once.

    Args:
        entries: fits.
    """
    digests = dict.fromkeys(entry.result.law.digest for entry in entries)
    for digest in digests:
        alike = [entry for entry in entries if entry.result.law.digest == digest]
        yield from _law(alike[0].law, alike)


def _law(law: Law, entries: Sequence[Entry]) -> Iterator[Block]:
    yield Heading(f"{law.name}: {law.title}", 3)
    yield formula_of(law)
    if law.sources:
        yield Lines([f"source: {source}" for source in law.sources])
    if law.notes:
        yield Lines([f"note: {note}" for note in law.notes])
    rows = [
        [q.name, kind, unit_text(q.unit) if q.unit else "", q.doc or ""]
        for kind, group in (
            ("variable", law.variables),
            ("setting", law.settings),
            ("parameter", law.parameters),
        )
        for q in group
    ]
    yield Rows(["name", "is", "unit", "meaning"], rows, f"What the names of {law.name} stand for")
    made = check(law, total=CLAIM_SECONDS)
    if made.claims:
        headers = ["claim", "for all values", *(f"as fitted: {e.name}" for e in entries)]
        cells = [[v.claim, _verdict(v), *(_certified(e, v) for e in entries)] for v in made.claims]
        yield Rows(headers, cells, "What the law claims, on the whole domain of its variables")
    proofs = [Lines([v.claim, *(f"  {step}" for step in v.proof)]) for v in made.claims if v.proof]
    if proofs:
        yield Details("Proofs", proofs)
    if made.warnings:
        yield Findings(made.warnings)
    yield Details("The law as written", [Code(law.declarations.text.text.rstrip())])


def _verdict(verdict: Verdict) -> str:
    """A verdict for all values of the parameters, with its condition."""
    word = verdict.word
    if verdict.condition is not None:
        word += f" {'exactly ' if verdict.exact else ''}where {verdict.condition}"
    elif verdict.face is not None:
        word += f", equality only at {verdict.face}"
    elif verdict.verdict == "refuted" and verdict.witness:
        word += " at " + ", ".join(f"{name} = {value}" for name, value in verdict.witness)
    return word


def _certified(entry: Entry, verdict: Verdict) -> str:
    """The verdicts on a claim for the fitted values, counted if there are several fits."""
    words = [word for part in entry.parts for word in _words(part, verdict.claim)]
    counts = {word: words.count(word) for word in dict.fromkeys(words)}
    if len(words) <= 1:
        return "".join(words) or "not decided by the fit"
    return ", ".join(f"{word} ({count} of {len(words)})" for word, count in counts.items())


def _words(part: Fit, claim: str) -> Iterator[str]:
    for certificate in part.claims:
        if claim in (certificate.claim, generalise_labels(certificate.claim, part)):
            face = f", equality only at {certificate.face}" if certificate.face else ""
            yield certificate.verdict + face


def source_note(entries: Sequence[Entry]) -> Iterator[Block]:
    """A line about laws whose text was modified for a fit."""
    for entry in entries:
        held = entry.result.law.changes.statements
        if held:
            yield Paragraph(f"{entry.name} was fitted with {', '.join(held)}.")
