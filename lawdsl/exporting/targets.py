"""The languages that formulas are written in: a row each, which says how each operation is spelled."""

from __future__ import annotations

import builtins
import keyword
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lawdsl.core.functions import CHOICE, EXTREMA
from lawdsl.exporting.names import javascript_string, python_string
from lawdsl.exporting.program import FINITE_LOG, REACHED

CALLS = ("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "tanh", "sinh", "cosh", "abs", "sign")
"""Functions that NumPy, PyTorch and JAX have under the name of the language."""


@dataclass(frozen=True)
class ExportTarget:
    """A language, with an array library or none.

    Attributes:
        name: as `--to` takes it.
        suffix: of its files.
        spellings: operation -> its text, with `{0}` and `{1}` for the texts of its arguments.
        library: the name under which other functions of the language are called.
        infix: whether powers and quotients are operators, with the arithmetic of IEEE 754.
        assignment: a statement that names a value.
        each: the list of an expression along an axis.
        sum, prod: the sum and the product along an axis.
        choice: one expression where a condition holds, else another; conditions are scalars.
        equal, both: a comparison of two whole numbers, and the conjunction of two.
        string: a text as a literal.
        indent: of a line within a block.
        infinity, nan: numbers that are not finite.
        reserved: words that no name of a law may be.
    """

    name: str
    suffix: str
    spellings: Mapping[str, str]
    library: str
    infix: bool = True
    assignment: str = "{name} = {value}"
    each: str = "[{body} for {index} in range({count})]"
    sum: str = "sum({body} for {index} in range({count}))"
    prod: str = "math.prod({body} for {index} in range({count}))"
    choice: str = "({yes} if {condition} else {no})"
    equal: str = "=="
    both: str = " and "
    string: Callable[[str], str] = python_string
    indent: str = "    "
    infinity: str = "math.inf"
    nan: str = "math.nan"
    reserved: frozenset[str] = field(default=frozenset(), repr=False)

    def number(self, x: float) -> str:
        """A number as a literal that gives it back exactly."""
        if math.isnan(x):
            return self.nan
        if math.isinf(x):
            return self.infinity if x > 0 else f"-{self.infinity}"
        return repr(x)

    def call(self, op: str) -> str:
        """The spelling of an operation; a further function of the language is called by its name."""
        return self.spellings.get(op) or f"{self.library}.{op}({{0}})"


def _of_library(library: str, arctan: str, where: str = "where") -> dict[str, str]:
    """The spellings of an array library."""
    l = library  # noqa: E741
    return {
        **{name: f"{l}.{name}({{0}})" for name in CALLS},
        "atan": f"{l}.{arctan}({{0}})",
        # x + 0.5 is 0.5 at 0, and NaN at NaN
        "step": f"{l}.{where}({{0}} > 0, 1.0, {l}.{where}({{0}} < 0, 0.0, {{0}} + 0.5))",
        **{name: f"{l}.{name}imum({{0}}, {{1}})" for name in EXTREMA},
        CHOICE: f"{l}.{where}({{0}} > 0, {{1}}, {l}.{where}({{0}} <= 0, {{2}}, {{0}}))",
        REACHED: f"{l}.{where}({{0}} == {{1}}, 1.0, 0.0)",
        FINITE_LOG: f"{l}.log({l}.{where}({{0}} == 0, 1.0, {{0}}))",
        "where": f"{l}.{where}({{0}}, {{1}}, {{2}})",
        "all": f"bool({l}.all({{0}}))",
        "finite": f"{l}.isfinite({{0}})",
    }


_MODULE = frozenset(
    "math np torch jax jnp predict predict_with_interval gradient parameter_gradient parameters"
    " PARAMETERS LABELS FACTOR NULL_SPACE SCALE QUANTILE LEVEL PARTS value half low high error"
    " slopes part name labels row".split()
)
"""The names of generated modules; those with an underscore before them no name of a law can be."""

_PYTHON_WORDS = frozenset((*keyword.kwlist, *keyword.softkwlist, *dir(builtins))) | _MODULE

_JAVASCRIPT_WORDS = _MODULE | frozenset(
    "abstract arguments as async await boolean break byte case catch char class const continue"
    " debugger default delete do double else enum eval export extends false final finally float"
    " for from function get goto if implements import in instanceof int interface let long native"
    " new null of package private protected public return set short static super switch"
    " synchronized this throw throws transient true try typeof using var void volatile while with"
    " yield undefined NaN Infinity Math Number Object Array String Boolean Symbol Map Set JSON"
    " Date RegExp Error RangeError Reflect Proxy Promise Function globalThis window document self"
    " inputs constructor prototype".split()
)

PYTHON = ExportTarget(
    "python",
    ".py",
    {
        **{name: f"_{name}({{0}})" for name in ("exp", "log", "log10", "sqrt", "sin", "cos")},
        **{name: f"_{name}({{0}})" for name in ("tan", "sinh", "cosh", "sign", "step")},
        **{name: f"math.{name}({{0}})" for name in ("tanh", "atan")},
        "abs": "abs({0})",
        "power": "_power({0}, {1})",
        "divide": "_divide({0}, {1})",
        **{name: f"_{name}({{0}}, {{1}})" for name in EXTREMA},
        CHOICE: "({1} if {0} > 0 else {2} if {0} <= 0 else {0})",
        REACHED: "float({0} == {1})",
        FINITE_LOG: "(_log({0}) if {0} != 0 else 0.0)",
        "where": "({1} if {0} else {2})",
        "all": "({0})",
        "finite": "math.isfinite({0})",
    },
    "math",
    infix=False,
    reserved=_PYTHON_WORDS,
)

NUMPY = ExportTarget("numpy", ".py", _of_library("np", "arctan"), "np", reserved=_PYTHON_WORDS)

TORCH = ExportTarget(
    "torch",
    ".py",
    {
        **_of_library("torch", "atan"),
        "sign": "_sign({0})",
        CHOICE: "_choice({0}, {1}, {2})",
        # both arguments must be tensors
        **{name: f"_{name}({{0}}, {{1}})" for name in EXTREMA},
    },
    "torch",
    reserved=_PYTHON_WORDS,
)

JAX = ExportTarget("jax", ".py", _of_library("jnp", "arctan"), "jnp", reserved=_PYTHON_WORDS)

JAVASCRIPT = ExportTarget(
    "javascript",
    ".mjs",
    {
        **{name: f"Math.{name}({{0}})" for name in CALLS},
        "atan": "Math.atan({0})",
        "step": "({0} > 0 ? 1.0 : {0} < 0 ? 0.0 : {0} + 0.5)",
        "power": "Math.pow({0}, {1})",
        **{name: f"Math.{name}({{0}}, {{1}})" for name in EXTREMA},
        CHOICE: "({0} > 0 ? {1} : {0} <= 0 ? {2} : {0})",
        REACHED: "({0} === {1} ? 1.0 : 0.0)",
        FINITE_LOG: "({0} === 0 ? 0.0 : Math.log({0}))",
        "where": "({0} ? {1} : {2})",
        "all": "({0})",
        "finite": "Number.isFinite({0})",
    },
    "Math",
    assignment="const {name} = {value};",
    each="_each({count}, ({index}) => {body})",
    sum="_sum({count}, ({index}) => {body})",
    prod="_prod({count}, ({index}) => {body})",
    choice="({condition} ? {yes} : {no})",
    equal="===",
    both=" && ",
    string=javascript_string,
    indent="  ",
    infinity="Infinity",
    nan="NaN",
    reserved=_JAVASCRIPT_WORDS,
)
