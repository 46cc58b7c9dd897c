"""What is read as a model's weights: safetensors of its own folder, all of which are its identity."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import runs
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.training import models

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
NORM = "model.norm.weight"

Tensors = dict[str, Tensor]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a small model in one file."""
    path = tmp_path / "home" / "model"
    models.load(runs.QWEN2, "width-scaled", 1).save_pretrained(path)
    return path


def saved(path: Path, tensors: Tensors) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path, metadata={"format": "pt"})


def filled(tensors: Tensors, value: float) -> Tensors:
    return {name: torch.full_like(tensor, value) for name, tensor in tensors.items()}


def indexed(folder: Path, places: Any) -> None:
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}))


def split(folder: Path) -> tuple[Tensors, dict[str, str]]:
    """Make two shards of the single file; the tensors, and where each lies."""
    tensors = load_file(folder / SINGLE)
    (folder / SINGLE).unlink()
    names = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    places = {tensor: names[i % 2] for i, tensor in enumerate(sorted(tensors))}
    for name in names:
        saved(folder / name, {t: tensors[t] for t, file in places.items() if file == name})
    indexed(folder, places)
    return tensors, places


def loaded(folder: Path) -> Tensors:
    return dict(models.load(str(folder), "loaded", 0).state_dict())


def refusal(folder: Path) -> str:
    """What is said of a folder, by what looks at it alone or by what loads it."""
    with pytest.raises(LawdslError) as caught:
        models.inspect(str(folder))
        models.load(str(folder), "loaded", 0)
    assert len(caught.value.diagnostics) == 1
    return str(caught.value)


# --- what may be there


def test_shards_are_the_same_model_as_one_file(folder: Path):
    whole = loaded(folder)
    tensors, _ = split(folder)
    parts = loaded(folder)
    assert all(torch.equal(parts[name], whole[name]) for name in whole)
    assert models.inspect(str(folder)).weights


def test_all_that_is_read_is_in_the_fingerprint(folder: Path):
    """A bit of any shard, and which shard a tensor is read from."""
    tensors, places = split(folder)
    seen = {models.fingerprint(str(folder))}
    for number, name in enumerate(sorted(set(places.values())), 1):
        mine = {t: tensors[t].clone() for t, file in places.items() if file == name}
        next(iter(mine.values())).view(-1)[0] += 1e-3
        saved(folder / name, mine)
        seen.add(models.fingerprint(str(folder)))
        assert len(seen) == number + 1
    other = next(name for name in set(places.values()) if name != places[NORM])
    both = {t: tensors[t] for t, file in places.items() if file == other}
    saved(folder / other, both | {NORM: torch.full_like(tensors[NORM], 2.0)})
    before = models.fingerprint(str(folder))
    assert float(loaded(folder)[NORM][0]) == 1.0
    indexed(folder, places | {NORM: other})
    assert float(loaded(folder)[NORM][0]) == 2.0
    assert models.fingerprint(str(folder)) != before


def test_what_is_not_read_is_not_in_the_fingerprint(folder: Path):
    before = models.fingerprint(str(folder))
    saved(folder / "consolidated.safetensors", {"x": torch.zeros(1)})
    (folder / "generation_config.json").write_text("[" * 100_000)
    assert models.fingerprint(str(folder)) == before
    loaded(folder)


def test_one_file_goes_before_an_index_and_is_what_the_fingerprint_is_of(folder: Path):
    tensors = load_file(folder / SINGLE)
    saved(folder / "other.safetensors", filled(tensors, 0.5))
    before = models.fingerprint(str(folder))
    indexed(folder, dict.fromkeys(tensors, "other.safetensors"))
    assert models.fingerprint(str(folder)) == before
    assert torch.equal(
        loaded(folder)["model.embed_tokens.weight"], tensors["model.embed_tokens.weight"]
    )


def test_links_within_the_folder_and_those_of_the_hub_cache_are_followed(folder: Path):
    (folder / "store").mkdir()
    (folder / SINGLE).rename(folder / "store" / "blob")
    (folder / SINGLE).symlink_to("store/blob")
    here = loaded(folder)
    cache = folder.parent / "models--some--model"
    (cache / "snapshots" / "abc").mkdir(parents=True)
    (cache / "blobs").mkdir()
    for name, file in (
        ("config.json", folder / "config.json"),
        (SINGLE, folder / "store" / "blob"),
    ):
        (cache / "blobs" / name.upper()).write_bytes(file.read_bytes())
        (cache / "snapshots" / "abc" / name).symlink_to(f"../../blobs/{name.upper()}")
    there = loaded(cache / "snapshots" / "abc")
    assert all(torch.equal(here[name], there[name]) for name in here)


# --- what may not


def named(name: str, save: Callable[[Path, Tensors], None] = saved) -> Callable[[Path], None]:
    """An index that names one file for all tensors, and the file."""

    def attack(folder: Path) -> None:
        tensors = load_file(folder / SINGLE)
        (folder / SINGLE).unlink()
        if "\0" not in name:
            save(folder / name, tensors)
        indexed(folder, dict.fromkeys(tensors, name))

    return attack


def absolute(folder: Path) -> None:
    named(str(folder.parent / "outside.safetensors"))(folder)


def inside_by_an_absolute_name(folder: Path) -> None:
    named(str(folder / "w.safetensors"))(folder)


def linked(folder: Path) -> None:
    (folder / SINGLE).rename(folder.parent / "outside.safetensors")
    (folder / SINGLE).symlink_to("../outside.safetensors")


def linked_shard(folder: Path) -> None:
    named("w.safetensors")(folder)
    (folder / "w.safetensors").rename(folder.parent / "outside.safetensors")
    (folder / "w.safetensors").symlink_to(folder.parent / "outside.safetensors")


