"""Unit names with SI prefixes and powers -> size and dimension: parameters, tokens, FLOP, nats.

size = Π (prefix_i·size_i)^power_i, with the prefixes of the SI (BIPM (2019), The International
System of Units, 9th ed., section 3). The table is fixed; importing a general library of units would
take longer than `lawdsl check` may take in total.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}

UNITS: Mapping[str, tuple[float, str]] = {
    "param": (1.0, "param"),
    "token": (1.0, "token"),
    "FLOP": (1.0, "FLOP"),
    "nat": (1.0, "nat"),
    "bit": (math.log(2), "nat"),
    "byte": (1.0, "byte"),
    "char": (1.0, "char"),
    "example": (1.0, "example"),
    "step": (1.0, "step"),
    "second": (1.0, "second"),
    "hour": (3600.0, "second"),
    "GPU": (1.0, "GPU"),
}
"""Unit name -> (its size, its base unit)."""

SPELLINGS = {
    "params": "param",
    "parameter": "param",
    "parameters": "param",
    "tokens": "token",
    "FLOPs": "FLOP",
    "flop": "FLOP",
    "nats": "nat",
    "bits": "bit",
    "bytes": "byte",
    "steps": "step",
    "s": "second",
}
"""Other spellings, accepted in the headers of tables."""

POWERS = {str(n): n for n in range(-9, 10) if n}
"""Exponents that may follow `^` in a header."""

Dimension = tuple[tuple[str, int], ...]


def known(name: str) -> bool:
    """Whether a single unit name, with or without prefix, is in the table."""
    return _split(name) is not None


def canonical(name: str) -> str | None:
    """The canonical spelling of a unit: `Gtokens` is Gtoken. None for a name not in the table."""
    for prefix in ("", *PREFIXES):
        rest = name.removeprefix(prefix)
        plain = SPELLINGS.get(rest, rest)
        if name.startswith(prefix) and plain in UNITS:
            return prefix + plain
    return None


MODEL_CARD_PREFIXES = {"B": "G", "b": "G", "K": "k", "m": "M", "mn": "M", "bn": "G", "tn": "T"}
"""Prefixes as in model cards -> SI prefixes."""


def with_si_prefix(name: str) -> str | None:
    """The unit with an SI prefix: `Bparam` is Gparam; None if it is not a unit.

    `m` never means milli here, since thousandths of parameters or tokens do not occur.
    """
    for prefix, si in MODEL_CARD_PREFIXES.items():
        rest = name.removeprefix(prefix)
        if rest != name and rest.lstrip("_") and (plain := canonical(si + rest.lstrip("_"))):
            return plain
    return None


UNITS_OF_COLUMNS = "units are made of param, token, FLOP, nat, bit, step, byte, char, example, second, hour, GPU; prefixes k M G T P E"


def _split(name: str) -> tuple[float, str] | None:
    plain = SPELLINGS.get(name, name)
    if plain in UNITS:
        return UNITS[plain]
    rest = SPELLINGS.get(name[1:], name[1:])
    if name[:1] in PREFIXES and rest in UNITS:
        size, base = UNITS[rest]
        return PREFIXES[name[0]] * size, base
    return None


def size_and_dimension(factors: Iterable[tuple[str, int]]) -> tuple[float, Dimension]:
    """A unit as a multiple of base units.

    Args:
        factors: (unit name, power) pairs.

    Returns:
        The size in base units, and the sorted powers of the base units.

    Raises:
        KeyError: a name that is not in the table.
    """
    size = 1.0
    powers: dict[str, int] = {}
    for name, power in factors:
        unit = _split(name)
        if unit is None:
            raise KeyError(name)
        size *= unit[0] ** power
        powers[unit[1]] = powers.get(unit[1], 0) + power
    return size, tuple(sorted((b, p) for b, p in powers.items() if p))


def is_unit(text: str) -> bool:
    """Whether a text is a unit that is allowed in a header."""
    try:
        parse_unit(text)
    except (KeyError, ValueError):
        return False
    return True


def parse_unit(text: str) -> tuple[tuple[str, int], ...]:
    """Parse a unit as in the header of a table: `Gtoken`, `nat/token`, `token^2`.

    Raises:
        KeyError: a name that is not in the table.
        ValueError: the text is malformed.
    """
    factors = []
    sign = 1
    parts = text.replace("/", " / ").replace("*", " * ").split()
    if len(parts) % 2 == 0:
        raise ValueError(text)
    for i, part in enumerate(parts):
        if i % 2:
            if part not in ("*", "/"):
                raise ValueError(text)
            sign = -1 if part == "/" else 1
            continue
        name, caret, power = part.partition("^")
        if not known(name):
            raise KeyError(name)
        if caret and power not in POWERS:
            raise ValueError(text)
        factors.append((name, sign * POWERS.get(power, 1)))
    return tuple(factors)


def unit_text(factors: Iterable[tuple[str, int]] | None) -> str:
    """A unit as text: nat/token; empty without a unit.

    Args:
        factors: names and powers.
    """
    text = ""
    for i, (name, power) in enumerate(factors or ()):
        negative = i > 0 and power < 0
        text += ("/" if negative else "*") if i else ""
        exponent = -power if negative else power
        text += name if exponent == 1 else f"{name}^{exponent}"
    return text
