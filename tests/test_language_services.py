"""What an editor shows and offers: a text with the cursor at `|`, and the expected answer."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from language_client import PlainClient

from lawdsl.cli import cli
from lawdsl.core.diagnostics import Edit, Text
from lawdsl.editing.completion import SEEN, Completion, completions
from lawdsl.editing.document import Document, read_document
from lawdsl.editing.formatting import formatting
from lawdsl.editing.hover import Derivative, Hover, Known, file_of, hover
from lawdsl.editing.law_names import law_names
from lawdsl.editing.meanings import CONSTANTS, FUNCTIONS, KEYWORDS, VERDICTS, unit_meaning
from lawdsl.editing.names import File, Files
from lawdsl.editing.navigation import definition, highlights, references
from lawdsl.editing.outline import Entry, folds, outline, ranges_around
from lawdsl.editing.rename import RenameRefused, rename, renamed_word
from lawdsl.editing.semantic_tokens import TYPES, semantic_tokens
from lawdsl.editing.words import Word, words_of
from lawdsl.language import keywords
from lawdsl.language.library import OpenFiles, declared_section, shipped
from lawdsl.language.parse_cache import CACHE
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document
from lawdsl.proof.verdict import Verdict

SHIPPED = {name: path for kind in keywords.SECTIONS for name, path in shipped(kind).items()}
SECONDS = 60.0  # until the worker has an answer
SAMPLE = 23  # one word in so many is tried in the default run
HALF = 'law half\nvariable N > 0  unit param  "size"\nvariable D > 0\nparameter E, A, alpha > 0\n'
LAW = HALF + "L = E + A/N^alpha\nrequire L > E\n"
NOTHING = Known()


def at_cursor(marked: str) -> tuple[str, int]:
    """A text without its `|`, and where that stood."""
    return marked.replace("|", ""), marked.index("|")


def opened(texts: dict[Path, str]) -> Files:
    return Files(OpenFiles({path.resolve(): text for path, text in texts.items()}))


def document_of(text: str, path: Path, last: str = "") -> Document:
    before = read_document(last, path) if last else None
    return read_document(text, path, last=before)


def offered(marked: str, path: Path, texts: dict[Path, str] | None = None) -> list[Completion]:
    text, offset = at_cursor(marked)
    files = opened({**(texts or {}), path: text})
    return completions(document_of(text, path, LAW), offset, files)


def names(found: list[Completion], *kinds: str) -> set[str]:
    return {c.text for c in found if not kinds or c.kind in kinds}


def shown(marked: str, path: Path, known: Known = NOTHING) -> Hover | None:
    text, offset = at_cursor(marked)
    return hover(document_of(text, path), offset, opened({}), known)


def words_shown(marked: str, path: Path, known: Known = NOTHING) -> str:
    found = shown(marked, path, known)
    return "\n".join(block.text for block in found.blocks) if found else ""


# Words


def test_each_word_has_its_part():
    text = 'law a.b "t"\nindex i over {web, code}\nvariable N[i] > 0  unit Gparam "doc"\n'
    text += (
        "L = N[web]^pi  unit nat/token  # note\nrequire L(N = n0) is chinchilla expect refuted\n"
    )
    roles = {word.text: word.role for word in words_of(text)}

    assert roles["a.b"] == "header"
    assert (roles["web"], roles["code"], roles["pi"]) == ("subscript", "label", "constant")
    assert (roles["Gparam"], roles["nat"], roles["token"]) == ("unit", "unit", "unit")
    assert (roles["chinchilla"], roles["refuted"], roles["over"]) == ("law", "verdict", "keyword")
    assert [w.text for w in words_of(text) if w.role == "argument"] == ["N"]
    assert {w.text: w.declares for w in words_of(text) if w.declares} == {
        "i": "index",
        "N": "variable",
        "L": "output",
    }


def test_every_word_of_the_language_has_a_meaning():
    words = {*keywords.KEYWORDS, *keywords.LEADING, *keywords.PLACED, *keywords.PIECEWISE}

    assert words - KEYWORDS.keys() == set()
    assert KEYWORDS.keys() - words == set()
    functions = {*keywords.FUNCTIONS, *keywords.AGGREGATES, *keywords.SPECIAL}
    assert functions == FUNCTIONS.keys()
    assert VERDICTS.keys() == set(keywords.VERDICTS)
    assert CONSTANTS.keys() == set(keywords.CONSTANTS)
    assert set(SEEN) <= {*keywords.STATEMENTS, *keywords.LEADING, "output"}


def test_units_say_how_much_they_are():
    assert unit_meaning("Gtoken") == "10⁹ tokens of text"
    assert unit_meaning("bit") == "bits of information: 0.693147 nat"
    assert unit_meaning("GPU") == "accelerators"
    assert unit_meaning("mile") is None


# Hover


def test_a_variable_has_unit_domain_text_and_derivative(tmp_path: Path):
    known = Known(derivatives={"N": Derivative("N", "∂L/∂N = -1", r"\frac{1}{2}")})
    answer = words_shown(LAW.replace("A/N^", "A/N|^"), tmp_path / "half.law", known)

    assert answer.split("\n") == [
        "variable N > 0  unit param",
        "size",
        "param: parameters of a model",
        "∂L/∂N = -1",
        r"\frac{1}{2}",
    ]


def test_a_missing_derivative_is_asked_for(tmp_path: Path):
    found = shown(LAW.replace("A/N^", "A/|N^"), tmp_path / "half.law")

    assert found is not None
    assert found.derivative_of == "N"
    assert not any(block.kind == "latex" for block in found.blocks)


def test_a_parameter_has_its_published_value():
    text = SHIPPED["chinchilla"].read_text(encoding="utf-8")
    changed = words_shown(text.replace("A/N^", "|A/N^"), SHIPPED["chinchilla"])
    edited = words_shown(text.replace("A/N^", "|A/N^2 + A/N^"), SHIPPED["chinchilla"])

    assert "published for chinchilla: 482.01 ± 124.58 (Besiroglu et al. 2024" in changed
    assert "published" not in edited  # another law, whose coefficients differ


def test_a_parameter_has_the_value_of_the_newest_fit(tmp_path: Path):
    def fit(file: str, name: str, value: float, text: str = LAW) -> None:
        content = {
            "law": {"name": name, "texts": {name: text}},
            "parameters": {"E": {"value": value}},
            "intervals": {"errors": {"E": 0.25}},
            "verdict": "caution",
        }
        (tmp_path / file).write_text(json.dumps(content), encoding="utf-8")

    path = tmp_path / "half.law"
    marked = LAW.replace("= E", "= E|")
    assert "fitted" not in words_shown(marked, path)
    fit("other.fit.json", "whole", 3.0)
    (tmp_path / "broken.fit.json").write_text("{", encoding="utf-8")
    (tmp_path / "list.fit.json").write_text("[1]", encoding="utf-8")
    assert "fitted" not in words_shown(marked, path)
    fit("one.fit.json", "half", 1.5, "law half")

    expected = (
        "fitted: 1.5 ± 0.25, in one.fit.json, which is caution, of another version of the law"
    )
    assert expected in words_shown(marked, path)
    assert "fitted" not in words_shown(LAW.replace("> E", "> |L"), path)


def test_a_require_line_has_its_verdict(tmp_path: Path):
    verdict = Verdict("L > E", "refuted", witness=(("N", "2"),), value="-1")

    def of(words: str) -> tuple[Verdict | None, bool]:
        return (verdict, False) if words == "require L > E" else (None, False)

    path = tmp_path / "half.law"
    answer = words_shown(LAW.replace("require L", "req|uire L"), path, Known(of))
    assert "L > E: refuted (before the last edit)\nat N = 2: -1" in answer
    assert "refuted" not in words_shown(LAW.replace("L > E", "|L > E"), path, Known(of))


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("law x\npara|meter A > 0\n", "parameter: what is fitted"),
        ("law x\nparameter A > 0\nL = lo|g(A)\n", "log(x)\nthe natural logarithm"),
        ("law x\nparameter A > 0  unit Gto|ken\n", "Gtoken: 10⁹ tokens"),
        ("law x\nextends kap|lan\n", "law kaplan\n"),
        ("law x\nrequire L > 0 expect ref|uted\n", "refuted: there is a point"),
        ("law x\nparameter A > 0, 2\n|", ""),
        ("law x\nL = A|a\n", "L0301"),
        ("law x # com|ment\n", ""),
    ],
)
def test_words_of_the_language_are_explained(tmp_path: Path, marked: str, expected: str):
    answer = words_shown(marked, tmp_path / "x.law")
    assert expected in answer if expected else not answer


# Completion


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
    found = offered(HALF + "L = E + |\nparameter later > 0\n", path)

    assert names(found, "variable", "parameter") == {"N", "D", "E", "A", "alpha"}
    assert {"log", "exp"} <= names(found, "function")
    assert names(offered(HALF + "variable r in [0, |]\n", path), "parameter") == set()
    assert names(offered(LAW + "minimize hu|", path)) >= {"huber", "squared", "L"}
    assert names(offered(LAW + "require L inc|", path)) >= {
        "increasing",
        "finite",
        "for",
        "expect",
    } - {
        "for",
        "expect",
    }
    assert names(offered(LAW + "require L > 0 expect |", path)) == set(keywords.VERDICTS)


def test_units_stand_behind_unit(tmp_path: Path):
    path = tmp_path / "half.law"
    assert "unit" in names(offered(HALF + "variable r > 0 |\n", path), "keyword")
    assert {"token", "Gtoken"} <= names(offered(HALF + "variable r > 0 unit G|", path), "unit")
    found = offered(HALF + "variable r > 0 unit nat/|", path)
    assert names(found) == names(found, "unit") != set()
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
    for snippet in patterns:
        assert parse(f"{LAW}require {snippet.text}\n")[1] == [], snippet.text
        assert "$" in snippet.snippet or snippet.text == "L finite"
    for section in keywords.SECTIONS:
        begun = offered(f"{section} x\n|", tmp_path / "x.law")
        lines = [c.text for c in begun if c.kind == "snippet"]
        assert lines
        assert parse(f"{section} x\n" + "\n".join(lines))[1] == []


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
        left = text[: word.span.start] + text[word.span.end :]
        half = replace(document, source=Text(document.source.name, left))
        found = {c.text for c in completions(half, word.span.start, files)}
        if word.text not in found and text[word.span.start : word.span.end] not in found:
            wrong.append(f"{word.text} ({word.role}) at {word.span.start}")
    return wrong


def test_what_stands_in_shipped_laws_is_offered_there():
    wrong = {name: found for name in SHIPPED if (found := missing(name, SAMPLE))}
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_all_that_stands_in_shipped_laws_is_offered_there(name: str):
    assert missing(name, 1) == []


# Navigation


@pytest.mark.parametrize("every", [SAMPLE, pytest.param(1, marks=pytest.mark.slow)])
def test_every_word_of_shipped_laws_has_its_answers(every: int):
    for name, path in SHIPPED.items():
        document = read_document(path.read_text(encoding="utf-8"), path)
        file, files = file_of(document), Files()
        assert outline(document)
        folds(document)
        places = range(sum(map(ord, name)) % every, len(document.text) + 1, every * 4)
        for offset in [w.span.start for w in [*file.words][::every]] + [*places]:
            hover(document, offset, files, NOTHING)
            highlights(file, offset, files)
            target = definition(file, offset, files)
            assert ranges_around(document, offset)[-1].end == len(document.text)
            if target is not None:
                found = list(references(target, [file, target.file], files))
                text = target.file.text[target.span.start : target.span.end]
                assert target.kind == "set" or keywords.ascii_name(text).strip('"') == target.name
                assert found


def test_all_names_of_shipped_laws_are_declared_somewhere():
    unresolved = set()
    for path in SHIPPED.values():
        files = Files()
        file = files.read(path)
        assert file is not None
        for word in file.words:
            if word.role in ("law", "header") and files.resolve(word, file) is None:
                unresolved.add((path.name, word.text))
            if word.role != "name" or files.resolve(word, file) is not None:
                continue
            line = file.words.lines[word.line]
            fresh = line.keyword == "require" and any(w.text == "is" for w in line.words)
            if not fresh and word.text != "data":
                unresolved.add((path.name, word.text))
    assert unresolved == set()


def test_definitions_lead_to_the_file_of_the_law(tmp_path: Path):
    files = Files()
    text, offset = at_cursor("law x\nextends chin|chilla\n")
    target = definition(File(tmp_path / "x.law", text, tmp_path), offset, files)
    assert target is not None
    assert target.file.path == SHIPPED["chinchilla"]
    assert target.file.text[target.span.start : target.span.end] == "chinchilla"

    text, offset = at_cursor("law x\nextends chinchilla\nrequire ∂L/∂|N < 0\n")
    target = definition(File(tmp_path / "x.law", text, tmp_path), offset, files)
    assert target is not None
    assert (target.kind, target.file.path) == ("variable", SHIPPED["chinchilla"])


def test_highlights_are_those_of_the_name(tmp_path: Path):
    text, offset = at_cursor(LAW.replace("alpha > 0", "al|pha > 0"))
    found = highlights(File(tmp_path / "half.law", text, tmp_path), offset, opened({}))
    assert [text[p.span.start : p.span.end] for p in found] == ["alpha", "alpha"]
    assert [p.declares for p in found] == [True, False]
    fresh, offset = at_cursor(
        "law x\nrequire L decreasing in r[|a] against r[b] for t[a] < 0\nlet a = 1"
    )
    fresh = fresh.rpartition("\n")[0]
    assert len(highlights(File(tmp_path / "x.law", fresh, tmp_path), offset, opened({}))) == 2


# Renaming


def renamed_texts(texts: dict[Path, str], path: Path, offset: int, new: str) -> dict[Path, str]:
    files = opened(texts)
    among = [File(p, text, p.parent) for p, text in texts.items()]
    file = next(f for f in among if f.path == path)
    after = dict(texts)
    for part in rename(file, offset, new, among, files):
        after[part.path] = applied(after[part.path], part.edits)
    return after


def applied(text: str, edits: tuple[Edit, ...]) -> str:
    for edit in sorted(edits, key=lambda e: -e.span.start):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def test_a_name_is_renamed_in_all_files(tmp_path: Path):
    base, more, asked = (tmp_path / f"{name}.law" for name in ("base", "more", "asked"))
    law, offset = at_cursor("law base\nvariable N| > 0\nparameter E, α > 0\nL = E/N^alpha\n")
    texts = {
        base: law,
        more: "law more\nextends base\nvariable D > 0\nL = base + D*N\nrequire ∂L/∂N < 0\n",
        asked: "question asked\nuses m : base\nuses n : more\nchoose N, D > 0\nminimize m(N) + n(N = N, D)\n",
    }
    after = renamed_texts(texts, base, offset, "size")

    assert after[base] == "law base\nvariable size > 0\nparameter E, α > 0\nL = E/size^alpha\n"
    assert after[more].endswith("L = base + D*size\nrequire ∂L/∂size < 0\n")
    assert after[asked].endswith("minimize m(size = N) + n(size = N, D)\n")
    for path, text in after.items():
        found, _ = declared_section(Text(str(path), text), tmp_path, OpenFiles(after))
        assert found is not None
    greek = renamed_texts(texts, base, law.index("alpha"), "beta")[base]
    assert greek.endswith("parameter E, beta > 0\nL = E/N^beta\n")
    output = renamed_texts(texts, more, texts[more].index("L ="), "loss")
    assert "loss = E/N" in output[base]
    assert "loss = base" in output[more]


def test_a_name_of_a_question_keeps_its_meaning(tmp_path: Path):
    path = tmp_path / "q.law"
    text, offset = at_cursor("question q\nuses m : chinchilla\ngiven |N, D > 0\nminimize m(N, D)\n")
    after = renamed_texts({path: text}, path, offset, "size")[path]
    assert after == "question q\nuses m : chinchilla\ngiven size, D > 0\nminimize m(N = size, D)\n"


@pytest.mark.parametrize(
    ("marked", "new", "message"),
    [
        (LAW.replace("parameter", "para|meter"), "x", "`parameter` is a keyword"),
        (LAW.replace("E + A", "|E + A"), "D", "`D` is a variable already"),
        (LAW.replace("E + A", "|E + A"), "let", "`let` is a keyword"),
        (LAW.replace("E + A", "|E + A"), "exp", "`exp` is a function"),
        (LAW.replace("E + A", "|E + A"), "2x", "`2x` is not a name"),
        (LAW.replace("E + A", "|E + A"), "x" * 65, "at most 64 characters"),
        (LAW.replace("E + A", "log|(E) + A"), "x", "`log` is a function"),
        (LAW.replace("unit param", "unit pa|ram"), "x", "`param` is a unit"),
        (LAW.replace("law half", "law ha|lf"), "x", "rename the file"),
        (LAW.replace("= E +", "= E |+"), "x", ""),
        ("law x\nextends chinchilla\nrequire ∂L/∂N| < 0\n", "x", "comes with lawdsl"),
        ("question q\nuses m : mixing.m4\nlet r|[j] = 1\nminimize m[i](r[j])\n", "x", "each label"),
        ("law x\nL = |unknown\n", "y", "`unknown` is not declared"),
    ],
)
def test_renaming_is_refused(tmp_path: Path, marked: str, new: str, message: str):
    text, offset = at_cursor(marked)
    path = tmp_path / "half.law"
    with pytest.raises(RenameRefused) as refused:
        renamed_texts({path: text}, path, offset, new)
        raise RenameRefused("")  # the place between two words is that of the name before it
    assert message in str(refused.value)


def test_what_pipelines_pass_on_is_not_renamed(tmp_path: Path):
    law, line = tmp_path / "base.law", tmp_path / "line.law"
    texts = {
        law: "law base\nvariable N > 0\nparameter E > 0\nL = E/N\n",
        line: "pipeline line\nstep base by N\n",
    }
    with pytest.raises(RenameRefused, match=r"line.law passes `N` on"):
        renamed_texts(texts, law, texts[law].index("N"), "M")
    assert "F/N" in renamed_texts(texts, law, texts[law].index("E"), "F")[law]


@pytest.mark.parametrize("every", [SAMPLE, pytest.param(1, marks=pytest.mark.slow)])
def test_renaming_and_back_is_the_same_law(tmp_path: Path, every: int):
    """A copy of each shipped file under another name; names that it declares are renamed."""
    for number, (name, source) in enumerate(SHIPPED.items()):
        if number % (1 + every // 6):
            continue
        text = source.read_text(encoding="utf-8")
        path = tmp_path / f"{name.rpartition('.')[2]}.law"
        file = File(path, text, tmp_path)
        canonical = print_document(parse(text)[0])
        files = opened({path: text})
        for word in [w for w in file.declared.values()][:: 1 + every // 12]:
            try:
                _, target = renamed_word(file, word.span.start, files)
            except RenameRefused:
                continue
            if target.kind == "index" or target.file.path != path:
                continue
            try:
                after = renamed_texts({path: text}, path, word.span.start, "renamed_x")[path]
            except RenameRefused as refused:
                assert "each label" in str(refused)
                continue
            place = after.index("renamed_x")
            back = renamed_texts({path: after}, path, place, word.text)[path]
            assert "renamed_x" not in back
            if file.section == "law":
                assert print_document(parse(back)[0]) == canonical
            tree, mistakes = parse(after)
            assert mistakes == []
            assert (
                word.text not in {w.text for w in words_of(after) if w.role == "name"}
                or file.section != "law"
            )
            if file.section != "pipeline" and "." not in name:
                declared_section(Text(str(path), after), source.parent)


# Structure


def entries(document: Document) -> list[tuple[str, str]]:
    def flat(found: tuple[Entry, ...]) -> list[tuple[str, str]]:
        return [pair for e in found for pair in ((e.kind, e.name), *flat(e.inside))]

    return flat(outline(document))


def test_the_outline_lists_declarations_and_claims(tmp_path: Path):
    found = entries(read_document(LAW + "parameter (", tmp_path / "half.law"))
    assert found == [
        ("law", "half"),
        ("variable", "N"),
        ("variable", "D"),
        ("parameter", "E"),
        ("parameter", "A"),
        ("parameter", "alpha"),
        ("output", "L"),
        ("require", "L > E"),
    ]


def test_comments_and_paragraphs_fold(tmp_path: Path):
    text = "law x\n\n# one\n# two\nvariable N > 0\nvariable D > 0\n\nL = N +\n  D\n"
    document = read_document(text, tmp_path / "x.law")
    lines = [
        (text.count("\n", 0, f.span.start), text.count("\n", 0, f.span.end), f.kind)
        for f in folds(document)
    ]
    assert lines == [(2, 5, "region"), (2, 3, "comment"), (7, 8, "region")]


def test_selections_grow_from_word_to_text(tmp_path: Path):
    text, offset = at_cursor(LAW.replace("/N^alpha", "/N^al|pha"))
    spans = ranges_around(read_document(text, tmp_path / "x.law"), offset)
    grown = [text[s.start : s.end] for s in spans]
    assert grown[:5] == ["alpha", "N^alpha", "A/N^alpha", "E + A/N^alpha", "L = E + A/N^alpha"]
    assert grown[-1] == text


def test_semantic_tokens_follow_the_declarations(tmp_path: Path):
    text = LAW + "parameter k > 0\nminimize huber(log(L), 1e-3)  # why\n"
    file = File(tmp_path / "half.law", text, tmp_path)
    found = [(text[t.span.start : t.span.end], t.type) for t in semantic_tokens(file, Files())]

    assert ("N", "variable") in found
    assert found.count(("alpha", "parameter")) == 2
    assert {("param", "type"), ("huber", "function"), ("1e-3", "number")} <= set(found)
    assert {("# why", "comment"), ('"size"', "string"), ("half", "namespace")} <= set(found)
    assert {t for _, t in found} <= set(TYPES)


def test_formatting_is_that_of_the_command(tmp_path: Path):
    for name, path in [*SHIPPED.items()][::5]:
        text = path.read_text(encoding="utf-8").replace("  ", "   ").replace("\n\n", "\n\n\n")
        file = tmp_path / f"{name}.law"
        file.write_text(text, encoding="utf-8")
        edit = formatting(read_document(text, file), CACHE)
        CliRunner().invoke(cli, ["fmt", str(file)])
        assert edit is not None
        assert applied(text, (edit,)) == file.read_text(encoding="utf-8")
    whole = read_document(LAW + "parameter (\n", tmp_path / "x.law")
    assert formatting(whole, CACHE) is None  # a line that does not parse would be lost


def test_unread_texts_have_answers_too(tmp_path: Path):
    for text in (
        "",
        "\n",
        '"',
        "law",
        "law x\nrequire (((",
        "§ | ∂∂/",
        'law x\nL[[[ = "',
        "x" * (1 << 20) * 2,
    ):
        document = read_document(text, tmp_path / "x.law")
        file, files = file_of(document), Files()
        for offset in (0, len(text) // 2, len(text)):
            completions(document, offset, files)
            hover(document, offset, files, NOTHING)
            highlights(file, offset, files)
            ranges_around(document, offset)
        outline(document), folds(document), semantic_tokens(file, files)


def test_names_of_laws_are_looked_for_in_a_bounded_part_of_the_disk(tmp_path: Path):
    deep = tmp_path.joinpath(*"abcdef")
    deep.mkdir(parents=True)
    (deep / "far.law").write_text("law far\n", encoding="utf-8")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "other.law").write_text("law other\n", encoding="utf-8")
    file = File(tmp_path / "x.law", "law x\n", tmp_path)
    assert not {n for n, _ in law_names(file, ("law",), Files())} & {"a.b.c.d.e.f.far", "other"}


# Over the protocol


def test_the_server_answers_each_request(tmp_path: Path):
    abilities = {
        "textDocument": {
            "hover": {"contentFormat": ["markdown"]},
            "completion": {"completionItem": {"snippetSupport": True}},
        }
    }
    path, other = tmp_path / "half.law", tmp_path / "other.law"
    other.write_text("law other\nextends half\nrequire ∂L/∂N < 0\n", encoding="utf-8")
    text = LAW.replace('"size"', '"siz\u00e9 \U0001d4dd *bold* <b>"')
    client = PlainClient(tmp_path, **abilities)
    document = {"uri": path.as_uri()}

    def ask(method: str, offset: int = 0, **more: object) -> object:
        line = text.count("\n", 0, offset)
        column = offset - (text.rfind("\n", 0, offset) + 1)
        place = {"line": line, "character": column}
        params = {"textDocument": document, "position": place, **more}
        return client.ask(f"textDocument/{method}", params)

    try:
        client.open(path, text)
        client.published(path, 1)
        variable = text.index("N^")
        until = time.monotonic() + SECONDS
        while "latex" not in (content := ask("hover", variable)["contents"])["value"]:
            assert time.monotonic() < until  # the worker may have to start first
            time.sleep(0.05)
        assert content["kind"] == "markdown"
        assert "∂L/∂N = -A*alpha/N^(alpha + 1)" in content["value"]
        assert r"\frac{\partial L}{\partial N}" in content["value"]
        assert r"\*bold\* \<b\>" in content["value"]
        found = ask("completion", text.index("E\n"))["items"]
        assert {"N", "log"} <= {item["label"] for item in found}
        assert ask("definition", variable)["range"]["start"] == {"line": 1, "character": 9}
        places = ask("references", variable, context={"includeDeclaration": True})
        assert {p["uri"] for p in places} == {path.as_uri(), other.as_uri()}
        assert len(ask("documentHighlight", variable)) == 2
        assert ask("prepareRename", variable)["placeholder"] == "N"
        edits = ask("rename", variable, newName="size")["documentChanges"]
        assert {e["textDocument"]["uri"] for e in edits} == {path.as_uri(), other.as_uri()}
        with pytest.raises(AssertionError, match="is a keyword"):
            ask("prepareRename", text.index("parameter"))
        options = {"tabSize": 4, "insertSpaces": True}
        assert len(ask("formatting", options=options)) == 1
        assert ask("documentSymbol")[0]["name"] == "half"
        assert isinstance(ask("foldingRange"), list)
        chain = ask("selectionRange", positions=[{"line": 4, "character": 4}])[0]
        assert chain["parent"]
        data = ask("semanticTokens/full")["data"]
        assert len(data) % 5 == 0
        assert data[:5] == [0, 0, 3, 0, 0]  # the keyword `law`
    finally:
        assert client.end() == 0
