"""What the messages of a fit advise agrees with what was done."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import lawdsl
from lawdsl.fitting.diagnostics.diagnose import agreement_findings


def test_more_starts_are_advised_than_were_made():
    (few,), (many,) = agreement_findings(100, 2), agreement_findings(1536, 2)

    assert few.help == "ask for more: --starts 400"
    assert "--start NAME=VALUE" in (many.help or "") and "--starts" not in (many.help or "")


def test_one_setting_is_singular(tmp_path: Path):
    path = tmp_path / "line.law"
    path.write_text("law line\nvariable x\nparameter a, b\ny = a + b*x\nminimize squared(y)\n")
    y = np.random.default_rng(0).normal(size=8)
    fit = lawdsl.fit(lawdsl.load(str(path)), {"x": np.full(8, 2.0), "y": y})
    (said,) = [d.message for d in fit.diagnostics if d.code == "F0102"]

    assert said == "1 setting of the variables, 2 parameters: no setting is left to test the law"
