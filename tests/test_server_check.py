"""The language server shows the messages, verdicts and corrections of `lawdsl check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from language_client import PlainClient
from shown_messages import FIXTURES, LAWS, as_shown, by_check, of_editor

from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError
from lawdsl.editing.document import read_document
from lawdsl.editing.fixes import all_corrected, corrections
from lawdsl.language.library import OpenFiles
from lawdsl.messages.table import MESSAGES
from lawdsl.server.conversions import diagnostic


def read_as_shown(path: Path) -> set[tuple[Any, ...]]:
    """The messages about a file as the server shows them while its claims are not yet decided."""
    document = read_document(path.read_text(encoding="utf-8"), path)
    positions = document.positions()
    uri = path.absolute().as_uri()
    return of_editor([diagnostic(d, document, uri, positions) for d in document.diagnostics])


@pytest.mark.parametrize("path", LAWS[::12] + FIXTURES[::20], ids=lambda path: path.stem)
def test_messages_are_those_of_check(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert read_as_shown(path) == as_shown(by_check(path, "--syntax"), text)


def test_messages_about_every_mistake_are_those_of_check(tmp_path: Path) -> None:
    seen = set()
    for number, (code, message) in enumerate(sorted(MESSAGES.items())[::2]):
        for example in message.bad[:1]:
            path = tmp_path / f"mistake{number}.law"
            path.write_text(example, encoding="utf-8")
            shown = read_as_shown(path)
            assert shown == as_shown(by_check(path, "--syntax"), example), code
            seen |= {d[0] for d in shown}
    assert len(seen) > 30


@pytest.mark.slow
@pytest.mark.parametrize("path", [*LAWS, *FIXTURES], ids=lambda path: path.stem)
def test_messages_about_every_file_are_those_of_check(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert read_as_shown(path) == as_shown(by_check(path, "--syntax"), text)


WARNED = {
    "unused": """law unused "a parameter and a variable that are never used"
variable N > 0
variable D > 0
parameter E, zeta > 0
L = E + 1/N
require L > E
""",
    "called": """law otherwise "which has not the name of its file"
variable N > 0
parameter E > 0
L = E + 1/N
""",
    "units": """law units "terms in different units"
variable N > 0 unit Mparam
variable D > 0 unit Gtoken
parameter E > 0
let sum_of = N + D
L = E + 1/sum_of
require L > E
require L increasing in N  expect refuted
""",
    "lost": """law lost "parameters that no data can tell apart, and a setting that is never used"
variable N > 0
setting k = 3
parameter E, A, B, unused > 0
L = E + A*B/N
require L > E
""",
}


def test_warnings_about_a_text_and_its_claims_are_those_of_check(tmp_path: Path) -> None:
    paths = []
    for name, text in WARNED.items():
        paths.append(tmp_path / f"{name}.law")
        paths[-1].write_text(text, encoding="utf-8")
        assert by_check(paths[-1])
    messages_are_those_of_check(paths, tmp_path)
    of_unused = [(d["code"], d["start"]) for d in by_check(paths[0])]
    assert sorted(of_unused) == [("F0114", [4, 14]), ("L0309", [3, 10])]


@pytest.mark.slow
def test_all_messages_and_verdicts_are_those_of_check(tmp_path: Path) -> None:
    """Every shipped law and every fixture, over the protocol, with its claims."""
    messages_are_those_of_check([*LAWS, *FIXTURES], tmp_path)


def messages_are_those_of_check(paths: list[Path], folder: Path) -> None:
    """Assert that an editor shows the messages and verdicts of `lawdsl check` about each file."""
    client = PlainClient(folder)
    for path in paths:
        text = path.read_text(encoding="utf-8")
        client.open(path, text)
        arguments = {"command": "lawdsl.check", "arguments": [path.as_uri()]}
        answer = client.request("workspace/executeCommand", arguments)
        _, diagnostics = client.published(path, 1)
        while any(m["params"]["uri"] == path.as_uri() for _, m in client.arrived if "params" in m):
            _, diagnostics = client.published(path, 1)
        result = CliRunner().invoke(cli, ["check", "--json", str(path)], prog_name="lawdsl")
        found = by_check(path)
        if isinstance(result.exception, LawdslError):  # of the proofs, without what the text has
            found += by_check(path, "--syntax")
        expected = as_shown(found, text)
        shown = {
            (
                d["code"],
                "error" if d["severity"] == 1 else "warning",
                d["message"],
                tuple(d["range"]["start"].values()),
                tuple(d["range"]["end"].values()),
                tuple(r["message"] for r in d.get("relatedInformation", ())),
            )
            for d in diagnostics
            if not str(d["code"]).startswith("claim-")
        }
        assert shown == expected, path
        if not isinstance(result.exception, LawdslError):
            claims = json.loads(result.stdout)["result"]["claims"]
            assert [(c["claim"], c["verdict"], c["expect"]) for c in answer["claims"]] == [
                (c["claim"], c["verdict"], c["expect"]) for c in claims
            ], path
        client.notify("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
        client.forget()
    assert client.end() == 0


def test_every_correction_of_a_mistake_makes_the_text_that_check_makes(tmp_path: Path) -> None:
    corrected = 0
    for number, message in enumerate(MESSAGES.values()):
        for example in message.bad[:1]:
            path = tmp_path / f"mistake{number}.law"
            document = read_document(example, path)
            edit = all_corrected(document, OpenFiles())
            if edit is None:
                continue
            path.write_text(example, encoding="utf-8")
            CliRunner().invoke(cli, ["check", "--syntax", "--fix", str(path)], prog_name="lawdsl")
            after = example[: edit.span.start] + edit.text + example[edit.span.end :]
            assert path.read_text(encoding="utf-8") == after
            for d in document.diagnostics:
                if d.edits and d.span is not None:
                    assert d in [c.diagnostic for c in corrections(document, d.span)]
            corrected += 1
    assert corrected > 5
