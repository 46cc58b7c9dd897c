"""All messages: code -> what it means."""

from __future__ import annotations

from lawdsl.messages import (
    corpora,
    designs,
    exports,
    figures,
    fits,
    indices,
    laws,
    mixtures,
    pipelines,
    priors,
    questions,
    reading,
    runs,
    tables,
)
from lawdsl.messages.message import Message

LANGUAGE: dict[str, Message] = (
    reading.LEXICAL
    | reading.GRAMMATICAL
    | laws.NAMES
    | indices.INDICES
    | laws.MEANING
    | priors.STATED
    | pipelines.SECTIONS
    | questions.QUESTIONS
)
DATA: dict[str, Message] = (
    tables.TABLES
    | fits.FITS
    | priors.FITTED
    | fits.COMPARISONS
    | fits.TRENDS
    | pipelines.RUNS
    | questions.ANSWERS
    | fits.COMMANDS
    | figures.FIGURES
    | exports.EXPORTS
)
RUNNER: dict[str, Message] = (
    runs.RUNS
    | runs.SWEEPS
    | corpora.CORPORA
    | runs.MODELS
    | runs.STORE
    | runs.TRAINING
    | corpora.VALIDATION
    | runs.SCHEDULES
    | runs.TABLES
    | runs.MACHINE
)
MESSAGES: dict[str, Message] = LANGUAGE | DATA | mixtures.MIXTURES | designs.DESIGNS | RUNNER
