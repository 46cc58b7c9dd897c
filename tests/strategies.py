"""Random syntax trees, built from the records themselves and not by way of the grammar."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from lawdsl.language import size_limits, tree
from lawdsl.language.keywords import KEYWORDS, PIECEWISE, PLACED, SPECIAL, TRENDS, VERDICTS

NAMES = ("E", "I", "N", "S", "Q", "D", "r", "x1", "beta", "gamma", "lambda", "zeta", "D_min", "_a")
NAMES += tuple(PLACED)

plain_names = st.one_of(
    st.sampled_from(NAMES),
    st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=8).filter(
        lambda name: not name[0].isdigit() and name not in (*KEYWORDS, *SPECIAL, *PIECEWISE)
    ),
)
paths = st.lists(plain_names, min_size=1, max_size=3).map(".".join)
numbers = st.one_of(
    st.sampled_from(("0", "1", "0.1311", "1e-3", "2.50E+10", "007", "1.0")),
    st.integers(0, 10**size_limits.MAX_DIGITS - 1).map(str),
    st.floats(0, 1e300, allow_subnormal=False).map(lambda x: f"{x:.6f}" if x < 1e6 else f"{x:.3e}"),
).map(tree.Number)
texts = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cf"), exclude_characters='"')
)
comments = texts.map(lambda text: f"#{text}".rstrip())


def several(strategy, least=1, most=3):
    return st.lists(strategy, min_size=least, max_size=most).map(tuple)


def signed(first: str, other: str, parts):
    """Two or more parts with their signs; the first has the first sign."""
    rest = several(st.tuples(st.sampled_from((first, other)), parts))
    return st.tuples(parts, rest).map(lambda found: ((first, found[0]), *found[1]))


RELATIONS = ("<", "<=", ">", ">=")
subscripts = several(plain_names, most=size_limits.MAX_SUBSCRIPTS + 1)
named = st.one_of(plain_names, st.builds(tree.Element, plain_names, subscripts))
with_dots = st.one_of(paths, st.builds(tree.Element, paths, subscripts))


def derivatives():
    """Of any order that can be written, right or not, and of dotted names in the spelling `diff`."""
    matching = st.tuples(with_dots, several(with_dots, most=10)).map(
        lambda found: tree.Derivative(found[0], found[1], len(found[1]))
    )
    other = st.builds(tree.Derivative, named, several(named, most=12), st.integers(1, 9))
    return st.one_of(matching, other)


def formulas(depth: int = 6):
    element = st.builds(tree.Element, paths, subscripts)
    leaf = st.one_of(numbers, paths.map(tree.Name), element, derivatives())
    if depth == 0:
        return leaf
    inner = formulas(depth - 1)
    keyword = st.tuples(plain_names, inner)
    return st.one_of(
        leaf,
        inner.map(tree.Negative),
        signed("+", "-", inner).map(tree.Sum),
        signed("*", "/", inner).map(tree.Product),
        st.builds(tree.Power, inner, inner),
        st.builds(tree.Conditional, inner, st.sampled_from(RELATIONS), inner, inner, inner),
        st.builds(tree.Aggregate, plain_names, inner, subscripts),
        st.builds(tree.Call, plain_names, several(inner), st.just(())),
        st.builds(tree.Call, plain_names, several(inner, least=0, most=1), several(keyword)),
        st.builds(tree.Call, plain_names, several(inner), several(keyword, least=0), subscripts),
    )


small = formulas(2)
domains = st.one_of(
    st.builds(tree.BoundNode, st.sampled_from(RELATIONS), small),
    st.builds(tree.IntervalNode, st.sampled_from("[("), small, small, st.sampled_from("])")),
)
powers = st.integers(1, size_limits.MAX_UNIT_POWER).flatmap(lambda n: st.sampled_from((n, -n)))
items = st.builds(
    tree.Item, plain_names, st.none() | domains | st.just(tree.Simplex()), st.just(()) | subscripts
)
counts = st.integers(0, 10**6).map(str)
sets = st.one_of(
    plain_names,
    st.builds(tree.RangeNode, counts, counts),
    several(plain_names).map(tree.ListedNode),
)
units = several(st.tuples(st.one_of(st.just("token"), plain_names), powers)).map(tree.UnitOf)
claims = st.one_of(
    st.builds(tree.ComparisonNode, small, st.sampled_from(RELATIONS), small),
    small.map(tree.Finite),
    st.builds(tree.TrendNode, small, st.sampled_from(TRENDS), named, st.none() | named),
    st.builds(tree.LimitNode, small, small, several(st.tuples(named, small))),
    st.builds(tree.Reduction, small, paths),
)
chosen = st.one_of(
    st.builds(
        tree.ConditionNode, plain_names, st.sampled_from(("<", "<=", ">", ">=", "=", "!=")), small
    ),
    st.builds(tree.ConditionNode, plain_names, st.sampled_from(("=", "!=")), texts.map(tree.Label)),
)
relations = st.one_of(
    st.builds(tree.ComparisonNode, small, st.sampled_from(RELATIONS), small),
    st.builds(tree.Equality, small, small),
)
statements = st.one_of(
    st.builds(
        tree.Section, st.sampled_from(("law", "question", "pipeline")), paths, st.none() | texts
    ),
    texts.map(tree.SourceNode),
    texts.map(tree.NoteNode),
    paths.map(tree.Extends),
    st.builds(tree.Index, several(plain_names), sets),
    st.builds(
        tree.Declaration,
        st.sampled_from(("variable", "parameter", "given", "choose")),
        several(items),
        st.none() | units,
        st.none() | texts,
    ),
    st.builds(
        tree.Definition,
        st.sampled_from(("setting", "let", "output")),
        plain_names,
        formulas(3),
        st.none() | units,
        st.none() | texts,
        st.just(()) | subscripts,
    ),
    st.builds(
        tree.Hold,
        st.sampled_from(("fix", "tie")),
        several(st.tuples(named, small)),
    ),
    st.builds(tree.MeasureNode, named, small),
    st.builds(tree.Identify, small, small),
    st.builds(
        tree.Require,
        claims,
        several(st.builds(tree.Item, plain_names, domains, st.just(()) | subscripts), least=0),
        st.none() | st.sampled_from(VERDICTS),
    ),
    small.map(tree.Minimize),
    small.map(tree.Maximize),
    st.builds(tree.Uses, several(plain_names), paths),
    st.builds(tree.Subject, several(relations), st.none() | texts),
    st.builds(tree.StartGrid, several(small), several(st.none() | small, most=5)),
    several(st.tuples(named, small)).map(tree.StartPoint),
    st.builds(tree.PriorNode, plain_names.map(tree.Name), small, small),
    st.builds(
        tree.StepNode,
        paths,
        several(plain_names, least=0),
        several(chosen, least=0),
        several(st.tuples(named, small), least=0),
    ),
)


@st.composite
def documents(draw):
    """Paragraphs of statements with comments above and behind; a paragraph may end in comments."""
    lines = []
    for _ in range(draw(st.integers(0, 4))):
        paragraph = [
            tree.SourceLine(statement, draw(several(comments, least=0)), draw(st.none() | comments))
            for statement in draw(st.lists(statements, max_size=4))
        ]
        trailing = draw(several(comments, least=0 if paragraph else 1))
        if trailing:
            paragraph.append(tree.SourceLine(None, trailing))
        for i, line in enumerate(paragraph):
            gap = i == 0 and bool(lines)
            lines.append(tree.SourceLine(line.statement, line.above, line.behind, gap))
    return tree.SyntaxTree(tuple(lines))
