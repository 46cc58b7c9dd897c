"""`lawdsl solve` as a user meets it: what it needs, what it says, what it writes, how it ends."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from mistaken_commands import LEAST
from test_cli import document, lawdsl

import lawdsl as package
from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "laws" / "data" / "c4_share.csv"

ALLOCATION = "chinchilla.allocation"
NUMBERS = ("loss.E=1.8", "loss.A=480", "loss.B=2085", "loss.alpha=0.35", "loss.beta=0.37")

MIX = """question mix "The best mixture"
index     i over validation
index     j over training
uses      loss : mixing.m4
setting   weight[i] = 1
setting   cap[j] = 1
choose    r[j] in simplex
minimize  sum(weight[i]*loss[i](r[j]) for i)
subject to r[j] <= cap[j]  "largest share"
"""
CAPS = """question caps "Shares that are alike"
index     j over {a, b, c}
setting   cap[j] = 1
choose    r[j] in simplex
minimize  sum(r[j]^2 for j)
subject to r[j] <= cap[j]  "largest share"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with questions and fits."""
    folder = tmp_path_factory.mktemp("solve")
    (folder / "least.law").write_text(LEAST, encoding="utf-8")
    (folder / "mix.law").write_text(MIX, encoding="utf-8")
    (folder / "caps.law").write_text(CAPS, encoding="utf-8")
    package.fit("dcpt.share", TABLE).save(folder / "c4.json")
    package.fit(
        "mixing.m4",
        ROOT / "laws/data/code_and_english.csv",
        r="r_*",
        L="L_*",
        where=["phase = end", "step = 1000", "model = 0.64M"],
    ).save(folder / "mix.json")
    return folder


@pytest.fixture
def command(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Any command in that folder, without a process of its own: exit code, output, errors."""
    monkeypatch.chdir(folder)

    def invoked(*arguments: object) -> tuple[int, str, str]:
        done = CliRunner().invoke(cli, list(map(str, arguments)), standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return done.return_value, done.stdout, done.stderr

    return invoked


@pytest.fixture
def run(command):
    """`lawdsl solve` in that folder."""
    return partial(command, "solve")


def answer(run, *arguments: object) -> dict:
    code, out, _ = run(*arguments, "--json")
    content = json.loads(out)

    assert content["ok"] == (code == 0)
    return content["result"]


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def unknowns(result: dict) -> dict[str, float]:
    return {u["name"]: u["value"] for u in result["unknowns"]}


# What it needs


def test_a_question_alone_says_what_it_needs(run):
    code, out, _ = run("dcpt.tradeoff")

    assert code == 0
    assert "subject to general(N, D, r = 1 - r_d)" in out
    assert "lawdsl solve dcpt.tradeoff general=FIT.json domain=FIT.json N=… D=… L0=… T=…" in out
    assert "general: a fit of dcpt.l3" in out


def test_what_it_needs_is_a_document_too(run):
    result = answer(run, "dcpt.tradeoff")

    assert result["uses"] == {"general": "dcpt.l3", "domain": "dcpt.l3"}
    assert [g["name"] for g in result["givens"]] == ["N", "D", "L0", "T"]
    assert result["givens"][1]["unit"] == "Gtoken"
    assert [u["name"] for u in result["unknowns"]] == ["r_d"]


def test_show_says_the_same(command):
    assert command("show", "least.law") == command("solve", "least.law")
    assert json.loads(command("show", "least.law", "--json")[1])["command"] == "show"


def test_what_is_never_used_is_said_each_time(folder: Path, run):
    (folder / "loose.law").write_text(LEAST + 'given x  "no one knows"\n', encoding="utf-8")

    for arguments in ((), ("loss=c4.json", "T=0.02", "L0=2.44", "x=1")):
        assert "L0309" in run("loose.law", *arguments)[2]


# Answers


def test_an_answer_says_what_is_best_why_and_how_sure(run):
    code, out, err = run("least.law", "loss=c4.json", "T=0.02", "L0=2.44")

    assert code == 0 and err == ""
    for words in (
        "T = 0.02, L0 = 2.44 nat/token",
        "95 % interval",
        "on the constraint loss",
        "loss: loss(r) <= (1 + T)*L0",
        "1 % more of",
    ):
        assert words in out, words


def test_quiet_leaves_the_answer_alone(run):
    _, out, _ = run("least.law", "loss=c4.json", "T=0.02", "L0=2.44", "-q")

    assert "0.7225" in out
    assert "1 % more of" not in out


def test_parameters_may_be_numbers_and_then_errors_are_not_known(run):
    code, out, err = run(ALLOCATION, *NUMBERS, "C=1e21")

    assert code == 0
    assert "N = (A*alpha/(B*beta))^(1/(alpha + beta))*(C/k)^(beta/(alpha + beta))" in out
    assert "F0504" in err and "interval" not in out.partition("\n\n")[0]


@pytest.mark.parametrize("budget", ["1e21", "1e21FLOP", "1000EFLOP", "1000 EFLOP", "1e6PFLOP"])
def test_values_have_units(budget: str, run):
    result = answer(run, ALLOCATION, *NUMBERS, f"C={budget}")

    assert result["values"]["C"] == pytest.approx(1e21, rel=1e-12)


def test_a_setting_has_its_own_value_or_another(run):
    plain = answer(run, ALLOCATION, *NUMBERS, "C=6e20")
    doubled = answer(run, ALLOCATION, *NUMBERS, "C=12e20", "k=12")

    assert plain["values"]["k"] == 6.0
    assert unknowns(doubled) == pytest.approx(unknowns(plain), rel=1e-9)


def test_a_list_of_values_has_an_answer_for_each(run, tmp_path: Path):
    path = tmp_path / "answers.csv"
    code, out, _ = run(ALLOCATION, *NUMBERS, "C=1e20,1e21", "k=6,8", "-o", path)
    rows = rows_in(path)

    assert code == 0
    assert "C = " not in out and "k = " not in out  # what varies is in the table alone
    assert [(float(r["C"]), float(r["k"])) for r in rows] == [
        (1e20, 6.0),
        (1e20, 8.0),
        (1e21, 6.0),
        (1e21, 8.0),
    ]
    assert all(
        float(r["N"]) * float(r["D"]) * float(r["k"]) == pytest.approx(float(r["C"])) for r in rows
    )


def test_a_table_has_the_ends_of_intervals(run, tmp_path: Path):
    path = tmp_path / "answers.csv"
    run("least.law", "loss=c4.json", "T=0.01,0.02", "L0=2.44", "-o", path)

    for row in rows_in(path):
        assert float(row["r low"]) < float(row["r"]) < float(row["r high"])


def test_a_value_of_labels_may_vary_too(run, tmp_path: Path):
    path, curve = tmp_path / "answers.csv", tmp_path / "curve.csv"
    code, *_ = run("mix.law", "loss=mix.json", "cap=0.5,0.6", "-o", path, "--curve", curve)

    assert code == 0 and {row["cap"] for row in rows_in(curve)} == {"0.5", "0.6"}
    assert [row["cap"] for row in rows_in(path)] == ["0.5", "0.6"]


def test_a_value_is_for_all_labels_or_for_one(run):
    free = answer(run, "mix.law", "loss=mix.json")
    capped = answer(run, "mix.law", "loss=mix.json", "cap=0.9", "cap[code]=0.25")

    assert unknowns(free)["r[code]"] > 0.25
    assert unknowns(capped) == pytest.approx({"r[code]": 0.25, "r[general]": 0.75})


def test_a_label_of_which_there_is_none_has_no_share(run):
    assert unknowns(answer(run, "mix.law", "loss=mix.json", "cap[code]=0"))["r[code]"] == 0.0


def test_a_curve_is_written_along_the_unknown(run, tmp_path: Path):
    path = tmp_path / "curve.csv"
    code, out, err = run("least.law", "loss=c4.json", "T=0.02", "L0=2.44", "--curve", path)
    rows = rows_in(path)

    assert code == 0 and f"wrote {path}" in out + err
    x = [float(row["r"]) for row in rows]
    assert x == sorted(x) and (x[0], x[-1]) == (0.0, 1.0)
    margin = "margin of loss(r) <= (1 + T)*L0"
    assert float(rows[0][margin]) < 0 < float(rows[-1][margin])


def test_another_choice_is_compared_with_the_answer(run):
    result = answer(run, "least.law", "loss=c4.json", "T=0.02", "L0=2.44", "--at", "r=0.5")

    (compared,) = result["compared"]
    assert compared["x"] == {"r": 0.5}
    assert compared["broken"] == ["loss(r) <= (1 + T)*L0"]


def test_another_choice_may_have_labels(run):
    free = answer(run, "mix.law", "loss=mix.json", "--at", "r[code]=0.5,r[general]=0.5")

    (compared,) = free["compared"]
    assert compared["x"] == {"r[code]": 0.5, "r[general]": 0.5}
    assert compared["behind"] > 0 and compared["broken"] == []


def test_another_choice_may_have_two_labels_for_a_name(folder: Path, run):
    lines = (
        'question grid "Two labels for a name"',
        "index a over {one, two}",
        "index b over {three, four}",
        "setting k = 3",
        "choose T[a, b] in [0, 9]",
        "minimize sum((T[a, b] - k)^2 for a, b)",
        "",
    )
    (folder / "grid.law").write_text("\n".join(lines), encoding="utf-8")
    names = [f"T[{a}, {b}]" for a in ("one", "two") for b in ("three", "four")]
    choice = ",".join(f"{name}=4" for name in names)

    (compared,) = answer(run, "grid.law", "k=3", "--at", choice)["compared"]
    assert compared["x"] == dict.fromkeys(names, 4.0) and compared["behind"] == pytest.approx(4)


def test_no_answer_exits_with_1_and_says_what_gives_way(run):
    code, out, _ = run("least.law", "loss=c4.json", "T=0.02", "L0=1.44")

    assert code == 1
    assert "no answer: the constraints cannot be kept together" in out
    assert "must give way by" in out
    content = json.loads(run("least.law", "loss=c4.json", "T=0.02", "L0=1.44", "--json")[1])
    assert not content["ok"] and content["result"]["status"] == "infeasible"


def test_caps_that_leave_no_mixture_are_summed(run):
    code, out, _ = run("caps.law", "cap=0.2")

    assert code == 1
    assert "the other constraints leave sum(r[j] for j) at most 0.6" in out


def test_a_row_without_an_answer_is_kept_and_the_exit_code_is_1(run):
    code, out, _ = run("least.law", "loss=c4.json", "T=0.02,0.9", "L0=1.44")

    assert code == 1
    assert "no answer" in out and "on the constraint loss" in out


def test_the_document_of_an_answer_has_the_stable_keys(run):
    result = answer(run, "least.law", "loss=c4.json", "T=0.02", "L0=2.44")

    assert {"question", "fits", "values", "status", "unknowns", "goal", "kept"} <= set(result)
    (unknown,) = result["unknowns"]
    assert {"name", "value", "unit", "ends", "formula", "place"} <= set(unknown)
    low, high = unknown["ends"]
    assert low < unknown["value"] < high


# What goes wrong


WRONG_LINES = [  # what the command line cannot be: exit code 2
    ((ALLOCATION, *NUMBERS, "C"), "NAME=VALUE"),
    ((ALLOCATION, *NUMBERS, "C="), "NAME=VALUE"),
    ((ALLOCATION, *NUMBERS, "C=1", "N=2"), "leave it out"),
    ((ALLOCATION, *NUMBERS, "C=many"), "write a number of FLOP, or with a magnitude, C=1e21"),
    ((ALLOCATION, *NUMBERS, "C=1,,2"), "is not a number"),
    ((ALLOCATION, *NUMBERS, "C=1Gtoken"), "C is in FLOP, not Gtoken"),
    (
        (ALLOCATION, *NUMBERS, "C=1", "C=2"),
        "C is given twice, C=1 and C=2: several values are C=1,2",
    ),
    ((ALLOCATION, *NUMBERS, "loss.E=1", "C=2"), "loss.E is given twice"),
    (
        (ALLOCATION, "loss=a.json", "loss=b.json", "C=1"),
        "loss is given twice, loss=a.json and loss=b.json: leave one out",
    ),
    ((ALLOCATION, "loss=fit.json", "loss.E=1", "C=2"), "its own parameters"),
    ((ALLOCATION, *NUMBERS[1:], "loss.E=1,2", "C=2"), "write loss.E=2.5"),
    ((ALLOCATION, *NUMBERS, "C=" + ",".join(map(str, range(1, 10_002)))), "at most 10,000"),
    ((ALLOCATION, *NUMBERS, "C=1", "--at", "N"), "--at takes NAME=VALUE"),
    ((ALLOCATION, *NUMBERS, "C=1", "--at", "N=x,D=1"), "is not a number"),
    ((ALLOCATION, *NUMBERS, "C=1", "--seed", "x"), "is not a valid integer"),
    ((), "Missing argument 'QUESTION'"),
]
WRONG_INPUT = [  # what it names cannot be used: exit code 3
    (("nothing",), "L0310", "`lawdsl laws`"),
    (("dcpt.trade",), "L0310", "`dcpt.tradeoff`"),
    (("chinchilla",), "L0601", "`lawdsl solve chinchilla.allocation`"),
    (("mixing.nested",), "L0601", "`lawdsl pipeline"),
    ((ALLOCATION, "C=1e21"), "F0501", "loss=FIT.json"),
    ((ALLOCATION, "loss.E=1", "C=1e21"), "F0501", "each of loss.E=…"),
    ((ALLOCATION, *NUMBERS, "loss.F=1", "C=1e21"), "F0501", "loss.E=…"),
    ((ALLOCATION, "loss=nothing.json", "C=1e21"), "F0108", "lawdsl fit"),
    ((ALLOCATION, "loss=mix.json", "C=1e21"), "F0501", "a fit of chinchilla"),
    ((ALLOCATION, "loss=c4.json", "C=1e21"), "F0501", "a fit of the law"),
    (("mix.law", "loss.c=1"), "F0501", "loss=FIT.json"),
    ((ALLOCATION, *NUMBERS), "F0502", "C=VALUE"),
    ((ALLOCATION, *NUMBERS, "C=nan"), "F0502", "C=2.5"),
    ((ALLOCATION, *NUMBERS, "C=inf"), "F0502", "C=2.5"),
    ((ALLOCATION, *NUMBERS[1:], "loss.E=nan", "C=1"), "F0502", "loss.E=2.5"),
    ((ALLOCATION, *NUMBERS, "C=1", "x=2"), "F0502", "it has C, k"),
    ((ALLOCATION, *NUMBERS, "C=1", "--at", "N=1"), "F0502", "--at N=VALUE"),
    (("mix.law", "loss=mix.json", "cap[cod]=1"), "F0502", "`cap[code]`"),
    ((ALLOCATION, *NUMBERS, "C=0"), "F0503", "or its unit"),
    ((ALLOCATION, *NUMBERS, "C=-1"), "F0503", "or its unit"),
    ((ALLOCATION, *NUMBERS[1:], "loss.E=-1", "C=1"), "F0503", "correct the value"),
    ((ALLOCATION, *NUMBERS, "C=1", "--level", "30%"), "F0120", "from 0.5 to 0.999"),
    ((ALLOCATION, *NUMBERS, "C=1", "--seed", "-1"), "F0106", ""),
    ((ALLOCATION, *NUMBERS, "C=1", "-o", "no/such/folder.csv"), "L0313", ""),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG_LINES, ids=lambda v: str(v)[-40:])
def test_a_wrong_command_line_says_how_it_is_written(arguments: tuple, message: str, run):
    with pytest.raises(click.UsageError) as caught:
        run(*arguments)
    assert message in caught.value.format_message()


@pytest.mark.parametrize(("arguments", "code", "help"), WRONG_INPUT, ids=lambda v: str(v)[-40:])
def test_wrong_input_says_what_to_do(arguments: tuple, code: str, help: str, run):
    with pytest.raises(LawdslError) as caught:
        run(*arguments)

    (found,) = caught.value.diagnostics
    assert found.code == code
    assert help in (found.help or "")


def test_a_fit_that_lacks_what_is_chosen_is_refused(run, tmp_path: Path):
    """Else the answer would be an end of the range, whatever was measured."""
    text = """question size "The smallest model"
uses loss : dcpt.l3
choose N in [0.1, 100] unit Gparam
minimize N
subject to loss(N, D = 10, r = {}) <= 3
"""
    path = tmp_path / "size.law"
    path.write_text(text.format("0.5"), encoding="utf-8")
    with pytest.raises(LawdslError) as caught:
        run(str(path), "loss=c4.json")
    (found,) = caught.value.diagnostics
    assert found.code == "F0501" and found.message == (
        "`loss` is a fit of dcpt.share, which has no N: it predicts the same for every N"
    )
    # one that depends on the choice in another way is only warned of
    path.write_text(text.format("N/100"), encoding="utf-8")
    codes = {d["code"] for d in answer(run, str(path), "loss=c4.json")["diagnostics"]}
    assert "F0507" in codes


@pytest.mark.parametrize(
    ("arguments", "code"),
    [((*WRONG_LINES[0][0],), 2), ((*WRONG_INPUT[4][0],), 3), (("least.law", "loss=c4.json"), 3)],
)
def test_mistakes_leave_by_their_exit_code_without_a_trace(
    arguments: tuple, code: int, folder: Path
):
    done = lawdsl("solve", *arguments, "--json", cwd=folder)
    assert done.returncode == code and done.stderr == ""
    content = document(done)
    assert content["result"] is None and content["diagnostics"][0]["code"]


# Questions beside laws


def test_questions_are_listed_beside_laws_and_pipelines(command):
    _, out, _ = command("laws")
    listed = json.loads(command("laws", "--json")[1])["result"]["questions"]

    assert {"name": "dcpt.tradeoff"}.items() <= listed[
        [q["name"] for q in listed].index("dcpt.tradeoff")
    ].items()
    for question in listed:
        assert question["title"]
        assert question["name"] in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "least.law", TABLE),
        ("trends", "least.law", TABLE),
        ("measure", "least.law", TABLE),
        ("compare", "least.law", "dcpt.share", TABLE),
        ("pipeline", "least.law", TABLE),
    ],
    ids=lambda a: a[0],
)
def test_a_command_about_laws_says_what_answers_a_question(arguments: tuple, command):
    with pytest.raises(LawdslError) as caught:
        command(*arguments)

    (found,) = caught.value.diagnostics
    assert found.code == "L0601" and "this is the question `least`" in found.message
    assert "`lawdsl solve NAME` answers it" in (found.help or "")


