"""A validation set -> its report: selection.json, and the warnings for its users."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from lawdsl.core.diagnostics import Diagnostic

from .samples import SampleSet
from .selection import Selection, spread
from .sets import SampleLosses, SetRequest

REPORT_SCHEMA = 1
PERPLEXITY = (
    "exp(mean nats a token) of a sample, in each model's own tokens; what counts is the rank of a"
    " sample under one model"
)


def warnings_of(
    drawn: SampleSet, measured: SampleLosses, selection: Selection, request: SetRequest
) -> Iterator[Diagnostic]:
    """Yield warnings about a validation set.

    Args:
        drawn: the samples.
        measured: their losses.
        selection: what is kept.
        request: the requested sizes and limits.

    Returns:
        An iterator over diagnostics.
    """
    if request.samples is not None and len(drawn.samples) + drawn.short < request.samples:
        yield _warning(
            "R0607",
            f"there are only {len(drawn.samples) + drawn.short} documents, not {request.samples:,}:"
            " all are taken",
        )
    if request.keep is not None and len(selection.selected) < request.keep:
        yield _warning(
            "R0607",
            f"only {len(selection.selected)} samples are left, not {request.keep:,}: all are kept",
            "draw more with --samples, or ask for fewer with --keep",
        )
    if not measured.judges:
        yield _warning(
            "R0608",
            "no model was given: nothing is filtered, the set is a plain random sample",
            "give models with --model to drop what all of them find unlikely",
        )
    if len(measured.judges) == 1:
        yield _warning(
            "R0608",
            'only one model was given: the worst "under all models" are the worst of this one',
            "give models of other families too: what one of them dislikes may be good text",
        )
    for judge, losses, tokens in zip(
        measured.judges, measured.losses, measured.tokens, strict=True
    ):
        loss = float(losses @ tokens) / max(int(tokens.sum()), 1)
        if loss > math.log(judge.vocabulary):
            yield _warning(
                "R0609",
                f"{judge.name} does worse than guessing: {loss:.2f} nats a token, where a guess"
                f" among its {judge.vocabulary:,} tokens costs {math.log(judge.vocabulary):.2f}",
                "see whether the tokenizer in its folder is its own, and whether it was trained",
            )


def report(
    drawn: SampleSet, measured: SampleLosses, selection: Selection, request: SetRequest
) -> dict[str, Any]:
    """Describe the construction of a validation set: the plain data of selection.json without
    samples.

    Args:
        drawn: the samples.
        measured: their losses.
        selection: what is kept.
        request: the requested sizes and limits.

    Returns:
        Plain data; the keys are stable.
    """
    count = len(drawn.samples)
    return {
        "schema": REPORT_SCHEMA,
        "wanted": asdict(request) | {"worst": str(request.worst)},
        "documents": drawn.documents,
        "copies": drawn.duplicates,
        "short": drawn.short,
        "cut": sum(sample.cut for sample in drawn.samples),
        "samples": count,
        "identity": drawn.identity,
        "dropped": len(selection.dropped),
        "left": count - len(selection.dropped),
        "kept": len(selection.selected),
        "perplexity": PERPLEXITY,
        "models": [_of_model(measured, i, selection) for i in range(len(measured.judges))],
        "among_the_worst_of": list(selection.worst_of),
        "worst_shared": [list(row) for row in selection.shared],
        "spearman": [list(row) for row in selection.spearman],
    }


def _of_model(measured: SampleLosses, number: int, selection: Selection) -> dict[str, Any]:
    judge, tokens = measured.judges[number], measured.tokens[number]
    total = int(tokens.sum())
    return {
        "name": judge.name,
        "folder": str(judge.folder),
        "fingerprint": judge.fingerprint,
        "tokenizer": judge.tokenizer,
        "precision": judge.precision,
        "length": judge.length,
        "filled": int((tokens == judge.length).sum()),
        "tokens": total,
        "loss": float(measured.losses[number] @ tokens) / max(total, 1),
        "perplexity": spread(measured.losses[number].tolist()),
        "threshold": selection.thresholds[number],
    }


def _warning(code: str, message: str, help: str | None = None) -> Diagnostic:
    return Diagnostic(code, message, severity="warning", help=help)
