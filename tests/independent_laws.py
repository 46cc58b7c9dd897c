"""Random laws as text, and a referee of what is said of them, that share nothing with the tool.

A law is a tree of tuples. The tree is printed as the text of a `.law` file, and evaluated here with
mpmath: at ends, near ends, at ties, far out and at random. No parser, no algebra and no sampling of
the tool is used; the conditions, faces and values that it prints are read by Python's own `ast`.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import mpmath

Tree = tuple[Any, ...]
Values = Mapping[str, Any]

DIGITS = 60
FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "atan", "abs", "min", "max")
LABELS = ("a", "b", "c", "d")
POINTS = 160
CERTAIN = mpmath.mpf(10) ** -38  # relative: below that a difference may be rounding


class NoValue(Exception):
    """A formula has no value at a point."""


# ---- trees


def num(x: object) -> Tree:
    return ("num", Fraction(str(x)))


def name(text: str) -> Tree:
    return ("name", text)


def text(tree: Tree) -> str:
    """The tree as the language writes it, with every bracket."""
    kind, *rest = tree
    if kind == "num":
        (x,) = rest
        whole = str(x.numerator) if x.denominator == 1 else f"{x.numerator}/{x.denominator}"
        return whole if x >= 0 and x.denominator == 1 else f"({whole})"
    if kind == "name":
        return str(rest[0])
    if kind in "+-*/^":
        return f"({text(rest[0])} {kind} {text(rest[1])})"
    if kind in ("sum", "prod"):
        return f"{kind}({text(rest[0])} for {rest[1]})"
    return f"{kind}({', '.join(map(text, rest))})"


def value(tree: Tree, at: Values, labels: Sequence[str] = (), places: Values | None = None) -> Any:
    """The value of a tree in mpmath. Subscripts are looked up with their indices replaced."""
    kind, *rest = tree
    places = places or {}
    if kind == "num":
        return mpmath.mpf(rest[0].numerator) / rest[0].denominator
    if kind == "name":
        return at[placed(rest[0], places)]
    if kind in ("sum", "prod"):
        body, index = rest
        parts = [value(body, at, labels, {**places, index: one}) for one in labels]
        return mpmath.fsum(parts) if kind == "sum" else mpmath.fprod(parts)
    args = [value(part, at, labels, places) for part in rest]
    return apply(kind, args)


def placed(text: str, places: Values) -> str:
    head, bracket, inner = text.partition("[")
    if not bracket:
        return text
    return f"{head}[{', '.join(places.get(i.strip(), i.strip()) for i in inner[:-1].split(','))}]"


def apply(kind: str, args: list[Any]) -> Any:
    """One operation; NoValue outside its domain."""
    x, y = args[0], args[-1]
    if kind in ("exp", "sin", "cos") and abs(x) > 10**7:
        raise OverflowError
    match kind:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            if y == 0:
                raise NoValue
            return x / y
        case "^":
            return power(x, y)
        case "log":
            if x <= 0:
                raise NoValue
            return mpmath.log(x)
        case "sqrt":
            if x < 0:
                raise NoValue
            return mpmath.sqrt(x)
        case "abs":
            return abs(x)
        case "min" | "max":
            return min(args) if kind == "min" else max(args)
    return getattr(mpmath, kind)(x)


def power(x: Any, y: Any) -> Any:
    if x == 0 and y <= 0 or x < 0 and y != int(y):
        raise NoValue
    if x != 0 and abs(y * mpmath.log(abs(x))) > 10**7:
        raise OverflowError
    return x ** int(y) if y == int(y) and abs(y) < 1000 else mpmath.power(x, y)


# ---- what the tool prints


def read(shown: str, at: Values) -> Any:
    """The value or truth of a printed formula, relation, or relations with `and` and `or`."""
    python = shown.replace("^", "**")
    python = python.replace(" = ", " == ")
    python = python.replace(", ", " and ") if "==" in python else python
    try:
        parsed = ast.parse(python, mode="eval").body
    except SyntaxError:  # a sum over all other labels
        raise KeyError(shown) from None
    return _read(parsed, at)


OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "^",
}


def _read(node: ast.AST, at: Values) -> Any:
    match node:
        case ast.BoolOp(op, parts):
            found = [_read(part, at) for part in parts]
            return all(found) if isinstance(op, ast.And) else any(found)
        case ast.Compare(left, ops, rights):
            x, y = _read(left, at), _read(rights[0], at)
            return {
                ast.Lt: x < y,
                ast.LtE: x <= y,
                ast.Gt: x > y,
                ast.GtE: x >= y,
                ast.Eq: mpmath.almosteq(x, y, 1e-40, 1e-40),
            }[type(ops[0])]
        case ast.BinOp(left, op, right):
            return apply(OPERATORS[type(op)], [_read(left, at), _read(right, at)])
        case ast.UnaryOp(ast.USub(), operand):
            return -_read(operand, at)
        case ast.Constant(number):
            return mpmath.mpf(str(number))
        case ast.Name("pi"):
            return +mpmath.pi
        case ast.Name(id) if id in at:
            return at[id]
        case ast.Subscript():
            return at[ast.unparse(node).replace("(", "").replace(")", "")]
        case ast.Call(ast.Name(function), args):
            return apply(function, [_read(arg, at) for arg in args])
    raise KeyError(ast.dump(node))


# ---- domains


@dataclass(frozen=True)
class Limit:
    """`> at` and so on."""

    relation: str
    at: Tree

    def allows(self, x: Any, at: Values, labels: Sequence[str], places: Values) -> bool:
        y = value(self.at, at, labels, places)
        return {">": x > y, ">=": x >= y, "<": x < y, "<=": x <= y}[self.relation]


@dataclass(frozen=True)
class Quantity:
    """A variable or parameter; `indices` are its subscripts, `simplex` that it sums to 1."""

    name: str
    varies: bool
    limits: tuple[Limit, ...] = ()
    indices: tuple[str, ...] = ()
    simplex: bool = False

    @property
    def shown(self) -> str:
        return f"{self.name}[{', '.join(self.indices)}]" if self.indices else self.name

    def declared(self) -> str:
        word = "variable" if self.varies else "parameter"
        if self.simplex:
            return f"{word} {self.shown} in simplex"
        own = ", ".join(f"{self.shown} {x.relation} {text(x.at)}" for x in self.limits)
        return f"{word} {own or self.shown}"


@dataclass(frozen=True)
class Case:
    """A law with one claim, and what the claim says.

    Attributes:
        listed: the labels of its index set, if it has one; empty for any labels.
        formula: of L, in which lets are written out.
        kind: of the claim: compare, rise, bend, finite, limit, slope.
        left, relation, right: of a comparison `left relation right`.
        by: the name by which it rises or bends, or that goes to infinity.
        conditions: on quantities, of the claim.
    """

    quantities: tuple[Quantity, ...]
    formula: Tree
    kind: str
    relation: str = ">"
    left: Tree = ("name", "L")
    right: Tree = ("num", Fraction(0))
    by: str = ""
    indexed: bool = False
    listed: tuple[str, ...] = ()
    conditions: tuple[tuple[str, Limit], ...] = ()
    lets: tuple[tuple[str, Tree], ...] = ()
    written: Tree | None = None
    fresh: tuple[str, ...] = field(default=())

    @property
    def claim(self) -> str:
        words = {
            "rise": f"L {self.relation} in {self.by}",
            "bend": f"L {self.relation} in {self.by}",
            "finite": "L finite",
            "limit": f"L -> {text(self.right)} as {self.by} -> oo",
            "slope": f"∂L/∂{self.by} {self.relation} {text(self.right)}",
            "compare": f"{text(self.left)} {self.relation} {text(self.right)}",
        }
        shown = words[self.kind]
        if self.conditions:
            parts = [f"{n} {x.relation} {text(x.at)}" for n, x in self.conditions]
            shown += " for " + ", ".join(parts)
        return shown

    def text(self) -> str:
        lines = ["law example"]
        if self.indexed:
            over = f"{{{', '.join(self.listed)}}}" if self.listed else "training"
            lines.append(f"index j over {over}")
        lines += [q.declared() for q in self.quantities]
        lines += [f"let {n} = {text(tree)}" for n, tree in self.lets]
        lines += [f"L = {text(self.written or self.formula)}", f"require {self.claim}"]
        return "\n".join(lines) + "\n"

    def whole(self, tree: Tree) -> Tree:
        """A formula of the claim with L written out."""
        if tree == ("name", "L"):
            return self.formula
        return (tree[0], *(self.whole(t) if isinstance(t, tuple) else t for t in tree[1:]))


def holds_in(case: Case, at: Values, labels: Sequence[str]) -> bool:
    """Whether a point lies in the domain that the claim speaks of."""
    try:
        for q in case.quantities:
            for places in _places(q, labels):
                x = at[placed(q.shown, places)]
                if not all(limit.allows(x, at, labels, places) for limit in q.limits):
                    return False
                if q.simplex and not 0 <= x <= 1:
                    return False
            if q.simplex and mpmath.fsum(at[f"{q.name}[{one}]"] for one in labels) != 1:
                return False
        renamed = dict(zip(case.fresh, labels, strict=False))
        for n, limit in case.conditions:
            if not limit.allows(at[placed(n, renamed)], at, labels, renamed):
                return False
    except (NoValue, OverflowError):
        return False
    return True


def _places(q: Quantity, labels: Sequence[str]) -> list[dict[str, str]]:
    return [{q.indices[0]: one} for one in labels] if q.indices else [{}]


def points(case: Case, rng: random.Random, labels: Sequence[str], count: int) -> Iterator[Values]:
    """Points of the domain, exact to all digits: corners, ties, near ends, far out, at random."""
    for _ in range(count):
        style = rng.random()
        at: dict[str, Any] = {}
        for q in case.quantities:
            if q.simplex:
                for one, share in zip(labels, _shares(rng, len(labels)), strict=True):
                    at[f"{q.name}[{one}]"] = share
                continue
            for places in _places(q, labels):
                at[placed(q.shown, places)] = _drawn(q, rng, at, labels, places, style)
        if holds_in(case, at, labels):
            yield at


def _shares(rng: random.Random, count: int) -> list[Any]:
    parts = [rng.choice((0, 0, 1, 1, 2, 3, rng.randint(1, 10**6))) for _ in range(count)]
    if not any(parts):
        parts[rng.randrange(count)] = 1
    total = 2 ** max(1, math.ceil(math.log2(sum(parts) + 1)))
    parts[max(range(count), key=parts.__getitem__)] += total - sum(parts)
    return [mpmath.mpf(p) / total for p in parts]


def _drawn(
    q: Quantity,
    rng: random.Random,
    at: dict[str, Any],
    labels: Sequence[str],
    places: Values,
    style: float,
) -> Any:
    try:
        ends = [(x.relation, value(x.at, at, labels, places)) for x in q.limits]
    except (NoValue, OverflowError):
        return mpmath.mpf(1)
    lows = [x for relation, x in ends if relation[0] == ">"]
    highs = [x for relation, x in ends if relation[0] == "<"]
    low, high = max(lows, default=None), min(highs, default=None)
    if style < 0.2 and at and rng.random() < 0.6:
        return rng.choice(list(at.values()))  # a tie
    pick = rng.random()
    if low is not None and high is not None:
        room = high - low
        if pick < 0.3:
            return rng.choice((low, high))
        if pick < 0.5:
            return rng.choice(
                (low + room * mpmath.mpf(2) ** -30, high - room * mpmath.mpf(2) ** -30)
            )
        return low + room * rng.randint(0, 2**20) / 2**20
    size = mpmath.mpf(rng.choice((1, 2, 3, 10, 0.5, 0.25)))
    if pick < 0.4:
        size = mpmath.mpf(2) ** rng.randint(-40, 40)
    elif pick < 0.7:
        size = mpmath.mpf(rng.randint(1, 2**20)) / 2 ** rng.randint(8, 20)
    if low is not None:
        return low if pick > 0.9 else low + size
    if high is not None:
        return high if pick > 0.9 else high - size
    return 0 * size if pick > 0.93 else size * rng.choice((-1, 1))


# ---- judging


def sign(x: Any, scale: Any) -> int | None:
    """The sign of a difference of numbers of some size; None where it may be rounding."""
    if x == 0:
        return 0
    return int(mpmath.sign(x)) if abs(x) > CERTAIN * scale else None


def margin(case: Case, at: Values, labels: Sequence[str]) -> tuple[Any, Any]:
    """What is positive (or 0, where that is allowed) as the claim says, and its scale.

    Raises:
        NoValue: the claim's formulas have none at the point.
    """
    renamed = dict(zip(case.fresh, labels, strict=False))

    def of(tree: Tree, moved: Values | None = None) -> Any:
        return value(case.whole(tree), {**at, **(moved or {})}, labels, renamed)

    if case.kind == "compare":
        x, y = of(case.left), of(case.right)
        return (x - y if case.relation[0] == ">" else y - x), abs(x) + abs(y)
    by = placed(case.by, renamed)
    if case.kind in ("rise", "slope", "bend"):
        order = 2 if case.kind == "bend" else 1
        slope, scale = _derivative(case, at, labels, by, order, of)
        if case.kind == "slope":
            y = of(case.right)
            slope, scale = slope - y, scale + abs(y)
            return (slope if case.relation[0] == ">" else -slope), scale
        return (slope if case.relation in ("increasing", "convex") else -slope), scale
    raise KeyError(case.kind)


def _derivative(
    case: Case, at: Values, labels: Sequence[str], by: str, order: int, of: Callable[..., Any]
) -> tuple[Any, Any]:
    """By differences on both sides, in the domain; NoValue where the sides differ."""
    x = at[by]
    h = mpmath.mpf(2) ** -70 * (abs(x) + mpmath.mpf(2) ** -40)
    q = next(
        q
        for q in case.quantities
        if placed(q.shown, dict(zip(q.indices, [by.partition("[")[2][:-1]], strict=False))) == by
    )
    places = dict(zip(q.indices, [by.partition("[")[2][:-1]], strict=False))
    inside = {
        k: all(limit.allows(x + k * h, {**at, by: x + k * h}, labels, places) for limit in q.limits)
        for k in range(-2, 3)
    }
    with mpmath.workdps(DIGITS * 4):
        f = {k: of(("name", "L"), {by: x + k * h}) for k, there in inside.items() if there}
        scale = max(map(abs, f.values()))
        if order == 1:
            sides = [(f[k] - f[0]) / (k * h) for k in (-1, 1) if k in f]
        else:
            sides = [(f[2 * k] - 2 * f[k] + f[0]) / h**2 for k in (-1, 1) if 2 * k in f]
    if not sides:
        raise NoValue
    size = max(abs(s) for s in sides)
    if size * h**order < scale * mpmath.mpf(10) ** (-3 * DIGITS):
        raise OverflowError  # lost beside larger numbers
    if len(sides) == 2 and abs(sides[0] - sides[1]) > mpmath.mpf(10) ** -9 * (size + scale):
        raise NoValue
    return sides[-1], (size + scale * mpmath.mpf(10) ** 20) * mpmath.mpf(10) ** 3


def strict(case: Case) -> bool:
    return case.kind == "rise" or case.relation in ("<", ">")


def violated(case: Case, at: Values, labels: Sequence[str]) -> bool | None:
    """Whether the claim certainly fails at a point; False: it certainly holds; None: not certain."""
    try:
        x, scale = margin(case, at, labels)
    except NoValue:
        return True if case.kind == "compare" else None
    except OverflowError:
        return None
    found = sign(x, scale)
    if found is None:
        return None
    return found < 0 or (found == 0 and strict(case))


def has_value(case: Case, at: Values, labels: Sequence[str]) -> bool | None:
    try:
        value(case.formula, at, labels)
    except NoValue:
        return False
    except OverflowError:
        return None
    return True


def sizes(case: Case) -> list[Sequence[str]]:
    """The label sets that are looked at, the names of the claim first in each order."""
    if not case.indexed:
        return [()]
    if case.listed:
        return [tuple(p) for p in permutations(case.listed)] if case.fresh else [case.listed]
    return [LABELS[:n] for n in (2, 3, 4)]


def objections(case: Case, verdict: Mapping[str, Any], seed: int = 0) -> list[str]:
    """What is wrong with a verdict (as JSON); empty where nothing is known to be."""
    rng = random.Random(seed)
    with mpmath.workdps(DIGITS):
        if case.kind == "limit":
            return _about_limit(case, verdict, rng)
        sets = sizes(case)
        drawn = [(at, s) for s in sets for at in points(case, rng, s, POINTS // len(sets) + 1)]
        if verdict["verdict"] == "refuted":
            return _about_refuted(case, verdict, drawn)
        found: list[str] = []
        for at, labels in drawn:
            wrong = _objection(case, verdict, at, labels)
            if wrong:
                where = ", ".join(f"{n} = {mpmath.nstr(x, 12)}" for n, x in at.items())
                found.append(f"{wrong} at {where}")
                break
        return found


def _objection(case: Case, verdict: Mapping[str, Any], at: Values, labels: Sequence[str]) -> str:
    if case.kind == "finite":
        bad = verdict["verdict"] == "proved" and has_value(case, at, labels) is False
        return "proved, but has no value" if bad else ""
    fails = violated(case, at, labels)
    if verdict["verdict"] == "proved":
        return "proved, but fails" if fails else ""
    if verdict["verdict"] == "inside":
        if not fails:
            return ""
        try:
            x, _ = margin(case, at, labels)
            if x < 0:
                return "proved inside, but fails"
            return "" if read(verdict["face"], at) else "proved inside, but equal off the face"
        except KeyError:
            return ""  # a face in sums of all other labels
        except NoValue:
            return "proved inside, but has no value"
    if verdict["verdict"] == "conditional" and fails:
        names = dict(zip(case.fresh, labels, strict=False))
        seen = {**at, **{placed(q.shown, {i: n}): at[placed(q.shown, {i: one})]
                         for q in case.quantities for i in q.indices for n, one in names.items()}}  # fmt: skip
        try:
            return "its condition holds, but it fails" if read(verdict["condition"], seen) else ""
        except (KeyError, NoValue, OverflowError):
            return ""
    return ""


def _about_refuted(
    case: Case, verdict: Mapping[str, Any], drawn: Sequence[tuple[Values, Sequence[str]]]
) -> list[str]:
    witness = {n: mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator for n, x in (verdict["witness"] or {}).items()}  # fmt: skip
    if verdict["never"]:
        for at, labels in drawn:
            if violated(case, at, labels) is False:
                return [f"never, but holds at {at}"]
    if not witness:
        if case.kind == "compare" and not any(violated(case, at, s) for at, s in drawn[:40]):
            return ["refuted everywhere, but fails at no point"] if drawn else []
        return []
    labels = _labels_of(case, witness)
    for at in _completed(case, witness, labels):
        orders = permutations(labels) if case.fresh and case.listed else [labels]
        if case.kind == "finite":
            return (
                []
                if has_value(case, at, labels) in (False, None)
                else ["has a value at the witness"]
            )
        if any(violated(case, at, tuple(order)) in (True, None) for order in orders):
            return _about_value(case, verdict, at, labels)
        return [f"refuted, but holds at the witness {witness}"]
    return [f"refuted at {witness}, which is not in the domain"]


def _about_value(
    case: Case, verdict: Mapping[str, Any], at: Values, labels: Sequence[str]
) -> list[str]:
    """The value beside a witness, of a comparison without labels."""
    if case.kind != "compare" or case.indexed or " = " not in (verdict["value"] or ""):
        return []
    try:
        x, scale = margin(case, at, labels)
    except (NoValue, OverflowError):
        return []
    shown = mpmath.mpf(verdict["value"].rpartition(" = ")[2])
    true = x if case.relation[0] == ">" else -x
    if sign(x, scale) is None or mpmath.almosteq(shown, true, 2e-3, 0) or shown == true:
        return []
    return [f"the value beside the witness is {mpmath.nstr(true, 8)}, not {shown}"]


def _labels_of(case: Case, witness: Values) -> Sequence[str]:
    if not case.indexed or case.listed:
        return case.listed
    found = [n.partition("[")[2][:-1] for n in witness if "[" in n]
    own = [n for n in case.fresh if n not in found]
    ordered = [*case.fresh, *(n for n in found if n not in case.fresh)]
    labels = list(dict.fromkeys([*ordered, *own]))
    for more in ("other", "other1"):  # a set has two labels at least
        if len(labels) < 2 and more not in labels:
            labels.append(more)
    return tuple(labels)


def _completed(case: Case, witness: Values, labels: Sequence[str]) -> Iterator[Values]:
    """The witness with the quantities that it leaves open, at some place in their domains."""
    rng = random.Random(1)
    for _ in range(400):
        at: dict[str, Any] = {}
        for q in case.quantities:
            if q.simplex:
                own = {one: witness.get(f"{q.name}[{one}]") for one in labels}
                missing = [one for one, x in own.items() if x is None]
                rest = 1 - mpmath.fsum(x for x in own.values() if x is not None)
                for k, one in enumerate(missing):
                    own[one] = rest if k == 0 else mpmath.mpf(0)
                at |= {f"{q.name}[{one}]": x for one, x in own.items()}
                if missing == [] and abs(rest) < mpmath.mpf(10) ** -50:
                    last = labels[-1]
                    at[f"{q.name}[{last}]"] = 1 - mpmath.fsum(own[one] for one in labels[:-1])
                continue
            for places in _places(q, labels):
                n = placed(q.shown, places)
                at[n] = witness[n] if n in witness else _drawn(q, rng, at, labels, places, 1.0)
        if holds_in(case, at, labels):
            yield at


def _about_limit(case: Case, verdict: Mapping[str, Any], rng: random.Random) -> list[str]:
    if verdict["verdict"] not in ("proved", "refuted"):
        return []
    for at in list(points(case, rng, (), 12)):
        try:
            target = value(case.right, at)
            near, far = (
                abs(value(case.formula, {**at, case.by: mpmath.mpf(10) ** k}) - target)
                for k in (1000, 10**6)
            )
        except (NoValue, OverflowError):
            continue
        small = mpmath.mpf(10) ** -30
        if verdict["verdict"] == "proved" and far > small and far > near / 10:
            return [f"proved, but {mpmath.nstr(far, 5)} away far out at {at}"]
    return []


# ---- making laws


def make(rng: random.Random) -> Case:
    """A random law with one claim."""
    found = rng.random()
    if found < 0.25:
        return _with_labels(rng)
    quantities = _quantities(rng)
    names = [q.name for q in quantities]
    variables = [q.name for q in quantities if q.varies]
    formula = _sum_of_terms(rng, names) if rng.random() < 0.75 else _tree(rng, names, 3)
    lets: tuple[tuple[str, Tree], ...] = ()
    written = None
    if rng.random() < 0.2:
        inner = _term(rng, names)
        lets, written = (("u", inner),), ("+", formula, ("^", name("u"), num(2)))
        formula = ("+", formula, ("^", inner, num(2)))
    case = Case(tuple(quantities), formula, "compare", lets=lets, written=written)
    return _claimed(rng, case, variables)


def _quantities(rng: random.Random) -> list[Quantity]:
    found = []
    for n in ("x", "y", "z")[: rng.choice((1, 1, 2, 2, 3))]:
        found.append(Quantity(n, True, _range(rng)))
    parameters = ("p", "q", "w")[: rng.choice((0, 1, 1, 2, 3))]
    for k, n in enumerate(parameters):
        limits = _range(rng, positive=rng.random() < 0.7)
        if k and rng.random() < 0.5:  # bounds against one declared above
            other = name(parameters[rng.randrange(k)])
            shape = rng.choice(("above", "between", "below", "both"))
            relation = rng.choice((">", ">="))
            limits = (Limit(relation, other),)
            if shape == "between":
                limits += (Limit("<", ("+", other, num(rng.choice((1, 2, 5))))),)
            elif shape == "below":
                limits = (Limit("<", other), Limit(">", ("-", other, num(3))))
            elif shape == "both":
                limits += (Limit(rng.choice(("<", "<=")), num(rng.choice((9, 20)))),)
        found.append(Quantity(n, False, limits))
    return found


def _range(rng: random.Random, *, positive: bool = False) -> tuple[Limit, ...]:
    shape = rng.random()
    low = num(
        rng.choice((0, 0, 0, 1, 0.5)) if positive or shape < 0.75 else rng.choice((-1, -2, -0.5))
    )
    lower = Limit(rng.choice((">", ">=")), low)
    if shape < 0.4 and not (positive and shape < 0.1):
        return (lower,)
    if shape > 0.93 and not positive:
        return ()
    width = rng.choice((1, 2, 3, 0.5))
    high = Limit(rng.choice(("<", "<=")), num(Fraction(str(width)) + low[1]))
    return (lower, high) if rng.random() < 0.8 else (lower,)


COEFFICIENTS = (1, 1, 2, 3, 0.5, 0.25, 0.1, 5)
EXPONENTS = (1, 1, 2, 3, 0.5, -1, -0.5, 1.5, -2, 4)


def _term(rng: random.Random, names: Sequence[str]) -> Tree:
    """A coefficient times powers and functions."""
    tree = num(rng.choice(COEFFICIENTS))
    for n in rng.sample(list(names), rng.randint(1, min(2, len(names)))):
        exponent = num(rng.choice(EXPONENTS)) if rng.random() < 0.85 else name(rng.choice(names))
        part: Tree = ("^", name(n), exponent)
        pick = rng.random()
        if pick < 0.2:
            part = name(n)
        elif pick < 0.3:
            part = ("exp", ("*", num(rng.choice((-1, 1, -0.5))), name(n)))
        elif pick < 0.37:
            part = ("log", ("+", num(rng.choice((1, 2))), name(n)))
        elif pick < 0.43:
            part = (rng.choice(("sin", "cos", "tanh", "atan")), name(n))
        elif pick < 0.5:
            part = ("/", num(1), ("+", num(rng.choice((1, 2))), ("^", name(n), num(2))))
        elif pick < 0.6:
            other = name(rng.choice(names)) if rng.random() < 0.6 else num(rng.choice((0, 1, 2)))
            inner: Tree = rng.choice(
                (("abs", ("-", name(n), other)), ("max", name(n), other), ("min", name(n), other))
            )
            part = inner
        tree = ("*", tree, part)
    return tree


def _sum_of_terms(rng: random.Random, names: Sequence[str]) -> Tree:
    tree = _term(rng, names)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        tree = (rng.choice("++-"), tree, _term(rng, names))
    return tree


def _tree(rng: random.Random, names: Sequence[str], depth: int) -> Tree:
    if depth == 0 or rng.random() < 0.1:
        return name(rng.choice(names)) if rng.random() < 0.7 else num(rng.choice(COEFFICIENTS))
    kind = rng.choice(("+", "+", "*", "*", "-", "/", *FUNCTIONS))
    if kind in "+-*/" or kind in ("min", "max"):
        return (kind, _tree(rng, names, depth - 1), _tree(rng, names, depth - 1))
    return (kind, _tree(rng, names, depth - 1))


def _claimed(rng: random.Random, case: Case, variables: Sequence[str]) -> Case:
    kind = rng.choice(
        (
            "compare",
            "compare",
            "compare",
            "tight",
            "tight",
            "rise",
            "slope",
            "bend",
            "finite",
            "limit",
        )
    )
    by = rng.choice(variables)
    conditions: tuple[tuple[str, Limit], ...] = ()
    if rng.random() < 0.15:
        conditions = ((by, Limit(rng.choice((">", ">=")), num(rng.choice((0, 0.25, 0.5))))),)
    case = replace(case, by=by, conditions=conditions)
    if kind == "finite":
        return replace(case, kind=kind)
    if kind == "limit":
        q = next(q for q in case.quantities if q.name == by)
        unbounded = all(x.relation[0] == ">" for x in q.limits)
        right = num(rng.choice((0, 0, 1))) if rng.random() < 0.6 else _free_part(case.formula, by)
        return (
            replace(case, kind=kind, right=right, conditions=())
            if unbounded
            else _claimed(rng, case, variables)
        )
    if kind == "rise":
        return replace(case, kind=kind, relation=rng.choice(("increasing", "decreasing")))
    if kind == "bend":
        return replace(case, kind=kind, relation=rng.choice(("convex", "concave")))
    relation = rng.choice((">", ">=", "<", "<="))
    if kind == "slope":
        return replace(case, kind=kind, relation=relation)
    right = (
        num(rng.choice((0, 0, 1, -1)))
        if rng.random() < 0.7
        else _term(rng, [q.name for q in case.quantities])
    )
    if kind == "tight":
        right = _extreme(rng, case, relation) or right
    return replace(case, kind="compare", relation=relation, right=right)


def _free_part(formula: Tree, by: str) -> Tree:
    """The terms of a sum that a name is not in."""
    if formula[0] == "+":
        parts = [p for p in (_free_part(formula[1], by), _free_part(formula[2], by)) if p != num(0)]
        return ("+", *parts) if len(parts) == 2 else parts[0] if parts else num(0)
    return num(0) if by in text(formula) else formula


def _extreme(rng: random.Random, case: Case, relation: str) -> Tree | None:
    """A number near the least or greatest value at some points, so that little is left."""
    seen = []
    for at in points(case, rng, (), 40):
        try:
            seen.append(value(case.formula, at))
        except (NoValue, OverflowError):
            continue
    if not seen:
        return None
    best = min(seen) if relation[0] == ">" else max(seen)
    if not abs(best) < 10**4:
        return None
    step = Fraction(rng.choice((0, 0, 0, 1, -1)), rng.choice((10, 100, 10**6)))
    near = Fraction(str(mpmath.nstr(best, 5, min_fixed=-30, max_fixed=30))) + step
    return ("num", near)


def _with_labels(rng: random.Random) -> Case:
    """A law with one index set, listed or of any labels."""
    listed = rng.choice(((), (), ("a", "b"), ("a", "b", "c")))
    simplex = rng.random() < 0.5
    x = Quantity(
        "x",
        True,
        () if simplex else (Limit(rng.choice((">", ">=")), num(rng.choice((0, 1)))),),
        ("j",),
        simplex,
    )
    k = Quantity(
        "k",
        False,
        (Limit(rng.choice((">", ">=", ">")), num(0)),) if rng.random() < 0.8 else (),
        ("j",),
    )
    body: Tree = ("*", name("k[j]"), name("x[j]"))
    pick = rng.random()
    if pick < 0.2:
        body = ("*", name("k[j]"), ("^", name("x[j]"), num(2)))
    elif pick < 0.3:
        body = ("*", name("x[j]"), ("exp", ("*", num(-1), name("k[j]"))))
    elif pick < 0.4:
        body = ("abs", ("-", name("x[j]"), name("k[j]")))
    elif pick < 0.5:
        body = ("max", name("x[j]"), name("k[j]"))
    whole: Tree = ("sum", body, "j")
    if rng.random() < 0.3:
        whole = (
            ("exp", ("*", num(-1), whole)) if rng.random() < 0.5 else ("log", ("+", num(1), whole))
        )
    if rng.random() < 0.15:
        whole = ("prod", ("+", num(rng.choice((1, 0.5))), name("x[j]")), "j")
    e = Quantity("e", False, (Limit(">", num(0)),))
    formula: Tree = ("+", name("e"), whole) if rng.random() < 0.5 else whole
    used = text(formula)
    quantities = tuple(q for q in (x, k, e) if q.shown in used or q.name == "e" and formula[0] == "+" and formula[1] == name("e"))  # fmt: skip
    fresh = ("m",) if rng.random() < 0.5 else ("m", "n")
    right: Tree = num(rng.choice((0, 0, 1)))
    if rng.random() < 0.6:
        right = ("*", name("k[m]"), name("x[m]")) if "k[j]" in used else name("x[m]")
        if len(fresh) == 2:
            right = (
                "+",
                right,
                ("*", name("k[n]"), name("x[n]")) if "k[j]" in used else name("x[n]"),
            )
    else:
        fresh = ()
    relation = rng.choice((">", ">=", "<", "<="))
    return Case(quantities, formula, "compare", relation=relation, right=right, indexed=True, listed=listed, fresh=fresh)  # fmt: skip
