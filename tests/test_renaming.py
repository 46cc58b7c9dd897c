"""Another name in all files, and the answers of the server over its protocol."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from language_client import PlainClient
from marked_texts import (
    LAW,
    SAMPLE,
    SECONDS,
    SHIPPED,
    applied,
    at_cursor,
    opened,
)

from lawdsl.core.diagnostics import Text
from lawdsl.editing.names import File
from lawdsl.editing.rename import RenameRefused, rename, renamed_word
from lawdsl.editing.words import words_of
from lawdsl.language.library import OpenFiles, declared_section
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document


def renamed_texts(texts: dict[Path, str], path: Path, offset: int, new: str) -> dict[Path, str]:
    files = opened(texts)
    among = [File(p, text, p.parent) for p, text in texts.items()]
    file = next(f for f in among if f.path == path)
    after = dict(texts)
    for part in rename(file, offset, new, among, files):
        after[part.path] = applied(after[part.path], part.edits)
    return after


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
                assert re.search("each label|passes .* on by its name", str(refused))
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

    def request(method: str, offset: int = 0, **more: object) -> object:
        line = text.count("\n", 0, offset)
        column = offset - (text.rfind("\n", 0, offset) + 1)
        place = {"line": line, "character": column}
        params = {"textDocument": document, "position": place, **more}
        return client.request(f"textDocument/{method}", params)

    try:
        client.open(path, text)
        client.published(path, 1)
        variable = text.index("N^")
        until = time.monotonic() + SECONDS
        while "latex" not in (content := request("hover", variable)["contents"])["value"]:
            assert time.monotonic() < until  # the worker may have to start first
            time.sleep(0.05)
        assert content["kind"] == "markdown"
        assert "∂L/∂N = -A*alpha/N^(alpha + 1)" in content["value"]
        assert r"\frac{\partial L}{\partial N}" in content["value"]
        assert r"\*bold\* \<b\>" in content["value"]
        proposals = request("completion", text.index("E\n"))["items"]
        assert {"N", "log"} <= {item["label"] for item in proposals}
        assert request("definition", variable)["range"]["start"] == {"line": 1, "character": 9}
        places = request("references", variable, context={"includeDeclaration": True})
        assert {p["uri"] for p in places} == {path.as_uri(), other.as_uri()}
        assert len(request("documentHighlight", variable)) == 2
        assert request("prepareRename", variable)["placeholder"] == "N"
        edits = request("rename", variable, newName="size")["documentChanges"]
        assert {e["textDocument"]["uri"] for e in edits} == {path.as_uri(), other.as_uri()}
        with pytest.raises(AssertionError, match="is a keyword"):
            request("prepareRename", text.index("parameter"))
        options = {"tabSize": 4, "insertSpaces": True}
        assert len(request("formatting", options=options)) == 1
        assert request("documentSymbol")[0]["name"] == "half"
        assert isinstance(request("foldingRange"), list)
        chain = request("selectionRange", positions=[{"line": 4, "character": 4}])[0]
        assert chain["parent"]
        data = request("semanticTokens/full")["data"]
        assert len(data) % 5 == 0
        assert data[:5] == [0, 0, 3, 0, 0]  # the keyword `law`
    finally:
        assert client.end() == 0
