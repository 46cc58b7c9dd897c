"""Names of columns -> their roles in training: learning rate, schedule, tokenizer, epochs and others.

Names are compared by their words in lower case, so that `learning_rate`, `LearningRate` and
`learning-rate` are one name. A name that is not listed has no role: a check is silent if it is not
sure what a column holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lawdsl.data.drafts.column_names import read_name
from lawdsl.data.table import Table

ROLES: Mapping[str, frozenset[str]] = {
    "run": frozenset(("run", "run id", "run name", "runid", "run uuid", "run hash")),
    "learning rate": frozenset(
        ("lr", "learning rate", "learningrate", "current lr", "current learning rate", "lr now")
        + ("train lr", "train learning rate", "lr at step", "optimizer lr", "step lr")
    ),
    "schedule": frozenset(
        ("schedule", "lr schedule", "learning rate schedule", "scheduler", "lr scheduler")
        + ("lr scheduler type", "scheduler type", "schedule type", "lr schedule type")
        + ("lr decay style", "decay style", "lr decay", "lr type", "sched", "lr sched")
    ),
    "phase": frozenset(("phase", "lr phase", "schedule phase", "training phase")),
    "step": frozenset(
        ("step", "global step", "iteration", "iter", "update", "train step", "training step")
    ),
    "total steps": frozenset(
        ("steps", "total steps", "max steps", "num steps", "n steps", "train steps", "total iters")
        + ("training steps", "schedule steps", "planned steps", "total train steps", "max iters")
        + ("decay steps total", "lr decay iters", "iterations total", "total iterations")
    ),
    "seed": frozenset(("seed", "random seed", "data seed")),
    "warm-up": frozenset(
        ("warmup", "warm up", "warmup steps", "warm up steps", "warmup ratio", "warm up ratio")
        + ("warmup tokens", "warm up tokens", "lr warmup", "lr warm up", "lr warmup steps")
        + ("warmup fraction", "warmup iters", "num warmup steps", "n warmup", "warmup pct")
    ),
    "tokenizer": frozenset(
        ("tokenizer", "tokeniser", "tokenizer name", "tokeniser name", "tokenizer id")
        + ("tokenization", "tokenisation", "tokenizer type", "tokenizer path")
    ),
    "vocabulary": frozenset(
        ("vocab", "vocab size", "vocabsize", "vocabulary", "vocabulary size", "n vocab")
        + ("num vocab", "size of vocab", "tokenizer vocab size", "tokenizer vocab", "vocab k")
    ),
    "epochs": frozenset(
        ("epochs", "epoch", "n epochs", "num epochs", "number of epochs", "data epochs")
        + ("repeats", "repetitions", "num repeats", "passes", "data passes", "total epochs")
    ),
    "unique tokens": frozenset(
        ("u", "unique", "unique tokens", "unique data", "tokens unique", "n unique", "u tokens")
        + ("unique d", "d unique", "unique training tokens", "num unique tokens", "uniq tokens")
        + ("n unique tokens", "unique token count", "unique train tokens", "du", "u d")
    ),
}
"""Role -> the words of the names that have it."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words_of(name: str) -> str:
    """The words of a name in lower case, separated by spaces: `lrSchedule` -> `lr schedule`."""
    return " ".join(word.lower() for word in _WORD.findall(name))


def columns_with_role(table: Table, role: str) -> list[str]:
    """The columns of the source that have a role, without those that have no cell filled in.

    Args:
        table: the table.
        role: a key of ROLES.
    """
    names = ROLES[role]
    return [
        name
        for name in table.source_columns
        if (words_of(name) in names or _without_scale(name) in names)
        and table.columns[name].null_count < len(table)
    ]


def _without_scale(name: str) -> str:
    """The words of a name without the scale at its end: `unique_tokens_B` -> `unique tokens`."""
    words = words_of(name)
    return words.rpartition(" ")[0] if read_name(name).prefix else words


def numbers_or_none(table: Table, name: str) -> NDArray[np.float64] | None:
    """A column as numbers, nan where a cell is empty, shape (rows,); None if some cell is another
    text.
    """
    readable = table.readable(name)
    if readable.all():
        return table.numbers(name)
    texts = table.texts(name)
    if any(text for text, good in zip(texts, readable.tolist(), strict=True) if not good):
        return None
    numbers = np.full(len(table), np.nan)
    if readable.any():
        numbers[readable] = table.keep(readable).numbers(name)
    return numbers


def codes_of(table: Table, name: str) -> NDArray[np.int64]:
    """A number for each cell of a column, equal for equal texts, shape (rows,)."""
    return np.unique(np.array(table.texts(name)), return_inverse=True)[1].astype(np.int64)
