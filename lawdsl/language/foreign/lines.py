"""All rules that rewrite a line of another form, in the order in which they are tried."""

from __future__ import annotations

from lawdsl.language.foreign import (
    claims,
    conditionals,
    declarations,
    definitions,
    derivatives,
    headers,
    numbers,
    statements,
    sums,
)
from lawdsl.language.mistakes.whole_lines import Rule

WHOLE_LINE_RULES: tuple[Rule, ...] = (
    *statements.RULES[:1],
    *definitions.RULES,
    *sums.RULES,
    *numbers.FIRST,
    *declarations.RULES,
    *numbers.LAST,
    *derivatives.RULES,
    *claims.RULES,
    *headers.RULES,
    *statements.RULES[1:-1],
    *conditionals.RULES,
    statements.RULES[-1],  # np.where is a condition before it is a function
)
"""The specific before the general."""

SEVERAL_LINES_RULES: tuple[Rule, ...] = (conditionals.branches,)
"""Those for what stands on several lines, as `if c: L = a` and `else: L = b` do."""
