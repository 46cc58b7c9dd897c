"""The README and the pages of docs/ tell the truth: what they show is run and compared, what they link exists."""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import commands
import pytest
from test_figures_of_docs import COMMAND, assert_same

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
}
"""Page -> its text."""

PAPERS = [
    path
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE")
    if (path := ROOT / name).exists()
]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
PROGRAM = re.compile(r"```python\n(.*?)```\n\n```\n(.*?)```", re.S)
FILE = re.compile(r"\(`(\S+\.(?:law|toml|csv))`\):\n\n```(?:toml|csv)?\n(.*?)```", re.S)
NEEDS = re.compile(r"This page uses .*? made on the page \[[^]]*\]\((\S+?\.md)\)", re.S)


def examples(text: str) -> list[tuple[str, str]]:
    """(command, output) of every console block of a page, in its order."""
    shown = []
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            shown.append((command, output.strip("\n")))
    return shown


LONG = {
    # a command each of 20 seconds or of several; see test_designs, test_score_tables, test_largest_first
    "docs/closed-loop.md": r"lawdsl design --question dcpt.tradeoff N=189760param",
    "docs/comparisons.md": r"--table --protocols all|--protocol largest:cost",
    "docs/critical-ratio.md": r"result = lawdsl.run_pipeline",  # what the command before it does
    "docs/figures.md": r"general\.json|plot mix\.json --kind landscape",  # a fit, and its figures
    "docs/findings.md": r"solve precision\.allocation .* loss\.n_w=0 |loss\.L0=2\.7828316|check moe\.joint",
    "docs/law-and-schedule.md": r"fit one_size\.law laws/data/exposure\.csv",
    "docs/python.md": r"BaggingRegressor",
    "docs/trends.md": r"general\.json",
}
"""Page -> what is in those of its commands and programs that take longest: the slow tests run all of
the page, the quick ones what comes without them."""

WITH_COMMANDS = [page for page, text in TEXTS.items() if examples(text)]
WITH_PROGRAMS = [page for page, text in TEXTS.items() if PROGRAM.search(text)]


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the folders of the pages."""
    return tmp_path_factory.mktemp("pages")


@cache
def folder_of(page: str, top: Path) -> Path:
    """A page's folder, with the files that it shows, those of the pages that it uses, and the shipped tables."""
    folder = top / page.replace("/", "_")
    shutil.copytree(ROOT / "laws" / "data", folder / "laws" / "data")
    for earlier in NEEDS.findall(TEXTS[page]):
        name = (Path(page).parent / earlier).as_posix()
        run_commands(name, top)
        shutil.copytree(folder_of(name, top), folder, dirs_exist_ok=True)
    for name, text in FILE.findall(TEXTS[page]):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@cache
def run_commands(page: str, top: Path, long: bool = False) -> list[tuple[str, str, str]]:
    """(command, shown output, printed output) of every console block of a page, or all but the long."""
    folder = folder_of(page, top)
    results = []
    for command, output in examples(TEXTS[page]):
        if not long and is_long(command, page):
            continue
        assert command.startswith("lawdsl "), command
        completed = commands.run(*shlex.split(command)[1:], cwd=folder, together=True)
        results.append((command, output, lines(completed.stdout)))
    return results


def is_long(code: str, page: str) -> bool:
    return page in LONG and re.search(LONG[page], code) is not None


def with_long(pages: list[str], shown: Callable[[str], list[str]]) -> list[Any]:
    """The pages, and once more, marked slow, those of them with long commands or programs."""
    long = [page for page in pages if any(is_long(code, page) for code in shown(TEXTS[page]))]
    return [
        *(pytest.param(page, False, id=page) for page in pages),
        *(pytest.param(page, True, id=f"all of {page}", marks=pytest.mark.slow) for page in long),
    ]


def commands_of(text: str) -> list[str]:
    return [command for command, _ in examples(text)]


def programs_of(text: str) -> list[str]:
    return [program for program, _ in PROGRAM.findall(text)]


def lines(printed: str) -> str:
    return "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())


def same(shown: str, printed: str) -> bool:
    """Equal but for the last digits of numbers, and for how many starts agree."""
    agree = re.compile(r"\d+ of (\d+)\b(?! claims)(?: starts agree; .*)?")
    shown, printed = (agree.sub(r"of \1 starts", text) for text in (shown, printed))
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=2e-4) for a, b in pairs)


