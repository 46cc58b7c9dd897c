"""Renaming in a large workspace leaves the meaning of every file as it was; a referee reads all of them anew."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from large_workspace import write_workspace
from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified
from test_server_races import BASE, BUILT, Silent

from lawdsl.editing.document import read_document
from lawdsl.language.printer import print_formula
from lawdsl.law.law import Law
from lawdsl.server import structure_features, workspace
from lawdsl.server.open_documents import OpenDocuments
from lawdsl.server.reading_features import references_to
from lawdsl.server.session import Session
from lawdsl.server.structure_features import renamed
from lawdsl.server.workspace import Refused

NEW = "zeta"
Texts = dict[Path, str]


class Warned(Silent):
    """An editor that remembers warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, message: str) -> None:
        self.warnings.append(message)


def texts_in(folder: Path) -> Texts:
    return {p: p.read_text(encoding="utf-8") for p in sorted(folder.rglob("*.law"))}


def session_in(folder: Path, opened: Texts) -> Session:
    session = Session(Warned(), OpenDocuments(folder))
    for path, text in opened.items():
        session.documents.read(session.documents.open(path.as_uri(), 1, text))
    return session


def asked(session: Session, path: Path, name: str, new: str = NEW) -> types.RenameParams:
    """The request to rename the first mention of a name in an open document."""
    text = session.documents.by_uri[path.as_uri()].text
    found = re.search(rf"\b{name}\b", text)
    assert found is not None
    line = text.count("\n", 0, found.start())
    column = found.start() - (text.rfind("\n", 0, found.start()) + 1)
    document = types.TextDocumentIdentifier(path.as_uri())
    return types.RenameParams(document, types.Position(line, column), new)


def answer(session: Session, path: Path, name: str, new: str = NEW) -> types.WorkspaceEdit:
    edit = asyncio.run(renamed(session, asked(session, path, name, new)))
    assert edit is not None
    return edit


def after(texts: Texts, edit: types.WorkspaceEdit) -> Texts:
    """The texts after an edit; they have no characters beyond the first 65,536."""
    changed = dict(texts)
    for uri, edits in (edit.changes or {}).items():
        path = Path(uri.removeprefix("file://"))
        lines = changed[path].split("\n")
        for each in sorted(edits, key=lambda e: (e.range.start.line, -e.range.start.character)):
            start, end = each.range.start, each.range.end
            assert start.line == end.line
            line = lines[start.line]
            lines[start.line] = line[: start.character] + each.new_text + line[end.character :]
        changed[path] = "\n".join(lines)
    return changed


def built_on(path: Path, texts: Texts) -> set[Path]:
    """A file and all laws that extend it, directly or not, by the first words of their lines."""
    reached = {path}
    while True:
        more = set()
        for each, text in texts.items():
            found = re.search(r"^extends +(\S+)", text, re.MULTILINE)
            if found and each.parent.joinpath(*found[1].split(".")).with_suffix(".law") in reached:
                more.add(each)
        if more <= reached:
            return reached
        reached |= more


