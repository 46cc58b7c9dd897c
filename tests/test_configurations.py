"""Configurations: dropout is off unless somebody asked for it, experts at work are counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from test_models import DROPPED, GPT2, GROUPED, SMALL
from transformers import AutoConfig, AutoModelForCausalLM

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.sweeps.inspecting import answer
from lawdsl.runners.training import models
from lawdsl.runners.training.configurations import (
    check_numbers,
    configuration,
    without_randomness,
)

SIZED = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 256}
DEFAULTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "gpt2": (GPT2, {"attn_pdrop", "embd_pdrop", "resid_pdrop"}),
    "opt": (
        SIZED | {"model_type": "opt", "ffn_dim": 64, "word_embed_proj_dim": 32, "dropout": None},
        {"dropout"},
    ),
    "biogpt": (
        SIZED | {"model_type": "biogpt", "intermediate_size": 64, "layerdrop": None},
        {"hidden_dropout_prob", "attention_probs_dropout_prob"},
    ),
    "gpt-bigcode": (
        GPT2 | {"model_type": "gpt_bigcode"},
        {"attn_pdrop", "embd_pdrop", "resid_pdrop"},
    ),
    "ctrl": (
        {"model_type": "ctrl", "n_embd": 32, "n_layer": 2, "n_head": 2, "dff": 64, "vocab_size": 256},
        {"embd_pdrop", "resid_pdrop"},
    ),
    "llama": (GROUPED | {"model_type": "llama"}, set()),
    "gpt-neox": (SMALL | {"model_type": "gpt_neox"}, set()),
}  # fmt: skip
"""Families with the dropout that transformers gives them by default; None: not named here."""
TOKENS = torch.arange(2 * 17).view(2, 17) % 256


def plain(name: str) -> dict[str, Any]:
    return {key: value for key, value in DEFAULTS[name][0].items() if value is not None}


def repeats(model: Any) -> bool:
    """Whether a model in training gives the same twice."""
    loss = models.LanguageModelLoss(model.train())
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.append(loss(TOKENS))
    return torch.equal(*found)


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_dropout_that_a_family_has_by_default_is_named_and_off(name: str):
    config = plain(name)
    facts = models.inspect(config)
    assert set(facts.dropout) == DEFAULTS[name][1]
    assert repeats(models.load(config, "transformers", 1))
    assert repeats(models.load(config, "transformers", 1, dropout=True)) is not bool(facts.dropout)


def test_the_dropout_of_a_folder_is_off_unless_the_training_asks_for_it(tmp_path: Path):
    config = dict(GPT2 | DROPPED)
    made = AutoConfig.for_model(config.pop("model_type"), **config)
    AutoModelForCausalLM.from_config(made).save_pretrained(tmp_path)
    assert dict(models.inspect(str(tmp_path)).dropout) == DROPPED
    assert repeats(models.load(str(tmp_path), "loaded", 1))
    assert not repeats(models.load(str(tmp_path), "loaded", 1, dropout=True))


def test_what_a_configuration_in_the_sweep_names_itself_is_asked_for():
    facts = models.inspect(GPT2 | {"resid_pdrop": 0.2})
    assert dict(facts.dropout) == {"attn_pdrop": 0.1, "embd_pdrop": 0.1}
    model = models.load(GPT2 | {"resid_pdrop": 0.2}, "transformers", 1)
    assert model.config.resid_pdrop == 0.2 and model.config.attn_pdrop == 0.0
    assert not repeats(model)


def test_dropout_in_a_configuration_within_is_found():
    source = {"model_type": "mpt", "d_model": 32, "n_heads": 2, "n_layers": 2, "vocab_size": 256}
    config = configuration(source)
    vars(config.attn_config)["attn_pdrop"] = 0.3
    assert without_randomness(config, source) == {"attn_pdrop": 0.3}
    assert config.attn_config.attn_pdrop == 0.0


def test_a_model_without_its_dropout_is_another_one():
    """It once was trained with it: its runs are not those of before."""
    explicit = models.fingerprint(GPT2 | dict.fromkeys(DROPPED, 0.1))
    assert models.fingerprint(GPT2) != explicit


# --- mixtures of experts

EXPERTS = {"num_experts_per_tok": 2, "hidden_size": 32, "intermediate_size": 64}
MIXTURES: dict[str, tuple[dict[str, Any], int, int]] = {
    # the configuration, how many experts, parameters of one in all layers
    "mixtral": (
        GROUPED | EXPERTS | {"model_type": "mixtral", "num_local_experts": 8},
        8,
        2 * 3 * 32 * 64,
    ),
    "qwen2_moe": (
        GROUPED
        | EXPERTS
        | {
            "model_type": "qwen2_moe",
            "num_experts": 6,
            "moe_intermediate_size": 24,
            "shared_expert_intermediate_size": 40,
            "decoder_sparse_step": 1,
        },
        6,
        2 * 3 * 32 * 24,
    ),
    "qwen3_moe": (
        GROUPED | EXPERTS | {"model_type": "qwen3_moe", "num_experts": 4, "moe_intermediate_size": 24},
        4,
        2 * 3 * 32 * 24,
    ),
    "olmoe": (
        GROUPED | EXPERTS | {"model_type": "olmoe", "num_experts": 4},
        4,
        2 * 3 * 32 * 64,
    ),
    "granitemoe": (
        GROUPED | EXPERTS | {"model_type": "granitemoe", "num_local_experts": 4},
        4,
        2 * 3 * 32 * 64,
    ),
    "deepseek_v3, first layer dense": (
        SMALL
        | EXPERTS
        | {
            "model_type": "deepseek_v3",
            "num_key_value_heads": 2,
            "n_routed_experts": 8,
            "n_shared_experts": 1,
            "n_group": 1,
            "topk_group": 1,
            "moe_intermediate_size": 24,
            "first_k_dense_replace": 1,
            "q_lora_rank": 16,
            "kv_lora_rank": 16,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 8,
            "v_head_dim": 16,
        },
        8,
        1 * 3 * 32 * 24,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXTURES)
def test_the_experts_of_any_family_are_found_and_those_at_work_counted(name: str):
    config, count, each = MIXTURES[name]
    facts = models.inspect(config)
    assert facts.experts is not None
    assert (facts.experts.count, facts.experts.used) == (count, 2)
    assert facts.experts.parameters == count * each
    assert facts.active == facts.non_embedding - (count - 2) * each
    idle = 6 * (count - 2) * each
    dense = models.inspect(config | {"num_experts_per_tok": count})
    assert dense.flops_per_token(64) - facts.flops_per_token(64) == idle


def test_the_loss_of_a_router_is_named():
    (config, _, _) = MIXTURES["mixtral"]
    experts = models.inspect(config | {"router_aux_loss_coef": 0.02}).experts
    assert experts is not None and experts.auxiliary == ("router_aux_loss_coef = 0.02",)


@pytest.mark.parametrize("model", ["qwen2", "llama", "gpt_neox", "mistral", "phi"])
def test_a_dense_model_has_no_experts(model: str):
    facts = models.inspect(SMALL | {"model_type": model, "num_key_value_heads": 2})
    assert facts.experts is None and facts.active == facts.non_embedding


def test_numbers_that_do_not_agree_are_named_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """transformers takes them, and the first pass fails with shapes alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
    config = SIZED | {"model_type": "qwen2_moe", "intermediate_size": 64} | experts
    (found,) = answer(config, {"sequence": 32, "precision": "float32"})["mistakes"]
    said = "num_attention_heads = 2 is not a multiple of num_key_value_heads = 16"
    assert (
        found["code"] == "R0302" and said in found["message"] and "configuration" in found["help"]
    )
    config |= {"num_key_value_heads": 2}
    check_numbers(config)
    with pytest.raises(LawdslError, match="num_experts_per_tok = 8 is more than num_experts = 4"):
        check_numbers(config | {"num_experts_per_tok": 8})


@pytest.mark.slow
def test_other_reasons_why_memory_is_unknown_are_those_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    config = SIZED | {"model_type": "llama", "intermediate_size": 64, "head_dim": 3}
    found = answer(config, {"sequence": 32, "precision": "float32"})
    assert found["memory"] is None and 0 < len(found["uncounted"]) <= 120
