"""Pipelines in the language: what they declare, how they are printed, every mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lawdsl.cli import cli
from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.language import library, tree
from lawdsl.language.parser import parse
from lawdsl.language.pipeline_records import Pipeline
from lawdsl.language.printer import print_document, print_formula

FIXTURES = Path(__file__).resolve().parent / "fixtures" / "pipelines"
FILES = [*sorted(FIXTURES.glob("*.law")), *library.shipped("pipeline").values()]
STEP = "step mixing.size by mixture at N = 1e9"


def read(*lines: str) -> tuple[Pipeline | None, list[Diagnostic]]:
    text = "\n".join(("pipeline example", *lines, ""))
    try:
        return library.declared_pipeline(Text("example.law", text), FIXTURES)
    except LawdslError as error:
        return None, list(error.diagnostics)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_pipeline_is_printed_as_it_is_written(path: Path):
    text = path.read_text(encoding="utf-8")

    assert print_document(parse(text)[0]) == text
    assert library.pipeline(str(path))[1] == []


def test_a_step_knows_its_law_groups_conditions_and_point():
    found, _ = library.pipeline(str(FIXTURES / "three_steps.law"))

    first, second, last = found.steps
    assert first.law.name == "mixing.step"
    assert first.group_by == ("mixture", "N", "domain")
    assert [(c.name, c.relation) for c in first.where] == [("S", ">="), ("domain", "!=")]
    assert first.where[1].value == tree.Label("base")
    assert [(name, print_formula(f)) for name, f in second.point] == [("N", "2*N_target")]
    assert (last.group_by, last.point) == (("domain",), ())
    assert [s.name for s in found.of_kind("given")] == ["S_target", "N_target", "share"]


def test_a_given_takes_the_unit_of_the_variable_that_it_is_for():
    found, _ = read(
        "given x, y > 0", "step mixing.size by a at N = x", "step mixing.size at N = 2*y"
    )

    assert found is not None
    assert found.units["x"] == tree.UnitOf((("param", 1),))
    assert "y" not in found.units


@pytest.mark.parametrize(
    "line", ["parameter step, given, by, where, at > 0", "let given = step + at", "step = 2*given"]
)
def test_words_of_pipelines_are_names_in_laws(line: str):
    tree_of, mistakes = parse(f"law example\n{line}\n")

    assert mistakes == []
    assert len(tree_of.statements) == 2


def test_an_open_bracket_spoils_its_own_step_alone():
    tree_of, mistakes = parse(f"pipeline example\ngiven x > (1\n{STEP}\n")

    assert [d.code for d in mistakes] == ["L0202"]
    assert isinstance(tree_of.statements[-1], tree.StepNode)


# lines, code, message, help
MISTAKES = [
    (["step mixing.siz at N = 1"], "L0310", "unknown law `mixing.siz`", "`mixing.size`"),
    (["step mixing.nested at N = 1"], "L0310", "unknown law `mixing.nested`", ""),
    (["step mixing.size by a at M = 1"], "L0603", "no variable `M`", "are N"),
    (["step mixing.size by N at N = 1"], "L0603", "cannot be the same", "leave it out"),
    (["step mixing.size by a, a at N = 1"], "L0603", "`a` stands twice", "once"),
    (["step mixing.size by L at N = 1"], "L0603", "`L` is what the law predicts", "leave"),
    (["step mixing.size at N = 1, N = 2"], "L0603", "two values", "one"),
    (["step mixing.size by a", STEP], "L0603", "no point", "`at N = …`"),
    (["step mixing.size at N[web] = 1"], "L0603", "without subscripts", ""),
    (["step mixing.size at N = x"], "L0301", "unknown name `x`", "`given x`"),
    (["given x > 0", "step mixing.size at N = y + x"], "L0301", "unknown name `y`", ""),
    (["step mixing.size where N > x at N = 1"], "L0301", "unknown name `x`", "`given x`"),
    (["step mixing.size where a = web at N = 1"], "L0301", "unknown name `web`", '`a = "web"`'),
    ([STEP, "given x > 0", "step mixing.size at N = x/0"], "L0501", "divides by 0", ""),
    (["given x > 0 unit step", "step mixing.size at N = x"], "L0410", "units differ", "convert"),
    (["given x > 0 unit step", f"{STEP[:-11]} where N > x at N = 1"], "L0410", "units differ", ""),
    (["given x > 0", STEP], "L0309", "the given `x` is never used", "remove"),
    (["setting x = 1", STEP], "L0309", "the setting `x` is never used", "remove"),
    (["given x > 0", "setting x = 1", "step mixing.size at N = x"], "L0302", "twice", "another"),
    (["given x in [2, 1]", "step mixing.size at N = x"], "L0406", "empty", "smaller"),
    (["given x > y", "step mixing.size at N = x"], "L0301", "unknown name `y`", ""),
    (["given x = 3", STEP], "L0201", "must not have a value in the file", "`setting`"),
    (['source "x"'], "L0402", "no step", "write one"),
    (["parameter A > 0", STEP], "L0602", "belongs to a law", ""),
    (["L = 3", STEP], "L0602", "belongs to a law", "name that law here"),
    (["require L > 0", STEP], "L0602", "belongs to a law", ""),
    ([STEP, "pipeline other", STEP], "L0403", "second pipeline", "a file of its own"),
    ([STEP, "law other"], "L0403", "second section, the law", "a file of its own"),
    (["step mixing.size at"], "L0207", "too early", "name must follow"),
    (["step mixing.size by"], "L0207", "too early", "name must follow"),
    (["step mixing.size at N > 3"], "L0201", "unexpected `>`", "at N = 3`"),
    (["stpe mixing.size"], "L0205", "unknown statement", "`step`"),
]


@pytest.mark.parametrize(
    ("lines", "code", "message", "help"), MISTAKES, ids=[f"{m[1]} {m[0][-1]}" for m in MISTAKES]
)
def test_a_mistake_is_one_message(lines: list[str], code: str, message: str, help: str):
    _, found = read(*lines)

    assert [d.code for d in found] == [code]
    assert message in found[0].message
    assert found[0].help and help in found[0].help
    assert found[0].span is not None


def test_all_mistakes_are_found_in_one_run():
    _, found = read("step mixing.siz by a at N = x", "step mixing.size by a at M = 1", "L = 3")

    assert sorted(d.code for d in found) == ["L0301", "L0310", "L0602", "L0603"]


def test_a_law_is_no_pipeline_and_a_pipeline_no_law(tmp_path: Path):
    for reader, name in ((library.pipeline, "chinchilla"), (library.declarations, "mixing.nested")):
        with pytest.raises(LawdslError) as caught:
            reader(name)
        assert [d.code for d in caught.value.diagnostics] == ["L0601"]


def test_shipped_pipelines_are_no_laws():
    assert set(library.shipped("pipeline")) == {"cmr.critical", "mixing.nested"}
    assert not set(library.shipped("pipeline")) & set(library.shipped())


def test_pipelines_and_questions_are_shown_and_checked_as_far_as_they_can_be():
    def command(*arguments: str) -> Any:
        return CliRunner().invoke(cli, arguments, standalone_mode=False)

    shown = command("show", "cmr.critical")
    assert "keep      turned from turn" in shown.stdout
    assert "lawdsl pipeline cmr.critical TABLE --set T_max=…" in shown.stdout
    checked = command("check", "cmr.critical", "cmr.turn", "cmr.share", "-q")
    assert checked.return_value == 0
    assert "a pipeline has no claims to prove: lawdsl pipeline cmr.critical TABLE" in checked.stdout
    assert "a question has no claims to prove: lawdsl solve cmr.turn" in checked.stdout
    assert "PROVED" in checked.stdout
