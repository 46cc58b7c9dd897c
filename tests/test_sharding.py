"""Sharded runs: weights as of one process, each process its part of a checkpoint, none the whole."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import killing
import numpy as np
import pytest
import runs
import torch
import torch.distributed as dist
from safetensors.torch import load_file, safe_open, save_file
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners import spec
from lawdsl.runners.run.exit_status import CHECKPOINTS
from lawdsl.runners.training import export, models, sharded_checkpoints
from lawdsl.runners.training.distributed import ParallelContext
from lawdsl.runners.training.sharded_weights import sharded_model
from lawdsl.runners.training.sharding import rows_of

DIGITS = 1e-6
SHORT: dict[str, Any] = {"steps": 12, "evaluate": (0, 5, 10, 12)}
# so small a learning rate leaves float32 weights as they are, and so shows those of step 0
UNCHANGED: dict[str, Any] = {"steps": 1, "evaluate": (0, 1), "learning_rate": 1e-300}
UNTIED = {**runs.QWEN2, "tie_word_embeddings": False, "vocab_size": 258}


def ordered(folder: Path, name: str, order: spec.RunOrder) -> Path:
    place = folder / name
    spec.write_order(place, order)
    return place


def do(place: Path, world: int, stop: int = 99) -> list[int]:
    """Exit codes of a run on several processes, one of which is asked to stop in an update."""
    codes: list[int] = killing.ask("stopped", place, seed=stop, count=world)["codes"]
    return codes


def log(place: Path) -> str:
    return (place / "log.txt").read_text()


# --- initial weights


@pytest.fixture
def first_of_two() -> Iterator[ParallelContext]:
    """The first of two processes; what the other one would send does not come."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    yield ParallelContext(0, 2, torch.device("cpu"), "cpu")
    dist.destroy_process_group()


@pytest.mark.parametrize("config", [runs.QWEN2, UNTIED], ids=["tied", "untied"])
def test_a_process_has_its_rows_of_the_weights_that_one_process_draws(
    config: dict[str, Any], data: Path, first_of_two: ParallelContext
):
    how = {"processes": 2, "sharded": True}
    model, loss, _ = sharded_model(runs.order(data, config, how=how, seed=5), first_of_two)
    drawn = dict(models.load(config, "width-scaled", 5).named_parameters())
    found = dict(model.named_parameters())
    assert found.keys() == drawn.keys()
    for name, parameter in found.items():
        assert isinstance(parameter, DTensor)
        begin, end = rows_of(parameter, first_of_two, 0)
        assert (begin, end) == (0, -(-len(drawn[name]) // 2))
        assert torch.equal(parameter.to_local(), drawn[name][begin:end])
    assert (model.lm_head.weight is model.model.embed_tokens.weight) == (config is runs.QWEN2)


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 3, 4])
def test_weights_are_drawn_as_by_one_process(data: Path, tmp_path: Path, world: int):
    values = {**UNCHANGED, "seed": 5, "batch": 12}
    alone = ordered(tmp_path, "alone", runs.order(data, **values))
    assert runs.do(alone) == 0
    how = {"processes": world, "sharded": True}
    place = ordered(tmp_path, "sharded", runs.order(data, how=how, **values))
    assert do(place, world) == [0] * world, log(place)
    assert runs.done(place)["weights"] == runs.done(alone)["weights"]
    drawn = models.load(runs.QWEN2, "width-scaled", 5)
    saved = load_file(place / "model" / "model.safetensors")
    assert saved.keys() == {name for name, _ in drawn.named_parameters()}
    for name, parameter in drawn.named_parameters():
        assert torch.equal(saved[name], parameter)


@pytest.mark.slow
@pytest.mark.parametrize("model", [runs.QWEN2, UNTIED], ids=["tied", "untied"])
@pytest.mark.parametrize("world", [2, 4])
def test_weights_of_a_folder_are_those_of_one_process(
    data: Path, tmp_path: Path, world: int, model: dict[str, Any]
):
    first = ordered(
        tmp_path, "first", runs.order(data, model, initialization="transformers", **SHORT)
    )
    assert runs.do(first) == 0
    source, found = str(first / "model"), []
    for count in (1, world):
        how = {"processes": count, "sharded": True}
        order = runs.order(data, source, initialization="loaded", how=how, **UNCHANGED)
        place = ordered(tmp_path, f"of {count}", order)
        assert (do(place, count) if count > 1 else [runs.do(place)]) == [0] * count, log(place)
        found.append(place)
    assert runs.done(found[0])["weights"] == runs.done(found[1])["weights"]
    assert runs.done(found[0])["weights"] == runs.done(first)["weights"]
    np.testing.assert_allclose(*map(runs.losses, found), rtol=DIGITS, atol=0)


