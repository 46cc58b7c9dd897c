"""Models: families that transformers has, weights that are safe to read, losses that are theirs."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import runs
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F
from transformers import AutoModelForCausalLM

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners import spec
from lawdsl.runners.corpora.corpus import open_corpus
from lawdsl.runners.training import models

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": runs.VOCABULARY,
    "max_position_embeddings": 64,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
GROUPED = SMALL | {"num_key_value_heads": 1, "head_dim": 16}
GPT2: dict[str, Any] = {
    "model_type": "gpt2",
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 2,
    "n_positions": 64,
    "vocab_size": runs.VOCABULARY,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
DROPPED = {"resid_pdrop": 0.2, "embd_pdrop": 0.1, "attn_pdrop": 0.1}
FAMILIES = {
    "qwen2": GROUPED | {"model_type": "qwen2", "tie_word_embeddings": False},
    "qwen2, tied": GROUPED | {"model_type": "qwen2", "tie_word_embeddings": True},
    "llama": GROUPED | {"model_type": "llama"},
    "gpt-neox": SMALL | {"model_type": "gpt_neox"},
    "gpt-neox, tied": SMALL | {"model_type": "gpt_neox", "tie_word_embeddings": True},
    "gpt2, dropout": GPT2 | DROPPED,
    "mistral": GROUPED | {"model_type": "mistral", "sliding_window": 16},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    runs.write_corpora(folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a small model, as transformers writes it."""
    path = tmp_path / "model"
    models.load(runs.QWEN2, "width-scaled", 1).save_pretrained(path)
    return path


def windows(folder: Path, sequence: int) -> torch.Tensor:
    """All rows of a corpus, (windows, sequence + 1)."""
    tokens = open_corpus(folder).tokens
    count = (len(tokens) - 1) // sequence
    begins = np.arange(count)[:, None] * sequence + np.arange(sequence + 1)
    return torch.from_numpy(tokens[begins].astype(np.int64))


@torch.no_grad()
def full_loss(model: Any, rows: torch.Tensor) -> float:
    """The mean loss by the model's own logits, all at once."""
    logits = model(input_ids=rows[:, :-1], use_cache=False).logits.double()
    return float(F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()))


def refusal(source: Any, initialization: str = "loaded") -> str:
    with pytest.raises(LawdslError) as caught:
        models.inspect(source)
        models.load(source, initialization, 0)
    assert len(caught.value.diagnostics) == 1
    return str(caught.value)


# --- families


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_runs_resumes_exactly_and_is_loaded_again_with_the_losses_of_its_last_row(
    data: Path, tmp_path: Path, name: str
):
    order = runs.order(data, FAMILIES[name], steps=10, evaluate=(0, 10), seed=3)
    assert runs.do(tmp_path / "whole", order) == 0
    spec.write_order(tmp_path / "broken", order)
    assert runs.stopped(tmp_path / "broken", 8) == 75
    assert runs.do(tmp_path / "broken") == 0
    assert not runs.differences(tmp_path / "broken", tmp_path / "whole")

    trained = AutoModelForCausalLM.from_pretrained(tmp_path / "whole" / "model").eval()
    last = runs.rows(tmp_path / "whole")[-1]["losses"]
    for held in ("general", "code"):
        rows = windows(data / f"{held}-held", order.run.training.sequence)
        assert last[held]["loss"] == pytest.approx(full_loss(trained, rows), rel=1e-6)
        assert last[held]["tokens"] == rows[:, 1:].numel()


def test_dropout_acts_in_training_and_not_in_evaluation(data: Path, tmp_path: Path):
    found = {}
    for name, config in (("with", GPT2 | DROPPED), ("without", GPT2 | dict.fromkeys(DROPPED, 0.0))):
        order = runs.order(data, config, steps=2, evaluate=(0, 1, 2), how={"save_final": False})
        assert runs.do(tmp_path / name, order) == 0
        found[name] = runs.rows(tmp_path / name)
    assert found["with"][0] == found["without"][0]
    assert found["with"][1]["train_loss"] != found["without"][1]["train_loss"]


def test_a_model_that_is_loaded_begins_with_the_loss_it_has(
    data: Path, folder: Path, tmp_path: Path
):
    order = runs.order(data, str(folder), initialization="loaded", steps=1, evaluate=(0, 1))
    assert runs.do(tmp_path / "run", order) == 0
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    for held, measured in runs.rows(tmp_path / "run")[0]["losses"].items():
        rows = windows(data / f"{held}-held", 32)
        assert measured["loss"] == pytest.approx(full_loss(model, rows), rel=1e-6)


# --- what is counted and drawn


@pytest.mark.parametrize("tied", [True, False])
def test_parameters_are_counted_as_laws_count_them(tied: bool):
    facts = models.inspect(GROUPED | {"model_type": "llama", "tie_word_embeddings": tied})
    attention = 32 * 32 + 2 * 32 * 16 + 32 * 32  # queries, keys and values of one head, output
    layer = attention + 3 * 32 * 64 + 2 * 32
    assert facts.non_embedding == 2 * layer + 32
    assert facts.embedding == 256 * 32
    assert facts.parameters == facts.non_embedding + facts.embedding * (1 if tied else 2)
    assert (facts.tied, facts.weights) == (tied, False)
    assert (facts.layers, facts.hidden, facts.vocabulary, facts.positions) == (2, 32, 256, 64)


