"""The grammar of tree-sitter accepts what the parser accepts, with the same trees."""

from __future__ import annotations

import ctypes
import json
import random
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from lark import Lark, Token, Tree

from lawdsl.highlighting import tree_sitter as generator
from lawdsl.highlighting.classified import classified
from lawdsl.highlighting.token_classes import CLASSES
from lawdsl.language.keywords import KEYWORDS, LEADING, PIECEWISE, PLACED
from lawdsl.language.lexer import LogicalLine, logical_lines
from lawdsl.language.parser import parse, with_types
from lawdsl.language.parser_tables import OPTIONS, grammar_text
from lawdsl.language.tokens import all_tokens

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "editors/tree-sitter-law"
FILES = [*sorted(ROOT.glob("laws/**/*.law")), *sorted(ROOT.glob("tests/fixtures/**/*.law"))]
QUERIES = [*FOLDER.glob("queries/*.scm"), *ROOT.glob("editors/helix/queries/law/*.scm")]

# Limits on sizes, and characters within texts that could disguise them: no matter of syntax.
LIMITS = {"L0103", "L0104", "L0105", "L0106", "L0107", "L0108", "L0110", "L0409"}
DISGUISED = {"ansi_in_title.law", "bidi.law"}

# kind, first character, one behind the last, parts
Shape = tuple[str, int, int, tuple[Any, ...]]


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The grammar, compiled."""
    tree_sitter = pytest.importorskip("tree_sitter", reason="needs the package tree-sitter")
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = tmp_path_factory.mktemp("grammar") / f"law{sysconfig.get_config_var('SHLIB_SUFFIX')}"
    flags = ["-std=c11", "-O0", "-shared", "-fPIC", "-I", "src"]
    sources = ["src/parser.c", "src/scanner.c"]
    strict = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", "src", "src/scanner.c"]
    for options in ([*flags, *sources, "-o", str(library)], strict):
        done = subprocess.run([compiler, *options], cwd=FOLDER, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    function = ctypes.CDLL(str(library)).tree_sitter_law
    function.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return tree_sitter.Language(capsule(function(), b"tree_sitter.Language", None))


def parsed(language: Any, text: str) -> Any:
    from tree_sitter import Parser

    return Parser(language).parse(text.encode()).root_node


def characters(text: str) -> dict[int, int]:
    """Offset in bytes -> offset in characters."""
    sizes = accumulate((len(char.encode()) for char in text), initial=0)
    return {size: offset for offset, size in enumerate(sizes)}


def shapes(root: Any, text: str) -> list[Shape]:
    """The statements of a tree of tree-sitter."""
    places = characters(text)

    def shape(node: Any) -> Shape:
        children = tuple(shape(child) for child in node.children if not child.is_extra)
        start, end = places[node.start_byte], places[node.end_byte]
        return node.type, start, end, children

    return [shape(node) for node in root.children if not node.is_extra]


@cache
def reference() -> Lark:
    """The parser of `grammars/law.lark`, with the places and the tokens of its nodes."""
    return Lark(grammar_text(), propagate_positions=True, keep_all_tokens=True, **OPTIONS)


def lines_of(text: str) -> list[LogicalLine]:
    lines = logical_lines([token for token in all_tokens(text) if token.type != "SPACE"])
    return [line for line in lines if line.tokens]


def expected_shape(line: LogicalLine) -> Shape | None:
    """The statement of a line by the grammar; None where the line is not accepted."""
    from lark.exceptions import UnexpectedInput

    if line.broken is not None or any(token.type == "ILLEGAL" for token in line.tokens):
        return None
    parser = reference().parse_interactive(start="statement")
    try:
        for token in with_types(line.tokens):
            parser.feed_token(token)
        tree = parser.feed_eof(line.tokens[-1])
    except UnexpectedInput:
        return None
    return expected(tree)


def expected(node: Any) -> Shape:
    if isinstance(node, Token):
        start = node.start_pos or 0
        spelling = generator.spellings().get(node.type, "")
        kind = generator.NODES.get(node.type, spelling)
        return kind, start, start + len(node), ()
    assert isinstance(node, Tree)
    children = tuple(expected(child) for child in node.children if child is not None)
    return str(node.data), children[0][1], children[-1][2], children


def assert_agrees(language: Any, text: str) -> bool:
    """Both parsers accept a text, with the same trees, or neither does."""
    ours = [expected_shape(line) for line in lines_of(text)]
    root = parsed(language, text)
    accepted = None not in ours
    assert root.has_error is not accepted, text
    if accepted:
        assert shapes(root, text) == ours, text
    return accepted


@pytest.mark.parametrize("group", range(5))
def test_trees_of_all_files_are_those_of_the_parser(language: Any, group: int) -> None:
    accepted = 0
    for path in FILES[group::5]:
        accepted += assert_agrees(language, path.read_bytes().decode())
    assert accepted > 50


def test_files_are_accepted_that_have_no_syntax_error(language: Any) -> None:
    for path in FILES:
        text = path.read_bytes().decode()
        codes = {d.code for d in parse(text)[1] if d.severity == "error"} - LIMITS
        if path.name not in DISGUISED:
            assert parsed(language, text).has_error is bool(codes), path


def test_lines_of_damaged_files_are_judged_alone(language: Any) -> None:
    seen = set()
    for path in ROOT.glob("tests/fixtures/bad/*.law"):
        text = path.read_bytes().decode()
        for line in lines_of(text):
            start, end = line.tokens[0].start_pos or 0, line.tokens[-1].end_pos or 0
            seen.add(assert_agrees(language, text[start:end]))
    assert seen == {True, False}


ODD = (
    *sorted(KEYWORDS), *LEADING, *PLACED, *PIECEWISE, "x", "y[i]", "N", "α", "∞", "∂", "²", "exp(", "(",
    ")", "[", "]", "{", "}", ",", "=", "<", "≤", "!=", "->", "+", "-", "+-", "±", "*", "/", "^", ":",
    ".", "..", "...", "1", "2.5e-3", "1.", '"text"', '""', '"a""b"', '"""', '"', "#", "# c\n", "\n",
    "\r\n", "\r", "\t", ";", "if x > 0 then 1 else 2", "∂L/∂N", "∂²at/∂x²", "@", "é", "step", "if",
)  # fmt: skip


