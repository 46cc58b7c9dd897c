"""Claim about a law with piecewise formulas -> verdict, from those on the parts of its domain.

A claim is proved where it is proved on every part. Where a derivative is taken across a border, the
claim has no value there, as at a kink; a trend needs that the law does not jump the wrong way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import sympy as sp

from lawdsl.core.time_limit import OutOfTime, time_limit
from lawdsl.language import tree
from lawdsl.language.pieces import Condition, depends_on
from lawdsl.language.printer import print_formula, print_named
from lawdsl.language.symbols import Claim
from lawdsl.law.law import Law
from lawdsl.law.text import text
from lawdsl.proof.domain import opaque_lets
from lawdsl.proof.jumps import BorderNotKnown, Trend, borders_kept, wrong_jump
from lawdsl.proof.pieces import MAX_PIECES, Piece, TooManyPieces, pieces_of, sides_text
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.limits import limit
from lawdsl.proof.signs.sign import Sign
from lawdsl.proof.verdict import MAX_PROOF_LINES, Verdict, undecided

Result = TypeVar("Result")
Decide = Callable[[Law, Claim, float], Verdict]
"""The verdict on a claim about a law without piecewise formulas, in a time (s)."""

BECAUSE = "because "  # how the last line of a proof begins
METHODS = ("definedness", "limits", "signs", "signs and subdivision", "subdivision")


def decide_piecewise(
    law: Law, claim: Claim, seconds: float, decide: Decide, found: list[Verdict]
) -> Verdict:
    """Decide a claim about a piecewise law.

    Args:
        law: the law.
        claim: the claim.
        seconds: CPU time (s).
        decide: decides claims about laws that are not piecewise.
        found: a refutation is appended at once, so that it survives a time limit.
    """
    stated = claim.claim
    if isinstance(stated, tree.Reduction):
        return undecided("a piecewise law is compared with no other law")
    if any(isinstance(node, tree.Call) and node.keywords for node in tree.walk(stated)):
        return undecided("a piecewise law is not taken at other values")
    try:
        undefined = _undefined_condition(Piece(law, claim), seconds / 4, decide)
        if undefined is not None:
            return undefined
        if isinstance(stated, tree.LimitNode):
            return _limit(law, claim, stated, seconds, decide)
        if isinstance(stated, tree.TrendNode):
            return _trend(Piece(law, claim), stated, seconds, decide, found)
        return _on_each(list(pieces_of(law, claim)), seconds, decide, found)
    except TooManyPieces:
        return undecided("its domain has too many parts")


def _undefined_condition(piece: Piece, seconds: float, decide: Decide) -> Verdict | None:
    """The verdict where a condition may have no value: nothing is known of which part is taken."""
    waiting = [piece]
    while waiting:
        piece = waiting.pop()
        condition = piece.condition()
        if condition is None:
            continue
        for side in condition.sides:
            finite = replace(piece.claim, claim=tree.Finite(side, span=side.span))
            verdict = decide(piece.law, finite, seconds)
            if verdict.verdict == "proved":
                continue
            if isinstance(piece.claim.claim, tree.Finite) and verdict.verdict == "refuted":
                checked = _verified(piece, verdict, ())
                if checked is not None:
                    return checked
            return undecided(f"whether {condition.text(True)} may have no value")
        waiting += piece.split(condition).values()
        if len(waiting) > MAX_PIECES:
            raise TooManyPieces
    return None


def _on_each(
    pieces: Sequence[Piece],
    seconds: float,
    decide: Decide,
    found: list[Verdict],
) -> Verdict:
    """The verdict from those on all parts."""
    if not pieces:
        return undecided("the domain is empty")
    open_borders = _borders(pieces, _derived(pieces[0].claim.claim))
    verdicts = _verdicts(pieces, seconds, decide, open_borders, found)
    if isinstance(verdicts, Verdict):
        return verdicts
    if open_borders:
        name = _quantity_text(pieces[0].claim.claim)
        reason = f"{name} may have no value where {sides_text(open_borders[0])}"
        return undecided(reason + _trend_instead(pieces[0].claim))
    return _joined(verdicts)


def _verdicts(
    pieces: Sequence[Piece],
    seconds: float,
    decide: Decide,
    borders: Sequence[Condition],
    found: list[Verdict],
) -> list[tuple[Piece, Verdict]] | Verdict:
    """Each part with its verdict; where the claim is refuted on one, that verdict alone."""
    verdicts: list[tuple[Piece, Verdict]] = []
    for piece in pieces:
        verdict = decide(piece.law, piece.claim, seconds / len(pieces))
        if verdict.verdict == "refuted":
            checked = _verified(piece, verdict, borders)
            if checked is not None:
                found.append(checked)
                return checked
            verdict = undecided("no point is verified at which it fails")
        verdicts.append((piece, verdict))
    return verdicts


def _joined(verdicts: Sequence[tuple[Piece, Verdict]]) -> Verdict:
    """A proof on all parts, or why there is none. Equality on a face of the whole domain remains."""
    faces = dict[str, None]()
    for piece, verdict in verdicts:
        where = f"where {piece.text}: " if piece.settled else ""
        if verdict.verdict == "inside" and _are_of_domain(piece, verdict.face or ""):
            faces |= dict.fromkeys((verdict.face or "").split(" or "))
        elif verdict.verdict == "conditional":
            return undecided(f"{where}it holds if {verdict.condition}")
        elif verdict.verdict == "inside":
            return undecided(f"{where}there is equality at {verdict.face}")
        elif verdict.verdict != "proved":
            return undecided(f"{where}{verdict.blame or 'it fails'}")
    proof = _shortened(line for pair in verdicts for line in _proof_lines(*pair))
    methods = [v.method for _, v in verdicts]
    method = max(methods, key=lambda m: METHODS.index(m) if m in METHODS else 0)
    word = "inside" if faces else "proved"
    return Verdict("", word, proof=proof, method=method, face=" or ".join(faces) or None)


def _proof_lines(piece: Piece, verdict: Verdict) -> tuple[str, ...]:
    """The proof on one part: a line with its conditions, its first step and the facts that it uses."""
    if not piece.settled:
        return verdict.proof
    steps = [step for step in verdict.proof if not step.startswith(BECAUSE)]
    facts = [step for step in verdict.proof if step.startswith(BECAUSE)]
    line = ", ".join((*steps[:1], *facts))
    return (f"where {piece.text}: {line}",) if line else ()


def _shortened(lines: Iterable[str]) -> tuple[str, ...]:
    """A proof of at most `MAX_PROOF_LINES` lines; the last one says how many are left out."""
    found = tuple(lines)
    kept = MAX_PROOF_LINES - 1
    if len(found) <= MAX_PROOF_LINES:
        return found
    return (*found[:kept], f"and {len(found) - kept} more lines")


def _are_of_domain(piece: Piece, face: str) -> bool:
    """Whether faces are ends of declared domains, and not borders between parts."""
    law = piece.law
    ends = {f"{q.name} = {b.text}" for q in (*law.variables, *law.parameters) for b in q.bounds}
    ends |= {f"{q.name} = {text(b.limit)}" for q in law.variables for b in q.bounds}
    borders = {" = ".join(map(print_formula, one.condition.sides)) for one in piece.settled}
    equations = [e for one in face.split(" or ") for e in one.split(", ")]
    return all(e in ends and e not in borders for e in equations)


def _derived(stated: tree.Claim) -> list[str]:
    """The names by which a claim differentiates."""
    names = [
        tree.name_of(n)
        for node in tree.walk(stated)
        if isinstance(node, tree.Derivative)
        for n in node.wrt
    ]
    if isinstance(stated, tree.TrendNode):
        names += [tree.name_of(n) for n in (stated.name, stated.against) if n is not None]
    return names


def _borders(pieces: Sequence[Piece], derived: Iterable[str]) -> tuple[Condition, ...]:
    """The conditions that change along the names of derivatives, within the domain."""
    names = list(derived)
    # a name in a condition may stand for different formulas on different parts
    changing = (
        one.condition
        for piece in pieces
        for one in piece.settled
        if _changes(piece, one.condition, names)
    )
    return tuple(dict.fromkeys(changing))


def _changes(piece: Piece, condition: Condition, names: Sequence[str]) -> bool:
    """Whether a condition may change along some names, shares that change with them included."""
    if not names:
        return False
    symbols = piece.law.declarations.symbols
    # one minus other shares changes with each of them
    also = [n for n, s in symbols.items() if s.kind == "let" and s.bounds and s.formula is not None]
    return depends_on(condition.sides, (*names, *also), piece.law.declarations)


def _quantity_text(stated: tree.Claim) -> str:
    for node in tree.walk(stated):
        if isinstance(node, tree.Derivative):
            return print_formula(node)
    return "its derivative"


def _trend_instead(claim: Claim) -> str:
    """The advice to state a trend in place of the sign of a derivative, which has no value at a border;
    empty where the claim is no sign of a first derivative."""
    match claim.claim:
        case tree.ComparisonNode(tree.Derivative(of, (name,)), relation, tree.Number("0")):
            word = {"<": "decreasing", ">": "increasing"}.get(relation)
        case tree.ComparisonNode(tree.Number("0"), relation, tree.Derivative(of, (name,))):
            word = {"<": "increasing", ">": "decreasing"}.get(relation)
        case _:
            word = None
    if word is None:
        return ""
    return f": write `require {print_named(of)} {word} in {print_named(name)}`"


def _verified(piece: Piece, verdict: Verdict, borders: Sequence[Condition]) -> Verdict | None:
    """A refutation at a point that is verified to lie on its part; None where it is not."""
    near = piece.symbols_of(verdict.witness)
    if not piece.settled:
        return replace(verdict, never=False)
    point = piece.point(near or None, inside=bool(borders))
    if point is None:
        return None
    witness = tuple(sorted((s.name, str(number)) for s, number in point.items()))
    value = verdict.value
    if value is not None and not near:  # it fails at every point of the part
        value = f"{value.removesuffix(' everywhere')} where {piece.text}"
    return replace(
        verdict, witness=witness, value=value, never=False, failure=None, method="counter-example"
    )


def _within(seconds: float, task: Callable[[], Result]) -> Result | None:
    """What a task returns; None where it takes longer."""
    try:
        with time_limit(seconds):
            return task()
    except OutOfTime:
        return None


def _limit(
    law: Law, claim: Claim, stated: tree.LimitNode, seconds: float, decide: Decide
) -> Verdict:
    """A limit: every condition is settled by its own limit, or does not change on the way."""
    finite = replace(claim, claim=tree.Finite(stated.formula, span=stated.formula.span))
    pieces = list(pieces_of(law, finite))
    defined = _on_each(pieces, seconds / 2, decide, [])
    if defined.verdict != "proved":
        return undecided(defined.blame or f"{claim.text.name}: it may have no value")
    names = [tree.name_of(name) for name, _ in stated.approaches]
    waiting, settled = [Piece(law, claim)], list[Piece]()
    while waiting:
        piece = waiting.pop()
        condition = piece.condition()
        if condition is None:
            settled.append(piece)
        elif not depends_on(condition.sides, names, law.declarations):
            waiting += piece.split(condition).values()
        else:
            holds = _eventually(piece, condition, stated)
            if holds is None:
                return undecided(f"which part is taken in the limit, {condition.text(True)}")
            waiting.append(piece.where(condition, holds, certain=True))
        if len(waiting) + len(settled) > MAX_PIECES:
            raise TooManyPieces
    verdicts = [(p, decide(p.law, p.claim, seconds / 2 / len(settled))) for p in settled]
    if len(verdicts) == 1 and not settled[0].settled:
        return replace(verdicts[0][1], never=False)
    refuted = [(p, v) for p, v in verdicts if v.verdict == "refuted"]
    for piece, verdict in refuted:
        checked = _verified(piece, verdict, ())
        if checked is not None:
            return checked
    return _joined(verdicts)


def _eventually(piece: Piece, condition: Condition, stated: tree.LimitNode) -> bool | None:
    """Whether a condition holds from some point on the way to a limit on; None where not known."""
    law, box = piece.law, piece.box
    if opaque_lets(law, piece.claim):
        return None
    targets = {law.symbols[tree.name_of(n)]: law.to_sympy(to) for n, to in stated.approaches}
    signs = SignCalculus(box, valued=True)
    above = box.independent(piece.above(condition))
    if set(targets) & set(box.slack):
        return None
    value = limit(signs, above, targets)
    if value is None:
        return None
    if value.is_infinite:
        return bool(value == sp.oo)
    sign = signs.sign(value)
    if sign == Sign.POSITIVE:
        return True
    return False if sign == Sign.NEGATIVE else None


def _trend(
    piece: Piece, stated: tree.TrendNode, seconds: float, decide: Decide, found: list[Verdict]
) -> Verdict:
    """A trend. Along a name on which a condition depends, the law changes parts once; it follows the
    trend if it does so on both, and does not jump the other way between them."""
    pieces = list(pieces_of(piece.law, piece.claim))
    names = _derived(stated)
    borders = _borders(pieces, names)
    if not borders:
        return _on_each(pieces, seconds, decide, found)
    sense = {"increasing": 1, "decreasing": -1}.get(stated.word)
    if sense is None or stated.against is not None or opaque_lets(piece.law, piece.claim):
        verdict = _on_each(pieces, seconds / 2, decide, found)
        if verdict.verdict == "refuted":
            return verdict
        return undecided(f"it has a border where {sides_text(borders[0])}")
    trend = Trend(stated.formula, tree.name_of(stated.name), sense)
    wrong = _within(seconds / 4, lambda: wrong_jump(piece, trend))
    if wrong is not None:
        found.append(wrong)
        return wrong
    verdicts = _verdicts(pieces, seconds / 2, decide, borders, found)
    if isinstance(verdicts, Verdict):
        return verdicts
    joined = _joined(verdicts)
    if joined.verdict not in ("proved", "inside"):
        return joined
    try:
        steps = _within(seconds / 4, lambda: list(borders_kept(piece, trend)))
    except BorderNotKnown as unknown:
        return undecided(str(unknown))
    if steps is None:
        return undecided(f"it may jump where {sides_text(borders[0])}")
    lines = [line for pair in verdicts for line in _proof_lines(*pair)]
    return replace(joined, proof=_shortened((*lines, *steps)))
