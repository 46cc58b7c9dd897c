"""A model and a validation set -> its loss in nats per token, with a standard error.

loss = sum_d l_d / sum_d t_d over documents d with loss l_d and t_d tokens, and se^2 =
n/(n - 1) sum_d (l_d - loss t_d)^2 / (sum_d t_d)^2: the ratio estimator of Cochran (1977), Sampling
Techniques, chapter 6.
"""

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
        loss: mean over the tokens, in nats per token.
        se: its standard error, clustered by document, because the tokens of one document are not
            independent. None if there is only one document.
        tokens: number of predicted tokens.
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
    """Measure the loss on the windows of a corpus, which are distributed over the processes.

    Args:
        loss: `models.LanguageModelLoss`, or a function in its place.
        corpus: the validation set.
        sequence: tokens of a window.
        rows: rows per batch; incomplete batches are padded with rows that are ignored.
        parallel: this process and the others.
        exit_requested: the number of the signal that requested an exit, 0 for none; equal in all
            processes.

    Returns:
        The loss; None if an exit was requested.
    """
    count = corpus.windows(sequence)
    # the first token of a document is predicted from another one, but counts for its document
    document = np.searchsorted(corpus.documents, np.arange(count * sequence) + 1, side="right") - 1
    document = document.reshape(count, sequence)
    sums = np.zeros((2, len(corpus.documents) - 1))
    row_numbers = np.arange(parallel.rank, count, parallel.world)
    # every process calls its model equally often, because calls of sharded models are collective
    for begin in range(0, -(-count // parallel.world), rows):
        if exit_requested():
            return None
        chosen = row_numbers[begin : begin + rows]
        tokens = np.zeros((rows, sequence + 1), np.int64)
        for row, window in enumerate(chosen):
            tokens[row] = corpus.tokens[window * sequence : (window + 1) * sequence + 1]
        # rows beyond the last window are 0; their results are discarded below
        each = loss(torch.from_numpy(tokens).to(parallel.device), each=True)
        # summed in float64, so that the distribution of windows over processes has hardly any
        # effect
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
