"""Mistakes that are not refused, or that need files of their own; see `fixtures/mistakes` for the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from mistaken_commands import LEAST, exit_of

from lawdsl.core.quantities import UnreadableQuantity, parse_quantities
from lawdsl.language.foreign.latex import from_latex
from lawdsl.runners.sweeps.meant_values import meant_parts, meant_runs

LOSS = (("nat", 1), ("token", -1))
PARAM = (("param", 1),)

MINE = """\
law mine
variable N > 0 unit param
variable D > 0 unit token
parameter E, A, alpha > 0
L = E + A/N^alpha + A/D^alpha unit nat/token
"""
PIPELINE = """\
pipeline large "The largest model from smaller ones"
given     N_target > 0  unit param
step      mixing.size  by r  where phase == "end"  at N = N_target
"""
SHARE = "loss.E=2 loss.C=0.5 loss.gamma=0.5 loss.epsilon=0.05".split()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("mine", MINE), ("least", LEAST), ("large", PIPELINE)):
        (tmp_path / f"{name}.law").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (
            "T=2",
            "warning[F0521]: T=2 is 200 %, in 1 + T\n   --> T=2\n    = help: did you mean T=2%?",
        ),
        ("T=1,2", "did you mean T=1%,2%?"),
        ("T=2%", ""),
        ("T=0.02", ""),
        ("T=200%", ""),
    ],
)
def test_a_tolerance_of_per_cent_without_its_sign_is_asked_about(
    written: str, says: str, here: Path, capsys: pytest.CaptureFixture[str]
):
    _, out, err = exit_of(["solve", "least.law", *SHARE, "L0=2.5", written, "-q"], capsys)
    assert out.startswith("least: ") and "error[" not in err
    assert says in err and ("F0521" in err) == bool(says)


@pytest.mark.parametrize(
    ("text", "unit", "one"),
    [
        ("2,4565", LOSS, "2.4565"),
        ("2,456", LOSS, "2.456"),
        ("0,1234", None, "0.1234"),
        ("7,4565", PARAM, "7.4565"),
        ("2.4,2.5", LOSS, None),
        ("2,3", LOSS, None),
        ("2,4565.0", LOSS, None),
        ("2,300,400", LOSS, None),
        ("7,13", PARAM, None),
        ("8,128", None, None),
        ("64,1024", PARAM, None),
        ("50,1000", PARAM, None),
        ("100,1234", PARAM, None),
    ],
)
def test_two_numbers_that_are_one_with_a_decimal_comma_are_asked_about(
    text: str, unit: tuple[tuple[str, int], ...] | None, one: str | None
):
    if one is None:
        assert len(parse_quantities(text, unit)) == text.count(",") + 1
    else:
        with pytest.raises(UnreadableQuantity, match=f"for one number write {one},"):
            parse_quantities(text, unit)


@pytest.mark.parametrize(
    ("name", "text", "code", "place", "help"),
    [
        ("t.parquet", "N,D,L\n1,2,3\n", "D0101", "t.parquet", "rename it to t.csv"),
        ("t.sqlite", "N,D,L\n1,2,3\n", "D0101", "t.sqlite", "rename it to t.csv"),
        ("t.csv", "N,D [GB],L\n1,2,3\n", "D0112", "t.csv column D", "the header, `D [Gtoken]`"),
        ("t.csv", "N [MiB],D,L\n1,2,3\n", "D0112", "t.csv column N", "the header, `N [Mparam]`"),
    ],
)
def test_a_table_under_another_name_or_in_bytes(
    name: str,
    text: str,
    code: str,
    place: str,
    help: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
):
    (here / name).write_text(text, encoding="utf-8")
    exit_code, _, said = exit_of(["fit", "mine.law", name], capsys)
    assert exit_code == 3 and said.count("error[") == 1
    assert f"error[{code}]" in said and f"--> {place}\n" in said and help in said


def test_a_pipeline_is_fixed_and_read_by_the_same_command(
    here: Path, capsys: pytest.CaptureFixture[str]
):
    law = "law small\nvariable N > 0\nparameter A > 0\nL = A/N\nrequire ∂L/∂N < 0\n"
    (here / "small.law").write_text(law, encoding="utf-8")
    code, out, said = exit_of(["check", "--fix", "large.law"], capsys)
    assert code == 0 and out.startswith("large.law: no mistakes; a pipeline has no claims")
    assert said.startswith("fixed large.law:3:") and "error[" not in said
    code, out, said = exit_of(["check", "--fix", "large.law", "small.law", "-q"], capsys)
    assert code == 0 and out.startswith("large.law: no mistakes; a pipeline") and "PROVED" in out


@pytest.mark.parametrize(
    ("label", "says"),
    [
        ("20k_code=0.1", "did you mean `20k_code=0.1_seed=1`?"),
        ("20k code=0.1", "did you mean `20k_code=0.1_seed=1`?"),
        ("seed=1_code=0.10_20k", "did you mean `20k_code=0.1_seed=1`?"),
        ("20k", 'it names 2 runs: list those that are meant, "20k_code=0.1_seed=1"'),
        ("40k_code=0.1", ""),
        ("", ""),
    ],
)
def test_a_run_without_all_parts_of_its_label(label: str, says: str):
    labels = [f"{model}_code={share}_seed=1" for model in ("20k", "80k") for share in (0.1, 0.3)]
    assert meant_runs(label, labels).startswith(says) and bool(meant_runs(label, labels)) == bool(
        says
    )


@pytest.mark.parametrize(
    ("branches", "steps", "says"),
    [
        ([50, 100, 200], 200, "write branches = [0.25, 0.5, 1]"),
        ([100, 300], 300, 'write branches = ["1/3", 1]'),
        ([50, 75], 200, "[0.25, 0.375] if these are steps, or [0.5, 0.75] if these are per cent"),
        ([25, 100], 100, "write branches = [0.25, 1]"),
        ([25, 100], None, "branches are parts of the steps: write branches = [0.25, 1]"),
        ([500], 200, "such as [0.25, 0.5, 1]"),
        ([0.5, 1], 200, ""),
        (["a"], 200, ""),
    ],
)
def test_branches_as_steps_or_in_per_cent(branches: list[object], steps: int | None, says: str):
    advice = meant_parts(branches, steps)
    assert advice.endswith(says) and bool(advice) == bool(says)


@pytest.mark.parametrize(
    ("latex", "python"),
    [
        (r"E + A N^{-\alpha}", "E + A*N**(-alpha)"),
        (r"$E + \dfrac{A}{N^\alpha}$", "E + A/(N**alpha)"),
        (r"L = \left[\left(\frac{N_c}{N}\right)^{\frac{a}{b}} + \frac{D_c}{D}\right]^{b}",
         "L = ((N_c/N)**(a/b) + D_c/D)**b"),
        (r"L(N, D) = E \cdot \exp(-k D)", "L(N, D) = E*exp(-k*D)"),
        (r"\mathrm{loss} = E_{\text{web}} + \ln N", "loss = E_web + log(N)"),
        (r"\hat{L} + x", None),
        (r"\frac{A}{", None),
        (r"\sum_i x", None),
        ("{" * 100 + "}" * 100, None),
        ("^{2}", None),
        ("N^{12}", "N**12"),
        ("N^12", None),
        (r"\frac12 E", None),
        (r"\sqrt[3]{N}", None),
        ("1.5e3 N", None),
        (r"\ln" * 600 + " x", None),
    ],
)  # fmt: skip
def test_formulas_in_latex(latex: str, python: str | None):
    assert from_latex(latex) == python
