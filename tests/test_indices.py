"""Index sets: what is declared with them, what their formulas bind and leave free, every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from lawdsl import check
from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.language import library, size_limits, tree
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document, print_formula
from lawdsl.language.symbols import Declarations, IndexSet
from lawdsl.law.law import Law

FIXTURES = Path(__file__).resolve().parent / "fixtures" / "indices"
LAWS = sorted(FIXTURES.glob("*.law"))

MIXING = """\
law example
index i over validation
index j over training
index g over {web, code}
variable N > 0
variable r[j] in simplex
parameter c[i] >= 0, k[i] > 0, t[i, j], e[g]
"""
EQUATION = "L[i] = c[i] + k[i]*N*exp(sum(t[i, j]*r[j] for j)) + sum(e[g] for g)\n"


def law(text: str, folder: Path = FIXTURES) -> Declarations:
    found, warnings = library.declared(Text("example.law", text), folder)

    assert warnings == []
    return found


def mistakes(text: str, folder: Path = FIXTURES) -> list[Diagnostic]:
    try:
        return library.declared(Text("example.law", text), folder)[1]
    except LawdslError as error:
        return list(error.diagnostics)


def mixing(*lines: str, equation: str = EQUATION) -> str:
    return MIXING + equation + "".join(f"{line}\n" for line in lines)


def statement(text: str) -> tree.Statement:
    document, found = parse(text)

    assert found == []
    (only,) = document.statements
    return only


# What is read


BROKEN = {
    # k2 may be negative here, and K with it
    "cross_domain": [
        *("L finite", "∂L/∂N < 0", "∂L/∂D < 0", "∂L/∂r < 0", "∂²L/∂D∂r < 0", "∂L/∂k1[d] > 0"),
    ],
    # of which mixture is better, each domain has its say
    "explicit_aggregation": ["L decreasing in r[a] against r[b] for s[i] > 0"],
}


@pytest.mark.parametrize("path", LAWS, ids=lambda p: p.stem)
def test_laws_with_index_sets_are_read_and_judged(path: Path):
    declared, warnings = library.declarations(str(path))
    assert warnings == [] and declared.indices

    law = Law(declared)
    assert law.indexed and law.expression.free_symbols
    assert {q.name.partition("[")[0] for q in law.sample.parameters} <= declared.symbols.keys()
    assert [v.claim for v in check(law).claims if not v.ok] == BROKEN.get(path.stem, [])


def test_an_identity_needs_no_index():
    found = Law(law("law a\nparameter p, q\nL = p + q\nidentify p = 1\n"))

    assert found.indexed
    assert found.sample.fixed == {"p": 1.0}
    assert [q.name for q in found.sample.parameters] == ["q"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("index i over validation", tree.Index(("i",), "validation")),
        ("index m, n over 1..30", tree.Index(("m", "n"), tree.RangeNode("1", "30"))),
        ("index g over {web, β}", tree.Index(("g",), tree.ListedNode(("web", "beta")))),
        (
            "variable r[j] in simplex",
            tree.Declaration("variable", (tree.Item("r", tree.Simplex(), ("j",)),), None, None),
        ),
        (
            "let a[i] = sum(t[i, j] for j, g)",
            tree.Definition(
                "let",
                "a",
                tree.Aggregate("sum", tree.Element("t", ("i", "j")), ("j", "g")),
                None,
                None,
                ("i",),
            ),
        ),
        (
            "identify x.y[i] = 0",
            tree.Identify(tree.Element("x.y", ("i",)), tree.Number("0")),
        ),
        (
            "fix c[i] = 0",
            tree.Hold("fix", ((tree.Element("c", ("i",)), tree.Number("0")),)),
        ),
        (
            "require L[i] decreasing in r[a] against r[b]",
            tree.Require(
                tree.TrendNode(
                    tree.Element("L", ("i",)),
                    "decreasing",
                    tree.Element("r", ("a",)),
                    tree.Element("r", ("b",)),
                ),
                (),
                None,
            ),
        ),
        (
            "require ∂²L[i]/∂k[i]² > 0",
            tree.Require(
                tree.ComparisonNode(
                    tree.Derivative(tree.Element("L", ("i",)), (tree.Element("k", ("i",)),) * 2, 2),
                    ">",
                    tree.Number("0"),
                ),
                (),
                None,
            ),
        ),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_statement_is_read_as_its_record(text: str, expected: tree.Statement):
    assert statement(text) == expected


def test_derivatives_of_elements_have_one_spelling():
    typed = "require diff(L[i], k[i], k[i], N) > 0\n"

    assert print_document(parse(typed)[0]) == "require   ∂³L[i]/∂k[i]²∂N > 0\n"


def test_an_equation_with_subscripts_ends_the_line_before_it():
    """A bracket that is not closed spoils its own statement only."""
    for left in ("L", "L[i]", "L[i, j]"):
        document, found = parse(f"let a = (1 + 2\n{left} = b\nindex i over domain\n")

        assert [d.code for d in found] == ["L0202"]
        assert len(document.statements) == 2
    assert isinstance(statement("fix c[i] = 1,\n  k[i] = 2"), tree.Hold)
    assert isinstance(statement("let a = (b\n*c[i]\n)"), tree.Definition)


def test_words_of_one_place_are_names_in_all_others():
    found = law(
        "law a\nvariable over > 0\nparameter simplex, against > 0\n"
        "let prod2 = simplex*over\nL = over + simplex + against + prod2\n"
        "require L increasing in against\nrequire L increasing in over for against > 1\n"
    )

    assert [*found.symbols][:3] == ["over", "simplex", "against"]
    found = law(
        "law a\nindex over over domain\nvariable simplex[over] in simplex\nparameter t[over]\n"
        "L = sum(t[over]*simplex[over] for over)\n"
        "require L increasing in simplex[against] against simplex[b]\n"
    )
    assert found.symbols["simplex"].simplex


def test_what_may_follow_is_said_as_before_where_there_are_no_subscripts():
    for text, help in (
        ("law a\nvariable x in\n", "a formula, `[` or `{` must follow"),
        ("law a\nlet a 2\n", "write `a = 2`"),
        ("law a\nrequire L increasing in N N\n", "expected the end of the line, `expect` or `for`"),
    ):
        assert parse(text)[1][0].help == help


# What is declared


def test_an_index_has_a_set_and_its_labels():
    found = law(
        "law a\nindex i, k over validation\nindex m over 1..3\nindex g over {web, code}\n"
        "parameter a[i], b[k], c[m], d[g]\n"
        "L = sum(a[i]*b[i]*b[k] for i, k) + sum(c[m] for m) + prod(d[g] for g)*d[web]\n"
    )

    assert found.indices == {
        "i": IndexSet("i", "validation"),
        "k": IndexSet("k", "validation"),
        "m": IndexSet("m", "1..3", ("1", "2", "3")),
        "g": IndexSet("g", "{web, code}", ("web", "code")),
    }
    assert set(found.symbols) == {*"abcd", "L"}


def test_names_keep_their_subscripts_and_domains():
    found = law(mixing("parameter k[i] > c[i]", "identify sum(t[i, j] for j) = 0"))
    symbols = found.symbols

    assert symbols["t"].indices == ("i", "j") and symbols["t"].text == "t[i, j]"
    assert symbols["r"].simplex and not symbols["c"].simplex
    assert [(r, print_formula(at)) for r, at in symbols["r"].bounds] == [(">=", "0")]
    assert [(r, print_formula(at)) for r, at in symbols["k"].bounds] == [(">", "0"), (">", "c[i]")]
    assert found.output.indices == ("i",) and found.output.rows == ()
    assert len(found.identities) == 1


def test_a_free_index_of_the_law_is_a_label_of_each_row():
    found = law("law a\nindex d over domain\nvariable N > 0\nparameter E[d]\nL = E[d]/N\n")
    assert found.output.rows == ("d",) and found.output.indices == ()

    found, _ = library.declarations(str(FIXTURES / "cross_domain.law"))
    assert found.output.rows == ("d",)


def test_a_law_takes_over_index_sets_and_what_they_leave_free(tmp_path: Path):
    (tmp_path / "base.law").write_text(
        "law base\nindex d over domain\nvariable N > 0\nparameter E[d] > 0, p\n"
        "L = E[d] + p + N\nidentify p = 0\nrequire L > 0 for E[d] > 1\n",
        encoding="utf-8",
    )
    found = law("law a\nextends base\nparameter F[d]\nL = base*F[d]\n", tmp_path)
    assert found.output.rows == ("d",) and list(found.indices) == ["d"]
    assert len(found.identities) == len(found.claims) == 1
    (inside,) = mistakes("law a\nextends base\nlet M = 2*base\nL = base + M\n", tmp_path)
    assert (inside.code, inside.message) == ("L0316", "a let leaves the index `d` free")
    (other,) = mistakes("law a\nextends base\nL[d] = base\n", tmp_path)
    assert (other.code, other.help) == ("L0408", "write `L = …`")
    assert [
        d.code for d in mistakes("law a\nextends base\nindex d over x\nL = base\n", tmp_path)
    ] == ["L0302"]


def test_elements_of_an_extended_law_are_named(tmp_path: Path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "base.law").write_text(
        "law x.base\nindex d over domain\nvariable N > 0\nparameter E[d] > 0\nL[d] = E[d] + N\n",
        encoding="utf-8",
    )
    law("law a\nextends x.base\nL[d] = 2*x.base[d]\nrequire L[d] > x.base[d]\n", tmp_path)
    (found,) = mistakes("law a\nextends x.base\nL[d] = 2*x.base\n", tmp_path)

    assert (found.code, found.help) == ("L0314", "write `x.base[d]`")


def test_what_is_held_is_held_for_all_elements():
    held = law(mixing("fix c[i] = 0.5"))
    assert held.symbols["c"].kind == "setting" and held.symbols["c"].indices == ("i",)

    tied = law(mixing("tie k[i] = 2*c[i]"))
    assert tied.symbols["k"].determined_by == "tie"
    kept = [(r, print_formula(at)) for r, at in tied.symbols["c"].bounds]
    assert kept == [(">=", "0"), (">", "0")]


def test_a_sum_counts_once_however_many_labels_it_has():
    sums = " + ".join(["sum(s[m]*s[m] for m)"] * 500)

    law(f"law a\nindex m over 1..{size_limits.MAX_LABELS}\nparameter s[m]\nL = {sums}\n")


def test_a_sum_has_the_unit_of_its_terms():
    text = (
        "law a\nindex d over domain\nvariable D[d] > 0 unit token\nvariable T > 0 unit token\n"
        "variable N > 0 unit param\nL = {}\n"
    )
    assert mistakes(text.format("N*(T + sum(D[d] for d))")) == []
    assert [d.code for d in mistakes(text.format("T*(N + sum(D[d] for d))"))] == ["L0410"]


def test_numbers_in_a_sum_are_looked_at():
    text = mixing(equation="L[i] = c[i] + k[i]*N + sum(t[i, j]*r[j]/0 for j) + e[web]\n")

    assert [d.code for d in mistakes(text)] == ["L0501"]


# Mistakes

MESSAGES = [
    # line, column, code, message, help
    ("index m over 1..101", 14, "L0317", "`1..101` does not number 2 to 100 labels", "number them from 1, as 1..30"),
    ("index m over 0..9", 14, "L0317", "`0..9` does not number 2 to 100 labels", "number them from 1, as 1..30"),
    ("index m over 1..1e2", 14, "L0317", "`1..1e2` does not number 2 to 100 labels", "number them from 1, as 1..30"),
    (f"index m over 1..{'9' * 5000}", 14, "L0317", f"`1..{'9' * 5000}` does not number 2 to 100 labels", "number them from 1, as 1..30"),
    ("index m over {web}", 15, "L0317", "a set that is listed has 2 to 100 labels", "labels of the data are not listed: `index i over domain`"),
    ("index m over {a, b, a}", 21, "L0317", "the label `a` stands twice", "write it once"),
    ("index m over {a, N}\nindex a over x", 7, "L0317", "`a` is a label of {a, N}", "give the index another name"),
    ("index m over {i, b}", 15, "L0317", "`i` is an index, and here a label", "give the index another name"),
    ("index m over N", 14, "L0317", "`N` is a variable, and here the name of a set", "give the set another name"),
    ("index m over m", 14, "L0317", "`m` is an index, and here the name of a set", "give the set another name"),
    ("index m over {1, 2}", 15, "L0201", "labels are names", "number them as 1..30, or give them names"),
    ("index m in domain", 9, "L0201", "the set of an index follows `over`", "write `index m over domain`"),
    ("index m ovr domain", 9, "L0201", "the set of an index follows `over`", "write `index m over domain`"),
    ("variable training > 0", 10, "L0302", "`training` is the name of a set of labels", "choose another name"),
    ("parameter sum > 0", 11, "L0303", "`sum` is a word with a fixed meaning and cannot be declared", "choose another name"),
    ("parameter u[i, i]", 16, "L0314", "`i` stands twice among the subscripts of a declaration", "declare another index over the same set: `index l over validation`"),
    ("parameter u[i, j, g, i]", 11, "L0314", "a name has at most 3 subscripts", "leave some out"),
    ("parameter u[q]", 13, "L0315", "`q` is not an index", "declare it, `index q over …`, or write `i` or `j` or `g`"),
    ("parameter u[N]", 13, "L0315", "`N` is a variable, not an index", "a subscript is an index, or a label that is listed"),
    ("parameter u[1]", 13, "L0201", "a subscript is a name", "write an index, or a label of a set that is listed"),
    ("parameter u[later]\nindex later over x", 13, "L0306", "`later` is used before it is declared", "move its line (10) above this one"),
    ("parameter k[j] > 1", 11, "L0314", "`k` was declared as `k[i]`", "write `k[i]` again"),
    ("parameter u > c[i]", 17, "L0316", "the domain of a parameter leaves the index `i` free", "sum over it, `sum(… for i)`, or give what is declared this subscript"),
    ("parameter u in simplex", 16, "L0318", "`u` has no subscript over which it could sum to 1", "give it a subscript: `u[j] in simplex`"),
    ("parameter u[i] > 0, u[i] in simplex", 29, "L0318", "`in simplex` is a whole domain by itself", "its elements are >= 0 and sum to 1: leave the other domain out"),
    ("parameter u[i] in simplx", 19, "L0201", "unexpected `simplx`", "did you mean `simplex`?"),
    ("setting s[i] = 2", 9, "L0314", "a setting has no subscripts", "what has a value for each label is a variable, or a parameter"),
    ("let u = sum(k_i for i)", 13, "L0301", "the subscripts of `k_i` stand in brackets", "write `let u = sum(k[i] for i)`"),
    ("let u[i] = k(i)", 12, "L0304", "`k` is a parameter, not a function", "write `k[i]`"),
    ("let u = sum(k[i], i)", 9, "L0304", "`sum` runs over an index", "write `sum(k[i] for i)`"),
    ("require dL[i]/dr[a] < 0", 9, "L0301", "unknown name `dL`", "write a derivative as `∂L[i]/∂r[a]` or `diff(L[i], r[a])`"),
    ("let u = k", 9, "L0314", "`k` stands without its subscripts", "write `k[i]`"),
    ("let u = N[i]", 9, "L0314", "the variable `N` has no subscripts", "write `N`"),
    ("let u[i] = t[i]", 12, "L0314", "`t` has 2 subscripts, not 1", "write `t[i, j]`"),
    ("let u[i] = t[i, i]", 17, "L0315", "`i` runs over validation, the second subscript of `t` over training", "write an index over training: `j`"),
    ("let u[i] = t[i, web]", 17, "L0315", "`web` is a label of {web, code}, the second subscript of `t` over training", "write an index over training: `j`"),
    ("let u = e[cod]", 11, "L0315", "`cod` is not an index", "did you mean `code`?"),
    ("let u = e[x]", 11, "L0315", "`x` is not an index", "write the index `g`, or a label; the labels are web, code"),
    ("let u = k[i]", 11, "L0316", "a let leaves the index `i` free", "sum over it, `sum(… for i)`, or give what is declared this subscript"),
    ("let u = i + 1", 9, "L0308", "`i` is an index, which has no value", "it stands in brackets behind what has subscripts, as in `t[i]`"),
    ("let u[i] = sum(k[i] for i)", 25, "L0316", "`i` is bound here, and a subscript of what is defined", "declare another index over the same set: `index l over validation`"),
    ("let u = sum(k[i]*sum(k[i] for i) for i)", 31, "L0316", "`i` is bound already", "declare another index over the same set: `index l over validation`"),
    ("let u = sum(k[i] for i, i)", 25, "L0316", "`i` is bound already", "declare another index over the same set: `index l over validation`"),
    ("let u = sum(N for i)", 19, "L0316", "`i` is bound and does not occur", "write it as a subscript of what it runs over, or leave `i` out"),
    ("let u = sum(k[i] for N)", 22, "L0315", "`N` is a variable, not an index", "a subscript is an index, or a label that is listed"),
    ("let u = sum(k[i] for i in training)", 24, "L0201", "unexpected `in`", "write `for i`: an index has its set from its own line"),
    ("let u = sum(e[web], e[code])", 9, "L0304", "`sum` runs over an index", "write `sum(… for i)`"),
    ("let u = max(k[i] for i)", 9, "L0304", "`max` does not run over an index", "write `sum(… for j)` or `prod(… for j)`"),
    ("identify N = 0", 10, "L0308", "an identity cannot use the variable `N`", "it may use numbers, settings, parameters and lets"),
    ("identify 1 = 0", 10, "L0319", "this is about no parameter", "write a relation that one of the parameters that give the same law has"),
    ("require L > 0", 9, "L0314", "`L` stands without its subscripts", "write `L[i]`"),
    ("require L[N] > 0", 11, "L0315", "`N` is a variable, not a label", "for any label write a name that is nothing else"),
    ("require t[a, b] > t[b, a]", 21, "L0315", "`b` stands for a label of training and for one of validation", "write two names"),
    ("require L[a] > 0 for r[a] > 0", 24, "L0315", "`a` stands for a label of validation and for one of training", "write two names"),
    ("require c[i]*sum(c[i] for i) > 0", 27, "L0316", "`i` is bound here, and free in the formula", "declare another index over the same set: `index l over validation`"),
    ("require ∂L[i]/∂r[a] < 0", 16, "L0318", "`r[a]` cannot change alone", "shares sum to 1: say which one falls: `L[i] decreasing in r[a] against r[b]`"),
    ("require L[i] decreasing in r[a]", 28, "L0318", "`r[a]` cannot change alone", "shares sum to 1: say which one falls: `L[i] decreasing in r[a] against r[b]`"),
    ("require L[i] -> 0 as r[a] -> 0", 22, "L0318", "`r[a]` cannot change alone", "shares sum to 1: say which one falls: `L[i] decreasing in r[a] against r[b]`"),
    ("require L[i] decreasing in r[a] against r[a]", 9, "L0318", "`r[a]` stands against itself", "name two labels"),
    ("require L[i] decreasing in k[a] against k[b]", 9, "L0318", "`k[a]` and `k[b]` are not two shares of one whole", "name two elements of one variable in a simplex: `in r[a] against r[b]`"),
    ("require L[i] convex in r[a] against r[b]", 9, "L0318", "`convex` is said of one name", "leave the `against` out"),
    ("require L(N = 7) > 0", 9, "L0320", "`L(…)` gives values to a law without index sets only", "state the claim as a relation, a trend or a limit"),
    ("require L is chinchilla", 14, "L0320", "`is` compares with a law without index sets only", "state the claim as a relation, a trend or a limit"),
    ("fix c[j] = 0", 5, "L0314", "`fix` holds all elements of `c` at once", "write `c[i]`"),
    ("fix c[i] = -1", 12, "L0414", "c[i] = -1 is outside the domain c[i] >= 0", 'choose it inside, or leave the bound out: --without "c[i] >= 0"'),
    ("tie c[i] = t[i, j]", 17, "L0316", "a tie leaves the index `j` free", "sum over it, `sum(… for j)`, or give what is declared this subscript"),
    ("start k[web] = 1", 7, "L0314", "a start is for all elements of `k` at once", "write `k[i]`"),
    ("start log(k) in {0, 1}", 11, "L0314", "a start is for all elements of `k` at once", "write `k[i]`"),
    ("minimize huber(log(L[i]), 1e-3)", 16, "L0404", "this is not an objective", "residuals are those of `log(L)` or of `L`: write `huber(log(L), 1e-3)`"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "column", "code", "message", "help"), MESSAGES, ids=[m[0][:60] for m in MESSAGES]
)
def test_a_mistake_has_one_message(lines: str, column: int, code: str, message: str, help: str):
    found = [d for d in mistakes(mixing(lines)) if d.severity == "error"]

    assert [(d.code, d.message, d.help) for d in found] == [(code, message, help)]
    assert found[0].text is not None and found[0].span is not None
    assert found[0].text.position(found[0].span.start)[1] == column


@pytest.mark.parametrize(
    "lines",
    [
        "require L[a] > c[a] for r[b] > 0, r[d] > 0",
        "require L[i] -> oo as k[i] -> oo",
        "require t[a, b] > t[a, d]",
        "require e[web] > e[code]",
        "require ∂L[i]/∂k[i] > 0",
        "require sum(c[i] for i) > 0",
        "require L[i] decreasing in r[j] against r[b]",
        "start log(k[i] - c[i]), N2 in {0, 1}\nparameter N2\nrequire N2 > 0 expect undecided",
        "start t[i, j] = 0, k[i] = 1/2",
        "minimize squared(log(L))",
        "index l over validation\nidentify t[i, j] = t[l, j]",
        "index l over validation\nlet u[l] = sum(t[i, j]*t[l, j] for i, j)\nrequire u[l] > 0",
    ],
)
def test_what_fits_is_read(lines: str):
    assert [d for d in mistakes(mixing(lines)) if d.severity == "error"] == []


def test_a_law_has_few_indices():
    lines = [f"index i{n} over set{n}" for n in range(size_limits.MAX_INDICES + 3)]
    found = mistakes("\n".join(["law a", *lines, "L = 1", ""]))

    assert {d.message for d in found} == {f"a law has at most {size_limits.MAX_INDICES} indices"}
    assert len(found) == 3


def test_an_index_that_is_not_used_is_reported():
    (found,) = mistakes(mixing("index m over 1..30"))

    assert (found.code, found.message) == ("L0309", "the index `m` is never used")
