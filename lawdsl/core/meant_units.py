"""A unit as people write it -> the unit here: `Mparms` is Mparam, `B tokens` is Gtoken, `bpb` bit/byte."""

from __future__ import annotations

import difflib
import re

from lawdsl.core.units import (
    MODEL_CARD_PREFIXES,
    PREFIXES,
    UNITS,
    Dimension,
    canonical,
    is_unit,
    parse_unit,
    size_and_dimension,
    with_si_prefix,
)

PREFIX_WORDS = {
    **{word: "k" for word in ("thousand", "kilo", "tsd")},
    **{
        word: "M" for word in ("million", "milion", "mega", "mil", "mill", "mio", "mln", "mn", "mm")
    },
    **{word: "G" for word in ("billion", "bilion", "giga", "bil", "bln", "bn", "mrd", "milliard")},
    **{word: "T" for word in ("trillion", "trilion", "tera", "tn", "trn", "tril", "tln")},
    **{word: "P" for word in ("quadrillion", "peta")},
    **{word: "E" for word in ("quintillion", "exa")},
}
"""Words in place of a prefix, in lower case."""

POWERS = {3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}

BASES = {
    "param": "param params prm prms parm parms par pars parameter parameters weight weights",
    "token": "token tokens tok toks tk tks tkn tkns",
    "FLOP": "flop flops fl operations ops",
    "nat": "nat nats",
    "bit": "bit bits",
    "byte": "byte bytes",
    "step": "step steps iter iters iteration iterations update updates",
    "second": "second seconds sec secs s",
}
"""Unit -> what people call it, in lower case."""
_BASE_OF = {word: base for base, words in BASES.items() for word in words.split()}

WHOLE = {
    "bpb": "bit/byte",
    "bitsperbyte": "bit/byte",
    "bpt": "bit/token",
    "npt": "nat/token",
    "ce": "nat/token",
    "xent": "nat/token",
    "crossentropy": "nat/token",
    "nll": "nat/token",
}
"""Units with a name of their own."""

PER_TOKEN: Dimension = (("nat", 1), ("token", -1))
_POWER_OF_TEN = re.compile(
    r"(?:[x×*]?\s*)?(?:10\s*(?:\^|\*\*)\s*|1?e\+?)(?P<power>[0-9]{1,2})(?P<rest>.*)"
)


def meant_unit(text: str, dimension: Dimension | None = None) -> str | None:
    """The unit that an unknown one probably means: `M`, `millions` or `M params` of parameters is
    Mparam; None if that is not known.

    Args:
        text: the unknown unit.
        dimension: the dimension of the quantity; None if it is not known.
    """
    text = " ".join(text.strip(" ()[]{}#").split())
    joined = re.sub(r"[\s_-]", "", text).lower()
    if joined in WHOLE:
        return WHOLE[joined]
    parts = re.split(r"\s*/\s*|\s+per\s+|\s+", text) if "/" in text or " per " in text else [text]
    if len(parts) > 1:
        units = [_meant_factor(part, None) for part in parts if part]
        if any(unit is None for unit in units):
            return None
        whole = "/".join(unit for unit in units if unit)
        if whole in ("nat", "bit") and dimension == PER_TOKEN:
            return f"{whole}/token"
        return whole if is_unit(whole) else None
    unit = _meant_factor(text, dimension)
    if unit is not None and dimension == PER_TOKEN and unit in ("nat", "bit"):
        return f"{unit}/token"
    return unit


def _meant_factor(text: str, dimension: Dimension | None) -> str | None:
    """One unit with its prefix."""
    joined = re.sub(r"[\s_-]", "", text)
    exact = canonical(joined) or with_si_prefix(joined)
    if exact is not None:
        return exact
    power = _POWER_OF_TEN.fullmatch(joined)
    if power is not None and int(power["power"]) in POWERS:
        return _meant_factor(f"{POWERS[int(power['power'])]} {power['rest']}", dimension)
    readings = _splits(text, joined)
    for base_of in (_known_base, _similar_base):
        for prefix, rest in readings:
            base = base_of(rest, dimension)
            if base is not None:
                return f"{prefix}{base}"
    return None


def _splits(text: str, joined: str) -> list[tuple[str, str]]:
    """The readings of a text as an SI prefix and a name."""
    known = {**{p: p for p in PREFIXES}, **MODEL_CARD_PREFIXES, "t": "T", "g": "G"}
    words = re.sub(r"[_(){}\[\]#.]", " ", text).split()
    readings = []
    for at, others in ((0, words[1:]), (-1, words[:-1])):
        word = words[at] if words else ""
        si = PREFIX_WORDS.get(word.lower().removesuffix("s")) or known.get(word)
        if si is not None:
            readings.append((si, "".join(others)))
    lower = joined.lower()
    readings += [
        (si, joined[len(word) :])
        for word, si in PREFIX_WORDS.items()
        if len(word) > 3 and lower.startswith(word) and lower != f"{word}s"
    ]
    readings += [(known[joined[0]], joined[1:])] if joined[:1] in known else []
    return [*readings, ("", joined)]


def _known_base(text: str, dimension: Dimension | None) -> str | None:
    """The base unit of a name; that of the quantity for no name."""
    word = text.lower().strip("#.()[]")
    if word:
        return _BASE_OF.get(word)
    single = dimension is not None and len(dimension) == 1 and dimension[0][1] == 1
    return dimension[0][0] if single and dimension else None


def _similar_base(text: str, dimension: Dimension | None) -> str | None:
    """The base unit of a misspelt name."""
    word = text.lower()
    if len(word) < 4:
        return None
    names = [name for name in _BASE_OF if len(name) >= 4 and name[0] == word[0]]
    alike = difflib.get_close_matches(word, names, n=1, cutoff=0.75)
    return _BASE_OF[alike[0]] if alike else None


def same_prefix(unit: str, dimension: Dimension) -> str | None:
    """The unit with the prefix of another one, of a given dimension: of `Mtoken` for parameters it
    is Mparam; None unless both are plain units.
    """
    if len(dimension) != 1 or dimension[0][1] != 1:
        return None
    base = dimension[0][0]
    prefix = unit[:1] if unit[:1] in PREFIXES and unit not in UNITS else ""
    return prefix + base if canonical(unit) else None


def dimension_of(unit: str) -> Dimension:
    """The dimension of a known unit as text."""
    return size_and_dimension(parse_unit(unit))[1]


def is_magnitude(text: str) -> bool:
    """Whether a text is a prefix alone, without a unit: `M`, `B`, `bn`."""
    return text in PREFIXES or text in MODEL_CARD_PREFIXES or text.lower() in PREFIX_WORDS


def size_of(unit: str) -> float:
    """The size of a known unit as text, in base units."""
    return size_and_dimension(parse_unit(unit))[0]
