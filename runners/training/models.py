"""Causal language models from a local folder or a configuration, and their facts.

Weights are read only from safetensors; nothing is downloaded, and no code in a model's folder is
run.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# before transformers is imported, which reads it once
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.utils import logging as transformers_logging

from lawdsl.core.enumerations import abridged

from ..run.model_facts import ModelFacts
from ..spec import canonical_json
from .attention import depends_on_later_tokens, probe_tokens, use_causal_attention
from .configurations import Source, configuration, plain_of, refused, understood, without_randomness
from .experts import check_router_loss, experts_of, router_losses
from .logit_transforms import attention_options, logit_transform
from .losses import chunked_loss, token_losses, transformed
from .weights import Weights, weights_of

transformers_logging.disable_progress_bar()

UNIMPORTANT = ("transformers_version", "_name_or_path", "dtype", "torch_dtype", "architectures")
TOLERANCE = 1e-3  # maximum deviation of losses from those of the model's own logits, in nats
LOGIT_RTOL = 1e-5  # maximum relative deviation of large logits
LOGIT_PROBE_FACTOR = 100.0  # factor of the logits that reveals a cap


class LanguageModelLoss(nn.Module):
    """The loss of a batch in nats, summed or for each token, without storing all logits.

    Args:
        model: the model.
        chunk: tokens per chunk of logits; by the size of the vocabulary if None.
        router_loss: the coefficient of the router loss of a mixture of experts.
    """

    def __init__(
        self, model: PreTrainedModel, chunk: int | None = None, router_loss: float = 0.0
    ) -> None:
        super().__init__()
        use_causal_attention(model)
        self.body = model.base_model
        self.head = model.get_output_embeddings()
        self.transform = logit_transform(model.config)
        self.chunk = chunk
        self.router_loss = router_loss
        experts = experts_of(model) if router_loss else None
        self.experts_used = experts.used if experts else 0

    def forward(self, tokens: Tensor, each: bool = False) -> Tensor:
        """Compute the loss of rows of T + 1 tokens.

        Args:
            tokens: shape (rows, T + 1).
            each: whether to return the loss of every prediction, without a gradient.

        Returns:
            The sum in nats, a scalar; with a router loss shape (2,): that sum, and T times the
            coefficient times the sum over rows of the router losses. With `each`, shape (rows, T).
        """
        balanced = bool(self.router_loss) and not each
        options = {"output_router_logits": True} if balanced else {}
        outputs = self.body(input_ids=tokens[:, :-1], use_cache=False, **options)
        hidden = outputs.last_hidden_state
        targets = tokens[:, 1:].reshape(-1)
        weight, bias = self.head.weight, self.head.bias
        settings = {"chunk": self.chunk, "bias": bias, "transform": self.transform}
        if each:
            return token_losses(hidden, weight, targets, **settings).view(len(tokens), -1)
        loss = chunked_loss(hidden, weight, targets, **settings)
        if not balanced:
            return loss
        of_rows = router_losses(outputs.router_logits, len(tokens), self.experts_used)
        factor = self.router_loss * (tokens.shape[1] - 1)
        return torch.stack((loss, factor * of_rows.sum().to(loss.dtype)))


def inspect(source: Source) -> ModelFacts:
    """Return the facts of a model, from its folder or its configuration as plain data.

    Raises:
        LawdslError: no such folder (R0301), a configuration that is unknown to transformers or
            would run its own code (R0302), weights that are not safetensors of this folder (R0303).
    """
    config, weights = configuration(source), weights_of(source)
    random = without_randomness(config, source)
    # weights on the meta device take no memory
    with understood(source, "R0302"), torch.device("meta"):
        model = from_config(config)
    embedding = model.get_input_embeddings().weight
    head = model.get_output_embeddings()
    if head is None:
        raise refused("R0302", source, "the model has no head that predicts the next token")
    total = _count(model)
    untied_head = 0 if head.weight is embedding else head.weight.numel()
    text = config.get_text_config()
    return ModelFacts(
        fingerprint=_fingerprint(source, weights, random),
        weights=bool(weights.files),
        parameters=total,
        non_embedding=total - embedding.numel() - untied_head,
        embedding=embedding.numel(),
        layers=text.num_hidden_layers,
        hidden=text.hidden_size,
        vocabulary=embedding.shape[0],
        positions=getattr(text, "max_position_embeddings", None),
        dropout=random,
        experts=experts_of(model),
    )


def load(
    source: Source,
    initialization: str,
    seed: int,
    *,
    dropout: bool = False,
    router_loss: float = 0.0,
) -> PreTrainedModel:
    """Load or initialise a model in float32 on the CPU, ready to be trained.

    Args:
        source: its folder, or its configuration as plain data.
        initialization: `loaded` or random: `width-scaled` with standard deviation 1/sqrt(hidden
            size), which models narrower than some hundred need (with a fixed standard deviation,
            larger models could be worse than smaller ones), or `transformers` by that library.
        seed: the seed of random weights.
        dropout: keep the dropout of the configuration; else only entries of a configuration given
            as plain data.
        router_loss: the coefficient of the router loss with which it is trained.

    Returns:
        The model.

    Raises:
        LawdslError: see `inspect`; weights that are not those of the configuration (R0303); a model
            whose loss is not computed from its last hidden states by its head with scale and cap
            (R0304), that attends to the tokens to predict (R0411), or whose router loss differs
            from the one computed here (R0305).
    """
    config, weights = _configured(source, initialization, dropout), weights_of(source)
    if initialization == "loaded":
        if not weights.files:
            raise refused("R0303", source, "the folder holds no weights")
        model = _from_weights(source, config, weights)
    else:
        torch.manual_seed(seed)
        model = from_config(config)
    _check(model, source)
    if router_loss:
        training = model.training
        check_router_loss(model.eval(), source)
        model.train(training)
    return model


def skeleton(source: Source, initialization: str, *, dropout: bool = False) -> PreTrainedModel:
    """Build a model whose parameters are on the meta device, where they take no memory.

    Args:
        source, initialization, dropout: see `load`.

    Returns:
        The model; its buffers are those of `load`. Nothing is checked.

    Raises:
        LawdslError: see `inspect`.
    """
    config = _configured(source, initialization, dropout)
    with understood(source, "R0302"), _parameters_on_meta():
        return from_config(config)


@contextmanager
def _parameters_on_meta() -> Iterator[None]:
    """Place the parameters, but not the buffers, of modules created in the block on the meta
    device.

    `torch.device("meta")` would place buffers there too, and lose values computed by constructors,
    such as the frequencies of rotary embeddings.
    """
    register = nn.Module.register_parameter

    def on_meta(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        # a parameter on meta already is tied to another, and must remain the same object
        if parameter is not None and parameter.device.type != "meta":
            parameter = nn.Parameter(parameter.to("meta"), parameter.requires_grad)
        register(module, name, parameter)

    nn.Module.register_parameter = on_meta
    try:
        yield
    finally:
        nn.Module.register_parameter = register


def _configured(source: Source, initialization: str, dropout: bool) -> Any:
    """The configuration of a model for training; see `load`."""
    config = configuration(source)
    if not dropout:
        without_randomness(config, source)
    if initialization == "width-scaled":
        text = config.get_text_config()
        text.initializer_range = text.hidden_size**-0.5
    return config


def fingerprint(source: Source) -> str:
    """The fingerprint of a model; see `inspect`.

    Raises:
        LawdslError: see `inspect`.
    """
    random = without_randomness(configuration(source), source)
    return _fingerprint(source, weights_of(source), random)


def from_config(config: Any) -> PreTrainedModel:
    """A randomly initialised model in float32 on the default device."""
    return AutoModelForCausalLM.from_config(
        config, trust_remote_code=False, dtype=torch.float32, **attention_options(config)
    )


def _from_weights(source: Source, config: Any, weights: Weights) -> PreTrainedModel:
    """The model with its weights; transformers gets tensors, never the name of a file."""
    with understood(source, "R0303"), torch.device("meta"):
        expected = from_config(config)
    tensors = weights.tensors()
    with understood(source, "R0303"):
        model, loading_info = type(expected).from_pretrained(
            None,
            config=config,
            state_dict=tensors,
            dtype=torch.float32,
            output_loading_info=True,
            **attention_options(config),
        )
    if missing := sorted(loading_info["missing_keys"]):
        raise refused("R0303", source, f"its files lack the weights {abridged(missing, 1)}")
    if unexpected := sorted(loading_info["unexpected_keys"]):
        why = f"its configuration has no place for the weights {abridged(unexpected, 1)}"
        raise refused("R0303", source, why, help="give the configuration they were trained with")
    # transformers silently unties a head that differs from the embedding
    if _count(model) != _count(expected):
        why = "its head and its input embedding are tied in the configuration, and differ"
        raise refused("R0303", source, why, help="set tie_word_embeddings as it was trained")
    return model


def _count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def _fingerprint(source: Source, weights: Weights, random: dict[str, float]) -> str:
    """Hash the weights, or the distribution of random weights.

    Args:
        random: the dropout that is set to 0, which earlier versions did not do: such a model has
            another fingerprint now.
    """
    digest = hashlib.blake2b(digest_size=16)
    plain = {name: value for name, value in plain_of(source).items() if name not in UNIMPORTANT}
    digest.update(canonical_json(plain).encode())
    weights.hash(digest)
    if random:
        digest.update(b"no dropout unless asked for")
    return digest.hexdigest()


@torch.no_grad()
def _check(model: PreTrainedModel, source: Source) -> None:
    """Raise an error for a model with an unknown transform of its logits, or with non-causal
    attention.

    Its losses would be silently wrong here. A cap hardly changes the small logits of an untrained
    model, so they are enlarged for the comparison.
    """
    tokens = probe_tokens(model)
    training = model.training
    model.eval()
    enlarged: list[Tensor] = []

    def enlarge(*call: Any) -> Tensor:
        enlarged.append(call[-1] * LOGIT_PROBE_FACTOR)
        return enlarged[-1]

    hook = model.get_output_embeddings().register_forward_hook(enlarge)
    try:
        with understood(source, "R0302"):
            loss = LanguageModelLoss(model)
            logits = model(input_ids=tokens[:, :-1], use_cache=False).logits.float()
            ours = loss(tokens, each=True).flatten()
    finally:
        hook.remove()
    if not ours.isfinite().all():
        raise refused("R0303", source, "with its weights its losses are not numbers")
    # a family that does not call its head has logits that are not enlarged, and is rejected
    is_called = bool(enlarged) and enlarged[-1].shape == logits.shape
    of_head = enlarged[-1].float() if is_called else logits * LOGIT_PROBE_FACTOR
    _check_logits(transformed(of_head, loss.transform), logits, source)
    reference = F.cross_entropy(
        transformed(of_head / LOGIT_PROBE_FACTOR, loss.transform).flatten(0, 1),
        tokens[:, 1:].flatten(),
        reduction="none",
    )
    _check_logits(ours, reference, source)
    if depends_on_later_tokens(model):
        why = "its hidden states depend on the tokens that come after them"
        raise refused("R0411", source, why, help="train a decoder with causal attention")
    model.train(training)


def _check_logits(ours: Tensor, reference: Tensor, source: Source) -> None:
    """Raise an error for a model whose logits or losses differ from those computed here.

    Raises:
        LawdslError: R0304.
    """
    if torch.allclose(ours, reference, rtol=LOGIT_RTOL, atol=TOLERANCE):
        return
    worst = float((reference - ours).abs().max())
    raise refused(
        "R0304",
        source,
        f"its logits differ by {worst:.3g} from those of its hidden states under its head",
        help="this family changes its logits in a way that the runner does not know; use another",
    )
