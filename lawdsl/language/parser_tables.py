"""Grammar -> its parser, from tables that were computed before: `grammars/law.tables.json`.

The tables of an LALR(1) parser follow from the grammar alone, and take a tenth of a second to
compute, as long as many commands take. The file names the grammar and the version of Lark that it
was made of; with any other of them the tables are computed from the grammar.

`python -m lawdsl.language.parser_tables` writes the file.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

GRAMMAR, TABLES = "law.lark", "law.tables.json"
OPTIONS: dict[str, Any] = {
    "parser": "lalr",
    "lexer": "basic",
    "start": "statement",
    "maybe_placeholders": True,
}


def parser(transformer: Any) -> Lark:
    """The parser of the language.

    Never Lark's own `cache=True`: that would unpickle a file with a guessable name.

    Args:
        transformer: the builder of syntax trees, with a method for each rule.
    """
    grammar = grammar_text()
    content = _text(TABLES)
    stored = None if content is None else json.loads(content)
    if stored is None or stored["made of"] != origin(grammar):
        return computed(grammar, transformer)
    memo = {int(number): entry for number, entry in stored["memo"].items()}
    data = stored["data"]
    table = data["parser"]["parser"]
    table["tokens"] = dict(enumerate(table["tokens"]))
    table["states"] = {
        number: {token: (action, argument) for token, action, argument in actions}
        for number, actions in enumerate(table["states"])
    }
    return Lark._load_from_dict(data, memo, transformer=transformer)  # type: ignore[no-untyped-call]


def grammar_text() -> str:
    """The text of `grammars/law.lark`."""
    text = _text(GRAMMAR)
    assert text is not None
    return text


def computed(grammar: str, transformer: Any = None) -> Lark:
    """The parser of a grammar, with tables that are computed from it.

    Args:
        grammar: its text.
        transformer: the builder of syntax trees, with a method for each rule.
    """
    return Lark(grammar, transformer=transformer, **OPTIONS)


def origin(grammar: str) -> str:
    """What tables depend on: a digest of options and grammar, apart from its comments, and the
    version of Lark.
    """
    lines = (line.rstrip() for line in grammar.splitlines())
    rules = [line for line in lines if line and not line.startswith("//")]
    content = repr((sorted(OPTIONS.items()), rules))
    return f"{hashlib.sha256(content.encode()).hexdigest()}, lark {lark.__version__}"


def tables(grammar: str) -> str:
    """The tables of a grammar as the text of a file.

    Args:
        grammar: its text.
    """
    data, memo = computed(grammar).memo_serialize([TerminalDef, Rule])
    data["parser"]["parser"] = _canonical(data["parser"]["parser"])
    content = {"made of": origin(grammar), "data": data, "memo": memo}
    return json.dumps(content, separators=(",", ":")) + "\n"


def _canonical(table: dict[str, Any]) -> dict[str, Any]:
    """A parse table with lists in place of numbered entries.

    Lark numbers tokens and states in the order of sets, which differs from process to process. Here
    tokens are sorted, and states follow in the order in which they are reached from the start.
    """
    names: dict[int, str] = table["tokens"]
    numbers = {name: number for number, name in enumerate(sorted(names.values()))}
    actions = {
        state: sorted([numbers[names[token]], *action] for token, action in row.items())
        for state, row in table["states"].items()
    }
    reached = [table["start_states"][OPTIONS["start"]]]
    for state in reached:  # grows
        targets = (argument for _, is_reduction, argument in actions[state] if not is_reduction)
        reached += [target for target in dict.fromkeys(targets) if target not in reached]
    order = {state: number for number, state in enumerate(reached)}

    def renumbered(action: list[Any]) -> list[Any]:
        token, is_reduction, argument = action
        return action if is_reduction else [token, is_reduction, order[argument]]

    return {
        "tokens": list(numbers),
        "states": [[renumbered(action) for action in actions[state]] for state in reached],
        "start_states": {start: order[state] for start, state in table["start_states"].items()},
        "end_states": {start: order[state] for start, state in table["end_states"].items()},
    }


def _text(name: str) -> str | None:
    """The text of a file beside the grammar; None where it does not exist."""
    with as_file(files("lawdsl.grammars") / name) as path:
        return path.read_text(encoding="utf-8") if path.exists() else None


def _write() -> None:
    with as_file(files("lawdsl.grammars") / GRAMMAR) as path:
        text = tables(grammar_text())
        Path(path).with_name(TABLES).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    _write()