def test_weights_are_drawn_from_the_seed_alone():
    def drawn(initialization: str, seed: int) -> dict[str, torch.Tensor]:
        torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
        return models.load(runs.QWEN2, initialization, seed).state_dict()

    one, same, other = drawn("width-scaled", 1), drawn("width-scaled", 1), drawn("width-scaled", 2)
    matrix = "model.layers.0.mlp.up_proj.weight"
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one[matrix], other[matrix])
    assert float(one[matrix].std()) == pytest.approx(32**-0.5, rel=0.05)
    assert float(drawn("transformers", 1)[matrix].std()) == pytest.approx(0.02, rel=0.05)


def test_a_fingerprint_is_of_the_weights_and_of_what_matters_in_the_configuration(folder: Path):
    def edited(**changes: Any) -> str:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changes))
        return models.fingerprint(str(folder))

    first = models.inspect(str(folder)).fingerprint
    assert edited(transformers_version="9.9", dtype="bfloat16", architectures=["X"]) == first
    (folder / "README.md").write_text("hello")
    assert models.fingerprint(str(folder)) == first
    assert edited(rms_norm_eps=1e-5) != first
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][0] += 1e-3
    before = models.fingerprint(str(folder))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert models.fingerprint(str(folder)) != before


# --- what is never read


class Trap:
    """A pickle of it makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_a_folder_with_a_pickle_only_is_refused_and_the_pickle_not_read(
    data: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (folder / "model.safetensors").unlink()
    content = pickle.dumps(Trap(tmp_path / "sprung"))
    (folder / "pytorch_model.bin").write_bytes(content)
    said = refusal(str(folder))
    assert said.startswith("error[R0303]")
    assert "pytorch_model.bin, a pickle, which can run any code when it is read" in said
    assert "save_pretrained" in said
    order = runs.order(data, str(folder), initialization="loaded", fingerprint="0" * 32)
    assert runs.do(tmp_path / "run", order) == 3
    assert capsys.readouterr().err.startswith("error[R0303]")
    assert not (tmp_path / "sprung").exists()
    pickle.loads(content)
    assert (tmp_path / "sprung").exists()  # it would have


def test_a_pickle_beside_safetensors_is_not_read(folder: Path, tmp_path: Path):
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(tmp_path / "sprung")))
    models.load(str(folder), "loaded", 0)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "name", ["pytorch_model-00001-of-00002.bin", "model.pt", "consolidated.00.pth"]
)
def test_pickles_of_other_names_are_known(folder: Path, name: str):
    (folder / "model.safetensors").rename(folder / name)
    said = refusal(str(folder))
    assert said.startswith("error[R0303]") and f"{name}, a pickle" in said


def test_code_of_a_folder_is_not_run(folder: Path, tmp_path: Path):
    (folder / "modeling.py").write_text(f"import os; os.mkdir({str(tmp_path / 'sprung')!r})\n")
    config = json.loads((folder / "config.json").read_text())
    auto = {"AutoConfig": "modeling.Config", "AutoModelForCausalLM": "modeling.Model"}
    (folder / "config.json").write_text(json.dumps(config | {"auto_map": auto}))
    said = refusal(str(folder))
    assert said.startswith("error[R0302]") and "auto_map" in said
    assert not (tmp_path / "sprung").exists()


# --- what is wrong with a folder


def torn(folder: Path) -> None:
    os.truncate(folder / "model.safetensors", 5000)


def lacking(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"], weights["model.norm.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def no_numbers(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][3] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def configured(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changes))

    return change


def written(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "config.json").write_text(text) and None


DAMAGE: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "weights torn": (torn, "R0303", ""),
    "weights lacking": (lacking, "R0303", "lack the weights model.layers.1.mlp.up_proj.weight and 1"),
    "weights no numbers": (no_numbers, "R0303", "its losses are not numbers"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "R0303", "holds no weights"),
    "another width": (configured(hidden_size=48), "R0303", ""),
    "a layer more": (configured(num_hidden_layers=3, layer_types=None), "R0303", "lack the weights"),
    "no configuration": (lambda f: (f / "config.json").unlink(), "R0301", "it has no config.json"),
    "no JSON": (written("{"), "R0302", "config.json cannot be read"),
    "a list": (written("[1]"), "R0302", "is not an object"),
    "no family": (written("{}"), "R0302", ""),
    "unknown family": (configured(model_type="lstm9"), "R0302", "lstm9"),
    "a family misspelt": (configured(model_type="lama"), "R0302", "did you mean `llama`?"),
    "an encoder and decoder": (configured(model_type="t5"), "R0302", ""),
    "no number": (configured(hidden_size="wide"), "R0302", "hidden_size"),
    "no heads": (configured(num_attention_heads=0), "R0302", ""),
    "an activation unknown": (configured(hidden_act="magic"), "R0302", "magic"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_what_is_wrong_with_a_folder_is_said(folder: Path, name: str):
    damage, code, words = DAMAGE[name]
    damage(folder)
    said = refusal(str(folder))
    assert said.startswith(f"error[{code}]: ")
    assert str(folder) in said and words in said


def test_a_configuration_has_no_weights_to_load():
    assert "holds no weights" in refusal(runs.QWEN2)
