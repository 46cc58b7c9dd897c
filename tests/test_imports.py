"""Formulas of programs and of SymPy become the laws that a person would write."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp
import torch
from commands import run
from exports import module
from fixtures.imports.formulas import FORMULAS, Written
from planted import law_of

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.language.foreign.formula import LIBRARIES, REWRITINGS, read_foreign_formula
from lawdsl.language.new_law import chosen_variables, law_text
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_formula
from lawdsl.law.law import Law


class Positive(SimpleNamespace):
    """Symbols above 0, by their names."""

    def __getattr__(self, name: str) -> sp.Symbol:
        return sp.Symbol(name, positive=True)


def tree_of(formula: str) -> Any:
    (statement,) = parse(f"L = {formula}")[0].statements
    return statement.formula


def law_with(written: Written, formula: str) -> Law:
    """The law of a formula, every name above 0."""
    names = read_foreign_formula(formula).names
    variables = [f"variable {name} > 0" for name in names if name in written.variables]
    parameters = [f"parameter {name} > 0" for name in names if name not in written.variables]
    return law_of("\n".join([*variables, *parameters, f"L = {formula}"]))


def plain(law: Law) -> sp.Expr:
    """The formula in symbols that differ by their names alone."""
    return law.expression.xreplace({s: sp.Symbol(s.name) for s in law.expression.free_symbols})


# ---- published formulas, three times


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_of_a_program_is_the_law_that_is_written_by_hand(name: str):
    written = FORMULAS[name]
    read = read_foreign_formula(written.python)
    by_hand = law_with(written, written.law)
    assert law_with(written, print_formula(read.formula)).expression == by_hand.expression
    chosen = chosen_variables(read.names, [f"{each} > 0" for each in written.variables])
    parameters = {each: "> 0" for each in read.names if each not in chosen}
    imported = law_of(
        "\n".join(law_text("x", "L", read.formula, chosen, parameters).splitlines()[1:])
    )
    assert imported.expression == by_hand.expression
    assert {q.name for q in imported.variables} == set(written.variables)
    assert {q.name for q in imported.parameters} == {q.name for q in by_hand.parameters}


@pytest.mark.parametrize("name", FORMULAS)
def test_an_expression_of_sympy_is_the_law_that_is_written_by_hand(name: str):
    written = FORMULAS[name]
    expression = written.sympy(Positive())
    law = Law.from_sympy(expression, variables=written.variables, name="imported")
    by_hand = law_with(written, written.law)
    assert law.expression == by_hand.expression
    assert {q.name: q.domain for q in (*law.variables, *law.parameters)} == {
        q.name: q.domain for q in (*by_hand.variables, *by_hand.parameters)
    }


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_without_signs_computes_what_the_program_does(name: str):
    """The text is evaluated here, as the program that it was taken from does."""
    written = FORMULAS[name]
    read = read_foreign_formula(written.python)
    values = {each: 0.3 + 0.37 * k for k, each in enumerate(read.names)}
    if "S" in values and "1 - S" in written.law:
        values["S"] = 0.6
    libraries = {"np": np, "math": math, "jnp": np}
    tensors = {each: torch.tensor(x, dtype=torch.float64) for each, x in values.items()}
    inputs: Any = tensors if "torch." in written.python else values
    expected = float(eval(written.python, {**libraries, "torch": torch, **inputs}))
    law = law_of(
        "\n".join(
            [
                *(f"variable {each}" for each in read.names if each in written.variables),
                *(f"parameter {each}" for each in read.names if each not in written.variables),
                f"L = {print_formula(read.formula)}",
            ]
        )
    )
    assert float(plain(law).subs(values)) == pytest.approx(expected, rel=1e-12)


def test_the_formulas_are_twenty_different_laws():
    """Their names may differ: the symbols are numbered in the order of the formula."""
    shapes = set()
    for written in FORMULAS.values():
        read = read_foreign_formula(written.python)
        numbers = {name: f"x{k}" for k, name in enumerate(read.names)}
        spelled = re.sub(
            r"[A-Za-z_]\w*", lambda m, of=numbers: of.get(m[0], m[0]), print_formula(read.formula)
        )
        shapes.add(spelled)
    assert len(shapes) >= 20


@pytest.mark.parametrize("x", [-8.0, 0.0, 8.0])
def test_the_cube_root_is_what_the_advice_says(x: float):
    """`cbrt` has a real value below 0, where the power of the language has none."""
    help = error_of(lambda: read_foreign_formula("np.cbrt(M)")).help
    assert help is not None
    nonnegative, nonzero = re.findall(r"x\S*\^\(\d/3\)", help)
    for formula, applies in ((nonnegative, x >= 0), (nonzero, x != 0)):
        law = law_of(f"variable x\nL = {formula}").at()
        with np.errstate(all="ignore"):
            found = float(module(law.to_numpy()).predict(x))
        assert (found == pytest.approx(np.cbrt(x), rel=1e-14)) == applies


@pytest.mark.parametrize(
    ("formula", "variables", "own"),
    [
        ("E + A/np.cbrt(N)", None, "E + A/N^(1/3)"),
        ("math.cbrt(2*r + D/N**a)", None, "(2*r + D/N^a)^(1/3)"),
        ("cbrt(M)", ["M >= 0"], "M^(1/3)"),
        ("cbrt(abs(k - x))*exp(x)", ["x"], "abs(k - x)^(1/3)*exp(x)"),
        ("L(x) = cbrt(np.exp(x)/3)", None, "(exp(x)/3)^(1/3)"),
        ("cbrt(M)", ["M"], None),
        ("cbrt(N)", ["N in [-1, 1]"], None),
        ("cbrt(N - D)", None, None),
        ("cbrt(-N)", None, None),
        ("cbrt(a*N)", None, None),
        ("cbrt(np.log(N))", None, None),
        ("cbrt(N, D)", None, None),
    ],
)
def test_the_cube_root_of_what_is_never_negative_is_a_power(
    formula: str, variables: list[str] | None, own: str | None
):
    if own is None:
        assert error_of(lambda: read_foreign_formula(formula, variables)).code == "E0202"
    else:
        assert read_foreign_formula(formula, variables).formula == tree_of(own)


# ---- Python's spelling


@pytest.mark.parametrize(
    ("python", "own"),
    [
        ("-N**2", "-N^2"),
        ("N**-alpha**2", "N^-alpha^2"),
        ("2**3**N", "2^3^N"),
        ("+N - +a", "N - a"),
        ("N*-a", "N*-a"),
        ("N / a / b * c", "N/a/b*c"),
        ("1_000.5*N", "1000.5*N"),
        (".5e-3 + 1. + 2.e3*N", "0.5e-3 + 1 + 2e3*N"),
        ("N ^ a", "N^a"),
        ("(N +\n   a)", "N + a"),
        ("np . log(N)", "log(N)"),
        ("numpy.pi*math.e**N", "pi*exp(1)^N"),
        ("np.log1p(N) - np.expm1(-N)", "log(1 + N) - (exp(-N) - 1)"),
        ("np.maximum(N, a) + min(N, a, 2)", "max(N, a) + min(N, a, 2)"),
        ("np.fabs(N) + np.arctan(N)", "abs(N) + atan(N)"),
        ("sp.E + math.tau*N/sympy.pi", "exp(1) + (2*pi)*N/pi"),
        ("np.log \\\n (N)", "log(N)"),
        ("a*math.log(N, 10)", "a*(log(N)/log(10))"),
        ("log(N, b + 1)", "log(N)/log(b + 1)"),
        ("sp.log(N, 2)", "log(N)/log(2)"),
        ("sp.Rational(1, 3)*N", "(1/3)*N"),
        ("α*N", "alpha*N"),
    ],
)
def test_a_spelling_of_python_is_read_as_that_of_the_language(python: str, own: str):
    assert read_foreign_formula(python).formula == tree_of(own)


@pytest.mark.parametrize("name", REWRITINGS)
def test_every_rewritten_function_is_the_function(name: str):
    arity, _ = REWRITINGS[name]
    reference: dict[str, Callable[..., float]] = {
        **dict.fromkeys(("pow", "power", "float_power"), math.pow),
        **dict.fromkeys(("maximum", "fmax", "Max"), max),
        **dict.fromkeys(("minimum", "fmin", "Min"), min),
        **dict.fromkeys(("fabs", "absolute", "Abs"), abs),
        **dict.fromkeys(("sigmoid", "expit"), lambda x: 1 / (1 + math.exp(-x))),
        **{"arctan": math.atan, "ln": math.log, "log2": math.log2, "log1p": math.log1p},
        **{"expm1": math.expm1, "square": lambda x: x * x},
        "Rational": lambda x, y: x / y,
        **{"reciprocal": lambda x: 1 / x, "negative": lambda x: -x},
    }
    formula = read_foreign_formula(f"np.{name}({', '.join('NM'[:arity])})").formula
    law = law_of(f"variable N > 0\nvariable M > 0\nL = {print_formula(formula)} + 0*M")
    values = {"N": 1.7, "M": 0.6}
    found = float(law.expression.subs({q.symbol: values[q.name] for q in law.variables}))
    assert found == pytest.approx(reference[name](*[1.7, 0.6][:arity]), rel=1e-14)


def test_the_left_hand_side_names_the_output():
    assert read_foreign_formula("loss = a + N").output == "loss"
    assert read_foreign_formula("a + N").output == "L"
    assert read_foreign_formula("L0 + a*L").output == "loss"


def test_a_left_hand_side_with_arguments_names_the_variables():
    read = read_foreign_formula("loss(C, α) = a/C**α")
    assert (read.output, read.arguments) == ("loss", ("C", "alpha"))
    assert read.formula == tree_of("a/C^alpha")
    for text in ("L(C + 1) = a*C", "L(C,) = a*C", "L() = a*C", "(L) = a*C"):
        assert error_of(lambda text=text: read_foreign_formula(text)).code.startswith(
            ("L02", "E02")
        )


@pytest.mark.parametrize(
    "text", ["def loss(N): return a*N", "lambda N, D: a*N*D", "return a*N", " lambda: a*N"]
)
def test_of_a_function_of_python_the_formula_is_asked_for(text: str):
    diagnostic = error_of(lambda: read_foreign_formula(text))
    assert diagnostic.code == "E0201" and "what follows `return`" in (diagnostic.help or "")


def test_the_second_argument_of_a_logarithm_of_numpy_is_no_base():
    help = error_of(lambda: read_foreign_formula("a*np.log(N + 1, 10)")).help
    assert help is not None and help.startswith("write np.log(N + 1)/np.log(10), or log(N + 1, 10)")
    for advised in ("np.log(N + 1)/np.log(10)", "log(N + 1, 10)"):
        assert read_foreign_formula(advised).formula == tree_of("log(N + 1)/log(10)")


def error_of(action: Callable[[], Any]) -> lawdsl.Diagnostic:
    with pytest.raises(LawdslError) as caught:
        action()
    return caught.value.diagnostics[0]


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        ("", "E0201", ""),
        ("a if N else b", "E0201", "if"),
        ("a*N[0]", "E0201", "["),
        ("a*N < 3", "E0201", "<"),
        ("a//N", "E0201", "//"),
        ("a % N", "E0201", "%"),
        ("2N", "E0201", "2N"),
        ("1j*N", "E0201", "1j"),
        ("lambda N: N", "E0201", ":"),
        ("not N", "E0201", "not"),
        ("params.alpha*N", "E0201", "params.alpha"),
        ("np.linalg.norm(N)", "E0201", "np.linalg.norm"),
        ("np.inf*x", "E0201", "np.inf"),
        ("sp.oo + N", "E0201", "sp.oo"),
        ("math . nan*N", "E0201", "math . nan"),
        ("torch.alpha*N", "E0201", "torch.alpha"),
        ("np.log*N", "E0201", "np.log"),
        ("np.cbrt(M)", "E0202", "np.cbrt(M)"),
        ("__import__('os').system('id')", "E0201", "'"),
        ("(lambda: 0).__class__", "E0201", ":"),
        ("diff(N, a)", "E0201", "diff(N, a)"),
        ("np.erf(N)", "E0202", "np.erf(N)"),
        ("np.sum(N)", "E0202", "np.sum(N)"),
        ("np.power(N)", "E0202", "np.power(N)"),
        ("np.log(N, 2)", "E0202", "np.log(N, 2)"),
        ("np.exp(x=N)", "E0202", "np.exp(x=N)"),
        ("a N", "L0203", "a N"),
        ("a + ", "L0207", "+"),
        ("(a + N", "L0202", "("),
        ("a = b = N", "L0201", "="),
        ("123456789012345678901*N", "L0106", "123456789012345678901"),
    ],
)
def test_what_is_no_formula_is_refused_at_its_place(text: str, code: str, marked: str):
    diagnostic = error_of(lambda: read_foreign_formula(text))
    assert diagnostic.code == code
    assert diagnostic.span is not None and diagnostic.help
    assert diagnostic.text is not None and diagnostic.text.text == text
    assert text[diagnostic.span.start : diagnostic.span.end] == marked


def test_a_deep_or_long_formula_is_refused():
    for text in ("(" * 5000 + "N" + ")" * 5000, "N+" * 60_000 + "N", "-" * 5000 + "N"):
        assert error_of(lambda text=text: read_foreign_formula(text)).code.startswith("L01")


def test_libraries_are_no_names_of_parameters():
    for library in LIBRARIES:
        assert read_foreign_formula(f"{library}.exp(N)").names == ("N",)


# ---- which names are variables


def test_variables_are_those_by_custom_or_those_that_are_named():
    names = ("E", "A", "N", "alpha", "r")
    assert chosen_variables(names, None) == {"N": "> 0", "r": "in [0, 1]"}
    assert chosen_variables(names, ["A,r"]) == {"A": "", "r": "in [0, 1]"}
    assert chosen_variables(names, ["A > 0", "N >= 1"]) == {"A": "> 0", "N": ">= 1"}
    unknown = error_of(lambda: chosen_variables(("a", "C"), None))
    assert unknown.code == "E0203" and "a, C" in unknown.message
    assert error_of(lambda: chosen_variables(names, ["M"])).code == "E0203"
    assert error_of(lambda: chosen_variables(names, ["N >"])).code.startswith("L")
    assert error_of(lambda: chosen_variables(names, ["N\nparameter q"])).code.startswith("L")


# ---- the command


def test_the_command_writes_a_law_that_checks(tmp_path: Path):
    arguments = ("import", "E + A/N**alpha + B/D**beta", "--name", "my.law", "-o", "my.law")
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 0
    assert "variables: N, D; parameters: E, A, alpha, B, beta" in done.stderr
    text = (tmp_path / "my.law").read_text(encoding="utf-8")
    assert "# Sign unconstrained; add `> 0` where a parameter is positive.\n" in text
    assert text.startswith("law my\n") and "L = E + A/N^alpha + B/D^beta" in text
    assert run("fmt", "--check", "my.law", cwd=tmp_path).returncode == 0
    assert run("check", "my.law", cwd=tmp_path).returncode == 0
    again = run(*arguments, cwd=tmp_path)
    assert again.returncode == 3 and "L0313" in again.stderr
    assert "choose a file that does not exist" in again.stderr
    assert (tmp_path / "my.law").read_text(encoding="utf-8") == text


def test_the_command_asks_for_variables():
    done = run("import", "a*C**b", "--name", "x")
    assert done.returncode == 3 and "E0203" in done.stderr and "--variables" in done.stderr
    named = run("import", "a*C**b", "--name", "x", "--variables", "C > 0")
    assert named.returncode == 0 and "variable  C > 0" in named.stdout


@pytest.mark.parametrize("formula", ["-N**2*a", "-omega*N", "-o*N", "-alpha + N", "-(N + a)", "-N"])
def test_a_formula_may_begin_with_a_minus(formula: str, tmp_path: Path):
    for arguments in (
        ("import", formula, "--name", "x"),
        ("import", "--name", "x", "--", formula),
        ("import", "--json", "--name", "x", formula, "-ox.law"),
    ):
        done = run(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "L = -" in (tmp_path / "x.law").read_text(encoding="utf-8")
    assert "Did you mean '--name'" in run("import", formula, "--nam", "x").stderr


def test_a_mistake_in_a_name_points_to_no_file(tmp_path: Path):
    for arguments in (("import", "a*N", "--name", "my-law"), ("new", "my-law")):
        done = run(*arguments, cwd=tmp_path)
        assert done.returncode == 3 and "`my-law` cannot be the name of a law" in done.stderr
        assert "mylaw.law" not in done.stderr and "-->" not in done.stderr
    huge = run("import", "10**400*N", "--name", "x", cwd=tmp_path)
    assert huge.returncode == 3 and "--> the law that was written:5:5" in huge.stderr
    assert not list(tmp_path.iterdir())
