"""Law + fitted values -> the values of its fixed and tied parameters."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from lawdsl.fitting.result_parts import FixedParameter
from lawdsl.language import tree
from lawdsl.law.law import Law


def fixed_values(law: Law, values: Mapping[str, float]) -> dict[str, FixedParameter]:
    """Evaluate the fixed and tied parameters of a law, in the order of their declarations.

    Args:
        law: a law with fixed or tied parameters.
        values: parameter name -> fitted value.
    """
    point = {q.symbol: sp.Float(q.value, 17) for q in law.settings if q.value is not None}
    point |= {law.symbols[name]: sp.Float(x, 17) for name, x in values.items()}
    values_of_fixed = {}
    ties, fixed = law.ties, law.fixed
    for name in law.declarations.symbols:
        if name in ties:
            number = float(law.to_sympy(tree.Name(name)).xreplace(point))
            values_of_fixed[name] = FixedParameter(number, ties[name])
        elif name in fixed:
            values_of_fixed[name] = FixedParameter(fixed[name])
    return values_of_fixed
