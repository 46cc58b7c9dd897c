"""The classes of tokens that highlighters distinguish, and what each editor calls them."""

from __future__ import annotations

from dataclasses import dataclass

from lawdsl.language.keywords import (
    AGGREGATES,
    CONSTANTS,
    FUNCTIONS,
    LEADING,
    PIECEWISE,
    PLACED,
    SECTIONS,
    SPECIAL,
    STATEMENTS,
)


@dataclass(frozen=True)
class TokenClass:
    """A class of tokens.

    Attributes:
        textmate: the scope in a TextMate grammar, without the language at its end.
        pygments: the token type of Pygments.
        neovim: the capture in queries for Neovim; None where a token is shown as plain text.
        helix: the capture in queries for Helix.
        vim: the highlight group that Vim links the class to.
    """

    textmate: str
    pygments: str
    neovim: str | None
    helix: str | None
    vim: str | None


CLASSES = {
    "section": TokenClass(
        "keyword.control.section", "Keyword.Declaration", "keyword.type", "keyword", "Structure"
    ),
    "statement": TokenClass(
        "keyword.other.statement", "Keyword.Reserved", "keyword", "keyword", "Statement"
    ),
    "keyword": TokenClass("keyword.other", "Keyword", "keyword", "keyword", "Keyword"),
    "conditional": TokenClass(
        "keyword.control.conditional",
        "Keyword",
        "keyword.conditional",
        "keyword.control.conditional",
        "Conditional",
    ),
    "law": TokenClass("entity.name.type", "Name.Namespace", "module", "namespace", "Identifier"),
    "verdict": TokenClass(
        "constant.language.verdict", "Name.Label", "constant", "constant", "Constant"
    ),
    "function": TokenClass(
        "support.function", "Name.Builtin", "function.builtin", "function.builtin", "Function"
    ),
    "constant": TokenClass(
        "constant.language", "Keyword.Constant", "constant.builtin", "constant.builtin", "Constant"
    ),
    "unit": TokenClass("support.type.unit", "Keyword.Type", "type.builtin", "type.builtin", "Type"),
    "name": TokenClass("variable.other", "Name", None, None, None),
    "number": TokenClass(
        "constant.numeric", "Literal.Number", "number", "constant.numeric", "Number"
    ),
    "string": TokenClass("string.quoted.double", "Literal.String", "string", "string", "String"),
    "comment": TokenClass("comment.line.number-sign", "Comment", "comment", "comment", "Comment"),
    "operator": TokenClass("keyword.operator", "Operator", "operator", "operator", "Operator"),
    "bracket": TokenClass(
        "punctuation.section.brackets",
        "Punctuation",
        "punctuation.bracket",
        "punctuation.bracket",
        "Delimiter",
    ),
    "delimiter": TokenClass(
        "punctuation.separator",
        "Punctuation",
        "punctuation.delimiter",
        "punctuation.delimiter",
        "Delimiter",
    ),
    "illegal": TokenClass("invalid.illegal", "Error", None, None, "Error"),
}
"""Class -> its names elsewhere."""

_WORDS = (*STATEMENTS[len(SECTIONS) :], *LEADING)

OF_TERMINALS = {
    "KIND": "section",
    **{word.upper(): "statement" for word in _WORDS},
    **dict.fromkeys(("UNIT", "FOR", "IN", "IS", "AS", "EXPECT", "FINITE", "TREND"), "keyword"),
    **{word.upper(): "keyword" for word in PLACED},
    **{word.upper(): "conditional" for word in PIECEWISE},
    "NAME": "name",
    "NUMBER": "number",
    "STRING": "string",
    "COMMENT": "comment",
    **dict.fromkeys(
        ("RELATION", "UNEQUAL", "EQUAL", "PLUS", "MINUS", "PLUSMINUS", "STAR", "SLASH"), "operator"
    ),
    **dict.fromkeys(("CIRCUMFLEX", "DEL", "ORDER", "__ANON_0", "__ANON_1", "__ANON_2"), "operator"),
    **dict.fromkeys(("LPAR", "RPAR", "LSQB", "RSQB", "LBRACE", "RBRACE"), "bracket"),
    **dict.fromkeys(("COMMA", "COLON", "DOT"), "delimiter"),
    "ILLEGAL": "illegal",
}
"""Terminal of the grammar -> the class of its tokens, but for names whose place says more:
`..`, `->` and `...` are the terminals without a name."""

FUNCTION_NAMES = (*FUNCTIONS, *AGGREGATES, *SPECIAL)
CONSTANT_NAMES = (*CONSTANTS, "∞")
