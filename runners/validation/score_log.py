"""Scores -> lines of JSON, synced after every batch, so that a scoring may be interrupted.

The first line identifies the samples. Each line after it has a batch of one model, identified by a
hash of everything that determines its scores, so that scores of two models are never confused.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.locks import hold
from ..run.metrics_log import MetricsLog, open_points, read

SCORE_LOG_SCHEMA = 1
SCORES = "scores.jsonl"


@dataclass(frozen=True)
class JudgeScores:
    """The scores of some samples under one model.

    Attributes:
        keys: the keys of the samples.
        losses: mean loss of each sample, in nats per token; 0 if it has no predicted tokens.
        tokens: number of predicted tokens of each sample.
    """

    keys: tuple[str, ...]
    losses: tuple[float, ...]
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class ScoreLog:
    """The scores so far: model -> sample -> mean loss and tokens."""

    scores: dict[str, dict[str, tuple[float, int]]]
    file: MetricsLog

    def of(self, model: str) -> dict[str, tuple[float, int]]:
        """The scores of a model: sample -> mean loss in nats per token, and number of tokens."""
        return self.scores.setdefault(model, {})

    def add(self, model: str, name: str, scores: JudgeScores) -> None:
        """Add scores of a model; when this returns they are on the disk.

        Args:
            model: its identity.
            name: the name of the model, for information only.
            scores: the scores of a batch.

        Raises:
            LawdslError: they cannot be written (R0407).
        """
        line = {"samples": scores.keys, "losses": scores.losses, "tokens": scores.tokens}
        self.file.append({"model": model, "name": name} | line)
        self.of(model).update(_by_key(line))


@contextmanager
def scorebook(folder: Path, samples: str, label: str, older: Path) -> Iterator[ScoreLog]:
    """Open the scores in a folder, which is created if it does not exist; one process at a time.

    Args:
        folder: the folder of the scores.
        samples: hash of the samples.
        label: the label of the samples, for messages.
        older: earlier scores, which are copied if the folder has none and they are for these
            samples.

    Returns:
        A context manager of the scores.

    Raises:
        LawdslError: scores of other samples, or damaged (R0604); another process has them (R0408);
            they cannot be written (R0407).
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / SCORES
    with hold(folder, label):
        if not path.exists() and _head(older).get("samples") == samples:
            # copied, not moved: the old set keeps its scores until it is replaced by the new one
            shutil.copyfile(older, path)
        scores = _known(path, samples)
        with open_points(path) as file:
            if not file.lines:
                file.append({"schema": SCORE_LOG_SCHEMA, "samples": samples})
            yield ScoreLog(scores, file)


def _head(path: Path) -> dict[str, Any]:
    try:
        return next(iter(read(path)), {})
    except LawdslError:
        return {}


def _known(path: Path, samples: str) -> dict[str, dict[str, tuple[float, int]]]:
    """The scores in a file, without an incomplete last line."""
    try:
        lines = read(path)
    except LawdslError as error:
        if error.diagnostics[0].code != "R0405":
            raise
        raise _unfit(error.diagnostics[0].message, error.diagnostics[0].place, path) from None
    if lines and (lines[0].get("schema"), lines[0].get("samples")) != (SCORE_LOG_SCHEMA, samples):
        raise _unfit("the scores that were begun are of other samples", str(path), path)
    scores: dict[str, dict[str, tuple[float, int]]] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            scores.setdefault(line["model"], {}).update(_by_key(line))
        except (KeyError, TypeError, ValueError):
            raise _unfit("the line is damaged", f"{path}, line {number}", path) from None
    return scores


def _by_key(line: dict[str, Any]) -> dict[str, tuple[float, int]]:
    pairs = zip(line["losses"], line["tokens"], strict=True)
    by_key = {
        key: (float(loss), int(n)) for key, (loss, n) in zip(line["samples"], pairs, strict=True)
    }
    if not all(math.isfinite(loss) for loss, _ in by_key.values()):
        raise ValueError("a loss is not a number")
    return by_key


def _unfit(message: str, location: str, path: Path) -> LawdslError:
    help = (
        f"give the same text, --tokenizer, --samples, --length and --seed as before,"
        f" or remove {path.parent} to begin again"
    )
    return LawdslError(Diagnostic("R0604", message, place=location, help=help))
