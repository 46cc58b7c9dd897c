"""NAME=VALUE on the command line -> numbers in the units of a law or a question."""

from __future__ import annotations

import re
from collections.abc import Callable

import click

from lawdsl.cli.meant_values import NUMBER, meant_value
from lawdsl.core.quantities import MAGNITUDES, UnreadableQuantity, parse_quantities, parse_quantity

WITH_UNIT = re.compile(rf"\s*{NUMBER}\s*([^\s\d,;:.–…)-][^,;:]*?)\s*")
"""A number, and what follows it."""

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
        from lawdsl.core.units import unit_text

        own = unit_text(unit) if unit else ""
        advice = error.advice or meant_value(name, text, unit, error.dimension)
        ending = f"; {advice}" if advice else ""
        if error.dimension:
            message = f"{name} is in {own or 'no unit'}, not {error.dimension}"
            raise click.UsageError(f"{message}{ending}") from None
        if not error.says:
            raise click.UsageError(f"{name}={text}: {advice}") from None
        raise click.UsageError(
            f"{name}={text} {error.says}{_unread(text, name, own)}{ending}"
        ) from None


def _unread(text: str, name: str, own: str) -> str:
    """The text after the number, if it looks like a unit."""
    match = WITH_UNIT.fullmatch(text)
    if match is None or match[1] in MAGNITUDES or re.search(r"[0-9%*^×·]|^x", match[1]):
        return ""
    return f": `{match[1]}` is not a unit of {name}{f' ({own})' if own else ''}"
