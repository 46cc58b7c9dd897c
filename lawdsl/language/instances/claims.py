"""Claims of a law with index sets, and labels -> the claims with the labels substituted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from lawdsl.language import tree
from lawdsl.language.instances.declarations import written_out
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.instance import Instance
from lawdsl.language.symbols import Claim, Declarations
from lawdsl.language.tree import Formula, Named

MAX_ASSIGNMENTS = 24  # ways in which the names of one claim may stand for labels
MAX_ASSIGNMENTS_OF_TABLE = 12  # for the labels of a table


def instantiated(
    declared: Declarations, instance: Instance, given: Mapping[str, float] | None = None
) -> Declarations:
    """Return the law of the rows that an instance names, with its claims at their labels.

    Left out are claims about any two labels that are expected to hold only conditionally, since the
    parameters decide for which labels they hold, and claims with too many choices of labels.

    Args:
        declared: the law.
        instance: the labels.

    Raises:
        LawdslError: an `identify` equation that is not linear in the parameters.
    """
    ground = Grounding(declared, instance)
    assert declared.output.formula is not None
    ground(declared.output.formula, ground.rows)
    claims = [stated for claim in declared.claims for stated in _instances_of(ground, claim)]
    return replace(written_out(ground, given), claims=tuple(claims))


def _instances_of(ground: Grounding, claim: Claim) -> Iterator[Claim]:
    """A claim at all labels that its names may stand for."""
    declared = ground.declared
    names = labels_of(declared, claim)
    fresh = [name for name in names if name not in declared.indices]
    # for some labels it holds, for others not: no verdict on one choice would be as expected
    if fresh and claim.expect == "conditional":
        return
    free = [name for name in names if name not in ground.rows]
    sets = [ground.instance.labels[names[name]] for name in free]
    if math.prod(map(len, sets)) > MAX_ASSIGNMENTS_OF_TABLE:
        return
    for labels in product(*sets):
        assignment = dict(zip(free, labels, strict=True))
        if len({assignment[name] for name in fresh}) == len(fresh):
            stated = claim_at(ground, claim, assignment)
            if stated is not None:
                yield stated


def labels_of(declared: Declarations, claim: Claim) -> dict[str, str]:
    """The names in a claim that represent labels -> the sets to which they belong.

    Those are indices, and names that a claim brings in for any label.

    Args:
        declared: the law.
        claim: the claim.
    """
    sets: dict[str, str] = {}
    bound: set[str] = set()
    for node in _nodes(claim):
        if isinstance(node, tree.Aggregate):
            bound |= set(node.over)
        if not isinstance(node, tree.Element) or node.name not in declared.symbols:
            continue
        indices = declared.symbols[node.name].indices
        for name, index in zip(node.subscripts, indices, strict=True):
            index_set = declared.indices[index]
            if name in declared.indices or name not in index_set.listed:
                sets.setdefault(name, index_set.over)
    return {name: over for name, over in sets.items() if name not in bound}


def _nodes(claim: Claim) -> Iterator[tree.Node]:
    yield from tree.walk(claim.claim)
    for named, relations in claim.conditions:
        if isinstance(named, tree.Element):
            yield named
        for _, limit in relations:
            yield from tree.walk(limit)


def coincidences(declared: Declarations, names: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The ways in which names may stand for the same label, each name -> its first equal.

    Names that a claim brings in stand for different labels; an index may have that of another.

    Args:
        declared: the law.
        names: name in the claim -> the set of its labels.
    """

    def extended(done: dict[str, str], remaining: list[str]) -> Iterator[dict[str, str]]:
        if not remaining:
            yield done
            return
        name, *rest = remaining
        firsts = {f for n, f in done.items() if names[n] == names[name]}
        yield from extended({**done, name: name}, rest)
        for first in sorted(firsts):
            fresh = [n for n, f in done.items() if f == first and n not in declared.indices]
            if name in declared.indices or not fresh:
                yield from extended({**done, name: first}, rest)

    yield from extended({}, list(names))


def claim_at(ground: Grounding, claim: Claim, assignment: Mapping[str, str]) -> Claim | None:
    """A claim at given labels; None where it concerns quantities that the law of these rows lacks.

    Args:
        ground: the instantiated law.
        claim: the claim.
        assignment: name in the claim -> label.
    """
    return _ClaimInstance(ground, assignment).claim(claim)


