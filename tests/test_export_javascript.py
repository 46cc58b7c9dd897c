"""Exported JavaScript, as text and in Node.js."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exports import (
    DOMAINS,
    INTERVAL_RTOL,
    NODE,
    POINTS,
    SLOPE_RTOL,
    VALUE_RTOL,
    Points,
    close,
    fitted,
    in_node,
    mixture,
    module,
    points,
)
from javascript import tokens
from planted import PLANTED

LAWS = sorted(PLANTED)


# ---- as text


GLOBALS = {"Math", "Number", "Object", "Array", "String", "Set", "Infinity", "NaN", "undefined"}
GLOBALS |= {"RangeError", "TypeError"}
WORDS = set("export const let function return if throw new null typeof for".split())


@pytest.mark.parametrize("name", ["chinchilla", "repeated", "mixing.explicit", "mixing.m3"])
def test_a_module_is_made_of_tokens_and_uses_only_what_it_declares(name: str):
    found = tokens(fitted(name).to_javascript())
    names = [token for kind, token in found if kind == "name"]
    declared, used = set[str](), set[str]()
    for before, (kind, token), behind in zip(
        [("", ""), *found], found, [*found[1:], ("", "")], strict=False
    ):
        if kind != "name" or token in WORDS:
            continue
        of_object = before[1] == "." or (behind[1] == ":" and before[1] in ("{", ","))
        if not of_object:
            used.add(token)
    # names are declared by const, let and function, in patterns, and as parameters of functions
    text = " ".join(token for _, token in found)
    for group in re.findall(
        r"(?:const|let) (\w+)|function (\w+)|const \[ ([^\]]*) \]|\( ([^()]*) \) (?:=>|\{)", text
    ):
        declared |= set(re.findall(r"[A-Za-z_]\w*", " ".join(group)))
    assert used <= declared | GLOBALS | WORDS
    assert "predict" in names and "eval" not in names and "Function" not in names


# ---- in Node.js


def flat(values: Any) -> list[Any]:
    """The entries of nested lists."""
    return [x for each in values for x in flat(each)] if isinstance(values, list) else [values]


def rows_of(at: Points, count: int) -> list[dict[str, Any]]:
    return [{n: x[k].tolist() for n, x in at.values.items()} | at.labels for k in range(count)]


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="JavaScript is run by Node.js")
@pytest.mark.parametrize("name", LAWS)
def test_the_javascript_module_computes_what_the_fit_does(name: str, tmp_path: Path):
    fit = fitted(name)
    at = points(fit)
    rows = rows_of(at, POINTS)
    values, intervals, by_variable, slopes = in_node(fit.to_javascript(), rows, tmp_path)
    close(values, fit.predict(at.table), VALUE_RTOL)
    band = fit.predict_with_errors(at.table, discrepancy=0)
    found = np.array(intervals, dtype=float).T
    for ends, expected in zip(found, (band.values, band.low, band.high), strict=True):
        close(ends, expected, INTERVAL_RTOL)
    numpy = module(fit.to_numpy())
    for function, rows_of_slopes in (
        (numpy.parameter_gradient, slopes),
        (numpy.gradient, by_variable),
    ):
        exact = function(**at.values, **at.labels)
        assert set(exact) == set(rows_of_slopes[0])
        for name_of, expected in exact.items():
            arrays = np.array([np.broadcast_to(x, POINTS) for x in flat(expected)], dtype=float)
            found = np.array([flat([row[name_of]]) for row in rows_of_slopes], dtype=float).T
            close(found, arrays, SLOPE_RTOL)


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="JavaScript is run by Node.js")
def test_the_javascript_module_checks_its_domain(tmp_path: Path):
    good = {"N": 1.0, "D": 2.0, "r": 0.5}
    bad = [{"N": -1.0}, {"r": 1.5}, {"N": "1"}, {"N": None}]
    rows = [good | each for each in bad] + [{"N": 1.0, "D": 2.0}]
    for results in in_node(fitted("dcpt.l3").to_javascript(), rows, tmp_path):
        assert results[0] == "N = -1 is outside its domain: N > 0"
        assert results[1] == "r = 1.5 is outside its domain: r <= 1"
        assert results[2] == results[3] == "N is not a number"
        assert results[4] == "no value of r"
    shares = dict(zip(DOMAINS, (0.4, 0.1, 0.2, 0.3), strict=True))
    rows = [{"r": shares, "validation": "wiki"}, {"r": shares, "validation": "poems"}]
    rows += [{"r": {**shares, "web": 1.0}, "validation": "wiki"}]
    values = in_node(mixture().to_javascript(), rows, tmp_path)[0]
    assert values[0] == pytest.approx(mixture()(r=shares, validation="wiki"), rel=VALUE_RTOL)
    assert "none of github, books, wiki" in values[1] and "sum of r" in values[2]