def meaning(path: Path, text: str, old_names: Callable[[Path], dict[str, str]]) -> Any:
    """What a file says, in terms of the names before: messages, the value of a law, calls of a question."""
    document = read_document(text, path)
    own = old_names(path)

    def old(written: str, names: dict[str, str] = own) -> str:
        return re.sub(r"\w+", lambda m: names.get(m[0], m[0]), written)

    starts = [text.count("\n", 0, d.span.start if d.span else 0) for d in document.diagnostics]
    messages = [
        (d.code, old(d.message), n) for d, n in zip(document.diagnostics, starts, strict=True)
    ]
    if document.declarations is not None:
        law = Law(document.declarations)
        values = {
            symbol: random.Random(old(str(name))).uniform(0.5, 2)
            for name, symbol in law.symbols.items()
        }
        value = f"{float(law.expression.subs(values)):.10g}"  # terms may be in another order
        return (
            messages,
            old(law.output),
            value,
            sorted(old(s) for s in document.declarations.symbols),
        )
    if document.question is not None:
        question = document.question
        calls = []
        for call in question.values.values():
            law_path = Path(question.uses[call.use].text.name)
            law_names = old_names(law_path)
            arguments = {law_names.get(n, n): old(print_formula(f)) for n, f in call.arguments}
            calls.append((old(call.use), sorted(arguments.items())))
        names = sorted(old(s) for s in question.symbols)
        limits = [(old(print_formula(c.rhs)), c.relation) for c in question.constraints]
        return messages, sorted(calls), names, limits
    return messages


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("team000/base", "N"),
        ("team000/base", "E"),
        ("team000/base", "alpha"),
        ("team000/chain3", "c3"),
        ("team000/chain5", "E"),
        ("team000/long0", "p7"),
        ("team000/long1", "E"),
        ("team000/ask1", "N"),
        ("team000/ask1", "C"),
        ("team000/together", "m4"),
        ("team000/alone2", "N"),
        ("shared/common", "A"),
        ("own3", "D"),
    ],
)
def test_renaming_changes_no_meaning(tmp_path: Path, file: str, name: str):
    write_workspace(tmp_path, files=72, others=0)
    (tmp_path / "team000" / "line.law").unlink()  # a pipeline, which passes N on by its name
    (tmp_path / "huge.law").write_text("# N and E, and too large\n" * 50_000, encoding="utf-8")
    path = tmp_path / f"{file}.law"
    texts = texts_in(tmp_path)
    declares = path
    while not re.search(
        rf"^(variable|parameter|given|choose|uses) .*\b{name}\b", texts[declares], re.MULTILINE
    ):
        extended = re.search(r"^extends +(\S+)", texts[declares], re.MULTILINE)
        assert extended is not None
        declares = declares.parent.joinpath(*extended[1].split(".")).with_suffix(".law")
    changed = after(texts, answer(session_in(tmp_path, {path: texts[path]}), path, name))
    affected = built_on(declares, texts)
    taking = {
        p
        for p, text in texts.items()
        if any(
            (p.parent / f"{use}.law") in affected
            for use in re.findall(r"^uses .*: (\S+)", text, re.M)
        )
    }
    touched = {p for p in texts if changed[p] != texts[p]}
    assert declares in touched
    assert touched <= affected | taking

    before = {p: meaning(p, text, lambda p: {}) for p, text in texts.items()}
    for each, text in changed.items():
        each.write_text(text, encoding="utf-8")
    for each, text in changed.items():
        names = meaning(each, text, lambda p: {NEW: name} if p in affected else {})
        assert names == before[each], each
    laws = [text for p in affected if (text := changed[p]).startswith("law")]
    assert not any(re.search(rf"\b{name}\b", re.sub(r'"[^"]*"', "", text)) for text in laws)


@pytest.mark.parametrize(
    ("name", "new", "says"),
    [
        ("N", NEW, "the pipeline in line.law passes `N` on"),
        ("E", "D", "`D` is a variable already, in base.law, line 3"),
        ("E", "c3", "`c3` is a parameter already, in chain3.law, line 4"),
        ("E", "chain3", "`chain3` is in use already, in chain4.law, line 6"),
    ],
)
def test_a_name_in_use_in_any_file_is_refused_with_its_place(
    tmp_path: Path, name: str, new: str, says: str
):
    base = write_workspace(tmp_path, files=72, others=0)
    with pytest.raises(Refused) as refused:
        answer(session_in(tmp_path, {base: base.read_text()}), base, name, new)
    assert says in str(refused.value)


def test_a_name_that_a_call_gives_already_is_refused(tmp_path: Path):
    """The call has an error, which the other name would hide."""
    base, ask = tmp_path / "base.law", tmp_path / "ask.law"
    base.write_text(BASE, encoding="utf-8")
    text = "question ask\nuses m : base\nchoose N, zeta > 0\nminimize m(N, {})\n"
    for call in ("zeta = 1", "zeta"):
        ask.write_text(text.format(call), encoding="utf-8")
        with pytest.raises(Refused, match=r"`zeta` is in use already, in ask.law, line 4"):
            answer(session_in(tmp_path, {base: BASE}), base, "N")


def test_files_that_are_open_are_renamed_as_they_are_there(tmp_path: Path):
    base, built = tmp_path / "base.law", tmp_path / "built.law"
    base.write_text(BASE, encoding="utf-8")
    built.write_text(BUILT, encoding="utf-8")
    unsaved = "\ufeff# not saved\n\n" + BUILT.replace("L > 1", "L > E")
    session = session_in(tmp_path, {base: BASE, built: unsaved})
    session.versioned_edits = True
    session.documents.change(
        built.as_uri(), 7, [types.TextDocumentContentChangeWholeDocument(unsaved)]
    )
    edit = answer(session, base, "E")
    parts = {p.text_document.uri: p for p in edit.document_changes or ()}
    part = parts[built.as_uri()]
    assert part.text_document.version == 7
    assert [e.range.start for e in part.edits] == [types.Position(5, 12)]
    built.unlink()  # on disk; in the editor it is as it was
    assert answer(session, base, "E") == edit
    session.documents.close(built.as_uri())
    assert [p.text_document.uri for p in answer(session, base, "E").document_changes or ()] == [
        base.as_uri()
    ]


