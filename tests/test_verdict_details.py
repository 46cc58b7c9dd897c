"""What is said beside a verdict is as certain as the verdict: `never`, faces, values, conditions,
the seconds; and a setting is a finite number."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
import sympy as sp
from judging import law_of
from proving import decide

import lawdsl
from lawdsl.cli import main
from lawdsl.compiling.interval_evaluation import certain_text
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.proof import Verdict

ANY = "index j over training\n"
THREE = "index j over {a, b, c}\n"


def claimed(law: str, claim: str, **options: float) -> Verdict:
    (found,) = lawdsl.check(law_of(f"law test\n{law}\nrequire {claim}\n"), **options).claims
    return found


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    """Exit code, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return left.value.code, *capsys.readouterr()


NEVER = [
    # law, claim, verdict, whether it holds nowhere
    (ANY + "variable x[j] > 1\nL = prod(x[j] for j)", "L > x[a]*x[b]", "refuted", False),
    (THREE + "variable x[j] > 1\nL = prod(x[j] for j)", "L > x[a]*x[b]", "proved", False),
    (THREE + "variable x[j] > 1\nL = prod(x[j] for j)", "L < x[a]*x[b]", "refuted", True),
    (ANY + "variable x[j] > 0\nL = sum(x[j] for j)", "L > x[a] + x[b]", "refuted", False),
    (ANY + "variable x[j] > 0\nL = sum(x[j] for j)", "L < x[a]", "refuted", True),
    (ANY + "variable x[j] > 0\nL = sum(x[j] for j)", "L < 0", "refuted", True),
    (ANY + "variable x[j] > 0\nL = sum(x[j] for j)", "L decreasing in x[a]", "refuted", True),
    ("index j over 1..3\nvariable x[j] > 0\nL = sum(x[j] for j)", "L > x[a] + x[b]", "proved", False),
    ("index j over 1..2\nvariable x[j] > 0\nL = sum(x[j] for j)", "L > x[a] + x[b]", "refuted", True),
    # it holds at one choice of labels and not at another
    ("index j over {a, b}\nvariable x[j] > 1\nL = x[a] - x[b]", "L + x[k] > x[a]", "refuted", False),
]  # fmt: skip


@pytest.mark.parametrize(("law", "claim", "verdict", "never"), NEVER)
def test_never_is_said_of_every_size_and_every_label(
    law: str, claim: str, verdict: str, never: bool
):
    found = claimed(law, claim, seconds=5)

    assert (found.verdict, found.never) == (verdict, never), found


def test_what_holds_for_the_fewest_labels_alone_is_said_of_them():
    found = claimed(ANY + "variable x[j] > 1\nL = prod(x[j] for j)", "L > x[a]*x[b]")

    assert found.value == "L - x[a]*x[b] is 0 everywhere, with no more labels than those named"


SHARES = ANY + "variable r[j] in simplex\nparameter k[j] > 0, m[j] >= 0\n"
FACES = [
    # law, claim, verdict, face
    (SHARES + "L = sum(k[j]*r[j] for j)", "L > 0", "proved", None),
    (SHARES + "L = sum(k[j]*r[j]^2 for j)", "L > 0", "proved", None),
    (SHARES + "L = -sum(k[j]*r[j] for j)", "L < 0", "proved", None),
    (SHARES + "L = sum(r[j]*exp(-k[j]) for j)", "L > 0", "proved", None),
    (SHARES + "L = sum(m[j]*r[j] for j)", "L > 0", "refuted", None),  # m = 0 at every label
    (
        SHARES + "L = sum(k[j]*r[j] for j)",
        "L > k[a]*r[a]",
        "inside",
        "sum(k[j]*r[j] for other j) = 0",
    ),
    (
        THREE + "variable r[j] in simplex\nL = r[a] + r[b] + r[c]",
        "r[k] > 0",
        "inside",
        "r[a] = 0 or r[b] = 0 or r[c] = 0",
    ),
]


