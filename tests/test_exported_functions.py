"""Every function of the language in each target of exports."""

from __future__ import annotations

import json
import math
import re
import subprocess
from typing import Any

import numpy as np
import pytest
import torch
from exports import (
    NODE,
    SLOPE_RTOL,
    VALUE_RTOL,
    close,
    module,
)
from planted import law_of
from test_exports import numpy_of_jax

from lawdsl.compiling.autodiff import Slopes
from lawdsl.compiling.tape import compile_tape
from lawdsl.core import functions as lawdsl_functions
from lawdsl.exporting.python_helpers import PYTHON as PYTHON_HELPERS, TORCH as TORCH_HELPERS
from lawdsl.exporting.targets import JAVASCRIPT, JAX, NUMPY, PYTHON, TORCH

# ---- every function of the language


FUNCTIONS = {
    "exp(-a*x)": (0.1, 5.0),
    "log(x) + log10(x)": (0.1, 5.0),
    "sqrt(x)*sin(a*x) + cos(x)": (0.1, 5.0),
    "tan(x/9) + atan(a*x) + tanh(x - 2)": (0.1, 5.0),
    "abs(x - 2)*a + max(x, 2, a*x)": (0.1, 5.0),
    "min(x, a, 3)^2 - -x + (-x)*(-(-a))": (0.1, 5.0),
    "(x - 1)^3/(x + 1) - 2*(a - x - (1 - a))": (0.1, 5.0),
    "2^x + x^a^2 + pi*log(10) + 1/3": (0.1, 5.0),
    "max(min(a*x, exp(x)), 0)": (-2.0, 2.0),
}


@pytest.mark.parametrize("target", ["python", "numpy", "torch", "jax"])
@pytest.mark.parametrize("formula", FUNCTIONS)
def test_functions_and_their_derivatives(
    formula: str, target: str, monkeypatch: pytest.MonkeyPatch
):
    if target == "jax":
        numpy_of_jax(monkeypatch)
    law = law_of(f"variable x\nparameter a\nL = {formula}").at(a=0.7)
    made = module(law.export(target))
    x = np.linspace(*FUNCTIONS[formula], 57)
    tape = compile_tape([law.expression], [q.symbol for q in (*law.variables, *law.settings)])
    inputs = np.array([x, np.full_like(x, 0.7)])
    values, slopes = Slopes(tape).values_and_gradients(inputs)
    with np.errstate(all="ignore"):
        found = [made.predict(t) for t in x] if target == "python" else made.predict(x)
        close(found, values[0], VALUE_RTOL)
        by_a = [
            made.parameter_gradient(t)["a"] for t in (x.tolist() if target == "python" else [x])
        ]
    close(
        np.broadcast_to(np.hstack([np.asarray(b) for b in by_a]), x.shape), slopes[0, 1], SLOPE_RTOL
    )


@pytest.mark.parametrize("name", lawdsl_functions.FUNCTIONS)
def test_every_function_is_one_of_each_library(name: str):
    for target, library in ((NUMPY, np), (TORCH, torch), (PYTHON, math)):
        spelled = re.match(r"(\w+)\.(\w+)\(", target.call(name))
        if spelled is not None:
            assert spelled[1] == target.library and hasattr(library, spelled[2])
    assert JAX.call(name) == NUMPY.call(name).replace("np.", "jnp.")


def test_outside_its_domain_a_function_is_nan_or_infinite_and_never_complex():
    law = law_of("variable x\nparameter a\nL = a*sqrt(x) + log(x) + x^-1 + exp(x) + (-x)^0.5").at(
        a=2
    )
    python, arrays = module(law.to_python()), module(law.to_numpy())
    for x in (-2.0, 0.0, 2.0, 1e4, -1e4):
        found, expected = python.predict(x), float(arrays.predict(x))
        assert type(found) is float
        assert found == expected or (math.isnan(found) and math.isnan(expected))


def spelled_at(target: Any, op: str, texts: list[str]) -> str:
    """An operation of a target at some arguments."""
    infix = {"divide": "{0} / {1}", "power": "{0} ** {1}"}
    text = infix[op] if op in infix and op not in target.spellings else target.call(op)
    return text.format(*texts)


AT_NAN = {
    **{name: ["nan"] for name in (*lawdsl_functions.FUNCTIONS, *lawdsl_functions.DERIVED)},
    "divide": ["nan", "zero"],
    "power": ["nan", "two"],
    "min": ["nan", "two"],
    "max": ["two", "nan"],
}


ARGUMENTS = {"nan": math.nan, "zero": 0.0, "two": 2.0}


@pytest.mark.parametrize("op", AT_NAN)
def test_what_is_no_number_stays_none_in_every_target(op: str):
    arrays = {name: np.array(x) for name, x in ARGUMENTS.items()}
    tensors = {name: torch.tensor(x, dtype=torch.float64) for name, x in ARGUMENTS.items()}
    targets: Any = (
        (PYTHON, PYTHON_HELPERS, ARGUMENTS),
        (NUMPY, {}, arrays),
        (TORCH, TORCH_HELPERS, tensors),
    )
    assert spelled_at(JAX, op, AT_NAN[op]) == spelled_at(NUMPY, op, AT_NAN[op]).replace(
        "np.", "jnp."
    )
    for target, helpers, values in targets:
        text = "import math\nimport numpy as np\nimport torch\n" + "".join(helpers.values())
        made = module(
            f"{text}\ndef f(nan, zero, two):\n    return {spelled_at(target, op, AT_NAN[op])}"
        )
        assert math.isnan(float(made.f(**values))), target.name


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="JavaScript is run by Node.js")
def test_what_is_no_number_stays_none_in_javascript():
    names = {"nan": "NaN", "zero": "0", "two": "2"}
    texts = [spelled_at(JAVASCRIPT, op, [names[x] for x in of]) for op, of in AT_NAN.items()]
    assert NODE is not None
    script = f"console.log(JSON.stringify([{', '.join(texts)}].map(Number.isNaN)))"
    done = subprocess.run([NODE, "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [True] * len(AT_NAN)


@pytest.mark.parametrize("x", [-math.inf, -2.0, 0.0, 2.0, math.inf])
def test_steps_and_signs_are_those_of_numpy(x: float):
    text = "import math\n" + "".join(PYTHON_HELPERS.values())
    python, arrays = module(text), "import numpy as np\n"
    made = module(f"{arrays}def f(x):\n    return {NUMPY.call('step').format('x')}")
    assert python._step(x) == float(made.f(np.array(x))) == np.heaviside(x, 0.5)
    assert python._sign(x) == np.sign(x)
