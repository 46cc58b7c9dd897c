"""Text that people write for a number -> the number: 7B, 70M tokens, 1%, 1.5e21 FLOP, 0:1:0.1.

A magnitude (k, M, B, T or a word) refers to the base unit: for a variable declared in Gparam, 7B is
7. Nothing is guessed: ambiguous text is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from lawdsl.core.units import PREFIXES, parse_unit, size_and_dimension, with_si_prefix

Factors = Sequence[tuple[str, int]]

MAGNITUDES = {
    **{name: 1e3 for name in ("k", "K", "thousand")},
    **{name: 1e6 for name in ("M", "million")},
    **{name: 1e9 for name in ("B", "G", "bn", "billion")},
    **{name: 1e12 for name in ("T", "tn", "trillion")},
    **{name: 1e15 for name in ("P", "quadrillion")},
}
"""Texts that may follow a number: the letters of model cards, SI prefixes, and words."""

MAX_RANGE = 100_000  # numbers in one range

_NUMBER = re.compile(
    r"\s*(?P<number>[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)\s*(?P<rest>.*?)\s*"
)
_NOT_FINITE = {"nan", "inf", "-inf", "+inf"}
_GROUPED = re.compile(
    r"\s*[+-]?[0-9]{1,3}(?:,[0-9]{3})*,0[0-9]{2}(?:,[0-9]{3})*(?:\.[0-9]*)?[^0-9]*"
)
_DECIMAL_COMMA = re.compile(r"\s*(?P<whole>[+-]?[0-9]{1,2}),\s*(?P<decimals>[1-9][0-9]{2,})\s*")
_RATIO = re.compile(r"\s*[x×]\s*(?P<ratio>.+)")


class UnreadableQuantity(ValueError):
    """A text that is not a number; `advice` states how to write it, and is empty if there is no
    advice; `says` is what is wrong.
    """

    def __init__(
        self, advice: str = "", *, dimension: str = "", says: str = "is not a number"
    ) -> None:
        super().__init__(advice)
        self.advice, self.dimension, self.says = advice, dimension, says


def parse_quantity(text: str, unit: Factors | None) -> float:
    """Parse one number, which may have a magnitude, a percent sign or a unit of its own.

    Args:
        text: the text: `2.5`, `7B`, `70 million`, `1%`, `7Gparam`, `7B params`, `1.5e21 FLOP`.
        unit: the unit of the quantity, as pairs of a unit and its power; None where it has none.

    Returns:
        The number in the unit of the quantity; `nan` and `inf` are returned as they are, and are
        for the caller to refuse.

    Raises:
        UnreadableQuantity: not a number, a number outside the range of floats, or a unit of another
            dimension.
    """
    if text.strip().lower() in _NOT_FINITE:
        return float(text)
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise UnreadableQuantity
    number = float(match["number"].replace("_", ""))
    value = number * _factor(match["rest"], unit)
    if not math.isfinite(value):
        raise UnreadableQuantity("it is beyond the largest float, 1.8e308")
    return value


def _factor(rest: str, unit: Factors | None) -> float:
    """The factor that the text after the number stands for, in the unit of the quantity."""
    if not rest:
        return 1.0
    if rest in ("%", "percent"):
        if unit:
            raise UnreadableQuantity("a percentage is a share of 1, and this quantity has a unit")
        return 0.01
    own = unit or ()
    if rest in MAGNITUDES:
        return MAGNITUDES[rest] / _prefixes(own)
    word, _, named = rest.partition(" ")
    if named and word in MAGNITUDES:
        return MAGNITUDES[word] * _conversion(named.strip(), own)
    return _conversion(with_si_prefix(rest) or rest, own)


def _conversion(text: str, unit: Factors) -> float:
    """The size of the written unit in the unit of the quantity."""
    try:
        size, dimension = size_and_dimension(parse_unit(text))
    except (KeyError, ValueError):
        raise UnreadableQuantity from None
    own_size, own_dimension = size_and_dimension(unit)
    if dimension != own_dimension:
        raise UnreadableQuantity(dimension=text)
    return size / own_size


def _is_unit(text: str) -> bool:
    try:
        parse_unit(text)
    except (KeyError, ValueError):
        return False
    return True


def _prefixes(unit: Factors) -> float:
    """The product of the prefixes of a unit: 1e9 for Gparam, 1 for bit."""
    product = 1.0
    for name, power in unit:
        plain = name[1:] if name[:1] in PREFIXES and _is_unit(name[1:]) else name
        size, _ = size_and_dimension([(name, power)])
        base, _ = size_and_dimension([(plain, power)])
        product *= size / base
    return product


def parse_quantities(text: str, unit: Factors | None) -> list[float]:
    """Parse several numbers: a list `1%,2%,5%`, a range `0:1:0.1` or `1e9:1e12:x10`, or both.

    A range consists of its first number, its last number, and the step, or the ratio after `x`. The
    last number is included if the steps reach it, up to rounding.

    Args:
        text: the text.
        unit: the unit of the quantity, as pairs of a unit and its power; None where it has none.

    Returns:
        The numbers in the unit of the quantity, in the order in which they were written.

    Raises:
        UnreadableQuantity: as in `parse_quantity`; thousands separated by commas; a range that is
            empty, or has more than MAX_RANGE numbers.
    """
    if _GROUPED.fullmatch(text):
        plain = text.strip().replace(",", "_")
        raise UnreadableQuantity(f"commas separate values: write {plain}, 7e9 or 7B")
    _check_decimal_comma(text, unit)
    numbers: list[float] = []
    for part in text.split(","):
        numbers += _range(part, unit) if ":" in part else [parse_quantity(part, unit)]
    return numbers


def _check_decimal_comma(text: str, unit: Factors | None) -> None:
    """Refuse two numbers that are probably one with a decimal comma: 2,4565.

    Losses are never in the hundreds. Other quantities may be: of these only a second number of four
    digits and more is refused that is neither round nor a power of two.

    Raises:
        UnreadableQuantity: the numbers may be one.
    """
    match = _DECIMAL_COMMA.fullmatch(text)
    if match is None:
        return
    decimals = match["decimals"]
    is_loss = any(name.lstrip("".join(PREFIXES)) in ("nat", "bit") for name, _ in unit or ())
    number = int(decimals)
    odd = len(decimals) > 3 and number % 10 and number & (number - 1)
    if is_loss or odd:
        one = f"{match['whole']}.{decimals}"
        raise UnreadableQuantity(
            f"it is two values, {match['whole']} and {decimals}: for one number write {one}, "
            f"and for two {match['whole']},{decimals}.0",
            says="",
        )


def _range(text: str, unit: Factors | None) -> list[float]:
    parts = text.split(":")
    if len(parts) != 3:
        raise UnreadableQuantity("a range is FIRST:LAST:STEP, as 0:1:0.1, or 1e9:1e12:x10")
    first, last = (parse_quantity(part, unit) for part in parts[:2])
    ratio = _RATIO.fullmatch(parts[2])
    if ratio:
        step = parse_quantity(ratio["ratio"], None)
        if step <= 0 or step == 1 or first * last <= 0:
            raise UnreadableQuantity(
                "the ratio of a range is above 0 and not 1, its ends too have one sign", says=""
            )
        steps = math.log(last / first) / math.log(step)
    else:
        step = parse_quantity(parts[2], unit)
        if step == 0:
            raise UnreadableQuantity("the step of a range is not 0", says="")
        steps = (last - first) / step
        if 0 < steps < 1 - 1e-9:  # as in FIRST:STEP:LAST, where it would be one value
            meant = f"{parts[0].strip()}:{parts[2].strip()}:{parts[1].strip()}"
            raise UnreadableQuantity(
                f"the step leads beyond the range; it is FIRST:LAST:STEP: {meant}?", says=""
            )
    if steps < -1e-9:
        raise UnreadableQuantity(
            "the range leads away from its last number: change the sign of the step", says=""
        )
    count = math.floor(steps + 1e-9) + 1
    if count > MAX_RANGE:
        raise UnreadableQuantity(f"the range has {count:,} values, at most {MAX_RANGE:,}", says="")
    if ratio:
        return [_rounded(first * step**i, first) for i in range(count)]
    return [_rounded(first + i * step, max(abs(first), abs(last))) for i in range(count)]


def _rounded(value: float, scale: float) -> float:
    """The number without the rounding errors of a sum: 0.1 + 2·0.1 is 0.3."""
    if not value or not scale:
        return value
    return round(value, 12 - math.floor(math.log10(max(abs(value), abs(scale) * 1e-3))))
