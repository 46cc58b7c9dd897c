"""What an editor offers at a place: a text with the cursor at `|`, and what may be written there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from marked_texts import (
    HALF,
    LAW,
    SAMPLE,
    SHIPPED,
    names,
    offered,
)

from lawdsl.core.diagnostics import Text
from lawdsl.editing.completion import completions
from lawdsl.editing.document import read_document
from lawdsl.editing.hover import file_of
from lawdsl.editing.names import File, Files
from lawdsl.editing.words import Word
from lawdsl.language import keywords
from lawdsl.language.library import shipped
from lawdsl.language.parser import parse


def test_lines_begin_with_the_statements_of_their_section(tmp_path: Path):
    path = tmp_path / "half.law"
    law = offered(HALF + "par|", path)
    question = offered("question x\n|", path)

    assert {"parameter", "require", "prior"} <= names(law, "keyword")
    assert "uses" not in names(law)
    assert {"uses", "subject to", "choose"} <= names(question, "keyword")
    assert "require" not in names(question)
    assert "law" in names(offered("|", path))
    assert {c.span.start for c in law} == {len(HALF)}  # the word that is being written is replaced


def test_formulas_have_the_names_above_them(tmp_path: Path):
    path = tmp_path / "half.law"
    proposals = offered(HALF + "L = E + |\nparameter later > 0\n", path)

    assert names(proposals, "variable", "parameter") == {"N", "D", "E", "A", "alpha"}
    assert {"log", "exp"} <= names(proposals, "function")
    assert names(offered(HALF + "variable r in [0, |]\n", path), "parameter") == set()
    assert names(offered(LAW + "minimize hu|", path)) == {
        "huber",
        "squared",
        "absolute",
        "quantile",
    }
    assert names(offered(LAW + "require L inc|", path)) >= {"increasing", "finite"}
    assert names(offered(LAW + "require L > 0 expect |", path)) == set(keywords.VERDICTS)


def test_units_stand_behind_unit(tmp_path: Path):
    path = tmp_path / "half.law"
    assert "unit" in names(offered(HALF + "variable r > 0 |\n", path), "keyword")
    assert {"token", "Gtoken"} <= names(offered(HALF + "variable r > 0 unit G|", path), "unit")
    proposals = offered(HALF + "variable r > 0 unit nat/|", path)
    assert names(proposals) == names(proposals, "unit") != set()
    assert offered(HALF + 'variable r > 0 unit nat "the |"', path) == []
    assert offered(HALF + "# the |", path) == []
    assert offered(HALF + "L = 12|", path) == []


def test_laws_stand_where_laws_are_named(tmp_path: Path):
    (tmp_path / "mine.law").write_text('law mine "My law"\n', encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep.law").write_text("law sub.deep\n", encoding="utf-8")
    (tmp_path / "asked.law").write_text("question asked\n", encoding="utf-8")
    found = offered("law x\nextends |\n", tmp_path / "x.law")

    assert {"mine", "sub.deep", "chinchilla", "dcpt.l3"} <= names(found, "law")
    assert "asked" not in names(found)
    assert next(c.detail for c in found if c.text == "mine") == "My law"
    dotted = offered("law x\nextends dcpt.l|\n", tmp_path / "x.law")
    item = next(c for c in dotted if c.text == "dcpt.l3")
    assert item.span.start == len("law x\nextends ")  # all of the dotted name is replaced


def test_an_extended_law_lends_its_names(tmp_path: Path):
    base = tmp_path / "base.law"
    texts = {base: "law base\nvariable N > 0\nparameter E > 0\nL = E/N\n"}
    found = offered("law x\nextends base\nparameter F > 0\nL = |", tmp_path / "x.law", texts)

    assert names(found, "variable", "parameter", "law") == {"N", "E", "F", "base"}
    question = "question x\nuses m : base\nchoose n > 0\nminimize m(|"
    assert "N" in names(offered(question.replace("m(|", "m(| = n)"), tmp_path / "q.law", texts))


def test_claims_are_snippets_that_parse(tmp_path: Path):
    found = offered(LAW + "require |", tmp_path / "half.law")
    patterns = [c for c in found if c.kind == "snippet"]

    assert {"L increasing in N", "L finite", "L -> E as N -> oo"} <= names(patterns)
    assert found[: len(patterns)] == patterns  # before the names, of which there may be many
    for snippet in patterns:
        assert parse(f"{LAW}require {snippet.text}\n")[1] == [], snippet.text
        assert "$" in snippet.snippet or snippet.text == "L finite"
    for section in keywords.SECTIONS:
        begun = offered(f"{section} x\n|", tmp_path / "x.law")
        lines = [c.text for c in begun if c.kind == "snippet"]
        assert lines
        assert parse(f"{section} x\n" + "\n".join(lines))[1] == []


INDEXED = """law snip
index i over {a, b}
variable N > 0
variable D[i] > 0
variable r[i] in simplex
parameter E[i], A[i] > 0
L[i] = E[i] + A[i]/N + 1/(D[i] + r[i])
require """


def test_claims_of_an_indexed_law_have_subscripts(tmp_path: Path):
    path = tmp_path / "snip.law"
    found = names(offered(INDEXED + "|", path), "snippet")
    assert {"L[i] > 0", "∂L[i]/∂N < 0", "∂²L[i]/∂N∂D[i] < 0", "L[i] -> E[i] as N -> oo"} <= found
    derived = INDEXED.replace("variable N > 0\n", "").replace("A[i]/N", "A[i]") + "|"
    assert "∂L[i]/∂D[i] < 0" in names(offered(derived, path), "snippet")
    assert not any("is chinchilla" in text for text in found)
    assert "r[i]" not in names(offered(INDEXED + "∂L[i]/∂|", path))
    assert "N" not in names(offered(INDEXED + "L(|", path))
    objective = INDEXED.replace("require ", "minimize squared(|)")
    assert "L" in names(offered(objective, path), "output")
    assert "simplex" in names(offered(INDEXED.replace("require ", "variable s[i] in |"), path))
    for text in found:
        assert wrong_in(INDEXED + text, path) == set(), text


def test_claims_of_shipped_laws_are_accepted_as_they_are():
    accepted = 0
    for name, path in shipped("law").items():
        text = path.read_text(encoding="utf-8") + "\nrequire "
        document = read_document(text, path)
        found = names(completions(document, len(text), Files()), "snippet")
        for each in sorted(found)[sum(map(ord, name)) % 4 :: 4]:
            assert wrong_in(text + each, path) == set(), f"{each} in {name}"
            accepted += 1
    assert accepted > 200


STATEMENTS = """law tmp
setting s = 2
variable N > 0
parameter E, A, alpha, B > 0
let p = A/N^alpha
let q = A*alpha
L = E + p + q + B
"""
PLACES = {
    "fix |": ("", " = 2", "= 2"),
    "fix E = |": ("", "2)", "0.5)", "2, 3)"),
    "tie |": (" = 2",),
    "tie alpha = |": ("", "0.5)", "2)", "A, B)"),
    "tie alpha = 2*|": ("", "0.5)", "2)", "A, B)"),
    "tie alpha = B\ntie B = |": ("", "0.5)", "2)", "E, A)"),
    "prior |": (" = 1 ± 1", "A) = 1 ± 1"),
    "prior log(|": (") = 1 ± 1",),
    "prior E = |": (" ± 1", "2) ± 1", "0.5) ± 1", "2, 3) ± 1"),
    "minimize |": ("L)", "L, 1e-3)", "L, 0.5)"),
    "minimize squared(|": (")", "L))"),
    "minimize squared(log(|": ("))",),
    "minimize squared(log(L - |": (),
    "minimize squared(L, E = |": ("log(L - E), 10))",),
    "minimize huber(L, |": (")", "2))"),
    "minimize squared(L, |": (" = straightest(log(L - @), 10))",),
    "minimize huber(L, 1e-3, |": (" = straightest(log(L - @), 10))", "2))"),
    "start |": (" in {1, 2}", "A) in {1, 2}"),
    "start log(|": (") in {1, 2}",),
    "start E = |": ("", "2)", "0.5)", "2, 3)"),
    "fix E = 2\nprior |": (" = 1 ± 1", "A) = 1 ± 1"),
    "fix E = 2\nfix |": (" = 1",),
    "tie E = A\nstart |": (" in {1, 2}", "A) in {1, 2}"),
    "variable r in |": ("",),
    "require L(|": (" = 1) > 0",),
    "require ∂L/∂|": (" < 0",),
    "require L increasing in |": ("",),
    "require L -> |": (
        " as N -> oo",
        "A) as N -> oo",
        "A, 2) as N -> oo",
        "L, N) as N -> oo",
        " E > 1 then 1 else 2 as N -> oo",
    ),
    "require L > 0 for |": (" > 1",),
    "let z = |": ("", "E)", "E, A)", " E > 1 then 1 else 2"),
}
"""The cursor in a line -> what may complete the line behind an accepted proposal, which `@` repeats."""


def wrong_in(text: str, path: Path) -> set[str]:
    """The errors of a text."""
    found = read_document(f"{text}\n", path).diagnostics
    return {d.message for d in found if d.severity == "error"}


@pytest.mark.parametrize("line", PLACES)
def test_each_proposal_has_a_completion_of_its_line_that_is_accepted(line: str, tmp_path: Path):
    path = tmp_path / "tmp.law"
    assert wrong_in(STATEMENTS, path) == set()
    proposals = offered(STATEMENTS + line, path)
    assert proposals or line in ("variable r in |", "minimize squared(log(L - |")
    for each in proposals:
        call = "(" if each.kind == "function" and each.snippet else ""
        written = STATEMENTS + line.replace("|", each.text + call)
        wrong = [wrong_in(written + end.replace("@", each.text), path) for end in PLACES[line]]
        assert set() in wrong, f"{each.text}: {wrong}"


def restorable(word: Word, file: File, files: Files) -> bool:
    """Whether a word is one of those that stand there for something that is known."""
    if word.role in ("symbol", "number", "string", "illegal", "comment", "set"):
        return False
    if word.declares:
        # the output, if something mentions it: then it is known what is missing
        mentions = [w for w in file.words if w.text == word.text and w.role == "name"]
        return word.declares == "output" and len(mentions) > 1
    if word.role in ("subscript", "argument", "label", "column", "name"):
        return files.resolve(word, file) is not None
    return True


def missing(name: str, every: int) -> list[str]:
    """Words of a shipped file that are not offered where they stood."""
    path, files = SHIPPED[name], Files()
    text = path.read_text(encoding="utf-8")
    document = read_document(text, path)
    file = file_of(document)
    words = [w for w in file.words if restorable(w, file, files)]
    wrong = []
    for word in words[sum(map(ord, name)) % every :: every]:
        shortened = text[: word.span.start] + text[word.span.end :]
        half = replace(document, source=Text(document.source.name, shortened))
        proposals = {c.text for c in completions(half, word.span.start, files)}
        if word.text not in proposals and text[word.span.start : word.span.end] not in proposals:
            wrong.append(f"{word.text} ({word.role}) at {word.span.start}")
    return wrong


def test_what_stands_in_shipped_laws_is_offered_there():
    wrong = {name: found for name in SHIPPED if (found := missing(name, SAMPLE))}
    assert wrong == {}


UNKNOWN = ("L0301", "L0302", "L0304", "L0306", "L0307", "L0308", "L0311", "L0403", "L0701", "L0205")
"""Messages that say that a name may not stand at its place."""
OF_THE_TEST = (
    "this value has no name",
    "runs over",
    "stands without its subscripts",
    "cannot change with a variable",
)
"""Parts of messages about a formula written behind a name, and about a let in the lines that use it."""


def wrong_proposals(name: str, every: int) -> tuple[list[str], int]:
    """Proposals that a message calls wrong once they are accepted, and how many were accepted.

    Each proposal is written in place of each word of a sample, and after ` + ` behind each name of it.
    """
    path, files = SHIPPED[name], Files()
    text = path.read_text(encoding="utf-8")
    document = read_document(text, path)
    wrong, accepted = [], 0
    words = [w for w in file_of(document).words if w.role not in ("symbol", "string", "number")]
    for word in words[sum(map(ord, name)) % every :: every]:
        places = [(text[: word.span.start] + text[word.span.end :], word.span.start)]
        if word.role == "name" and not word.declares:
            written = f"{text[: word.span.end]} + "
            places.append((written + text[word.span.end :], len(written)))
        for changed, offset in places:
            half = read_document(changed, path, last=document)
            known = {d.message for d in (*document.diagnostics, *half.diagnostics)}
            for each in completions(half, offset, files):
                if each.kind in ("snippet", "function", "keyword", "unit", "verdict", "use"):
                    continue
                accepted += 1
                whole = changed[: each.span.start] + each.text + changed[each.span.end :]
                for d in read_document(whole, path).diagnostics:
                    new = d.code in UNKNOWN and d.message not in known
                    other_law = word.role == "law" and each.kind == "law" and d.code != "L0311"
                    fresh = d.message == f"unknown name `{word.text}`"  # it stood for any value
                    if new and not (
                        other_law or fresh or any(part in d.message for part in OF_THE_TEST)
                    ):
                        wrong.append(f"{each.text} for {word.text} at {offset}: {d.message}")
    return wrong, accepted


def test_no_accepted_proposal_is_an_unknown_name():
    accepted = 0
    for name in SHIPPED:
        wrong, count = wrong_proposals(name, 61)
        assert wrong == [], name
        accepted += count
    assert accepted > 500


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_no_accepted_proposal_is_an_unknown_name_anywhere(name: str):
    assert wrong_proposals(name, 2)[0] == []


@pytest.mark.parametrize(
    ("marked", "never"),
    [
        ("let q = E + |\nL = E\n", {"q"}),
        ("let q = E + q|\nL = E\n", {"q"}),
        ("let a = E\nlet b = a\nlet c = |", {"c"}),
        ("let b = a\nlet a = |\nL = E\n", {"a", "b"}),
        ("req|", {"req"}),
        ("L = E\nreq|", {"req", "L"}),
        ("L = E + A/N^alp|", {"alp", "oo"}),
        ("L = E\nrequire L |", {"pi", "oo", "N", "log"}),
        ("L = E\nrequire ∂L/∂|", {"L", "pi", "log"}),
        ("L = E\nrequire L > 0 for N > |", {"N", "L", "oo"}),
        ("L = E\nrequire L -> E as N -> |", {"N", "L", "E"}),
        ("|L = E", {"E", "N"}),
        ("variable r in [|", {"r"}),
        ("parameter k > |", {"k"}),
        ("parameter t[i, |]", {"i"}),
        ("minimize |", {"abs", "exp", "log", "pi"}),
        ("minimize huber(|", {"abs", "huber", "pi"}),
        ("variable r in |", {"integer"}),
        ("parameter t > |", {"if"}),
        ("minimize huber(log(E), 1e-3)\nmin|", {"minimize"}),
    ],
)
def test_what_cannot_stand_there_is_not_offered(marked: str, never: set[str], tmp_path: Path):
    text = HALF + "index i over {web, code}\n" + marked
    assert names(offered(text, tmp_path / "half.law")) & never == set()


def test_sums_are_offered_where_there_is_an_index(tmp_path: Path):
    path = tmp_path / "half.law"
    assert "sum" not in names(offered(HALF + "L = |", path))
    assert "sum" in names(offered(HALF + "index i over d\nL = |", path))


def test_limits_offer_infinity_and_subscripts_are_written(tmp_path: Path):
    path = tmp_path / "half.law"
    assert "oo" in names(offered(LAW + "require L -> E as N -> |", path))
    text = HALF + "index i over {web, code}\nparameter t[i] > 0\nL = |\n"
    assert "t[i]" in names(offered(text, path))
    assert "t" in names(offered(text.replace("|", "|[web]"), path))
    assert "E" not in names(offered(text.replace("|", "|[web]"), path), "parameter")


def test_a_law_is_not_offered_to_itself_nor_a_value_twice(tmp_path: Path):
    path = tmp_path / "mine.law"
    path.write_text("law mine\n", encoding="utf-8")
    assert "mine" not in names(offered("law mine\nextends |\n", path), "law")
    question = "question q\nuses m : chinchilla\nchoose n > 0\nminimize m(N = n, |)\n"
    proposed = names(offered(question, tmp_path / "q.law"))
    assert "D = " in proposed and not {"N", "N = ", "n", "m", "log"} & proposed


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_all_that_stands_in_shipped_laws_is_offered_there(name: str):
    assert missing(name, 1) == []
