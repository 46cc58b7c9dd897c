"""The loss on a validation set is the mean over all its tokens, and its error that over documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import runs
import torch
from torch import Tensor
from torch.nn import functional as F

from lawdsl.runners.corpora.corpus import Corpus, open_corpus
from lawdsl.runners.training import evaluation, models
from lawdsl.runners.training.distributed import ParallelContext

T = 32
ALONE = ParallelContext(0, 1, torch.device("cpu"), "cpu")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("data") / "held"
    runs.write_corpus(folder, runs.documents(9_000, 7, 0))
    return open_corpus(folder)


def targets(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """The tokens that are predicted, and the document of each."""
    count = (len(corpus.tokens) - 1) // T * T
    lengths = np.diff(corpus.documents)
    document = np.repeat(np.arange(len(lengths)), lengths)
    return corpus.tokens[1 : count + 1].astype(np.int64), document[1 : count + 1]


def by_token(values: np.ndarray) -> Callable[..., Tensor]:
    """A loss that is a number for each token, whatever is before it."""
    table = torch.from_numpy(values)

    def loss(tokens: Tensor, each: bool) -> Tensor:
        assert each and tokens.shape[1] == T + 1
        return table[tokens[:, 1:]]

    return loss


def drawn(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).gamma(2.0, 2.0, runs.VOCABULARY)


@pytest.mark.parametrize("rows", [1, 3, 8, 1000])
def test_the_loss_is_the_mean_over_all_tokens_of_all_windows(corpus: Corpus, rows: int):
    values = drawn(1)
    found = evaluation.measure(by_token(values), corpus, T, rows, ALONE)
    tokens, _ = targets(corpus)
    assert found.tokens == len(tokens) == corpus.windows(T) * T
    assert found.loss == pytest.approx(values[tokens].mean(), rel=1e-12)


def test_the_standard_error_is_that_of_a_ratio_over_documents(corpus: Corpus):
    values = drawn(2)
    found = evaluation.measure(by_token(values), corpus, T, 8, ALONE)
    tokens, document = targets(corpus)
    parts = [values[tokens[document == d]] for d in np.unique(document)]
    n = len(parts)
    # Cochran, Sampling Techniques, 6.4: the residuals of sums from the ratio times sizes
    squares = sum((part.sum() - found.loss * len(part)) ** 2 for part in parts)
    wanted = np.sqrt(n * squares / (n - 1)) / len(tokens)
    assert found.se == pytest.approx(wanted, rel=1e-12)


def test_the_standard_error_is_that_of_a_bootstrap_over_documents(corpus: Corpus):
    """Of a loss that differs from document to document more than from token to token."""
    tokens, document = targets(corpus)
    draw = np.random.default_rng(3)
    level = draw.gamma(3.0, 1.0, document[-1] + 1)
    rows = (level[document] * draw.uniform(0.5, 1.5, len(tokens))).reshape(-1, T)
    queue = iter(torch.from_numpy(rows).split(8))

    def loss(tokens: Tensor, each: bool) -> Tensor:
        found = torch.zeros(len(tokens), T, dtype=torch.float64)
        part = next(queue)
        found[: len(part)] = part
        return found

    found = evaluation.measure(loss, corpus, T, 8, ALONE)
    sums = np.bincount(document, rows.ravel())
    sizes = np.bincount(document)
    kept = sizes > 0
    sums, sizes = sums[kept], sizes[kept]
    chosen = draw.integers(0, len(sums), (4000, len(sums)))
    spread = (sums[chosen].sum(1) / sizes[chosen].sum(1)).std()
    assert found.loss == pytest.approx(rows.mean(), rel=1e-12)
    assert found.se == pytest.approx(spread, rel=0.15)
    naive = rows.std() / np.sqrt(rows.size)
    assert found.se is not None and found.se > 2 * naive


def test_one_document_says_nothing_of_its_error(tmp_path: Path):
    runs.write_corpus(tmp_path / "one", [np.arange(1, 201)])
    one = open_corpus(tmp_path / "one")
    found = evaluation.measure(by_token(drawn(4)), one, T, 4, ALONE)
    assert found.se is None
    assert found.loss == pytest.approx(drawn(4)[2 : 6 * T + 2].mean(), rel=1e-12)


@pytest.mark.parametrize("world", [2, 3, 5])
def test_processes_that_share_the_windows_measure_the_same(corpus: Corpus, world: int):
    values, parts, calls = drawn(5), [], []

    def loss(tokens: Tensor, each: bool) -> Tensor:
        calls.append(len(parts))
        return by_token(values)(tokens, each)

    for rank in range(world):
        place = ParallelContext(rank, world, torch.device("cpu"), "cpu")
        with mock.patch.object(evaluation, "summed", lambda _, own: parts.append(own) or own):
            evaluation.measure(loss, corpus, T, 4, place)
    together = evaluation._measured(*sum(parts))
    alone = evaluation.measure(by_token(values), corpus, T, 4, ALONE)
    assert together.tokens == alone.tokens
    assert together.loss == pytest.approx(alone.loss, rel=1e-12)
    assert together.se == pytest.approx(alone.se, rel=1e-12)
    assert len({calls.count(rank) for rank in range(world)}) == 1  # lest sharded ones wait


@pytest.mark.parametrize("double", [True, False], ids=["float64", "float32"])
def test_the_loss_of_a_model_is_that_of_its_full_logits(corpus: Corpus, double: bool):
    model = models.load(runs.QWEN2, "width-scaled", 0).eval()
    if double:
        model.double()
    with torch.no_grad():
        found = evaluation.measure(models.LanguageModelLoss(model), corpus, T, 8, ALONE)
        count = corpus.windows(T)
        rows = torch.from_numpy(
            np.stack([corpus.tokens[i * T : i * T + T + 1].astype(np.int64) for i in range(count)])
        )
        logits = model(input_ids=rows[:, :-1], use_cache=False).logits
        own = F.cross_entropy(logits.flatten(0, 1).double(), rows[:, 1:].flatten())
    # of each token's loss the last bits are lost in float32, 1e-7, in the mean fewer
    assert found.loss == pytest.approx(float(own), rel=1e-9 if double else 1e-8)
