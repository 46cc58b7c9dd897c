"""Nothing of a law, a table or a label becomes code in an exported module."""

from __future__ import annotations

import ast
import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exports import NODE, fitted, in_node, module
from javascript import tokens
from planted import law_of
from quick import some, without

import lawdsl
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.keywords import KEYWORDS, RESERVED
from lawdsl.language.latex import escaped
from lawdsl.law.law import Law

PAYLOADS = (
    '"""\nimport os; os.environ["PWNED"] = "1"\n"""',
    "'''\nimport os; os.environ['PWNED'] = '1'\n'''",
    '\\"""; import os; os.environ["PWNED"] = "1"; """',
    "*/ globalThis.PWNED = 1; /*",
    "**//globalThis.PWNED = 1//",
    "\u2028globalThis.PWNED = 1\u2029//",
    "\nimport os; os.environ['PWNED'] = '1'",
    "\r\nimport os\x85import os\x0cimport os",
    '");globalThis.PWNED=1;("',
    "${globalThis.PWNED = 1}`",
    "{__import__('os').environ.update(PWNED='1')}",
    "</script><script>PWNED = 1</script>",
    "\u202e\u2066 reversed \u2069",
    "\\input{/etc/passwd} \\write18{rm} ^^5cinput $x$ % & # _ ~",
    "__proto__",
    "nul\x00byte and \ud800 surrogate",
    "Ünïcödé 数学 😀",
)
LANGUAGES = ("python", "numpy", "torch", "jax")


