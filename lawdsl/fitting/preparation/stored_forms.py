"""A law compiled for fits <-> plain data, for files; what is read is checked, and nothing of it is
executed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from lawdsl.compiling.model import Model
from lawdsl.compiling.stored_parts import parts_of_plain, plain_parts
from lawdsl.core.records import read
from lawdsl.fitting.preparation.build_problem import CompiledLaw, SolvedFactors
from lawdsl.fitting.preparation.cached_algebra import NOT_CACHED
from lawdsl.fitting.transforms import Limit, Transform, Transforms

NO_ROWS = np.zeros((0, 1))  # a limit depends on no variable


def plain_form(form: CompiledLaw) -> Any:
    """A compiled law as plain data.

    Args:
        form: the law; not one that is computed on arrays.
    """
    count = len(form.rests) + (form.variables or 0)
    model = form.model(np.ones((count, 1)))
    if not isinstance(model, Model):
        return NOT_CACHED
    return {
        "parts": plain_parts(model.parts, second=True),
        "transforms": plain_transforms(form.transforms),
        "exponential": form.exponential,
        "variables": form.variables,
        "rests": form.rests,
    }


def form_of_plain(content: Any, parameters: int) -> CompiledLaw:
    """Rebuild a compiled law from the plain data of `plain_form`.

    Args:
        content: from a file that may be damaged.
        parameters: how many parameters the law has.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, OverflowError: data of another form.
    """
    count = read(int, content["variables"])
    rests = tuple(read(tuple[int, ...], rest) for rest in content["rests"])
    if any(not 0 <= number < count for rest in rests for number in rest):
        raise ValueError("a column that does not exist")
    parts = parts_of_plain(content["parts"], count + len(rests), parameters)
    transforms = transforms_of_plain(content["transforms"], parameters)
    exponential = read(bool, content["exponential"])
    return CompiledLaw(partial(Model, parts), transforms, exponential, count, rests)


def plain_transforms(transforms: Transforms) -> Any:
    """Transforms of parameters as plain data.

    Args:
        transforms: one for each parameter.
    """
    return [[t.name, *map(_plain_limit, t.sides)] for t in transforms]


def transforms_of_plain(content: Any, parameters: int) -> Transforms:
    """Rebuild transforms from the plain data of `plain_transforms`.

    Args:
        content: from a file that may be damaged.
        parameters: how many parameters the law has.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, OverflowError: data of another form.
    """
    transforms = Transforms(
        Transform(read(str, name), _limit(lower, parameters), _limit(upper, parameters))
        for name, lower, upper in content
    )
    if len(transforms) != parameters:
        raise ValueError("not one transform for each parameter")
    return transforms


def plain_factors(solved: SolvedFactors | None) -> Any:
    """A reparametrised law as plain data; null for none.

    Args:
        solved: the law.
    """
    if solved is None:
        return None
    return {"compiled": plain_form(solved.compiled), "factors": sorted(solved.factors)}


def factors_of_plain(content: Any, parameters: int) -> SolvedFactors | None:
    """Rebuild a reparametrised law from the plain data of `plain_factors`.

    Args:
        content: from a file that may be damaged.
        parameters: how many parameters the law has.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, OverflowError: data of another form.
    """
    if content is None:
        return None
    factors = positions(content["factors"], parameters)
    return SolvedFactors(form_of_plain(content["compiled"], parameters), frozenset(factors))


def positions(content: Any, count: int) -> tuple[int, ...]:
    """Positions in a list of `count`, from plain data.

    Args:
        content: from a file that may be damaged.
        count: the length of the list.

    Raises:
        ValueError: something else.
    """
    numbers = read(tuple[int, ...], content)
    if any(not 0 <= number < count for number in numbers):
        raise ValueError("a position that does not exist")
    return numbers


def _plain_limit(limit: Limit | None) -> Any:
    if limit is None:
        return None
    formula = None if limit.formula is None else plain_parts(limit.formula.parts, second=True)
    number = limit.number if formula is None else None
    return [number, formula, limit.closed, limit.positive]


def _limit(content: Any, parameters: int) -> Limit | None:
    if content is None:
        return None
    number, formula, closed, positive = content
    flags = read(bool, closed), read(bool, positive)
    if formula is None:
        return Limit(read(float, number), None, *flags)
    return Limit(np.nan, Model(parts_of_plain(formula, 0, parameters), NO_ROWS), *flags)
