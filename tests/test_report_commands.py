"""The commands that a report lists make it again, and files that are no answers are named as what they are."""

from __future__ import annotations

import json
import re
import shlex
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from commands import run

import lawdsl
from lawdsl.cli.report import report
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.result import Fit
from lawdsl.reporting.documents.blocks import Picture
from lawdsl.reporting.documents.render_markdown import escaped, markdown_of
from lawdsl.reporting.report.commands import as_typed, solve_command
from lawdsl.reporting.report.contents import report_of
from lawdsl.reporting.report.entries import Entry, entries_of, read_entries, varying
from lawdsl.reporting.report.page import markdown_page
from lawdsl.solving.result import Answer, Answers

OWN_LAW = """law shares "The loss of a share"
variable  r in [0, 1]
parameter E, C > 0
L = E + C*(1 - r)^2  unit nat/token
"""
QUESTION = """question least "The smallest share that keeps the loss"
uses      loss : shares
given     T >= 0
given     L0 > 0       unit nat/token
choose    r in [0, 1]
minimize  r
subject to loss(r) <= (1 + T)*L0  "loss"
"""


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("of_fit", "of_answer"):
        monkeypatch.setattr(f"lawdsl.reporting.report.{module}.pictures", lambda *_: ())


def text_of(entries: list[Entry]) -> str:
    return markdown_page(report_of(entries, "page.md", sliders=False))[0]


def commands_of(text: str) -> list[str]:
    (block,) = re.findall(r"```\n(lawdsl (?:fit|solve|report) .*?)\n```", text, re.DOTALL)
    return list(block.split("\n"))


def written(text: str, folder: Path, name: str, heading: str) -> None:
    (block,) = re.findall(rf"\*\*{heading} as written\*\*\n\n```\n(.*?)\n```", text, re.DOTALL)
    (folder / name).write_text(block + "\n", encoding="utf-8")


def test_the_commands_of_a_report_make_it_again_in_a_folder_of_their_own(tmp_path: Path):
    """A question and a law in files of their own, asked for several values."""
    first, second = tmp_path / "first", tmp_path / "second"
    rng = np.random.default_rng(2)
    lines = ["r,L"]
    for r in np.linspace(0.05, 1, 12):
        lines.append(f"{r:.6f},{(2 + (1 - r) ** 2) * (1 + 0.001 * rng.normal()):.8f}")
    for folder in (first, second):
        folder.mkdir()
        (folder / "runs.csv").write_text("\n".join(lines))
    (first / "shares.law").write_text(OWN_LAW)
    (first / "my question.law").write_text(QUESTION)
    fit = run("fit", "shares.law", "runs.csv", "-o", "own.json", cwd=first)
    assert fit.returncode == 0, fit.stderr
    asked = ("my question.law", "loss=own.json", "L0=2.1", "T=0.02,0.05")
    # the fit is named with the question alone
    made = run("report", "own.json", "--question", *asked, "-o", "page.md", cwd=first)
    assert made.returncode == 0, made.stderr
    text = (first / "page.md").read_text(encoding="utf-8")
    assert text.count("## The answers\n") == 1 and "least-answer-answer.svg" in text

    listed = commands_of(text)
    assert [command.split()[1] for command in listed] == ["fit", "solve", "report"]
    assert "The question `my question.law` does not ship" in text.replace("\\", "")
    written(text, second, "shares.law", "The law")
    written(text, second, "my question.law", "The question")
    for command in listed:
        words = shlex.split(command)
        assert words[0] == "lawdsl"
        if ">" in words:
            *words, _, file = words
        done = run(*words[1:], cwd=second)
        assert done.returncode == 0, done.stderr
        if "solve" in words:
            (second / file).write_text(done.stdout)
    assert (second / "page.md").read_text(encoding="utf-8") == text


def fitted(scale: float = 1.0) -> Fit:
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e7, 1e9, 5), np.geomspace(1e9, 1e11, 5)))
    L = scale * (1.7 + 400 / N**0.34 + 400 / D**0.28)
    L = L * np.exp(0.002 * np.random.default_rng(1).normal(size=L.size))
    fit = lawdsl.fit("chinchilla", {"N": N, "D": D, "L": L}, starts=2, claims=False)
    assert isinstance(fit, Fit)
    return fit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answers")
    fitted().save(path / "fit.json")
    return path


