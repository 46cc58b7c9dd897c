"""What an editor shows about a word says what the text does not, in words and formulas."""

from __future__ import annotations

from pathlib import Path

import pytest
from language_client import PlainClient
from marked_texts import LAW, SHIPPED, at_cursor, opened, shown, words_shown

from lawdsl.editing.document import read_document
from lawdsl.editing.hover import Derivative, Known, file_of, hover
from lawdsl.editing.names import File, Files
from lawdsl.editing.navigation import definition, references
from lawdsl.editing.verdict_hints import MAX_DETAIL, verdict_details
from lawdsl.proof.verdict import Verdict
from lawdsl.server.reading_features import markdown

EXTENDING = (
    'law x\nextends chinchilla\nparameter F > 0  "more"\nL = chinchilla + F\nrequire L > E\n'
)


def marked(text: str, written: str, at: str) -> str:
    """A text with the cursor in a part of it."""
    assert written in text
    return text.replace(written, at, 1)


def hovered(name: str, written: str, at: str, known: Known | None = None) -> str:
    """What is shown at a place of a shipped file."""
    text, offset = at_cursor(marked(SHIPPED[name].read_text(encoding="utf-8"), written, at))
    content = hover(read_document(text, SHIPPED[name]), offset, Files(), known or Known())
    return "\n".join(block.text for block in content.blocks) if content else ""


VERDICTS = [
    (Verdict("L > E", "proved", proof=("L - E = A/N^k", "because N > 0")), "proved"),
    (Verdict("c", "inside", "inside", face="r = 0"), "proved, with equality at r = 0, as expected"),
    (
        Verdict("c", "conditional", condition="E >= 10", exact=True, remedy=("E >= 10",)),
        "proved where E >= 10",
    ),
    (Verdict("c", "refuted", witness=(("N", "2"),), value="L = -1", never=True), "refuted"),
    (Verdict("c", "undecided", blame="the sign of A - B is not known"), "undecided"),
]


@pytest.mark.parametrize(("verdict", "first"), VERDICTS)
def test_the_verdict_is_shown_and_not_the_claim(verdict: Verdict, first: str, tmp_path: Path):
    known = Known(lambda words: (verdict, True))
    content = shown(marked(LAW, "require", "req|uire"), tmp_path / "half.law", known)
    assert content is not None
    kinds = [(b.kind, b.text) for b in content.blocks]
    assert kinds[1] == ("text", f"verdict: {first}")
    evidence = "\n".join(text for kind, text in kinds if kind == "proof")
    for part in (*verdict.proof, *verdict.remedy, verdict.blame or "", verdict.value or ""):
        assert part in evidence
    assert not any(verdict.claim in text and verdict.claim != "c" for _, text in kinds)


def test_long_steps_lose_their_middle():
    step = "L = " + " + ".join(f"A{i}" for i in range(1000))
    line = verdict_details(Verdict("c", "proved", proof=(step,)))[1]
    assert len(line) < MAX_DETAIL + 100
    assert line.startswith("L = A0") and line.endswith("A999") and "lawdsl check" in line


def test_a_derivative_is_text_before_latex(tmp_path: Path):
    known = Known(derivatives={"N": Derivative("N", "∂L/∂N = -A", r"\frac{1}{2}")})
    content = shown(marked(LAW, "A/N", "A/|N"), tmp_path / "half.law", known)
    assert content is not None
    answer = markdown(content.blocks)
    assert 0 < answer.index("```law\n∂L/∂N = -A\n```") < answer.index("```latex\n\\frac{1}{2}\n```")


@pytest.mark.parametrize(
    ("text", "shown_too"),
    [
        ("∂L/∂N = 0", "the equation does not contain it"),
        ("∂L/∂N = A*step(N - 1)", "step(x): 1 for x > 0"),
        (f"∂L/∂N = {'A + ' * 2000}A", "too long to be shown: 8,009 characters"),
    ],
)
def test_a_derivative_that_needs_words_has_them(text: str, shown_too: str, tmp_path: Path):
    known = Known(derivatives={"N": Derivative("N", text, "")})
    assert shown_too in words_shown(marked(LAW, "A/N", "A/|N"), tmp_path / "half.law", known)


