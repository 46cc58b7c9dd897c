"""Attention without a mask: what SDPA is given, and that the losses are those with one."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import runs
import torch
from test_models import FAMILIES, GROUPED, SMALL
from torch.nn import functional as F
from transformers import AutoConfig, AutoModelForCausalLM

from lawdsl.runners.training import attention, models

MORE = {
    "gemma2": GROUPED | {"model_type": "gemma2", "sliding_window": 16},
    "qwen2, some layers slide": GROUPED
    | {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1},
    "opt": {
        "model_type": "opt",
        "hidden_size": 32,
        "ffn_dim": 64,
        "word_embed_proj_dim": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "vocab_size": runs.VOCABULARY,
        "max_position_embeddings": 64,
    },
    "bloom": {"model_type": "bloom", "hidden_size": 32, "n_layer": 2, "n_head": 2, "vocab_size": 256},
    "falcon, alibi": SMALL | {"model_type": "falcon", "alibi": True},
    "falcon": SMALL | {"model_type": "falcon", "alibi": False, "new_decoder_architecture": False},
    "phi": SMALL | {"model_type": "phi"},
    "mixtral": GROUPED | {"model_type": "mixtral", "num_local_experts": 4, "sliding_window": None},
}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = FAMILIES | MORE
SLIDING = {"mistral", "gemma2", "qwen2, some layers slide"}
OWN = {"bloom", "falcon, alibi"}  # compute attention with biases of their own
ROWS = (torch.arange(3 * 33).view(3, 33) * 7919 + 5) % runs.VOCABULARY


def slow(*names: str) -> list[Any]:
    """To compile a model takes some seconds."""
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


def drawn(name: str) -> Any:
    plain = dict(CONFIGS[name])
    torch.manual_seed(1)
    config = AutoConfig.for_model(plain.pop("model_type"), **plain)
    return AutoModelForCausalLM.from_config(config).eval()


class Seen:
    """What `scaled_dot_product_attention` is called with, call by call: mask or none, is_causal."""

    def __init__(self) -> None:
        self.calls: list[tuple[bool, bool]] = []
        self.plain = F.scaled_dot_product_attention

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        masked = options.get("attn_mask") is not None
        self.calls.append((masked, bool(options.get("is_causal"))))
        return self.plain(*arguments, **options)

    def graph(self, module: Any, examples: Any) -> Any:
        """A backend for torch.compile that reads the calls off the graph and runs it as it is."""
        for node in module.graph.nodes:
            if "scaled_dot_product" in str(node.target):
                masked = node.kwargs.get("attn_mask") is not None
                self.calls.append((masked, bool(node.kwargs.get("is_causal"))))
        return module


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_the_hidden_states_are_those_of_the_model_with_every_mask_written_out(name: str):
    """33 tokens, more than the windows of the layers that see only 16."""
    model = drawn(name)
    loss = models.LanguageModelLoss(model)
    ours = loss(ROWS, each=True)
    model.set_attn_implementation("eager")
    assert torch.allclose(ours, loss(ROWS, each=True), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["qwen2", *slow("mistral", "llama", "gpt-neox", "gpt2, dropout", "opt")]
)
def test_compiled_as_eager_there_is_no_mask_where_attention_is_plainly_causal(name: str):
    loss = models.LanguageModelLoss(drawn(name)).train()
    eager, compiled = Seen(), Seen()
    with mock.patch.object(F, "scaled_dot_product_attention", eager):
        loss(ROWS)
    if name in SLIDING:
        assert set(eager.calls) == {(True, False)}
    else:
        assert set(eager.calls) == {(False, True)}
    loss.compile(dynamic=False, backend=compiled.graph)
    loss(ROWS)
    assert set(compiled.calls) == set(eager.calls)


@pytest.mark.parametrize("name", slow("qwen2, some layers slide", "qwen2", "mistral"))
def test_compiled_as_eager_the_losses_and_gradients_are_the_same(name: str):
    """Compiled kernels may add up in another order: a few units in the last place of float32."""
    loss = models.LanguageModelLoss(drawn(name))
    parameters = [p for p in loss.parameters() if p.requires_grad]
    eager = loss(ROWS)
    slopes = torch.autograd.grad(eager, parameters)
    loss.compile(dynamic=False, backend="aot_eager")
    compiled = loss(ROWS)
    assert torch.allclose(compiled, eager, rtol=1e-6)
    for ours, theirs in zip(torch.autograd.grad(compiled, parameters), slopes, strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5 * float(theirs.abs().max()))


def test_families_with_biases_of_their_own_keep_their_attention():
    for name in OWN:
        model = drawn(name)
        before = model.config._attn_implementation
        models.LanguageModelLoss(model)
        assert model.config._attn_implementation == before != attention.CAUSAL_ATTENTION


def test_a_family_that_takes_no_mask_for_no_causality_keeps_its_masks():
    """As if a family looked at all tokens where it gets none."""
    model = drawn("qwen2")

    def lenient(module: Any, *states: Any, **options: Any) -> Any:
        module.is_causal = options.get("attention_mask") is not None
        return attention.sdpa_attention_forward(module, *states, **options)

    with mock.patch.dict(
        attention.AttentionInterface._global_mapping, {attention.CAUSAL_ATTENTION: lenient}
    ):
        attention.use_causal_attention(model)
    assert model.config._attn_implementation == "sdpa"


def test_the_attention_of_the_runner_is_not_saved(tmp_path: Any):
    model = models.load(runs.QWEN2, "width-scaled", 1)
    assert model.config._attn_implementation == attention.CAUSAL_ATTENTION
    model.save_pretrained(tmp_path)
    assert "lawdsl" not in (tmp_path / "config.json").read_text()
