"""Validation sets: random samples of text, without those with high perplexity under every model.

    drawn = draw(inputs, 5000, seed, ...)               random documents, cut to a length
    measured = measure(drawn, panel, folder)            their perplexities, kept as they come
    selection = select(measured.losses, worst, keep)    who stays
    write_set(folder, ...)                              a corpus, with selection.json

After D-CPT (Que et al. (2024), arXiv:2406.01375), appendix F.1: 5,000 samples of a domain under
four models, of which 1,000 were kept. The paper's "bottom 10 %" is interpreted as the 10 % with the
highest perplexity.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..corpora.atomic_folders import new_folders, writing
from ..corpora.corpus import Corpus, open_corpus
from ..corpora.deduplication import DistinctDocument
from ..corpora.tokenizer import Tokenizer
from ..corpora.writer import Writer
from .samples import SampleSet
from .score_log import SCORES, scorebook
from .selection import Selection

if TYPE_CHECKING:
    from ..training.distributed import ParallelContext
    from .perplexities import Judge

SELECTION = "selection.json"
WRITTEN_DOCUMENTS = 256  # documents written in one batch


@dataclass(frozen=True)
class SetRequest:
    """The requested properties of a validation set.

    Attributes:
        samples: number of sampled documents; `keep` of the remaining ones form the set. None is all.
        worst: the fraction of the samples considered a model's worst.
        length, shortest: maximum and minimum tokens per sample, by the tokenizer of the set.
    """

    samples: int | None = 5000
    keep: int | None = 1000
    worst: Fraction = Fraction(1, 10)
    seed: int = 0
    length: int = 2048
    shortest: int = 32


@dataclass(frozen=True)
class Panel:
    """The models that score the samples.

    Attributes:
        judges: the models; they are loaded one at a time.
        parallel: the device and the processes they run on.
        budget: maximum number of tokens per batch.
    """

    judges: Sequence[Judge]
    parallel: ParallelContext
    budget: int


@dataclass(frozen=True)
class SampleLosses:
    """Mean losses in nats per token, and numbers of predicted tokens, each (models, samples)."""

    judges: tuple[Judge, ...]
    losses: NDArray[np.float64]
    tokens: NDArray[np.int64]


def judges_of(
    folders: Sequence[str | Path], length: int, parallel: ParallelContext
) -> tuple[Judge, ...]:
    """Inspect the models in some folders, without loading their weights.

    Args:
        folders: the folders of the models.
        length: maximum number of predicted tokens per sample.
        parallel: the device and the processes.

    Returns:
        The models.

    Raises:
        LawdslError: see `perplexities.judge`; one model twice (R0605).
    """
    from .perplexities import judge

    names = [Path(folder).resolve().name for folder in folders]
    names = [n if names.count(n) == 1 else str(f) for n, f in zip(names, folders, strict=True)]
    judges: dict[str, Judge] = {}
    for folder, name in zip(folders, names, strict=True):
        new = judge(folder, name, length, parallel)
        old = judges.setdefault(new.identity, new)
        if old is not new:
            message = f"the models {old.name} and {name} are the same, and agree on everything"
            help = "name each model once"
            raise LawdslError(Diagnostic("R0605", message, place=str(folder), help=help))
    return tuple(judges.values())


def work_folder(folder: Path) -> Path:
    """The folder of the scores of a set until it is complete."""
    return folder.with_name(f"{folder.name}.scoring")


def measure(
    drawn: SampleSet, panel: Panel, folder: Path, progress: Callable[[int, int], None] | None = None
) -> SampleLosses:
    """Measure the losses of all samples under all models.

    Losses that an interrupted scoring of these samples, or the existing set, has measured are
    reused; a model is identified by the content of its files only.

    Args:
        drawn: the samples.
        panel: the models.
        folder: the folder of the set; the scores are stored in a sibling folder, synced after every
            batch.
        progress: called with the number of tokens predicted and that of all.

    Returns:
        The losses, shape (models, samples).

    Raises:
        LawdslError: see `score_log.scorebook` and `perplexities.score`.
    """
    from .perplexities import predicted, score

    keys = [sample.key for sample in drawn.samples]
    label = f"of the validation set {folder.name}"
    with scorebook(work_folder(folder), drawn.identity, label, folder / SCORES) as book:
        plan = _plan(drawn, panel.judges)
        total = sum(predicted(rows) for _, rows in plan)
        done = 0
        for judge, rows in plan:
            cached = book.of(judge.identity)
            missing = [i for i, key in enumerate(keys) if key not in cached]
            done += predicted(rows) - predicted([rows[i] for i in missing])
            if not missing:
                continue
            some = [keys[i] for i in missing], [rows[i] for i in missing]
            for scores in score(judge, *some, panel.parallel, panel.budget):
                book.add(judge.identity, judge.name, scores)
                done += sum(scores.tokens)
                if progress:
                    progress(done, total)
        both = [[book.of(judge.identity)[key] for key in keys] for judge, _ in plan]
    table = np.array(both, dtype=np.float64).reshape(len(plan), len(keys), 2)
    return SampleLosses(tuple(panel.judges), table[..., 0], table[..., 1].astype(np.int64))


def forecast(drawn: SampleSet, panel: Panel) -> list[dict[str, Any]]:
    """Forecast for each model the tokens it would predict, and the seconds, by timing a batch.

    Args:
        drawn: the samples.
        panel: the models.

    Returns:
        For each model its name, tokens and seconds.

    Raises:
        LawdslError: see `perplexities.score`.
    """
    from .perplexities import estimate, predicted

    return [
        {
            "name": judge.name,
            "tokens": predicted(rows),
            "seconds": estimate(judge, rows, panel.parallel, panel.budget),
        }
        for judge, rows in _plan(drawn, panel.judges)
    ]


def _plan(drawn: SampleSet, judges: Sequence[Judge]) -> list[tuple[Judge, list[NDArray[np.int64]]]]:
    """Each model with the samples encoded by its own tokenizer."""
    from .perplexities import encode

    return [(judge, encode(judge, [s.text for s in drawn.samples])) for judge in judges]


def unmeasured(drawn: SampleSet) -> SampleLosses:
    """The losses without models: arrays of shape (0, samples)."""
    nothing = np.zeros((0, len(drawn.samples)))
    return SampleLosses((), nothing, nothing.astype(np.int64))


def write_set(
    folder: Path,
    name: str,
    tokenizer: Tokenizer,
    drawn: SampleSet,
    selection: Selection,
    facts: dict[str, Any],
    inputs: Sequence[str | Path],
    force: bool = False,
) -> Corpus:
    """Write the corpus of the selected samples, with selection.json and scores.jsonl beside it.

    Its paragraphs are those of the documents around the samples, so that a corpus made against it
    does not have the other half of a paragraph that was cut.

    Args:
        folder: the folder of the set.
        name: the name of the corpus.
        tokenizer: the tokenizer of the corpus.
        drawn: the samples.
        selection: what is kept.
        facts: see `report.report`.
        inputs: the sources of the samples.
        force: replace the folder if it exists.

    Returns:
        The corpus.

    Raises:
        LawdslError: a folder that exists, a disk that is full.
    """
    selected = [drawn.samples[i] for i in selection.selected]
    lists = {
        title: [
            {"sample": drawn.samples[i].key, "source": drawn.samples[i].source} for i in numbers
        ]
        for title, numbers in (("kept", selection.selected), ("dropped", selection.dropped))
    }
    scores = work_folder(folder) / SCORES
    with new_folders((folder,), force) as partial_folders:
        partial = partial_folders[folder]
        with writing(partial_folders.values()):
            writer = Writer(partial, name, tokenizer)
            for begin in range(0, len(selected), WRITTEN_DOCUMENTS):
                batch = selected[begin : begin + WRITTEN_DOCUMENTS]
                # the low half of a key is random in all that are drawn, the high one is small
                documents = [
                    DistinctDocument(s.text, int(s.key[16:], 16), s.paragraphs) for s in batch
                ]
                writer.add(documents, None)
            writer.finish(None)
            if scores.exists():
                shutil.copyfile(scores, partial / SCORES)
            text = json.dumps(facts | {"lists": lists}, indent=1, ensure_ascii=False)
            (partial / SELECTION).write_text(
                text + "\n", encoding="utf-8", errors="backslashreplace"
            )
            writer.describe({"inputs": [str(path) for path in inputs], "selection": SELECTION})
    # only after the set has its name: until then the scores are all that there is
    shutil.rmtree(work_folder(folder), ignore_errors=True)
    return open_corpus(folder)
