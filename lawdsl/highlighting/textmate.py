"""The token classes -> a TextMate grammar, which VS Code and many other editors read.

TextMate reads line by line and knows no logical lines. A statement of the language lasts here until
a line that begins another statement or an equation; that is where it ends in every file that
parses. The expressions are understood alike by Oniguruma, which editors use, and by Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from lawdsl.highlighting.token_classes import (
    CLASSES,
    CONSTANT_NAMES,
    FUNCTION_NAMES,
    OF_TERMINALS,
)
from lawdsl.language.keywords import LEADING, PLACED, SECTIONS, STATEMENTS, TRENDS
from lawdsl.language.tokens import grammar

Rule = dict[str, Any]

PATTERNS = {terminal.name: terminal.pattern.value for terminal in grammar().terminals}
NAME = PATTERNS["NAME"]
IN_WORD = NAME[NAME.rindex("[") : -1]  # the characters of a name
WORD_END = f"(?!{IN_WORD})"
GAP = r"[ \t]*"
PATH = rf"{NAME}(?:{GAP}\.{GAP}{NAME})*"
EQUATION = rf"{GAP}(?:\[[^\]\r\n]*\]{GAP})?="

BEHIND = {
    "NAME": rf"(?<={IN_WORD})",
    "NUMBER": r"(?<=[0-9])",
    "RPAR": r"(?<=\))",
    "RSQB": r"(?<=\])",
    "STRING": '(?<=")',
    "ORDER": f"(?<={PATTERNS['ORDER']})",
    "IN": f"(?<=[^{IN_WORD[1:]}in)",
    "SUBJECT": r"(?<=subject)",
}
"""Terminal -> what looks behind for it."""


def words(names: Iterable[str]) -> str:
    """An expression for words, of which none is the beginning of a name."""
    return f"(?:{'|'.join(re.escape(name) for name in names)}){WORD_END}"


# a line that begins a statement, apart from equations
KEYWORD_START = (
    f"{GAP}(?:{words(STATEMENTS)}|"
    f'{words(word for word in LEADING if word != "note")}(?={GAP}{NAME})|note(?={GAP}"))'
)
START = f"(?:{KEYWORD_START}|{GAP}{NAME}{EQUATION})"


def scope(kind: str) -> str:
    """The scope of a class."""
    return f"{CLASSES[kind].textmate}.law"


def token(kind: str, match: str) -> Rule:
    """A rule for tokens of one class."""
    return {"name": scope(kind), "match": match}


def grammar_json() -> str:
    """The text of `law.tmLanguage.json`."""
    repository: dict[str, Rule] = {"tokens": {"patterns": _tokens()}}
    statements: list[Rule] = []
    placed_in: dict[tuple[str, ...], list[str]] = {}
    for word in (*STATEMENTS, *LEADING):
        inside = tuple(placed for placed, (homes, _) in PLACED.items() if word in homes)
        placed_in.setdefault(inside, []).append(word)
    for inside, leaders in placed_in.items():
        body = f"body-{leaders[0]}"
        repository |= _body(body, inside)
        statements += [_statement(word, body, inside) for word in leaders]
    statements.append(
        {
            "begin": rf"^{GAP}({NAME})(?={EQUATION})",
            "beginCaptures": {"1": {"patterns": [{"include": "#words"}]}},
            "end": f"^(?={START})",
            "patterns": [{"include": "#body-law"}],
        }
    )
    repository["words"] = {"patterns": _names()}
    content = {
        "information_for_contributors": "made by `python -m lawdsl.highlighting`; do not edit",
        "name": "law",
        "scopeName": "source.law",
        "fileTypes": ["law"],
        "patterns": [*statements, {"include": "#tokens"}],
        "repository": repository,
    }
    return _text(content)


def markdown_json() -> str:
    """The text of `markdown.tmLanguage.json`: blocks of the language in Markdown."""
    fence = {
        "begin": r"(^|\G)(\s*)(`{3,}|~{3,})\s*(?i:(law|lawdsl)(\s+[^`~]*)?$)",
        "name": "markup.fenced_code.block.markdown",
        "beginCaptures": {
            "3": {"name": "punctuation.definition.markdown"},
            "4": {"name": "fenced_code.block.language.markdown"},
        },
        "end": r"(^|\G)(\2|\s{0,3})(\3)\s*$",
        "endCaptures": {"3": {"name": "punctuation.definition.markdown"}},
        "patterns": [
            {
                "begin": r"(^|\G)(\s*)(.*)",
                "while": r"(^|\G)(?!\s*([`~]{3,})\s*$)",
                "contentName": "meta.embedded.block.law",
                "patterns": [{"include": "source.law"}],
            }
        ],
    }
    content = {
        "information_for_contributors": "made by `python -m lawdsl.highlighting`; do not edit",
        "scopeName": "markdown.law.codeblock",
        "injectionSelector": "L:text.html.markdown",
        "fileTypes": [],
        "patterns": [{"include": "#law"}],
        "repository": {"law": fence},
    }
    return _text(content)


def _text(content: Rule) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _statement(word: str, body: str, placed: Sequence[str]) -> Rule:
    """The rule of a statement: its keyword, what is named behind it, and all that follows."""
    is_section = word in SECTIONS
    captures: Rule = {"1": {"name": scope("section" if is_section else "statement")}}
    name = {"patterns": [{"include": "#words"}]}
    named = follower = ""
    if is_section or word == "extends":
        named = f"(?:{GAP}({PATH}))?"
        captures["2"] = {"name": scope("law")}
    elif any("NAME" in PLACED[each][1] for each in placed) and word not in ("require", "subject"):
        # a name may be spelled like the word behind it: `index over over labels`
        named = rf"(?:{GAP}({NAME})(?:[ \t]+({'|'.join(placed)}){WORD_END})?)?"
        captures |= {"2": name, "3": {"name": scope("keyword")}}
        if word == "step":
            path = rf"({PATH})(?!{IN_WORD}|{GAP}[.:])"
            one = rf"{path}(?:[ \t]+({'|'.join(placed)}){WORD_END})?"
            named = rf"(?:{GAP}(?:{one}|({NAME})(?={GAP}:)))?"
            captures |= {"2": {"name": scope("law")}, "4": name}
    if word in LEADING:
        follower = rf'(?={GAP}")' if word == "note" else f"(?={GAP}{NAME})"
    return {
        "name": f"meta.statement.{word}.law",
        "begin": f"^{GAP}({word}){WORD_END}{follower}{named}",
        "beginCaptures": captures,
        "end": f"^(?={START})",
        "patterns": [{"include": f"#{body}"}],
    }


def _body(name: str, placed: tuple[str, ...]) -> dict[str, Rule]:
    """What may stand in some statements, and the part of it from an `if` on."""
    of_derivative = f"(?<!∂{PATTERNS['ORDER']})"
    keywords = "".join(rf"(?<!{GAP[:-1]}{word})" for word in PLACED)
    rules = []
    for word in placed:
        behind = "|".join(BEHIND[terminal] for terminal in PLACED[word][1])
        match = f"(?:{behind}){keywords}{of_derivative}{GAP}({word}){WORD_END}"
        rules.append({"match": match, "captures": {"1": {"name": scope("keyword")}}})
    follows = rf"{GAP}(?:{NAME}|[0-9(∂]|-(?!>)|#|\r?$)"
    condition = {
        "begin": rf"(?<!\.)if{WORD_END}(?={follows})",
        "beginCaptures": {"0": {"name": scope("conditional")}},
        "end": f"^(?={START})",
        "patterns": [
            token("conditional", rf"(?<!\.)(?:then|else){WORD_END}(?!{GAP}\.(?!\.))"),
            {"include": f"#{name}"},
        ],
    }
    conditional = f"if-{name}"
    patterns = [*rules, {"include": f"#{conditional}"}, {"include": "#tokens"}]
    return {name: {"patterns": patterns}, conditional: condition}


def _tokens() -> list[Rule]:
    """Tokens that mean the same in all statements."""
    signs = {
        kind: [name for name, of in OF_TERMINALS.items() if of == kind and name in PATTERNS]
        for kind in ("operator", "bracket", "delimiter")
    }
    comment = token("comment", PATTERNS["COMMENT"])
    return [
        comment,
        token("string", PATTERNS["STRING"]),
        {
            # `name = value` behind it is a part of the statement, not an equation
            "begin": rf"(?:(\()|(,))(?={GAP}(?:#[^\r\n]*)?\r?$)",
            "beginCaptures": {"1": {"name": scope("bracket")}, "2": {"name": scope("delimiter")}},
            "end": rf"^(?={KEYWORD_START})|^{GAP}({NAME})(?={EQUATION})|(?=[^\s#])",
            "endCaptures": {"1": {"patterns": [{"include": "#words"}]}},
            "patterns": [comment],
        },
        {
            "begin": f"unit{WORD_END}",
            "beginCaptures": {"0": {"name": scope("keyword")}},
            "end": rf'(?=")|^(?={START})|(?<={IN_WORD})(?={GAP}(?:#|\r?$))',
            "patterns": [
                comment,
                token("unit", NAME),
                token("number", PATTERNS["NUMBER"]),
                token("operator", r"[*/^-]"),
            ],
        },
        {
            "match": f"(expect){WORD_END}{GAP}({NAME})",
            "captures": {"1": {"name": scope("keyword")}, "2": {"name": scope("verdict")}},
        },
        {
            "begin": f"(:)|(is){WORD_END}",
            "beginCaptures": {
                "1": {"name": scope("delimiter")},
                "2": {"name": scope("keyword")},
            },
            "end": rf"^(?={START})|({PATH})|(?=[^\s#])",
            "endCaptures": {"1": {"name": scope("law")}},
            "patterns": [comment],
        },
        token("section", words(SECTIONS)),
        token("statement", words(STATEMENTS[len(SECTIONS) :])),
        token("keyword", words(("for", "in", "as", "finite", "expect", *TRENDS))),
        *_names(),
        token("number", PATTERNS["NUMBER"]),
        *(token(kind, _signs(names)) for kind, names in signs.items()),
        token("illegal", r"\S"),
    ]


def _names() -> list[Rule]:
    return [
        token("function", f"(?:{'|'.join(FUNCTION_NAMES)})(?={GAP}\\()"),
        token("constant", words(CONSTANT_NAMES)),
        token("name", NAME),
    ]


def _signs(names: list[str]) -> str:
    """An expression for terminals of signs, longer ones first."""
    literal = {t.name for t in grammar().terminals if t.pattern.type == "str"}
    spellings = sorted((PATTERNS[name] for name in names if name in literal), key=len, reverse=True)
    classes = [PATTERNS[name] for name in names if name not in literal]
    return "|".join([*map(re.escape, spellings), *classes])
