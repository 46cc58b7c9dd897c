"""Samples and a model -> their perplexities, with the model's own tokenizer.

The perplexity of a sample is exp(-(1/n) sum_i log p(t_i | t_<i)) over its n tokens. Perplexities
are not comparable between models with different tokenizers; the ranks of samples under each model
are.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer as Inner

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..corpora.corpus import file_hash
from ..corpora.tokenizer import END_TOKENS, library_errors
from ..spec import canonical_json
from ..training import models
from ..training.distributed import ParallelContext
from .score_log import JudgeScores

TOKENIZED_SAMPLES = 64  # samples that are tokenized together
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class Judge:
    """A model that scores samples.

    Attributes:
        start: the tokens before each sample: those that the tokenizer prepends to a text, else the
            one that ends a document; if the tokenizer has neither, it is empty, and the first token
            is not predicted.
        length: maximum number of predicted tokens per sample.
        precision: the precision of the weights and products, float32 or bfloat16.
        inner: the tokenizer.
    """

    name: str
    folder: Path
    fingerprint: str
    tokenizer: str
    vocabulary: int
    start: tuple[int, ...]
    length: int
    precision: str
    inner: Any = field(compare=False, repr=False)

    @property
    def identity(self) -> str:
        """A hash of everything that determines the perplexity of a sample."""
        what = [self.fingerprint, self.tokenizer, self.start, self.length, self.precision]
        return hashlib.blake2b(canonical_json(what).encode(), digest_size=16).hexdigest()


def judge(folder: str | Path, name: str, length: int, parallel: ParallelContext) -> Judge:
    """Inspect a model in a folder, without loading its weights.

    Args:
        folder: the folder of the model.
        name: the name of the model, for messages.
        length: maximum number of predicted tokens per sample.
        parallel: the device and the processes.

    Returns:
        The model.

    Raises:
        LawdslError: see `models.inspect`; no weights (R0605), no tokenizer (R0602), or the
            tokenizer of another model (R0603).
    """
    folder = Path(folder)
    facts = models.inspect(str(folder))
    if not facts.weights:
        message = f"the model {name} has no weights: its perplexities would mean nothing"
        help = "give the folder of a trained model, with its *.safetensors"
        raise LawdslError(Diagnostic("R0605", message, place=str(folder), help=help))
    inner = _tokenizer(folder, name)
    loaded = Judge(
        name=name,
        folder=folder,
        fingerprint=facts.fingerprint,
        tokenizer=file_hash(folder / TOKENIZER),
        vocabulary=facts.vocabulary,
        start=_start(inner, folder),
        length=min(length, facts.positions or length),
        precision="bfloat16" if parallel.device.type == "cuda" else "float32",
        inner=inner,
    )
    _check(loaded, max(inner.get_vocab(with_added_tokens=False).values(), default=0))
    return loaded


def encode(judge: Judge, texts: Sequence[str]) -> list[NDArray[np.int64]]:
    """Encode texts for a model: start tokens, then the text, truncated to its length.

    Args:
        judge: the model.
        texts: the samples.

    Returns:
        Tokens of each text, shape (tokens,), int64.

    Raises:
        LawdslError: a token unknown to the model (R0603), or a tokenizer that fails (R0216).
    """
    rows: list[NDArray[np.int64]] = []
    for begin in range(0, len(texts), TOKENIZED_SAMPLES):
        batch = texts[begin : begin + TOKENIZED_SAMPLES]
        with library_errors(judge.folder / TOKENIZER):
            encodings = judge.inner.encode_batch(batch, add_special_tokens=False)
        for encoding in encodings:
            ids = [*judge.start, *encoding.ids[: judge.length + 1]]
            rows.append(np.array(ids[: judge.length + 1], dtype=np.int64))
    _check(judge, max((int(row.max()) for row in rows if len(row)), default=0))
    return rows


def predicted(rows: Sequence[NDArray[np.int64]]) -> int:
    """The total number of predicted tokens."""
    return sum(max(len(row) - 1, 0) for row in rows)


def score(
    judge: Judge,
    keys: Sequence[str],
    rows: Sequence[NDArray[np.int64]],
    parallel: ParallelContext,
    budget: int,
) -> Iterator[JudgeScores]:
    """Yield the scores of samples, batch by batch, the longest first.

    The batches of the remaining samples are those of an uninterrupted scoring, so that a resumed
    scoring has equal results.

    Args:
        judge: the model.
        keys: the keys of the samples.
        rows: the samples as `encode` gives them.
        parallel: the device and the processes.
        budget: tokens of a batch, at most, unless one sample has more.

    Returns:
        An iterator over scores.

    Raises:
        LawdslError: see `models.load`; non-finite losses (R0605), or too little memory (R0606).
    """
    loss = _loaded(judge, parallel)
    for batch in _batches(rows, budget):
        losses = _mean_losses(judge, loss, [rows[i] for i in batch], parallel)
        counts = tuple(max(len(rows[i]) - 1, 0) for i in batch)
        yield JudgeScores(tuple(keys[i] for i in batch), losses, counts)


def estimate(
    judge: Judge, rows: Sequence[NDArray[np.int64]], parallel: ParallelContext, budget: int
) -> float:
    """Estimate the seconds of `score` by timing a batch from the middle, without loading.

    Args:
        judge: the model.
        rows: the samples as `encode` gives them.
        parallel: the device and the processes.
        budget: tokens of a batch.

    Returns:
        Seconds.

    Raises:
        LawdslError: see `score`.
    """
    loss = _loaded(judge, parallel)
    batches = list(_batches(rows, budget))
    batch = [rows[i] for i in batches[len(batches) // 2]]
    _mean_losses(judge, loss, batch, parallel)  # once as a warm-up
    begun = time.perf_counter()
    _mean_losses(judge, loss, batch, parallel)
    return (time.perf_counter() - begun) * predicted(rows) / max(predicted(batch), 1)


def _loaded(judge: Judge, parallel: ParallelContext) -> models.LanguageModelLoss:
    model = models.load(str(judge.folder), "loaded", 0)
    if judge.precision == "bfloat16":
        for (
            parameter
        ) in model.parameters():  # but not the buffers: rotary frequencies require float32
            parameter.data = parameter.data.bfloat16()
    return models.LanguageModelLoss(model.to(parallel.device).eval())


def _batches(rows: Sequence[NDArray[np.int64]], budget: int) -> Iterator[list[int]]:
    """Batches of rows of similar length, the longest first, so that a lack of memory occurs at
    once.
    """
    batch: list[int] = []
    # ties by number, so that batches are the same at every call
    for i in sorted(range(len(rows)), key=lambda i: (-len(rows[i]), i)):
        if batch and (len(batch) + 1) * len(rows[batch[0]]) > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


@torch.no_grad()
def _mean_losses(
    judge: Judge,
    loss: models.LanguageModelLoss,
    rows: Sequence[NDArray[np.int64]],
    parallel: ParallelContext,
) -> tuple[float, ...]:
    # at least two columns: a row and its targets are each one token shorter
    tokens = np.zeros((len(rows), max(2, *map(len, rows))), np.int64)
    for i, row in enumerate(rows):  # padding follows the row: no token attends to it
        tokens[i, : len(row)] = row
    try:
        # summed in float64, for accuracy in long rows
        each = loss(torch.from_numpy(tokens).to(parallel.device), each=True).double().cpu().numpy()
    except torch.OutOfMemoryError:
        message = f"{tokens.size} tokens at once do not fit in the memory of {parallel.name}"
        help = "take fewer with --batch-tokens, or another --device; the scores so far are kept"
        raise LawdslError(
            Diagnostic("R0606", message, place=f"model {judge.name}", help=help)
        ) from None
    counts = [max(len(row) - 1, 0) for row in rows]
    losses = tuple(float(each[i, :n].sum()) / max(n, 1) for i, n in enumerate(counts))
    if not all(map(math.isfinite, losses)):
        message = f"the losses of the model {judge.name} are not numbers"
        help = "its weights are damaged, or overflow in bfloat16: try --device cpu"
        raise LawdslError(Diagnostic("R0605", message, place=str(judge.folder), help=help))
    return losses


def _tokenizer(folder: Path, name: str) -> Any:
    path = folder / TOKENIZER
    if not path.is_file():
        raise _no_tokenizer(f"the model {name} has no {TOKENIZER}", path)
    try:
        with library_errors(path, b""):
            inner = Inner.from_file(str(path))
    except LawdslError as error:
        message = error.diagnostics[0].message.partition(": ")[2]
        raise _no_tokenizer(
            f"the tokenizer of the model {name} cannot be read: {message}", path
        ) from None
    inner.no_truncation()
    inner.no_padding()
    inner.encode_special_tokens = True  # otherwise a text could contain its own end token
    return inner


def _start(inner: Any, folder: Path) -> tuple[int, ...]:
    with library_errors(folder / TOKENIZER):
        with_special = inner.encode("a", add_special_tokens=True)
    before = itertools.takewhile(
        lambda pair: pair[1], zip(with_special.ids, with_special.special_tokens_mask, strict=True)
    )
    start = tuple(token for token, _ in before)
    if start and len(start) < len(with_special.ids):
        return start
    token_ids = (inner.token_to_id(end) for end in END_TOKENS)
    return next(((token,) for token in token_ids if token is not None), ())


def _check(judge: Judge, token: int) -> None:
    """Raise an error for a token without an embedding in the model."""
    if max(token, *judge.start, 0) >= judge.vocabulary:
        raise LawdslError(
            Diagnostic(
                "R0603",
                f"the tokenizer gives the token {max(token, *judge.start, 0)}, the model"
                f" {judge.name} knows {judge.vocabulary}",
                place=str(judge.folder / TOKENIZER),
                help="put the tokenizer that the model was trained with in its folder",
            )
        )


def _no_tokenizer(message: str, path: Path) -> LawdslError:
    help = (
        f"put its {TOKENIZER} beside its weights; transformers' AutoTokenizer(...).save_pretrained"
        " writes one from older forms"
    )
    return LawdslError(Diagnostic("R0602", message, place=str(path), help=help))