def test_a_question_is_read_by_check_and_written_by_fmt(command, tmp_path: Path):
    assert command("check", "--syntax", "least.law")[1] == "least.law: no mistakes\n"
    code, out, _ = command("check", "least.law")
    assert code == 0 and "no claims to prove: lawdsl solve least.law answers it" in out
    path = tmp_path / "least.law"
    path.write_text(LEAST, encoding="utf-8")

    assert command("fmt", path)[0] == 0
    assert 'given     T >= 0                       "tolerated' in path.read_text(encoding="utf-8")


def test_a_question_is_started_from_a_template_that_is_answered(
    command, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    code, out, _ = command("new", "my.budget", "--question")
    assert code == 0 and "next: lawdsl solve budget.law" in out

    assert command("fmt", "--check", "budget.law")[0] == 0
    assert answer(run, "budget.law", *NUMBERS, "C=1e21")["status"] == "answered"


@pytest.mark.parametrize("option", [("--latex",), ("--fix", "r=1")], ids=lambda o: o[0])
def test_a_question_is_shown_as_it_is_written_only(option: tuple, command):
    with pytest.raises(click.UsageError, match="as it is written"):
        command("show", "least.law", *option)


def test_help_shows_an_example_of_each_use():
    done = CliRunner().invoke(cli, ["solve", "--help"])

    assert done.exit_code == 0
    for words in ("what it needs", "general=G.json", "T=0.01,0.02,0.03", "--at", "--curve"):
        assert words in done.output
