"""All rules that rewrite a line of another form, in the order in which they are tried."""

from __future__ import annotations

from lawdsl.language import (
    foreign_claims,
    foreign_conditionals,
    foreign_declarations,
    foreign_definitions,
    foreign_derivatives,
    foreign_headers,
    foreign_numbers,
    foreign_statements,
    foreign_sums,
)
from lawdsl.language.whole_lines import Rule

WHOLE_LINE_RULES: tuple[Rule, ...] = (
    *foreign_statements.RULES[:1],
    *foreign_definitions.RULES,
    *foreign_sums.RULES,
    *foreign_numbers.FIRST,
    *foreign_declarations.RULES,
    *foreign_numbers.LAST,
    *foreign_derivatives.RULES,
    *foreign_claims.RULES,
    *foreign_headers.RULES,
    *foreign_statements.RULES[1:-1],
    *foreign_conditionals.RULES,
    foreign_statements.RULES[-1],  # np.where is a condition before it is a function
)
"""The specific before the general."""

SEVERAL_LINES_RULES: tuple[Rule, ...] = (foreign_conditionals.branches,)
"""Those for what stands on several lines, as `if c: L = a` and `else: L = b` do."""
