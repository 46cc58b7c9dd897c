"""An unknown name in a claim: the output is proposed only where it is likely meant."""

from __future__ import annotations

import pytest
from judging import law_of

from lawdsl.core.diagnostics import LawdslError

LAW = """\
law test
variable N > 0
variable D > 0
parameter E, A, alpha > 0
{} = E + A/N^alpha + 1/D
require {}
"""


def help_of(output: str, claim: str) -> str:
    with pytest.raises(LawdslError) as error:
        law_of(LAW.format(output, claim))
    found = error.value.diagnostics[0]
    assert found.code == "L0301"
    return str(found.help)


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("L > E0", "E0"),
        ("E0 < L", "E0"),
        ("L > Z", "Z"),
        ("L < 3 for Z > 1", "Z"),
        ("L(Q = D0) is chinchilla", "Q"),
        ("L - floor2 > 0", "floor2"),
        ("E > E0", "E0"),
    ],
)
def test_a_name_beside_the_output_is_to_be_declared(claim: str, name: str):
    assert help_of("L", claim).startswith("declare it above: ")
    assert f" {name}" in help_of("L", claim) and "give the law this name" not in help_of("L", claim)


@pytest.mark.parametrize(
    ("output", "claim"),
    [
        ("loss", "L > E"),
        ("loss", "∂L/∂N < 0"),
        ("L", "∂loss/∂N < 0"),
        ("L_val", "L > E"),
        ("L", "S decreasing in N"),
        ("L", "S -> E as N -> oo, D -> oo"),
        ("L", "∂²S/∂N² > 0"),
        ("L", "diff(S, N) < 0"),
    ],
)
def test_what_a_claim_is_about_may_be_the_output(output: str, claim: str):
    assert f"the law is `{output} = …`: write `{output}`" in help_of(output, claim)


def test_a_similar_name_is_meant():
    assert "did you mean `L`?" in help_of("L", "l > E")