def saved(path: Path, result: Any) -> Path:
    document = {"schema": 1, "command": "solve", "result": result, "diagnostics": []}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.usefixtures("without_figures")
def test_an_answer_without_its_fit_says_which_fit_it_was(folder: Path, tmp_path: Path):
    fit = lawdsl.load_fit(folder / "fit.json")
    assert isinstance(fit, Fit)
    answer = lawdsl.solve("chinchilla.allocation", loss=folder / "fit.json", C=1e21)
    file = saved(tmp_path / "answer.json", answer.to_json())
    text = text_of(read_entries([str(file)]))
    assert f"loss={folder / 'fit.json'} C=1e21 k=6 --json" in text
    assert "its verdict and its warnings are not shown" in text
    assert fit.law.digest in text and fit.data.digest in text
    # with it, nothing is missing
    text = text_of(read_entries([str(folder / "fit.json"), str(file)]))
    assert "not shown" not in text and "caution" in text or "trusted" in text
    # a file of an earlier version
    content = answer.to_json()
    del content["asked_fits"], content["question_texts"]
    text = text_of(read_entries([str(saved(file, content))]))
    assert "loss=FIT.json" in text and "does not say which fit of chinchilla" in text


@pytest.mark.usefixtures("without_figures")
def test_a_fit_that_is_named_with_the_question_is_in_the_report(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fitted(1.1).save(tmp_path / "other.json")
    (tmp_path / "fit.json").write_bytes((folder / "fit.json").read_bytes())
    monkeypatch.chdir(tmp_path)
    asked = ("--question", "chinchilla.allocation", "loss=fit.json", "C=1e21")
    made = CliRunner().invoke(report, ["other.json", *asked, "-o", "page.md"])
    assert made.exception is None, made.output
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    *_, solve, again = commands_of(text)
    assert "loss=fit.json" in solve and again.startswith("lawdsl report other.json fit.json ")
    assert re.search(r"^### fit: (trusted|caution|not trusted)$", text, re.MULTILINE)


def test_numbers_in_place_of_a_fit_are_in_the_command(tmp_path: Path):
    loss = {"E": 1.7, "A": 400.0, "B": 400.0, "alpha": 0.34, "beta": 0.28}
    answer = lawdsl.solve("chinchilla.allocation", loss=loss, C=1e21)
    (entry,) = read_entries([str(saved(tmp_path / "answer.json", answer.to_json()))])
    text = text_of([entry])
    for name, value in loss.items():
        assert f" loss.{name}={as_typed(value)} " in text
    assert "loss=FIT.json" not in text and "answer-answer.svg" in text


def test_labels_and_several_values_are_in_the_command():
    """One value for all labels is one list, which does not stand for combinations of labels."""
    answers = tuple(
        Answer(
            "q", "Q", {}, {"B": b, "cap[web]": c, "cap[code]": c, "s[web]": 1.0, "s[code]": 2.0}, ""
        )
        for b, c in product((0.5, 1.0), (0.3, 0.4))
    )
    assert varying(answers) == ("B", "cap")
    entry = Entry("answers", Answers(answers, varying(answers)))
    assert solve_command(entry, []) == (
        "lawdsl solve q 's[web]=1' 's[code]=2' B=0.5,1 cap=0.3,0.4 --json > answers.json"
    )
    (alone, *_) = answers
    assert " cap=0.3 's[web]=1' " in solve_command(Entry("answer", alone), [])


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            {"command": "solve", "result": None, "diagnostics": [{"message": "unknown question"}]},
            "`lawdsl solve` failed, and this is the document of its error: unknown question",
        ),
        ({"command": "fit", "result": None}, "`lawdsl fit` failed"),
        ({"command": "check", "result": {"claims": []}}, "`lawdsl check --json` printed"),
        ({"command": "solve", "result": {"question": "q", "uses": {}}}, "has no answer"),
        ({"command": "solve", "result": {"question": "q"}}, "cannot be read: it has no 'schema'"),
    ],
)
def test_what_is_no_answer_is_named_as_what_it_is(
    document: dict[str, Any], expected: str, tmp_path: Path
):
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"schema": 1, **document}))
    with pytest.raises(LawdslError) as caught:
        read_entries([str(file)])
    (found,) = caught.value.diagnostics
    assert found.code == "G0122" and expected in found.message and found.place == str(file)
    assert found.help