@pytest.mark.parametrize("initialization", ["width-scaled", "transformers"])
def test_a_skeleton_is_the_model_without_its_weights(initialization: str):
    for config in (runs.QWEN2, UNTIED):
        whole = models.load(config, initialization, 0)
        empty = models.skeleton(config, initialization)
        assert all(p.is_meta for p in empty.parameters())
        shapes = [[(n, p.shape) for n, p in m.named_parameters()] for m in (whole, empty)]
        assert shapes[0] == shapes[1]
        assert empty.config.to_dict() == whole.config.to_dict()
        buffers = [dict(m.named_buffers()) for m in (whole, empty)]
        assert buffers[0].keys() == buffers[1].keys()
        assert all(torch.equal(b, buffers[1][name]) for name, b in buffers[0].items())
    assert not torch.nn.Linear(2, 2).weight.is_meta


@pytest.mark.slow
def test_wrong_weights_are_the_same_mistake_in_all_processes(data: Path, tmp_path: Path):
    source = tmp_path / "model"
    source.mkdir()
    (source / "config.json").write_text(json.dumps(runs.QWEN2))
    save_file({"other": torch.zeros(2)}, source / "model.safetensors")
    how = {"processes": 2, "sharded": True}
    order = runs.order(data, str(source), initialization="loaded", how=how, **SHORT)
    place = ordered(tmp_path, "run", order)
    assert do(place, 2) == [3, 3]
    assert "error[R0303]" in log(place) and "Traceback" not in log(place)


# --- checkpoints


@pytest.mark.slow
def test_each_process_writes_its_part_and_any_number_goes_on(data: Path, tmp_path: Path):
    alone = ordered(tmp_path, "alone", runs.order(data, **SHORT))
    assert runs.do(alone) == 0
    how = {"processes": 2, "sharded": True}
    place = ordered(tmp_path, "run", runs.order(data, how=how, **SHORT))
    assert do(place, 2, stop=8) == [75, 75], log(place)
    saved = place / CHECKPOINTS / "step-00000008"
    parts = sorted(path.name for path in saved.glob("*.safetensors"))
    assert parts == [
        f"{stem}-0000{rank}-of-00002.safetensors"
        for stem in ("model", "optimizer")
        for rank in "01"
    ]
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["files"].keys() == {*parts, "state.json"}
    whole = sum(p.numel() for p in models.load(runs.QWEN2, "width-scaled", 0).parameters())
    for part in parts:
        with safe_open(saved / part, "pt") as file:
            count = sum(file.get_tensor(name).numel() for name in file.keys())  # noqa: SIM118
        copies = 2 if part.startswith("optimizer") else 1
        assert count < 0.6 * copies * whole
    spec.write_order(place, runs.order(data, **SHORT))
    assert runs.do(place) == 0
    np.testing.assert_allclose(runs.losses(place), runs.losses(alone), rtol=DIGITS, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"), [((2, True), (4, True)), ((4, True), (3, True)), ((3, True), (2, False))]
)
def test_a_run_goes_on_with_another_number_of_processes(
    data: Path, tmp_path: Path, before: tuple[int, bool], after: tuple[int, bool]
):
    values = {**SHORT, "batch": 12, "max_epochs": 4.0}
    alone = ordered(tmp_path, "alone", runs.order(data, **values))
    assert runs.do(alone) == 0
    place = tmp_path / "run"
    for (world, sharded), stop, code in ((before, 8, 75), (after, 99, 0)):
        how = {"processes": world, "sharded": sharded}
        spec.write_order(place, runs.order(data, how=how, **values))
        assert do(place, world, stop) == [code] * world, log(place)
    np.testing.assert_allclose(runs.losses(place), runs.losses(alone), rtol=DIGITS, atol=0)


