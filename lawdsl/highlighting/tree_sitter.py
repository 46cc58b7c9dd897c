"""`grammars/law.lark` -> the grammar of tree-sitter, the words of its scanner, and its queries.

A rule of the grammar becomes the rule of that name. Rules that Lark replaces by their only child
(`?formula`) are hidden, with `_` before the name, and an alternative with an alias is a rule with
the name of the alias. All tokens come from the scanner, `src/scanner.c`, which is the lexer and
the logical lines of the language in C.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, cast

from lark import Token, Tree
from lark.load_grammar import load_grammar

from lawdsl.highlighting.token_classes import (
    CLASSES,
    CONSTANT_NAMES,
    FUNCTION_NAMES,
    OF_TERMINALS,
)
from lawdsl.language.keywords import LEADING, PIECEWISE, PLACED, SECTIONS, STATEMENTS, TRENDS
from lawdsl.language.parser_tables import grammar_text
from lawdsl.language.tokens import grammar

NODES = {
    "NAME": "identifier",
    "NUMBER": "numeral",
    "STRING": "string",
    "RELATION": "relation",
    "KIND": "kind",
    "TREND": "tendency",
    "ORDER": "order",
}
"""Terminals with several spellings -> the nodes of their tokens."""

_HEAD = """\
// The grammar of .law files for tree-sitter.
// Made from grammars/law.lark by `python -m lawdsl.highlighting`; do not edit.
"""
_C_HEAD = (
    "// Made from the tables of the language by `python -m lawdsl.highlighting`; do not edit.\n"
)


def grammar_js() -> str:
    """The text of `grammar.js`."""
    rules: dict[str, str] = {}
    # what an alias names replaces the rule, so that other rules refer to a hidden choice
    hidden = {
        name
        for (name, options), tree in zip(_rules(), _trees(), strict=True)
        if options.expand1 or any(alternative.data == "alias" for alternative in tree.children)
    }
    for (name, options), tree in zip(_rules(), _trees(), strict=True):
        plain: list[str] = []
        named: dict[str, list[str]] = {}
        for alternative in tree.children:
            if alternative.data == "alias":
                expansion, alias = cast("tuple[Any, Any]", alternative.children)
                named.setdefault(str(alias.name), []).append(_js(expansion, hidden))
            else:
                plain.append(_js(alternative, hidden))
        for alias, alternatives in named.items():
            rule = _choice(alternatives)
            assert rules.setdefault(alias, rule) == rule, f"two meanings of {alias}"
        if plain and named and not options.expand1:
            rules[name] = _choice(plain)
            plain = [f"$.{name}"]
        rules[_node(name, hidden)] = _choice([*plain, *(f"$.{alias}" for alias in named)])
    externals = ",\n    ".join(_symbol(terminal) for terminal in terminals())
    body = ",\n\n".join(f"    {name}: ($) =>\n      {rule}" for name, rule in rules.items())
    return f"""{_HEAD}
module.exports = grammar({{
  name: "law",

  externals: ($) => [
    {externals},
    $.comment,
    $._line_end,
    $._line_joint,
    $._illegal,
  ],

  extras: ($) => [/[ \\t]|\\r?\\n/, $.comment, $._line_joint],

  rules: {{
    source_file: ($) => repeat(seq($._statement, $._line_end)),

{body},
  }},
}});
"""


@cache
def _definitions() -> Any:
    return load_grammar(grammar_text(), "law.lark", [], False)[0]  # type: ignore[no-untyped-call]


def _rules() -> list[tuple[str, Any]]:
    return [(str(name), options) for name, _, _, options in _definitions().rule_defs]


def _trees() -> list[Tree[Any]]:
    return [tree for _, _, tree, _ in _definitions().rule_defs]


@cache
def terminals() -> tuple[str, ...]:
    """The terminals that rules use, in the order of the grammar."""
    used = {
        str(value.name) if hasattr(value, "name") else _literal_terminal(str(value.children[0]))
        for tree in _trees()
        for node in tree.iter_subtrees_topdown()  # type: ignore[no-untyped-call]
        if node.data == "value"
        for value in node.children
        if isinstance(value, Tree) or getattr(value, "is_term", False)
    }
    declared = [str(name) for name, _ in _definitions().term_defs]
    anonymous = [t.name for t in grammar().terminals if t.name not in declared]
    return tuple(name for name in (*declared, *anonymous) if name in used)


@cache
def spellings() -> dict[str, str]:
    """Each terminal with a single spelling -> that spelling."""
    placed = {word.upper(): word for word in (*PLACED, *LEADING, *PIECEWISE)}
    fixed = {t.name: t.pattern.value for t in grammar().terminals if t.pattern.type == "str"}
    return fixed | placed


def _literal_terminal(literal: str) -> str:
    spelling = json.loads(literal)
    return next(name for name, value in spellings().items() if value == spelling)


def _symbol(terminal: str) -> str:
    """A terminal as tree-sitter writes it: a node, or its only spelling."""
    if terminal in NODES:
        return f"$.{NODES[terminal]}"
    return json.dumps(spellings()[terminal], ensure_ascii=False)


def _node(rule: str, hidden: set[str]) -> str:
    return f"_{rule}" if rule in hidden else rule


def _choice(alternatives: list[str]) -> str:
    return alternatives[0] if len(alternatives) == 1 else f"choice({', '.join(alternatives)})"


def _js(tree: Any, hidden: set[str]) -> str:
    """A part of a rule in tree-sitter's notation."""
    if isinstance(tree, Tree):
        parts = [_js(c, hidden) for c in tree.children if not isinstance(c, Token)]
        if tree.data == "literal":
            return json.dumps(json.loads(str(tree.children[0])), ensure_ascii=False)
        if tree.data == "maybe":
            return f"optional({parts[0]})"
        if tree.data == "expr":
            return f"{ {'*': 'repeat', '+': 'repeat1'}[str(tree.children[1])] }({parts[0]})"
        if tree.data in ("expansions", "expansion"):
            joined = ", ".join(parts)
            word = "choice" if tree.data == "expansions" else "seq"
            return parts[0] if len(parts) == 1 else f"{word}({joined})"
        assert tree.data == "value", tree.data
        return parts[0]
    if tree.is_term:
        return _symbol(str(tree.name))
    return f"$.{_node(str(tree.name), hidden)}"


