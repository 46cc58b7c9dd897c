"""Rows of runs -> whether their losses are per token of different tokenizers or vocabularies."""

from __future__ import annotations

import numpy as np

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import abridged
from lawdsl.core.units import size_and_dimension
from lawdsl.data.premises.column_roles import numbers_or_none, words_of
from lawdsl.data.premises.rows import PremiseRows

# ratio of vocabulary sizes: one tokenizer's vocabulary is padded to different multiples of 128 or
# 512 for models of different sizes
MAX_PADDING = 1.02
MAX_NAMED = 4
PER_TEXT = ("byte", "bytes", "bpb", "char", "character", "characters", "word", "bpc", "accuracy")
"""Words of outputs that are not per token."""


def tokenizer_findings(rows: PremiseRows) -> list[Diagnostic]:
    """A warning (D0142) if rows have different tokenizers or vocabularies, unless the law has a
    variable or an index set for them, or its output is not per token.

    Args:
        rows: the rows.
    """
    if rows.mentions("vocab", "tokenizer", "tokeniser"):
        return []
    output = rows.law.declarations.output
    dimension = size_and_dimension(output.unit.factors)[1] if output.unit else ()
    words = words_of(f"{output.name} {rows.bound.get(output.name, '')}").split()
    if any(base in ("byte", "char") for base, _ in dimension) or any(w in PER_TEXT for w in words):
        return []
    for role in ("tokenizer", "vocabulary"):
        for column in rows.columns(role):
            named = _different(rows, role, column)
            if named:
                break
        else:
            continue
        kind = "tokenizers" if role == "tokenizer" else "vocabularies"
        message = (
            f"the rows have {len(named)} {kind}, {abridged(named, MAX_NAMED)}: losses per token of "
            "different tokenizers are not comparable"
        )
        help = (
            f"fit each by itself (--by {column}), compare losses per byte of text, or take a law with "
            "a variable or an index set for it"
        )
        place = f"{rows.table.name} column {column}"
        return [Diagnostic("D0142", message, "warning", place=place, help=help)]
    return []


def _different(rows: PremiseRows, role: str, column: str) -> list[str]:
    """The different tokenizers or vocabularies; empty for one, or if that is not sure."""
    texts = list(dict.fromkeys(rows.table.texts(column)))
    if "" in texts or len(texts) < 2:
        return []
    sizes = numbers_or_none(rows.table, column)
    if sizes is not None:
        padded = np.min(sizes) > 0 and np.max(sizes) <= MAX_PADDING * np.min(sizes)
        if role == "vocabulary" and (padded or np.min(sizes) <= 0):
            return []
    elif len({text.lower() for text in texts}) < 2:
        return []
    return sorted(texts, key=lambda text: (len(text), text))
