"""Validation sets that cannot be made, and work on them that is interrupted."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from tiny_models import byte_tokenizer
from validation_cases import (
    code_of,
    documents,
    make_selection,
    models,
    run,
    text_and_models,
)

from lawdsl.cli import cli
from lawdsl.runners.run.locks import hold
from lawdsl.runners.validation import sets

ROOT = Path(__file__).resolve().parent.parent

world = pytest.fixture(scope="module")(text_and_models)


# ---- what cannot be used


def without_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def with_a_damaged_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")


def with_more_tokens_than_the_model(folder: Path) -> None:
    pairs = tuple(f"{a} {b}" for a in "abc" for b in "defghij")
    byte_tokenizer(pairs).save(str(folder / "tokenizer.json"))


def with_a_pickle_only(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def without_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def with_code(folder: Path) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | {"auto_map": {"AutoConfig": "a.B"}}), encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (without_tokenizer, "R0602"),
        (with_a_damaged_tokenizer, "R0602"),
        (with_more_tokens_than_the_model, "R0603"),
        (with_a_pickle_only, "R0303"),
        (without_weights, "R0605"),
        (with_code, "R0302"),
        (shutil.rmtree, "R0301"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused_before_any_is_run(
    world: Path, tmp_path: Path, spoil: Any, code: str
):
    shutil.copytree(world / "two", tmp_path / "bad")
    spoil(tmp_path / "bad")

    done = run(world, tmp_path / "set", *models(world, "one"), "--model", str(tmp_path / "bad"))

    assert code_of(done) == code
    assert not (tmp_path / "set").exists() and not (tmp_path / "set.scoring").exists()


def test_the_same_model_twice_is_refused(world: Path, tmp_path: Path):
    shutil.copytree(world / "one", tmp_path / "copy")

    done = run(world, tmp_path / "set", *models(world, "one"), "--model", str(tmp_path / "copy"))

    assert code_of(done) == "R0605"


def test_nothing_left_is_an_error(world: Path, tmp_path: Path):
    assert code_of(run(world, tmp_path / "set", "--shortest", "1000")) == "R0601"


def test_a_set_that_is_there_is_not_replaced_unless_asked(world: Path, tmp_path: Path):
    make_selection(world, tmp_path / "set", "--seed", "1")

    assert code_of(run(world, tmp_path / "set")) == "R0205"
    assert make_selection(world, tmp_path / "set", "--force")["wanted"]["seed"] == 0


# ---- interrupted


KILLED = """
import os, signal, sys
from lawdsl.runners.validation import score_log
add = score_log.ScoreLog.add
def stopping(book, *batch):
    add(book, *batch)
    stopping.left -= 1
    if not stopping.left:
        os.kill(os.getpid(), signal.SIGKILL)
stopping.left = int(sys.argv.pop(1))
score_log.ScoreLog.add = stopping
from lawdsl.cli import main
main(sys.argv[1:])
"""


def arguments(world: Path, output: Path) -> list[str]:
    text, tokenizer = str(world / "text.jsonl"), str(world / "tokenizer.json")
    common = ["--tokenizer", tokenizer, "--keep", "20", "--batch-tokens", "600", "--json"]
    return [text, "-o", str(output), *common, *models(world, "one", "two")]


@pytest.mark.slow
def test_a_scoring_that_was_killed_goes_on_to_the_same_bytes(world: Path, tmp_path: Path):
    """Killed with a part of a line on the disk after it, too."""
    whole = CliRunner().invoke(cli, ["validation", *arguments(world, tmp_path / "whole")])
    given = arguments(world, tmp_path / "set")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", KILLED, "3", "validation", *given]
    died = subprocess.run(command, env=environment, capture_output=True, timeout=100)
    book = tmp_path / "set.scoring" / "scores.jsonl"
    before = book.read_bytes()
    with book.open("ab") as file:
        file.write(b'{"losses":[1.0,')

    done = CliRunner().invoke(cli, ["validation", *given])

    assert died.returncode == -signal.SIGKILL and before.count(b"\n") == 1 + 3
    assert whole.exit_code == done.exit_code == 0
    assert not book.parent.exists()
    for name in ("scores.jsonl", "tokens.bin", "documents.npy", "selection.json"):
        was, came = ((tmp_path / part / name).read_bytes() for part in ("whole", "set"))
        assert was == came, name
    assert (tmp_path / "set" / "scores.jsonl").read_bytes().startswith(before)


def count_of_batches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that are run from here on, once a batch."""
    from lawdsl.runners.validation import perplexities

    seen: list[str] = []
    run_batch = perplexities._mean_losses

    def counted(judge: Any, *rest: Any) -> Any:
        seen.append(judge.name)
        return run_batch(judge, *rest)

    monkeypatch.setattr(perplexities, "_mean_losses", counted)
    return seen


