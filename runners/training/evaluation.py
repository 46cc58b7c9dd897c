"""The loss on a validation set: nats a token, and how well the set determines it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..corpora.corpus import Corpus
from .distributed import ParallelContext, summed


@dataclass(frozen=True)
class ValidationLoss:
    """The loss of a model on a validation set.

    Attributes:
        loss: mean over the tokens, in nats a token.
        se: its standard error over the documents of the set, those being the sample that was
            drawn; the tokens of one document are not independent. None where there is one document.
        tokens: how many were predicted.
    """

    loss: float
    se: float | None
    tokens: int


def measure(
    loss: Callable[..., Tensor],
    corpus: Corpus,
    sequence: int,
    rows: int,
    parallel: ParallelContext,
    exit_requested: Callable[[], int] = lambda: 0,
) -> ValidationLoss | None:
    """The loss on the windows of a corpus, which the processes share out among them.

    Args:
        loss: `models.Loss`, or what stands for it.
        rows: that go through the model at once, always as many: rows that are left over are
            filled up and do not count.
        exit_requested: whether to stop, which all processes must be told alike.

    Returns:
        None where it was stopped.
    """
    count = corpus.windows(sequence)
    # the first token of a document is predicted from another one; it is the document's all the same
    document = np.searchsorted(corpus.documents, np.arange(count * sequence) + 1, side="right") - 1
    document = document.reshape(count, sequence)
    sums = np.zeros((2, len(corpus.documents) - 1))
    row_numbers = np.arange(parallel.rank, count, parallel.world)
    # every process asks its model equally often, for sharded ones do that together
    for begin in range(0, -(-count // parallel.world), rows):
        if exit_requested():
            return None
        chosen = row_numbers[begin : begin + rows]
        tokens = np.zeros((rows, sequence + 1), np.int64)
        for row, window in enumerate(chosen):
            tokens[row] = corpus.tokens[window * sequence : (window + 1) * sequence + 1]
        each = loss(torch.from_numpy(tokens).to(parallel.device), each=True)
        losses = each.double().cpu().numpy()[: len(chosen)]
        where = document[chosen].ravel()
        sums[0] += np.bincount(where, losses.ravel(), sums.shape[1])
        sums[1] += np.bincount(where, minlength=sums.shape[1])
    return _measured(*summed(parallel, sums))


def _measured(losses: NDArray[np.float64], tokens: NDArray[np.float64]) -> ValidationLoss:
    """The ratio of two sums over documents, with the standard error of a ratio estimate."""
    losses, tokens = losses[tokens > 0], tokens[tokens > 0]
    total, n = float(tokens.sum()), len(tokens)
    loss = float(losses.sum()) / total
    spread = float(((losses - loss * tokens) ** 2).sum())
    se = math.sqrt(spread * n / (n - 1)) / total if n > 1 else None
    return ValidationLoss(loss, se, int(total))
