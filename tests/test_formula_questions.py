"""Questions about plain formulas: what an answer says beside the best choice."""

from __future__ import annotations

from pathlib import Path

import pytest

import lawdsl
from lawdsl.reporting.answer_tables import rows_by_label

TABLE = Path(__file__).resolve().parent.parent / "laws" / "data" / "c4_share.csv"


def load_question(folder: Path, *lines: str, **fits: object) -> lawdsl.Asked:
    path = folder / "plain.law"
    path.write_text("\n".join(('question plain "A plain question"', *lines, "")), encoding="utf-8")
    return lawdsl.Asked(path, **fits)


SUM = "choose x, y, z in [0, 10]"
NEAR = "minimize (x - 9)^2 + 2*(y - 5)^2 + x*y + (z - 2)^2"
FAR = "maximize 9*x - x^2 - 2*y^2 - (z - 2)^2 - x*y*z/100"


@pytest.mark.parametrize(
    ("lines", "turn"),
    [
        (("choose x in [0, 10]", "minimize x + x^2/40", "subject to x >= k"), 1),
        ((SUM, NEAR, "subject to x + y + z = k"), -1),
        *(
            pytest.param((*lines, condition), -1, marks=pytest.mark.slow)
            for lines, condition in (
                ((SUM, FAR), "subject to x + y <= k"),
                (("choose x in [0, 10]", "maximize x - x^2/40"), "subject to x <= k"),
                ((SUM, NEAR), "subject to x + y + z <= k"),
                ((SUM, FAR), "subject to x + y = k"),
            )
        ),
    ],
    ids=lambda v: v[-1] if isinstance(v, tuple) else "",
)
def test_a_price_is_how_the_goal_changes_as_its_margin_grows(
    lines: tuple[str, ...], turn: int, tmp_path: Path
):
    """A margin is one larger where k is one larger, or (turn -1) one smaller."""
    ready = load_question(tmp_path, "given k > 0", *lines)
    answer = ready.answer(k=4.0)
    (kept,) = answer.kept
    ahead, behind = (ready.answer(k=4.0 + step).goal for step in (1e-4, -1e-4))

    assert answer.diagnostics == ()  # without fits there are no errors
    assert ahead and behind and kept.active
    assert kept.price == pytest.approx(turn * (ahead.value - behind.value) / 2e-4, rel=1e-5)


@pytest.mark.parametrize("domain", ["x > 0, x >= 0", "x >= 0, x > 0", "x > 0"])
def test_an_end_that_one_bound_leaves_out_is_approached_only(domain: str, tmp_path: Path):
    answer = load_question(tmp_path, f"choose {domain}", "minimize x").answer()

    assert answer.status == "approached" and answer["x"] == 0


def test_an_answer_keeps_its_level_where_there_is_none(tmp_path: Path):
    ready = load_question(tmp_path, "choose x in [0, 1]", "minimize x", "subject to x >= 2")
    answer = ready.answer(level=0.5)

    assert answer.status == "infeasible" and answer.level == 0.5


def test_a_value_of_labels_that_varies_is_in_the_table_of_labels(tmp_path: Path):
    ready = load_question(
        tmp_path,
        "index m over {a, b}",
        "setting w[m] = 1",
        "choose T[m] >= 0",
        "minimize sum((T[m] - w[m])^2 for m)",
    )
    answers = [ready.answer(w=value) for value in (1.0, 2.0)]
    headers, rows = rows_by_label(ready.question, answers, ["w"])

    assert (headers[0], headers[2]) == ("w", "T")
    assert [row[:3] for row in rows] == [[w, m, pytest.approx(w)] for w in (1, 2) for m in "ab"]


@pytest.mark.parametrize(
    ("kept", "status"),
    [
        ((), "answered"),
        (("subject to x <= 2",), "answered"),
        (("subject to x >= 3",), "infeasible"),
    ],
    ids=["free", "on a constraint", "broken"],
)
def test_a_domain_of_one_value_has_it_for_an_answer(
    kept: tuple[str, ...], status: str, tmp_path: Path
):
    answer = load_question(tmp_path, "given k", "choose x in [2, k]", "minimize x^2", *kept).answer(
        k=2
    )

    assert answer.status == status and answer.certain
    if answer.ok:
        assert answer["x"] == 2 and answer.goal and answer.goal.value == 4
    else:
        (relaxed,) = answer.relaxations
        assert relaxed.by == pytest.approx(1)


def test_a_fit_that_two_names_stand_for_has_the_same_errors_for_both(tmp_path: Path):
    """What the two predict differs by nothing, however little is known of either."""
    fits = [lawdsl.fit("dcpt.share", TABLE) for _ in range(2)]
    other = lawdsl.fit("dcpt.share", TABLE, where="r != 0.5")
    lines = ("uses a, b : dcpt.share", "choose r in [0, 1]", "minimize r + a(r) - b(r)")
    ready = load_question(tmp_path, *lines, a=fits[0], b=fits[1])
    apart = load_question(tmp_path, *lines, a=fits[0], b=other)
    goals = [one.answer(proofs=False).goal for one in (ready, apart)]

    assert goals[0] and goals[0].ends is None
    assert goals[1] and goals[1].ends is not None


def test_a_slope_that_is_infinite_at_the_answer_makes_no_noise(tmp_path: Path):
    """sqrt(r) is least at 0, where it is steep without end; warnings are errors here."""
    ready = load_question(tmp_path, "given k > 0", "choose r in [0, 1]", "minimize k*sqrt(r)")
    assert ready.answer(k=2.0)["r"] == 0.0


def test_unknowns_that_may_be_zero_are_found_at_zero(tmp_path: Path) -> None:
    # A search by logarithms alone never reaches 0, where the best y is.
    answer = load_question(
        tmp_path,
        "choose x >= 0",
        "choose y >= 0",
        "minimize (x - 1)^2 + x*y + y",
    ).answer()
    assert answer["y"] == 0
    assert answer["x"] == pytest.approx(1.0, rel=1e-6)


def test_a_condition_on_what_is_given_is_asked_for(tmp_path: Path):
    ready = load_question(
        tmp_path, "given k", "choose x in [0, 1]", "minimize x", "subject to k >= 0"
    )

    assert ready.answer(k=0.0).status == "answered"
    assert ready.answer(k=0.5)["x"] == 0
    strict = load_question(
        tmp_path, "given k", "choose x in [0, 1]", "minimize x", "subject to k > 0"
    )
    assert strict.answer(k=0.5)["x"] == 0
    with pytest.raises(lawdsl.LawdslError, match="k > 0 does not hold"):
        strict.answer(k=0.0)
    with pytest.raises(lawdsl.LawdslError, match="k >= 0 does not hold: it is off by 1") as error:
        ready.answer(k=-1.0)
    assert [d.code for d in error.value.diagnostics] == ["F0503"]


@pytest.mark.parametrize("domain", ["[0, 1]", "[0, 1)", "(0, 1]"])
def test_a_range_without_a_solution_is_shown_with_its_ends(domain: str, tmp_path: Path):
    ready = load_question(tmp_path, f"choose x in {domain}", "minimize x", "subject to x >= 2")

    assert f"no x in {domain} keeps every constraint" in str(ready.answer())
