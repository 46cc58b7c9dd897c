"""Facts of a model that are known before it is loaded; planning a sweep does not load torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from . import costs
from .memory import MemoryProfile


@dataclass(frozen=True)
class Experts:
    """The experts of a model of which a router chooses some for each token.

    Attributes:
        count: the number in a layer; 0 where the configuration does not state it.
        used: the number that process a token; 0 where the configuration does not state it.
        parameters: of all of them.
        auxiliary: what the configuration asks to be added to the loss for the router, as text.
        router_loss: the coefficient of the router loss that the model computes; 0 for none.
    """

    count: int
    used: int
    parameters: int
    auxiliary: tuple[str, ...]
    router_loss: float = 0.0

    @property
    def idle(self) -> int | None:
        """Parameters of those that do not work on a token; None where that is not known."""
        if not (self.count and self.used):
            return None
        return self.parameters - self.parameters * self.used // self.count


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model before it is loaded.

    Attributes:
        fingerprint: hash of the configuration and, where there are some, of the weights.
        weights: whether there are some.
        parameters: all of them, those that are shared counted once.
        non_embedding: all but the input embedding and the head: the N of most laws.
        embedding: of the input embedding alone.
        layers, hidden: how many layers there are, and their width.
        vocabulary: how many kinds of tokens it knows.
        positions: how long its rows may be; None where nothing limits them.
        dropout: its rates by name, which are set to 0 unless the training enables dropout.
        experts: the experts of a mixture of experts.
        memory: what its passes allocate, by whether activations are checkpointed; empty where that
            was not counted, or cannot be.
        uncounted: why it cannot be; empty where it can, or was not tried.
    """

    fingerprint: str
    weights: bool
    parameters: int
    non_embedding: int
    embedding: int
    layers: int
    hidden: int
    vocabulary: int
    positions: int | None
    dropout: Mapping[str, float] = field(default_factory=dict)
    experts: Experts | None = None
    memory: Mapping[bool, MemoryProfile] = field(default_factory=dict)
    uncounted: str = ""

    @property
    def tied(self) -> bool:
        """Whether the head shares the weights of the input embedding."""
        return self.parameters - self.non_embedding == self.embedding

    @property
    def active(self) -> int:
        """Parameters that work on a token, but for embedding and head: N of a dense model."""
        return self.non_embedding - ((self.experts and self.experts.idle) or 0)

    def flops_per_token(self, sequence: int) -> int:
        """FLOP of a forward and a backward pass, a token; see `costs.flops_per_token`."""
        working = self.parameters - (self.non_embedding - self.active)
        return costs.flops_per_token(
            working, self.embedding, self.layers, self.hidden, sequence, tied=self.tied
        )
