"""Tables in a file or a pipe are as wide as they need to be: no cell is cut off, folded or blank."""

from __future__ import annotations

import re
from pathlib import Path

import commands
import numpy as np
import pytest

from lawdsl.pipelines.result import Group
from lawdsl.reporting.pipelines import _parameters
from lawdsl.reporting.terminal import console, show_rows


def printed(*arguments: str, folder: Path) -> str:
    """What a command writes to a pipe."""
    return commands.run(*arguments, cwd=folder).stdout


def test_a_wide_table_keeps_every_cell(capsys: pytest.CaptureFixture[str]):
    headers = [f"parameter_{i}" for i in range(300)]
    rows = [[i + 0.5 for i in range(300)], [f"a long text in cell {i}" for i in range(300)]]

    show_rows(headers, rows, console())

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    cells = [re.split(r"\s{2,}", line.strip()) for line in (lines[0], *lines[2:])]
    assert cells[0] == headers
    assert cells[1] == [f"{x:.6g}" for x in rows[0] if isinstance(x, float)]
    assert cells[2] == rows[1]


def test_predictions_of_many_columns_are_one_line_a_row(tmp_path: Path):
    names = [f"a_rather_long_name_of_a_column_{i}" for i in range(40)]
    values = ",".join(f"{i}.25" for i in range(40))
    table = tmp_path / "points.csv"
    table.write_text(f"r,{','.join(names)}\n0.2,{values}\n0.3,{values}\n")
    law = tmp_path / "line.law"
    law.write_text(
        "law line\nvariable r in [0, 1]\nparameter a, b\nL = a + b*r\nminimize squared(L)\n"
    )
    rows = "".join(
        f"{x:g},{1 + 2 * x + 1e-3 * (-1) ** i:g}\n" for i, x in enumerate(np.linspace(0, 1, 9))
    )
    (tmp_path / "runs.csv").write_text("r,L\n" + rows)
    printed("fit", "line.law", "runs.csv", "-o", "fit.json", "-q", folder=tmp_path)

    lines = printed("predict", "fit.json", "points.csv", folder=tmp_path).splitlines()

    assert len(lines) == 4 and all(name in lines[0] for name in names)
    assert lines[2].split()[:41] == ["0.2", *values.split(",")]


def test_a_column_is_of_a_parameter_not_of_its_label():
    group = Group(
        {"validation": "pile"}, 8, {"c[pile]": 1.0, "t[pile, web]": 2.0, "t[pile, pile]": 3.0}
    )

    assert _parameters(group) == ["c", "t[web]", "t[pile]"]


def test_parameters_that_would_share_a_column_keep_their_names():
    group = Group({"domain": "a"}, 8, {"c[a]": 1.0, "c": 2.0})

    assert _parameters(group) == ["c[a]", "c"]
