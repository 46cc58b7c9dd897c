"""Synthetic inputs of the checks, and runs on them in separate processes.

The text is random: each token is determined by the previous one with probability 0.7, so that a
model learns something within 50 steps; few tokens of the vocabulary occur.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..corpora.corpus import open_corpus
from ..corpora.deduplication import DistinctDocument
from ..corpora.tokenizer import Tokenizer
from ..corpora.writer import Writer
from ..run.exit_status import CHECKPOINTS
from ..run.metrics_log import POINTS, read
from ..spec import (
    CorpusSpec,
    ExecutionConfig,
    ModelSpec,
    Paths,
    Run,
    RunOrder,
    Training,
    canonical_json,
    write_order,
)
from ..sweeps import workers
from ..sweeps.run_folders import end_record, log_tail
from .records import CheckInput

VOCABULARY = 512
OCCURRING = 64  # tokens of the vocabulary that occur in the text
DOCUMENT = 200  # tokens of a document
FOLLOWS = 0.7  # probability that a token is determined by the previous one
TRAINING_TOKENS = 200_000
POLL_SECONDS = 0.01
VARYING = ("tokens_per_second", "mfu", "peak_memory_bytes", "seconds")
"""Fields that differ between rows of equal losses."""


class RunFailed(Exception):
    """A run that a check needs has failed.

    Attributes:
        log: the last lines of its log.
    """

    def __init__(self, message: str, log: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.log = log


class TimeUp(Exception):
    """The deadline of the check was reached."""


@dataclass(frozen=True)
class FinishedRun:
    """A run that is done: its rows, and the digest of its weights."""

    rows: list[dict[str, Any]]
    weights: str

    @property
    def digest(self) -> str:
        """Hash of the rows, without the fields that differ between equal runs."""
        rows = [{k: v for k, v in row.items() if k not in VARYING} for row in self.rows]
        return hashlib.blake2b(canonical_json(rows).encode(), digest_size=8).hexdigest()

    def losses(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """All losses of the rows in nats per token, on the validation sets and in training."""
        return np.array(
            [
                loss
                for row in self.rows
                for loss in (*(m["loss"] for m in row["losses"].values()), row["train_loss"] or 0.0)
            ]
        )


def configuration(
    hidden: int, layers: int, heads: int, intermediate: int, **changes: Any
) -> dict[str, Any]:
    """The configuration of a small Qwen2 model with tied embeddings, as plain data.

    Args:
        hidden, layers, heads, intermediate: its shape.
        changes: further or replaced fields.
    """
    return {
        "model_type": "qwen2",
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
    } | changes


TINY = configuration(64, 2, 2, 128)
SIZES = {
    "0.2M": configuration(64, 4, 4, 176),
    "1M": configuration(128, 5, 4, 352),
    "10M": configuration(320, 8, 5, 864),
}
"""Models by the number of their parameters without embeddings."""
QWEN2_HALF_BILLION = configuration(
    896, 24, 14, 4864, num_key_value_heads=2, vocab_size=151_936, max_position_embeddings=32_768
)
"""The shape of Qwen2.5-0.5B."""


def write_corpora(folder: Path, validation_tokens: int = 8_000) -> Path:
    """Write a corpus and a validation set of one source.

    Args:
        folder: the folder of both; created if it does not exist.
        validation_tokens: tokens of the validation set.

    Returns:
        The folder.
    """
    for seed, (name, count) in enumerate(
        {"training": TRAINING_TOKENS, "validation": validation_tokens}.items()
    ):
        place = folder / name
        place.mkdir(parents=True)
        writer = Writer(place, name, _tokenizer(place))
        documents = _documents(max(1, count // DOCUMENT), seed)
        writer.write(
            (DistinctDocument("", number, ()), ids, 0) for number, ids in enumerate(documents)
        )
        writer.finish()
        writer.describe({})
    return folder


def _documents(count: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Documents of DOCUMENT - 1 tokens, shape (count, DOCUMENT - 1); the end of text follows."""
    draw = np.random.default_rng(seed)
    tokens = draw.integers(1, OCCURRING, (count, DOCUMENT - 1))
    follows = draw.random(tokens.shape) < FOLLOWS
    for i in range(1, tokens.shape[1]):
        next_tokens = (5 * tokens[:, i - 1] + 1) % (OCCURRING - 1) + 1
        tokens[:, i] = np.where(follows[:, i], next_tokens, tokens[:, i])
    return tokens


