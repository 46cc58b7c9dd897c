"""What an editor shows: a text with the cursor at `|`, and the expected answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from marked_texts import (
    HALF,
    LAW,
    NOTHING,
    SAMPLE,
    SHIPPED,
    applied,
    at_cursor,
    opened,
    shown,
    words_shown,
)

from lawdsl.cli import cli
from lawdsl.editing.completion import completions
from lawdsl.editing.completion_names import SEEN
from lawdsl.editing.document import Document, read_document
from lawdsl.editing.formatting import formatting
from lawdsl.editing.hover import Derivative, Known, file_of, hover
from lawdsl.editing.law_names import law_names
from lawdsl.editing.meanings import CONSTANTS, FUNCTIONS, KEYWORDS, VERDICTS, unit_meaning
from lawdsl.editing.names import File, Files
from lawdsl.editing.navigation import definition, highlights, references
from lawdsl.editing.outline import Entry, folds, outline, ranges_around
from lawdsl.editing.semantic_tokens import TYPES, semantic_tokens
from lawdsl.editing.words import words_of
from lawdsl.language import keywords
from lawdsl.language.library import declarations, shipped
from lawdsl.language.parse_cache import CACHE
from lawdsl.proof.verdict import Verdict
from lawdsl.server.tasks import derivative


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


def test_words_are_those_of_the_text_wherever_their_line_stands():
    for path in SHIPPED.values():
        text = path.read_text(encoding="utf-8")
        for word in words_of(text):
            written = text[word.span.start : word.span.end]
            assert word.text in (written, "".join(map(keywords.ascii_name, written.split())))
    lines = words_of(f"# first\n{LAW}\n\n{LAW}").lines
    half = len(lines) // 2
    for one, other in zip(lines[:half], lines[half:], strict=True):
        assert [(w.text, w.role) for w in one.words] == [(w.text, w.role) for w in other.words]
        assert {w.line for w in other.words} == {lines.index(other)}


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


def test_names_that_share_a_domain_are_shown_with_it(tmp_path: Path):
    text = HALF + "parameter E2, C, gamma > 0\nL = E2 + C + gam|ma + E + A/N^alpha/D\n"
    assert "parameter gamma > 0" in words_shown(text, tmp_path / "half.law")
    text = text.replace("gam|ma", "gamma").replace("E2 + C", "E|2 + C")
    assert "parameter E2 > 0" in words_shown(text, tmp_path / "half.law")


def test_a_missing_derivative_is_asked_for(tmp_path: Path):
    answer = shown(LAW.replace("A/N^", "A/|N^"), tmp_path / "half.law")

    assert answer is not None
    assert answer.derivative_of == "N"
    assert not any(block.kind == "latex" for block in answer.blocks)


@pytest.mark.parametrize("every", [61, pytest.param(1, marks=pytest.mark.slow)])
def test_the_worker_differentiates_each_shipped_law(every: int):
    symbols_of_files = [
        (path, symbol)
        for name, path in shipped().items()
        for symbol in declarations(name)[0].symbols.values()
        if symbol.kind in ("variable", "parameter", "let")
    ]
    for path, symbol in symbols_of_files[::every]:
        text = path.read_text(encoding="utf-8")
        request = {"text": text, "path": str(path), "name": str(path), "open": {}}
        answer = derivative({**request, "of": symbol.name}, lambda part: None)
        assert answer["text"].partition(" = ")[0].endswith(f"/∂{symbol.text}")
        assert answer["latex"].startswith(r"\frac{\partial ")


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
    fit("large.fit.json", "half", 10**400)
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
    assert "verdict: refuted (before the last edit)\nat N = 2: -1" in answer
    assert "refuted" not in words_shown(LAW.replace("L > E", "|L > E"), path, Known(of))


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("law x\npara|meter A > 0\n", "parameter: a fitted number"),
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
                places = list(references(target, [file, target.file], files))
                text = target.file.text[target.span.start : target.span.end]
                assert target.kind == "set" or keywords.ascii_name(text).strip('"') == target.name
                assert places


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
    places = highlights(File(tmp_path / "half.law", text, tmp_path), offset, opened({}))
    assert [text[p.span.start : p.span.end] for p in places] == ["alpha", "alpha"]
    assert [p.declares for p in places] == [True, False]
    fresh, offset = at_cursor(
        "law x\nrequire L decreasing in r[|a] against r[b] for t[a] < 0\nlet a = 1"
    )
    fresh = fresh.rpartition("\n")[0]
    assert len(highlights(File(tmp_path / "x.law", fresh, tmp_path), offset, opened({}))) == 2


def entries(document: Document) -> list[tuple[str, str]]:
    def flat(level: tuple[Entry, ...]) -> list[tuple[str, str]]:
        return [pair for e in level for pair in ((e.kind, e.name), *flat(e.inside))]

    return flat(outline(document))


def test_the_outline_lists_declarations_and_claims(tmp_path: Path):
    entries_in_order = entries(read_document(LAW + "parameter (", tmp_path / "half.law"))
    assert entries_in_order == [
        ("law", "half"),
        ("variable", "N"),
        ("variable", "D"),
        ("parameter", "E"),
        ("parameter", "A"),
        ("parameter", "alpha"),
        ("output", "L"),
        ("require", "L > E"),
    ]


def test_lines_without_names_are_listed_by_their_labels_or_as_wholes(tmp_path: Path):
    text = """question x
