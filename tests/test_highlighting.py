"""Highlighters distinguish the classes of tokens that the language does, in every text."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from textmate import Grammar

from lawdsl.highlighting.classified import ClassifiedToken, classified
from lawdsl.highlighting.generated import FILES as GENERATED, write
from lawdsl.highlighting.pygments_lexer import LawLexer
from lawdsl.highlighting.token_classes import CLASSES, OF_TERMINALS
from lawdsl.language.keywords import LEADING, PIECEWISE, PLACED
from lawdsl.language.lexer import logical_lines
from lawdsl.language.parser import parse
from lawdsl.language.tokens import all_tokens, grammar

ROOT = Path(__file__).resolve().parent.parent
FILES = [*sorted(ROOT.glob("laws/**/*.law")), *sorted(ROOT.glob("tests/fixtures/**/*.law"))]
TEXTMATE = ROOT / "editors/vscode/syntaxes/law.tmLanguage.json"


def text_of(path: Path) -> str:
    return path.read_bytes().decode().removeprefix("\ufeff")


@pytest.mark.parametrize("name", GENERATED)
def test_generated_files_are_up_to_date(name: str) -> None:
    """`python -m lawdsl.highlighting` writes them."""
    assert (ROOT / "editors" / name).read_text(encoding="utf-8") == GENERATED[name]()


def test_all_generated_files_are_written(tmp_path: Path) -> None:
    write(tmp_path)
    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.*")} == set(GENERATED)


def test_every_terminal_has_a_class() -> None:
    ignored = {"NEWLINE", "SPACE"}
    declared = {word.upper() for word in (*LEADING, *PLACED, *PIECEWISE)}
    assert set(OF_TERMINALS) == {t.name for t in grammar().terminals} - ignored | declared
    assert set(OF_TERMINALS.values()) <= set(CLASSES)


def classes(text: str) -> list[tuple[str, str]]:
    return [(text[token.start : token.end], token.kind) for token in classified(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    (
        ("law dcpt.l3 \"t\"", "section law law law string"),
        ("extends a.b", "statement law law law"),
        ("L -> E as N -> oo", "name operator name keyword name operator constant"),
        ("x = ∞ + pi", "name operator constant operator constant"),
        ("require L is a.b", "statement name keyword law law law"),
        ("require L > 0 expect inside # c", "statement name operator number keyword verdict comment"),
        ("variable N > 0 unit Gtoken/step^2", "statement name operator number keyword unit operator "
         "unit operator number"),
        ("step at at at = 1", "statement law keyword name operator number"),
        ("step a : b.c by by", "statement name delimiter law law law keyword name"),
        ("step = 3", "name operator number"),
        ("given given", "statement name"),
        ("index over over s", "statement name keyword name"),
        ("y = if a < 1 then exp(b) else exp", "name operator conditional name operator number "
         "conditional function bracket name bracket conditional name"),
        ("y = then*2", "name operator name operator number"),
        ("prior a = 1 +- 2", "statement name operator number operator number"),
        ("∂²at/∂x²", "operator operator name operator operator name operator"),
        ("x = 1..3", "name operator number operator number"),
        ('source "open', "statement illegal name"),
        ("x = $ y", "name operator illegal name"),
        ("choose n integer in {4, 8}", "statement name keyword keyword bracket number delimiter "
         "number bracket"),
        ("subject to to < 3", "statement keyword name operator number"),
    ),
)  # fmt: skip
def test_classes_of_words_depend_on_their_place(text: str, expected: str) -> None:
    assert [kind for _, kind in classes(text)] == expected.split()


def assert_complete(text: str) -> None:
    """All characters but spaces are in one token, and Pygments has the same tokens."""
    tokens = classified(text)
    covered = [False] * len(text)
    for token in tokens:
        assert not any(covered[token.start : token.end])
        covered[token.start : token.end] = [True] * (token.end - token.start)
    left = {char for char, is_covered in zip(text, covered, strict=True) if not is_covered}
    assert left <= set(" \t\r\n\ufeff")
    parts = list(LawLexer().get_tokens_unprocessed(text))
    assert "".join(part for _, _, part in parts) == text
    shown = [(start, str(kind).removeprefix("Token.")) for start, kind, _ in parts]
    expected = {token.start: CLASSES[token.kind].pygments for token in tokens}
    assert {start: kind for start, kind in shown if not kind.startswith("Text")} == expected


def test_pygments_agrees_on_every_file() -> None:
    for path in FILES:
        assert_complete(path.read_bytes().decode())


def damaged(rng: random.Random, text: str) -> str:
    start = rng.randrange(len(text))
    end = min(len(text), start + rng.randrange(300))
    odd = rng.choice(('"', "\ufeff", "\r", "(", "\0", "é", "𝜕", "\u202e", "if", "step ", "#", "+-"))
    place = rng.randrange(start, end + 1)
    return text[start:place] + odd + text[place:end]


def damaged_texts(count: int) -> Iterator[str]:
    rng = random.Random(1)
    texts = [text_of(path) for path in FILES]
    for _ in range(count):
        yield damaged(rng, rng.choice(texts))


def test_pygments_preserves_damaged_texts() -> None:
    for text in damaged_texts(600):
        assert_complete(text)


def test_pygments_finds_the_lexer() -> None:
    lexers = pytest.importorskip("pygments.lexers")
    try:
        lexer = lexers.get_lexer_by_name("law")
    except lexers.ClassNotFound:
        pytest.skip("this installation of lawdsl is older than its lexer")
    assert isinstance(lexer, LawLexer)
    assert list(lexers.get_lexer_for_filename("x.law").get_tokens("law x\n"))[0][1] == "law"


def parsed_tokens(text: str) -> list[ClassifiedToken]:
    """The tokens of a text, if all of it parses."""
    lines = logical_lines([token for token in all_tokens(text) if token.type != "SPACE"])
    read = sum(line.statement is not None for line in parse(text)[0].lines)
    return classified(text) if read == sum(bool(line.tokens) for line in lines) else []


def assert_textmate(scopes: list[str], tokens: list[ClassifiedToken], where: object) -> None:
    for token in tokens:
        expected = f"{CLASSES[token.kind].textmate}.law"
        assert set(scopes[token.start : token.end]) == {expected}, (where, token)


def test_textmate_agrees_on_every_file_that_parses() -> None:
    interpreter = Grammar(json.loads(TEXTMATE.read_text(encoding="utf-8")))
    compared = 0
    for path in FILES:
        text = text_of(path)
        tokens = parsed_tokens(text)
        compared += len(tokens)
        assert_textmate(interpreter.scopes(text), tokens, path)
    assert compared > 25_000


@pytest.mark.parametrize(
    "text",
    (
        "step x  where a = 1,\n  b = 2  at c = 3\n",
        "start a = 1,\n  # c\n\n  b = 2\nlet unit_of = 3\n",
        "L = f(\n  a = 2,\n  b)  unit nat /\n  token  # c\nrequire L > 0\n",
        "L = if x > 0\n then 1\n\n# c\n else if x < 1 then 2 else 3\nlet then = else\n",
        "uses a, b :\n  dcpt.l3\ngiven at\n",
        "step at at at = 1\nstep step by by\nstep over : x.y from data since T = 0 by R at T = 3\n",
        "given = 3*x\ngiven a\nsubject to to > at\n",
        "choose integer integer in [1, 64]\nindex over over over\n",
        "require ∂²at/∂x² > 0 for at in [0, 1] expect inside\n",
        "require L[i] decreasing in r[a] against r[b]\nrequire L is\n  a . b\n",
        "prior log(a) = log(2) +- 0.3\nL = a +\n  then*b + c.d + pi*∞\n",
        "variable r[j] in simplex\nvariable simplex in simplex\nlet x = sum(y[\"a \"\"b\"\"\", k] for k)\n",
        "law a.exp\r\nL = exp(exp)  unit token^-2*FLOP  \"text # no comment\"\r\n",
    ),
)  # fmt: skip
def test_textmate_agrees_on_odd_lines(text: str) -> None:
    interpreter = Grammar(json.loads(TEXTMATE.read_text(encoding="utf-8")))
    tokens = parsed_tokens(text)
    assert tokens, parse(text)[1]
    assert_textmate(interpreter.scopes(text), tokens, text)
