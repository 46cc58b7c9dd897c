"""Claim of a law with index sets -> verdict, for sets of any number of labels.

A claim names a few labels: `∂L[i]/∂r[a]`. The law is instantiated at these, and the remaining part
of a sum is one number of known sign, `sum(t[i, j]*r[j] for other j)`, whatever its labels. A proof
under this abstraction holds for all sets. A refutation is a point of a law with minimal labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import TypeVar

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.enumerations import conjunction
from lawdsl.core.time_limit import MIN_SECONDS, OutOfTime, TimeBudget, time_limit
from lawdsl.language import tree
from lawdsl.language.claim_texts import claim_text
from lawdsl.language.instances.claims import MAX_ASSIGNMENTS, claim_at
from lawdsl.language.instances.declarations import written_out
from lawdsl.language.instances.grounding import Grounding, Rest, renamed
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Claim, Declarations
from lawdsl.law.algebra import is_of_sympy
from lawdsl.law.law import Law
from lawdsl.proof.box import Box, Relation
from lawdsl.proof.conditions_of_labels import (
    SUBSCRIPTS,
    LabelledCondition,
    exchanged_choices,
    label_choices,
    label_names,
    listed_labels,
    needed_at_all_labels,
)
from lawdsl.proof.counterexample import value_text
from lawdsl.proof.decide import CLAIM_SECONDS, check_claim
from lawdsl.proof.domain import domain_of
from lawdsl.proof.satisfiability import contradiction, has_point, parameters_of
from lawdsl.proof.verdict import Verdict, refuted, too_late, undecided

MIN_LABELS = 2  # of a set whose size the law does not state
PAIR_TIME_SHARE = 0.3  # of the time, for two labels and their exchange
GENERAL_TIME_SHARE = 0.7  # of the time left, for sets of any size; a refutation needs less
CONTRADICTION_TIME_SHARE = 0.3  # of the time left
MAX_WAYS = 16  # combinations of conditions and violated assumptions that are tried
HOLDING_VERDICTS = ("proved", "inside")
# the verdict on several choices of labels is the worst of theirs, the last in this order
VERDICT_ORDER = ("proved", "inside", "conditional", "undecided", "refuted")

T = TypeVar("T")


def check_indexed(law: Law, claim: Claim, seconds: float = CLAIM_SECONDS) -> Verdict:
    """Decide a claim of a law with index sets, for all sets and all labels that it mentions.

    Args:
        law: the law.
        claim: the claim.
        seconds: CPU time (s) for all of it: instantiation, every choice of labels, every size.
    """
    claim_as_text = claim_text(claim)
    line, _ = claim.text.position(claim.span.start)
    clock = TimeBudget(seconds)
    try:
        with time_limit(seconds):
            verdict = _decide_indexed(law, claim, clock)
    except OutOfTime:
        verdict = undecided(too_late(seconds))
    except LawdslError as error:  # too large at the labels that it names
        verdict = undecided(error.diagnostics[0].message)
    except (
        ArithmeticError,
        ValueError,
    ) as error:  # SymPy raises these on numbers beyond its limits
        if not is_of_sympy(error):
            raise
        verdict = undecided("its numbers are too large for the algebra")
    source_line = (claim.text.name, line)
    spent = clock.spent()
    return replace(
        verdict,
        claim=claim_as_text,
        expect=claim.expect,
        place=source_line,
        seconds=spent,
        needs=None,  # it is about some labels only
    )


def _decide_indexed(law: Law, claim: Claim, clock: TimeBudget) -> Verdict:
    declared = law.declarations
    names = label_names(declared, claim)
    if len(names) > MAX_ASSIGNMENTS:
        return undecided(f"it names more than {MAX_ASSIGNMENTS} labels")
    choices = list(islice(label_choices(declared, claim, names), MAX_ASSIGNMENTS + 1))
    # most contradictions appear between a pair of labels and its exchange
    pair = exchanged_choices(choices)
    at = [choices[k] for k in pair]
    verdicts = _each(_general, law, claim, at, clock, time_share=PAIR_TIME_SHARE)
    known = dict(zip(pair, verdicts, strict=True))
    contradictory = _within_share(
        clock,
        CONTRADICTION_TIME_SHARE,
        lambda: _contradicted(law, claim, choices, known, clock),
    )
    if contradictory is not None:
        return contradictory
    if len(choices) > MAX_ASSIGNMENTS:
        return undecided(f"its names stand for labels in more than {MAX_ASSIGNMENTS} ways")
    others = [k for k in range(len(choices)) if k not in known]
    at = [choices[k] for k in others]
    verdicts = _each(_general, law, claim, at, clock, time_share=GENERAL_TIME_SHARE)
    known |= zip(others, verdicts, strict=True)
    # the most general proof first: it settles the claim for all sizes of sets
    general = [known[k] for k in range(len(choices))]
    worst = _worst([_only_if_proved(verdict) for verdict in general])
    if worst.verdict == "proved":
        return worst
    contradictory = _within_share(
        clock,
        CONTRADICTION_TIME_SHARE,
        lambda: _contradicted(law, claim, choices, known, clock),
    )
    if contradictory is not None:
        return contradictory
    special = _each(_special, law, claim, choices, clock)
    least = _worst(special)
    if least.verdict == "refuted":
        return _refuted(declared, special, general)
    if least.verdict in HOLDING_VERDICTS and _all_sizes_known(declared):
        return _inside(special, special) if least.verdict == "inside" else least
    if worst.verdict == "inside":
        return _inside(general, special)
    if worst.verdict == "conditional":
        if declared.identities:
            special = _each(_special, _without_identities(law), claim, choices, clock)
        verdict = _conditional(declared, general, special)
        conditions, complete = needed_at_all_labels(declared, claim, choices, known)
        if not complete or not _may_hold(law, claim, conditions):
            return undecided(
                f"it holds if {verdict.condition}, for all labels; no parameters are known that "
                "satisfy this"
            )
        return verdict
    if least.verdict in HOLDING_VERDICTS:
        return undecided("proved where each set has as few labels as can be, not for more")
    return undecided(worst.blame or "not decided for sets of any size")


def _each(
    decide: Callable[[Law, Claim, Mapping[str, str], float], Verdict],
    law: Law,
    claim: Claim,
    choices: Sequence[Mapping[str, str]],
    clock: TimeBudget,
    *,
    time_share: float = 1.0,
) -> list[Verdict]:
    """The verdict at each choice of labels; time that one does not use goes to those after it.

    `time_share`: the share of the remaining time for all of them together.
    """
    verdicts = []
    reserved = clock.remaining() * (1 - time_share)
    for number, labels in enumerate(choices):
        allowed = (clock.remaining() - reserved) / (len(choices) - number)
        try:
            with time_limit(max(allowed, MIN_SECONDS)):
                verdicts.append(decide(law, claim, labels, allowed))
        except OutOfTime:
            verdicts.append(undecided(too_late(clock.seconds)))
    return verdicts


def _only_if_proved(verdict: Verdict) -> Verdict:
    """The verdict unless it is a refutation: sums were treated as free numbers, so only proofs
    carry over."""
    if verdict.verdict != "refuted":
        return verdict
    return undecided("what sums have beside the labels that are named may be other than real")


def _refuted(
    declared: Declarations, special: Sequence[Verdict], general: Sequence[Verdict]
) -> Verdict:
    """A refutation with the fewest labels. The claim is called false everywhere only if that is
    proved at every choice of labels, and for sets of every size."""
    worst = _worst(special)
    sizes = special if _all_sizes_known(declared) else [*special, *general]
    nowhere = all(verdict.never for verdict in sizes)
    if not worst.witness and not _all_sizes_known(declared) and worst.value:
        value = f"{worst.value}, with no more labels than those named"
        worst = replace(worst, value=value)
    return replace(worst, never=nowhere)


def _all_sizes_known(declared: Declarations) -> bool:
    return all(s.listed or s.labels for s in declared.indices.values())


def _inside(general: Sequence[Verdict], special: Sequence[Verdict]) -> Verdict:
    """Equality at the faces of all choices of labels, if it occurs with the fewest labels too: a
    sum that is 0 as a free number need not be 0 at any labels."""
    inside = [v for v in general if v.verdict == "inside"]
    face = " or ".join(dict.fromkeys(v.face for v in inside if v.face))
    for one, least in zip(general, special, strict=True):
        if one.verdict == "inside" and least.verdict != "inside":
            return undecided(f"whether there can be equality, at {one.face}, is not known")
    return replace(inside[0], face=face)


def _conditional(
    declared: Declarations, general: Sequence[Verdict], special: Sequence[Verdict]
) -> Verdict:
    """The conjunction of the conditions at all choices of labels; exact, if each is also exact with
    the fewest labels."""
    conditional = [v for v in general if v.verdict == "conditional"]
    least = {v.condition for v in special if v.verdict == "conditional" and v.exact}
    exact = all(v.exact and v.condition in least for v in conditional)
    conditions = dict.fromkeys(v.condition for v in conditional if v.condition)
    remedy = dict.fromkeys(bound for v in conditional for bound in v.remedy)
    return replace(
        conditional[0],
        condition=" and ".join(conditions),
        exact=exact,
        # a declaration is about all labels: a bound of those that the claim brings in is none
        remedy=tuple(remedy)
        if all(v.remedy for v in conditional) and _of_indices(declared, remedy)
        else (),
        # in a law of any size sums are free numbers: a point of it need not be one of any labels
        failure=next((v.failure for v in special if v.verdict == "conditional"), None),
    )


def _within_share(clock: TimeBudget, share: float, decide: Callable[[], T]) -> T | None:
    """What a function returns; None if its share of the remaining time does not suffice."""
    try:
        with time_limit(max(clock.remaining() * share, MIN_SECONDS)):
            return decide()
    except OutOfTime:
        return None


def _contradicted(
    law: Law,
    claim: Claim,
    choices: Sequence[Mapping[str, str]],
    verdicts: Mapping[int, Verdict],
    clock: TimeBudget,
) -> Verdict | None:
    """The refutation of a claim that holds at some labels only if it fails at others: a point at
    which it fails, and the conditions, if each is necessary; None where these can hold together."""
    conditions, _ = needed_at_all_labels(law.declarations, claim, choices, verdicts)
    if not conditions:
        return None
    domains = [_domain_at(law, claim, c.labels) for c in conditions]
    box = parameters_of([domain for domain, _ in domains])
    clash = contradiction(box, [c.needs for c in conditions])
    if clash is None:
        return None
    assumed = [one for k in clash for one in domains[k][1]]
    if assumed and not has_point(box, assumed):
        return None  # no parameters are known for which the claim is made at all these labels
    chosen = [conditions[k] for k in clash]
    tried: dict[int, Verdict] = {}
    for one in chosen:
        if one.number not in tried:
            labels = [choices[one.number]]
            special = _each(
                _special, _without_identities(law), claim, labels, clock, time_share=0.5
            )
            tried[one.number] = special[0]
    exact = all(
        c.exact and tried[c.number].exact and tried[c.number].condition == c.stated for c in chosen
    )
    needs = conjunction([c.text for c in chosen])
    reason = f"no parameters satisfy {needs}" if exact else ""
    failure = next((v.failure for v in tried.values() if v.failure), None)
    if failure is None:
        if exact:
            return refuted({}, reason, "signs")
        if any(v.verdict in HOLDING_VERDICTS for v in tried.values()):
            return None  # the conditions are only sufficient
        return undecided(f"it holds if {needs}, which no parameters satisfy")
    point = dict(failure.point)
    value = f"{failure.text} {value_text(failure.box, failure.quantity, point)}"
    return refuted(point, "; ".join(filter(None, (value, reason))), failure=failure)


def _without_identities(law: Law) -> Law:
    """The law with all its parameters: identities choose some of them, and change no prediction."""
    if not law.declarations.identities:
        return law
    return replace(law, declarations=replace(law.declarations, identities=()), root=None)


def _may_hold(law: Law, claim: Claim, conditions: Sequence[LabelledCondition]) -> bool:
    """Whether parameters are known for which the claim holds at all labels, and not vacuously at all.

    At some labels it may hold vacuously, since the parameters violate its assumptions.
    """
    domains = [_domain_at(law, claim, c.labels) for c in conditions]
    box = parameters_of([domain for domain, _ in domains])
    (_, assumed), *others = domains
    ways = [
        ([c.needs], *([_opposite(one)] for one in of_claim))
        for c, (_, of_claim) in zip(conditions[1:], others, strict=True)
    ]
    first = [*assumed, conditions[0].needs]
    return any(
        has_point(box, [*first, *(one for way in chosen for one in way)])
        for chosen in islice(product(*ways), MAX_WAYS)
    )


def _opposite(relation: Relation) -> Relation:
    return Relation(-relation.positive, not relation.strict)


def _domain_at(law: Law, claim: Claim, labels: Mapping[str, str]) -> tuple[Box, list[Relation]]:
    """The domain of the law with the fewest labels, and what the claim assumes of parameters."""
    free = _without_identities(law)
    ground = _ground(free, claim, labels, spare=True)
    stated = claim_at(ground, claim, labels)
    if stated is None:  # it is about a quantity that the law at these labels does not have
        ground = _ground(free, claim, labels, spare=False)
        stated = claim_at(ground, claim, labels) or claim
    grounded = _law_of(free, ground, stated).built()
    box = domain_of(grounded)
    if not stated.conditions:
        return box, []
    narrowed = domain_of(grounded, stated)
    assumed = [
        one
        for s, relations in narrowed.relations.items()
        for one in relations
        if one not in box.relations.get(s, ()) and not one.positive.free_symbols & box.variables
    ]
    return box, assumed


def _of_indices(declared: Declarations, bounds: Iterable[str]) -> bool:
    """Whether all subscripts in bounds are indices."""
    subscripts = (
        s for bound in bounds for inside in SUBSCRIPTS.findall(bound) for s in inside.split(", ")
    )
    return all(subscript in declared.indices for subscript in subscripts)


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    return max(verdicts, key=lambda v: VERDICT_ORDER.index(v.verdict))


# Sets of any size


def _general(law: Law, claim: Claim, labels: Mapping[str, str], seconds: float) -> Verdict:
    """The verdict for sets of any size: sums over other labels are free numbers of known sign."""
    ground = _ground(law, claim, labels, spare=False)
    stated = claim_at(ground, claim, labels)
    if stated is None:
        return undecided("it speaks of what the law of one row does not have")
    grounded = _law_of(law, ground, stated)
    differentiated = _differentiated_names(stated.claim)
    for rest in ground.rests.values():
        # the rest of a sum is one free number here, whose derivative is unknown
        if differentiated & rest.depends:
            name = sorted(differentiated & rest.depends)[0]
            return undecided(f"how `{rest.full_sum}` changes with {name} is not known")
    verdict = check_claim(grounded, stated, seconds=seconds)
    if verdict.condition and any(rest.name in verdict.condition for rest in ground.rests.values()):
        return undecided(f"it depends on sums: {verdict.condition}")
    for rest in ground.rests.values():
        if not _has_value(law, claim, labels, rest, seconds):
            return undecided(f"whether `{rest.full_sum}` has a value is not known")
    return verdict


def _has_value(
    law: Law, claim: Claim, labels: Mapping[str, str], rest: Rest, seconds: float
) -> bool:
    """Whether the summand has a value at every label."""
    over = law.declarations.indices[rest.index].over
    used = {*labels.values()}
    label = next(n for n in (rest.index, *(f"{rest.index}{k}" for k in range(9))) if n not in used)
    ground = _ground(law, claim, {**labels, label: label}, spare=False, more={label: over})
    body = ground(renamed(rest.body, {rest.index: label}), ground.rows)
    finite = replace(claim, claim=tree.Finite(body), conditions=())
    if check_claim(_law_of(law, ground, finite), finite, seconds=seconds).verdict != "proved":
        return False
    inner = [r for r in ground.rests.values() if r.name != rest.name and r.body != rest.body]
    deeper = [r for r in inner if print_formula(r.body) in print_formula(rest.body)]
    return all(_has_value(law, claim, labels, r, seconds) for r in deeper)


def _differentiated_names(claim: tree.Claim) -> set[str]:
    """The names by which a claim differentiates, or which it moves."""
    names: set[str] = set()
    for node in tree.walk(claim):
        if isinstance(node, tree.Derivative):
            names |= set(map(str, node.wrt))
        elif isinstance(node, tree.TrendNode):
            names |= {str(name) for name in (node.name, node.against) if name is not None}
        elif isinstance(node, tree.LimitNode):
            names |= {str(name) for name, _ in node.approaches}
    return names


# Sets with the fewest labels


def _special(law: Law, claim: Claim, labels: Mapping[str, str], seconds: float) -> Verdict:
    """The verdict for sets with the fewest labels that the claim allows."""
    try:
        ground = _ground(law, claim, labels, spare=True)
        stated = claim_at(ground, claim, labels)
        if stated is None:
            return undecided("it speaks of what the law of one row does not have")
        return check_claim(_law_of(law, ground, stated), stated, seconds=seconds)
    except LawdslError as error:
        return undecided(error.diagnostics[0].message)


def _ground(
    law: Law,
    claim: Claim,
    choice: Mapping[str, str],
    *,
    spare: bool,
    more: Mapping[str, str] | None = None,
) -> Grounding:
    """The law at the labels of a claim. With `spare`, the sets have the fewest labels that the law
    allows; otherwise they may have others, whose sums are free numbers."""
    declared = law.declarations
    names = {**label_names(declared, claim), **(more or {})}
    instance_labels: dict[str, tuple[str, ...]] = {}
    for over in {s.over: None for s in declared.indices.values()}:
        used = [choice[name] for name, of in names.items() if of == over]
        instance_labels[over] = tuple(dict.fromkeys(used))
    lists = listed_labels(declared)
    instance_labels |= lists
    counts = {s.over: len(s.labels) for s in declared.indices.values() if s.labels}
    if spare:
        for over, used_labels in instance_labels.items():
            count = counts.get(over, MIN_LABELS)
            others = [f"other{k or ''}" for k in range(count)]
            instance_labels[over] = (*used_labels, *others[: max(0, count - len(used_labels))])
    row_labels = {index: choice[index] for index in row_indices(declared)}
    remaining_share_labels = (
        _remaining_share_labels(declared, claim, choice, instance_labels) if spare else {}
    )
    is_open = () if spare else tuple(over for over in instance_labels if over not in lists)
    ground = Grounding(
        declared, Instance(instance_labels, row_labels, (), remaining_share_labels, is_open)
    )
    assert declared.output.formula is not None
    ground(declared.output.formula, ground.rows)
    return ground


def _remaining_share_labels(
    declared: Declarations,
    claim: Claim,
    chosen_labels: Mapping[str, str],
    labels: Mapping[str, tuple[str, ...]],
) -> dict[str, str]:
    """The label whose share is 1 minus the others: the one that an exchange lowers, or the last."""
    remaining = {}
    trend = claim.claim
    against = trend.against if isinstance(trend, tree.TrendNode) else None
    for symbol in declared.symbols.values():
        if symbol.kind == "variable" and symbol.simplex:
            label = labels[declared.indices[symbol.indices[-1]].over][-1]
            if isinstance(against, tree.Element) and against.name == symbol.name:
                label = chosen_labels.get(against.subscripts[-1], against.subscripts[-1])
            remaining[symbol.name] = label
    return remaining


def _law_of(law: Law, ground: Grounding, claim: Claim) -> Law:
    """The law of a grounding, with one claim."""
    declared = written_out(ground)
    return replace(law, declarations=replace(declared, claims=(claim,)), root=None)
