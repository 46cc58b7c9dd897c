"""The stored tables of the parser: those of the grammar, and the same trees as without them."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from lark import Lark

from lawdsl.language import parser, parser_tables, tokens
from lawdsl.language.ast_builder import Builder

ROOT = Path(__file__).resolve().parent.parent
LAWS = sorted((ROOT / "laws").rglob("*.law"))


def text(name: str) -> str:
    with as_file(files("lawdsl.grammars") / name) as path:
        return path.read_text(encoding="utf-8")


def terminals(built: Lark) -> list[str]:
    """The terminals of a parser."""
    return sorted(repr((t.name, t.pattern, t.priority)) for t in built.terminals)


def test_the_stored_tables_are_those_of_the_grammar():
    """Else run `python -m lawdsl.language.parser_tables`."""
    assert text(parser_tables.TABLES) == parser_tables.tables(text(parser_tables.GRAMMAR))


def test_the_stored_tables_give_the_parser_that_the_grammar_gives(monkeypatch: pytest.MonkeyPatch):
    stored = parser_tables.parser(Builder())
    computed = parser_tables.computed(text(parser_tables.GRAMMAR), Builder())
    assert terminals(stored) == terminals(computed)
    laws = [path.read_text(encoding="utf-8") for path in LAWS]
    laws += ["law x\nL = (1 +\n", "law x\nL = 1 2\nrequire L\n", "question q\nminimize\n"]
    trees = []
    for built in (stored, computed):
        monkeypatch.setattr(parser, "grammar", lambda built=built: built)
        monkeypatch.setattr(tokens, "grammar", lambda built=built: built)
        tokens.lexer.cache_clear()
        trees.append([parser.parse(law) for law in laws])
    tokens.lexer.cache_clear()
    assert trees[0] == trees[1]


@pytest.mark.parametrize("made_of", ["another grammar", "another version of Lark", "no file"])
def test_tables_of_another_origin_are_not_used(made_of: str, monkeypatch: pytest.MonkeyPatch):
    grammar = text(parser_tables.GRAMMAR)
    other = grammar.replace('"finite"', '"finitely"')
    assert other != grammar
    if made_of == "another grammar":
        assert parser_tables.origin(other) != parser_tables.origin(grammar)
    # what a comment says does not matter
    assert parser_tables.origin(f"// more\n{grammar}\n") == parser_tables.origin(grammar)
    stored = json.dumps({"made of": "other", "data": {}, "memo": {}})
    contents = {parser_tables.GRAMMAR: grammar, parser_tables.TABLES: stored}
    if made_of == "no file":
        del contents[parser_tables.TABLES]
    monkeypatch.setattr(parser_tables, "_text", contents.get)
    assert parser_tables.parser(Builder()).terminals
