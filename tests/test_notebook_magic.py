"""`%%law` in IPython: what a cell shows, which variables it assigns, and what it says of mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import lawdsl
from lawdsl.cli.fit import fit as fit_command
from lawdsl.notebook_magic import description

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "laws" / "data" / "c4_share.csv"
CELL = """law my.share "a law of a notebook"
variable r in (0, 1] "share"
parameter a > 0
parameter b > 0
parameter E > 0
L = E + a/(b + r)
require ∂L/∂r < 0
"""


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """IPython with the extension."""
    running = InteractiveShell.instance()
    running.reset()
    running.run_line_magic("load_ext", "lawdsl")
    yield running
    InteractiveShell.clear_instance()


def shown(shell: InteractiveShell, line: str, cell: str = CELL) -> Any:
    """What `%%law` shows and prints for a line and a cell."""
    with capture_output() as captured:
        shell.run_cell_magic("law", line, cell)
    return captured


def test_a_law_and_its_verdicts_are_shown_and_become_variables(shell):
    captured = shown(shell, "")
    law, verdicts = captured.outputs
    assert "L = E + a/(b + r)" in law.data["text/plain"]
    assert "$" in law.data["text/html"] and "share" in law.data["text/html"]
    assert "PROVED" in verdicts.data["text/plain"]
    assert shell.user_ns["my_share"].name == "my.share"
    assert [v.verdict for v in shell.user_ns["my_share_check"].claims] == ["proved"]
    assert captured.stdout == "variables: my_share, my_share_check\n"


def test_a_table_is_a_variable_or_a_file_and_its_fit_is_that_of_lawdsl_fit(shell, tmp_path):
    frame = pandas.read_csv(TABLE, comment="#").rename(columns={"L": "loss"})
    shell.user_ns["runs"] = frame
    options = "L=loss --where 'r > 0.1' --starts 8 --fix b=0.2 --as mine"
    captured = shown(shell, f"runs {options}")
    assert "verdict:" in captured.outputs[-1].data["text/plain"]
    path = tmp_path / "my.law"
    path.write_text(CELL, encoding="utf-8")
    expected = lawdsl.fit(path, frame, L="loss", where="r > 0.1", starts=8, fix={"b": 0.2})
    fitted = shell.user_ns["mine_fit"]
    assert fitted.parameters == expected.parameters
    shown(shell, f"{TABLE} --where 'r > 0.1' --starts 8 --fix b=0.2")
    assert shell.user_ns["my_share_fit"].parameters == expected.parameters


def test_no_check_decides_no_claims(shell):
    assert len(shown(shell, "--no-check").outputs) == 1
    assert "my_share_check" not in shell.user_ns


def test_warnings_on_the_text_are_shown_before_the_law(shell):
    warning, law, _ = shown(shell, "", CELL + "require ∂L/∂r < 0\n").outputs
    assert "warning[L0323]" in warning.data["text/plain"]
    assert "L0323" in warning.data["text/html"]
    assert "L = E + a/(b + r)" in law.data["text/plain"]


@pytest.mark.parametrize(
    ("line", "cell", "message"),
    [
        ("", CELL.replace("b + r", "b + q"), "unknown name `q`\n --> cell:7:16"),
        ("", CELL.replace("parameter a > 0", "parameter a >> 0"), "cell:4:14"),
        ("", 'question q "?"\nuses loss : chinchilla\n', "the cell has a question"),
        ("", 'pipeline p "?"\n', "lawdsl.run_pipeline"),
        ("no_such_file.csv", CELL, "no_such_file.csv"),
        ("a.csv b.csv", CELL, "write NAME=VALUE"),
        ("L=loss", CELL, "a table is missing before 'L=loss'"),
        ("--start", CELL, "No such option"),
        ("--starts", CELL, "requires an argument; `%%law --help` describes the line"),
        ("mapping", CELL, "the columns are r, loss; write L=loss"),
        ("maping L=loss", CELL, "the notebook has no variable `maping`, and there is no file"),
        ("maping L=loss", CELL, "= help: did you mean `mapping`?"),
        ("nosuch", CELL, "= help: give the name of a data frame, or the path of a file"),
        ("--as 3x", CELL, "--as NAME"),
        ("--as class", CELL, "--as NAME"),
        ("--as print", CELL, "'print' is a built-in name of Python"),
        ("--as match", CELL, "'match' is a keyword of Python"),
        ("--as get_ipython", CELL, "'get_ipython' is a name that IPython assigns"),
        ("--as _", CELL, "'_' is a name that IPython assigns"),
        ("runs --as runs", CELL, "'runs' is the table, which the law would replace"),
        ("", CELL.replace("my.share", "sum"), "'sum' is a built-in name of Python"),
        ("'a", CELL, "No closing quotation"),
        ("--fix nothing=1", CELL, "nothing"),
    ],
)
def test_a_mistake_has_one_message_and_changes_no_variable(shell, line, cell, message):
    shown(shell, "")
    shell.user_ns["mapping"] = {"r": [0.1, 0.2, 0.5, 0.8], "loss": [3.0, 2.5, 2.0, 1.9]}
    before = shell.user_ns["my_share"]
    with pytest.raises(UsageError) as raised:
        shown(shell, line, cell)
    assert message in str(raised.value)
    assert shell.user_ns["my_share"] is before
    assert "my_share_fit" not in shell.user_ns


def test_a_mistake_in_the_line_is_shown_in_its_place(shell):
    with pytest.raises(UsageError) as raised:
        shown(shell, "--no-check --starts")
    text = str(raised.value)
    assert (
        " --> cell:1:18\n  |\n1 | %%law --no-check --starts\n  |                  ^^^^^^^^" in text
    )
    with pytest.raises(UsageError) as raised:
        shown(shell, "--seed x --no-check")
    assert "cell:1:7" in str(raised.value)


def test_a_place_counts_the_line_of_the_magic(shell):
    with pytest.raises(UsageError) as raised:
        shown(shell, "--no-check", CELL.replace("law my.share", "lwa my.share"))
    assert "cell:2:1" in str(raised.value)
    captured = shown(shell, "--no-check", CELL + "require ∂L/∂r < 0\n")
    assert "cell:9:" in captured.outputs[0].data["text/plain"]


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        ({"r": [0.1, 0.5], "loss": [3.0, 2.0]}, ""),
        ({"r": [0.1, "x", 0.5], "L": [3.0, 2.5, 2.0]}, ""),
        ({"r": [0.1, 0.5], "L": [3.0, 2.0]}, ""),
        ({"r": [0.1, 0.5], "L": [3.0, 2.0]}, "--where 'q > 1'"),
        ({"r": [0.1, 0.5], "L": [3.0, 2.0]}, "--objective nothing"),
    ],
)
def test_a_bad_table_is_reported_before_anything_is_proved(shell, frame, options, monkeypatch):
    shell.user_ns["runs"] = pandas.DataFrame(frame)
    monkeypatch.setattr("lawdsl.notebook_magic.check", lambda law: pytest.fail("proofs began"))
    with capture_output() as captured, pytest.raises(UsageError):
        shell.run_cell_magic("law", f"runs {options}", CELL)
    assert captured.outputs == []


@pytest.mark.parametrize("cell", ["%%law --help", "%%law -h\n", "%%law runs --help\n" + CELL])
def test_help_is_printed(shell, cell):
    with capture_output() as captured:
        assert shell.run_cell(cell).success
    assert "Check the law in this cell" in captured.stdout and "--starts" in captured.stdout
    assert captured.outputs == [] and "my_share" not in shell.user_ns


def test_a_mistake_stops_the_notebook(shell):
    with capture_output():
        assert not shell.run_cell("%%law\n" + CELL.replace("b + r", "b + q")).success
        assert shell.run_cell("%%law\n" + CELL).success


def test_html_of_a_text_is_escaped(shell):
    captured = shown(shell, "", CELL.replace("a law of", "<script>alert(1)</script>"))
    pages = "".join(output.data["text/html"] for output in captured.outputs)
    assert "&lt;script&gt;" in pages and "<script>" not in pages


def test_the_line_takes_the_options_of_lawdsl_fit():
    other = {"--output", "-o", "--by", "--threads", "--processes", "--ensemble", "--start"}
    other |= {"--time-limit", "--plot", "--quiet", "--json", "--help"}
    names = {name for each in fit_command.params for name in each.opts if name.startswith("--")}
    text = description()
    assert [name for name in sorted(names - other) if name not in text] == []
