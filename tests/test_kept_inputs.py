"""No command writes over a file that it reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import run

import lawdsl


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    N = np.geomspace(1e7, 1e9, 8)
    L = 2 + 400 / N**0.35
    (folder / "size.law").write_text(
        "law size\nvariable N > 0\nparameter E, A, alpha > 0\nL = E + A/N^alpha\n", encoding="utf-8"
    )
    rows = "".join(f"{n},{y}\n" for n, y in zip(N, L, strict=True))
    (folder / "runs.csv").write_text("N,L\n" + rows, encoding="utf-8")
    lawdsl.fit(str(folder / "size.law"), str(folder / "runs.csv")).save(folder / "fit.json")
    (folder / "link.json").symlink_to(folder / "fit.json")
    return folder


@pytest.mark.parametrize(
    ("command", "replaced"),
    [
        ("fit size.law runs.csv -o runs.csv", "runs.csv"),
        ("fit size.law runs.csv -o ./size.law", "size.law"),
        ("plot fit.json -o fit.json", "fit.json"),
        ("plot link.json -o fit.json", "fit.json"),
        ("plot fit.json --data runs.csv -o runs.csv", "runs.csv"),
        ("export fit.json --to json -o fit.json", "fit.json"),
        ("predict fit.json runs.csv -o runs.csv", "runs.csv"),
        ("report fit.json -o fit.json", "fit.json"),
    ],
)
def test_an_output_that_is_an_input_is_refused(folder: Path, command: str, replaced: str):
    before = (folder / replaced).read_bytes()
    done = run(*command.split(), cwd=folder)
    assert done.returncode == 3
    assert "error[L0313]: the output is one of the inputs, which it would replace" in done.stderr
    assert (folder / replaced).read_bytes() == before


def test_a_fit_replaces_its_earlier_file(folder: Path):
    for _ in range(2):
        done = run("fit", "size.law", "runs.csv", "-o", "again.json", "-q", cwd=folder)
        assert done.returncode == 0 and "wrote again.json" in done.stdout + done.stderr
