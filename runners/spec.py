"""One run: what decides its numbers, and, separately, how it is run.

Two runs whose `Run` is equal give the same losses, so a run is identified by the hash of it. The
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
"""Raised whenever the same `Run` would give other losses than before; a part of its identity."""


class Record(BaseModel):
    """Frozen; a field that is not known is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def exact_share(value: object) -> object:
    """A share as it was written, `0.1` as one tenth; fractions such as "1/3" too.

    Raises:
        ValueError: it is not a number.
    """
    try:
        return str(Fraction(str(value)))
    except ZeroDivisionError:
        raise ValueError(f"{value} divides by zero") from None


def _checkpointing(value: object) -> object:
    """One message for both members of the union."""
    if value != "auto" and not isinstance(value, bool):
        raise ValueError('must be true, false or "auto"')
    return value


Share = Annotated[str, BeforeValidator(exact_share)]
Positive = Annotated[int, Field(gt=0)]
Automatic = BeforeValidator(lambda value: None if value == "auto" else value)
"""`auto` is another word for a number that is not given."""


class ModelSpec(Record):
    """The model that a run begins with.

    `fingerprint` is of the weights, or of the configuration where there are none: then the weights
    are drawn, `width-scaled` with standard deviation 1/sqrt(hidden size), or as transformers does.
    """

    name: str
    fingerprint: str
    initialization: Literal["loaded", "width-scaled", "transformers"] = "loaded"


class CorpusSpec(Record):
    """A corpus of the mixture: its share of the rows, and how often it may be gone through."""

    fingerprint: str
    share: Share
    max_epochs: float = Field(default=1.0, gt=0)

    @property
    def fraction(self) -> Fraction:
        """The share as an exact number."""
        return Fraction(self.share)


class Training(Record):
    """The optimisation: AdamW with decoupled weight decay and a clipped gradient.

    A step is `batch` rows of `sequence` tokens. `warmup` and `decay` count steps, `final` is the
    last learning rate as a part of `learning_rate`.
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
    """Of matrix products: tf32 has 10 bits of mantissa and takes a GPU; bfloat16 is autocast.
    Weights and optimizer are float32 in any case. A sweep replaces auto before it writes a run."""
    dropout: bool = False
    """Whether the dropout of the model's configuration acts; else it is 0, but for what a
    configuration in the sweep itself names."""
    router_loss: float = Field(default=0.0, ge=0)
    """The coefficient of the loss that balances the load of a mixture of experts; 0 for none. A
    sweep that does not state it takes that of the model's configuration."""


class Run(Record):
    """Everything that decides the losses of a run, and nothing else.

    Shares are of rows and so, every row being `sequence` tokens, of tokens.
    """

    model: ModelSpec
    corpora: dict[str, CorpusSpec]
    validation: dict[str, str]
    """Fingerprint of every validation set."""
    training: Training
    evaluate: tuple[int, ...]
    """The steps after which the losses are measured, increasing; 0 is the model that is loaded."""
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
        """The name of the run: 16 hexadecimal digits of the hash of all that decides its losses.

        Names of the model, the corpora and the validation sets are part of it, for they head the
        columns of the table. Fields left at their defaults are not, so that a field that comes
        later changes no identity; nor are the passes that are allowed, which decide no loss.
        """
        allowed = {"corpora": {"__all__": {"max_epochs"}}}
        what = self.model_dump(mode="json", exclude_defaults=True, exclude=allowed)
        text = canonical_json(what | {"numerics": self.numerics})
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


class ExecutionConfig(Record):
    """The execution of a run; it changes the losses by rounding only."""

    device: str = "auto"
    """auto, cpu, cuda, cuda:1"""
    micro_batch: Annotated[Positive | None, Automatic] = None
    """Rows that go through the model at once. If None, or auto, all of a process's rows on the CPU;
    on a GPU as many as fit."""
    threads: int = Field(default=1, ge=1)
    """Of a process, on the CPU."""
    processes: Positive = 1
    """Data parallel; a sweep starts them, or torchrun."""
    nodes: Positive = 1
    """Machines that share the processes evenly; one command on each."""
    sharded: bool = False
    """Parameters and optimizer shared out between the processes (FSDP2) instead of copied."""
    checkpoint_activations: Annotated[bool | Literal["auto"], BeforeValidator(_checkpointing)] = (
        "auto"
    )
    """Whether layers store their inputs alone and are computed again in the backward pass. `auto`:
    on a GPU where one row would not fit otherwise."""
    compile: bool | None = None
    """torch.compile; on a GPU if None."""
    deterministic: bool = False
    """Kernels on a GPU that repeat bit for bit; slower. The CPU's always do."""
    checkpoint_every: Positive = 1000
    """Steps."""
    save_final: bool = True
    """Whether the trained model is kept, as a folder that transformers can load."""
    log: tuple[Literal["tensorboard", "wandb"], ...] | None = None
    """Where the loss of each step and the speed are written; TensorBoard, if it is installed, where
    None."""

    @model_validator(mode="after")
    def _evenly_shared(self) -> ExecutionConfig:
        if self.processes % self.nodes:
            raise ValueError(
                f"processes = {self.processes} is not a multiple of nodes = {self.nodes}"
            )
        return self

    @property
    def processes_per_node(self) -> int:
        """Processes of the run on each of its machines."""
        return self.processes // self.nodes


class Paths(Record):
    """The paths of what a run reads; an initialised model has its configuration here."""

    model: str | dict[str, Any]
    corpora: dict[str, str]
    validation: dict[str, str]


class Prefix(Record):
    """The stable run whose first steps are also the first steps of this run.

    `folder` is the name of its folder, beside that of this run; `step` is the last one that both
    have. The run may begin from the checkpoint there, and gives the same losses without it.
    """

    folder: str
    step: Positive


class RunOrder(Record):
    """What is written into a run's folder before it begins: `spec.json`."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    label: str
    run: Run
    paths: Paths
    how: ExecutionConfig = ExecutionConfig()
    columns: dict[str, str | int | float | None] = {}
    """Further columns of the table that are known beforehand."""
    prefix: Prefix | None = None
    """Of a decay branch."""
    branch_steps: tuple[Positive, ...] = ()
    """Of a stable run: the steps whose checkpoints are kept, for the branches that begin there."""

    @property
    def graph_settings(self) -> str:
        """All settings on which compiled graphs and the environment of a process can depend, as JSON.

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
    """Write plain data as canonical JSON: sorted keys, no spaces, floats as Python prints them."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_order(folder: Path) -> RunOrder:
    """The order of a run's folder.

    Raises:
        LawdslError: the folder has none, or it is invalid (R0102).
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
    """Write the order into a run's folder, which is created if it does not exist.

    Args:
        folder: the folder of the run.
        order: its order.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / ORDER, order.model_dump_json(by_alias=True, indent=2) + "\n")


def validation_messages(error: ValidationError) -> list[str]:
    """Each mistake in one line, with its place."""
    return [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
