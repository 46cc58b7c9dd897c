"""`lawdsl trends`, and trends in real measurements."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import commands
import pytest
from trend_cases import Columns, claim, counts, cpt, law, rising

import lawdsl
from lawdsl.reporting.terminal import console
from lawdsl.reporting.trends import show_trends

# ---- the command


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return commands.run("trends", *arguments)


def written(table: Columns, folder: Path) -> Path:
    path = folder / "runs.csv"
    rows = zip(*table.values(), strict=True)
    lines = [",".join(table), *(",".join(map(repr, map(float, row))) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_command_exits_with_1_where_the_table_contradicts_a_claim(tmp_path: Path):
    path = written(rising(cpt(0.005, 3)), tmp_path)
    done, inside = command("dcpt.l3", path), command("dcpt.l3", path, "--where", "r > 0.2")

    assert (done.returncode, inside.returncode) == (1, 0)
    assert "32 beyond chance" in done.stdout and "runs identified by: seed" in done.stdout
    assert "error[F0301]: the table contradicts ∂L/∂D < 0" in done.stderr


def test_the_document_has_the_stable_keys(tmp_path: Path):
    path = written(rising(cpt(0.005, 3)), tmp_path)
    content = json.loads(command("dcpt.l3", path, "--json").stdout)
    result = content["result"]

    assert not content["ok"] and [d["code"] for d in content["diagnostics"]] == ["F0301"]
    keys = "law digest data data_digest rows dropped where columns held by unit trends ok"
    assert set(result) == set(keys.split())
    keys = "claim expect verdict why series split inflection"
    assert all(set(trend) == set(keys.split()) for trend in result["trends"])
    assert result["trends"][1]["split"]["parts"]["0"] == [[16, 16], [4, 4]]
    assert result["trends"][1]["series"][0]["ranges"][0]["above"] == 0.25


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"se": "nothing"}, "D0104"),
        ({"run": "nothing"}, "D0104"),
        ({"by": "nothing"}, "D0104"),
        ({"x": "r"}, "D0116"),
        ({"where": "q > 1"}, "D0115"),
        ({"settings": {"d": 1.0}}, "L0301"),
    ],
)
def test_what_cannot_be_done_is_refused(options: dict[str, Any], code: str):
    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.trends("dcpt.l3", cpt(), **options)

    assert [d.code for d in error.value.diagnostics] == [code]


def test_every_kind_of_result_can_be_shown(capsys: pytest.CaptureFixture[str]):
    denied = law("∂L/∂r < 0  expect refuted", "∂L/∂N < 0 for r > 2")
    turned = {**cpt(), "L": 6 - cpt()["L"]}
    show_trends(lawdsl.trends(denied, turned), console())
    show_trends(lawdsl.trends(law("L finite"), turned), console())
    shown = capsys.readouterr().out

    assert "contradicted, as expected" in shown
    assert "nothing to compare: no row meets its condition" in shown
    assert "how much of a difference is noise is not known" in shown


# ---- real measurements


def test_the_general_loss_of_small_models_rises_with_d_up_to_a_share(shared_data: Path):
    """Continual pre-training of models of 0.2M to 3M parameters: an inflection ratio."""
    found = lawdsl.trends(
        "dcpt.l3",
        shared_data / "cpt_mini" / "runs.csv",
        where="step > 0",
        N="n_nonemb",
        D="tokens",
        L="loss_general",
        r="r_general",
    )
    far = claim(found, "∂L/∂D < 0").series[1]

    assert counts(far) == (13, 8, 0, 5)
    assert (far.ranges[0].text, far.ranges[0].above) == ("r <= 0.2", 0.5)
    assert [claim(found, f"∂L/∂{x} < 0").series[0].against for x in "Nr"] == [0, 0]
