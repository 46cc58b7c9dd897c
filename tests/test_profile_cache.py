"""What a model's passes allocate is counted once: in one command, and for a user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sweeps
from test_memory import PLAIN

from lawdsl.runners.run.memory import MemoryProfile, PassSettings
from lawdsl.runners.run.profile_cache import read_profile, write_profile
from lawdsl.runners.spec import ExecutionConfig

KEY = {"configuration": {"hidden_size": 64}, "sequence": 128}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "lawdsl" / "memory"


def test_a_profile_is_read_as_it_was_written_and_for_its_key_alone(folder: Path):
    assert read_profile(KEY) is None
    write_profile(KEY, PLAIN)
    assert read_profile(KEY) == PLAIN
    assert read_profile(KEY | {"sequence": 129}) is None
    write_profile(KEY, replace(PLAIN, local=5))
    assert read_profile(KEY) == replace(PLAIN, local=5)
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"digest": 1}', b"\xff", b"\0" * 9])
def test_a_damaged_cache_is_done_without(folder: Path, content: bytes):
    write_profile(KEY, PLAIN)
    (file,) = folder.iterdir()
    file.write_bytes(content)
    assert read_profile(KEY) is None
    write_profile(KEY, PLAIN)
    assert read_profile(KEY) == PLAIN


def test_a_changed_digit_is_noticed(folder: Path):
    write_profile(KEY, PLAIN)
    (file,) = folder.iterdir()
    file.write_text(file.read_text().replace("1000000000", "1000000001", 1))
    assert read_profile(KEY) is None


@pytest.mark.parametrize("home", ["a file", "", "relative"])
def test_a_cache_that_cannot_be_written_is_done_without(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / home) if home == "a file" else home)
    monkeypatch.setenv("HOME", str(tmp_path / "a file"))
    write_profile(KEY, PLAIN)
    assert read_profile(KEY) is None


def test_passes_are_counted_once_for_all_runs_that_share_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    from lawdsl.runners.training import memory_profiles

    counted: list[dict[str, Any]] = []

    def profile(source: object, **settings: Any) -> MemoryProfile:
        counted.append(settings)
        return replace(PLAIN, sequence=settings["sequence"])

    monkeypatch.setattr(memory_profiles, "profile", profile)
    monkeypatch.setattr(memory_profiles, "_COUNTED", {})
    shape, settings = {"model_type": "llama", "hidden_size": 8}, PassSettings(16, "float32")
    for same in (shape, shape | {"dtype": "float32", "architectures": ["x"]}):
        profiles = memory_profiles.profiles_of(same, settings)
        assert set(profiles) == {False, True} and len(counted) == 2
    # another command of the same user
    monkeypatch.setattr(memory_profiles, "_COUNTED", {})
    assert memory_profiles.profiles_of(shape, settings) == profiles and len(counted) == 2
    balanced = replace(settings, router_loss=0.01)
    others: list[tuple[dict[str, Any], PassSettings]] = [
        (shape | {"hidden_size": 9}, settings),
        (shape, balanced),
        *((shape, replace(settings, **{name: value})) for name, value in OTHERS.items()),
    ]
    for number, other in enumerate(others, 2):
        memory_profiles.profiles_of(*other)
        assert len(counted) == 2 * number
    memory_profiles.profiles_of(shape, replace(balanced, router_loss=0.02))
    monkeypatch.setattr(memory_profiles.torch, "__version__", "3.0")
    assert len(counted) == 2 * len(others) + 2
    memory_profiles.profiles_of(shape, settings)
    assert len(counted) == 2 * len(others) + 4


OTHERS = {"sequence": 17, "precision": "bfloat16", "dropout": True, "shards": 2}


def test_a_cache_that_cannot_be_written_is_counted_once_in_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from lawdsl.runners.training import memory_profiles

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(memory_profiles, "_COUNTED", {})
    counted: list[object] = []
    monkeypatch.setattr(
        memory_profiles, "profile", lambda *what, **how: counted.append(how) or PLAIN
    )
    for _ in range(3):
        memory_profiles.profiles_of({"model_type": "llama"}, PassSettings(16, "float32"))
    assert len(counted) == 2


def test_an_automatic_micro_batch_is_one_that_is_not_given():
    assert ExecutionConfig.model_validate({"micro_batch": "auto"}) == ExecutionConfig()
    with pytest.raises(ValueError, match="micro_batch"):
        ExecutionConfig.model_validate({"micro_batch": "many"})


# --- the command

CONFIG = """{model_type = "qwen2", vocab_size = 64, hidden_size = %d, intermediate_size = 32,
num_hidden_layers = 1, num_attention_heads = 2, num_key_value_heads = 2,
max_position_embeddings = 64}"""


@pytest.mark.slow
def test_a_dry_run_of_54_runs_counts_each_shape_once_and_the_next_one_none(
    folder: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    one, other = (CONFIG.replace("\n", " ") % hidden for hidden in (16, 32))
    text = sweeps.TEXT.replace("{hidden_size = 100}", one).replace("{hidden_size = 1000}", other)
    third = f'[[models]]\nname = "third"\nconfig = {one}\ninitialization = "width-scaled"\n[grid]'
    shares = ", ".join(f"{{code = {share / 10}}}" for share in range(9))
    text = text.replace("[grid]", third).replace(
        'shares = [{code = 0}, {code = "1/3"}, {code = 1}]', f"shares = [{shares}]"
    )
    path = sweeps.made(tmp_path, text.replace("seeds = [1]", "seeds = [1, 2]"))

    def dry_run() -> tuple[Any, dict[str, int]]:
        root = str(Path(__file__).resolve().parent.parent)
        done = subprocess.run(
            [sys.executable, "-m", "lawdsl", "run", str(path), "--dry-run", "--json"],
            env={**os.environ, "PYTHONPATH": root},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        plan = json.loads(done.stdout)["result"]["plan"]["runs"]  # what is free of the disk changes
        # a file is written whenever passes are counted
        return plan, {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}

    plan, written = dry_run()
    runs = json.dumps(plan).count('"micro_batch"')
    assert runs == 54
    assert len(written) == 2 * 2  # two shapes, with and without checkpointed activations
    assert dry_run() == (plan, written)
    damaged = next(folder.iterdir())
    damaged.write_text("{")
    again, rewritten = dry_run()
    assert again == plan and {n for n in written if written[n] != rewritten[n]} == {damaged.name}
    record_property("figure", f"{runs} runs of 2 shapes: {len(written)} counts, then none")