def tokens_h() -> str:
    """The text of `src/tokens.h`: the tokens of the scanner, and the words that are not names."""
    names = [*terminals(), "COMMENT", "LINE_END", "LINE_JOINT", "ILLEGAL"]
    spelled = {value: name for name, value in spellings().items()}
    spelled |= dict.fromkeys(SECTIONS, "KIND") | dict.fromkeys(TRENDS, "TREND")
    words = sorted(word for word in spelled if word.isalpha() and word.isascii())
    homes = list(dict.fromkeys(home for homes, _ in PLACED.values() for home in homes))
    behind = list(dict.fromkeys(kind for _, kinds in PLACED.values() for kind in kinds))
    lines = [f"  {_c(name)}," for name in names]
    rows = []
    for word in words:
        within, places = PLACED.get(word, ((), ()))
        flags = [
            flag
            for flag, belongs in (
                ("IS_STATEMENT", word in STATEMENTS),
                ("IS_LEADING", word in LEADING),
                ("IS_PLACED", word in PLACED),
                ("IS_PIECEWISE", word in PIECEWISE),
            )
            if belongs
        ]
        home = 1 << homes.index(word) if word in homes else 0
        within_bits = sum(1 << homes.index(each) for each in within)
        behind_bits = sum(1 << behind.index(each) for each in places)
        rows.append(
            f'  {{"{word}", {_c(spelled[word])}, {" | ".join(flags) or "0"}, '
            f"{home:#x}, {within_bits:#x}, {behind_bits:#x}}},"
        )
    cases = "\n".join(
        f"    case {_c(kind)}:\n      return {1 << n:#x};" for n, kind in enumerate(behind)
    )
    return f"""{_C_HEAD}
#ifndef LAW_TOKENS_H_
#define LAW_TOKENS_H_

#include <stdint.h>

// In the order of `externals` in grammar.js.
enum Token {{
{chr(10).join(lines)}
  NO_TOKEN,
}};

enum {{ IS_STATEMENT = 1, IS_LEADING = 2, IS_PLACED = 4, IS_PIECEWISE = 8 }};

// home: the bit of a statement that other words have a place in; within: the statements that a
// word has its place in; behind: the tokens behind which it has it.
typedef struct {{
  const char *text;
  uint8_t token;
  uint8_t flags;
  uint16_t home;
  uint16_t within;
  uint16_t behind;
}} Word;

static const Word WORDS[] = {{
{chr(10).join(rows)}
}};

enum {{ WORD_COUNT = {len(words)}, LONGEST_WORD = {max(map(len, words))} }};

static inline uint16_t place_behind(uint8_t token) {{
  switch (token) {{
{cases}
    default:
      return 0;
  }}
}}

#endif
"""


def _c(terminal: str) -> str:
    names = {"__ANON_0": "RANGE", "__ANON_1": "ARROW", "__ANON_2": "ELLIPSIS"}
    if terminal in names:
        assert (
            spellings()[terminal]
            == {"RANGE": "..", "ARROW": "->", "ELLIPSIS": "..."}[names[terminal]]
        )
    return f"TOKEN_{names.get(terminal, terminal)}"


def highlights_scm(editor: str) -> str:
    """The text of `highlights.scm`.

    Args:
        editor: `neovim` or `helix`, which have different names for some classes.
    """
    captures = {name: getattr(row, editor) for name, row in CLASSES.items()}
    of_class: dict[str, list[str]] = {}
    for terminal in (*terminals(), "COMMENT"):
        node = "comment" if terminal == "COMMENT" else NODES.get(terminal)
        text = json.dumps(spellings().get(terminal, ""), ensure_ascii=False)
        of_class.setdefault(OF_TERMINALS[terminal], []).append(f"({node})" if node else text)
    patterns = []
    for kind, nodes in of_class.items():
        if captures[kind] is not None:
            joined = "\n  ".join(nodes)
            listed = nodes[0] if len(nodes) == 1 else f"[\n  {joined}\n]"
            patterns.append(f"{listed} @{captures[kind]}")

    def words(capture: str, names: tuple[str, ...]) -> str:
        return f"(#any-of? @{capture} {' '.join(json.dumps(n, ensure_ascii=False) for n in names)})"

    function, constant = captures["function"], captures["constant"]
    law = f'(path [(identifier) "."] @{captures["law"]})'
    patterns += [
        f"((identifier) @{constant}\n  {words(constant, CONSTANT_NAMES)})",
        f"(call\n  . (identifier) @{function}\n  {words(function, FUNCTION_NAMES)})",
        f"(aggregate\n  . (identifier) @{function}\n  {words(function, FUNCTION_NAMES)})",
        f"(unit_factor\n  (identifier) @{captures['unit']})",
        f'(require\n  "expect"\n  (identifier) @{captures["verdict"]})',
        *(f"({rule}\n  {law})" for rule in ("section", "extends", "reduction", "step", "uses")),
    ]
    head = (
        f"; Highlighting for {editor.capitalize()}; where two patterns match, the later one counts.\n"
        "; Made by `python -m lawdsl.highlighting`; do not edit.\n"
    )
    return head + "\n" + "\n\n".join(patterns) + "\n"
