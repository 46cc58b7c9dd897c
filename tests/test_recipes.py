"""The recipes do what they say, from nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from lawdsl.cli import cli
from lawdsl.data.read import read_table
from lawdsl.runners.sweeps.sweep import read_sweep

ROOT = Path(__file__).resolve().parent.parent


def copy_of_recipe(folder: Path, name: str, *files: str) -> Path:
    """A recipe outside of the checkout, where it finds the commands of PATH alone."""
    recipe = folder / "recipes" / name
    recipe.mkdir(parents=True)
    for file in ("make.sh", *files):
        (recipe / file).write_bytes((ROOT / "runners/recipes" / name / file).read_bytes())
    return recipe


def copy_of_quick_recipe(folder: Path) -> Path:
    """The quick recipe outside of the checkout."""
    return copy_of_recipe(folder, "quick", "sweep.toml")


def tools_in(folder: Path) -> str:
    """A PATH on which `lawdsl` and `python` are those of this process."""
    tools = folder / "bin"
    tools.mkdir()
    for name, module in (("lawdsl", "-m lawdsl"), ("python", "")):
        script = f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n'
        (tools / name).write_text(script, encoding="utf-8")
        (tools / name).chmod(0o755)
    return f"{tools}:{os.environ['PATH']}"


def test_the_quick_recipe_goes_on_where_it_was_ended_and_keeps_a_changed_sweep(tmp_path: Path):
    tools = tmp_path / "bin"
    tools.mkdir()
    real = f'exec {sys.executable} -I "$@"'
    cut = 'case "$2" in *pydoc*) echo "{"; exit 1;; esac\n' + real
    recipe, made = copy_of_quick_recipe(tmp_path), tmp_path / "made"

    def make(python: str) -> int:
        for name, script in (("lawdsl", "exit 0"), ("python", python)):
            (tools / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            (tools / name).chmod(0o755)
        path = f"{tools}:{os.environ['PATH']}"
        command = ["sh", str(recipe / "make.sh"), str(made)]
        return subprocess.run(command, env={**os.environ, "PATH": path}).returncode

    assert make(cut) == 1
    changed = (
        (made / "sweep.toml").read_text(encoding="utf-8").replace("seeds = [1]", "seeds = [7]")
    )
    (made / "sweep.toml").write_text(changed, encoding="utf-8")
    assert make(real) == 0
    lines = (made / "english.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 50 and all(json.loads(line)["text"] for line in lines)
    assert (made / "sweep.toml").read_text(encoding="utf-8") == changed


@pytest.mark.slow
def test_the_quick_recipe_makes_a_table_from_pythons_own_files(tmp_path: Path):
    path = tools_in(tmp_path)
    recipe = copy_of_quick_recipe(tmp_path)
    done = subprocess.run(
        ["sh", str(recipe / "make.sh"), str(tmp_path / "made")],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    table = read_table(tmp_path / "made" / "runs.csv")
    assert len(table.numbers("L_code")) == 50  # two sizes, five shares, five evaluations
    last = table.numbers("D") == table.numbers("D").max()
    assert (table.numbers("dL_code")[last] < -1).all()  # each has learnt more than a nat

    (advice,) = [x for x in done.stdout.splitlines() if x.startswith("next: lawdsl fit")]
    words = shlex.split(advice.removeprefix("next: lawdsl"))
    fitted = subprocess.run(
        [sys.executable, "-m", "lawdsl", *words, "-o", "fit.json", "-q"],
        cwd=tmp_path / "made",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert fitted.returncode == 0 and "verdict: trusted" in fitted.stdout


def test_the_sweeps_of_the_loop_are_the_runs_that_its_page_tells_of():
    recipe = ROOT / "runners" / "recipes" / "loop"
    base, grid = read_sweep(recipe / "base.toml"), read_sweep(recipe / "sweep.toml")
    assert [cell.model for cell in base.cells] == ["0.02M", "0.08M", "0.19M"]
    assert set(grid.models) == set(base.models)
    candidates = [s for cell in grid.cells for s in grid.stages_of(cell) if not s.branch_steps]
    assert len(candidates) == 81
    assert max(stage.training.steps for stage in candidates) == 400


def test_the_sweep_of_checkpoints_has_as_many_evaluations_as_the_paper():
    recipe = ROOT / "runners" / "recipes" / "checkpoints"
    base, grid = read_sweep(recipe / "base.toml"), read_sweep(recipe / "sweep.toml")
    assert set(grid.models) == set(base.models) == {"5k", "20k", "80k"}
    stages = [stage for cell in grid.cells for stage in grid.stages_of(cell)]
    assert {len(stage.evaluate) - 1 for stage in stages} == {200} and len(stages) == 15


def test_documents_of_the_checkpoints_are_short_and_whole():
    from lawdsl.runners.recipes.checkpoints.collect_text import documents

    text = "\n\n".join(f"{i} " + "word " * 40 for i in range(11))
    pieces = list(documents(text))
    assert "\n\n".join(pieces) == text
    assert [len(piece.split("\n\n")) for piece in pieces] == [2, 2, 2, 2, 2, 1]


def test_checkpoints_of_an_exact_law_predict_the_held_out_share_exactly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """The four tables of one set of runs, of which each determines the law."""
    from lawdsl.runners.recipes.checkpoints import held_out

    lines = [
        "run,step,N,D,r_code,r_general,L_code,L_general,L_unfiltered,se_code,se_general,se_unfiltered"
    ]
    for size in (5e6, 2e7, 8e7):
        for share in (0.1, 0.3, 0.5, 0.7, 0.9):
            for step in range(2, 41, 2):
                tokens = step * 1e6
                losses = [
                    1
                    + 0.1 * (size / 1e9) ** -0.3
                    + 0.2 * r**1.5 * (tokens / 1e9) ** -0.2
                    + 0.4 / (r + 0.2)
                    for r in (share, 1 - share)
                ]
                cells = [size, tokens, share, 1 - share, *losses, losses[0] + 0.1, 0.01, 0.01, 0.02]
                lines.append(f"{size}-{share},{step}," + ",".join(map(repr, cells)))
    (tmp_path / "runs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    paths = [tmp_path / f"{method}.csv" for method in ("M1", "M2", "M3", "M4")]
    for path in paths:
        command = ["collect", str(tmp_path / "runs.csv"), "--sample", path.stem, "-o", str(path)]
        assert CliRunner().invoke(cli, command).exit_code == 0
    monkeypatch.setattr(held_out, "STARTS", 4)  # an exact law has one minimum, which is found soon
    held_out.main(paths)
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.splitlines()]
    errors = {
        (row[0], row[1]): float(row[5])
        for row in rows
        if row and row[0] in ("M1", "M2", "M3", "M4")
    }
    assert len(errors) == 9  # two losses by four methods, and one without the filter
    assert max(errors.values()) < 3e-3  # losses are 1.9 to 3.7
    assert re.search(r"L_unfiltered \S+ ± 0.0200 nat/token", printed)


def printed_by(recipe: Path, made: Path, tmp_path: Path) -> str:
    """What the script of a recipe prints; its files go into the folder `made`."""
    done = subprocess.run(
        ["sh", str(recipe / "make.sh"), str(made)],
        env={**os.environ, "PATH": tools_in(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_checkpoints_recipe_goes_from_text_to_errors_of_four_methods(tmp_path: Path):
    """With runs of fewer steps."""
    recipe = copy_of_recipe(tmp_path, "checkpoints", "base.toml", "sweep.toml")
    made = tmp_path / "made"
    made.mkdir()
    for name, steps in (("base", 40), ("sweep", 60)):
        text = (recipe / f"{name}.toml").read_text(encoding="utf-8")
        text = re.sub(r"^steps = \d+", f"steps = {steps}", text, flags=re.M)
        (made / f"{name}.toml").write_text(text, encoding="utf-8")
    printed = printed_by(recipe, made, tmp_path)
    rows = {path.stem: read_table(path) for path in made.glob("M?.csv")}
    # 60 evaluations: every one; every 5th; every 4th until 36 and every 8th after it, and the last
    assert {name: len(rows[name]) / 15 for name in ("M1", "M2", "M3")} == {
        "M1": 60,
        "M2": 12,
        "M3": 12,
    }
    assert 15 * 12 < len(rows["M4"]) < 15 * 60
    selection = json.loads((made / "validation/code/selection.json").read_text(encoding="utf-8"))
    assert len(selection["models"]) == 3 and 0 < selection["dropped"] <= 5
    filtered, whole = (rows["M1"].numbers(f"L_{name}").mean() for name in ("code", "unfiltered"))
    assert filtered < whole  # what all models find unlikely is not in it
    assert len(re.findall(r"^M\d +(?:general|code|unfiltered) ", printed, re.M)) == 9


def test_prose_is_collected_without_examples(tmp_path: Path):
    from lawdsl.runners.recipes.loop.collect_text import _paragraphs

    text = "The prose of a module, which tells in words what its functions are for and why."
    example = ">>> an_example_of_the_prompt_of_python() is not prose at all, is it, no, never"
    path = tmp_path / "module.py"
    path.write_text(f'"""{text}\n\n{example}\n\n{text}"""\n', encoding="utf-8")
    assert list(_paragraphs(path)) == [text]


@pytest.mark.slow
def test_the_loop_recipe_goes_from_text_to_an_answer(tmp_path: Path):
    """With text of some modules, and runs of a few steps."""
    recipe, made = copy_of_recipe(tmp_path, "loop", "base.toml", "sweep.toml"), tmp_path / "made"
    (made / "text").mkdir(parents=True)
    library = Path(json.__file__).parent.parent
    modules = sorted(library.glob("*.py"))
    for name, paths in (("general", modules[::2]), ("code", modules[1::2])):
        texts = [path.read_text(encoding="utf-8") for path in paths]
        lines = "\n".join(json.dumps({"text": text}) for text in texts)
        (made / "text" / f"{name}.jsonl").write_text(lines + "\n", encoding="utf-8")
    for name, steps in (("base", 30), ("sweep", 40)):
        text = (recipe / f"{name}.toml").read_text(encoding="utf-8")
        text = re.sub(r"^steps = .*", f"steps = {steps}", text, flags=re.M)
        text = text.replace("every = 1500", "every = 30").replace("warmup = 100", "warmup = 5")
        text = text.replace("warmup = 20", "warmup = 2").replace(
            "decay_steps = 60", "decay_steps = 5"
        )
        (made / f"{name}.toml").write_text(text, encoding="utf-8")
    script = (recipe / "make.sh").read_text(encoding="utf-8")
    (recipe / "make.sh").write_text(
        script.replace("--budget 1e13", "--budget 1.6e11"), encoding="utf-8"
    )
    printed = printed_by(recipe, made, tmp_path)
    assert "of 1.6e+11 FLOP spent" in printed, printed
    table = read_table(made / "sweep-runs.csv")
    assert len(set(table.texts("run"))) >= 10
    for loss in ("L_general", "L_code"):
        assert np.isfinite(table.numbers(loss)).all()
