"""A claim with its conditions as text."""

from __future__ import annotations

from lawdsl.language import tree
from lawdsl.language.printer import print_claim, print_items
from lawdsl.language.symbols import Claim


def claim_text(claim: Claim) -> str:
    """A claim in the syntax of the language, with its conditions."""
    claim_as_text = print_claim(claim.claim)
    for named, relations in claim.conditions:
        subscripts = named.subscripts if isinstance(named, tree.Element) else ()
        name = tree.name_of(named)
        items = [tree.Item(name, tree.BoundNode(r, limit), subscripts) for r, limit in relations]
        claim_as_text += (", " if " for " in claim_as_text else " for ") + print_items(items)
    return claim_as_text
