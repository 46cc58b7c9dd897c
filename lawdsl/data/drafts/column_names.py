"""Names of columns as people write them -> their meaning: quantity, unit prefix, logarithm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

QUANTITIES: Mapping[str, str] = {
    **dict.fromkeys(
        ("n", "param", "params", "parameter", "parameters", "size", "model size", "model params")
        + ("non embedding params", "nonembedding params", "non embedding parameters"),
        "N",
    ),
    **dict.fromkeys(
        ("d", "token", "tokens", "data", "data size", "dataset size", "training tokens"),
        "D",
    ),
    **dict.fromkeys(("c", "flop", "flops", "compute", "training flops", "budget"), "C"),
    **dict.fromkeys(("step", "steps", "iteration", "iterations", "iter", "iters"), "S"),
    **dict.fromkeys(("batch", "batch size", "bs", "global batch size"), "batch"),
    **dict.fromkeys(
        ("seq len", "sequence length", "context length", "context", "seq length", "seqlen"),
        "length",
    ),
    **dict.fromkeys(
        ("r", "ratio", "share", "fraction", "frac", "mix", "mixture", "proportion", "weight"), "r"
    ),
    **dict.fromkeys(
        ("l", "loss", "val loss", "valid loss", "validation loss", "eval loss", "test loss")
        + ("final loss", "ce", "ce loss", "cross entropy", "nll", "bpb", "bits per byte"),
        "L",
    ),
    **dict.fromkeys(("ppl", "perplexity", "val ppl", "valid ppl", "eval ppl"), "perplexity"),
    **dict.fromkeys(
        ("seed", "id", "run", "run id", "run name", "name", "epoch", "time", "wall", "date", "gpu")
        + ("gpus", "index", "status", "hash", "sha", "host", "unnamed", "hours", "seconds", "path"),
        "ignored",
    ),
}
"""Words in column names, in lower case -> the quantity; columns named `ignored` are not variables.
"""

ENDINGS: Mapping[str, str] = {
    **dict.fromkeys(("ratio", "share", "fraction", "frac", "proportion", "pct", "percent"), "r"),
    **dict.fromkeys(("loss", "nll", "bpb"), "L"),
    **dict.fromkeys(("params", "parameters"), "N"),
    **dict.fromkeys(("tokens",), "D"),
    **dict.fromkeys(("flops", "flop"), "C"),
}
"""The last word of a longer name -> the quantity: `code_share`, `python loss`."""

BEGINNINGS: Mapping[str, str] = {
    **dict.fromkeys(("l", "loss"), "L"),
    **dict.fromkeys(("se", "std", "stderr", "dl", "delta"), "ignored"),
}
"""The first word of a longer name -> the quantity: `L_code`, `loss on c4`; `se_code`, a standard
error.
"""

PREFIX_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("k", "thousand", "thousands"), "k"),
    **dict.fromkeys(("m", "mn", "million", "millions"), "M"),
    **dict.fromkeys(("b", "g", "bn", "billion", "billions"), "G"),
    **dict.fromkeys(("t", "tn", "trillion", "trillions"), "T"),
}
"""The last word of a name that states the unit -> the SI prefix: `tokens_B`, `params (millions)`.
"""

LOGARITHMS: Mapping[str, str] = {"log10": "10", "lg": "10", "log2": "2", "ln": "e", "log": ""}
"""The first word of the name of a logarithm -> its base; empty if the name leaves it open."""

FILLERS = frozenset(("num", "number", "total", "train", "training", "trained", "of", "the", "n"))
PERCENT = frozenset(("pct", "percent", "percentage"))

_WORD = re.compile(r"log10|log2|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@dataclass(frozen=True)
class NamedQuantity:
    """The meaning of the name of a column.

    Attributes:
        quantity: `N`, `D`, `C`, `S`, `r`, `L`, `perplexity`, `batch`, `length`, `ignored`, or empty
            if no word is known.
        prefix: the SI prefix of its unit, empty for none.
        logarithm: the base of the logarithm, `10`, `2` or `e`; `?` if the name leaves it open;
            empty for no logarithm.
        percent: whether the name states percent.
    """

    quantity: str
    prefix: str = ""
    logarithm: str = ""
    percent: bool = False


def read_name(name: str) -> NamedQuantity:
    """Interpret the name of a column by the tables of this module.

    Args:
        name: the name, without the unit in brackets.
    """
    words = [word.lower() for word in _WORD.findall(name)]
    percent = "%" in name or any(word in PERCENT for word in words)
    logarithm = ""
    if len(words) > 1 and words[0] in LOGARITHMS:
        logarithm = LOGARITHMS[words[0]] or "?"
        words = words[1:]
    prefix = ""
    if len(words) > 1 and words[-1] in PREFIX_WORDS:
        prefix = PREFIX_WORDS[words[-1]]
        words = words[:-1]
    return NamedQuantity(_quantity(words), prefix, logarithm, percent)


def _quantity(words: list[str]) -> str:
    full = " ".join(words)
    if full in QUANTITIES:
        return QUANTITIES[full]
    fewer = [word for word in words if word not in FILLERS] or words[:1]
    text = " ".join(fewer)
    if text in QUANTITIES:
        return QUANTITIES[text]
    if not words:
        return ""
    return BEGINNINGS.get(words[0]) or ENDINGS.get(words[-1], "")