uses loss : chinchilla
given C > 0
choose N, D, r > 0
minimize r
subject to 6*N*D <= C  "compute"
subject to r >= loss(N, D)
"""
    entry = next(e for e in outline(read_document(text, tmp_path / "x.law")))
    shown = [(e.name, e.detail) for e in entry.inside if not e.kind[0] == "u" and e.kind != "given"]
    assert shown == [
        ("minimize r", ""),
        ("compute", 'subject to 6*N*D <= C "compute"'),
        ("subject to r >= loss(N, D)", ""),
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
    classes = [(text[t.span.start : t.span.end], t.type) for t in semantic_tokens(file, Files())]

    assert ("N", "variable") in classes
    assert classes.count(("alpha", "parameter")) == 2
    assert {("param", "type"), ("huber", "function"), ("1e-3", "number")} <= set(classes)
    assert {("# why", "comment"), ('"size"', "string"), ("half", "namespace")} <= set(classes)
    assert {t for _, t in classes} <= set(TYPES)


def test_formatting_is_that_of_the_command(tmp_path: Path):
    for name, path in [*SHIPPED.items()][::5]:
        text = path.read_text(encoding="utf-8").replace("  ", "   ").replace("\n\n", "\n\n\n")
        file = tmp_path / f"{name}.law"
        file.write_text(text, encoding="utf-8")
        edit = formatting(read_document(text, file), CACHE)
        CliRunner().invoke(cli, ["fmt", str(file)])
        assert edit is not None
        assert applied(text, (edit,)) == file.read_text(encoding="utf-8")
    for end in ("\n", "\r\n"):
        text = (LAW + 'note   "x"\n').replace("\n", end)
        file = tmp_path / "ends.law"
        file.write_bytes(text.encode("utf-8"))
        edit = formatting(read_document(text, file), CACHE)
        CliRunner().invoke(cli, ["fmt", str(file)])
        assert edit is not None
        assert applied(text, (edit,)) == file.read_bytes().decode("utf-8")
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


def answers_everything(text: str, path: Path, last: Document | None) -> Document:
    """Read a text and ask for all answers; nothing may fail."""
    document = read_document(text, path, last=last)
    file, files, offset = file_of(document), Files(), len(text)
    for proposal in completions(document, offset, files):
        assert proposal.span.end == offset
    answer = hover(document, offset, files, NOTHING)
    assert answer is None or answer.span.end <= offset
    definition(file, offset, files)
    highlights(file, offset, files)
    assert all(e.span.end <= offset for e in outline(document))
    assert all(0 <= t.span.start < t.span.end <= offset for t in semantic_tokens(file, files))
    folds(document)
    ranges_around(document, offset)
    return document


@pytest.mark.parametrize("every", [997, pytest.param(7, marks=pytest.mark.slow)])
def test_half_written_laws_have_answers(every: int):
    for name, path in SHIPPED.items():
        text = path.read_text(encoding="utf-8")
        last = None
        for end in range(sum(map(ord, name)) % every, len(text), every):
            last = answers_everything(text[:end], path, last)


def test_names_of_laws_are_looked_for_in_a_bounded_part_of_the_disk(tmp_path: Path):
    deep = tmp_path.joinpath(*"abcdef")
    deep.mkdir(parents=True)
    (deep / "far.law").write_text("law far\n", encoding="utf-8")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "other.law").write_text("law other\n", encoding="utf-8")
    file = File(tmp_path / "x.law", "law x\n", tmp_path)
    assert not {n for n, _ in law_names(file, ("law",), Files())} & {"a.b.c.d.e.f.far", "other"}