def _tokenizer(folder: Path) -> Tokenizer:
    from tokenizers import Tokenizer as Inner, models

    words = {f"<{i}>": i for i in range(VOCABULARY)}
    inner = Inner(models.WordLevel(words, unk_token="<0>"))
    content = inner.to_str().encode()
    return Tokenizer(inner, folder / "tokenizer.json", VOCABULARY, 0, content)


def order(
    data: Path,
    config: Mapping[str, Any],
    execution: Mapping[str, Any],
    *,
    evaluate: tuple[int, ...],
    **training: Any,
) -> RunOrder:
    """The order of a run on the corpora of `write_corpora`.

    Args:
        data: their folder.
        config: the configuration of the model.
        execution: fields of `ExecutionConfig`; the trained model is not saved by default.
        evaluate: the steps that are evaluated.
        training: further or replaced fields of `Training`.
    """
    from ..training import models

    source = dict(config)
    values = {"batch": 8, "sequence": 64, "learning_rate": 5e-3, "schedule": "constant"} | training
    corpus, validation = (open_corpus(data / name) for name in ("training", "validation"))
    run = Run(
        model=ModelSpec(
            name="model", fingerprint=models.fingerprint(source), initialization="width-scaled"
        ),
        # the text is random, so repeated passes do no harm
        corpora={
            "text": CorpusSpec(fingerprint=corpus.fingerprint, share="1", max_epochs=1_000_000)
        },
        validation={"text": validation.fingerprint},
        training=Training(**values),
        evaluate=evaluate,
    )
    paths = Paths(
        model=source,
        corpora={"text": str(data / "training")},
        validation={"text": str(data / "validation")},
    )
    config_of_run = ExecutionConfig(**({"save_final": False, "log": ()} | dict(execution)))
    return RunOrder(schema=1, label="doctor", run=run, paths=paths, how=config_of_run)


@contextmanager
def start_run(folder: Path, ordered: RunOrder) -> Iterator[workers.Worker]:
    """Start a run in processes of its own, or resume it; they are killed at the end."""
    write_order(folder, ordered)
    worker = workers.start_worker(folder, ordered.how, workers.WORKER)
    try:
        yield worker
    finally:
        worker.send_signal(signal.SIGKILL)
        for process in worker.processes:
            process.wait()


def wait(check_input: CheckInput, condition: Callable[[], Any], what: str) -> None:
    """Wait until a condition holds.

    Raises:
        TimeUp: it does not until the deadline of the check.
    """
    while not condition():
        if check_input.remaining() < 0:
            raise TimeUp(f"the time of the check was up before {what}")
        time.sleep(POLL_SECONDS)


def wait_for_run(check_input: CheckInput, worker: workers.Worker) -> FinishedRun:
    """Wait for a run that was started.

    Raises:
        RunFailed: it has ended in another way.
        TimeUp: it is not done at the deadline of the check.
    """
    ends: list[workers.WorkerExit] = []

    def has_ended() -> bool:
        ends.extend(end for end in (worker.exit(),) if end is not None)
        return bool(ends)

    wait(check_input, has_ended, "a run was done")
    end = end_record(worker.folder)
    if ends[0].code or end.get("status") != "done":
        message = str(end.get("message") or ends[0].why)
        raise RunFailed(f"a run failed: {message}", tuple(log_tail(worker.folder)))
    return FinishedRun(read(worker.folder / POINTS), str(end["weights"]))


def saved_steps(folder: Path) -> list[int]:
    """The steps of the checkpoints of a run, increasing."""
    return sorted(
        int(path.name.split("-")[1]) for path in (folder / CHECKPOINTS).glob("step-????????")
    )


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Environment variables for the processes that are started in the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
