"""The specification of a run: the settings that determine its losses and, separately, its
execution.

Two runs with equal `Run` have the same losses, so a run is identified by the hash of its `Run`. The
paths of folders are not part of it, but the fingerprints of their content are; nor are the device,
the micro-batch and the number of processes.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import write

ORDER = "spec.json"
NUMERICS = 1
"""Incremented whenever the losses of the same `Run` change; part of its identity."""


class Record(BaseModel):
    """A frozen model; unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def exact_share(value: object) -> object:
    """Parse a share exactly: `0.1` is one tenth, and fractions such as "1/3" are allowed.

    Raises:
        ValueError: it is not a number.
    """
    try:
        return str(Fraction(str(value)))
    except ZeroDivisionError:
        raise ValueError(f"{value} divides by zero") from None


def _checkpointing(value: object) -> object:
    """Validate with one message for both members of the union."""
    if value != "auto" and not isinstance(value, bool):
        raise ValueError('must be true, false or "auto"')
    return value


Share = Annotated[str, BeforeValidator(exact_share)]
Positive = Annotated[int, Field(gt=0)]
Automatic = BeforeValidator(lambda value: None if value == "auto" else value)
"""`auto` is equivalent to omitting the number."""


class ModelSpec(Record):
    """The initial model of a run.

    `fingerprint` is the hash of the weights, or of the configuration if there are none. In that
    case the weights are random: `width-scaled` with standard deviation 1/sqrt(hidden size), or
    initialised by transformers.
    """

    name: str
    fingerprint: str
    initialization: Literal["loaded", "width-scaled", "transformers"] = "loaded"


class CorpusSpec(Record):
    """A corpus of the mixture: its share of the rows, and the maximum number of passes over it."""

    fingerprint: str
    share: Share
    max_epochs: float = Field(default=1.0, gt=0)

    @property
    def fraction(self) -> Fraction:
        """The share as an exact number."""
        return Fraction(self.share)


class Training(Record):
    """The optimisation: AdamW with decoupled weight decay and a clipped gradient.

    A step is `batch` rows of `sequence` tokens. `warmup` and `decay` are numbers of steps, `final`
    is the last learning rate as a fraction of `learning_rate`.
    """

    steps: Positive
    batch: Positive
    sequence: Positive
    learning_rate: float = Field(gt=0)
    schedule: Literal["cosine", "constant", "warmup-stable-decay"] = "cosine"
    warmup: int = Field(default=0, ge=0)
    decay: int = Field(default=0, ge=0)
    final: float = Field(default=0.1, ge=0, le=1)
    weight_decay: float = Field(default=0.1, ge=0)
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.95, ge=0, lt=1)
    eps: float = Field(default=1e-8, gt=0)
    clip: float | None = Field(default=1.0, gt=0)
    precision: Literal["float32", "tf32", "bfloat16", "auto"] = "float32"
    """The precision of matrix products: tf32 has 10 bits of mantissa and requires a GPU; bfloat16
    is autocast. Weights and optimizer state are always float32. A sweep resolves auto before it
    writes a run.
    """
    dropout: bool = False
    """Whether the dropout of the model's configuration is enabled; otherwise it is 0, except for
    entries of a configuration in the sweep itself.
    """
    router_loss: float = Field(default=0.0, ge=0)
    """The coefficient of the loss that balances the load of a mixture of experts; 0 for none. If a
    sweep omits it, the value in the model's configuration is used.
    """


class Run(Record):
    """Everything that determines the losses of a run, and nothing else.

    Shares are fractions of rows and thus of tokens, because every row has `sequence` tokens.
    """

    model: ModelSpec
    corpora: dict[str, CorpusSpec]
    validation: dict[str, str]
    """Name -> fingerprint of every validation set."""
    training: Training
    evaluate: tuple[int, ...]
    """The steps after which the losses are measured, increasing; 0 is the initial model."""
    seed: int = 0
    numerics: int = NUMERICS

    @model_validator(mode="after")
    def _consistent(self) -> Run:
        total = sum(source.fraction for source in self.corpora.values())
        if total != 1 or any(s.fraction < 0 for s in self.corpora.values()):
            raise ValueError(f"the shares must lie in [0, 1] and add up to 1, not to {total}")
        if self.training.precision == "auto":
            raise ValueError("precision: a run names one; auto is for sweeps")
        if list(self.evaluate) != sorted(set(self.evaluate)) or self.evaluate[:1] != (0,):
            raise ValueError("the steps of the evaluations must increase, from 0")
        if self.evaluate[-1] > self.training.steps:
            raise ValueError(
                f"an evaluation after step {self.evaluate[-1]}, of {self.training.steps}"
            )
        return self

    def identity(self) -> str:
        """The identity of the run: 16 hexadecimal digits of the hash of everything that determines
        its losses.

        Names of the model, the corpora and the validation sets are part of it, because they are
        column names of the table. Fields with default values are not, so that new fields change no
        identity; nor is the maximum number of passes, which does not affect losses.
        """
        allowed = {"corpora": {"__all__": {"max_epochs"}}}
        what = self.model_dump(mode="json", exclude_defaults=True, exclude=allowed)
        text = canonical_json(what | {"numerics": self.numerics})
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


