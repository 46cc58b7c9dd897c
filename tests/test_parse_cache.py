"""Each text is parsed once a command, and the memory of what was parsed is bounded."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from planted import PLANTED

import lawdsl
from lawdsl.cli import cli
from lawdsl.language import parse_cache
from lawdsl.language.parse_cache import ParseCache


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the texts that are parsed; none is known before."""
    names: list[str] = []
    parse = parse_cache.parse

    def counted(text: str, name: str):
        names.append(name)
        return parse(text, name)

    monkeypatch.setattr(parse_cache, "parse", counted)
    parse_cache.CACHE.clear()
    return names


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, and two fits to it of a law that extends another."""
    folder = tmp_path_factory.mktemp("fits")
    planted = PLANTED["dcpt.l3"]
    table = planted.table(noise=0.01)
    rows = zip(*(column.tolist() for column in table.values()), strict=True)
    lines = "\n".join([",".join(table), *(",".join(map(str, row)) for row in rows), ""])
    (folder / "runs.csv").write_text(lines, encoding="utf-8")
    fit = lawdsl.fit("dcpt.l3", table, starts=planted.parameters, claims=False)
    for use in ("general", "domain"):
        fit.save(folder / f"{use}.json")
    return folder


COMMANDS = [  # commands, and how many texts there are
    (
        # the question, and dcpt.l3 on chinchilla, which it names and both fits store
        "solve dcpt.tradeoff general=general.json domain=domain.json N=7 D=10 L0=3 T=0.1",
        3,
    ),
    ("fit dcpt.l3 runs.csv --starts 1", 2),
    ("check dcpt.share", 1),
    ("predict domain.json N=7 D=10 r=0.5", 2),
    ("compare dcpt.l3 chinchilla dcpt.l3 runs.csv --protocol all --starts 1", 2),
]


@pytest.mark.parametrize(("command", "expected"), COMMANDS, ids=lambda x: str(x).split()[0])
def test_a_command_parses_each_text_once(
    command: str,
    expected: int,
    parsed: list[str],
    fits: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(fits)
    result = CliRunner().invoke(cli, [*shlex.split(command), "--json"], standalone_mode=False)

    assert result.exception is None, result.output
    assert json.loads(result.stdout)["result"]
    assert len(parsed) == expected, parsed


def test_the_tree_of_a_known_text_is_the_tree(parsed: list[str]):
    cache = ParseCache(1000)
    text = "law a\nvariable x > 0\nL = x\n"
    tree, mistakes = cache.parse(text, "a.law")

    assert mistakes == [] and len(tree.statements) == 3
    assert cache.parse(text, "b.law") == (tree, []) and cache.parse(f"\ufeff{text}")[0] is tree
    assert parsed == ["a.law"]


def test_a_text_with_mistakes_is_shown_under_each_of_its_names(parsed: list[str]):
    cache = ParseCache(1000)
    places = [cache.parse("law a\nL = (\n", name)[1][0].text for name in ("a.law", "b.law")]

    assert [text.name for text in places if text is not None] == parsed == ["a.law", "b.law"]


def test_texts_read_longest_ago_are_forgotten(parsed: list[str]):
    texts = [f"law {name}\nL = 1\n" for name in "abc"]
    cache = ParseCache(max_characters=2 * len(texts[0]))
    for number in (0, 1, 0, 2, 0, 1):
        cache.parse(texts[number], "abc"[number])

    assert parsed == ["a", "b", "c", "b"]


def test_a_text_beyond_the_limit_is_parsed_and_not_kept(parsed: list[str]):
    cache = ParseCache(max_characters=4)
    for _ in range(2):
        assert cache.parse("law a\nL = 1\n", "a")[1] == []

    assert parsed == ["a", "a"]