@pytest.mark.parametrize(("page", "long"), with_long(WITH_COMMANDS, commands_of))
def test_every_command_prints_what_the_page_shows(page: str, long: bool, top: Path):
    for command, shown, printed in run_commands(page, top, long):
        assert same(shown, printed), f"{command}\n{printed}"


@pytest.mark.parametrize(
    ("page", "long"),
    with_long([page for page in WITH_COMMANDS if COMMAND.search(TEXTS[page])], commands_of),
)
def test_the_commands_of_a_page_draw_its_figures(page: str, long: bool, top: Path):
    all_drawn = COMMAND.findall(TEXTS[page])
    assert sorted(all_drawn) == sorted(re.findall(r"\]\(figures/(\S+\.svg)\)", TEXTS[page]))
    for command, _, _ in run_commands(page, top, long):
        for name in COMMAND.findall(f"$ {command}"):
            assert_same(folder_of(page, top) / name)


@pytest.mark.parametrize(("page", "long"), with_long(WITH_PROGRAMS, programs_of))
def test_every_program_prints_what_the_page_shows(page: str, long: bool, top: Path):
    assert TEXTS[page].count("```python\n") == len(PROGRAM.findall(TEXTS[page]))
    for program, output in PROGRAM.findall(TEXTS[page]):
        if long or not is_long(program, page):
            printed = commands.run_program(program, cwd=folder_of(page, top)).stdout
            assert lines(printed) == output.strip("\n")


def test_what_takes_long_is_on_its_page_and_little_of_it():
    for page, pattern in LONG.items():
        codes = commands_of(TEXTS[page]) + programs_of(TEXTS[page])
        for part in pattern.split("|"):
            assert any(re.search(part, code) for code in codes), part
        assert not all(is_long(code, page) for code in codes), page


def test_the_examples_are_many():
    assert len(TEXTS) >= 13
    assert sum(len(examples(text)) for text in TEXTS.values()) >= 24
    assert len(WITH_PROGRAMS) >= 2


def test_the_readme_is_short_and_its_first_screen_holds_a_law_and_three_commands():
    readme = TEXTS["README.md"]
    assert len(readme.splitlines()) <= 150
    screen = "\n".join(readme.splitlines()[:54])
    law = re.search(r"```\n(law .*?)```", screen, re.S)
    assert law is not None and len(law[1].splitlines()) <= 11
    assert re.findall(r"^\$ lawdsl (\w+)", screen, re.M) == ["check", "fit", "predict"]


def test_the_sweep_file_shown_is_valid(top: Path):
    from lawdsl.runners.sweeps.sweep import read_sweep

    sweep = read_sweep(folder_of("docs/runs.md", top) / "sweep.toml")
    assert len(sweep.cells) == 8


def test_every_command_is_in_the_readme_and_has_help():
    from lawdsl.cli import cli

    for name, command in cli.commands.items():
        assert command.help, name
        assert f"lawdsl {name}" in TEXTS["README.md"], name


def plain(text: str) -> str:
    """A page without what stands in code."""
    return re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", text, flags=re.S))


def links(text: str) -> list[str]:
    """The relative links of a page."""
    targets = re.findall(r"\]\(([^)\s]+)\)", plain(text))
    return [target for target in targets if not target.startswith(("http:", "https:", "mailto:"))]


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as code hosts derive them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize(
    "path", [*map(Path, TEXTS), *(p.relative_to(ROOT) for p in PAPERS)], ids=str
)
def test_every_link_leads_somewhere(path: Path):
    text = (ROOT / path).read_text(encoding="utf-8")
    for link in links(text):
        file, _, anchor = link.partition("#")
        target = (ROOT / path.parent / file).resolve() if file else ROOT / path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


def test_every_page_is_reachable_from_the_readme():
    reached, pending = set[str](), ["README.md"]
    while pending:
        page = pending.pop()
        if page in reached or page not in TEXTS:
            continue
        reached.add(page)
        for link in links(TEXTS[page]):
            target = (ROOT / page).parent / link.partition("#")[0]
            pending.append(os.path.relpath(target.resolve(), ROOT))
    assert reached == set(TEXTS)


@pytest.mark.parametrize("page", TEXTS)
def test_every_path_that_a_page_names_exists(page: str):
    prose = re.sub(r"```.*?```", "", TEXTS[page], flags=re.S)
    named = re.findall(
        r"(?<![\w/.-])((?:lawdsl|runners|laws|grammars|tests|docs)/[\w/.-]*\w/?)", prose
    )
    for name in named:
        path = name.removeprefix("lawdsl/") if name.startswith("lawdsl/runners/") else name
        assert (ROOT / path).exists(), name
