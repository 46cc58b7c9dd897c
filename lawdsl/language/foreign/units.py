"""Units of other places, `PF-days`, `perplexity`, `1e9 token` -> the units of the language, or advice."""

from __future__ import annotations

import math
import re

from lawdsl.core.meant_units import PREFIX_WORDS
from lawdsl.core.units import (
    MODEL_CARD_PREFIXES,
    PREFIXES,
    canonical,
    with_si_prefix,
)

DAY, HOUR = 86400, 3600
SIZES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21} | {
    "kilo": 1e3, "mega": 1e6, "giga": 1e9, "tera": 1e12, "peta": 1e15, "exa": 1e18, "zetta": 1e21,
}  # fmt: skip
TIMES = {"day": DAY, "d": DAY, "hour": HOUR, "hr": HOUR, "h": HOUR, "min": 60, "minute": 60, "year": 365.25 * DAY, "week": 7 * DAY, "ms": 1e-3}  # fmt: skip
RATE = re.compile(
    r"(?i)(k|M|G|T|P|E|Z|kilo|mega|giga|tera|peta|exa|zetta)?[- ]?f(?:lops?)?(?:/s(?:ec|econd)?)?[-_ */.]?(?:s-)?"
    r"(day|hour|hr|h|d|year)s?"
)
LOSSES = "a loss is in nats or bits for each token or byte: write `unit nat/token`"
SHARE = "a share has no unit: leave it out"
SCORE = "a number without a unit has none here: leave `unit` out"

ADVICE = {
    **dict.fromkeys(
        "loss losses cross-entropy cross_entropy crossentropy ce xent nll logloss log-loss entropy".split(), LOSSES
    ),
    **dict.fromkeys(("bpb", "bits-per-byte", "BPB"), "write `unit bit/byte`"),
    **dict.fromkeys(("bpt", "bits-per-token"), "write `unit bit/token`"),
    **dict.fromkeys(("bpc", "bits-per-character", "bits-per-char"), "there is no unit of characters: write `unit bit/byte`, or leave the unit out"),
    **dict.fromkeys(("npt", "nats-per-token", "natspertoken"), "write `unit nat/token`"),
    **dict.fromkeys(("ppl", "perplexity"), "perplexity has no unit: leave it out"),
    **dict.fromkeys(("percent", "share", "fraction", "ratio", "dimensionless", "none", "one", "pct", "proportion", "unitless", "%", "1", "-"), SHARE),
    **dict.fromkeys("acc accuracy score points pp dB epoch epochs".split(), SCORE),
    **dict.fromkeys("word words char chars character characters document documents doc docs sample samples sequence sequences example examples sentence sentences".split(), "count tokens or bytes: `unit token`, `unit byte`; what is counted otherwise has no unit"),
    **dict.fromkeys("weight weights size model_size".split(), "write `unit param`"),
    **dict.fromkeys("iteration iterations iter iters update updates".split(), "write `unit step`"),
    **dict.fromkeys("op ops operation operations compute flops".split(), "write `unit FLOP`"),
    **dict.fromkeys("sec secs seconds".split(), "write `unit second`"),
    **dict.fromkeys("GPU gpu gpus GPUs USD dollar dollars $ euro eur cost".split(), SCORE),
}  # fmt: skip
"""Unknown unit -> what to do about it."""


def advice_on(text: str) -> str | None:
    """What to write for an unknown unit; None where nothing is known of it.

    Args:
        text: the unit as it stands in the law.
    """
    text = text.strip()
    rate = RATE.fullmatch(text)
    if rate:
        size = SIZES.get(rate[1] or "", SIZES.get((rate[1] or "").lower(), 1.0))
        seconds = TIMES[rate[2].lower()]
        one = text.removesuffix("s")
        unit = "day" if seconds == DAY else "hour" if seconds == HOUR else "year"
        factor = f"{size * seconds:.3g}".replace("e+", "e")
        return (
            f"there is no unit of {unit}s: 1 {one} is {factor} FLOP; write `unit FLOP`, with the "
            f"column times {factor}"
        )
    parts = re.fullmatch(
        r"(?i)(?:[A-Z]*GPU|TPU|chip|wall|wall-?clock|accelerator)[-_ ]?(hour|hr|h|day)s?", text
    )
    time = parts[1] if parts else text.removesuffix("s")
    if time.lower() in TIMES and (parts or text.lower() not in ("d",)):
        seconds = TIMES[time.lower()]
        return (
            f"there is no unit of {time}s: write `unit second`, with the column times {seconds:g}"
        )
    return ADVICE.get(text) or ADVICE.get(text.lower())


WORDS = {"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "exa": "E"}


def spelled_out(name: str) -> str | None:
    """The unit of a prefix in words: EFLOP for exaFLOP; None for another name.

    Args:
        name: the unit as it stands in the law.
    """
    for word, prefix in WORDS.items():
        rest = name[len(word) :]
        if name.lower().startswith(word) and rest:
            return canonical(prefix + rest.lstrip("-_")) or canonical(prefix + rest.upper())
    return None


def prefix_of(name: str) -> str | None:
    """The prefix that a name without a unit is: G for B, billion, billions; None for another name.

    Args:
        name: the unit as it stands in the law.
    """
    word = PREFIX_WORDS.get(name.lower().removesuffix("s"))
    return word or (name if name in PREFIXES else MODEL_CARD_PREFIXES.get(name))


def prefixed(text: str) -> str | None:
    """The unit of a number of units: Gtoken for `1e9 token`, `billion tokens`, `10^9*token`.

    Args:
        text: the unit as it stands in the law.
    """
    turned = re.fullmatch(r"([A-Za-z]+)\s*[*·×]\s*([\d.eE+^ *]+)", text)
    if turned:
        text = f"{turned[2]} {turned[1]}"  # tokens * 1e9
    match = re.fullmatch(
        r"(?:\(\s*)?(?:(\d+(?:\.\d+)?(?:[eE]\+?\d+)?|10\s*(?:\^|\*\*)\s*\d{1,2})|([A-Za-z]+))\s*\)?\s*[*·×_ -]?\s*([A-Za-z]+)(\s*/\s*[A-Za-z]+)?",
        text,
    )
    if match is None:
        return None
    number, word, unit, below = match.groups()
    plain = canonical(unit)
    if plain is None:
        return None
    if number is not None:
        power = re.fullmatch(r"10\s*(?:\^|\*\*)\s*(\d+)", number)
        size = 10.0 ** int(power[1]) if power else float(number)
        prefix = next((p for p, s in PREFIXES.items() if math.isclose(s, size)), None)
        prefix = "" if size == 1 else prefix
    else:
        prefix = PREFIX_WORDS.get(word.lower().removesuffix("s"))
        prefix = word if prefix is None and word in PREFIXES else prefix
        prefix = {"B": "G", "bn": "G", "mn": "M"}.get(word) if prefix is None else prefix
    written = (
        None if prefix is None else canonical(prefix + plain) or with_si_prefix(prefix + plain)
    )
    return None if written is None else written + (below or "").replace(" ", "")
