"""Damaged checkpoints are named or passed over, and none is ever a pickle."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import dying
import pytest
import torch
from raised import code_and_text
from saved_checkpoints import copied_pair, names, save, saved_pair

from lawdsl.runners.training import checkpoints

MANIFEST = "manifest.json"


# --- what is damaged

pair = pytest.fixture(scope="module")(saved_pair)
folder = pytest.fixture(copied_pair)


def flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "state.json"])
def test_a_flipped_bit_is_found_and_the_checkpoint_before_used(name: str, folder: Path):
    draw = random.Random(name)
    path = folder / "step-00000200" / name
    bits = path.stat().st_size * 8
    for bit in (0, bits - 1, *(draw.randrange(bits) for _ in range(10))):
        flip(path, bit)
        found, warnings = checkpoints.latest(folder)

        assert found and found.step == 100, bit
        assert [d.code for d in warnings] == ["R0401"]
        assert f"step-00000200 is damaged: {name}" in warnings[0].message
        assert dying.same(checkpoints.load(found), dying.tensors(100))
        (folder / "damaged-step-00000200").rename(path.parent)
        flip(path, bit)
    assert checkpoints.latest(folder)[1] == []


def test_a_flipped_bit_in_any_byte_of_the_manifest_is_found(folder: Path):
    draw = random.Random(7)
    path = folder / "step-00000200" / MANIFEST
    for byte in range(path.stat().st_size):
        bit = 8 * byte + draw.randrange(8)
        flip(path, bit)
        found, _ = checkpoints.latest(folder)
        assert found and found.step == 100, bit
        (folder / "damaged-step-00000200").rename(path.parent)
        flip(path, bit)


def changed(path: Path, change: Callable[[dict], object]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def swapped(folder: Path) -> None:
    a, b, c = (folder / name for name in ("model.safetensors", "optimizer.safetensors", "c"))
    a.rename(c)
    b.rename(a)
    c.rename(b)


DAMAGE: list[tuple[str, Callable[[Path], object], str]] = [
    ("truncated", lambda f: os.truncate(f / "model.safetensors", 99), "model.safetensors has 99"),
    ("emptied", lambda f: os.truncate(f / "state.json", 0), "state.json has 0 bytes, not"),
    ("longer", lambda f: (f / "state.json").write_text("x" * 999), "state.json has 999 bytes, not"),
    ("no file", lambda f: (f / "optimizer.safetensors").unlink(), "optimizer.safetensors is miss"),
    ("no state", lambda f: (f / "state.json").unlink(), "state.json is missing"),
    ("no manifest", lambda f: (f / MANIFEST).unlink(), "manifest.json is missing"),
    ("empty manifest", lambda f: os.truncate(f / MANIFEST, 0), "manifest.json is not what was"),
    ("half a manifest", lambda f: os.truncate(f / MANIFEST, 150), "manifest.json is not what was"),
    ("no object", lambda f: (f / MANIFEST).write_text("[1]"), "manifest.json is not what was"),
    ("deep", lambda f: (f / MANIFEST).write_text("[" * 10**5), "manifest.json is not what was"),
    ("binary", lambda f: (f / MANIFEST).write_bytes(b"\xff\xfe"), "manifest.json is not what"),
    (
        "another step's manifest",
        lambda f: shutil.copy(f.parent / "step-00000100" / MANIFEST, f),
        "manifest.json is of step 100",
    ),
    (
        "another step's model",
        lambda f: shutil.copy(f.parent / "step-00000100" / "model.safetensors", f),
        "model.safetensors is not what was written, by its SHA-256",
    ),
    ("swapped files", swapped, "safetensors has "),
    (
        "a later schema",
        lambda f: changed(f / MANIFEST, lambda content: content.update(schema=2)),
        "manifest.json is of schema 2, and 1 is known here",
    ),
    (
        "no files",
        lambda f: changed(f / MANIFEST, lambda content: content.update(files="none")),
        "manifest.json is not what was written",
    ),
    (
        "a state nobody vouches for",
        lambda f: changed(f / MANIFEST, lambda content: content["files"].pop("state.json")),
        "manifest.json is not what was written",
    ),
    (
        "a folder for a file",
        lambda f: (f / "state.json").unlink() or (f / "state.json").mkdir(),
        "state.json cannot be read: Is a directory",
    ),
    (
        "a file for the folder",
        lambda f: shutil.rmtree(f) or f.write_text(""),
        "manifest.json cannot be read: Not a directory",
    ),
]


@pytest.mark.parametrize(("damage", "said"), [d[1:] for d in DAMAGE], ids=[d[0] for d in DAMAGE])
def test_a_damaged_checkpoint_is_named_and_set_aside(
    damage: Callable[[Path], object], said: str, folder: Path
):
    damage(folder / "step-00000200")
    found, warnings = checkpoints.latest(folder)

    assert found and found.step == 100
    assert dying.same(checkpoints.load(found), dying.tensors(100))
    (warning,) = warnings
    assert (warning.code, warning.severity) == ("R0401", "warning")
    assert said in warning.message
    assert warning.notes == ("the run goes on from the checkpoint of step 100",)
    assert names(folder) == ["damaged-step-00000200", "step-00000100"]
    assert checkpoints.latest(folder) == (found, [])

    save(folder, 200)
    again, warnings = checkpoints.latest(folder)
    assert again and again.step == 200 and warnings == []
    assert names(folder) == ["step-00000100", "step-00000200"]


def test_one_more_that_is_damaged_takes_the_place_of_the_first(folder: Path):
    damaged = folder / "step-00000200"
    (damaged / "state.json").unlink()
    shutil.copytree(damaged, folder / "damaged-step-00000200")
    (damaged / MANIFEST).unlink()
    checkpoints.latest(folder)

    assert names(folder) == ["damaged-step-00000200", "step-00000100"]
    assert not (folder / "damaged-step-00000200" / MANIFEST).exists()


def test_a_damaged_one_does_not_count_among_those_that_are_kept(folder: Path):
    """Else the whole one from before would go, and the run hang on a single one."""
    (folder / "step-00000200" / "state.json").unlink()
    checkpoints.latest(folder)
    save(folder, 300)

    assert names(folder) == ["step-00000100", "step-00000300"]


def test_a_run_without_a_whole_checkpoint_does_not_begin_again_by_itself(folder: Path):
    flip(folder / "step-00000200" / "state.json", 3)
    (folder / "step-00000100" / "manifest.json").unlink()
    for _ in range(2):
        code, text = code_and_text(lambda: checkpoints.latest(folder))

        assert code == "R0402"
        assert "step-00000200: state.json is not what was written" in text
        assert "step-00000100: manifest.json is missing" in text
        assert f"remove the folder {folder}" in text
    assert names(folder) == ["step-00000100", "step-00000200"]


def test_one_that_was_set_aside_is_no_beginning_either(folder: Path):
    (folder / "step-00000200" / "state.json").unlink()
    checkpoints.latest(folder)
    shutil.rmtree(folder / "step-00000100")

    assert code_and_text(lambda: checkpoints.latest(folder))[0] == "R0402"


def test_what_has_another_name_is_left_alone(folder: Path):
    for name in ("step-1", "step-00000300x", "notes", "best-step-00000200"):
        (folder / name).mkdir()

    found, warnings = checkpoints.latest(folder)
    save(folder, 201)
    assert found and found.step == 200 and not warnings
    assert {"step-1", "step-00000300x", "notes", "best-step-00000200"} <= set(names(folder))


def test_what_a_killed_process_left_is_removed(folder: Path):
    (folder / ".tmp-77").mkdir()
    (folder / ".tmp-77" / "model.safetensors").write_text("half")
    (folder / f".tmp-{os.getpid()}").mkdir()
    (folder / ".tmp-step-00000001").write_text("")
    save(folder, 300)  # numbers of processes come again
    assert not (folder / f".tmp-{os.getpid()}").exists()

    checkpoints.latest(folder)
    assert names(folder) == ["step-00000200", "step-00000300"]


# --- never a pickle


class Canary:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_is_refused_and_not_run(folder: Path, tmp_path: Path):
    canary = tmp_path / "ran"
    path = folder / "step-00000200" / "model.safetensors"
    torch.save({"w": torch.ones(2), "canary": Canary(canary)}, path)
    manifest = json.loads((path.parent / MANIFEST).read_text())
    manifest["files"][path.name] = checkpoints.described(path)
    (path.parent / MANIFEST).write_text(json.dumps(manifest))

    found, warnings = checkpoints.latest(folder)
    assert found and found.step == 200 and not warnings  # it is what the manifest says
    code, text = code_and_text(lambda: checkpoints.load(found))
    assert code == "R0404" and "a pickle is never read" in text
    assert not canary.exists()


def test_the_checkpoint_that_another_process_chose_is_taken_and_nothing_is_changed(folder: Path):
    found = checkpoints.of_step(folder, 100)
    assert (found.step, found.state) == (100, dying.state(100))

    os.truncate(folder / "step-00000200" / "model.safetensors", 10)
    code, text = code_and_text(lambda: checkpoints.of_step(folder, 200))
    assert code == "R0404" and "step-00000200: model.safetensors has 10 bytes, not" in text
    code, text = code_and_text(lambda: checkpoints.of_step(folder, 300))
    assert code == "R0404" and "no checkpoint of step 300 is seen there" in text
    assert code_and_text(lambda: checkpoints.of_step(folder / "none", 300))[0] == "R0404"
    assert names(folder) == ["step-00000100", "step-00000200"]


def test_a_file_that_is_gone_since_is_an_error(folder: Path):
    found, _ = checkpoints.latest(folder)
    assert found
    gone = replace(found, folder=folder / "step-00000300")

    assert code_and_text(lambda: checkpoints.load(gone))[0] == "R0404"
