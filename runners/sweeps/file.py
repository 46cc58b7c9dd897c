"""The schema of sweep.toml: sizes x mixtures x seeds.

name = "python-from-manuals"
folder = "runs/cpt"                      # of the runs; all folders are relative to this file
# export = "models/{model}"              # where trained models go, if each model has one run

[corpora]                                # folders made by `lawdsl corpus`
general = "corpora/general"
code = {folder = "corpora/code", max_epochs = 2}
[validation]
general = "corpora/general-validation"
code = "corpora/code-validation"

[[models]]
name = "0.2M"
folder = "models/0.2M"                   # as Hugging Face lays it out, with safetensors; or
# config = {model_type = "qwen2", ...}   # a configuration, and
# initialization = "width-scaled"        # how its weights are drawn
learning_rate = 3e-3                     # any field of [training] or [run], for this model

[grid]
shares = [{code = 0}, {code = 0.1}, {code = "1/3"}]
rest = "general"                         # the corpus that has what the shares leave
seeds = [1]
[[also]]                                 # further runs; what is left out is as in the grid
models = ["0.2M"]
shares = [{code = 0.5}]
seeds = [2, 3]

[training]                               # fields of `spec.Training`
steps = 600
batch = 16
sequence = 256
[evaluation]                             # after which steps; see `evaluation_steps`
schedule = "dense"
every = 40
# [schedule]                             # in place of training.schedule: a stable run of each cell,
# kind = "stable"                        # and from its checkpoints a decay for each D
# branches = [0.25, 0.5, 1]              # where decays end, as parts of training.steps
# decay = 0.1                            # how long a decay is, as a part of the steps until its end;
                                         # 0.1 unless decay_steps = 60 sets the length of all
# decay_steps = 60                       # in place of decay: one length for all
# constant_rows = false                  # true: evaluated at the constant rate too, by [evaluation]
[run]                                    # fields of `spec.ExecutionConfig`, no part of a run's identity
checkpoint_every = 100
# log = ["tensorboard", "wandb"]         # where curves go; TensorBoard, if it is installed, by default

[table]                                  # none of it is part of a run's identity
domain = "code"                          # the table's column `domain`
dlc = {steps = 40, model = "0.2M", shares = {code = 0.1}}   # the run that k1, k2, k3 are of

# A file may instead select runs of another sweep, in whose folder they are:
#
# extends = "sweep.toml"
# only = ["0.2M_code=0.1_seed=1", "0.2M_code=0.5_seed=2_steps=150"]   # a cell, a branch of one
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ..run.evaluation_steps import ListedSteps, Schedule
from ..spec import Positive, Record, exact_share

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")


def _named(value: object) -> object:
    """A name that is valid in folder and column names."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError("must be made of letters, digits and . _ + -, at most 40 of them")
    return value


def _number(value: object, is_valid: Callable[[Fraction], bool], expected: str) -> str:
    """The text of a number.

    Raises:
        ValueError: it is not a number, or is out of range.
    """
    try:
        written = str(exact_share(value))
        inside = is_valid(Fraction(written))
    except ValueError:
        inside = False
    if not inside:
        raise ValueError(f"must be a number {expected}")
    return written


def _share(value: object) -> object:
    """A share of the mixture, from 0 to 1."""
    return _number(value, lambda share: 0 <= share <= 1, 'from 0 to 1, such as 0.3 or "1/3"')


def _end(value: object) -> object:
    """The end of a branch: a nonzero fraction of the steps."""
    return _number(value, lambda end: 0 < end <= 1, 'above 0 and up to 1, such as 0.25 or "1/3"')


def _decay_part(value: object) -> object:
    """The length of a decay: a fraction of a branch, strictly between 0 and 1."""
    return _number(value, lambda part: 0 < part < 1, 'above 0 and below 1, such as 0.1 or "1/8"')


def _corpus(value: object) -> object:
    return {"folder": value} if isinstance(value, str) else value


Name = Annotated[str, BeforeValidator(_named)]
Share = Annotated[str, BeforeValidator(_share)]
End = Annotated[str, BeforeValidator(_end)]
DecayPart = Annotated[str, BeforeValidator(_decay_part)]
Shares = Annotated[dict[Name, Share], Field(min_length=1)]
Mixtures = Annotated[tuple[Shares, ...], Field(min_length=1)]
Seeds = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]


class CorpusEntry(Record):
    """A corpus of the mixture, and the maximum number of passes over it."""

    folder: str
    max_epochs: float = Field(default=1.0, gt=0)


class ModelEntry(BaseModel):
    """An initial model; fields of [training] and [run] may be overridden here."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: Name
    folder: str | None = None
    config: dict[str, Any] | None = None
    initialization: Literal["width-scaled", "transformers"] | None = None


class Grid(Record):
    """The Cartesian product of models, mixtures and seeds."""

    shares: Mixtures
    seeds: Seeds = (0,)
    rest: Name | None = None


class Also(Record):
    """Further runs; omitted entries are those of the grid."""

    models: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    shares: Mixtures | None = None
    seeds: Seeds | None = None


class Branching(Record):
    """A stable run for each cell of the grid, and decays that branch off it; see `stages`.

    `branches` are the ends of the decays as fractions of `training.steps`, and `decay` is the
    length of each as a fraction of its steps; `decay_steps` instead is the length of all. Without
    `constant_rows` runs are evaluated only at their ends.
    """

    kind: Literal["stable"] = "stable"
    branches: tuple[End, ...]
    decay: DecayPart = "1/10"
    decay_steps: Positive | None = None
    constant_rows: bool = False


class Learnability(Record):
    """The run whose losses on the domain determine k1, k2 and k3, and their unit in steps.

    D-CPT (2406.01375), section 4.4 and appendix H; the unit is 1000 steps there. They characterise
    a domain, so one run determines them for all others.
    """

    steps: Positive
    model: Name
    shares: Shares
    seed: int | None = None


class Columns(Record):
    """Further columns of the table."""

    domain: Name | None = None
    general: Name | None = None
    dlc: Learnability | None = None


class Selection(Record):
    """A file that selects runs of another sweep, as `lawdsl design` writes it.

    `extends` is the path of the sweep, relative to this file; `only` are labels of runs: of a cell of
    the grid, with all its branches, or of a branch, with as much of its stable run as it needs.
    """

    extends: Annotated[str, Field(min_length=1)]
    only: Annotated[tuple[str, ...], Field(min_length=1)]


class File(Record):
    """The whole file; `training` and `run` are validated for each model, with its own values."""

    name: Name
    folder: str
    export: str | None = None
    corpora: Annotated[
        dict[Name, Annotated[CorpusEntry, BeforeValidator(_corpus)]], Field(min_length=1)
    ]
    validation: Annotated[dict[Name, str], Field(min_length=1)]
    models: Annotated[tuple[ModelEntry, ...], Field(min_length=1)]
    grid: Grid
    also: tuple[Also, ...] = ()
    training: dict[str, Any]
    evaluation: Schedule = ListedSteps(steps=())
    """Optional if [schedule] has runs evaluated only at their ends."""
    schedule: Branching | None = None
    run: dict[str, Any] = {}
    table: Columns = Columns()
