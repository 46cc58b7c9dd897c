"""`lawdsl run`: exported models, and what the command prints."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from sweeps import TEXT, carried_out, folder_of, made, planned

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.sweeps import export, scheduler
from lawdsl.runners.sweeps.sweep import read_sweep

FIRST = "small_code=0.3333_seed=1"


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "POLL", 0.01)


ONE_EACH = TEXT.replace('folder = "runs"', 'folder = "runs"\nexport = "models/{model}"').replace(
    '{code = 0}, {code = "1/3"}, {code = 1}', "{code = 0}"
)


def test_trained_models_are_put_where_the_next_sweep_begins_from_them(tmp_path: Path, command_line):
    path = made(tmp_path, ONE_EACH)
    assert command_line("run", path).return_value == 0
    for name in ("small", "large"):
        config = json.loads((tmp_path / "models" / name / "config.json").read_text())
        assert config == {"trained": f"{name}_code=0_seed=1"}
    before = (tmp_path / "models" / "small").stat().st_ino
    assert command_line("run", path).return_value == 0
    assert (tmp_path / "models" / "small").stat().st_ino == before
    path.write_text(ONE_EACH.replace("learning_rate = 1e-2", "learning_rate = 2e-2"))
    assert command_line("run", path).return_value == 0
    assert (tmp_path / "models" / "small").stat().st_ino != before


def test_a_folder_of_somebody_elses_is_no_place_for_a_model(tmp_path: Path, command_line):
    path = made(tmp_path, ONE_EACH)
    (tmp_path / "models" / "small").mkdir(parents=True)
    assert "R0107" in str(command_line("run", path).exception)
    assert not (tmp_path / "runs").exists()


def test_a_model_that_is_gone_is_said(tmp_path: Path):
    path = made(tmp_path, ONE_EACH)
    carried_out(path)
    folder_of(path, "small_code=0_seed=1").joinpath("model", "config.json").unlink()
    folder_of(path, "small_code=0_seed=1").joinpath("model").rmdir()
    run = next(r for r in planned(path).runs if r.label == "small_code=0_seed=1")
    with pytest.raises(LawdslError, match="R0107"):
        export.export(read_sweep(path), run)
    assert not list((tmp_path).glob("models/*"))


def test_an_export_that_fails_keeps_the_earlier_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = made(tmp_path, ONE_EACH)
    carried_out(path)
    run = next(r for r in planned(path).runs if r.label == "small_code=0_seed=1")
    model = tmp_path / "models" / "small"
    model.mkdir(parents=True)
    (model / export.MARK_FILE).write_text('{"run": "an earlier run"}')
    rename = os.rename

    def fails(old: Path, new: Path) -> None:
        if Path(old).suffix == ".part":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(old, new)

    monkeypatch.setattr(os, "rename", fails)
    with pytest.raises(LawdslError, match="R0107"):
        export.export(read_sweep(path), run)
    assert json.loads((model / export.MARK_FILE).read_text()) == {"run": "an earlier run"}
    monkeypatch.setattr(os, "rename", rename)
    assert export.export(read_sweep(path), run) == model
    assert json.loads((model / export.MARK_FILE).read_text())["label"] == run.label
    assert [p.name for p in model.parent.iterdir()] == ["small"]


def test_a_dry_run_says_what_it_would_take_and_starts_nothing(tmp_path: Path, command_line):
    path = made(tmp_path)
    done = command_line("run", path, "--dry-run")
    assert done.return_value == 0 and done.stderr == ""
    assert "6 new; " in done.stdout and "FLOP" in done.stdout and "free" in done.stdout
    assert not (tmp_path / "runs").exists()
    content = json.loads(command_line("run", path, "--dry-run", "--json").stdout)
    assert content["ok"] and len(content["result"]["plan"]["runs"]) == 6
    assert not (tmp_path / "runs").exists()


def test_a_line_a_run_goes_to_standard_error_and_the_rest_to_standard_output(
    tmp_path: Path, fake_worker, command_line
):
    path = made(tmp_path)
    fake_worker(**{FIRST: {"diverges": 12}})
    done = command_line("run", path, "--jobs", "2")
    assert done.return_value == 1
    lines = done.stderr.splitlines()
    assert len([line for line in lines if line.startswith("done ")]) == 5
    assert any(line.startswith(f"diverged {FIRST}  the loss is not finite") for line in lines)
    assert "error[R0109]" in done.stderr
    assert "5 done, 1 diverged" in done.stdout or "1 diverged, 5 done" in done.stdout
    assert "next:" not in done.stdout
    again = command_line("run", path, "--quiet")
    assert again.return_value == 0 and again.stderr == ""
    assert "5 done, 1 diverged" in again.stdout or "1 diverged, 5 done" in again.stdout


def test_the_outcome_is_one_json_document(tmp_path: Path, fake_worker, command_line):
    path = made(tmp_path)
    fake_worker(**{FIRST: {"wrong": "error[R0503]: it has changed"}})
    done = command_line("run", path, "--json")
    content = json.loads(done.stdout)
    assert done.return_value == 1 and not content["ok"] and content["command"] == "run"
    assert [d["code"] for d in content["diagnostics"]] == ["R0108"]
    assert content["diagnostics"][0]["notes"] == ["error[R0503]: it has changed"]
    by_label = {outcome["label"]: outcome for outcome in content["result"]["outcomes"]}
    assert by_label[FIRST]["status"] == "failed"
    assert by_label["large_code=0_seed=1"]["losses"].keys() == {"general", "code"}


def test_a_run_that_is_tried_again_is_named_on_the_terminal(
    tmp_path: Path, fake_worker, command_line
):
    fake_worker(**{FIRST: {"dies": [8]}, "large_code=1": {"memory": 3}})
    path = made(tmp_path)
    saved = next(run for run in planned(path).runs if run.label == FIRST).folder
    (saved / "checkpoints" / "step-00000005").mkdir(parents=True)
    said = command_line("run", path, "--halve").stderr.splitlines()
    (killed,) = (line for line in said if "SIGKILL" in line)
    assert killed.startswith(f"{FIRST}: its worker was killed by SIGKILL")
    assert killed.endswith("; it is resumed from step 5")
    tried = [line.partition("; ")[2] for line in said if "out of memory" in line]
    assert tried == ["it is tried again with a micro-batch of 2"]
    assert "tried again" not in command_line("run", made(tmp_path / "b"), "--halve", "-q").stderr