def linked_folder(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir()
    (folder / "sub").symlink_to("../elsewhere")
    named("sub/w.safetensors")(folder)


def linked_configuration(folder: Path) -> None:
    (folder / "config.json").rename(folder.parent / "config.json")
    (folder / "config.json").symlink_to("../config.json")


def linked_index(folder: Path) -> None:
    split(folder)
    (folder / INDEX).rename(folder.parent / INDEX)
    (folder / INDEX).symlink_to(f"../{INDEX}")


def in_a_circle(folder: Path) -> None:
    (folder / SINGLE).unlink()
    (folder / SINGLE).symlink_to(SINGLE)


def a_pipe(folder: Path) -> None:
    (folder / SINGLE).unlink()
    os.mkfifo(folder / SINGLE)


def edited(change: Callable[[Tensors], Any]) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        tensors = load_file(folder / SINGLE)
        change(tensors)
        saved(folder / SINGLE, tensors)

    return attack


def shard_lacking(folder: Path) -> None:
    tensors, places = split(folder)
    mine = {t: tensors[t] for t, file in places.items() if file == places[NORM] and t != NORM}
    saved(folder / places[NORM], mine)


def shard_gone(folder: Path) -> None:
    _, places = split(folder)
    (folder / places[NORM]).unlink()


def index_lacking(folder: Path) -> None:
    _, places = split(folder)
    del places[NORM]
    indexed(folder, places)


def index(text: str) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        split(folder)
        (folder / INDEX).write_text(text)

    return attack


def configured(**changes: Any) -> Callable[[Path], None]:
    def attack(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changes))

    return attack


def untied(tensors: Tensors) -> None:
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"] + 1


def adapter(folder: Path) -> None:
    other = {"base_model_name_or_path": "../elsewhere", "peft_type": "LORA"}
    (folder / "adapter_config.json").write_text(json.dumps(other))


def torch_pickle(path: Path, tensors: Tensors) -> None:
    torch.save(tensors, path)


ATTACKS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a pickle": (named("w.bin", torch_pickle), "R0303", "'w.bin', which is not a .safetensors file"),
    "a pickle by a safe name": (named("w.safetensors", torch_pickle), "R0303", "cannot be read"),
    "above": (named("../outside.safetensors"), "R0303", "lies outside the folder"),
    "above and back": (named("../model/w.safetensors"), "R0303", "lies outside the folder"),
    "absolute": (absolute, "R0303", "lies outside the folder"),
    "absolute inside": (inside_by_an_absolute_name, "R0303", "lies outside the folder"),
    "a link out": (linked, "R0303", "lies outside the folder"),
    "a link of a shard": (linked_shard, "R0303", "lies outside the folder"),
    "a link of a folder": (linked_folder, "R0303", "lies outside the folder"),
    "a link of the configuration": (linked_configuration, "R0302", "not a file of this folder"),
    "a link of the index": (linked_index, "R0303", "not a file of this folder"),
    "a link to itself": (in_a_circle, "R0303", "not a file of this folder"),
    "a pipe": (a_pipe, "R0303", "the file of weights"),
    "a zero byte": (named("w\0.safetensors"), "R0303", "not a file of this folder"),
    "no name": (named(".safetensors/../x.safetensors"), "R0303", "lies outside the folder"),
    "a shard gone": (shard_gone, "R0303", "not a file of this folder"),
    "a shard lacking a tensor": (shard_lacking, "R0303", f"lacks {NORM}, which {INDEX} names"),
    "an index lacking a tensor": (index_lacking, "R0303", f"lack the weights {NORM}"),
    "a tensor more": (edited(lambda t: t.update(x=torch.ones(1))), "R0303", "no place for the weights x"),
    "a layer more": (configured(num_hidden_layers=1, layer_types=None), "R0303", "no place for"),
    "a head that differs": (edited(untied), "R0303", "tied in the configuration, and differ"),
    "an index of no names": (index('{"weight_map": {"x": 3}}'), "R0303", "does not name files"),
    "an index of lists": (index('{"weight_map": ["w.safetensors"]}'), "R0303", "no weight_map"),
    "an empty index": (index('{"weight_map": {}}'), "R0303", "no weight_map"),
    "a broken index": (index("{"), "R0303", "the index cannot be read" [4:]),
    "a deep index": (index("[" * 100_000), "R0303", "nested too deeply"),
    "a deep configuration": (lambda f: (f / "config.json").write_text("[" * 100_000) and None, "R0302", "nested too deeply"),
    "an adapter": (adapter, "R0303", "holds an adapter (adapter_config.json)"),
    "another file of weights": (configured(transformers_weights="x.safetensors"), "R0302", "names its weights itself"),
    "quantized": (configured(quantization_config={"quant_method": "bitsandbytes"}), "R0302", "quantized"),
    "code within": (configured(text_config={"auto_map": {"AutoConfig": "x.Y"}}), "R0302", "auto_map"),
    "attention both ways": (configured(is_causal=False), "R0411", "depend on the tokens that come after"),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_not_of_the_folder_or_does_not_fit_is_refused(folder: Path, name: str):
    attack, code, words = ATTACKS[name]
    attack(folder)
    said = refusal(folder)
    assert said.startswith(f"error[{code}]: ")
    assert str(folder) in said and words in said


@pytest.mark.parametrize("kernels", ["flash_attention_2", "someone/kernels", "eager"])
def test_kernels_that_a_configuration_names_are_not_loaded(folder: Path, kernels: str):
    before = loaded(folder)
    configured(attn_implementation=kernels, experts_implementation=kernels)(folder)
    model = models.load(str(folder), "loaded", 0)
    assert model.config._attn_implementation == "lawdsl_causal"
    assert all(torch.equal(model.state_dict()[name], before[name]) for name in before)
