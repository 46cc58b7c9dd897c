"""Mixtures of experts: the facts of a model's experts, and the loss that balances their load.

For a row of T tokens, over all layers and with E experts of which k are active for a token, the
loss is E sum_e f_e p_e: f_e is the number of tokens that are sent to expert e and p_e its mean
probability, both relative to the number of tokens and layers (Fedus et al. (2022),
arXiv:2101.03961, equations 4 to 6). Transformers computes it over the rows of a micro-batch
together; here it is the mean over rows, so that it depends neither on the micro-batch nor on the
number of processes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from ..run.model_facts import Experts
from .attention import probe_tokens
from .configurations import Source, refused, understood

ROUTED = re.compile(r"experts$")
SHARED = re.compile(r"shared")
USED = re.compile(r"num_experts_per_tok(en)?|moe_top_?k|top_?k(_experts)?|num_selected_experts")
EXPERT = re.compile(r"(^|\.)experts?\.")
AUXILIARY = re.compile(r"aux_loss_coef|moe_loss_weight|z_loss_coef")
COEFFICIENTS = ("router_aux_loss_coef", "aux_loss_coef")  # attributes of models of transformers
OWN_LOSS = "load_balancing_loss_func"  # the function of their modules that computes the loss
ROUTER_LOSS_RTOL = 1e-4  # tolerance of the relative deviation from the model's own loss


def experts_of(model: PreTrainedModel) -> Experts | None:
    """The facts of a mixture of experts; None for a dense model.

    Names differ between models in transformers: numbers of experts are recognised by the suffix of
    a field, weights of experts by their names or by their first dimension.
    """
    config = model.config.get_text_config()
    fields = dict(_integers(config))
    counts = [
        n for name, n in fields.items() if ROUTED.search(name) and not SHARED.search(name) and n > 1
    ]
    count = max(counts, default=0)
    routed = sum(
        p.numel()
        for name, p in model.named_parameters()
        if not SHARED.search(name)
        and (EXPERT.search(name) or (p.ndim == 3 and count > 1 and p.shape[0] == count))
    )
    if not routed:
        return None
    used = min((n for name, n in fields.items() if USED.fullmatch(name) and n > 0), default=0)
    auxiliary = [
        f"{name} = {value:g}"
        for name, value in _numbers(config)
        if AUXILIARY.search(name) and value > 0
    ]
    return Experts(
        count, min(used, count), routed, tuple(sorted(set(auxiliary))), _coefficient(model)
    )


def router_losses(logits: Sequence[Tensor], rows: int, used: int) -> Tensor:
    """The loss of the router for each row.

    Args:
        logits: the logits of the router of each layer, (rows * T, experts) or (rows, T, experts).
        rows: the number of rows.
        used: the number of active experts per token.

    Returns:
        Shape (rows,), float32 or float64; differentiable by the logits.
    """
    sent: Tensor | float = 0.0
    probability: Tensor | float = 0.0
    for of_layer in logits:
        scores = of_layer.reshape(rows, -1, of_layer.shape[-1]).softmax(-1)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        chosen = scores.detach().topk(used, -1).indices
        sent = sent + torch.zeros_like(scores).scatter(-1, chosen, 1.0).mean(1)
        probability = probability + scores.mean(1)
    assert isinstance(sent, Tensor)
    return (sent * probability).sum(-1) * sent.shape[-1] / len(logits) ** 2


def check_router_loss(model: PreTrainedModel, source: Source) -> None:
    """Raise an error if the router loss computed here differs from that of the model.

    Args:
        model: a model in evaluation mode.
        source: its folder, or its configuration as plain data.

    Raises:
        LawdslError: R0305.
    """
    experts = experts_of(model)
    help = "train it without: router_loss = 0 in [training], or in the entry of the model"
    if experts is None or not experts.used or not hasattr(_module(model), OWN_LOSS):
        why = "transformers computes no loss for the router of this family"
        raise refused("R0305", source, why, help=help)
    tokens = probe_tokens(model)[:1]
    with understood(source, "R0305"), torch.no_grad():
        outputs = model(input_ids=tokens, use_cache=False, output_router_logits=True)
        own = torch.as_tensor(outputs.aux_loss, dtype=torch.float64)
        ours = router_losses(outputs.router_logits, 1, experts.used).double().squeeze()
    if not torch.allclose(own, ours, rtol=ROUTER_LOSS_RTOL, atol=0):
        why = f"its own router loss is {float(own):.6g}, not the {float(ours):.6g} of Fedus et al."
        raise refused("R0305", source, why, help=help)


def _coefficient(model: PreTrainedModel) -> float:
    """The coefficient of the router loss that the model adds to its loss; 0 if it computes none."""
    if not hasattr(_module(model), OWN_LOSS):
        return 0.0
    values = (getattr(model, name, None) for name in COEFFICIENTS)
    return next((float(v) for v in values if isinstance(v, (int, float)) and v > 0), 0.0)


def _module(model: PreTrainedModel) -> Any:
    return sys.modules[type(model).__module__]


def _numbers(config: Any) -> Iterator[tuple[str, float]]:
    """The numbers of a configuration and of those in it, by the names of their fields."""
    for name, value in (config if isinstance(config, dict) else vars(config)).items():
        if isinstance(value, (dict, type(config))) or hasattr(value, "get_text_config"):
            yield from _numbers(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, value


def _integers(config: Any) -> Iterator[tuple[str, int]]:
    return ((name, value) for name, value in _numbers(config) if isinstance(value, int))