@pytest.mark.slow
def test_a_run_that_one_process_began_is_sharded_later(data: Path, tmp_path: Path):
    alone = ordered(tmp_path, "alone", runs.order(data, **SHORT))
    assert runs.do(alone) == 0
    place = ordered(tmp_path, "run", runs.order(data, **SHORT))
    assert runs.stopped(place, 8) == 75
    how = {"processes": 2, "sharded": True}
    spec.write_order(place, runs.order(data, how=how, **SHORT))
    assert do(place, 2) == [0, 0], log(place)
    np.testing.assert_allclose(runs.losses(place), runs.losses(alone), rtol=DIGITS, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["bit", "size", "removed"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_damaged_part_makes_the_run_fall_back(data: Path, tmp_path: Path, change: str, rank: int):
    how = {"processes": 2, "sharded": True, "checkpoint_every": 4}
    order = runs.order(data, how=how, **SHORT)
    unbroken, place = (ordered(tmp_path, name, order) for name in ("unbroken", "run"))
    assert do(unbroken, 2) == [0, 0], log(unbroken)
    assert do(place, 2, stop=9) == [75, 75]
    part = place / CHECKPOINTS / "step-00000009" / f"optimizer-0000{rank}-of-00002.safetensors"
    content = bytearray(part.read_bytes())
    content[-1] ^= 1
    if change == "removed":
        part.unlink()
    else:
        part.write_bytes(content if change == "bit" else content[:-1])
    assert do(place, 2) == [0, 0], log(place)
    assert log(place).count("warning[R0401]: the checkpoint step-00000009 is damaged") == 1
    assert not runs.differences(place, unbroken)


@pytest.mark.slow
def test_a_part_that_cannot_be_written_ends_all_and_leaves_the_checkpoint_before(
    data: Path, tmp_path: Path
):
    how = {"processes": 2, "sharded": True, "checkpoint_every": 4}
    ordered(tmp_path, "ordered", runs.order(data, how=how, **SHORT))
    answer = killing.ask("full", tmp_path, count=2)
    assert answer["codes"] == [3, 3], answer["log"]
    assert answer["saved"] == ["step-00000004"]
    assert answer["log"].count("error[R0403]: the checkpoint of step 8 cannot be written") == 2
    assert "another process of the run could not write its part" in answer["log"]
    assert "Traceback" not in answer["log"]


def test_a_checkpoint_whose_parts_the_first_process_does_not_see_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    alone = ParallelContext(0, 1, torch.device("cpu"), "cpu")
    parts = {"model": {"x": torch.ones(3)}}
    sharded_checkpoints.save(alone, tmp_path, 1, parts, {})

    def longer(parallel: ParallelContext, entries: np.ndarray) -> np.ndarray:
        entries[..., -1] += 1  # the size that the other process has written
        return entries

    monkeypatch.setattr(sharded_checkpoints, "summed", longer)
    with pytest.raises(LawdslError, match="R0403.*as seen from the first process"):
        sharded_checkpoints.save(alone, tmp_path, 2, parts, {}, keep=1)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


@pytest.mark.slow
@pytest.mark.parametrize("after", [{"processes": 2, "sharded": True}, {}], ids=["sharded", "one"])
def test_a_branch_begins_from_the_parts_of_its_stable_run(
    data: Path, tmp_path: Path, after: dict[str, Any]
):
    how = {"processes": 2, "sharded": True}
    values: dict[str, Any] = {"warmup": 2, "evaluate": (0, 5, 10)}
    stable = runs.order(data, how=how, steps=12, schedule="constant", label="stable", **values)
    stable = stable.model_copy(update={"branch_steps": (5, 12)})
    place = ordered(tmp_path, "stable", stable)
    assert do(place, 2) == [0, 0], log(place)
    assert runs.saved(place) == ["step-00000005", "step-00000012"]
    decay = {"steps": 15, "schedule": "warmup-stable-decay", "decay": 3}
    values["evaluate"] = (0, 5, 10, 15)
    alone = ordered(tmp_path, "alone", runs.order(data, how=how, **decay, **values))
    assert do(alone, 2) == [0, 0], log(alone)
    branch = runs.order(data, how=after, **decay, **values)
    branch = branch.model_copy(update={"prefix": spec.Prefix(folder="stable", step=12)})
    begun = ordered(tmp_path, "branch", branch)
    world = branch.how.processes
    # nobody is asked to stop, because no update before step 12 is made
    assert do(begun, world, stop=12) == [0] * world, log(begun)
    if world > 1:
        assert runs.differences(begun, alone) == []
    np.testing.assert_allclose(runs.losses(begun), runs.losses(alone), rtol=DIGITS, atol=0)
    assert runs.saved(place) == ["step-00000005", "step-00000012"]  # a branch changes nothing


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_sharded_run_with_checkpointed_activations_has_the_same_rows(
    data: Path, tmp_path: Path, precision: str
):
    places = []
    for checkpointed in (False, True):
        how = {"processes": 2, "sharded": True, "checkpoint_activations": checkpointed}
        order = runs.order(data, how=how, precision=precision, **SHORT)
        places.append(ordered(tmp_path, f"checkpointed-{checkpointed}", order))
        assert do(places[-1], 2) == [0, 0], log(places[-1])
    assert runs.differences(*places) == []


# --- precision and the trained model


GPT2 = {
    "model_type": "gpt2",
    "vocab_size": runs.VOCABULARY,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 2,
    "n_positions": 32,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "world"),
    [(runs.QWEN2, 2), (runs.QWEN2, 4), (GPT2, 2)],  # GPT-2 has LayerNorm
    ids=["qwen2, two", "qwen2, four", "gpt2, two"],
)
def test_bfloat16_is_as_in_one_process_but_for_rounding(
    data: Path, tmp_path: Path, model: dict[str, Any], world: int
):
    values = {**SHORT, "precision": "bfloat16"}
    alone = ordered(tmp_path, "alone", runs.order(data, model, **values))
    assert runs.do(alone) == 0
    how = {"processes": world, "sharded": True, "checkpoint_every": 5}
    places = [
        ordered(tmp_path, name, runs.order(data, model, how=how, **values))
        for name in ("one", "other")
    ]
    assert do(places[0], world) == [0] * world, log(places[0])
    assert do(places[1], world, stop=8) == [75] * world
    assert do(places[1], world) == [0] * world
    assert not runs.differences(places[1], places[0])
    np.testing.assert_allclose(runs.losses(places[0]), runs.losses(alone), rtol=0, atol=5e-3)
    saved = load_file(places[0] / "model" / "model.safetensors")
    assert {tensor.dtype for tensor in saved.values()} == {torch.float32}


def test_a_model_that_is_written_tensor_by_tensor_is_the_one_that_is_written_at_once(
    data: Path, tmp_path: Path
):
    model = models.load(runs.QWEN2, "transformers", 0)
    tensors = {name: p.detach() for name, p in model.named_parameters()}
    tokenizer = data / "code" / "tokenizer.json"
    export.export(tmp_path / "once", model, tensors, tokenizer)
    each = iter(sorted(tensors.items()))
    digest = export.export_stream(tmp_path / "each", model, each, tokenizer)
    assert digest == export.digest(tensors)
    assert digest == export.export_stream(None, model, iter(sorted(tensors.items())), tokenizer)
    names = sorted(path.name for path in (tmp_path / "once").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "each").iterdir())
    for name in names:
        once, again = ((tmp_path / kind / name).read_bytes() for kind in ("once", "each"))
        assert once == again, name


