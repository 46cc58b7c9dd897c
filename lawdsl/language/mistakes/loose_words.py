"""Words of a line that does not parse: splitting them, and finding numbers, texts and units.

`loose_declarations.py` and `loose_reading.py` read statements with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token

from lawdsl.core.units import known
from lawdsl.language.keywords import TRENDS

Words = Sequence[Token]

RELATIONS = ("<", "<=", ">", ">=", "≤", "≥")
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "≤": ">=", "≥": "<="}
INFINITE = ("oo", "inf", "Inf", "infinity", "Infinity", "∞", "infty")
STEMS = {trend[:6]: trend for trend in TRENDS} | {
    "rising": "increasing",
    "rises": "increasing",
    "grows": "increasing",
    "fallin": "decreasing",
    "falls": "decreasing",
    "shrink": "decreasing",
    "↑": "increasing",
    "↓": "decreasing",
}
AND = (",", "and", "&", ";", "&&")
WHEN = ("for", "where", "if", "when", "whenever", "given", "provided")
EACH = ("all", "any", "every", "each", "forall", "∀")
JOINING = frozenset(
    "in between from to of within range uniform interval u real float is be must ~ : = ∈ .. ... ℝ".split()
)
NORMAL = ("normal", "norm", "n", "gaussian", "gauss", "norm_prior", "normal_prior")
LOGNORMAL = ("lognormal", "lognorm", "log_normal", "lognormal_prior")


def joined(words: Words) -> str:
    """The text of words, with a space where the source has any."""
    parts: list[str] = []
    for i, word in enumerate(words):
        if i and words[i - 1].end_pos != word.start_pos:
            parts.append(" ")
        parts.append(str(word))
    return "".join(parts).strip()


def split(words: Words, signs: Sequence[str]) -> list[list[Token]]:
    """Words at the signs that stand outside of brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += (word.value in ("(", "[", "{")) - (word.value in (")", "]", "}"))
        if depth <= 0 and str(word) in signs:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def index_of(words: Words, signs: Sequence[str], start: int = 0) -> int:
    """Where the first of some words stands; the number of words where none does."""
    found = (i for i in range(start, len(words)) if str(words[i]).lower() in signs)
    return next(found, len(words))


def numbers_of(words: Words) -> list[str]:
    """The numbers among words, with their signs."""
    found: list[str] = []
    for i, word in enumerate(words):
        if word.type == "NUMBER":
            minus = i > 0 and words[i - 1].value == "-"
            sign = minus and (i == 1 or words[i - 2].type not in ("NAME", "NUMBER"))
            found.append(f"-{word}" if sign else str(word))
    return found


def without_text(words: Words) -> tuple[Words, str]:
    texts = [word for word in words if word.type == "STRING"]
    rest = [word for word in words if word.type != "STRING"]
    return rest, f"  {texts[-1]}" if texts else ""


def without_unit(words: Words) -> tuple[list[Token], str]:
    """Words without the unit among them, and `unit U`."""
    start = index_of(words, ("unit", "units"))
    end = start + 1
    if start == len(words):
        for i, word in enumerate(words[:-1]):
            behind_in = i > 0 and words[i - 1].value == "in"
            behind_in = behind_in or (i == 1 and words[0].end_pos == word.start_pos)  # w[s]
            if word.value in ("[", "(") and known(str(words[i + 1])) and not behind_in:
                close = index_of(words, ("]", ")"), i)
                unit = "".join(str(w) for w in words[i + 1 : close])
                return [*words[:i], *words[close + 1 :]], f"  unit {unit}"
            if word.value in ("in", ":") and known(str(words[i + 1])):  # N > 0 in Gparam
                return list(words[:i]), f"  unit {''.join(map(str, words[i + 1 :]))}"
        return list(words), ""
    while end < len(words) and (
        words[end].type in ("NAME", "STAR", "SLASH", "NUMBER", "MINUS") or words[end].value == "^"
    ):
        end += 1
    unit = "".join(str(w) for w in words[start + 1 : end])
    return [*words[:start], *words[end:]], f"  unit {unit}" if unit else ""
