"""A value that is not read, as other languages or papers write it -> what to write, as advice.

`7*10**9` is 7e9, `range(0,1,0.1)` is 0:1:0.1, `140GB` of tokens is 140Gtoken, and 100 petaflop/s-days
are 8.64e21 FLOP: 1e15 FLOP in a second, 86,400 seconds in a day.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from lawdsl.core.meant_units import PREFIX_WORDS, dimension_of, meant_unit, same_prefix
from lawdsl.core.quantities import MAGNITUDES, Factors
from lawdsl.core.units import PREFIXES, Dimension, canonical, is_unit, size_and_dimension

NUMBER = r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_LIST = re.compile(rf"[\[({{]?\s*({NUMBER}[\w%]*(?:[\s,;]+{NUMBER}[\w%]*)+)\s*[\])}}]?")
_ENDS = re.compile(
    rf"({NUMBER}[A-Za-z]*)\s*(?:\.\.\.?|(?<=[\w.])-|to|–|…)\s*({NUMBER}[A-Za-z]*)(.*)"
)
_STEP = re.compile(rf"\s*(?:step|by|in steps of|\.\.\.?|/|:|,)\s*({NUMBER}[A-Za-z]*)")
_CALL = re.compile(
    r"(?:\w+\.)?(range|arange|linspace|logspace|geomspace|seq|colon|list)\((.*)\)", re.DOTALL
)
_FACTOR = rf"{NUMBER}(?:\s*(?:\*\*|\^)\s*[-+]?[0-9]+)?"
_PRODUCT = re.compile(rf"\s*(?:{_FACTOR})(?:\s*(?:\*|/|x|×|·)\s*(?:{_FACTOR}))*\s*")
_POWER = re.compile(rf"({NUMBER})(?:\s*(?:\*\*|\^)\s*([-+]?[0-9]+))?")
_WITH_REST = re.compile(rf"\s*[$€£~≈<>=]*\s*(?P<number>{NUMBER})\s*(?P<rest>.*?)\s*", re.DOTALL)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")

TIMES = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86400.0),
    **dict.fromkeys(("y", "yr", "year", "years"), 365.25 * 86400.0),
}
"""Word for a time -> seconds."""
FLOP_PREFIXES = {
    **{letter.lower(): size for letter, size in PREFIXES.items()},
    "z": 1e21,
    "y": 1e24,
    **{"kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12, "peta": 1e15, "exa": 1e18},
    **{"zetta": 1e21, "yotta": 1e24},
}
_COMPUTE = re.compile(
    r"(?P<prefix>kilo|mega|giga|tera|peta|exa|zetta|yotta|[kmgtpezy]?)[\s-]*"
    r"(?P<flop>flops?|flop|fp?)(?P<rate>/s(?:ec(?:ond)?)?|ps)?[\s*·_-]*(?P<time>[a-z]*)"
)
_DEVICE_TIME = re.compile(r"(?:\w+[\s-])*(?:gpu|tpu|h100|a100|h200|v100|card)s?[\s-]*\w*")
_PERCENT = re.compile(r"%+|pct\.?|percent(?:age)?|per ?cent|pp|prozent|percents")
_BYTES = re.compile(r"(?P<prefix>[kKMGTPE])i?(?:[bB]|[bB]ytes?|o)")

COUNTS: tuple[Dimension, ...] = ((("param", 1),), (("token", 1),), (("byte", 1),))
"""Quantities of which one is written for another by mistake."""
EXAMPLES = {"param": "7B", "token": "1.4T", "FLOP": "1e21", "step": "1000", "second": "3600"}
"""Unit -> an amount of it."""


def meant_value(name: str, text: str, unit: Factors | None, dimension: str = "") -> str:
    """The advice about a value that is not read.

    Args:
        name: the name of the quantity.
        text: the value as written.
        unit: the unit of the quantity: pairs of a unit and its power; None where it has none.
        dimension: the unit that was written, if it is known but of another dimension.

    Returns:
        The advice; it is empty only for a known unit of another dimension.
    """
    plain = text.strip().strip("\"'").translate(_SUPERSCRIPTS)
    if plain.startswith("="):
        return f"write {name}={plain.lstrip('= ')}, with one ="
    dimensions = size_and_dimension(unit or ())[1]
    for read in (_call, _product, _ends, _list):
        written = read(plain)
        if written and written != text:
            ranged = read in (_call, _ends) and ":" in written
            how = "a range is FIRST:LAST:STEP: " if ranged else ""
            how = "write several values as " if read is _list else f"{how}write "
            return f"{how}{name}={written}"
    written = _with_unit(name, plain, dimensions)
    if written is not None:
        return written if " " in written else f"write {name}={written}"
    if dimension:
        return ""
    return f"write {_examples(name, dimensions, unit)}"


def _examples(name: str, own: Dimension, unit: Factors | None) -> str:
    from lawdsl.core.units import unit_text

    if not own:
        return f"{name}=2.5, {name}=7B or {name}=1%"
    text = unit_text(tuple(unit or ()))
    example = EXAMPLES.get(own[0][0]) if len(own) == 1 else None
    if example is None:
        return f"{name}=2.5, or with its unit, '{name}=2.5 {text}'"
    return f"a number of {text}, or with a magnitude, {name}={example}"


def _number(value: float) -> str:
    """The shortest text of a number: 7e9, 0.25."""
    text = repr(value) if not value.is_integer() else f"{value:.12g}"
    short = re.sub(r"e\+?(-?)0*", r"e\1", text)
    if "e" not in short and abs(value) >= 1e4 and float(value).is_integer():
        digits = short.rstrip("0")
        if len(short) - len(digits) >= 3:
            scaled = f"{value:.12e}"
            mantissa, _, power = scaled.partition("e")
            return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}"
    return short


def _product(text: str) -> str | None:
    """`7*10**9`, `7 x 10^9`, `1/3`, `2**30`."""
    if not _PRODUCT.fullmatch(text) or re.fullmatch(NUMBER, text):
        return None
    value, sign = 1.0, "*"
    try:
        position = 0
        while position < len(text):
            match = _POWER.match(text, position)
            if match is None:
                sign = (
                    "/" if text[position] == "/" else "*" if not text[position].isspace() else sign
                )
                position += 1
                continue
            factor = float(match[1].replace("_", "")) ** int(match[2] or 1)
            value = value / factor if sign == "/" else value * factor
            position = match.end()
    except (ArithmeticError, ValueError):  # too large, or an exponent of thousands of digits
        return None
    return _number(value) if math.isfinite(value) else None


def _call(text: str) -> str | None:
    """`range(0, 1, 0.1)`, `np.linspace(0, 1, 11)`, `np.logspace(9, 12, 4)`, `seq(0, 1, by=0.1)`."""
    match = _CALL.fullmatch(text)
    if match is None:
        return None
    name, inner = match.groups()
    words = [part.partition("=")[2].strip() or part.strip() for part in inner.split(",")]
    counted = "length" in inner or "num" in inner or name in ("linspace", "logspace", "geomspace")
    if name == "list":
        return ",".join(words)
    if not all(re.fullmatch(NUMBER, word) for word in words) or not words:
        return None
    if len(words) == 1:
        words = ["0", *words]
    if len(words) == 2:
        words.append({"linspace": "11", "logspace": "10", "geomspace": "10"}.get(name, "1"))
    first, last, third = (float(word.replace("_", "")) for word in words[:3])
    if name == "logspace":
        first, last = 10.0**first, 10.0**last
    if not counted:
        return f"{words[0]}:{words[1]}:{words[2]}"
    if third < 2:
        return None
    if name in ("logspace", "geomspace"):
        ratio = (last / first) ** (1 / (third - 1)) if first > 0 and last > 0 else 10.0
        return f"{_number(first)}:{_number(last)}:x{ratio:.6g}"
    return f"{words[0]}:{words[1]}:{_number((last - first) / (third - 1))}"


def _ends(text: str) -> str | None:
    """`0..1`, `0-1`, `1e9 to 1e12`, `0 to 1 by 0.1`: with a step, or a ratio for wide ranges."""
    match = _ENDS.fullmatch(text)
    if match is None:
        return None
    low, high, rest = match.groups()
    stepped = _STEP.fullmatch(rest) if rest.strip() else None
    if rest.strip() and stepped is None:
        return None
    if stepped is not None:
        return f"{low}:{high}:{stepped[1]}"
    values = [_plain(low), _plain(high)]
    if None in values or not values[0] or (values[1] or 0.0) / values[0] < 100:
        size = abs((values[1] or 1.0) - (values[0] or 0.0)) or 1.0
        step = 10.0 ** math.floor(math.log10(size) + 1e-9)
        return f"{low}:{high}:{_number(step / 10 if size < 2 * step else step)}"
    return f"{low}:{high}:x10"


def _plain(text: str) -> float | None:
    number = re.match(NUMBER, text)
    if number is None:
        return None
    rest = text[number.end() :]
    factor = MAGNITUDES.get(rest, 1.0 if not rest else None)
    return None if factor is None else float(number[0].replace("_", "")) * factor


def _list(text: str) -> str | None:
    """`[0.1, 0.5]`, `0.1 0.5`, `{1;2}`."""
    match = _LIST.fullmatch(text)
    return ",".join(re.split(r"[\s,;]+", match[1].strip())) if match else None


def _with_unit(name: str, text: str, own: Dimension) -> str | None:
    """A number with a unit or a word that is not read, in a form that is; or a sentence about it."""
    match = _WITH_REST.fullmatch(text)
    if match is None:
        return None
    number, rest = match["number"].replace("_", ""), match["rest"]
    if not rest:
        return number if number != text else None
    if _PERCENT.fullmatch(rest.lower()):
        return f"{number}%" if not own else None
    readers: tuple[Callable[[], str | None], ...] = (
        lambda: _flops(name, number, rest) if own == (("FLOP", 1),) else None,
        lambda: _meant(number, rest, own),
        lambda: _magnitude(number, rest, own),
    )
    return next((written for read in readers if (written := read()) is not None), None)


def _flops(name: str, number: str, rest: str) -> str | None:
    """An amount of compute, `100 PF-days`, as a number of FLOP."""
    value = float(number)
    lower = rest.lower()
    match = _COMPUTE.fullmatch(lower)
    if match is not None and (match["time"] in TIMES or not match["time"] and not match["rate"]):
        long = match["flop"].startswith("flo") or match["time"]
        if long:
            amount = value * FLOP_PREFIXES.get(match["prefix"], 1.0) * TIMES.get(match["time"], 1.0)
            written = _number(amount)
            return f"{number} {rest} are {written} FLOP: write {name}={written}"
    if match is not None and match["rate"]:
        flop = _number(value * FLOP_PREFIXES.get(match["prefix"], 1.0))
        budget = f"for a budget of {flop} FLOP write {name}={flop}"
        speed = "multiply it by the seconds, and write the number of FLOP"
        if match["prefix"]:
            return f"`{rest}` is a rate: {speed}; {budget}"
        return f"{budget}; `{rest}` is a rate: for one, {speed}"
    if _DEVICE_TIME.fullmatch(lower):
        return (
            f"multiply `{rest}` by the FLOP that a device does in it, and write the number of FLOP"
        )
    return None


def _meant(number: str, rest: str, own: Dimension) -> str | None:
    """A unit that is misspelt, `7 Mparms`, or of another quantity, `7 Gtoken` of parameters."""
    meant = rest if is_unit(rest) else meant_unit(rest, own)
    if meant is None:
        return None
    if dimension_of(meant) == own:
        return f"{number}{meant}" if meant != rest else None
    loss = {"nat": "nat/token", "bit": "bit/token"}.get(canonical(meant) or "")
    if loss is not None and dimension_of(loss) == own:
        return f"{number}{loss}"
    if own in COUNTS and dimension_of(meant) in COUNTS:
        return f"{number}{same_prefix(meant, own)}"
    return None


def _magnitude(number: str, rest: str, own: Dimension) -> str | None:
    """A magnitude that is misspelt, or with a word: `7 bln`, `140GB`, `7 milliard`."""
    memory = _BYTES.fullmatch(rest)
    word = rest.lower().strip(".").removesuffix("s")
    prefix = memory["prefix"].replace("K", "k") if memory else PREFIX_WORDS.get(word)
    if prefix is None:
        prefix = {"b": "G", "t": "T", "g": "G", "mm": "M"}.get(rest.strip("."))
    if prefix is None:
        return None
    if len(own) == 1 and own[0][1] == 1:
        return f"{number}{prefix}{own[0][0]}"
    return f"{number}{'B' if prefix == 'G' else prefix}" if not memory else None
