"""The command line keeps its contract: exit codes, one JSON document, data and messages apart."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import commands
import pytest

from lawdsl.language.library import shipped

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "laws" / "data" / "c4_share.csv"

LAW = """law mine "Mine"
source    "nowhere"
variable  r in [0, 1]
parameter E, C, gamma, epsilon > 0
L = E + C/(r + epsilon)^gamma
require   ∂L/∂r {relation} 0
minimize  squared(L)
"""


def lawdsl(*arguments: object, cwd: Path, stdin: str = "", **environment: str):
    """Run the command as a user would; stdout, stderr and exit code."""
    return commands.run(*arguments, cwd=cwd, stdin=stdin, environment=environment)


@pytest.fixture
def law(tmp_path: Path) -> Path:
    path = tmp_path / "mine.law"
    path.write_text(LAW.format(relation="<"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fitted")
    done = lawdsl("fit", "dcpt.share", TABLE, "-o", "fit.json", "--starts", 4, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "fit.json"


def document(done: subprocess.CompletedProcess[str]) -> dict:
    content = json.loads(done.stdout)
    assert set(content) == {"schema", "ok", "command", "result", "diagnostics"}
    return content


def test_a_law_whose_claims_hold_exits_with_0(law: Path, tmp_path: Path):
    done = lawdsl("check", law, cwd=tmp_path)
    assert done.returncode == 0
    assert "PROVED" in done.stdout and done.stderr == ""


def test_a_claim_that_fails_exits_with_1_and_shows_the_point(law: Path, tmp_path: Path):
    law.write_text(LAW.format(relation=">"), encoding="utf-8")
    done = lawdsl("check", law, cwd=tmp_path)
    assert done.returncode == 1
    assert (
        "REFUTED" in done.stdout and "expected: proved" in done.stdout and "at C = " in done.stdout
    )


def test_check_json_has_the_stable_keys(law: Path, tmp_path: Path):
    content = document(lawdsl("check", "dcpt.l5", law, "--json", cwd=tmp_path))
    claims = content["result"]["claims"]
    assert content["ok"] and len(claims) == 7
    verdicts = {c["verdict"]: c for c in claims}
    assert verdicts["proved"]["proof"]
    assert verdicts["conditional"]["condition"] == "sigma < D_min"
    assert verdicts["refuted"]["witness"]
    assert {"law", "claim", "verdict", "expect", "ok"} <= set(claims[0])


def test_fit_json_has_the_stable_keys(tmp_path: Path):
    content = document(lawdsl("fit", "dcpt.share", TABLE, "--json", "--starts", 4, cwd=tmp_path))
    result = content["result"]
    assert content["ok"] and content["command"] == "fit"
    assert result["parameters"]["E"]["value"] == pytest.approx(2.3114, abs=1e-4)
    assert set(result["objective"]) >= {"name", "sum", "mean"}
    assert set(result["metrics"]) == {"r2", "r2_log", "mae"}
    assert result["agreement"]["starts"] == 4 and result["agreement"]["agreed"] >= 1
    assert result["verdict"] == "trusted"


@pytest.mark.parametrize(
    "arguments",
    [
        ("laws",),
        ("show", "dcpt.l3"),
        ("check", "chinchilla", "--syntax"),
        ("fmt", ROOT / "laws" / "kaplan.law", "--check"),
        ("explain", "L0301"),
    ],
    ids=lambda a: str(a[0]),
)
def test_every_command_prints_one_json_document(arguments: tuple, tmp_path: Path):
    done = lawdsl(*arguments, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert document(done)["command"] == arguments[0]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("fit", "chinchilla", "nowhere.csv"), 3, "D0101"),
        (("check", "nothing"), 3, "L0310"),
        (("check",), 2, "C0001"),
        (("fit", "dcpt.share", TABLE, "L"), 2, "C0001"),
        (("fit", "dcpt.share", TABLE, "--set", "D_min=1"), 3, "L0301"),
        (("fit", "dcpt.share", TABLE, "--starts", "many"), 3, "F0106"),
        (("fit", "dcpt.share", TABLE, "--starts", "²"), 3, "F0106"),
        (("fit", "dcpt.share", TABLE, "--starts", "9" * 5000), 3, "F0106"),
        (("fit", "dcpt.share", TABLE, "-o", "no/such/folder.json"), 3, "L0313"),
        (("predict", TABLE, "r=1"), 2, "C0007"),
        (("explain", "L9999"), 2, "C0001"),
        (("nonsense",), 2, "C0001"),
    ],
    ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, tuple) else str(value),
)
def test_errors_have_a_code_and_are_json_too(arguments, code, message, tmp_path: Path):
    done = lawdsl(*arguments, cwd=tmp_path)
    assert done.returncode == code and done.stdout == "" and "Traceback" not in done.stderr
    content = document(done_json := lawdsl(*arguments, "--json", cwd=tmp_path))
    assert done_json.returncode == code
    assert not content["ok"] and content["result"] is None
    assert content["diagnostics"][0]["code"] == message


def test_a_fit_that_is_not_trusted_exits_with_1_and_is_kept(tmp_path: Path):
    table = tmp_path / "flat.csv"
    rows = [f"1e9,{d}e9,{2 + 30 * (d * 1e9) ** -0.3:.6f}" for d in range(1, 20)]
    table.write_text("N,D,L\n" + "\n".join(rows), encoding="utf-8")
    done = lawdsl("fit", "chinchilla", table, "-o", "fit.json", "--starts", 4, cwd=tmp_path)
    assert done.returncode == 1
    assert "not trusted" in done.stdout and "F0101" in done.stderr
    assert "N has one value" in done.stderr
    assert (tmp_path / "fit.json").is_file()


PRODUCT = "law product\nvariable x > 0\nparameter a, b > 0\nL = a*b*x\nrequire L finite\n"


def test_parameters_that_no_data_tell_apart_are_named_with_every_look_at_the_law(tmp_path: Path):
    (tmp_path / "product.law").write_text(PRODUCT, encoding="utf-8")
    (tmp_path / "runs.csv").write_text(
        "x,L\n1,2.003\n2,4.127\n3,5.911\n4,8.046\n5,9.97\n6,12.02\n", encoding="utf-8"
    )
    made = lawdsl("fit", "product.law", "runs.csv", "-o", "fit.json", cwd=tmp_path)
    assert made.returncode == 1 and made.stderr.count("F0114") == 1
    kept = document(lawdsl("fit", "product.law", "runs.csv", "--json", cwd=tmp_path))
    assert [(d["code"], d["severity"]) for d in kept["diagnostics"]] == [("F0114", "error")]
    for command, code in (("check", 0), ("show", 0)):
        done = lawdsl(command, "product.law", cwd=tmp_path)
        assert done.returncode == code and done.stderr.count("warning[F0114]") == 1
    shown = document(lawdsl("show", "product.law", "--json", cwd=tmp_path))
    assert shown["result"]["symmetries"][0]["transformation"] == "a -> s*a, b -> b/s"
    assert "F0114" not in lawdsl("check", "--fit", "fit.json", cwd=tmp_path).stderr


def test_predict_takes_lists_units_and_tables(fitted: Path, tmp_path: Path):
    grid = document(lawdsl("predict", fitted, "r=0.25,0.5,1", "--json", cwd=tmp_path))
    assert len(grid["result"]["predictions"]) == 3
    done = lawdsl("predict", fitted, TABLE, "--no-intervals", "-o", "out.csv", cwd=tmp_path)
    assert done.returncode == 0
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "r,L,L predicted" and len(lines) == 11


def test_predict_warns_outside_the_fitted_range_and_refuses_outside_the_domain(
    fitted: Path, tmp_path: Path
):
    outside = lawdsl("predict", fitted, "r=0.01", cwd=tmp_path)
    assert outside.returncode == 0 and "F0109" in outside.stderr
    refused = lawdsl("predict", fitted, "r=1.5", cwd=tmp_path)
    assert refused.returncode == 3 and "D0108" in refused.stderr


def test_predict_says_which_value_is_missing(fitted: Path, tmp_path: Path):
    done = lawdsl("predict", fitted, "q=1", cwd=tmp_path)
    assert done.returncode == 2 and "no variable 'q'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("predict", "FIT", "r=0.2", "r=0.3"),
            "r is given twice, r=0.2 and r=0.3: several values are r=0.2,0.3",
        ),
        (("predict", "FIT", TABLE, "r=r", "r = r"), "r is given twice, r=r and r = r"),
        (("fit", "share", TABLE, "L=L", "L=r"), "L is given twice"),
        (("fit", "share", TABLE, "--fix", "E=1", "--fix", "E=2"), "E is given twice"),
        (("fit", "share", TABLE, "--tie", "E=C", "--tie", "E=gamma"), "E is given twice"),
        (("compare", "share", TABLE, "L=L", "L=r"), "L is given twice"),
        (("plot", "FIT", "times=3", "times=4"), "times is given twice"),
        (("export", "FIT", "--to", "latex", "--set", "a=1", "--set", "a=2"), "a is given twice"),
    ],
)
def test_a_name_that_is_given_twice_is_an_error(
    arguments: tuple[str, ...], told: str, fitted: Path, tmp_path: Path
):
    done = lawdsl(*(fitted if a == "FIT" else a for a in arguments), cwd=tmp_path)
    assert done.returncode == 2 and told in done.stderr


def test_fmt_rewrites_checks_and_shows_differences(tmp_path: Path):
    path = tmp_path / "a.law"
    path.write_text("law a\nvariable x>0 # why\nparameter A\nL=A*x", encoding="utf-8")
    shown = lawdsl("fmt", path, "--diff", cwd=tmp_path)
    assert shown.returncode == 1 and "+L = A*x" in shown.stdout
    assert lawdsl("fmt", path, "--check", cwd=tmp_path).returncode == 1
    assert lawdsl("fmt", path, cwd=tmp_path).returncode == 0
    assert "variable  x > 0  # why" in path.read_text(encoding="utf-8")
    assert lawdsl("fmt", path, "--check", cwd=tmp_path).returncode == 0
    piped = lawdsl("fmt", "-", cwd=tmp_path, stdin="L=A*x\n")
    assert piped.stdout == "L = A*x\n"


def test_laws_with_index_sets_are_formatted_and_read(tmp_path: Path):
    path = ROOT / "tests" / "fixtures" / "indices" / "mixing_m4.law"

    assert lawdsl("fmt", path, "--check", cwd=tmp_path).returncode == 0
    assert lawdsl("check", path, "--syntax", cwd=tmp_path).returncode == 0
    assert lawdsl("check", path, cwd=tmp_path).returncode == 0
    assert "∂L/∂c[i] = 1" in lawdsl("show", path, cwd=tmp_path).stdout


def test_fmt_leaves_a_file_with_mistakes_alone(tmp_path: Path):
    path = tmp_path / "a.law"
    path.write_text("law a\nL = 2x\n", encoding="utf-8")
    done = lawdsl("fmt", path, cwd=tmp_path)
    assert done.returncode == 3 and "L0203" in done.stderr
    assert path.read_text(encoding="utf-8") == "law a\nL = 2x\n"


def test_new_writes_a_law_that_checks_and_never_overwrites(tmp_path: Path):
    assert lawdsl("new", "my_law", cwd=tmp_path).returncode == 0
    assert lawdsl("check", "my_law.law", cwd=tmp_path).returncode == 0
    assert lawdsl("fmt", "--check", "my_law.law", cwd=tmp_path).returncode == 0
    before = (tmp_path / "my_law.law").read_text(encoding="utf-8")
    again = lawdsl("new", "my_law", cwd=tmp_path)
    assert again.returncode == 3 and "L0313" in again.stderr
    assert (tmp_path / "my_law.law").read_text(encoding="utf-8") == before
    assert lawdsl("new", "1bad name", cwd=tmp_path).returncode == 3


def test_new_copies_a_law_a_question_or_a_pipeline(tmp_path: Path):
    for name, original in (
        ("l", "dcpt.cross_k1"),
        ("q", "mixing.best"),
        ("p", "cmr.critical"),
        ("l2", "l.law"),
    ):
        assert lawdsl("new", name, "--like", original, cwd=tmp_path).returncode == 0
    assert lawdsl("check", "l.law", cwd=tmp_path).returncode == 0
    first, *others = (tmp_path / "l2.law").read_text(encoding="utf-8").splitlines()
    assert first.startswith("law l2 ")
    assert others == shipped()["dcpt.cross_k1"].read_text(encoding="utf-8").splitlines()[1:]
    (tmp_path / "nameless.law").write_text("variable N > 0\n", encoding="utf-8")
    for like, code in (("nosuch", "L0310"), ("nameless.law", "L0401")):
        done = lawdsl("new", "other", "--like", like, cwd=tmp_path)
        assert done.returncode == 3 and code in done.stderr


def test_show_prints_derivatives_and_latex(tmp_path: Path):
    shown = lawdsl("show", "dcpt.l3", cwd=tmp_path).stdout
    assert "∂L/∂D = -B*beta*r^eta/D^(beta + 1)" in shown and "D-CPT Law" in shown
    assert lawdsl("show", "chinchilla", "--latex", cwd=tmp_path).stdout.startswith("L = ")


def test_a_setting_and_a_dropped_bound_change_the_law(tmp_path: Path):
    done = lawdsl("check", "dcpt.l3", "--without", "C > C0", "-q", cwd=tmp_path)
    assert done.returncode == 1 and "CONDITIONAL      ∂L/∂r < 0" in done.stdout
    assert lawdsl("check", "dcpt.l3", "--set", "D_min=1.84", "-q", cwd=tmp_path).returncode == 0


def test_output_is_plain_where_it_is_piped_or_colour_is_unwanted(tmp_path: Path):
    assert "\x1b" not in lawdsl("check", "chinchilla", cwd=tmp_path).stdout
    assert "\x1b" not in lawdsl("laws", cwd=tmp_path, NO_COLOR="1").stdout


def test_an_escape_in_a_file_does_not_reach_the_terminal(tmp_path: Path):
    path = tmp_path / "a.law"
    path.write_text('law a "\x1b[31mred"\nvariable x > 0\nL = x + \x1b\n', encoding="utf-8")
    for arguments in (("check", path), ("show", path)):
        done = lawdsl(*arguments, cwd=tmp_path)
        assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_with_its_code(number: int, code: int, tmp_path: Path):
    table = tmp_path / "long.csv"
    rows = [f"{n}e8,{d}e9,{2 + n**-0.3 + d**-0.2}" for n in range(1, 60) for d in range(1, 60)]
    table.write_text("N,D,L\n" + "\n".join(rows), encoding="utf-8")
    program = (
        "import sys, lawdsl.cli, lawdsl.fitting.fit; print('ready', flush=True); "
        "lawdsl.cli.main(sys.argv[1:])"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", program, "fit", "chinchilla", str(table), "--starts", "5000"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout.readline() == "ready\n"
    time.sleep(0.5)
    running.send_signal(number)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == code and "Traceback" not in errors


def test_a_fault_of_the_tool_leaves_a_report_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys, tmp_path: Path
):
    from lawdsl import cli
    from lawdsl.language import library

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(library, "_shipped", lambda kind: 1 / 0)
    with pytest.raises(SystemExit) as left:
        cli.main(["check", "chinchilla"])
    assert left.value.code == 5
    errors = capsys.readouterr().err
    assert "C0005" in errors and "Traceback" not in errors
    (report,) = tmp_path.glob("lawdsl-fault-*.txt")
    assert "ZeroDivisionError" in report.read_text(encoding="utf-8")