def damaged(text: str, rng: random.Random) -> str:
    """A text with some words removed, repeated, exchanged or replaced."""
    lines = text.splitlines(keepends=True)
    first = rng.randrange(len(lines))
    words = [t.value for t in all_tokens("".join(lines[first : first + 4]))]
    for _ in range(rng.randint(1, 2)):
        place = rng.randrange(len(words))
        other = rng.randrange(len(words))
        match rng.randrange(5):
            case 0:
                del words[place : place + rng.randint(1, 3)]
                words = words or ["x"]
            case 1:
                words.insert(place, words[other])
            case 2:
                words[place], words[other] = words[other], words[place]
            case 3:
                words[place] = rng.choice(ODD)
            case _:
                words.insert(place, rng.choice(ODD))
                words.insert(place, rng.choice(("", " ")))
    return "".join(words)


def judge_damaged(language: Any, count: int, seed: int) -> None:
    rng = random.Random(seed)
    texts = [path.read_bytes().decode().removeprefix("\ufeff") for path in FILES]
    texts = [text for text in texts if len(text) < 20_000]
    accepted = sum(assert_agrees(language, damaged(rng.choice(texts), rng)) for _ in range(count))
    assert count / 10 < accepted < count * 0.9


def test_damaged_texts_are_judged_alike(language: Any) -> None:
    judge_damaged(language, 400, 1)


@pytest.mark.slow
def test_many_damaged_texts_are_judged_alike(language: Any) -> None:
    judge_damaged(language, 40_000, 2)


@pytest.mark.parametrize(
    "text",
    (
        "step at at at = 1",
        "step step by by",
        "given = 3*x\ngiven a\n",
        "L = a +\n  given*b",
        "L = a +\n  given = b",
        "start a = 1,\n  b = 2",
        "start a = 1\n  b = 2",
        "uses a, b :\n  dcpt.l3",
        "step a :\n  dcpt.l3",
        "L = if x > 0\n then 1\n\n# c\n else 2",
        "L = if x > 0 then 1 else\nrequire L > 0",
        "let y = if\nlet z = if*2",
        "prior a = 1 +-2\nprior a = 1 + -2\nlet y = 1+-2",
        "prior a = 1 +->2",
        'let f = sum(x[i]*\n# c\n y[i] for i)\nnote "a ""quoted"" word" # c',
        'note """a"',
        "L = (a +\nvariable N > 0",
        "L = f(a,\n  b = 2)\n",
        "L = (a\n  t[i, j] = 2)\n",
        'keep feasible from turn, general  where T < T_max, dL <= tolerance, d != "web"',
        "law x\r\n# c\r\nL = a\r\n",
        "",
        "\n\n# c\n",
        "choose n integer in [1, 64]",
        "choose integer integer in [1, 64]",
        "require L[i] decreasing in r[a] against r[b]",
        "require ∂²at/∂x² > 0 for at in [0, 1] expect inside",
        "index over over over",
    ),
)
def test_odd_lines_are_judged_alike(language: Any, text: str) -> None:
    assert_agrees(language, text)


def test_a_byte_order_mark_is_dropped(language: Any) -> None:
    assert not parsed(language, "\ufefflaw x\n").has_error


def test_a_long_unfinished_statement_is_read_once(language: Any) -> None:
    """Comments behind an operator do not make the time grow with their square."""
    text = "L = a +\n" + "# c\n" * 200_000 + "b\n"
    assert not parsed(language, text).has_error