def test_a_question_in_an_edited_file_is_refused(folder: Path, tmp_path: Path):
    answer = lawdsl.solve("chinchilla.allocation", loss=folder / "fit.json", C=1e21).to_json()
    texts = answer["question_texts"]
    for edit in (
        {"text": "question other\nchoose x in [0, 1]\nminimize x\n"},
        {"text": "question"},
        {"laws": {}},
        {"laws": {"chinchilla": "law chinchilla extends chinchilla"}},
        {"text": 3},
    ):
        content = {**answer, "question_texts": {**texts, **edit}}
        with pytest.raises(LawdslError) as caught:
            read_entries([str(saved(tmp_path / "a.json", content))])
        assert caught.value.diagnostics[0].code == "G0122"
    content = {**answer, "question": "least", "question_texts": None}
    (entry,) = read_entries([str(saved(tmp_path / "a.json", content))])
    with pytest.raises(LawdslError) as caught:
        text_of([entry])
    assert "does not ship, and the file lacks its text" in str(caught.value)


@pytest.mark.usefixtures("without_figures")
def test_several_answers_of_a_record_are_one_section(folder: Path):
    fit = lawdsl.load_fit(folder / "fit.json")
    answers = lawdsl.Asked("chinchilla.allocation", loss=fit).answers({"C": [1e20, 1e21]})
    text = text_of(entries_of([fit, answers]))
    assert "at C = 1e+20, 1e+21 FLOP" in text and "Further results" not in text
    assert "loss=chinchilla.json k=6 C=1e20,1e21 --json" in text
    assert "does not follow" not in text


def test_numbers_are_typed_with_all_of_their_digits():
    assert list(map(as_typed, (1e21, 6.0, 0.1, 1 / 3, 1e-7, -2.5e300))) == [
        *("1e21", "6", "0.1", "0.3333333333333333", "1e-07", "-2.5e300")
    ]


PLAIN = (
    *("1.87007e+09", "-0.00126", "c4_share.csv", "N > 0", "∂L/∂r < 0", "r in [0, 1]", "t[i, perl]"),
    *("a & b", "1.5 of 2", "=0", "{1, 2}", "+3.2e-05", "50 %", "3 of them"),
)
MARKUP = {
    "# heading": r"\# heading",
    "a heading #": r"a heading \#",
    "*a* _b_ a_b": r"\*a\* \_b\_ a_b",
    "[a](b)": r"\[a\](b)",
    "see [a]: b [[c]] [^d]": r"see [a\]: b \[[c]] \[^d]",
    "a [b][c]": r"a [b\][c]",
    "<b> </b> <!-- <?x &lt; &#60;": r"\<b> \</b> \<!-- \<?x \&lt; \&#60;",
    "1. item": r"1\. item",
    "12) item": r"12\) item",
    "- item": r"\- item",
    "---": r"\---",
    "===": r"\===",
    ":--": r"\:--",
    "> quoted": r"\> quoted",
    "{{ 7 }}": r"\{{ 7 }}",
    "https://a.b www.a.b": r"https\://a.b www\.a.b",
    "a|b $c$ ~d~ `e`": r"a\|b \$c\$ \~d\~ \`e\`",
    "a\\": r"a\\",
}


def test_markdown_has_escapes_where_a_character_would_be_markup():
    for text in PLAIN:
        assert escaped(text) == text
    for text, expected in MARKUP.items():
        assert escaped(text) == expected
    picture = Picture("a.svg", "t", "from [0, 1] ](b)", b"")
    assert markdown_of([picture]).startswith(r"![from \[0, 1\] \](b)](<a.svg>)")