def test_other_choices_from_the_same_scores_run_no_model(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    given = models(world, "one", "two")
    make_selection(world, tmp_path / "set", *given)
    seen = count_of_batches(monkeypatch)

    again = make_selection(
        world, tmp_path / "set", *given, "--force", "--worst", "0.05", "--keep", "9"
    )
    assert seen == [] and again["kept"] == 9

    make_selection(world, tmp_path / "set", *given, *models(world, "digits"), "--force")
    assert set(seen) == {"digits"}


def test_a_model_that_changed_is_scored_anew(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copytree(world / "one", tmp_path / "one")
    given = ["--model", str(tmp_path / "one"), *models(world, "two")]
    before = make_selection(world, tmp_path / "set", *given)
    seen = count_of_batches(monkeypatch)
    shutil.copytree(world / "digits", tmp_path / "one", dirs_exist_ok=True)

    after = make_selection(world, tmp_path / "set", *given, "--force")

    assert set(seen) == {"one"}
    assert before["models"][0]["fingerprint"] != after["models"][0]["fingerprint"]


def begun(world: Path, output: Path) -> Path:
    """A scoring that has scores of both models."""
    make_selection(world, output, *models(world, "one", "two"))
    work = sets.work_folder(output)
    work.mkdir()
    shutil.copy(output / "scores.jsonl", work)
    shutil.rmtree(output)
    return work / "scores.jsonl"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"tokens":[', b'"tokens":[1,'),
        (b'"losses":[', b'"losses":["nan",'),
        (b'"model":', b'"modes":'),
        (b"{", b""),
    ],
)
def test_damaged_scores_are_refused(world: Path, tmp_path: Path, old: bytes, new: bytes):
    book = begun(world, tmp_path / "set")
    book.write_bytes(book.read_bytes().replace(old, new, 1))

    assert code_of(run(world, tmp_path / "set", *models(world, "one"))) == "R0604"


def test_scores_of_other_samples_are_refused(world: Path, tmp_path: Path):
    begun(world, tmp_path / "set")

    done = run(world, tmp_path / "set", *models(world, "one"), "--samples", "10", "--seed", "7")

    assert code_of(done) == "R0604"
    assert str(tmp_path / "set.scoring") in done.exception.diagnostics[0].help


def test_losses_that_are_no_numbers_are_refused(world: Path, tmp_path: Path):
    """Only those after one letter are: what is tried when a model is loaded does not show it."""
    from safetensors.torch import load_file, save_file

    path = shutil.copytree(world / "two", tmp_path / "bad") / "model.safetensors"
    weights = load_file(path)
    weights["model.embed_tokens.weight"][byte_tokenizer().token_to_id("k")] = math.inf
    save_file(weights, path, metadata={"format": "pt"})

    done = run(world, tmp_path / "set", *models(world, "one"), "--model", str(tmp_path / "bad"))

    assert code_of(done) == "R0605"
    assert (tmp_path / "set.scoring" / "scores.jsonl").exists()


def test_too_little_memory_is_said(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import torch

    from lawdsl.runners.training import models as loading

    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    load = loading.load

    def load_and_fill(*given: Any) -> Any:
        model = load(*given)
        monkeypatch.setattr(loading.LanguageModelLoss, "forward", full)
        return model

    monkeypatch.setattr(loading, "load", load_and_fill)

    assert code_of(run(world, tmp_path / "set", *models(world, "one"))) == "R0606"


def test_two_processes_do_not_score_for_one_set(world: Path, tmp_path: Path):
    work = sets.work_folder(tmp_path / "set")
    work.mkdir()
    with hold(work, "another"):
        done = run(world, tmp_path / "set", *models(world, "one"))

    assert code_of(done) == "R0408"


def test_without_models_no_torch_is_loaded(world: Path, tmp_path: Path):
    code = (
        "import sys\nfrom lawdsl.cli import cli\n"
        "cli.main(sys.argv[1:], standalone_mode=False)\n"
        "print(sorted({'torch', 'transformers', 'scipy'} & set(sys.modules)))"
    )
    given = [str(world / "text.jsonl"), "--tokenizer", str(world / "tokenizer.json")]
    command = [sys.executable, "-c", code, "validation", *given, "-o", str(tmp_path / "set")]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)

    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    assert "nothing is filtered" in done.stderr and len(documents(tmp_path / "set")) == 40
