"""Corpora as text on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from lawdsl.core.diagnostics import printable
from lawdsl.reporting.terminal import show_rows

HEADERS = ("corpus", "documents", "tokens", "bytes a token", "vocabulary", "fingerprint")


def show_corpora(corpora: Sequence[dict[str, Any]], out: Console) -> None:
    """Print the facts of corpora, one row each.

    Args:
        corpora: the contents of their corpus.json.
        out: where they are printed.
    """
    show_rows(HEADERS, [_row(facts) for facts in corpora], out)


def _row(facts: dict[str, Any]) -> list[str]:
    documents, read = f"{facts['documents']:,}", facts["sources"].get("documents")
    return [
        printable(facts["folder"]),
        documents if read is None else f"{documents} of {read:,}",
        f"{facts['tokens']:,}",
        f"{facts['bytes'] / facts['tokens']:.2f}",
        f"{facts['vocabulary']:,}",
        facts["fingerprint"],
    ]