@pytest.mark.parametrize(("law", "claim", "verdict", "face"), FACES)
def test_a_face_of_equality_has_points(law: str, claim: str, verdict: str, face: str | None):
    found = claimed(law, claim, seconds=5)

    assert (found.verdict, found.face) == (verdict, face), found


def test_a_condition_is_that_of_every_label():
    found = claimed(
        THREE + "variable x[j] > 0\nparameter k[j] > 0\nL = sum(k[j]*x[j] for j)", "k[i] < 1"
    )

    assert found.verdict == "conditional"
    assert found.condition == "k[a] < 1 and k[b] < 1 and k[c] < 1"


VALUES = [
    # law, claim, the sign that the value beside the witness has
    ("variable x in [1, 2]\nL = x*(exp(pi*sqrt(163)) - 262537412640768743)", "L < 0", 1),
    ("variable x in [1, 2]\nL = x*(exp(pi*sqrt(163)) - 262537412640768744)", "L > 0", -1),
    ("variable x in [1, 2]\nL = (1 + 1e-18*x) - 1", "L < 0", 1),
    ("variable x > 0\nL = sqrt(x + 1) - sqrt(x)", "L < 0", 1),
    ("variable x in [1, 2]\nL = x - x*(1 + 1e-17)", "L increasing in x", -1),
]


@pytest.mark.parametrize(("law", "claim", "sign"), VALUES)
def test_the_value_beside_a_witness_has_the_sign_that_refutes(law: str, claim: str, sign: int):
    found = decide(law, claim)

    assert found.verdict == "refuted" and found.value is not None
    assert mpmath.sign(mpmath.mpf(found.value.rpartition("= ")[2])) == sign


DIGITS = [
    ("x", 0, "= 0"),
    ("x/3", 1, "= 0.3333"),
    ("1000*x", 1, "= 1000"),
    ("123456*x", -1, "= -1.235e+05"),
    ("exp(x)", 10**5, "= 2.807e+43429"),
    ("-exp(-x)", 10**6, "= -3.297e-434295"),
    ("exp(pi*sqrt(163)) - 262537412640768744 + 0*x", 1, "= -7.499e-13"),
    ("sin(x)**2 + cos(x)**2 - 1", 1, "is not known to any digit"),
    ("2 + x*10**(-400) - 2", 1, "= 1e-400"),
]


@pytest.mark.parametrize(("formula", "at", "shown"), DIGITS)
def test_digits_that_are_shown_are_certain(formula: str, at: int, shown: str):
    x = sp.Symbol("x")
    e = sp.sympify(formula, locals={"x": x})

    assert certain_text(compile_tape([e], [x]), [Fraction(at)], 4) == shown


EASY = [
    # refuted where two variables are equal, or in one order of them
    ("variable x1, x2, y1, y2 in [1, 5]\nL = sqrt((x2 - x1)^2 + (y2 - y1)^2)", "L > 0"),
    ("variable x1, x2, y1, y2 in [1, 5]\nL = sqrt((x2 - x1)^2 + (y2 - y1)^2)", "∂L/∂x1 > 0"),
    ("variable x, y, z in [-3, 7]\nL = abs(x - y) + abs(y - z)", "L > 0"),
    ("variable x, y, z > 2\nL = (x - y)^2 + (y - z)^2 + sin(x*y*z)^2*(x - y)^2", "L > 0"),
    ("variable x, y > 0\nL = max(x, y) - min(x, y)", "L > 0"),
]


@pytest.mark.parametrize(("law", "claim"), EASY)
def test_an_easy_counter_example_comes_before_a_long_search(law: str, claim: str):
    found = decide(law, claim, seconds=1.0)

    assert found.verdict == "refuted" and found.witness, found


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999"])
@pytest.mark.parametrize("command", ["check", "fit", "trends", "compare"])
def test_a_setting_is_a_finite_number(command: str, value: str, tmp_path: Path, capsys):
    law = tmp_path / "line.law"
    law.write_text("law line\nsetting s = 0.1\nvariable x > 0\nparameter a > 0\nL = a*x + s\n")
    (tmp_path / "runs.csv").write_text("x,L\n" + "".join(f"{i},{2 * i + 0.1}\n" for i in range(9)))
    table = [] if command == "check" else [str(tmp_path / "runs.csv")]

    code, _, errors = run([command, str(law), *table, "--set", f"s={value}"], capsys)

    assert code == 3
    assert "error[L0111]: the setting `s` cannot be" in errors


