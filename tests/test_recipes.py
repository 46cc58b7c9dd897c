"""The recipes do what they say, from nothing."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lawdsl.data.read import read_table

ROOT = Path(__file__).resolve().parent.parent


def copy_of_quick_recipe(folder: Path) -> Path:
    """The quick recipe outside of the checkout, where it finds the commands of PATH alone."""
    recipe = folder / "recipes" / "quick"
    recipe.mkdir(parents=True)
    for name in ("make.sh", "sweep.toml"):
        (recipe / name).write_bytes((ROOT / "runners/recipes/quick" / name).read_bytes())
    return recipe


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
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, module in (("lawdsl", "-m lawdsl"), ("python", "")):
        script = f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n'
        (tools / name).write_text(script, encoding="utf-8")
        (tools / name).chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
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
