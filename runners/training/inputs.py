"""The order of a run -> its model, corpora and validation sets, verified against the order."""

from __future__ import annotations

from dataclasses import dataclass

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..corpora.corpus import Corpus, open_corpus
from ..corpora.verification import verify
from ..run import streams
from ..run.model_facts import ModelFacts
from ..run.schedules import check_schedule
from ..spec import Run, RunOrder, Training
from . import models


@dataclass(frozen=True)
class RunInputs:
    """The inputs of a run.

    Attributes:
        facts: the facts of the initial model, which is not loaded yet.
        corpora: the memory-mapped corpora in the order of the mixture.
        validation: the validation sets.
        mixture: the mixture of the corpora.
    """

    facts: ModelFacts
    corpora: dict[str, Corpus]
    validation: dict[str, Corpus]
    mixture: streams.Mixture


def inputs_of(order: RunOrder, world: int) -> RunInputs:
    """Open and verify the inputs of a run.

    Args:
        order: the order of the run.
        world: the number of processes of the run.

    Returns:
        The inputs.

    Raises:
        LawdslError: see `models.inspect`, `open_corpus` and `verify`; an input that differs from
            the specification (R0503), corpora that do not match the model (R0504) or are too small
            (R0505, R0506), a batch that is not divisible among the processes (R0502), an
            inconsistent schedule (R0702).
    """
    run, training = order.run, order.run.training
    facts = models.inspect(order.paths.model)
    check_same("the model", run.model.fingerprint, facts.fingerprint)
    corpora = {
        name: _opened(order.paths.corpora[name], part.fingerprint, facts, training)
        for name, part in sorted(run.corpora.items())
    }
    validation = {
        name: _opened(order.paths.validation[name], fingerprint, facts, training)
        for name, fingerprint in run.validation.items()
    }
    verify((*corpora.values(), *validation.values()))
    windows = {name: corpus.windows(training.sequence) for name, corpus in corpora.items()}
    mixture = streams.mixture_of(run, windows)
    check_schedule(training)
    _check_supply(mixture, run)
    _check_rows(training, facts, world)
    return RunInputs(facts, corpora, validation, mixture)


def check_same(what: str, expected: str, actual: str) -> None:
    """Raise an error for an input whose fingerprint differs from the specification of the run.

    Args:
        what: the input, for the message.
        expected, actual: fingerprints.

    Raises:
        LawdslError: R0503.
    """
    if expected != actual:
        raise LawdslError(
            Diagnostic(
                "R0503",
                f"{what} has changed since the run was ordered: it is {actual}, not {expected}",
                help="put back what was there, or order another run with `lawdsl run`",
            )
        )


def _opened(folder: str, fingerprint: str, facts: ModelFacts, training: Training) -> Corpus:
    """Open a corpus, and check it against the specification of the run and the model."""
    corpus = open_corpus(folder)
    check_same(folder, fingerprint, corpus.fingerprint)
    if corpus.windows(training.sequence) == 0:
        raise LawdslError(
            Diagnostic(
                "R0506",
                f"{folder} has {len(corpus.tokens)} tokens, and a row takes"
                f" {training.sequence} and the one after them",
                help="bring more text, or train on shorter sequences",
            )
        )
    if corpus.vocabulary > facts.vocabulary:
        raise LawdslError(
            Diagnostic(
                "R0504",
                f"{folder} has {corpus.vocabulary} kinds of tokens, the model knows"
                f" {facts.vocabulary}",
                help="make the corpus with the model's own tokenizer",
            )
        )
    return corpus


def _check_supply(mixture: streams.Mixture, run: Run) -> None:
    """Raise an error if a run would exceed the allowed number of passes over a corpus."""
    drawn = streams.rows_drawn(mixture, run.training.steps)
    for name, needed, have in zip(mixture.names, drawn, mixture.windows, strict=True):
        allowed = run.corpora[name].max_epochs
        if needed > allowed * have:
            raise LawdslError(
                Diagnostic(
                    "R0505",
                    f"the corpus {name} has {have} windows of {run.training.sequence} tokens, the"
                    f" run needs {needed}: more than {allowed:g} passes",
                    help="train for fewer steps, bring more text, or allow a larger max_epochs",
                )
            )


def _check_rows(training: Training, facts: ModelFacts, world: int) -> None:
    """Raise an error for rows longer than the positions of the model, or not divisible among the
    processes.
    """
    if facts.positions is not None and training.sequence > facts.positions:
        raise LawdslError(
            Diagnostic(
                "R0504",
                f"rows have {training.sequence} tokens, the model has {facts.positions} positions",
                help="train on shorter sequences",
            )
        )
    if training.batch % world:
        raise LawdslError(
            Diagnostic(
                "R0502",
                f"{world} processes cannot share a batch of {training.batch} rows evenly",
                help="use a number of processes that divides the batch",
            )
        )