class _Absent(Exception):
    """The claim concerns a quantity that the instantiated law lacks."""


class _ClaimInstance:
    """Claims at labels, over the symbols of one grounding."""

    def __init__(self, ground: Grounding, assignment: Mapping[str, str]) -> None:
        self.ground, self.declared = ground, ground.declared
        self.assignment = {**ground.rows, **assignment}

    def claim(self, claim: Claim) -> Claim | None:
        # a claim that turns out to be about other rows must leave no symbols behind
        before = self.ground.collected()
        try:
            stated = self._claim(claim.claim)
            conditions = tuple(
                (self._name(named), tuple((r, self._formula(limit)) for r, limit in relations))
                for named, relations in claim.conditions
            )
            # a parameter of another label is not fitted with these rows, so that nothing is known
            # of it
            new = [s for n, s in self.ground.symbols.items() if n not in before.symbols]
            if not self.ground.instance.open and any(s.kind == "parameter" for s in new):
                raise _Absent
        except _Absent:
            self.ground.back_to(before)
            return None
        return replace(claim, claim=stated, conditions=conditions)

    def _claim(self, claim: tree.Claim) -> tree.Claim:
        match claim:
            case tree.ComparisonNode(lhs, _, rhs):
                return replace(claim, lhs=self._formula(lhs), rhs=self._formula(rhs))
            case tree.Finite(formula):
                return replace(claim, formula=self._formula(formula))
            case tree.TrendNode(formula, _, name, against):
                if against is None:
                    return replace(claim, formula=self._formula(formula), name=self._name(name))
                return self._exchange(claim, against)
            case tree.LimitNode(formula, target, approaches):
                targets = tuple((self._name(n), self._formula(value)) for n, value in approaches)
                return tree.LimitNode(self._formula(formula), self._formula(target), targets)
        raise _Absent

    def _exchange(self, claim: tree.TrendNode, against: Named) -> tree.Claim:
        """`L decreasing in r[a] against r[b]`; of the law, or of a name for a part of it."""
        if not isinstance(claim.formula, (tree.Name, tree.Element)):
            raise _Absent
        of = tree.Name(self._output(claim.formula))
        rises, falls = self._name(claim.name), self._name(against)
        if rises == falls:
            raise _Absent
        return tree.TrendNode(of, claim.word, rises, falls)

    def _formula(self, node: Formula) -> Formula:
        match node:
            case tree.Name(text) if text == self.declared.output.name:
                return node
            case tree.Element(name) if name == self.declared.output.name:
                return tree.Name(self._output(node))
            case tree.Derivative(of, wrt, order):
                differentiated = of if isinstance(of, tree.Element) else tree.Name(of)
                return tree.Derivative(
                    self._output(differentiated), tuple(map(self._name, wrt)), order
                )
            case tree.Conditional():
                return tree.with_parts(node, self._formula)
            case tree.Negative(operand):
                return tree.Negative(self._formula(operand))
            case tree.Sum(terms):
                return tree.Sum(tuple((s, self._formula(t)) for s, t in terms))
            case tree.Product(factors):
                return tree.Product(tuple((s, self._formula(f)) for s, f in factors))
            case tree.Power(base, exponent):
                return tree.Power(self._formula(base), self._formula(exponent))
            case tree.Call(function, arguments, ()):
                return tree.Call(function, tuple(map(self._formula, arguments)))
            case tree.Call():
                raise _Absent
        return self.ground(node, self.assignment)

    def _output(self, node: Formula) -> str:
        """The name of the output, or of a let, at the labels of the rows."""
        if isinstance(node, tree.Name):
            self.ground(node, self.assignment)
            return node.text
        assert isinstance(node, tree.Element)
        output = self.declared.output
        if node.name != output.name:
            return self._name(node)
        labels = [self.assignment.get(s, s) for s in node.subscripts]
        if labels != [self.ground.rows[index] for index in output.indices]:
            raise _Absent
        return output.name

    def _name(self, named: Named) -> str:
        """The name of one element."""
        if isinstance(named, str):
            self.ground(tree.Name(named), self.assignment)
            return named
        element = self.ground(named, self.assignment)
        if not isinstance(element, tree.Name):
            raise _Absent
        return element.text
