"""Runs that take a second: corpora of a Markov source, and orders of tiny models on them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from lawdsl.runners.corpora import corpus as corpora
from lawdsl.runners.spec import (
    CorpusSpec,
    ExecutionConfig,
    ModelSpec,
    Paths,
    Run,
    RunOrder,
    Training,
    read_order,
    write_order,
)

VOCABULARY = 256
SIZES = {"general": 12_000, "code": 9_000, "general-held": 700, "code-held": 500}
VARYING = ("tokens_per_second", "mfu", "peak_memory_bytes", "seconds")
"""What is no two times the same in a row."""
ENTRIES = ("spec.json", "points.jsonl", "done.json", "lock", "log.txt", "model")
"""What is in the folder of a run that is done."""
ENDS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)

QWEN2: dict[str, Any] = {
    "model_type": "qwen2",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": True,
    "max_position_embeddings": 64,
}


# --- corpora

# exit codes of a run
DONE, DIVERGED, WRONG, MEMORY, STOPPED, INTERRUPTED = 0, 1, 3, 4, 75, 130


@cache
def _markov(seed: int) -> np.ndarray:
    """The cumulative probabilities of the next token, (256, 256)."""
    draw = np.random.default_rng(seed)
    return np.cumsum(draw.dirichlet(np.full(VOCABULARY, 0.02), VOCABULARY), axis=1)


def documents(count: int, seed: int, source: int) -> list[np.ndarray]:
    """Documents of 20 to 200 tokens of one Markov source, in all `count`; token 0 ends each."""
    draw = np.random.default_rng(seed)
    chain, found, left = _markov(source), [], count
    while left:
        length = min(left, int(draw.integers(20, 200)))
        tokens = np.zeros(length, np.int64)
        for i in range(length - 1):
            before = tokens[i - 1] if i else int(draw.integers(1, VOCABULARY))
            drawn = np.searchsorted(chain[before], draw.random())
            tokens[i] = min(max(1, drawn), VOCABULARY - 1)
        found.append(tokens)
        left -= length
    return found


def write_corpus(folder: Path, texts: list[np.ndarray], vocabulary: int = VOCABULARY) -> str:
    """A corpus in the format of `lawdsl corpus`, of tokens that are there; its fingerprint."""
    folder.mkdir(parents=True)
    np.concatenate(texts).astype("<u2").tofile(folder / "tokens.bin")
    bounds = np.cumsum([0, *map(len, texts)]).astype("<i8")
    np.save(folder / "documents.npy", bounds)
    np.save(folder / "paragraphs.npy", np.zeros(0, "<u8"))
    _tokenizer(folder / "tokenizer.json", vocabulary)
    facts: dict[str, Any] = {
        "schema": corpora.CORPUS_SCHEMA,
        "name": folder.name,
        "tokens": int(bounds[-1]),
        "documents": len(texts),
        "dtype": "uint16",
        "bytes": int(bounds[-1]),
        "vocabulary": vocabulary,
        "end_of_text": 0,
        "sha256": {name: corpora.file_hash(folder / name) for name in corpora.HASHED},
        "sources": {},
    }
    facts["fingerprint"] = corpora.fingerprint(facts)
    (folder / "corpus.json").write_text(json.dumps(facts), encoding="utf-8")
    return facts["fingerprint"]


def _tokenizer(path: Path, vocabulary: int) -> None:
    from tokenizers import Tokenizer, models

    words = {f"<{i}>": i for i in range(vocabulary)}
    Tokenizer(models.WordLevel(words, unk_token="<0>")).save(str(path))


def write_corpora(folder: Path) -> dict[str, str]:
    """The four corpora of the tiny runs, `SIZES`; their fingerprints."""
    return {
        name: write_corpus(folder / name, documents(size, number, name.startswith("code")))
        for number, (name, size) in enumerate(SIZES.items())
    }


# --- orders


def order(
    data: Path,
    model: str | Mapping[str, Any] = QWEN2,
    *,
    share: str = "0.3",
    initialization: str = "width-scaled",
    evaluate: tuple[int, ...] = (0, 5, 14, 15, 24),
    how: Mapping[str, Any] | None = None,
    seed: int = 0,
    label: str = "tiny",
    max_epochs: float = 1.0,
    fingerprint: str | None = None,
    **training: Any,
) -> RunOrder:
    """A run of 24 steps with a checkpoint every 7, on the corpora in a folder."""
    from lawdsl.runners.training import models

    prints = {name: corpora.open_corpus(data / name).fingerprint for name in SIZES}
    source = model if isinstance(model, str) else dict(model)
    values = {"steps": 24, "batch": 4, "sequence": 32, "learning_rate": 1e-2} | training
    rest = str(1 - Fraction(share))
    run = Run(
        model=ModelSpec(
            name="model",
            fingerprint=fingerprint or models.fingerprint(source),
            initialization=initialization,
        ),
        corpora={
            "general": CorpusSpec(fingerprint=prints["general"], share=rest, max_epochs=max_epochs),
            "code": CorpusSpec(fingerprint=prints["code"], share=share, max_epochs=max_epochs),
        },
        validation={"general": prints["general-held"], "code": prints["code-held"]},
        training=Training(**values),
        evaluate=evaluate,
        seed=seed,
    )
    paths = Paths(
        model=source,
        corpora={name: str(data / name) for name in run.corpora},
        validation={name: str(data / f"{name}-held") for name in run.validation},
    )
    settings = {"device": "cpu", "checkpoint_every": 7} | dict(how or {})
    return RunOrder(schema=1, label=label, run=run, paths=paths, how=ExecutionConfig(**settings))


# --- runs


def do(folder: Path, ordered: RunOrder | None = None) -> int:
    """Do a run in this process, or go on with it; its exit code."""
    from lawdsl.runners import cpt

    if ordered is not None:
        write_order(folder, ordered)
    with restored():
        return cpt.main([str(folder)])


@contextlib.contextmanager
def at_step(step: int, act: Callable[[], None]) -> Iterator[None]:
    """Do something in the update after `step` updates, before its rows are read."""
    from lawdsl.runners.run import streams

    batch = streams.batch

    def acting(mix: Any, tokens: Any, sequence: int, now: int) -> Any:
        if now == step:
            act()
        return batch(mix, tokens, sequence, now)

    with mock.patch.object(streams, "batch", acting):
        yield


def stopped(folder: Path, step: int, number: signal.Signals = signal.SIGTERM) -> int:
    """Do a run until a signal comes while update `step` is made; its exit code."""
    with at_step(step - 1, lambda: os.kill(os.getpid(), number)):
        return do(folder)


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """What a run sets for its process is put back: signals, threads, deterministic kernels."""
    import torch

    handlers = {number: signal.getsignal(number) for number in ENDS}
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict)


def rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of a run, without what is no two times the same."""
    lines = (folder / "points.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [{k: v for k, v in row.items() if k not in VARYING} for row in found]


def losses(folder: Path) -> np.ndarray:
    """All losses of the rows of a run, on the validation sets and of the training."""
    return np.array(
        [
            loss
            for row in rows(folder)
            for loss in (*(m["loss"] for m in row["losses"].values()), row["train_loss"] or 0.0)
        ]
    )


def saved(folder: Path) -> list[str]:
    """The checkpoints of a run, the oldest first."""
    place = folder / "checkpoints"
    return sorted(os.listdir(place)) if place.is_dir() else []


def weights(folder: Path) -> dict[str, bytes]:
    """The files of the model that a run has trained."""
    return {path.name: path.read_bytes() for path in (folder / "model").iterdir()}


def differences(folder: Path, wanted: Path) -> list[str]:
    """What a run that is done has otherwise than another."""
    found = []
    if rows(folder) != rows(wanted):
        steps = [[row["step"] for row in rows(each)] for each in (folder, wanted)]
        found.append(f"the rows, of steps {steps[0]}, not {steps[1]}")
    if done(folder)["weights"] != done(wanted)["weights"]:
        found.append("the weights")
    if weights(folder) != weights(wanted):
        found.append("the files of the model")
    # a stable run keeps checkpoints for its branches
    entries = (*ENTRIES, "checkpoints") if read_order(folder).branch_steps else ENTRIES
    # nothing depends on curves, which are written where TensorBoard is installed
    left = [name for name in os.listdir(folder) if not name.startswith("events.out.")]
    found += [f"{name} is left" for name in left if name not in entries]
    return found


def done(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "done.json").read_text(encoding="utf-8"))


def environment() -> dict[str, str]:
    """For a process of its own that imports this checkout."""
    root = str(Path(__file__).resolve().parent.parent)
    return {**os.environ, "PYTHONPATH": root, "OMP_NUM_THREADS": "1"}
