"""Families that scale or cap their logits: losses and gradients are those of transformers."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import runs
import torch
from test_models import GROUPED, refusal
from torch import Tensor
from torch.nn import functional as F

from lawdsl.runners.training import models
from lawdsl.runners.training.losses import (
    LogitTransform,
    chunked_loss,
    token_losses,
    transformed,
)

FAMILIES: dict[str, dict[str, Any]] = {
    "cohere": GROUPED | {"model_type": "cohere", "logit_scale": 0.25},
    "cohere2": GROUPED | {"model_type": "cohere2", "logit_scale": 0.0625},
    "granite": GROUPED | {"model_type": "granite", "logits_scaling": 8.0},
    "gemma2": GROUPED
    | {"model_type": "gemma2", "final_logit_softcapping": 3.0, "attn_logit_softcapping": 2.0},
    "gemma3_text": GROUPED | {"model_type": "gemma3_text", "final_logit_softcapping": 3.0},
    "nanochat": GROUPED | {"model_type": "nanochat", "final_logit_softcapping": 3.0},
    "a scale that is 1": GROUPED | {"model_type": "cohere", "logit_scale": 1.0},
    "no cap": GROUPED | {"model_type": "gemma2", "final_logit_softcapping": None},
}
ROWS = (torch.arange(3 * 33).view(3, 33) * 7919 + 5) % runs.VOCABULARY
HEAD_FACTOR = 10.0  # logits of a model that is not trained are too small for a cap


def own_loss(model: Any, rows: Tensor) -> Tensor:
    """The summed loss by the logits of transformers."""
    logits = model(input_ids=rows[:, :-1], use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="sum")


def gradients(model: Any, loss: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    loss.backward()
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def in_double(config: dict[str, Any]) -> Any:
    model = models.load(config, "width-scaled", 1).double().train()
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(HEAD_FACTOR)
    return model


@pytest.mark.parametrize(
    "name",
    [
        name
        if name in ("cohere", "granite", "gemma2")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in FAMILIES
    ],
)
def test_losses_and_gradients_are_those_of_transformers_in_float64(name: str):
    model = in_double(FAMILIES[name])
    ours = models.LanguageModelLoss(model, chunk=16)
    own = own_loss(model, ROWS)
    assert own.dtype == torch.float64
    found, expected = gradients(model, ours(ROWS)), gradients(model, own)
    assert ours(ROWS).item() == pytest.approx(own.item(), rel=1e-12)
    assert ours(ROWS, each=True).sum().item() == pytest.approx(own.item(), rel=1e-12)
    assert found.keys() == expected.keys()
    for parameter in found:
        size = float(expected[parameter].abs().max())
        assert torch.allclose(found[parameter], expected[parameter], rtol=1e-9, atol=1e-9 * size)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in FAMILIES if n not in ("a scale that is 1", "no cap")])
def test_the_loss_would_be_another_without(name: str):
    """The test above compares something that a scale or a cap changes."""
    model = in_double(FAMILIES[name])
    loss = models.LanguageModelLoss(model)
    with_it = loss(ROWS).item()
    loss.transform = LogitTransform()
    assert abs(loss(ROWS).item() - with_it) > 1.0


def test_attention_with_a_cap_is_not_left_to_kernels_that_have_none():
    model = models.load(FAMILIES["gemma2"], "width-scaled", 1)
    assert model.config._attn_implementation == "eager"


def test_a_family_that_does_something_else_to_its_logits_is_refused():
    def transformed_otherwise(config: Any) -> LogitTransform:
        return LogitTransform(0.5)

    with mock.patch.object(models, "logit_transform", transformed_otherwise):
        said = refusal(FAMILIES["cohere"], "width-scaled")
    assert said.startswith("error[R0304]") and "in a way that the runner does not know" in said


@pytest.mark.parametrize("scale", [1.0, 0.25])
@pytest.mark.parametrize("cap", [None, 3.0])
@pytest.mark.parametrize("with_bias", [False, True])
def test_gradients_in_chunks_are_those_of_all_logits_at_once(
    scale: float, cap: float | None, with_bias: bool
):
    draw = torch.Generator().manual_seed(1)
    hidden, weight, bias = (
        torch.randn(*shape, generator=draw, dtype=torch.float64) * 2
        for shape in ((19, 8), (50, 8), (50,))
    )
    targets = torch.randint(0, 50, (19,), generator=draw)
    targets[3] = -100
    transform = LogitTransform(scale, cap)
    inputs = [
        t.requires_grad_() for t in ((hidden, weight, bias) if with_bias else (hidden, weight))
    ]

    def in_chunks(h: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        return chunked_loss(h, w, targets, chunk=4, bias=b, transform=transform)

    def at_once(h: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        logits = transformed(F.linear(h, w, b), transform)
        return F.cross_entropy(logits, targets, reduction="sum")

    for found, expected in zip(
        torch.autograd.grad(in_chunks(*inputs), inputs),
        torch.autograd.grad(at_once(*inputs), inputs),
        strict=True,
    ):
        assert torch.allclose(found, expected, rtol=1e-12, atol=1e-12)
    each = token_losses(
        hidden, weight, targets, 4, bias=bias if with_bias else None, transform=transform
    )
    assert each.sum().item() == pytest.approx(at_once(*inputs).item(), rel=1e-12)