class ExecutionConfig(Record):
    """The execution settings of a run; they change the losses by rounding only."""

    device: str = "auto"
    """auto, cpu, cuda, cuda:1"""
    micro_batch: Annotated[Positive | None, Automatic] = None
    """Rows per micro-batch. If None, or auto, all rows of a process on the CPU; on a GPU as many as
    fit.
    """
    threads: int = Field(default=1, ge=1)
    """CPU threads of each process."""
    processes: Positive = 1
    """Number of data-parallel processes; started by a sweep or by torchrun."""
    nodes: Positive = 1
    """Number of machines, which share the processes evenly; the command is run on each."""
    sharded: bool = False
    """Whether parameters and optimizer state are sharded among the processes (FSDP2) instead of
    replicated.
    """
    checkpoint_activations: Annotated[bool | Literal["auto"], BeforeValidator(_checkpointing)] = (
        "auto"
    )
    """Whether layers store only their inputs and are recomputed in the backward pass. `auto`: on a
    GPU, if one row would not fit otherwise.
    """
    compile: bool | None = None
    """Whether to use torch.compile; on a GPU only if None."""
    deterministic: bool = False
    """Whether to use bitwise reproducible kernels on a GPU; slower. CPU kernels are always
    reproducible.
    """
    checkpoint_every: Positive = 1000
    """Steps between checkpoints."""
    save_final: bool = True
    """Whether the trained model is saved as a folder that transformers can load."""
    log: tuple[Literal["tensorboard", "wandb"], ...] | None = None
    """Destinations for the loss of each step and the speed; TensorBoard, if installed, if None."""

    @model_validator(mode="after")
    def _evenly_shared(self) -> ExecutionConfig:
        if self.processes % self.nodes:
            raise ValueError(
                f"processes = {self.processes} is not a multiple of nodes = {self.nodes}"
            )
        return self

    @property
    def processes_per_node(self) -> int:
        """Number of processes of the run on each machine."""
        return self.processes // self.nodes


class Paths(Record):
    """The paths of the inputs of a run; for a randomly initialised model, its configuration."""

    model: str | dict[str, Any]
    corpora: dict[str, str]
    validation: dict[str, str]


class Prefix(Record):
    """The stable run whose first steps are also the first steps of this run.

    `folder` is the name of its folder, a sibling of that of this run; `step` is the last common
    step. The run may start from the checkpoint there, and has the same losses without it.
    """

    folder: str
    step: Positive


class RunOrder(Record):
    """The complete specification of a run, written into its folder before it starts: `spec.json`."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    label: str
    run: Run
    paths: Paths
    how: ExecutionConfig = ExecutionConfig()
    columns: dict[str, str | int | float | None] = {}
    """Further columns of the table with known values."""
    prefix: Prefix | None = None
    """The common steps with the stable run, if this is a decay branch."""
    branch_steps: tuple[Positive, ...] = ()
    """In a stable run, the steps whose checkpoints are kept because branches start there."""
    until: Positive | None = None
    """In a stable run, the step after which it is paused: no branch that is wanted starts later."""

    @property
    def last_step(self) -> int:
        """The step after which the run ends, or is paused."""
        return self.run.training.steps if self.until is None else self.until

    @property
    def graph_settings(self) -> str:
        """All settings that can affect compiled graphs and the environment of a process, as JSON.

        Runs of one model with equal settings can be executed by one process, one after another.
        """
        training = {"batch", "sequence", "precision", "dropout", "router_loss"}
        not_in_graphs = {"checkpoint_every", "save_final", "log"}
        return canonical_json(
            {
                "training": self.run.training.model_dump(mode="json", include=training),
                "how": self.how.model_dump(mode="json", exclude=not_in_graphs),
            }
        )


def canonical_json(value: Any) -> str:
    """Serialise plain data as canonical JSON: sorted keys, no spaces, floats in Python's repr."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_order(folder: Path) -> RunOrder:
    """Read the specification in a run's folder.

    Raises:
        LawdslError: it is missing or invalid (R0102).
    """
    path = folder / ORDER
    try:
        return RunOrder.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        why = f"{folder} is not the folder of a run: it has no {ORDER}"
        notes: tuple[str, ...] = ()
    except ValidationError as error:
        why, notes = f"{path} is not the order of a run", tuple(validation_messages(error))
    help = "let `lawdsl run` write the folders of runs"
    raise LawdslError(Diagnostic("R0102", why, notes=notes, help=help))


def write_order(folder: Path, order: RunOrder) -> None:
    """Write the specification into a run's folder, which is created if it does not exist.

    Args:
        folder: the folder of the run.
        order: its order.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / ORDER, order.model_dump_json(by_alias=True, indent=2) + "\n")


def validation_messages(error: ValidationError) -> list[str]:
    """Each validation error in one line, with its location."""
    return [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
