"""Text -> tree: lines and comments, and every mistake of a file in one run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text, render
from lawdsl.language import library, size_limits, tree
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document

FIXTURES = Path(__file__).resolve().parent / "fixtures"
BAD = sorted(FIXTURES.glob("bad/*.law"))
EXPECT = re.compile(r"# expect: (L\d{4}) (\d+):(\d+)")

LAW = """\
# A law.
law chinchilla "Chinchilla"

variable  N > 0  # behind the declaration
parameter E, A, alpha > 0

# Above the equation,
# in two lines.
L = E + A/N^alpha

# At the end.
"""


def read(text: str) -> tree.SyntaxTree:
    document, mistakes = parse(text)

    assert mistakes == []
    return document


def mistakes(text: str) -> list[Diagnostic]:
    try:
        return library.declared(Text("example.law", text), Path())[1]
    except LawdslError as error:
        return list(error.diagnostics)


def codes(text: str) -> list[str]:
    return [d.code for d in mistakes(text)]


# Lines and comments


def test_comments_belong_to_the_line_they_stand_at():
    law, variable, parameter, equation, end = read(LAW).lines

    assert law.above == ("# A law.",)
    assert variable.behind == "# behind the declaration"
    assert parameter.above == () and parameter.behind is None
    assert equation.above == ("# Above the equation,", "# in two lines.")
    assert end.statement is None and end.above == ("# At the end.",)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "\ufeff" + text.replace("\n", "\r\n"),
        lambda text: text.replace("  ", "\t"),
        lambda text: text.removesuffix("\n"),
        lambda text: text + "\n\n\n",
        lambda text: text.replace("\n\n", "\n \t\n\n"),
        lambda text: text.replace("E + A", "E +\n    A"),
        lambda text: text.replace("A/N^alpha", "(A\n/\nN^alpha\n)"),
        lambda text: text.replace("E, A, ", "E,\n  A,\n\n  "),
    ],
    ids=["crlf", "bom", "bom+crlf", "tabs", "no end", "blank end", "blanks", "+", "(", ","],
)
def test_the_layout_of_a_file_does_not_change_what_it_says(change):
    assert print_document(read(change(LAW))) == LAW


def test_comments_within_a_statement_move_above_it():
    text = "L = E +  # one\n    # two\n    A/N  # three\n"

    assert print_document(read(text)) == "# one\n# two\nL = E + A/N  # three\n"


def test_the_comment_of_a_broken_line_stays_behind_it():
    terms = " + ".join(f"A{i}/N^alpha{i}" for i in range(20))
    document = read(f"# above\nL = {terms}  # behind\n")

    assert read(print_document(document)) == document
    assert document.lines[0].above == ("# above",)
    assert document.lines[0].behind == "# behind"


def test_a_number_sign_in_a_text_begins_no_comment():
    (line,) = read('source "issue #3"  # yes\n').lines

    assert line.statement == tree.SourceNode("issue #3")
    assert line.behind == "# yes"


def test_a_statement_ends_where_the_next_one_begins():
    """A forgotten bracket or operand costs its own line, and not those behind it."""
    for broken in ("let a = (1", "let a = 1 +", "let a = min(1,", "let a ="):
        document, found = parse(f"{broken}\nparameter b > 0\nL = b\n")

        assert len(found) == 1
        assert len(document.statements) == 2
    document, found = parse("let a = (1 + 2\nL = b\n")

    assert [d.code for d in found] == ["L0202"]
    assert len(document.statements) == 1


def test_named_values_may_stand_on_lines_of_their_own():
    text = "require L(\n  N = 1,\n  D = 2) > 0\nstart a = 1,\n  b = 2\n"

    assert len(read(text).statements) == 2


def test_greek_letters_are_read_as_their_names():
    assert read("let α_1 = ε^Γ + ϵ\n") == read("let alpha_1 = epsilon^Gamma + epsilon\n")


def test_no_mistake_is_found_in_an_empty_file_by_the_parser():
    assert read("") == tree.SyntaxTree(())


# Mistakes


@pytest.mark.parametrize("path", BAD, ids=lambda p: p.stem)
def test_all_mistakes_of_a_file_are_found_in_one_run(path: Path):
    """Its first lines say which: code, line and column, in order of their places."""
    text = path.read_text(encoding="utf-8")
    expected = [(code, int(line), int(column)) for code, line, column in EXPECT.findall(text)]
    found = mistakes(text)

    places = [d.text.position(d.span.start) for d in found]
    assert [(d.code, *place) for d, place in zip(found, places, strict=True)] == expected
    assert places == sorted(places)


def test_the_bad_files_hold_many_mistakes():
    texts = [path.read_text(encoding="utf-8") for path in BAD]

    assert sum(len(EXPECT.findall(text)) for text in texts) >= 150


def test_one_mistake_gives_one_message():
    """A line that cannot be read may have declared anything that stands in it."""
    for text in (
        "law a\nvariable N >\nL = 1/N\n",
        "law a\nparamter A > 0\nL = A\n",
        "law a\nvariable N > 0\nlet b = 2 N\nL = b/N + b\n",
        "law a\nparameter A, ВC > 0\nL = A*BC\n",
        "law a\nextends chinchila\nL = chinchila + E + N + whatever\n",
        "law a b\nparameter A > 0\nL = A\n",
        "law a\nlet exp = 2\nlet b = exp\nL = b + exp\n",
        "law a\nlet b = c\nlet c = b\nlet d = b + c\nL = d\n",
        "law a\nparameter A > 0\nL = = A\n",
        "law a\nparameter A > 0\nL = A\nrequire L >\n",
        "law a\nparameter a, b > 0\nlet c = a**2\nlet d = c + b\nL = c*d\nrequire c > d\n",
    ):
        assert len(codes(text)) == 1, text


def test_the_same_wrong_character_is_reported_once_a_line():
    assert codes("law a\nL = 1·2·3·4\n") == ["L0101"]
    assert codes("law a\nlet b = 1·2\nL = 1·2\n") == ["L0101", "L0101"]


def test_line_ends_of_old_machines_are_reported_once():
    (found,) = mistakes("law a\rvariable N > 0\rL = N\r")

    assert found.code == "L0101" and found.help == "end every line with LF or CR LF"


def test_a_message_names_the_character_and_what_it_looks_like():
    (found,) = mistakes("law a\nparameter А > 0\nL = A\n")

    assert "U+0410" in found.message and "looks like `A`" in (found.help or "")


def test_characters_that_disguise_a_text_are_refused():
    for char in "\x00\x07\x1b\x7f\x9b\u202e\u2066\u200f":
        assert codes(f'law a "x{char}y"\nL = 1\n') == ["L0101"]
        assert codes(f"law a\nL = 1  # x{char}y\n") == ["L0101"]


def test_letters_of_all_languages_stand_in_texts_and_comments():
    assert codes('law a "Größe, 大きさ, размер"  # ≤ 7·10⁹\nL = 1\n') == []


def test_the_excerpt_points_at_the_mistake():
    (found,) = mistakes("law a\nvariable N > 0\nL = 2*N**2\n")

    assert render(found) == (
        "error[L0204]: powers are written with `^`\n"
        " --> example.law:3:8\n"
        "  |\n"
        "3 | L = 2*N**2\n"
        "  |        ^^\n"
        "  = help: write `^` for `**`"
    )


def test_control_characters_are_escaped_in_messages():
    for text in ("law a\nL = \x1b[31m\n", 'law a "\x1b[2J"\nL = 1\n', "law \x07\n"):
        for found in mistakes(text):
            assert "\x1b" not in render(found) and "\x07" not in render(found)


# Limits


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# " + "x" * size_limits.MAX_BYTES, "L0103"),
        ("a " * (size_limits.MAX_TOKENS + 1), "L0103"),
        ("law a\nL = " + "(" * 101 + "1" + ")" * 101, "L0104"),
        ("law a\nL = " + "-" * 101 + "1", "L0104"),
        ("law a\nL = " + "2^" * 101 + "1", "L0104"),
        ("law a\nL = " + "exp(" * 101 + "1" + ")" * 101, "L0104"),
        ("law a\nL = " + "+".join("1" * 20_001), "L0105"),
        ("law a\nL = " + "1" * 19, "L0106"),
        ("law a\nL = " + "1" * 5_000, "L0106"),
        ("law a\nL = 1e999999999999", "L0106"),
        ("law a\nL = 1e-999999999999", "L0107"),
        ("law " + "a" * 65 + "\nL = 1", "L0108"),
        ("law " + "a." * 40 + "a\nL = 1", "L0108"),
        ("law " + "α" * 20 + "\nL = 1", "L0108"),
        ("law a\nL = 1\nextends " + "a." * 10_000 + "a", "L0108"),
    ],
)
def test_what_is_too_large_is_refused(text: str, code: str):
    assert codes(text) == [code]


def test_what_is_just_small_enough_is_read():
    for formula in ("(" * 98 + "1" + ")" * 98, "-" * 97 + "1", "+".join("1" * 9_000)):
        assert codes(f"law a\nL = {formula}\n") == []


def test_too_many_statements_are_refused():
    lines = [f"let a{i} = 1" for i in range(size_limits.MAX_DECLARATIONS + 1)]

    assert codes("\n".join(["law a", *lines])) == ["L0109"]


def test_after_many_mistakes_the_rest_is_not_read():
    for line in ("let a = = 1", "L = ¤", "?", "parameter b > c{}", "let c = d{}"):
        found = codes("law a\n" + "".join(f"{line.format(i)}\n" for i in range(500)))

        assert found[-1] == "L0110"
        assert len(found) <= size_limits.MAX_ERRORS + 2