@pytest.mark.parametrize(
    ("name", "written", "at", "expected"),
    [
        ("dcpt.l3", "L(r = r0)", "L(r = |r0)", "r0: any value; the claim is made for all"),
        ("mixing.joint", "h[m] > 0", "h[|m] > 0", "m: any label; the claim is made for all"),
        ("mixing.joint", "over validation", "over |validation", "set of labels, which the table"),
        ("dcpt.l3", "\nminimize", "\n|minimize", "the objective of the fit"),
        ("dcpt.tradeoff", "\nminimize", "\n|minimize", "the goal: the answer makes this as small"),
        ("dcpt.tradeoff", "subject to", "|subject to", "subject to: constraints on the answer"),
        ("dcpt.tradeoff", "given     N ", "given     |N ", "the value of N in "),
        ("dcpt.tradeoff", "given     N ", "given     |N ", "variable N > 0  unit Gparam"),
        ("dcpt.tradeoff", "question dcpt", "question |dcpt", "subject to general(N, D"),
        ("mixing.nested", "pipeline mixing", "pipeline |mixing", "step mixing.m4"),
        ("cmr.critical", "from data", "from |data", "data: the table of measurements"),
        ("mixing.nested", "mixture, N,", "mixture, |N,", "declared in mixing.size, which comes"),
    ],
)
def test_what_the_text_does_not_say_is_shown(name: str, written: str, at: str, expected: str):
    assert expected in hovered(name, written, at)


@pytest.mark.parametrize(
    ("marked_text", "expected"),
    [
        ("law x\nvariable N > 0 un|it param\n", "unit: the unit of what the line declares"),
        ("law x\nL = 1 un|it nat\n", "unit: the unit of the output"),
        ("law x\nvariable N i|n [0, 1]\n", "in: the interval or set in which"),
        ("law x\nrequire L convex i|n N\n", "in: the variable of the trend"),
        ("law x\nL = sum(t[i] f|or i)\n", "for: the indices that are summed"),
        ("law x\nrequire L > 0 f|or N > 1\n", "for: the conditions under which"),
        ("law x\nindex i ov|er d\n", "over: the set of labels"),
    ],
)
def test_a_keyword_is_explained_for_its_place(marked_text: str, expected: str, tmp_path: Path):
    assert words_shown(marked_text, tmp_path / "x.law").startswith(expected)


def test_the_output_of_an_extending_law_is_that_of_its_own_equation(tmp_path: Path):
    path = tmp_path / "x.law"
    text, offset = at_cursor(marked(EXTENDING, "require L", "require |L"))
    file, files = File(path, text, tmp_path), opened({path: text})
    target = definition(file, offset, files)
    assert target is not None and target.file.path == path
    assert text[target.span.start :].startswith("L = chinchilla")
    above = definition(file, target.span.start, files)
    assert above is not None and above.file.path == SHIPPED["chinchilla"]
    assert len(list(references(target, [file], files))) == 2
    answer = words_shown(marked(EXTENDING, "require L", "require |L"), path)
    assert answer.startswith("L = chinchilla + F\nfinal training loss\nnat: ")
    assert "where chinchilla is\nE + A/N^alpha + B/D^beta" in answer


def test_an_extending_law_without_equation_has_one_message_that_says_so(tmp_path: Path):
    path = tmp_path / "x.law"
    text = EXTENDING.replace("L = chinchilla + F\n", "")
    document = read_document(text, path)
    (message,) = document.diagnostics
    assert message.code == "L0402"
    assert message.help == "write `L = …`, where `chinchilla` is the extended formula"
    target = definition(file_of(document), text.index("L > E"), Files())
    assert target is not None and target.file.path == SHIPPED["chinchilla"]  # the one it lacks


def test_hints_stand_apart_from_claims_and_comments(tmp_path: Path):
    client = PlainClient(tmp_path)
    path = tmp_path / "half.law"
    client.open(path, LAW + "require L > 0  # why\n")
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    params = {"textDocument": {"uri": path.as_uri()}, "range": place}
    hints = client.request("textDocument/inlayHint", params)
    assert [hint["label"][0] for hint in hints] == ["\N{NO-BREAK SPACE}"] * 2
    assert [hint["paddingRight"] for hint in hints] == [False, True]
    assert client.end() == 0
