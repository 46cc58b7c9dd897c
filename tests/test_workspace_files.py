"""The files that the language server looks into and edits: those of the folder, each once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types
from test_server_races import BASE, BUILT, Silent

from lawdsl.editing import law_names
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


def test_few_folders_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(law_names, "MAX_FOLDERS", 4)
    for number in range(9):
        (tmp_path / f"f{number}").mkdir()
        (tmp_path / f"f{number}" / "a.law").write_text(BASE, encoding="utf-8")
    paths = law_names.files_below(tmp_path, 100)
    assert [path.parent.name for path in paths] == ["f0", "f1", "f2"]