def shape(text: str) -> str:
    """A Python module without its texts: what would run."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def javascript_shape(text: str) -> list[tuple[str, str]]:
    """A JavaScript module without its texts and comments."""
    return [(kind, "" if kind == "string" else token) for kind, token in tokens(text)]


def with_texts(payload: str) -> Law:
    """A law with values, all texts of which are the payload."""
    law = law_of("variable x > 0\nparameter a\nL = a*x  unit nat/token").at(a=2.0)
    declared = law.declarations
    symbols = {name: replace(symbol, doc=payload) for name, symbol in declared.symbols.items()}
    output = replace(declared.output, doc=payload)
    changed = replace(
        declared, name=payload, title=payload, sources=(payload,), symbols=symbols, output=output
    )
    return replace(law, declarations=changed)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_text_of_a_law_stays_a_text(payload: str):
    harmless, attacked = with_texts("text"), with_texts(payload)
    for language in LANGUAGES:
        text = attacked.export(language)
        assert shape(text) == shape(harmless.export(language))
        assert text.isprintable() or set(re.sub("[ -~]", "", text)) <= {"\n", *payload}
    assert javascript_shape(attacked.to_javascript()) == javascript_shape(harmless.to_javascript())
    assert module(attacked.to_python()).predict(3.0) == 6.0
    assert "PWNED" not in os.environ


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_name_of_a_table_stays_a_text(payload: str):
    fit: Any = fitted("cmr.share")
    data = replace(fit.data, name=payload, where=(payload,), digest=payload)
    attacked = replace(fit, data=data)
    for language in LANGUAGES:
        assert shape(attacked.export(language)) == shape(fit.export(language))
    assert javascript_shape(attacked.to_javascript()) == javascript_shape(fit.to_javascript())
    comments = [line for line in attacked.to_latex().splitlines() if not line.startswith("%")]
    assert comments == [line for line in fit.to_latex().splitlines() if not line.startswith("%")]


@pytest.mark.parametrize("payload", some([p for p in PAYLOADS if "\ud800" not in p], 8))
def test_a_label_stays_a_text(payload: str):
    rng = np.random.default_rng(1)
    labels = (payload.strip(), "plain", "other")
    x = rng.uniform(1, 9, 60)
    column = np.tile(labels, 20)
    level = np.tile([1.0, 2.0, 3.5], 20)
    loss = (1 + level / x**0.5) * np.exp(0.01 * rng.normal(size=60))
    law = law_of("index i over task\nvariable x > 0\nparameter E, k[i], a > 0\nL[i] = E + k[i]/x^a")
    fits = lawdsl.fit(law, {"x": x, "task": list(column), "L": loss}, starts=1, claims=False)
    assert isinstance(fits, Fits)
    for language in ("python", "numpy"):
        made = module(fits.export(language))
        assert set(made.LABELS["task"]) == set(labels)
        found = float(made.predict(2.0, labels[0]))
        assert found == pytest.approx(fits(x=2.0, task=labels[0]), rel=1e-12)
    kinds = {kind for kind, _ in tokens(fits.to_javascript())}
    assert kinds <= {"string", "template", "name", "number", "mark"}
    body = "".join(line for line in fits.to_latex().splitlines() if not line.startswith("%"))
    assert escaped(labels[0]) in body
    assert "\\input" not in body and "\\write" not in body and "^^" not in body
    assert "PWNED" not in os.environ


WORDS = (
    "lambda class def import None self exec eval open print sum range abs float math np torch jax jnp"
    " predict parameters PARAMETERS LABELS FACTOR value slopes error part _value _inputs _power"
    " __proto__ constructor prototype toString hasOwnProperty arguments this new var function Math"
    " Object undefined NaN Infinity globalThis inputs await yield x _x v0 p0 k0 low high half QUANTILE"
).split()


NAMES = [name for name in WORDS if name not in RESERVED | KEYWORDS]


def called(place: str, name: str) -> Law:
    """A law of x = 3 and a = 1/2 in which one of the names is another."""
    names = {"variable": "q", "parameter": "r", "let": "s"} | {place: name}
    variable, parameter, let = names.values()
    text = f"variable {variable} > 0\nparameter {parameter}\nlet {let} = {parameter}*{variable}\n"
    return law_of(f"{text}L = {let}^2 + exp(-{let})").at(**{parameter: 0.5})


CALLED_AT_3 = 1.5**2 + math.exp(-1.5)


@pytest.mark.parametrize("name", some(NAMES, 20))
@pytest.mark.parametrize("place", ["variable", "parameter", "let"])
def test_a_name_is_an_identifier_only_where_it_may_be_one(place: str, name: str):
    """Every name that means something in a language, as variable, parameter and let of a law."""
    law = called(place, name)
    for language in ("python", "numpy"):
        made = module(law.export(language))
        assert made.predict(3.0) == pytest.approx(CALLED_AT_3, rel=1e-15)
        assert next(iter(made.gradient(3.0))) == (name if place == "variable" else "q")
    for language in ("torch", "jax"):
        ast.parse(law.export(language))
    identifiers = [token for kind, token in tokens(law.to_javascript()) if kind == "name"]
    assert "__proto__" not in identifiers and "prototype" not in identifiers


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="JavaScript is run by Node.js")
@pytest.mark.parametrize("place", ["variable", "parameter", "let"])
def test_a_name_means_nothing_to_javascript(place: str, tmp_path: Path):
    for name in NAMES:
        row = json.loads(f'{{"{name if place == "variable" else "q"}": 3}}')
        results = in_node(called(place, name).to_javascript(), [row], tmp_path)
        assert results[0] == [pytest.approx(CALLED_AT_3, rel=1e-15)], name
        assert in_node(called(place, name).to_javascript(), [{}], tmp_path)[0][0].startswith(
            "no value"
        )


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="JavaScript is run by Node.js")
def test_a_text_runs_nothing_in_javascript(tmp_path: Path):
    for payload in PAYLOADS:
        text = with_texts(payload).to_javascript()
        text += 'if ("PWNED" in globalThis) throw new Error("PWNED");\n'
        assert in_node(text, [{"x": 3}], tmp_path)[0] == [6.0]


CALLED = {
    *("float", "sum", "range", "abs", "hasattr", "isinstance", "len", "list", "zip", "set", "str"),
    *("bool", "enumerate", "ValueError", "TypeError"),
}
"""The builtins that generated Python calls."""


@pytest.mark.parametrize(
    "name",
    without(
        ["chinchilla", "repeated", "mixing.explicit", "mixing.m3"], ["chinchilla", "mixing.m3"]
    ),
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_module_calls_its_own_functions_and_those_of_its_library(name: str, language: str):
    tree = ast.parse(fitted(name).export(language))
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    libraries = {"math", "np", "torch", "jnp", "jax"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= {
                *("math", "numpy", "torch", "jax", "jax.numpy")
            }
        assert not isinstance(node, ast.ImportFrom | ast.Global | ast.Lambda)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id in own | CALLED
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            known = isinstance(of, ast.Name) and of.id in libraries
            assert known or node.func.attr in (
                "keys",
                "index",
                "join",
                "reshape",
                "item",
                "is_floating_point",
            )
