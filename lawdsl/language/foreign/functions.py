"""Functions of other languages -> the formulas that they are: relu, softplus, clip, dot, log2."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lawdsl.language.keywords import AGGREGATES, FUNCTIONS, RENAMED

_FORMULAS = {
    "relu hinge0 pospart max0 relu6": "max({x}, 0)",
    "softplus log1pexp log1p_exp": "log(1 + exp({x}))",
    "sigmoid expit logistic inv_logit invlogit plogis": "1/(1 + exp(-{X}))",
    "logit qlogis": "log({X}/(1 - {X}))",
    "sq square squared sqr": "{X}^2",
    "cube cubed": "{X}^3",
    "cbrt": "{X}^(1/3)",
    "exp10 pow10": "10^{X}",
    "exp2 pow2": "2^{X}",
    "log2 log_2 lb ld": "log({x})/log(2)",
    "log1p": "log(1 + {x})",
    "log1m": "log(1 - {X})",
    "expm1": "exp({x}) - 1",
    "sinh": "(exp({x}) - exp(-{X}))/2",
    "cosh": "(exp({x}) + exp(-{X}))/2",
    "coth": "1/tanh({x})",
    "sech": "2/(exp({x}) + exp(-{X}))",
    "asinh arcsinh arsinh": "log({x} + sqrt({X}^2 + 1))",
    "acosh arccosh arcosh": "log({x} + sqrt({X}^2 - 1))",
    "atanh arctanh artanh": "log((1 + {X})/(1 - {X}))/2",
    "sec": "1/cos({x})",
    "csc": "1/sin({x})",
    "cot": "1/tan({x})",
    "reciprocal recip inv inverse": "1/{X}",
    "neg negative": "-{X}",
    "rsqrt": "1/sqrt({x})",
    "silu swish": "{X}/(1 + exp(-{X}))",
    "sign sgn": "{X}/abs({x})",
    "heaviside Heaviside step theta": "if {x} > 0 then 1 else 0",
    "pow power Power POWER": "{X}^{Y}",
    "hypot": "sqrt({X}^2 + {Y}^2)",
    "logaddexp": "log(exp({x}) + exp({y}))",
    "div divide Divide true_divide": "{X}/{Y}",
    "mul multiply times Multiply Times": "{X}*{Y}",
    "add plus Add Plus": "{x} + {y}",
    "sub subtract minus": "{x} - {Y}",
    "root nthroot surd": "{X}^(1/{Y})",
    "clip clamp Clip clamp_": "min(max({x}, {y}), {z})",
    "lerp": "{x} + {Z}*({y} - {X})",
}
FORMULAS = {name: text for names, text in _FORMULAS.items() for name in names.split()}
"""Function of another language -> its formula, of its arguments x, y, z; of X, Y, Z in brackets."""

PRODUCTS = frozenset(
    "dot inner matmul mm mv bmm matvec vdot sumproduct SUMPRODUCT inner_product dot_product "
    "weighted_sum scalar_product tensordot einsum DotProduct Dot".split()
)
"""Functions that multiply two arrays and sum over what they share."""

MODULES = frozenset(
    "np numpy math torch jnp jax sp sympy tf F nn scipy special pm stats cp cvxpy Math lax tt pt at "
    "functional pyo mp mpmath base".split()
)
"""What other languages write before a function and a dot."""

IMPORTED = MODULES | frozenset(
    "pandas pd matplotlib sklearn tensorflow keras statsmodels seaborn os sys re json typing dataclasses "
    "__future__ itertools functools collections pathlib random".split()
)
"""Modules that other languages import."""

ATOM = re.compile(r"[\w.]+(?:\[[\w, ]*\])?")


def filled(function: str, arguments: Sequence[str]) -> str | None:
    """The formula that a call of another language is; None for an unknown function.

    Args:
        function: its name.
        arguments: the texts of its arguments.
    """
    template = FORMULAS.get(function) or FORMULAS.get(function.lower())
    if function.lower() in ("mean", "avg", "average") and 2 <= len(arguments) <= 8:
        return f"({' + '.join(arguments)})/{len(arguments)}"
    if function.lower() in ("logsumexp", "lse") and 2 <= len(arguments) <= 8:
        return f"log({' + '.join(f'exp({a})' for a in arguments)})"
    if template is None:
        return None
    letters = "xyz"
    needed = {c.lower() for c in re.findall(r"\{(\w)\}", template)}
    if len(needed) != len(arguments) or len(arguments) > len(letters):
        return None
    values: dict[str, str] = {}
    for letter, argument in zip(letters, arguments, strict=False):
        called = re.fullmatch(r"\w+\(([^()]*)\)", argument)
        values[letter] = argument
        plain = ATOM.fullmatch(argument) or called
        values[letter.upper()] = argument if plain else f"({argument})"
    return template.format(**values)


def renamed(function: str) -> str | None:
    """The function of the language that another one calls so, as LN or Sqrt; None for none.

    Args:
        function: its name.
    """
    known = (*FUNCTIONS, *AGGREGATES)
    for word in (function, function.lower()):
        if word in RENAMED and RENAMED[word] in known:
            return RENAMED[word]
    return function.lower() if function.lower() in known and function not in known else None
