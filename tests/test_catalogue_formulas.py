"""Every shipped law is compared with a number that the tool did not compute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from catalogue_formulas import FORMULAS
from catalogue_numbers_elsewhere import COMPUTED, ELSEWHERE, REFITTED_WITH, UNPRINTED
from planted import PLANTED, Planted
from test_catalogue_certified import CERTIFIED, SHARES
from test_catalogue_numbers import ROWS
from test_catalogue_optima import OPTIMA
from test_catalogue_refits import CHECKS
from test_catalogue_tables import TABLES

import lawdsl
from lawdsl.language.library import shipped

AGAIN: dict[str, Planted] = {**PLANTED, **FORMULAS}


@pytest.mark.parametrize("name", AGAIN)
def test_the_law_is_its_formula_in_numpy(name: str):
    law, again = lawdsl.load(name).sample, AGAIN[name]
    assert law.output == again.output
    numbers = {s.name: s.value for s in law.settings} | dict(again.parameters)
    fixed = {
        law.symbols[n]: sp.Float(repr(float(v))) for n, v in numbers.items() if n in law.symbols
    }
    columns = {n: v for n, v in again.columns.items() if n in law.symbols}
    compute = sp.lambdify(
        [law.symbols[n] for n in columns], law.expression.xreplace(fixed), "numpy"
    )
    expected = again.formula(**again.columns, **again.parameters)
    np.testing.assert_allclose(compute(*columns.values()), expected, rtol=1e-10)


def test_every_law_has_a_number_that_its_source_or_a_public_table_gives():
    """A law of which neither prints a number is named, with the reason, and is its formula."""
    numbers = {row.law for row in ROWS} | set(OPTIMA) | set(TABLES) | set(ELSEWHERE) | set(COMPUTED)
    numbers |= set(CERTIFIED) | set(SHARES) | set(CHECKS) | set(REFITTED_WITH)
    assert set(REFITTED_WITH.values()) <= set(CHECKS)
    assert set(shipped("law")) - numbers - set(UNPRINTED) == set()
    assert numbers & set(UNPRINTED) == set()
    assert set(UNPRINTED) | set(COMPUTED) <= set(AGAIN) and all(UNPRINTED.values())


@pytest.mark.parametrize("law", ELSEWHERE)
def test_the_number_of_a_law_is_where_the_list_says(law: str):
    file, test = ELSEWHERE[law].split("::")
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    assert f"def {test}(" in text and (f'"{law}"' in text or f".{law.split('.')[-1]}" in text)