def test_values_in_python_are_finite_numbers():
    law = lawdsl.load("dcpt.l3")

    for attempt in (
        lambda: law.with_settings(D_min=float("nan")),
        lambda: law.at(E=float("inf")),
        lambda: lawdsl.check(law, values={"E": float("nan")}),
    ):
        with pytest.raises(LawdslError, match="L0111"):
            attempt()


# ---- time


MANY = """\
index i over 1..60
index j over 1..60
variable r[j] in simplex
parameter c[i] > 0, k[i] > 0, t[i, j], s[i] in simplex
L = sum(s[i]*(c[i] + k[i]*exp(sum(t[i, j]*r[j] for j))) for i)"""
HARD = "variable N > 0\nlet a0 = N\n" + "\n".join(f"let a{i + 1} = sin(a{i}) + a{i}" for i in range(10))  # fmt: skip
SLOW = [
    (MANY, "L decreasing in r[a] against r[b]"),
    (HARD + "\nL = a10", "L > N*cos(a9)^2 - 1"),
    ("variable x1, x2, x3, x4 in [1, 5]\nL = sqrt((x2 - x1)^2 + (x4 - x3)^2 + 1)", "L - x1/9 > 0.1"),
]  # fmt: skip


@pytest.mark.parametrize(("law", "claim"), SLOW)
def test_the_time_of_a_claim_is_all_its_time_and_within_the_limit(law: str, claim: str):
    read = law_of(f"law test\n{law}\nrequire {claim}\n")
    began = time.process_time()
    found = lawdsl.check(read, seconds=0.5)
    took = time.process_time() - began
    (verdict,) = found.claims

    assert verdict.seconds <= 0.75  # a step of the algebra is not interrupted
    assert found.warning_seconds <= 0.75  # a step of the algebra is not interrupted
    assert found.seconds == pytest.approx(took, abs=0.2)
    assert verdict.seconds + found.warning_seconds == pytest.approx(found.seconds, abs=0.2)


def test_a_total_bounds_all_claims_of_a_law():
    claims = "".join(f"require a10 + {i} > 0\n" for i in range(12))
    law = law_of(f"law test\n{HARD}\nL = a10\n{claims}")
    began = time.process_time()
    found = lawdsl.check(law, seconds=0.3, total=0.8)

    assert time.process_time() - began < 1.1
    assert [v.claim for v in found.claims] == [f"a10 + {i} > 0" for i in range(12)]
    reason = "the 0.8 s for all claims of a law are used up (--total-time-limit)"
    late = [v for v in found.claims if v.blame == f"not reached: {reason}"]
    assert len(late) >= 8 and all(v.verdict == "undecided" and v.seconds == 0 for v in late)


def test_the_total_is_an_option_and_long_formulas_are_shortened(tmp_path: Path, capsys):
    path = tmp_path / "many.law"
    claims = "".join(f"require a10 + {i} > 0\n" for i in range(9))
    path.write_text(f"law many\n{HARD}\nL = a10\n{claims}require ∂L/∂N > -1\n")
    options = [str(path), "--time-limit", "0.2", "--total-time-limit", "0.3"]

    code, output, _ = run(["check", *options], capsys)
    assert code == 1
    assert "not reached: the 0.3 s for all claims of a law are used up" in output
    assert max(map(len, output.splitlines())) < 600

    read = json.loads(run(["check", *options, "--json"], capsys)[1])["result"]
    assert {c["verdict"] for c in read["claims"]} <= {"undecided", "proved", "refuted"}
    assert read["laws"][0]["seconds"] >= read["laws"][0]["warning_seconds"] >= 0
