"""Claims of a law with index sets, for sets of any number of labels.

A claim names a few labels: `∂L[i]/∂r[a]`. The law is written out for these, and what a sum has
beside them is one number of known sign, `sum(t[i, j]*r[j] for other j)`, whatever labels it is over.
A proof of that is one for all sets. A refutation is a point of a law with as few labels as there
can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.time_limit import LEAST, Clock, OutOfTime, time_limit
from lawdsl.language import tree
from lawdsl.language.instances.claims import MAX_ASSIGNMENTS, claim_at, coincidences, labels_of
from lawdsl.language.instances.declarations import written_out
from lawdsl.language.instances.grounding import Grounding, Rest, renamed
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Claim, Declarations
from lawdsl.law.law import Law
from lawdsl.proof.decide import CLAIM_SECONDS, check_claim
from lawdsl.proof.goals import claim_text
from lawdsl.proof.verdict import Verdict, too_late, undecided

FEWEST = 2  # labels of a set
GENERAL = 0.7  # of the time is for sets of any size; a refutation needs less
HOLDS = ("proved", "inside")
ORDER = ("proved", "inside", "conditional", "undecided", "refuted")  # the worst of several counts


def check_labelled(law: Law, claim: Claim, seconds: float = CLAIM_SECONDS) -> Verdict:
    """Decide a claim of a law with index sets, for all sets and all labels that it speaks of.

    The time limit is one for all of it: writing the law out, every case of labels, every size.
    """
    shown = claim_text(claim)
    line, _ = claim.text.position(claim.span.start)
    clock = Clock(seconds)
    try:
        with time_limit(seconds):
            found = _decided(law, claim, clock)
    except OutOfTime:
        found = undecided(too_late(seconds))
    except LawdslError as error:  # too large at the labels that it names
        found = undecided(error.diagnostics[0].message)
    place = (claim.text.name, line)
    took = clock.spent()
    return replace(found, claim=shown, expect=claim.expect, place=place, seconds=took)


def _decided(law: Law, claim: Claim, clock: Clock) -> Verdict:
    declared = law.declarations
    names = _names(declared, claim)
    if len(names) > MAX_ASSIGNMENTS:
        return undecided(f"it names more than {MAX_ASSIGNMENTS} labels")
    places = list(islice(_places(declared, claim, names), MAX_ASSIGNMENTS + 1))
    if len(places) > MAX_ASSIGNMENTS:
        return undecided(f"its names stand for labels in more than {MAX_ASSIGNMENTS} ways")
    general = _each(_general, law, claim, places, clock, of=GENERAL)
    worst = _worst([_open_question(verdict) for verdict in general])
    if worst.verdict == "proved":
        return worst
    special = _each(_special, law, claim, places, clock)
    least = _worst(special)
    if least.verdict == "refuted":
        return _refuted(declared, special, general)
    if least.verdict in HOLDS and _all_sizes_known(declared):
        return _inside(special, special) if least.verdict == "inside" else least
    if worst.verdict == "inside":
        return _inside(general, special)
    if worst.verdict == "conditional":
        if declared.identities:  # these choose parameters, and change no prediction
            free = replace(law, declarations=replace(declared, identities=()), root=None)
            special = _each(_special, free, claim, places, clock)
        return _conditional(general, special)
    if least.verdict in HOLDS:
        return undecided("proved where each set has as few labels as can be, not for more")
    return undecided(worst.blame or "not decided for sets of any size")


def _each(
    decide: Callable[[Law, Claim, Mapping[str, str], float], Verdict],
    law: Law,
    claim: Claim,
    places: Sequence[Mapping[str, str]],
    clock: Clock,
    *,
    of: float = 1.0,
) -> list[Verdict]:
    """The verdict at each choice of labels; what one leaves of its time is for the others.

    `of`: the share of the time left that they may take together.
    """
    found = []
    until = clock.left() * (1 - of)
    for number, place in enumerate(places):
        allowed = (clock.left() - until) / (len(places) - number)
        try:
            with time_limit(max(allowed, LEAST)):
                found.append(decide(law, claim, place, allowed))
        except OutOfTime:
            found.append(undecided(too_late(clock.seconds)))
    return found


def _open_question(found: Verdict) -> Verdict:
    """What is true of sums as free numbers, where only a proof of it counts."""
    if found.verdict != "refuted":
        return found
    return undecided("what sums have beside the labels that are named may be other than real")


def _refuted(
    declared: Declarations, special: Sequence[Verdict], general: Sequence[Verdict]
) -> Verdict:
    """A refutation with the fewest labels. It holds nowhere only if that is proved at every choice
    of labels, and for sets of every size."""
    found = _worst(special)
    sizes = special if _all_sizes_known(declared) else [*special, *general]
    nowhere = all(verdict.never for verdict in sizes)
    if not found.witness and not _all_sizes_known(declared) and found.value:
        value = f"{found.value}, with no more labels than those named"
        found = replace(found, value=value)
    return replace(found, never=nowhere)


def _all_sizes_known(declared: Declarations) -> bool:
    return all(s.listed or s.labels for s in declared.indices.values())


def _inside(general: Sequence[Verdict], special: Sequence[Verdict]) -> Verdict:
    """Equality at the faces of any choice of labels, if the fewest labels have a point of one: a
    sum that may be 0 as a free number may have no labels at which it is."""
    found = [v for v in general if v.verdict == "inside"]
    face = " or ".join(dict.fromkeys(v.face for v in found if v.face))
    for one, least in zip(general, special, strict=True):
        if one.verdict == "inside" and least.verdict != "inside":
            return undecided(f"whether there can be equality, at {one.face}, is not known")
    return replace(found[0], face=face)


def _conditional(general: Sequence[Verdict], special: Sequence[Verdict]) -> Verdict:
    """The conditions at all choices of labels together; exact, where each is at the fewest, too."""
    found = [v for v in general if v.verdict == "conditional"]
    least = {v.condition for v in special if v.verdict == "conditional" and v.exact}
    exact = all(v.exact and v.condition in least for v in found)
    conditions = dict.fromkeys(v.condition for v in found if v.condition)
    remedy = dict.fromkeys(bound for v in found for bound in v.remedy)
    return replace(
        found[0],
        condition=" and ".join(conditions),
        exact=exact,
        remedy=tuple(remedy) if all(v.remedy for v in found) else (),
    )


def _names(declared: Declarations, claim: Claim) -> dict[str, str]:
    """The names that stand for labels in a claim, and in the law of one row -> the sets that they
    are of."""
    rows = {index: declared.indices[index].over for index in row_indices(declared)}
    found = labels_of(declared, claim)
    return found | {index: over for index, over in rows.items() if index not in found}


def _listed(declared: Declarations) -> dict[str, tuple[str, ...]]:
    """Set that is listed -> its labels."""
    return {s.over: s.listed for s in declared.indices.values() if s.listed}


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    return max(verdicts, key=lambda v: ORDER.index(v.verdict))


def _places(
    declared: Declarations, claim: Claim, names: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """What the names of a claim stand for: labels of a listed set, or any labels."""
    lists = _listed(declared)
    free = {name: over for name, over in names.items() if over not in lists}
    bound = [name for name, over in names.items() if over in lists]
    for labels in coincidences(declared, free):
        for place in _at_listed(labels, bound, names, lists):
            fresh = [(names[n], x) for n, x in place.items() if n not in declared.indices]
            if len(set(fresh)) == len(fresh) and not _with_itself(claim, place):
                yield place


def _with_itself(claim: Claim, places: Mapping[str, str]) -> bool:
    """Whether one and the same share would rise and fall."""
    stated = claim.claim
    if not isinstance(stated, tree.TrendNode) or not isinstance(stated.against, tree.Element):
        return False
    moved = (stated.name, stated.against)
    labels = [
        [places.get(s, s) for s in named.subscripts] if isinstance(named, tree.Element) else []
        for named in moved
    ]
    return labels[0] == labels[1]


def _at_listed(
    labels: dict[str, str],
    left: Sequence[str],
    names: Mapping[str, str],
    lists: Mapping[str, tuple[str, ...]],
) -> Iterator[dict[str, str]]:
    """What names stand for with each label of the listed sets that are left."""
    if not left:
        yield labels
        return
    for label in lists[names[left[0]]]:
        yield from _at_listed({**labels, left[0]: label}, left[1:], names, lists)


# For sets of any size


def _general(law: Law, claim: Claim, places: Mapping[str, str], seconds: float) -> Verdict:
    """The verdict for sets of any size, sums of other labels being numbers of known sign."""
    ground = _ground(law, claim, places, spare=False)
    stated = claim_at(ground, claim, places)
    if stated is None:
        return undecided("it speaks of what the law of one row does not have")
    own = _law_of(law, ground, stated)
    moved = _moved(stated.claim)
    for rest in ground.rests.values():
        if moved & rest.depends:
            name = sorted(moved & rest.depends)[0]
            return undecided(f"how `{rest.full_sum}` changes with {name} is not known")
    found = check_claim(own, stated, seconds=seconds)
    if found.condition and any(rest.name in found.condition for rest in ground.rests.values()):
        return undecided(f"it depends on sums: {found.condition}")
    for rest in ground.rests.values():
        if not _has_value(law, claim, places, rest, seconds):
            return undecided(f"whether `{rest.full_sum}` has a value is not known")
    return found


def _has_value(
    law: Law, claim: Claim, places: Mapping[str, str], rest: Rest, seconds: float
) -> bool:
    """Whether what is summed has a value at any label."""
    over = law.declarations.indices[rest.index].over
    used = {*places.values()}
    label = next(n for n in (rest.index, *(f"{rest.index}{k}" for k in range(9))) if n not in used)
    ground = _ground(law, claim, {**places, label: label}, spare=False, more={label: over})
    body = ground(renamed(rest.body, {rest.index: label}), ground.rows)
    finite = replace(claim, claim=tree.Finite(body), conditions=())
    if check_claim(_law_of(law, ground, finite), finite, seconds=seconds).verdict != "proved":
        return False
    inner = [r for r in ground.rests.values() if r.name != rest.name and r.body != rest.body]
    deeper = [r for r in inner if print_formula(r.body) in print_formula(rest.body)]
    return all(_has_value(law, claim, places, r, seconds) for r in deeper)


def _moved(claim: tree.Claim) -> set[str]:
    """The names that a claim derives by."""
    found: set[str] = set()
    for node in tree.walk(claim):
        if isinstance(node, tree.Derivative):
            found |= set(map(str, node.wrt))
        elif isinstance(node, tree.TrendNode):
            found |= {str(name) for name in (node.name, node.against) if name is not None}
        elif isinstance(node, tree.LimitNode):
            found |= {str(name) for name, _ in node.approaches}
    return found


# For as few labels as can be


def _special(law: Law, claim: Claim, places: Mapping[str, str], seconds: float) -> Verdict:
    """The verdict for sets with as few labels as there can be."""
    try:
        ground = _ground(law, claim, places, spare=True)
        stated = claim_at(ground, claim, places)
        if stated is None:
            return undecided("it speaks of what the law of one row does not have")
        return check_claim(_law_of(law, ground, stated), stated, seconds=seconds)
    except LawdslError as error:
        return undecided(error.diagnostics[0].message)


def _ground(
    law: Law,
    claim: Claim,
    places: Mapping[str, str],
    *,
    spare: bool,
    more: Mapping[str, str] | None = None,
) -> Grounding:
    """The law at the labels of a claim; with `spare`, of sets that have no more than they must."""
    declared = law.declarations
    names = {**_names(declared, claim), **(more or {})}
    labels: dict[str, tuple[str, ...]] = {}
    for over in {s.over: None for s in declared.indices.values()}:
        here = [places[name] for name, of in names.items() if of == over]
        labels[over] = tuple(dict.fromkeys(here))
    lists = _listed(declared)
    labels |= lists
    counts = {s.over: len(s.labels) for s in declared.indices.values() if s.labels}
    if spare:
        for over, own in labels.items():
            wanted = counts.get(over, FEWEST)
            others = [f"other{k or ''}" for k in range(wanted)]
            labels[over] = (*own, *others[: max(0, wanted - len(own))])
    at = {index: places[index] for index in row_indices(declared)}
    left = _left_out(declared, claim, places, labels) if spare else {}
    is_open = () if spare else tuple(over for over in labels if over not in lists)
    ground = Grounding(declared, Instance(labels, at, (), left, is_open))
    assert declared.output.formula is not None
    ground(declared.output.formula, ground.rows)
    return ground


def _left_out(
    declared: Declarations,
    claim: Claim,
    places: Mapping[str, str],
    labels: Mapping[str, tuple[str, ...]],
) -> dict[str, str]:
    """The label whose share is 1 minus the others: what falls as another rises, or the last."""
    found = {}
    stated = claim.claim
    against = stated.against if isinstance(stated, tree.TrendNode) else None
    for symbol in declared.symbols.values():
        if symbol.kind == "variable" and symbol.simplex:
            label = labels[declared.indices[symbol.indices[-1]].over][-1]
            if isinstance(against, tree.Element) and against.name == symbol.name:
                label = places.get(against.subscripts[-1], against.subscripts[-1])
            found[symbol.name] = label
    return found


def _law_of(law: Law, ground: Grounding, claim: Claim) -> Law:
    """The law that a grounding has written out, with one claim."""
    declared = written_out(ground)
    return replace(law, declarations=replace(declared, claims=(claim,)), root=None)
