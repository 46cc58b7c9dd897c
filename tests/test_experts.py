"""Mixtures of experts: the router loss is the model's own, trained on and reported apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import runs
import sweeps
import torch
from test_configurations import MIXTURES
from test_models import GROUPED
from torch import Tensor
from torch.nn import functional as F

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners import spec
from lawdsl.runners.run.model_facts import Experts
from lawdsl.runners.sweeps.grid import orders_of
from lawdsl.runners.sweeps.warnings import model_warnings
from lawdsl.runners.training import models

ROWS = (torch.arange(4 * 33).view(4, 33) * 7919 + 5) % runs.VOCABULARY
COEFFICIENT = 0.02
WITH_LOSS = ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "granitemoe")
MIXTRAL = MIXTURES["mixtral"][0] | {"router_aux_loss_coef": COEFFICIENT}


def own_losses(model: Any, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The loss of transformers, and the sum of its router losses of each row by itself."""
    logits = model(input_ids=rows[:, :-1], use_cache=False).logits
    loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="sum")
    auxiliary = [
        model(input_ids=row[None, :-1], use_cache=False, output_router_logits=True).aux_loss
        for row in rows
    ]
    return loss, torch.stack(auxiliary).sum()


@pytest.mark.parametrize(
    "name", ["mixtral", *(pytest.param(name, marks=pytest.mark.slow) for name in WITH_LOSS[1:])]
)
def test_the_router_loss_and_its_gradient_are_those_of_the_model(name: str):
    config = MIXTURES[name][0] | {"router_aux_loss_coef": COEFFICIENT}
    facts = models.inspect(config)
    assert facts.experts is not None and facts.experts.router_loss == COEFFICIENT
    model = models.load(config, "width-scaled", 1, router_loss=COEFFICIENT).train()
    found = models.LanguageModelLoss(model, router_loss=COEFFICIENT)(ROWS)
    loss, auxiliary = own_losses(model, ROWS)
    assert found[0].item() == pytest.approx(loss.item(), rel=1e-5)
    assert found[1].item() == pytest.approx(32 * COEFFICIENT * auxiliary.item(), rel=1e-5)

    found.sum().backward()
    ours = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    (loss + 32 * COEFFICIENT * auxiliary).backward()
    for parameter, gradient in model.named_parameters():
        expected = gradient.grad
        assert expected is not None
        size = float(expected.abs().max())
        assert torch.allclose(ours[parameter], expected, rtol=1e-3, atol=1e-4 * size), parameter


def test_the_router_loss_does_not_depend_on_the_micro_batch():
    model = models.load(MIXTRAL, "width-scaled", 1, router_loss=COEFFICIENT).train()
    loss = models.LanguageModelLoss(model, router_loss=COEFFICIENT)
    together = loss(ROWS)
    for size in (1, 2):
        apart = sum(loss(rows) for rows in ROWS.split(size))
        assert torch.allclose(together, apart, rtol=1e-6)


def test_validation_losses_are_without_it():
    model = models.load(MIXTRAL, "width-scaled", 1).eval()
    balanced = models.LanguageModelLoss(model, router_loss=COEFFICIENT)
    plain = models.LanguageModelLoss(model)
    assert torch.equal(balanced(ROWS, each=True), plain(ROWS, each=True))


def test_a_run_reports_it_apart_and_resumes_exactly(data: Path, tmp_path: Path):
    order = runs.order(data, MIXTRAL, steps=10, evaluate=(0, 1, 5, 10), router_loss=COEFFICIENT)
    assert runs.do(tmp_path / "whole", order) == 0
    spec.write_order(tmp_path / "broken", order)
    assert runs.stopped(tmp_path / "broken", 8) == 75
    assert runs.do(tmp_path / "broken") == 0
    assert not runs.differences(tmp_path / "broken", tmp_path / "whole")

    first, *others = runs.rows(tmp_path / "whole")
    assert first["router_loss"] is None
    # 8 experts of which 2 work on a token: 2 where all are used evenly
    assert all(1.5 < row["router_loss"] < 4 for row in others)

    without = runs.order(data, MIXTRAL, steps=10, evaluate=(0, 1, 5, 10))
    assert without.run.identity() != order.run.identity()
    assert runs.do(tmp_path / "without", without) == 0
    plain = runs.rows(tmp_path / "without")
    assert "router_loss" not in plain[1]
    assert plain[0]["losses"] == first["losses"]
    # before its first effect on the weights: the loss of the tokens is reported without it
    assert plain[1]["train_loss"] == others[0]["train_loss"]
    assert plain[3]["losses"] != others[2]["losses"]


@pytest.mark.parametrize("name", ["deepseek_v3, first layer dense", "dense"])
def test_a_model_for_which_transformers_computes_none_is_refused_with_the_reason(name: str):
    config = GROUPED | {"model_type": "llama"} if name == "dense" else MIXTURES[name][0]
    experts = models.inspect(config).experts
    assert experts is None or experts.router_loss == 0
    with pytest.raises(LawdslError) as caught:
        models.load(config, "width-scaled", 1, router_loss=COEFFICIENT)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "R0305" and "computes no loss for the router" in diagnostic.message
    assert "router_loss = 0" in str(diagnostic.help)


def test_a_router_loss_that_is_computed_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch):
    from transformers.models.mixtral import modeling_mixtral

    plain = modeling_mixtral.load_balancing_loss_func
    monkeypatch.setattr(
        modeling_mixtral,
        "load_balancing_loss_func",
        lambda *given, **more: 2 * plain(*given, **more),
    )
    with pytest.raises(LawdslError, match="R0305"):
        models.load(MIXTRAL, "width-scaled", 1, router_loss=COEFFICIENT)


# ---- sweeps

EXPERTS = Experts(8, 2, 800, ("router_aux_loss_coef = 0.02",), COEFFICIENT)


def ordered(folder: Path, experts: Experts | None, training: str = "") -> list[spec.RunOrder]:
    from dataclasses import replace

    text = sweeps.TEXT.replace("[training]\n", f"[training]\n{training}")
    sweep, inputs = sweeps.sweep_in(folder, text)
    facts = {name: replace(of, experts=experts) for name, of in inputs.models.items()}
    return orders_of(sweep, replace(inputs, models=facts))


def test_runs_of_a_sweep_train_with_the_coefficient_of_their_model(tmp_path: Path):
    dense = ordered(tmp_path / "a", None)
    balanced = ordered(tmp_path / "b", EXPERTS)
    stated = ordered(tmp_path / "c", EXPERTS, "router_loss = 0.0\n")
    assert {order.run.training.router_loss for order in balanced} == {COEFFICIENT}
    assert {order.run.training.router_loss for order in stated} == {0.0}
    same = [order.run.identity() for order in dense]
    assert [order.run.identity() for order in stated] == same
    assert not set(same) & {order.run.identity() for order in balanced}
    assert '"router_loss"' not in json.dumps(
        dense[0].run.model_dump(mode="json", exclude_defaults=True)
    )


def test_the_plan_says_what_is_done_about_the_router(tmp_path: Path):
    from dataclasses import replace

    sweep, inputs = sweeps.sweep_in(tmp_path)
    facts = {name: replace(of, experts=EXPERTS) for name, of in inputs.models.items()}
    warnings = list(model_warnings(sweep, replace(inputs, models=facts)))
    assert all(w.code == "R0118" and "times 0.02" in w.notes[0] for w in warnings) and warnings
