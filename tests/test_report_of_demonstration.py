"""Reports of the demonstration, and of a law in a file of the user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from test_reports import QUICK, Page, chinchilla_runs

import lawdsl
from lawdsl.reporting.report.commands import fit_command
from lawdsl.reporting.report.entries import entries_of


@pytest.mark.slow
def test_the_demonstration_writes_its_report_where_it_is_told(tmp_path: Path):
    made = run("demo", "--report", "demo.html", "--json", cwd=tmp_path)
    document = json.loads(made.stdout)
    assert set(document) == {"schema", "ok", "command", "result", "diagnostics"}
    assert made.returncode == 0 and document["command"] == "demo"
    assert document["result"]["report"] == "demo.html"
    page = Page((tmp_path / "demo.html").read_text(encoding="utf-8"))
    assert "share of domain data" in page.text and len(page.all("img")) > 4


def test_the_report_of_the_demonstration_is_a_page(tmp_path: Path):
    refused = run("demo", "--report", "demo.pdf", cwd=tmp_path)
    assert refused.returncode == 3 and "G0121" in refused.stderr and not refused.stdout


def test_the_command_of_a_fit_names_the_file_of_a_law_that_does_not_ship(tmp_path: Path):
    runs = chinchilla_runs()
    own = tmp_path / "own.law"
    own.write_text(
        "law own\nvariable N, D > 0\nparameter E, A, B, alpha, beta > 0\n"
        "L = E + A/N^alpha + B/D^beta\n"
    )
    fits = [lawdsl.fit(law, runs, **QUICK) for law in ("chinchilla", own)]
    shipped, from_file = map(fit_command, entries_of(fits))
    assert shipped.startswith("lawdsl fit chinchilla ")
    assert from_file.startswith("lawdsl fit own.law ")
    page = fits[1].report(tmp_path / "report.md", fits[0]).read_text(encoding="utf-8")
    assert "own.law\\` does not ship" in page
