"""Questions in the language: what they declare, how they are printed, every mistake."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from quick import without
from test_attacks import SECONDS, WORDS

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.language import library, size_limits, tree
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document, print_formula
from lawdsl.language.questions import Question
from lawdsl.solving.solve import Asked

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "questions"
FILES = [*sorted(FIXTURES.glob("*.law")), *library.shipped("question").values()]

USES, GIVEN, CHOOSE, BEST = (
    "uses loss : chinchilla",
    "given D > 0",
    "choose N > 0",
    "minimize loss(N, D)",
)
INDICES = ("index i over validation", "index j over training")
MIXTURE = (*INDICES, "uses loss : mixing.m4")
SHARES = "choose r[j] in simplex"
TOTAL = "minimize sum(loss[i](r[j]) for i)"


def read(*lines: str) -> tuple[Question | None, list[Diagnostic]]:
    text = "\n".join(("question example", *lines, ""))
    try:
        return library.declared_question(Text("example.law", text), FIXTURES)
    except LawdslError as error:
        return None, list(error.diagnostics)


def question(*lines: str) -> Question:
    found, said = read(*lines)

    assert found is not None, said
    return found


# What is declared


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_question_is_printed_as_it_is_written(path: Path):
    text = path.read_text(encoding="utf-8")

    assert print_document(parse(text)[0]) == text
    assert library.question(str(path))[1] == []


def test_a_question_knows_its_laws_givens_unknowns_goal_and_constraints():
    found, _ = library.question("dcpt.tradeoff")

    assert {use: law.name for use, law in found.uses.items()} == dict.fromkeys(
        ("general", "domain"), "dcpt.l3"
    )
    assert [s.name for s in found.of_kind("given")] == ["N", "D", "L0", "T"]
    assert [s.name for s in found.of_kind("unknown")] == ["r_d"]
    assert found.goal_text == "domain(N, D, r = r_d)" and not found.maximize
    (kept,) = found.constraints
    assert (kept.relation, kept.doc) == ("<=", "general loss")
    assert kept.text == "general(N, D, r = 1 - r_d) <= (1 + T)*L0"


def test_a_law_at_values_is_known_by_the_variables_of_the_law():
    found, _ = library.question("dcpt.tradeoff")

    value = found.values["general(N, D, r = 1 - r_d)"]
    assert (value.use, value.labels, value.indices) == ("general", (), ())
    assert {name: print_formula(f) for name, f in value.arguments} == {
        "N": "N",
        "D": "D",
        "r": "1 - r_d",
    }


def test_a_name_alone_has_the_unit_of_the_variable_that_it_stands_for():
    found, _ = library.question("dcpt.tradeoff")

    assert found.units["N"] == tree.UnitOf((("Gparam", 1),))
    assert found.units["D"] == tree.UnitOf((("Gtoken", 1),))
    assert found.units["r_d"] is None


def test_a_law_of_labels_has_a_value_for_each():
    found, _ = library.question("mixing.best")

    (value,) = found.values.values()
    assert (value.labels, value.indices) == (("i",), ("i",))
    assert [k.indices for k in found.constraints] == [("j",), ("j",)]
    assert found.symbols["cap"].indices == ("j",)


def test_a_label_is_told_from_an_index():
    found = question("index j over training", MIXTURE[2], SHARES, "minimize loss[web](r[j])")

    (value,) = found.values.values()
    assert (value.labels, value.indices) == (("web",), ())


def test_an_index_is_free_in_a_constraint_where_it_holds_for_each_label():
    found = question(*MIXTURE, SHARES, TOTAL, "subject to loss[i](r[j]) <= 3, r[j] <= 1/2")

    assert [k.indices for k in found.constraints] == [("i",), ("j",)]


def test_a_let_may_be_a_law_at_values_and_stand_where_another_is_taken():
    found = question(
        "uses one, other : dcpt.share",
        "choose r in [0, 1]",
        "let half = one(r)/2",
        "minimize other(r = half)",
    )

    assert set(found.values) == {"one(r)", "other(r = half)"}


def test_uses_may_stand_anywhere():
    assert question(GIVEN, CHOOSE, "let y = loss(N, D)", USES, "minimize y").uses.keys() == {"loss"}


def test_what_is_largest_is_asked_for_too():
    assert question(USES, GIVEN, CHOOSE, "maximize -loss(N, D)").maximize


@pytest.mark.parametrize(
    "line",
    [
        "parameter uses, choose, subject, to, given > 0",
        "let uses = choose + subject*to",
        "choose = 2*to",
        "subject = to + uses",
    ],
)
def test_words_of_questions_are_names_in_laws(line: str):
    document, mistakes = parse(f"law example\n{line}\n")

    assert mistakes == []
    assert len(document.statements) == 2


def test_a_line_goes_on_behind_a_colon_of_uses_alone():
    document, mistakes = parse("uses loss :\n  chinchilla\n")
    assert mistakes == [] and document.statements == (tree.Uses(("loss",), "chinchilla"),)

    _, mistakes = parse("variable N:\nparameter A > 0\n")
    assert [d.code for d in mistakes] == ["L0201"]


def test_an_open_bracket_spoils_its_own_statement_alone():
    document, mistakes = parse(f"{USES}\nsubject to loss(N, D < 3\n{CHOOSE}\n")

    assert [d.code for d in mistakes] == ["L0202"]
    assert isinstance(document.statements[-1], tree.Declaration)


# Mistakes: lines, code, message, help, where it points


def question_lines(*lines: str, goal: str = BEST) -> list[str]:
    return [USES, GIVEN, CHOOSE, *lines, goal]


def mixture_lines(*lines: str, goal: str = TOTAL) -> list[str]:
    return [*MIXTURE, SHARES, *lines, goal]


MISTAKES = [
    # uses
    (["uses loss : chinchila", GIVEN, CHOOSE, BEST], "L0310", "unknown law", "`chinchilla`", "chinchila"),
    (["uses loss : mixing.nested", GIVEN, CHOOSE, BEST], "L0310", "unknown law", "", "mixing.nested"),
    (["uses loss : dcpt.tradeoff", GIVEN, CHOOSE, BEST], "L0310", "unknown law", "", "dcpt.tradeoff"),
    (["uses loss = chinchilla", GIVEN, CHOOSE, BEST], "L0201", "`=`", "`uses loss : chinchilla`", "="),
    (["uses loss chinchilla", GIVEN, CHOOSE, BEST], "L0201", "", "`uses loss : chinchilla`", "chinchilla"),
    (["uses loss :", GIVEN, CHOOSE, BEST], "L0207", "too early", "a name", ":"),
    (question_lines("uses loss : kaplan"), "L0302", "declared twice", "another name", "loss"),
    (["uses exp : chinchilla", GIVEN, CHOOSE, "minimize exp(N, D)"], "L0303", "", "another", "exp"),
    (["uses law : chinchilla", GIVEN, CHOOSE, "minimize N"], "L0206", "`law`", "another", "law"),
    (question_lines(goal="minimize los(N, D)"), "L0304", "unknown function", "`loss`", "los(N, D)"),
    (question_lines(goal="minimize other(N, D)"), "L0304", "unknown", "the laws are loss", "other(N, D)"),
    (question_lines(goal="minimize loss"), "L0308", "is a law", "`loss(…)`", "loss"),
    (question_lines(goal="minimize 2*loss*N"), "L0308", "is a law", "`loss(…)`", "loss"),
    (question_lines("uses other : kaplan"), "L0309", "the law `other` is never used", "remove", "other"),
    # arguments
    (question_lines(goal="minimize loss(N)"), "L0701", "`D` of `chinchilla` has no value", "`loss(N, D)`", "loss(N)"),
    (question_lines(goal="minimize loss(D = N)"), "L0701", "`N` of", "`loss(D = N, N = …)`", "loss(D = N)"),
    (question_lines(goal="minimize loss(N, D, D = 3)"), "L0701", "two values", "one", "D = 3"),
    (question_lines(goal="minimize loss(N, D, N)"), "L0701", "two values", "one", "N"),
    (question_lines(goal="minimize loss(2*N, D)"), "L0701", "no name", "`N = 2*N`", "2*N"),
    (question_lines(goal="minimize loss(N, D, r = 1)"), "L0701", "no variable `r`", "N, D", "r = 1"),
    (question_lines(goal="minimize loss(N, D, E = 1)"), "L0701", "no variable `E`", "N, D", "E = 1"),
    (question_lines(goal="minimize loss(N, d = D)"), "L0701", "no variable `d`", "`D`", "d = D"),
    (question_lines(goal="minimize loss(N, D = oo)"), "L0308", "`oo`", "large number", "oo"),
    (question_lines(goal="minimize loss(N, D = q)"), "L0301", "unknown name `q`", "`given q`", "q"),
    (question_lines(goal="minimize loss(N, D = D/0)"), "L0501", "divides by 0", "correct", "0"),
    (question_lines(goal="minimize loss(N, D = loss(N, D))"), "L0308", "no law at values", "`let", "loss(N, D)"),
    (question_lines(goal="minimize loss(N, D = 2 = 3)"), "L0201", "`=`", "", "="),
    (question_lines(goal="minimize loss()"), "L0201", "`)`", "a formula", ")"),
    (question_lines(goal="minimize loss.x(N, D)"), "L0201", "not of a function", "`x(…)`", "loss.x("),
    # labels
    (mixture_lines(goal="minimize loss(r[j])"), "L0701", "each label of i", "`loss[i](…)`", "loss(r[j])"),
    (question_lines(INDICES[0], goal="minimize sum(loss[i](N, D) for i)"), "L0701", "no index sets", "", ""),
    (mixture_lines(goal="minimize sum(loss[j](r[j]) for j)"), "L0701", "`j` runs over training", "", ""),
    (mixture_lines(goal="minimize sum(loss[i, i](r[j]) for i)"), "L0701", "each label of i", "", ""),
    (mixture_lines(goal="minimize sum(loss[i](r[i]) for i)"), "L0315", "runs over", "index over", ""),
    (mixture_lines(goal="minimize sum(loss[i](r = 1) for i)"), "L0701", "each label", "`r[j]`", "r = 1"),
    (mixture_lines(goal="minimize loss[i](r[j])"), "L0316", "leaves the index `i` free", "sum over", "i"),
    (mixture_lines(goal="minimize sum(i*loss[i](r[j]) for i)"), "L0308", "has no value", "", "i"),
    ([*MIXTURE, "choose r[j] >= 0", TOTAL], "L0701", "sum to 1", "`r[j] in simplex`", "r[j]"),
    ([*MIXTURE, "choose r[i] in simplex", "minimize sum(loss[i](r[i]) for i)"],
     "L0701", "does not run over training", "`index j over training`", "r[i]"),
    (mixture_lines("setting w[i, i] = 1"), "L0314", "stands twice", "another index", "i"),
    (mixture_lines("setting w[k] = 1"), "L0315", "`k` is not an index", "`index k over …`", "k"),
    (mixture_lines("setting w[i] = r[j]"), "L0412", "not a number", "`let`", "r[j]"),
    ([USES, GIVEN, "choose N in simplex", BEST], "L0318", "sum to 1", "subscript", "simplex"),
    # what is best, and what is asked for
    ([USES, GIVEN, CHOOSE], "L0702", "no goal", "`minimize …`", "question example"),
    (question_lines("maximize loss(N, D)"), "L0403", "a second goal", "`subject to`", "minimize"),
    ([USES, GIVEN, "given N > 0", BEST], "L0702", "no unknown", "`choose", "question example"),
    (question_lines("choose x > 0"), "L0702", "nothing depends on the unknown `x`", "remove it", "x"),
    (question_lines("subject to loss(N, D) < 3", goal="minimize D"), "L0702", "the goal does not", "`N`", "D"),
    (question_lines(goal="minimize squared(loss(N, D))"), "L0304", "`squared`", "a formula of laws", ""),
    (question_lines(goal="minimize ∂loss/∂N"), "L0308", "only in a claim", "of a law", "∂loss/∂N"),
    (question_lines(goal="minimise loss(N, D)"), "L0205", "unknown statement", "`minimize`", "minimise"),
    # domains
    ([USES, GIVEN, "choose N in [2, 1]", BEST], "L0406", "empty", "smaller", "[2, 1]"),
    ([USES, GIVEN, "choose N in [0, q]", BEST], "L0301", "`q`", "`given q`", "q"),
    ([USES, GIVEN, "choose N, x > 0", "choose y > x", "minimize loss(N, D)*x*y"],
     "L0308", "cannot use the unknown `x`", "givens", "x"),
    (question_lines("let y = 2*N", "choose x in [0, y]", goal="minimize x*loss(N, D)"),
     "L0308", "cannot change with an unknown, and `y` does", "`subject to`", "y"),
    (question_lines("choose x in [0, loss(N = 1, D)]", goal="minimize x*loss(N, D)"),
     "L0308", "no law at values", "`subject to`", "loss(N = 1, D)"),
    ([USES, "given D = 3", CHOOSE, BEST], "L0201", "a given must not have a value", "`setting`", "="),
    ([USES, GIVEN, "choose N = 3", BEST], "L0201", "an unknown has no value", "`setting`", "="),
    # units
    ([USES, "given D > 0 unit param", CHOOSE, BEST], "L0410", "`D` is in token", "convert", "D"),
    ([USES, "choose N > 0 unit param", "minimize loss(N, D = N)"], "L0410", "in token", "convert", "N"),
    ([USES, "given D unit token", "choose N unit param", BEST, "subject to N <= D"],
     "L0410", "left side is in param", "convert", "D"),
    ([USES, "given D unit token", "choose N unit param", BEST, "subject to loss(N, D) < N"],
     "L0410", "the left side is in nat*token^-1", "convert", "N"),
    # constraints
    (question_lines("subject to 0 < N < 3"), "L0201", "one comparison", "subject to 0 < N, N < 3", "<"),
    (question_lines("subject to 0 < N = 3"), "L0201", "one comparison", "one after the other", "="),
    (question_lines("subject to N"), "L0207", "too early", "a relation", "N"),
    (question_lines("subject to N == 3"), "L0209", "one `=`", "`=`", "=="),
    (question_lines("subject to N != 3"), "L0101", "`!=`", "<=", "!="),
    (question_lines("subject N < 3"), "L0201", "`to` is missing", "`subject to`", "N"),
    (question_lines("subject to N < q"), "L0301", "`q`", "`given q`", "q"),
    # names
    ([USES, CHOOSE, BEST], "L0301", "unknown name `D`", "`given D` or `choose D`", "D"),
    ([USES, GIVEN, BEST.replace("N", "n"), CHOOSE], "L0701", "no variable `n`", "`N`", "n"),
    (question_lines("given N > 0"), "L0302", "declared twice", "another", "N"),
    (question_lines("given x"), "L0309", "the given `x` is never used", "remove", "x"),
    (question_lines("setting x = 1"), "L0309", "the setting `x` is never used", "remove", "x"),
    (question_lines("let a = b", "let b = a", goal="minimize loss(N, D) + a"), "L0307", "of itself", "", ""),
    # statements of others
    (question_lines("parameter A > 0"), "L0602", "belongs to a law, not to a question", "`choose`", "parameter"),
    (question_lines("L = 3"), "L0602", "belongs to a law", "", "L"),
    (question_lines("require N > 0"), "L0602", "belongs to a law", "", ""),
    (question_lines("extends chinchilla"), "L0602", "belongs to a law", "", ""),
    (question_lines("step mixing.size"), "L0602", "belongs to a pipeline", "", ""),
    ([*question_lines(), "question other"], "L0403", "a second question", "a file of its own", ""),
    ([*question_lines(), "law other"], "L0403", "a second section, the law", "a file of its own", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "code", "message", "help", "where"),
    MISTAKES,
    ids=[f"{m[1]} {i} {m[0][-1][:30]}" for i, m in enumerate(MISTAKES)],
)
def test_a_mistake_is_one_message(lines: list[str], code: str, message: str, help: str, where: str):
    _, found = read(*lines)

    assert [d.code for d in found] == [code], [d.message for d in found]
    assert message in found[0].message
    assert found[0].help and help in found[0].help
    assert found[0].text is not None and found[0].span is not None
    pointed = found[0].text.text[found[0].span.start : found[0].span.end]
    assert pointed == where or not where


def test_all_mistakes_are_found_in_one_run():
    _, found = read(
        USES,
        "uses other : nothing",
        GIVEN,
        CHOOSE,
        "minimize loss(N) + other(N, D) + q",
        "subject to loss(N, D, r = 1) < 3",
        "require N > 0",
    )

    assert sorted(d.code for d in found) == ["L0301", "L0310", "L0602", *["L0701"] * 2]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("choose r in [0, 1]", "question"),
        ("uses loss : chinchilla", "question"),
        ("maximize N", "question"),
        ("subject to N < 3", "question"),
        ("given x > 0", "question or a pipeline"),
    ],
)
def test_a_statement_of_a_question_in_a_law_is_refused(line: str, kind: str):
    text = f"law example\nvariable N > 0\nparameter A > 0\n{line}\nL = A/N\n"
    with pytest.raises(LawdslError) as caught:
        library.declared(Text("example.law", text), Path())

    (found,) = caught.value.diagnostics
    assert found.code == "L0602"
    assert f"belongs to a {kind}, not to a law" in found.message


@pytest.mark.parametrize("name", ["chinchilla", "mixing.nested"])
def test_a_law_is_no_question(name: str):
    with pytest.raises(LawdslError) as caught:
        library.question(name)
    assert [d.code for d in caught.value.diagnostics] == ["L0601"]


@pytest.mark.parametrize(
    "line",
    [
        "let y = c[i](N)",
        "require L[i](N = 3) > 2",
        "minimize huber[i](log(L), 1e-3)",
        "measure k[i] = L[i](step = 3)",
    ],
)
def test_an_element_is_no_function_in_a_law(line: str):
    head = "law example\nindex i over domain\nvariable N, k[i] > 0\nparameter c[i] > 0\n"
    with pytest.raises(LawdslError) as caught:
        library.declared(Text("example.law", f"{head}{line}\nL = c[i]*N*k[i]\n"), Path())
    assert len(caught.value.diagnostics) == 1


# Hostile files


def lets(count: int, step: str) -> list[str]:
    """a0 is a law at values, and each further let made of the one before it."""
    made = [f"let a{i} = {step.format(f'a{i - 1}')}" for i in range(1, count)]
    return ["let a0 = loss(N, D)", *made]


LABELS = "index a, b, d, e, f, g over 1..100"
ATTACKS: dict[str, tuple[list[str], list[str]]] = {
    "6,000 calls": (question_lines(goal="minimize " + "+".join(["loss(N, D)"] * 6_000)), ["L0105"]),
    "100,000 calls": (
        question_lines(goal="minimize " + "+".join(["loss(N, D)"] * 100_000)),
        ["L0103"],
    ),
    "5,000 different calls": (
        question_lines(goal="minimize " + "+".join(f"loss(N, D = {i})" for i in range(1, 5_000))),
        ["L0105"],
    ),
    "lets that double 40 times": (
        question_lines(*lets(40, "{0} + {0}"), goal="minimize a39"),
        ["L0105"],
    ),
    "lets nested 95 deep": (
        question_lines(*lets(95, "-({0} + 1)"), goal="minimize a94"),
        ["L0104"],
    ),
    "1,000 brackets in an argument": (
        question_lines(goal=f"minimize loss(N, D = {'(' * 1_000}D{')' * 1_000})"),
        ["L0104"],
    ),
    "10,000 open calls": (question_lines(goal="minimize " + "loss(N = " * 10_000), ["L0104"]),
    "10,000 arguments": (
        question_lines(goal=f"minimize loss({', '.join(['N'] * 10_000)})"),
        ["L0701"] * 101 + ["L0110"],
    ),
    "9,000 labels": (
        question_lines(goal=f"minimize loss[{', '.join(['i'] * 9_000)}](N, D)"),
        ["L0701"],
    ),
    "5,000 fits": (
        question_lines(f"uses {', '.join(f'u{i}' for i in range(4_000))} : chinchilla"),
        ["L0309"] * 4_000,
    ),
    "1,900 laws that are missing": (
        question_lines(*(f"uses u{i} : nothing{i}" for i in range(1_900))),
        ["L0310"] * 101 + ["L0110"],
    ),
    "a question about itself": (
        question_lines("uses me : attack", goal="minimize me(N, D)*loss(N, D)"),
        ["L0310"],
    ),
    "a path": (["uses me : ..etc.passwd", CHOOSE, "minimize me(N)"], ["L0201"]),
    "a power of a tower": (question_lines(goal="minimize loss(N, D)^(9^9^9)"), ["L0502"]),
    "names of Python": (
        ["uses __class__ : chinchilla", GIVEN, CHOOSE, "minimize __class__(N, D)"],
        [],
    ),
    "a call of Python": (
        question_lines(goal="minimize loss(N, D) + __import__(N)"),
        ["L0304"],
    ),
    "a sum over 10^12 labels": (
        question_lines(
            LABELS,
            "setting s[a, b, d] = 1",
            "setting t[e, f, g] = 1",
            goal="minimize loss(N, D)*sum(s[a, b, d]*t[e, f, g] for a, b, d, e, f, g)",
        ),
        ["L0105"],
    ),
    "a constraint for each of 10^12 labels": (
        question_lines(
            LABELS,
            "setting s[a, b, d] = 1",
            "setting t[e, f, g] = 1",
            "subject to s[a, b, d]*t[e, f, g] <= N",
        ),
        ["L0105"],
    ),
    "10^6 givens": (
        question_lines(
            "index a, b, d over 1..100",
            "given s[a, b, d]",
            "subject to s[a, b, d] <= N",
        ),
        ["L0105"],
    ),
}
PARAMETERS = {"E": 1.8, "A": 480.0, "B": 2085.0, "alpha": 0.35, "beta": 0.37}


@pytest.mark.parametrize("name", without(ATTACKS, ["5,000 different calls"]))
def test_an_attack_is_answered_soon(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """When it is read, or when its laws are written out."""
    monkeypatch.chdir(tmp_path)
    lines, codes = ATTACKS[name]
    text = "\n".join(("question attack", *lines, ""))
    began = time.process_time()
    try:
        found, said = library.declared_question(Text("attack.law", text), tmp_path)
        codes_found = [d.code for d in said]
        if not codes_found:
            Asked(found, **dict.fromkeys(found.uses, PARAMETERS))
    except LawdslError as error:
        codes_found = [d.code for d in error.diagnostics]

    assert codes_found == codes
    assert time.process_time() - began < 2 * SECONDS
    assert list(tmp_path.iterdir()) == []


SOUP = st.lists(
    st.sampled_from([*WORDS, "loss(N, D)", "loss[i](r[j])", '"text"', "\n", "\n", "\n"]),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(SOUP)
def test_any_words_in_any_order_are_answered(words: list[str]):
    text = "\n".join(("question soup", *MIXTURE, GIVEN, SHARES, TOTAL, " ".join(words)))
    try:
        found = library.declared_question(Text("soup.law", text), ROOT)[1]
    except LawdslError as error:
        found = list(error.diagnostics)

    assert all(d.help and d.text is not None and d.span is not None for d in found)


def test_the_size_of_a_law_counts_where_it_is_taken():
    """A long argument stands in each place where the law has its variable."""
    long = " + ".join(["D"] * (size_limits.MAX_NODES // 2 - 100))

    assert question(*question_lines(goal=f"minimize loss(N, D = {long})"))
    _, found = read(*question_lines(goal=f"minimize loss(N, D = {long}) + loss(N, D = 1 + {long})"))
    assert "L0105" in [d.code for d in found]
