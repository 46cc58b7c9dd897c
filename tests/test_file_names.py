"""A law has the name of its file, by which other files find it; where it has not, its file says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import lawdsl
from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.editing.document import read_document
from lawdsl.editing.fixes import corrections
from lawdsl.editing.law_names import law_names
from lawdsl.editing.names import File, Files
from lawdsl.editing.rename import RenameRefused, renamed_word
from lawdsl.language.library import declarations, declared
from lawdsl.server.open_documents import OpenDocuments

LAW = """law {} "a title"
variable N > 0
parameter E > 0
L = E + 1/N
require L > E
"""
USER = "law user\nextends {}\nL = {} + 1\n"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def named(path: Path) -> list[str]:
    return [f"{d.message}|{d.help}" for d in declarations(str(path))[1] if d.code == "L0340"]


@pytest.mark.parametrize(
    ("file", "name", "help"),
    [
        ("base1.law", "other", "rename the file to other.law, or write `law base1`"),
        ("my-law.law", "my_law", "rename the file to my_law.law"),
        ("l3.law", "dcpt.l3", "rename the file to dcpt/l3.law, or write `law l3`"),
        ("base.law", "base", None),
        ("dcpt/l3.law", "dcpt.l3", None),
        ("dcpt/l3.law", "dcpt . l3", None),
        ("dcpt/l3.law", "l3", None),
        ("alpha.law", "α", None),
    ],
)
def test_a_law_that_has_not_the_name_of_its_file(
    tmp_path: Path, file: str, name: str, help: str | None
) -> None:
    path = written(tmp_path / file, LAW.format(name))
    message = f"the law `{name}` stands in {path.name}: other files cannot name it"
    assert named(path) == ([] if help is None else [f"{message}|{help}"])
    # the warning is true: a file beside it, or above it, finds the law or not
    found = []
    for folder in (path.parent, tmp_path):
        called = ".".join(path.relative_to(folder).with_suffix("").parts)
        try:
            declared(Text("user.law", USER.format(called, called)), folder)
        except LawdslError:
            continue
        found.append(called)
    assert bool(found) == (help is None)


@pytest.mark.parametrize("options", [(), ("--syntax",), ("--json",)])
def test_check_says_so(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = written(tmp_path / "base1.law", LAW.format("other"))
    done = CliRunner().invoke(cli, ["check", str(path), *options])
    assert done.exit_code == 0 and "L0340" in done.output


def test_texts_without_a_file_have_no_such_message(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["check", "-"], input=LAW.format("other"))
    assert done.exit_code == 0 and "L0340" not in done.output
    opened = OpenDocuments(folder=tmp_path)
    untitled = opened.read(opened.open("untitled:Untitled-1", 1, LAW.format("other")))
    assert untitled.diagnostics == ()
    question = 'question q "?"\nchoose x > 1\nminimize x\n'
    assert opened.read(opened.open("untitled:Untitled-2", 1, question)).diagnostics == ()
    uri = (tmp_path / "base1.law").as_uri()
    on_disk = opened.read(opened.open(uri, 1, LAW.format("other")))
    assert [d.code for d in on_disk.diagnostics] == ["L0340"]
    assert lawdsl.load(str(written(tmp_path / "base1.law", LAW.format("other")))).name == "other"


def test_the_correction_in_an_editor_gives_the_law_the_name_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "base1.law"
    document = read_document(LAW.format("other"), path)
    (message,) = document.diagnostics
    assert message.span is not None
    (correction,) = corrections(document, message.span)
    (edit,) = correction.edits
    after = document.text[: edit.span.start] + edit.text + document.text[edit.span.end :]
    assert not correction.safe and after == LAW.format("base1")
    assert read_document(after, path).diagnostics == ()


def test_what_cannot_be_named_is_not_suggested(tmp_path: Path) -> None:
    written(tmp_path / "base1.law", LAW.format("other"))
    user = read_document(USER.format("base", "base"), tmp_path / "user.law")
    (message,) = user.diagnostics
    assert message.help == "`lawdsl laws` lists the shipped laws" and not message.suggested
    written(tmp_path / "base2.law", LAW.format("base2"))
    user = read_document(USER.format("base", "base"), tmp_path / "user.law")
    assert user.diagnostics[0].help == "did you mean `base2`?"
    assert [edit.text for edit in user.diagnostics[0].suggested] == ["base2"]


def test_what_cannot_be_named_is_not_completed(tmp_path: Path) -> None:
    written(tmp_path / "base1.law", LAW.format("other"))
    written(tmp_path / "base2.law", LAW.format("base2"))
    written(tmp_path / "sub" / "base3.law", LAW.format("sub.base3"))
    written(tmp_path / "sub" / "base4.law", LAW.format("base4"))
    file = File(tmp_path / "user.law", "law user\nextends \n", tmp_path)
    beside = [name for name, _ in law_names(file, ("law",), Files()) if "dcpt" not in name]
    assert beside[:2] == ["base2", "sub.base3"] and not {"base1", "sub.base4"} & set(beside)


@pytest.mark.parametrize(
    ("name", "says"),
    [("base1", "rename the file"), ("other", "this name differs from it: correct the first line")],
)
def test_renaming_a_law_says_what_to_do(tmp_path: Path, name: str, says: str) -> None:
    file = File(tmp_path / "base1.law", LAW.format(name), tmp_path)
    with pytest.raises(RenameRefused, match=says):
        renamed_word(file, len("law "), Files())
