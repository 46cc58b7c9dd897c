"""Misspelt words: a message that says what is meant carries the edit, and nothing makes it by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from language_client import PlainClient
from marked_texts import SHIPPED, applied

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.editing.document import read_document
from lawdsl.editing.fixes import all_corrected, corrections
from lawdsl.editing.words import words_of
from lawdsl.language.library import OpenFiles
from lawdsl.messages.table import MESSAGES

LAW = """law half
variable N > 0  unit Gparam
parameter alpha, A, E > 0
index d over {web, code}
parameter B[d] > 0
L = E + A*log(N)/N^alpha + sum(B[d] for d)  unit nat/token
require L > E expect refuted
"""
QUESTION = """question q "?"
uses loss : chinchilla
choose N, D > 0
minimize loss(N = N, D = D)
subject to N*D <= 10
"""
PIPELINE = """pipeline p "?"
given target > 0
step first : mixing.step by mixture at S = target
step second : mixing.size from first at N = target
"""


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (LAW, "N^alpha", "N^alhpa"),
        (LAW, "log(N)", "logg(N)"),
        (LAW, "unit Gparam", "unit Gpraam"),
        (LAW, "expect refuted", "expect refutd"),
        ("law x\nextends chinchilla\nL = chinchilla\n", "extends chinchilla", "extends chincilla"),
        ("law x\nextends dcpt.l3\nL = dcpt.l3\n", "L = dcpt.l3", "L = l3"),
        (QUESTION, ": chinchilla", ": chinchila"),
        (QUESTION, "loss(N =", "loss(n ="),
        (QUESTION, "minimize loss(", "minimize losss("),
        (PIPELINE, "at S =", "at s ="),
        (PIPELINE, "from first", "from frist"),
        (PIPELINE, "mixing.size", "mixing.siz"),
    ],
)
def test_a_misspelt_word_has_its_edit(text: str, right: str, wrong: str, tmp_path: Path):
    path = tmp_path / "half.law"
    misspelt = text.replace(right, wrong)
    document = read_document(misspelt, path)
    spans = [d.span for d in document.diagnostics if d.span is not None]
    guesses = [c for span in spans for c in corrections(document, span) if not c.safe]
    assert text in [applied(misspelt, c.edits) for c in guesses]
    edit = all_corrected(document, OpenFiles())
    assert edit is None or right not in applied(misspelt, (edit,))  # a guess is not made by itself


def test_a_law_beside_the_file_may_be_meant(tmp_path: Path):
    (tmp_path / "mybase.law").write_text("law mybase\nvariable N > 0\nL = N\n", encoding="utf-8")
    text = "law x\nextends mybsae\nL = mybase\n"
    (message,) = [d for d in read_document(text, tmp_path / "x.law").diagnostics if d.suggested]
    assert applied(text, message.suggested).startswith("law x\nextends mybase\n")


def test_two_readings_have_an_edit_each(tmp_path: Path):
    text = LAW.replace("N^alpha", "Nalpha")
    document = read_document(text, tmp_path / "half.law")
    (message,) = document.diagnostics
    after = {applied(text, (edit,)) for edit in message.suggested}
    assert after == {text.replace("Nalpha", meant) for meant in ("N^alpha", "(N*alpha)")}


def test_check_lists_what_is_suggested_and_leaves_the_file(tmp_path: Path):
    path = tmp_path / "half.law"
    text = LAW.replace("N^alpha", "N^alhpa")
    path.write_text(text, encoding="utf-8")
    result = run("check", "--fix", "--json", str(path))
    assert path.read_text(encoding="utf-8") == text
    (message,) = json.loads(result.stdout)["diagnostics"]
    assert message["edits"] == []
    assert message["suggested"] == [{"start": [6, 20], "end": [6, 25], "text": "alpha"}]


def misspelt(word: str) -> str:
    """A word with its last letter doubled; short ones unchanged."""
    return f"{word}{word[-1]}" if len(word) > 2 else word


def carries_an_edit(d: Diagnostic) -> bool:
    """Whether a message that asks "did you mean" has an edit."""
    return not (d.help or "").startswith("did you mean `") or bool(d.edits or d.suggested)


@pytest.mark.parametrize("every", [397, pytest.param(5, marks=pytest.mark.slow)])
def test_whatever_a_message_takes_a_word_for_can_be_chosen(every: int):
    restored = 0
    for name, path in SHIPPED.items():
        text = path.read_text(encoding="utf-8")
        words = [w for w in words_of(text) if w.text.isalpha() and len(w.text) > 2]
        for word in words[sum(map(ord, name)) % every :: every]:
            start, end = word.span.start, word.span.end
            changed = text[:start] + misspelt(word.text) + text[end:]
            document = read_document(changed, path)
            for d in document.diagnostics:
                assert carries_an_edit(d), (name, d.message, d.help)
                edits = [d.edits, *((edit,) for edit in d.suggested)]
                restored += any(applied(changed, e) == text for e in edits if e)
    assert restored > 5


def test_messages_of_the_examples_carry_what_they_suggest(tmp_path: Path):
    seen = 0
    for message in MESSAGES.values():
        for example in message.bad:
            for d in read_document(example, tmp_path / "x.law").diagnostics:
                assert carries_an_edit(d), (d.message, d.help)
                seen += bool(d.suggested)
    assert seen


def test_an_editor_offers_the_guess_and_fix_all_leaves_it_out(tmp_path: Path):
    client = PlainClient(tmp_path)
    path = tmp_path / "half.law"
    client.open(path, LAW.replace("N^alpha", "N^alhpa"))
    (message,) = client.published(path, 1)[1]
    params = {
        "textDocument": {"uri": path.as_uri()},
        "range": message["range"],
        "context": {"diagnostics": []},
    }
    (action,) = client.request("textDocument/codeAction", params)
    assert action["title"] == "replace `alhpa` by `alpha`"
    assert action["kind"] == "quickfix" and not action["isPreferred"]
    assert action["edit"]["documentChanges"][0]["edits"][0]["newText"] == "alpha"
    params["context"]["only"] = ["source.fixAll"]
    assert client.request("textDocument/codeAction", params) == []
    assert client.end() == 0
