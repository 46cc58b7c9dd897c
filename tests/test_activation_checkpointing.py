"""Layers that are computed again, and steps that are tried out: the numbers are the same."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import pytest
import runs
import torch
from test_attention import drawn
from torch import nn

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run.memory import StepPlan
from lawdsl.runners.run.step_plan import read_step_plan, write_step_plan
from lawdsl.runners.spec import ExecutionConfig
from lawdsl.runners.training import distributed, micro_batch, models
from lawdsl.runners.training.activation_checkpointing import blocks_of, checkpoint_activations
from lawdsl.runners.training.setup import TrainingTask

ROWS = (torch.arange(3 * 33).view(3, 33) * 7919 + 5) % runs.VOCABULARY
ALONE = distributed.ParallelContext(0, 1, torch.device("cpu"), "cpu")


def gradients(loss: nn.Module) -> list[torch.Tensor]:
    value = loss(ROWS)
    return [value.detach(), *torch.autograd.grad(value, list(loss.parameters()))]


@pytest.mark.parametrize("name", ["qwen2", "gpt2, dropout", "gpt-neox", "gemma2"])
def test_losses_and_gradients_are_the_same_bit_for_bit(name: str):
    loss = models.LanguageModelLoss(drawn(name).train())
    names = [name for name, _ in loss.named_parameters()]
    torch.manual_seed(3)
    plain = gradients(loss)
    checkpoint_activations(loss)
    torch.manual_seed(3)
    assert all(map(torch.equal, plain, gradients(loss)))
    assert [name for name, _ in loss.named_parameters()] == names
    assert torch.isfinite(loss(ROWS, each=True)).all()


def test_each_layer_is_computed_twice():
    loss = models.LanguageModelLoss(drawn("qwen2").train())
    calls: list[nn.Module] = []
    for block in blocks_of(loss):
        block.register_forward_pre_hook(lambda module, _: calls.append(module))
        block.mlp.register_forward_pre_hook(lambda module, _: calls.append(module))
    checkpoint_activations(loss)
    loss(ROWS).backward()
    layers = len(blocks_of(loss))
    assert layers == 2 and len(calls) == layers + 2 * layers


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qwen2", "mistral", "gpt-neox"])
def test_compiled_layers_are_recomputed_and_have_no_mask(name: str):
    torch._dynamo.reset()
    loss = models.LanguageModelLoss(drawn(name).train())
    plain = gradients(loss)
    checkpoint_activations(loss)
    calls: list[bool] = []

    def backend(module: Any, examples: Any) -> Any:
        for part in module.modules():
            for node in getattr(getattr(part, "graph", None), "nodes", ()):
                if "scaled_dot_product" in str(node.target):
                    calls.append(node.kwargs.get("attn_mask") is None)
        return module

    loss.compile(dynamic=False, backend=backend)
    for ours, theirs in zip(gradients(loss), plain, strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5 * theirs.abs().max().item())
    # the layers of mistral slide over 16 tokens
    assert calls and set(calls) == {name != "mistral"}


def test_a_run_with_checkpointed_activations_has_the_rows_of_the_same_run_without(
    data: Path, tmp_path: Path
):
    short: dict[str, Any] = {"steps": 4, "evaluate": (0, 4)}
    plain = runs.order(data, **short)
    smaller = runs.order(data, how={"checkpoint_activations": True}, **short)
    assert smaller.run.identity() == plain.run.identity()
    for name, order in (("plain", plain), ("smaller", smaller)):
        assert runs.do(tmp_path / name, order) == 0
    assert not runs.differences(tmp_path / "smaller", tmp_path / "plain")


# --- a step is tried out


def attempt(loss: nn.Module, optimizer: torch.optim.Optimizer) -> bool:
    return micro_batch.step_fits(
        loss,
        lambda last: torch.enable_grad(),
        optimizer,
        lambda: torch.autocast("cpu", torch.bfloat16, enabled=False),
        ROWS,
        ALONE,
    )


def test_a_step_that_is_tried_out_leaves_nothing_behind():
    loss = models.LanguageModelLoss(drawn("qwen2").train())
    optimizer = torch.optim.AdamW(loss.parameters(), lr=1e-2)
    before = [p.detach().clone() for p in loss.parameters()]
    assert attempt(loss, optimizer)
    assert all(map(torch.equal, before, loss.parameters()))
    assert all(p.grad is None for p in loss.parameters()) and not optimizer.state


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory"), MemoryError()])
def test_a_step_without_memory_does_not_fit(error: BaseException):
    loss = models.LanguageModelLoss(drawn("qwen2").train())
    optimizer = torch.optim.AdamW(loss.parameters(), lr=1e-2)
    with mock.patch.object(models, "chunked_loss", side_effect=error):
        assert not attempt(loss, optimizer)
    with (
        mock.patch.object(models, "chunked_loss", side_effect=RuntimeError("a fault")),
        pytest.raises(RuntimeError, match="a fault"),
    ):
        attempt(loss, optimizer)


def test_on_the_cpu_all_rows_go_through_the_model_at_once(data: Path, tmp_path: Path):
    order = runs.order(data)
    assert micro_batch.planned_step(tmp_path, order, ALONE) == StepPlan(4, False, 0)
    given = runs.order(data, how={"micro_batch": 2, "checkpoint_activations": True})
    assert micro_batch.planned_step(tmp_path, given, ALONE) == StepPlan(2, True, 0)


def test_on_a_gpu_the_rows_follow_from_its_memory_and_are_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    order = runs.order(data, how={"device": "cuda"}, precision="bfloat16")
    gpu = distributed.ParallelContext(0, 1, torch.device("cuda", 0), "some GPU")
    small = {**order.paths.model, "num_hidden_layers": 1}
    order = order.model_copy(update={"paths": order.paths.model_copy(update={"model": small})})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    gpu_memory = {"free": 2**30}
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (gpu_memory["free"], 2**34))
    plan = micro_batch.planned_step(tmp_path, order, gpu)
    assert (plan.micro, plan.checkpointed) == (4, False)
    gpu_memory["free"] = int(0.9 * plan.bytes)
    smaller = micro_batch.planned_step(tmp_path, order, gpu)
    assert smaller.micro < 4 and smaller.bytes < plan.bytes
    micro_batch.keep_step(tmp_path, smaller, gpu)
    gpu_memory["free"] = 2**30
    assert micro_batch.planned_step(tmp_path, order, gpu) == smaller
    given = runs.order(data, how={"device": "cuda", "micro_batch": 3})
    assert micro_batch.planned_step(tmp_path, given, gpu).micro == 3


@pytest.mark.parametrize("text", ["", "[]", '{"micro": 1}', "{"])
def test_a_plan_that_cannot_be_read_is_made_anew(text: str, tmp_path: Path):
    assert read_step_plan(tmp_path) is None
    (tmp_path / "execution.json").write_text(text)
    assert read_step_plan(tmp_path) is None
    write_step_plan(tmp_path, StepPlan(2, True, 5))
    assert read_step_plan(tmp_path) == StepPlan(2, True, 5)


@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16"])
def test_utilisation_is_of_the_peak_of_the_precision_of_the_run(data: Path, precision: str):
    order = runs.order(data, precision=precision)
    facts = SimpleNamespace(flops_per_token=lambda sequence: 1000 * sequence)
    gpu = distributed.ParallelContext(0, 2, torch.device("cuda", 0), "NVIDIA H100 80GB HBM3")
    rest: Any = {name: None for name in ("model", "loss", "synced", "optimizer")}
    task = TrainingTask(Path(), order, gpu, cast(Any, SimpleNamespace(facts=facts)), **rest)
    peak = {"float32": 67e12, "tf32": 494.5e12, "bfloat16": 989e12}[precision]
    a_second = 1000 * order.run.training.sequence * 1e9
    assert task.utilisation(1e9) == pytest.approx(a_second / (2 * peak), rel=1e-12)


# --- settings of the process


def test_deterministic_runs_choose_no_kernel_by_timing_it(monkeypatch: pytest.MonkeyPatch):
    from torch._inductor import config

    monkeypatch.setenv("TORCHINDUCTOR_DETERMINISTIC", "0")
    with config.patch(max_autotune=True, deterministic=False), runs.restored():
        distributed.join(ExecutionConfig(device="cpu", deterministic=True))
        assert config.deterministic and not config.max_autotune
        assert distributed.os.environ["TORCHINDUCTOR_DETERMINISTIC"] == "1"
        assert all(hasattr(config, name) for name in distributed.INDUCTOR_TUNING)


def test_a_cpu_has_no_tf32():
    with pytest.raises(LawdslError, match="R0501"), runs.restored():
        distributed.join(ExecutionConfig(device="cpu"), "tf32")
