"""The notebooks of docs/notebooks run, and show every public record: `pytest -m slow tests/test_notebooks.py`.

They need `pip install -e '.[notebooks]'`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lawdsl
from lawdsl.reporting.documents.document_of import DOCUMENTS

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
VEGA = re.compile(r"application/vnd\.vegalite\.v\d")


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path):
    cells = code_cells(json.loads(path.read_text(encoding="utf-8")))
    assert cells and not any(cell["outputs"] or cell["execution_count"] for cell in cells)


def test_there_are_three():
    assert len(NOTEBOOKS) == 3


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_tables_and_figures(path: Path, tmp_path: Path):
    cells = executed(path, tmp_path)
    shown = [bundle_of(cell) for cell in cells[1:]]
    assert all(shown), "every cell but the first shows something"
    assert any("<table" in "".join(bundle.get("text/html", "")) for bundle in shown)
    plots = [cell for cell in cells if ".plot(" in "".join(cell["source"])]
    for cell in plots:
        assert any(VEGA.match(kind) for kind in bundle_of(cell))
        assert "<svg" in "".join(bundle_of(cell)["image/svg+xml"])
        assert "http://" not in "".join(bundle_of(cell).get("text/html", ""))


@pytest.mark.slow
def test_the_notebooks_show_every_public_record(tmp_path: Path):
    reprs = ""
    for path in NOTEBOOKS:
        for cell in executed(path, tmp_path):
            if 'class="lawdsl' in "".join(bundle_of(cell).get("text/html", "")):
                reprs += "".join(bundle_of(cell)["text/plain"]) + "\n"
    shown = {name for name in DOCUMENTS if re.search(rf"(?:<|^|[>)]|\b){name}\b[ (]", reprs)}
    # several laws with index sets are compared by label: the same tables as a comparison. A plan is
    # made of corpora on disk by `lawdsl run`, and by no function of `lawdsl`
    assert shown >= set(DOCUMENTS) - {"Comparisons", "Plan"}
    assert not hasattr(lawdsl, "plan") and not hasattr(lawdsl, "Plan")


def executed(path: Path, folder: Path) -> list[dict[str, Any]]:
    """The code cells of a notebook after nbconvert has run it in a folder of its own."""
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute"]
    copy = folder / path.name
    copy.write_bytes(path.read_bytes())
    done = subprocess.run([*command, "--inplace", str(copy)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return code_cells(json.loads(copy.read_text(encoding="utf-8")))


def bundle_of(cell: dict[str, Any]) -> dict[str, Any]:
    """What a cell shows last, by kind of content."""
    kinds = ("execute_result", "display_data")
    results = [out for out in cell["outputs"] if out["output_type"] in kinds]
    return dict(results[-1]["data"]) if results else {}
