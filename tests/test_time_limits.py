"""Commands that search stop when their CPU time is used up, with an error that says what to do."""

from __future__ import annotations

import json
from pathlib import Path

import commands
import numpy as np
import pytest

LIMIT = ("--time-limit", "0.05")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Losses of 30 runs that two laws have to be fitted to."""
    rng = np.random.default_rng(5)
    lines = ["N [Mparam],D [Gtoken],r,L [nat/token]"]
    for n in (70, 160, 410):
        for d in (1, 3, 9, 20, 40):
            for r in (0.2, 0.7):
                loss = 1.7 + 2 / n**0.3 + 1.5 / d**0.3 + 0.2 / (r + 0.1) ** 0.5
                lines.append(f"{n},{d},{r},{loss + rng.normal() / 500:.5f}")
    path = tmp_path_factory.mktemp("limits") / "runs.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


COMMANDS = {
    "fit": ("fit", "dcpt.l3", "TABLE"),
    "compare": ("compare", "chinchilla", "dcpt.l3", "TABLE", "--protocol", "splits"),
    "solve": (
        *("solve", "chinchilla.allocation", "C=1e20", "loss.E=1.69", "loss.A=406.4"),
        *("loss.alpha=0.34", "loss.B=410.7", "loss.beta=0.28"),
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_stops_with_an_error(name: str, table: Path, tmp_path: Path) -> None:
    words = [str(table) if word == "TABLE" else word for word in COMMANDS[name]]
    kept = tmp_path / ("kept.csv" if name == "solve" else "kept")
    output = () if name == "compare" else ("-o", str(kept))
    ended = commands.run(*words, *output, *LIMIT, "--json")
    assert ended.returncode == 3, ended.stderr
    (diagnostic,) = json.loads(ended.stdout)["diagnostics"]
    assert diagnostic["code"] == "C0008"
    assert "CPU time" in diagnostic["message"]
    assert float(diagnostic["help"].split()[1]) >= 0.1  # twice what was allowed, or used
    assert not kept.exists()


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_limit_is_a_positive_number(seconds: str, table: Path) -> None:
    ended = commands.run("fit", "chinchilla", table, "--time-limit", seconds)
    assert ended.returncode == 2
    assert "--time-limit" in ended.stderr


def test_enough_time_changes_nothing(table: Path) -> None:
    fit = ("fit", "chinchilla", table, "--json", "--starts", "2", "--intervals", "delta")
    free, limited = commands.run(*fit), commands.run(*fit, "--time-limit", "500")
    results = [json.loads(ended.stdout)["result"] for ended in (free, limited)]
    assert results[0]["parameters"] == results[1]["parameters"]