COUNT = """
import sys
import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from lawdsl.runners.spec import ExecutionConfig
from lawdsl.runners.training import models
from lawdsl.runners.training.distributed import ParallelContext
from lawdsl.runners.training.sharding import placed

world = int(sys.argv[1])
dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
config = {
    "model_type": "qwen2", "hidden_size": 2560, "intermediate_size": 6912,
    "num_hidden_layers": 40, "num_attention_heads": 20, "num_key_value_heads": 20,
    "vocab_size": 151936, "max_position_embeddings": 2048, "tie_word_embeddings": False,
}
model = models.skeleton(config, "transformers")
whole = sum(p.numel() for p in model.parameters())
parallel = ParallelContext(0, world, torch.device("cpu"), "cpu")
placed(models.LanguageModelLoss(model), parallel, ExecutionConfig(processes=world, sharded=True))
assert all(isinstance(p, DTensor) for p in model.parameters())
print(whole, sum(p.to_local().numel() for p in model.parameters()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 8])
def test_a_model_of_4b_is_shared_out_evenly_without_ever_being_there(
    world: int, record_property: Callable[[str, object], None]
):
    """On the meta device, with processes that are only counted."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT, str(world)],
        env=runs.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    whole, part = map(int, done.stdout.split())
    assert 3.9e9 < whole < 4.1e9
    assert whole / world <= part < 1.001 * whole / world
    record_property(
        "figure",
        f"{whole:,} parameters on {world} processes: {part:,} each, {16 * part / 1e9:.1f} GB of"
        " weights, gradients and moments",
    )