@pytest.mark.parametrize("change", ["edited", "removed"])
def test_a_file_that_changes_during_the_search_is_not_edited(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
):
    base, built = tmp_path / "base.law", tmp_path / "built.law"
    base.write_text(BASE, encoding="utf-8")
    built.write_text(BUILT.replace("L > 1", "L > E"), encoding="utf-8")
    rename = structure_features.rename

    def slowly(*arguments: Any) -> Any:
        parts = rename(*arguments)
        if change == "removed":
            built.unlink()
        else:
            built.write_text("# more\n" + BUILT, encoding="utf-8")
        return parts

    monkeypatch.setattr(structure_features, "rename", slowly)
    with pytest.raises(JsonRpcContentModified, match=r"built.law was (changed|removed)"):
        answer(session_in(tmp_path, {base: BASE}), base, "E")


def test_a_read_only_file_is_not_edited(tmp_path: Path):
    base, built = tmp_path / "base.law", tmp_path / "built.law"
    base.write_text(BASE, encoding="utf-8")
    built.write_text(BUILT.replace("L > 1", "L > E"), encoding="utf-8")
    built.chmod(0o444)
    with pytest.raises(Refused, match=r"built.law mentions the name and is read-only"):
        answer(session_in(tmp_path, {base: BASE}), base, "E")
    built.chmod(0o644)
    assert answer(session_in(tmp_path, {base: BASE}), base, "E").changes


@pytest.mark.parametrize(
    ("limit", "value", "says"),
    [
        ("MAX_FILES", 60, "there are more than 60 files"),
        ("MAX_CHARACTERS", 5_000, "they have more than 5,000 characters together"),
        ("SEARCH_SECONDS", 1e-9, "they take more than 1e-09 s"),
    ],
)
def test_beyond_a_limit_references_are_incomplete_and_renaming_is_refused(
    tmp_path: Path, limit: str, value: float, says: str, monkeypatch: pytest.MonkeyPatch
):
    base = write_workspace(tmp_path, files=72, others=0)
    session = session_in(tmp_path, {base: base.read_text()})
    request = asked(session, base, "alpha")
    context = types.ReferenceContext(include_declaration=True)
    params = types.ReferenceParams(context, request.text_document, request.position)
    assert len(asyncio.run(references_to(session, params)) or ()) == 2
    assert session.client.warnings == []
    monkeypatch.setattr(workspace, limit, value)
    if limit == "SEARCH_SECONDS":
        monkeypatch.setattr(workspace, "LAST_SECONDS", 20.0)
    assert len(asyncio.run(references_to(session, params)) or ()) == 2
    assert session.client.warnings == [f"not all references to `alpha` are listed: {says}"]
    with pytest.raises(
        Refused, match=r"not all files that may mention `alpha` can be searched"
    ) as e:
        asyncio.run(renamed(session, request))
    assert says in str(e.value)


def test_only_folders_whose_files_may_name_a_law_are_looked_into(tmp_path: Path):
    """A law of another folder has the same names, and cannot be meant; one outside of all is found."""
    (tmp_path / "workspace").mkdir()
    deep = tmp_path / "workspace" / "a" / ".b" / "c" / "d" / "e"
    deep.mkdir(parents=True)
    built = BUILT.replace("L > 1", "L > E")
    for folder in (deep, deep.parent, tmp_path):
        (folder / "base.law").write_text(BASE, encoding="utf-8")
        (folder / "built.law").write_text(built, encoding="utf-8")
    for folder in (deep, tmp_path):  # below the folder of the workspace, and not in it
        base = folder / "base.law"
        changes = answer(session_in(tmp_path / "workspace", {base: BASE}), base, "E").changes
        assert {Path(u.removeprefix("file://")) for u in changes or ()} == {
            base,
            folder / "built.law",
        }


def test_a_file_that_is_open_twice_is_edited_once(tmp_path: Path):
    base, built, again = (tmp_path / f"{name}.law" for name in ("base", "built", "again"))
    base.write_text(BASE, encoding="utf-8")
    built.write_text(BUILT, encoding="utf-8")
    again.symlink_to(built)
    text = BUILT.replace("L > 1", "L > E")
    session = session_in(tmp_path, {base: BASE, built: text, again: text})
    changes = answer(session, base, "E").changes or {}
    assert {uri: len(edits) for uri, edits in changes.items()} == {
        base.as_uri(): 2,
        built.as_uri(): 1,
    }


def test_a_file_that_cannot_be_read_may_mention_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """One that no command can read as a law, such as a folder or Latin-1, mentions nothing."""
    base, built = tmp_path / "base.law", tmp_path / "built.law"
    base.write_text(BASE, encoding="utf-8")
    built.write_bytes(BUILT.replace("law", "# \xe9\nlaw").encode("latin-1"))
    (tmp_path / "folder.law").mkdir()
    session = session_in(tmp_path, {base: BASE})
    assert list(answer(session, base, "E").changes or ()) == [base.as_uri()]
    # for the superuser every file is readable, whatever its mode
    monkeypatch.setattr(workspace.os, "access", lambda path, mode: path != built)
    with pytest.raises(Refused, match=r"searched, built.law cannot be read: rename it by hand"):
        answer(session, base, "E")
