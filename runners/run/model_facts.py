"""Facts of a model that are known before it is loaded; planning a sweep does not load torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from . import costs
from .memory import MemoryProfile


@dataclass(frozen=True)
class Experts:
    """The experts of a mixture-of-experts model.

    Attributes:
        count: number of experts per layer; 0 if the configuration does not define it.
        used: number of experts per token (top k); 0 if the configuration does not define it.
        parameters: number of parameters of all experts.
        auxiliary: the auxiliary losses of the router in the configuration, as text.
        router_loss: the coefficient of the router loss that the model computes; 0 for none.
    """

    count: int
    used: int
    parameters: int
    auxiliary: tuple[str, ...]
    router_loss: float = 0.0

    @property
    def idle(self) -> int | None:
        """Number of expert parameters that are inactive for a token; None if unknown."""
        if not (self.count and self.used):
            return None
        return self.parameters - self.parameters * self.used // self.count


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a model that are known before it is loaded.

    Attributes:
        fingerprint: hash of the configuration and of the weights, if any.
        weights: whether the folder has weights.
        parameters: number of parameters, shared ones counted once.
        non_embedding: number of parameters except input embedding and head: the N of most laws.
        embedding: number of parameters of the input embedding.
        layers, hidden: number of layers, and the hidden size.
        vocabulary: the size of the vocabulary.
        positions: maximum length of rows; None if unlimited.
        dropout: name -> dropout rate; set to 0 unless the training enables dropout.
        experts: the experts of a mixture of experts.
        memory: whether activations are checkpointed -> memory profile; empty if it was not or
            cannot be counted.
        uncounted: why the memory cannot be counted; empty if it can be, or was not tried.
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
        """Number of active parameters per token without embeddings: N of a dense model."""
        return self.non_embedding - ((self.experts and self.experts.idle) or 0)

    def flops_per_token(self, sequence: int) -> int:
        """FLOP per token of a forward and a backward pass; see `costs.flops_per_token`."""
        working = self.parameters - (self.non_embedding - self.active)
        return costs.flops_per_token(
            working, self.embedding, self.layers, self.hidden, sequence, tied=self.tied
        )
