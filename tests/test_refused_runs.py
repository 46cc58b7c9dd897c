"""Orders that cannot be done are refused in one message, before anything is written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import runs
import torch
from runs import DONE, WRONG

from lawdsl.runners import spec


@dataclass(frozen=True)
class Mistake:
    """An order that cannot be done: the code and words of the message, what is ordered, and what
    is done to the corpora before and after it is."""

    code: str
    words: str
    order: dict[str, Any] = field(default_factory=dict)
    before: Callable[[Path], None] = lambda folder: None
    after: Callable[[Path], None] = lambda folder: None
    world: int = 1


def changed(folder: Path) -> None:
    shutil.rmtree(folder / "code")
    runs.write_corpus(folder / "code", runs.documents(9_000, 99, 1))


def gone(folder: Path) -> None:
    shutil.rmtree(folder / "code-held")


def torn(folder: Path) -> None:
    os.truncate(folder / "code" / "tokens.bin", 100)


def short(folder: Path) -> None:
    shutil.rmtree(folder / "code-held")
    runs.write_corpus(folder / "code-held", runs.documents(32, 5, 0))


FEW = runs.QWEN2 | {"vocab_size": 250}
MISTAKES = {
    "corpus changed": Mistake("R0503", "code has changed since the run was ordered", after=changed),
    "corpus gone": Mistake("R0207", "this folder does not exist", after=gone),
    "corpus torn": Mistake("R0208", "100 bytes, not the 18,000", after=torn),
    "model changed": Mistake("R0503", "the model has changed", {"fingerprint": "0" * 32}),
    "no model": Mistake("R0301", "no config.json", {"model": "/nowhere", "fingerprint": "0" * 32}),
    "vocabulary": Mistake("R0504", "256 kinds of tokens, the model knows 250", {"model": FEW}),
    "positions": Mistake("R0504", "rows have 65 tokens, the model has 64", {"sequence": 65}),
    "passes": Mistake("R0505", "code has 281 windows of 32 tokens, the run needs 432: more than 1.5"
        " passes", {"batch": 18, "share": "1", "max_epochs": 1.5}),
    "short": Mistake("R0506", "code-held has 32 tokens, and a row takes 32", before=short),
    "no such device": Mistake("R0501", "'abacus'", {"how": {"device": "abacus"}}),
    "no device of ours": Mistake("R0501", "'meta'", {"how": {"device": "meta"}}),
    "too many processes": Mistake("R0502", "with 1 processes, and 2 were started", world=2),
    "too few processes": Mistake("R0502", "2 processes, and 1", {"how": {"processes": 2}}),
    "schedule": Mistake("R0702", "a warm-up over 25 steps", {"warmup": 25}),
}  # fmt: skip
if not torch.cuda.is_available():
    MISTAKES["no GPU"] = Mistake("R0501", "torch sees 0 GPUs", {"how": {"device": "cuda"}})


@pytest.mark.parametrize("name", MISTAKES)
def test_what_cannot_be_run_is_said_in_one_message(
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
):
    mistake = MISTAKES[name]
    shutil.copytree(data, tmp_path / "data")
    mistake.before(tmp_path / "data")
    order = runs.order(tmp_path / "data", **mistake.order)
    mistake.after(tmp_path / "data")
    monkeypatch.setenv("WORLD_SIZE", str(mistake.world))
    assert runs.do(tmp_path / "run", order) == WRONG
    said = capsys.readouterr().err
    assert said.startswith(f"error[{mistake.code}]: ")
    assert mistake.words in said
    assert said.count("error[") == 1 and "Traceback" not in said
    assert set(os.listdir(tmp_path / "run")) <= {"spec.json", "lock"}


@pytest.mark.parametrize(
    "end", ["", "{", "[]", "null", '{"step": 3}', '{"status": "failed"}', "\xff"]
)
def test_an_end_that_says_nothing_of_being_done_is_none(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], end: str
):
    order = runs.order(data, steps=2, evaluate=(0, 2))
    spec.write_order(tmp_path, order)
    (tmp_path / "done.json").write_text(end, encoding="latin-1")
    assert runs.do(tmp_path) == DONE
    assert capsys.readouterr().err == ""
    assert runs.done(tmp_path)["status"] == "done"


def test_the_order_of_a_later_lawdsl_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    spec.write_order(tmp_path, runs.order(data))
    text = (tmp_path / "spec.json").read_text().replace('"schema": 1', '"schema": 2')
    (tmp_path / "spec.json").write_text(text)
    assert runs.do(tmp_path) == WRONG
    said = capsys.readouterr().err
    assert said.startswith("error[R0102]") and "schema: Input should be 1" in said
    assert os.listdir(tmp_path) == ["spec.json"]


def test_a_folder_without_an_order_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert runs.do(tmp_path) == WRONG
    assert capsys.readouterr().err.startswith("error[R0102]")
    assert runs.do(tmp_path / "nowhere") == WRONG
