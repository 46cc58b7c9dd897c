"""Parsing of NAME=VALUE arguments; repeated names are refused."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import click

from lawdsl.language.label_texts import LEFT_SIDE, canonical_element

SPACE = re.compile(r"\s+")


def split_pairs(
    pairs: Iterable[str], *, lists: Callable[[str], bool] | None = None
) -> Iterator[tuple[str, str, str, str]]:
    """Yield each argument, its name, the equals sign if it has one, and the text after it.

    Args:
        pairs: the arguments.
        lists: whether a name takes several values, separated by commas; None where none does.

    Raises:
        click.UsageError: a name is given twice; otherwise the last value would silently win.
    """
    seen: dict[str, str] = {}
    for pair in pairs:
        left = LEFT_SIDE.match(pair)
        at = left.end() if left else len(pair.partition("=")[0])
        name, equals, text = pair[:at].strip(), pair[at : at + 1], pair[at + 1 :].strip()
        name = canonical_element(name)
        key = SPACE.sub("", name)  # `r [ web ]` is r[web]
        if equals and key in seen:
            earlier = seen[key].strip()
            values = f"{key}={earlier.partition('=')[2].strip()},{text}"
            help = f"several values are {values}" if lists and lists(key) else "leave one out"
            raise click.UsageError(f"{key} is given twice, {earlier} and {pair.strip()}: {help}")
        seen[key] = pair
        yield pair, name, equals, text


ASSIGNED = re.compile(
    r"(?P<name>[A-Za-z][\w.]*(?:\[[^\]]*\])?)\s*(?::=|->|<-|→|:|~)\s*(?P<text>.+)"
)
"""A pair as other languages write it: `N:7e9`, `L ~ loss`, `alpha <- 0.3`."""


def unread_pair(pairs: Sequence[str], pair: str) -> str:
    """The advice about a word that is not NAME=VALUE, as the end of a message; empty for none.

    Args:
        pairs: all words.
        pair: the word.
    """
    position = list(pairs).index(pair)
    before = pairs[position - 1] if position else ""
    behind = pairs[position + 1] if position + 1 < len(pairs) else ""
    assigned = ASSIGNED.fullmatch(pair.strip())
    if behind.startswith("=") or pair.strip().endswith("=") and behind:  # N = 7e9, N =7e9, N= 7e9
        return f", without spaces around `=`: {_without_spaces(pairs)}"
    if pair.strip() == "=":
        return ", without spaces around `=`"
    if assigned is not None:
        return f", with `=`: {_joined([assigned['name'] + '=' + assigned['text']])}"
    if (
        "=" in before and not pair.startswith("-") and not pair[:1].isdigit()
    ):  # T=2 %, 'N=params [Mparam]' without quotes
        words = [before, *_open(pairs[position:])]
        joined = "".join(words)
        if re.fullmatch(r"[^=]+=[-+.\w]+(?:%|[A-Za-z]+)", joined) and len(words) == 2:
            return f": write {joined} without a space, or with quotes"
        return f": write {_joined(words)}, with quotes"
    return ""


def _without_spaces(pairs: Sequence[str]) -> str:
    """The pairs with no space around their equals signs."""
    grouped: list[list[str]] = []
    for word in re.sub(r"\s*=\s*", "=", " ".join(pairs)).split():
        if "=" in word or not grouped:
            grouped.append([])
        grouped[-1].append(word)
    return " ".join(map(_joined, grouped))


def _open(words: Sequence[str]) -> list[str]:
    """The words until the next pair: what the shell has split off a value."""
    return list(itertools.takewhile(lambda word: "=" not in word, words))


def _joined(words: Sequence[str]) -> str:
    text = " ".join(word.strip() for word in words)
    return text if re.fullmatch(r"[\w=.,:/%+@^*-]+", text) else f"'{text}'"
