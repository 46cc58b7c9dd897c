"""The table of messages and the messages that are given are the same, and each has its examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from quick import without

import lawdsl
from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.language import library
from lawdsl.law.law import Law
from lawdsl.messages.table import DATA, LANGUAGE, MESSAGES
from lawdsl.proof.check import check
from lawdsl.proof.identifiability import findings, freedom

HOUSE = Path(__file__).resolve().parent.parent
CODE = re.compile(r'"([LDFMCRGEN]\d{4})"')

BAD = [(code, i, text) for code, m in LANGUAGE.items() for i, text in enumerate(m.bad)]
GOOD = [(code, m.good) for code, m in LANGUAGE.items() if m.bad]


READ = {"question": library.declared_question, "pipeline": library.declared_pipeline}


def codes(text: str) -> list[str]:
    """The codes of all messages about a text: of reading it, and of its value where it is read."""
    try:
        if text.partition(" ")[0] in READ:
            read = READ[text.partition(" ")[0]]
            return [d.code for d in read(Text("example.law", text), Path())[1]]
        declarations, found = library.declared(Text("example.law", text), Path())
        if not (declarations.indices or declarations.identities):
            found += check(Law(declarations)).warnings
    except LawdslError as error:
        found = list(error.diagnostics)
    return [d.code for d in found]


def codes_in_sources() -> set[str]:
    """The codes that are in the sources, but for the table itself."""
    table = HOUSE / "lawdsl" / "messages"
    return {
        code
        for room in ("lawdsl", "runners")
        for path in (HOUSE / room).rglob("*.py")
        if table not in path.parents
        for code in CODE.findall(path.read_text(encoding="utf-8"))
    }


def test_the_codes_that_are_given_are_those_in_the_table():
    assert codes_in_sources() == set(MESSAGES)


@pytest.mark.parametrize("code", MESSAGES)
def test_a_message_is_explained_in_sentences(code: str):
    message = MESSAGES[code]

    assert message.title and not message.title.endswith(".")
    assert message.meaning.endswith(".")
    assert len(message.meaning.split()) >= 8


# ---- the language


@pytest.mark.parametrize(("code", "i", "text"), BAD, ids=[f"{code}-{i}" for code, i, _ in BAD])
def test_a_bad_example_gives_its_code_and_no_other(code: str, i: int, text: str):
    assert codes(text) == [code]


@pytest.mark.parametrize(("code", "text"), GOOD, ids=[code for code, _ in GOOD])
def test_a_good_example_gives_no_message(code: str, text: str):
    assert codes(text) == []


def test_every_message_says_what_to_do():
    """Each help is one line, and there is one for each example."""
    for code, _, text in BAD:
        read = READ.get(text.partition(" ")[0], library.declared)
        try:
            _, found = read(Text("example.law", text), Path())
        except LawdslError as error:
            found = list(error.diagnostics)
        for diagnostic in found:
            assert diagnostic.help and "\n" not in diagnostic.help, code
            assert diagnostic.span is not None, code


# ---- tables and fits


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def answer(example: str, folder: Path) -> tuple[lawdsl.Diagnostic, ...]:
    """What is said to a table for chinchilla, or to a law."""
    if not example.startswith("law "):
        return lawdsl.fit("chinchilla", written(folder, "runs.csv", example), starts=6).diagnostics
    law = lawdsl.load(written(folder, "share.law", example))
    return (*lawdsl.check(law).warnings, *findings(law, freedom(law)))


TABLES = [(code, i) for code, m in DATA.items() for i in range(len(m.bad))]
DEAR = [("F0116", 0), ("D0114", 1)]  # two seconds each


@pytest.mark.parametrize(
    ("code", "i"), without(TABLES, DEAR), ids=[f"{code}-{i}" for code, i in TABLES]
)
def test_a_bad_example_is_answered_with_its_code(code: str, i: int, tmp_path: Path):
    try:
        found = answer(DATA[code].bad[i], tmp_path)
    except lawdsl.LawdslError as error:
        found = error.diagnostics
    if code.startswith("D"):
        assert {d.code for d in found} == {code}
    else:
        assert code in {d.code for d in found}


@pytest.mark.parametrize("code", DATA)
def test_a_bad_example_has_a_good_one(code: str):
    assert bool(DATA[code].good) == bool(DATA[code].bad)


@pytest.mark.parametrize("text", sorted({m.good for m in DATA.values() if m.good}))
def test_a_good_example_is_answered_with_nothing(text: str, tmp_path: Path):
    assert answer(text, tmp_path) == ()
