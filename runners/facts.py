"""What is known of a model before it is loaded; whoever plans a sweep loads no torch for it."""

from __future__ import annotations

from dataclasses import dataclass

from . import costs


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

    @property
    def tied(self) -> bool:
        """Whether the head shares the weights of the input embedding."""
        return self.parameters - self.non_embedding == self.embedding

    def flops_per_token(self, sequence: int) -> int:
        """FLOP of a forward and a backward pass, a token; see `costs.flops_per_token`."""
        return costs.flops_per_token(
            self.parameters, self.embedding, self.layers, self.hidden, sequence, tied=self.tied
        )
