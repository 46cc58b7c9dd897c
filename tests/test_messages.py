"""The table of messages and the messages that are given are the same, and each has its examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lawdsl import library, proof
from lawdsl.diagnostics import LawdslError, Text
from lawdsl.law import Law
from lawdsl.messages import MESSAGES as PLAIN
from lawdsl.messages_indices import INDEX_MESSAGES

MESSAGES = PLAIN | INDEX_MESSAGES
SOURCES = Path(__file__).resolve().parent.parent / "lawdsl"
CODE = re.compile(r'"(L\d{4})"')

BAD = [(code, i, text) for code, m in MESSAGES.items() for i, text in enumerate(m.bad)]
GOOD = [(code, m.good) for code, m in MESSAGES.items() if m.bad]


def codes(text: str) -> list[str]:
    """The codes of all messages about a text: of reading it, and of its value where it is read."""
    try:
        declarations, found = library.declared(Text("example.law", text), Path())
        if not (declarations.indices or declarations.identities):
            found += proof.check(Law(declarations)).warnings
    except LawdslError as error:
        found = list(error.diagnostics)
    return [d.code for d in found]


def given() -> set[str]:
    return {
        code
        for path in SOURCES.rglob("*.py")
        if not path.name.startswith("messages")
        for code in CODE.findall(path.read_text(encoding="utf-8"))
    }


def test_every_code_that_is_given_is_in_the_table():
    assert given() <= set(MESSAGES)


def test_every_code_in_the_table_is_given():
    assert {code for code in MESSAGES if code.startswith("L")} <= given()


@pytest.mark.parametrize(("code", "i", "text"), BAD, ids=[f"{code}-{i}" for code, i, _ in BAD])
def test_a_bad_example_gives_its_code_and_no_other(code: str, i: int, text: str):
    assert codes(text) == [code]


@pytest.mark.parametrize(("code", "text"), GOOD, ids=[code for code, _ in GOOD])
def test_a_good_example_gives_no_message(code: str, text: str):
    assert codes(text) == []


@pytest.mark.parametrize("code", MESSAGES)
def test_a_message_is_explained_in_sentences(code: str):
    message = MESSAGES[code]

    assert message.title and not message.title.endswith(".")
    assert message.meaning.endswith(".")
    assert len(message.meaning.split()) >= 8


def test_every_message_says_what_to_do():
    """Each help is one line, and there is one for each example."""
    for code, _, text in BAD:
        try:
            _, found = library.declared(Text("example.law", text), Path())
        except LawdslError as error:
            found = list(error.diagnostics)
        for diagnostic in found:
            assert diagnostic.help and "\n" not in diagnostic.help, code
            assert diagnostic.span is not None, code
