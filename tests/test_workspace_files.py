"""The files that the language server looks into and edits: those of the folder, each once."""

from __future__ import annotations

import asyncio
import gc
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
from lsprotocol import types
from test_server_races import BASE, BUILT, Silent

from lawdsl.core.recent import RecentTexts
from lawdsl.editing import law_names
from lawdsl.editing.words import words_of
from lawdsl.server.open_documents import OpenDocuments
from lawdsl.server.session import Session
from lawdsl.server.structure_features import renamed


def test_renaming_edits_no_file_outside_the_folder_and_each_inside_once(tmp_path: Path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    built = BUILT.replace("L > 1", "L > E")
    (inside / "built.law").write_text(built, encoding="utf-8")
    (outside / "other.law").write_text(built, encoding="utf-8")
    (inside / "base.law").write_text(BASE, encoding="utf-8")
    (inside / "again.law").symlink_to(inside / "built.law")
    (inside / "other.law").symlink_to(outside / "other.law")
    session = Session(Silent(), OpenDocuments(inside))
    uri = (inside / "base.law").as_uri()
    session.documents.read(session.documents.open(uri, 1, BASE))
    params = types.RenameParams(types.TextDocumentIdentifier(uri), types.Position(2, 10), "floor")
    for versioned in (True, False):
        session.versioned_edits = versioned
        edit = asyncio.run(renamed(session, params))
        assert edit is not None
        parts = edit.document_changes or ()
        uris = [
            part.text_document.uri for part in parts if isinstance(part, types.TextDocumentEdit)
        ]
        assert sorted(uris or edit.changes or ()) == [uri, (inside / "built.law").as_uri()]


@pytest.mark.parametrize(
    ("limit", "value", "folders", "says"),
    [
        ("folders", 4, ["f0", "f1", "f2"], "there are more than 4 folders"),
        ("files", 2, ["f0", "f1"], "there are more than 2 files"),
        ("depth", 0, [], "there are folders more than 0 deep"),
        ("subfolders", 8, [], "contains more than 8 folders"),
        ("files", 9, [f"f{k}" for k in range(9)], ""),
    ],
)
def test_what_is_left_out_is_said(
    tmp_path: Path, limit: str, value: int, folders: list[str], says: str
):
    for number in range(9):
        (tmp_path / f"f{number}").mkdir()
        (tmp_path / f"f{number}" / "a.law").write_text(BASE, encoding="utf-8")
    reach = replace(
        law_names.Reach(files=100, folders=100, depth=3, subfolders=100), **{limit: value}
    )
    found = law_names.files_below(tmp_path, reach)
    assert [path.parent.name for path in found.paths] == folders
    assert found.left_out.endswith(says)
    assert bool(found.left_out) == bool(says)


def test_words_of_few_files_are_in_memory(tmp_path: Path):
    """Many large files that mention a name do not take the memory of all their words."""
    texts = [BASE + f"parameter p{k} > 0\n" * 5_000 for k in range(6)]
    read = [weakref.ref(words_of(text)) for text in texts]
    gc.collect()
    assert [words() is not None for words in read] == [False] * 4 + [True] * 2
    assert words_of(texts[-1]) is read[-1]()


def test_values_of_texts_are_bounded_by_their_characters():
    recent: RecentTexts[int] = RecentTexts(1_000)
    made: list[str] = []

    def value(text: str) -> int:
        return recent.get(text, lambda: made.append(text) or len(made))

    texts = [character * 200 for character in "abc"]
    assert [value(text) for text in (*texts, *texts)] == [1, 2, 3, 1, 2, 3]
    assert value("d" * 200) == 4  # the first, not used for longest, is forgotten
    assert [value(text) for text in texts[1:]] == [2, 3]
    assert value(texts[0]) == 5
    assert value("e" * 5_000) == 6
    assert value("e" * 5_000) == 6  # the last one is known however long it is
    assert value(texts[2]) == 7
    with pytest.raises(ZeroDivisionError):
        recent.get("f", lambda: 1 // 0)
    assert recent.get("f", lambda: 8) == 8
