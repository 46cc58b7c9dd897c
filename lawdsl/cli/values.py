"""NAME=VALUE on the command line -> numbers in the units of a law or a question."""

from __future__ import annotations

import re
from collections.abc import Callable

import click

from lawdsl.core.quantities import UnreadableQuantity, parse_quantities, parse_quantity

LIST = re.compile(r"[\[({]?\s*([-+.\w]+(?:[\s,;]+[-+.\w]+)+)\s*[\])}]?")

Factors = tuple[tuple[str, int], ...]


def value_in(name: str, unit: Factors | None, text: str) -> float:
    """Parse a number as `parse_quantity` reads it: 7B, 1%, 7Gparam.

    Args:
        name: the name of the quantity, for the message.
        unit: the unit of the quantity: pairs of a unit and its power; None where it has none.
        text: the number.

    Returns:
        The number in the unit of the quantity.

    Raises:
        click.UsageError: not a number, or a unit of another dimension.
    """
    (value,) = _quantities(name, unit, text, lambda: [parse_quantity(text, unit)])
    return value


RANGE = re.compile(r"([0-9][\w.]*?)\s*(?:\.\.\.?|-|to|–|…)\s*([0-9][\w.]*)")
"""A range as other languages have it: `0..1`, `0-1`."""


def values_in(name: str, unit: Factors | None, text: str) -> list[float]:
    """Parse one number or several, as `parse_quantities` reads them: 1%,2% or 0:1:0.1.

    Args:
        name: the name of the quantity, for the message.
        unit: the unit of the quantity: pairs of a unit and its power; None where it has none.
        text: the numbers.

    Returns:
        The numbers in the unit of the quantity.

    Raises:
        click.UsageError: not numbers, or a unit of another dimension.
    """
    return _quantities(name, unit, text, lambda: parse_quantities(text, unit))


def _quantities(
    name: str,
    unit: Factors | None,
    text: str,
    parse: Callable[[], list[float]],
) -> list[float]:
    try:
        return parse()
    except UnreadableQuantity as error:
        from lawdsl.law.quantities import unit_text

        own = unit_text(unit) if unit else ""
        if error.dimension:
            raise click.UsageError(
                f"{name} is in {own or 'no unit'}, not {error.dimension}"
            ) from None
        with_unit = f", or with a unit such as {own}" if own else ""
        listed = LIST.fullmatch(text)
        inner = ",".join(re.split(r"[\s,;]+", listed[1].strip())) if listed else text
        if text.startswith("="):
            error.advice = f"write {name}{text.strip()[0]}{text.lstrip('= ')}, with one ="
        elif ends := RANGE.fullmatch(text):
            low, high = ends.groups()
            error.advice = f"write a range with its step, {name}={low}:{high}:0.1"
        elif inner != text:  # else it is what was given
            error.advice = f"write several values as {name}={inner}"
        advice = error.advice or f"write {name}=2.5{with_unit}, {name}=7B or {name}=1%"
        raise click.UsageError(f"{name}={text} is not a number; {advice}") from None
