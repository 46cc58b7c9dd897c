"""Declarations of a law + changes -> the declarations with all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lawdsl.language.added_bounds import add_bound, leave_out
from lawdsl.language.fix_and_tie import with_fixed_and_tied
from lawdsl.language.priors import with_priors
from lawdsl.language.resolver import Declarations


def changed_declarations(
    declarations: Declarations,
    dropped: Sequence[str],
    added: Sequence[str],
    held: Sequence[str],
    priors: Sequence[str],
    given: Mapping[str, float],
) -> Declarations:
    """Change the declarations of a law.

    Args:
        declarations: those of its file.
        dropped: the texts of bounds that are removed.
        added: the texts of bounds that are added.
        held: `fix` and `tie` statements.
        priors: the texts of priors.
        given: setting or fixed parameter -> its value.

    Raises:
        LawdslError: a change that the law cannot have.
    """
    for bound in dropped:
        declarations = leave_out(declarations, bound) or declarations
    for bound in added:
        declarations = add_bound(declarations, bound)
    if held:
        declarations = with_fixed_and_tied(declarations, tuple(held), dict(given), dropped)
    return with_priors(declarations, tuple(priors), dict(given)) if priors else declarations