def edits(rng: random.Random, text: str) -> Iterator[tuple[int, int, str]]:
    for _ in range(4):
        start = rng.randrange(len(text))
        yield start, min(len(text), start + rng.randrange(4)), rng.choice(ODD)


def test_edits_give_the_trees_of_the_whole_text(language: Any) -> None:
    """An editor changes a tree at each edit; it is that of the new text."""
    from tree_sitter import Parser

    rng = random.Random(3)
    parser = Parser(language)
    for path in rng.sample(FILES, 20):
        data = path.read_bytes()[:4000]
        tree = parser.parse(data)
        for start, end, inserted in edits(rng, data.decode(errors="ignore") or "x"):
            new = inserted.encode()
            points = [
                (data[:at].count(b"\n"), at - data.rfind(b"\n", 0, at) - 1) for at in (start, end)
            ]
            data = data[:start] + new + data[end:]
            behind = start + len(new)
            point = (data[:behind].count(b"\n"), behind - data.rfind(b"\n", 0, behind) - 1)
            tree.edit(start, end, behind, points[0], points[1], point)
            tree = parser.parse(data, tree)
            whole = parser.parse(data)
            if not whole.root_node.has_error:
                assert str(tree.root_node) == str(whole.root_node)
            assert tree.root_node.has_error == whole.root_node.has_error


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: "/".join(path.parts[-3:]))
def test_queries_match_nodes_of_the_grammar(language: Any, path: Path) -> None:
    from tree_sitter import Query, QueryCursor

    query = Query(language, path.read_text(encoding="utf-8"))
    matched = 0
    for file in FILES:
        matched += len(QueryCursor(query).captures(parsed(language, file.read_bytes().decode())))
    assert matched


def test_highlights_are_the_classes_of_the_lexer(language: Any) -> None:
    """In files that parse, each token has the capture of its class."""
    from tree_sitter import Query, QueryCursor

    query = Query(language, (FOLDER / "queries/highlights.scm").read_text(encoding="utf-8"))
    for path in FILES:
        text = path.read_bytes().decode()
        root = parsed(language, text)
        if root.has_error:
            continue
        places = characters(text)
        shown: dict[tuple[int, int], str] = {}
        for _, captures in sorted(QueryCursor(query).matches(root), key=lambda match: match[0]):
            for name, nodes in captures.items():
                for node in nodes:
                    shown[places[node.start_byte], places[node.end_byte]] = name
        for token in classified(text):
            capture = CLASSES[token.kind].neovim
            assert shown.get((token.start, token.end)) == capture, (path, token)


# ---- generated files


def test_the_generated_parser_has_the_rules_of_the_grammar() -> None:
    """`tree-sitter generate` was run after the last change of the rules."""
    rules = re.findall(r"^    (\w+): \(\$\) =>", generator.grammar_js(), re.M)
    content = json.loads((FOLDER / "src/grammar.json").read_text(encoding="utf-8"))
    assert list(content["rules"]) == rules
    externals = [row.get("name") or row["value"] for row in content["externals"]]
    (listed,) = re.findall(r"externals: \(\$\) => \[(.*?)\n  \]", generator.grammar_js(), re.S)
    assert externals == [
        name.removeprefix("$.") if name.startswith("$") else json.loads(name)
        for name in re.split(r",\n", "".join(listed.strip().rstrip(",")))
        for name in [name.strip()]
    ]
    symbols = set(re.findall(r"^  (?:a?u?x?_?sym)_(\w+) = \d+", parser_c(), re.M))
    assert set(rules) - {"_statement"} <= symbols | {r for r in rules if r.startswith("_")}


def parser_c() -> str:
    return (FOLDER / "src/parser.c").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tree-sitter") is None, reason="needs tree-sitter-cli")
def test_the_generated_parser_is_up_to_date(tmp_path: Path) -> None:
    """Other versions of the generator write other headers, and the same rules and nodes."""
    shutil.copytree(FOLDER, tmp_path / "law")
    done = subprocess.run(
        ["tree-sitter", "generate", "--abi", "14"],
        cwd=tmp_path / "law",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for name in ("grammar.json", "node-types.json"):
        new, old = (
            json.loads((folder / "src" / name).read_text(encoding="utf-8"))
            for folder in (tmp_path / "law", FOLDER)
        )
        if name == "grammar.json":
            parts = ("name", "rules", "externals", "extras")
            new, old = ({part: each[part] for part in parts} for each in (new, old))
        assert new == old
    sizes = [
        re.findall(r"#define (STATE_COUNT|SYMBOL_COUNT) (\d+)", text)
        for text in ((tmp_path / "law/src/parser.c").read_text(encoding="utf-8"), parser_c())
    ]
    assert sizes[0] == sizes[1]
