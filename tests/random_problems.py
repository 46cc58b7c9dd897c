"""Random problems of three kinds, harder than the random laws: shaped like what is fitted.

fitted       sums of products of powers, exponentials and logarithms in 1 to 3 variables, every
             number a decimal as a fit gives it, written as a setting or as a literal
free         the same with 3 to 6 parameters in their natural domains instead of the numbers
adversarial  claims that hold or fail by a hair: bounds near a minimum or supremum, classical
             inequalities and perturbed ones, values that cancel or vanish on a face, failures in
             a sliver or far out only

Where sampling sees one sign, the claim mostly says that sign, so that about half of the claims are
true.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

import numpy as np
from claim_sampling import Case, sampled
from claim_search import LOOKED_AT, POINTS, Columns, Search, corner_points, values_on
from hyperdual import Exact, NoValue
from judging import Judge, bounds_of, claims_on

from lawdsl.core.diagnostics import LawdslError
from lawdsl.language import tree

KINDS = ("fitted", "free", "adversarial")


def problems(kind: str, seed: int, count: int) -> Iterator[Case]:
    """So many problems of one kind; the same for the same seed."""
    rng = random.Random(f"{kind} {seed}")
    while count > 0:
        try:
            case = _MAKERS[kind](rng)
        except (LawdslError, OverflowError):
            continue
        if case is not None:
            yield case
            count -= 1


# Laws

_DOMAINS = {
    "half": ("> 0", "> 0", "> 0", ">= 0", ">= 0.1311", ">= 1", "> 1", ">= 0.01"),
    "finite": ("in [0, 1]", "in (0, 1]", "in [0, 1)", "in (0, 1)", "in [1, 100]", "in [0.25, 4]"),
}
_FACTORS = (
    *("x^(-p)", "x^(-p)", "1/(x + q)^p", "1/(x + q)^p", "b^x", "exp(-r*x)", "exp(-r*x)"),
    *("(1 - exp(-r*x*y))", "(1 - exp(-r*x))", "log(1 + r*x)", "x^p", "(x + q)^p"),
    *("1/(1 + r*x)", "x/(x + q)", "log(x + q)", "(1 - x)", "1/(q + x*y)", "exp(-r*x^p)"),
    *("(q*x + y)^(-p)", "(1 + x/y)^(-p)", "(1 - b^(-x))"),
)
_SUMS = ("(c + c*x^(-p))^p", "(c*x^(-p) + c*y^(-p))^p", "(x + q*y)^p", "(c*x^p + q)^(-p)")
_ONE_VARIABLE = tuple(factor for factor in _FACTORS if "y" not in factor)
_LETTERS = re.compile(r"\b[abchkpqrsxyz]\b")

# letter -> the range of its numbers, whether they are spread evenly in logarithms, and the domains
# of a parameter in its place
_ROLES: dict[str, tuple[float, float, bool, tuple[str, ...]]] = {
    "c": (0.01, 300, True, ("> 0", "> 0", "> 0", ">= 0")),  # a coefficient
    "p": (0.04, 1.7, False, ("> 0", "> 0", "in (0, 1)", "in (0, 1)", "> 1", "in [0, 1]")),
    "q": (0.01, 40, True, ("> 0", "> 0", ">= 0", "> 1")),  # an offset
    "r": (0.01, 8, True, ("> 0", "> 0", "in (0, 1)")),  # a rate
    "b": (1.02, 3, False, ("> 1", "> 1", "in (0, 1)", ">= 1")),  # a base
    "a": (1.04, 3, False, ("> 1",)),  # an exponent above 1
    "h": (0.03, 0.97, False, ("in (0, 1)",)),  # a share
    "k": (0.05, 20, True, ("> 0",)),
    "s": (0.05, 0.95, False, ("in (0, 1)",)),  # a place in (0, 1)
}
_COUPLED = ("> {0}", ">= {0}", "in (0, {0})", "in ({0}, {0} + 1]")


class _Draft:
    """A law in the making.

    Attributes:
        rng: what all choices come from.
        variables: statement by name.
        numbers: statements of settings and parameters.
        style: what a letter of a template becomes: "literal", "setting", "mixed" or "parameter".
    """

    def __init__(self, rng: random.Random, style: str, variables: Mapping[str, str]) -> None:
        self.rng = rng
        self.style = style
        self.variables = dict(variables)
        self.numbers: list[str] = []
        self.roles: dict[str, str] = {}  # parameter -> the letter it was made for
        self.zero: set[str] = set()  # the parameters that may be 0

    def fill(self, template: str) -> str:
        """A template with variables, of any order, for x and y, and numbers for other letters."""
        names = self.rng.sample(list(self.variables), len(self.variables))
        chosen = dict(zip("xy", names, strict=False))
        return _LETTERS.sub(lambda m: chosen.get(m[0]) or self._number(m[0]), template)

    def name(self) -> str:
        return self.rng.choice(list(self.variables))

    def fixed(self, template: str) -> str:
        """A template of which x, y and z are the variables themselves."""
        numbers: dict[str, str] = {}

        def put(found: re.Match[str]) -> str:
            letter = found[0]
            if letter not in "xyz" and letter not in numbers:
                numbers[letter] = self._number(letter)
            return numbers.get(letter, letter)

        return _LETTERS.sub(put, template)

    def _number(self, letter: str) -> str:
        if self.style == "parameter":
            return self._parameter(letter)
        value = self._value(letter)
        if self.style == "setting" or (self.style == "mixed" and self.rng.random() < 0.5):
            name = f"c{len(self.numbers) + 1}"
            self.numbers.append(f"setting {name} = {value}")
            return name
        return value

    def _value(self, letter: str) -> str:
        low, high, in_logarithms, _ = _ROLES[letter]
        if in_logarithms:
            value = low * (high / low) ** self.rng.random()
        else:
            value = self.rng.uniform(low, high)
        if letter == "b" and self.rng.random() < 0.4:
            value = 1 / value
        return f"{value:.{self.rng.randint(3, 6)}g}"

    def _parameter(self, letter: str) -> str:
        alike = [name for name, role in self.roles.items() if role == letter]
        if alike and (len(self.roles) == 6 or self.rng.random() < 0.3):
            return self.rng.choice(alike)
        if len(self.roles) == 6:
            return self.rng.choice(list(self.roles))
        name = "abcdef"[len(self.roles)]
        domain = self.rng.choice(_ROLES[letter][3])
        positive = [n for n, role in self.roles.items() if role in "cpqrk" and n not in self.zero]
        if positive and letter in "cpqrk" and self.rng.random() < 0.2:
            domain = self.rng.choice(_COUPLED).format(self.rng.choice(positive))
        self.roles[name] = letter
        if domain.startswith((">= ", "in [0")):
            self.zero.add(name)
        self.numbers.append(f"parameter {name} {domain}")
        return name

    def text(self, formula: str) -> str:
        lines = [f"variable {name} {domain}".rstrip() for name, domain in self.variables.items()]
        return "\n".join(["law random", *lines, *self.numbers, f"L = {formula}"])


def _variables(rng: random.Random, most: int = 3) -> dict[str, str]:
    names = "xyz"[: min(rng.choice((1, 2, 2, 3)), most)]
    return {n: rng.choice(_DOMAINS["finite" if rng.random() < 0.3 else "half"]) for n in names}


def _term(draft: _Draft) -> str:
    kind = draft.rng.random()
    if kind < 0.1:
        return draft.fill("c")
    alone = len(draft.variables) == 1
    if kind < 0.22:
        return draft.fill(f"c*{draft.rng.choice((_SUMS[0], _SUMS[3]) if alone else _SUMS)}")
    known = _ONE_VARIABLE if alone else _FACTORS
    factors = [draft.fill(draft.rng.choice(known)) for _ in range(1 if kind < 0.65 else 2)]
    return "*".join([draft.fill("c"), *factors])


def _formula(draft: _Draft, terms: int) -> str:
    shown = _term(draft)
    for _ in range(terms - 1):
        shown += f" {draft.rng.choice('+++-')} {_term(draft)}"
    return shown


def _fitted(rng: random.Random) -> Case | None:
    draft = _Draft(rng, rng.choice(("literal", "setting", "mixed")), _variables(rng))
    text = draft.text(_formula(draft, rng.choice((1, 2, 2, 3, 3, 4))))
    return _claimed(rng, text, *_quantity(rng, list(draft.variables)))


def _free(rng: random.Random) -> Case | None:
    draft = _Draft(rng, "parameter", _variables(rng))
    text = draft.text(_formula(draft, rng.choice((1, 2, 2, 3, 3))))
    if len(draft.roles) < 3:
        return None
    by = [*draft.variables] * 3 + list(draft.roles)
    return _claimed(rng, text, *_quantity(rng, by))


# Claims


def _quantity(rng: random.Random, by: list[str]) -> tuple[str, str | None]:
    """What a claim is to speak of, and the words for its sign, if there are any."""
    v, w = rng.choice(by), rng.choice(by)
    kind = rng.random()
    if kind < 0.3:
        return f"diff(L, {v})", None
    if kind < 0.45:
        return f"diff(L, {v}, {v})", None
    if kind < 0.65:
        return f"diff(L, {v}, {w})", None
    if kind < 0.83:
        return "L", None
    if kind < 0.92:
        return f"diff(L, {v})", f"L {{}} in {v}"
    return f"diff(L, {v}, {v})", f"L {{}} in {v}"


_WORDS = {1: ("increasing", "decreasing"), 2: ("convex", "concave")}


def _claimed(rng: random.Random, text: str, quantity: str, words: str | None) -> Case | None:
    """A claim on the sign of a quantity, or on L against a number."""
    trial = _case(text, f"{quantity} > 0")
    against = "0"
    if quantity == "L":
        against = _against(rng, trial)
        trial = _case(text, f"L - ({against}) > 0")
    values = _seen(trial, rng)
    if values is None:
        return None
    if not np.any(values) and rng.random() < 0.9:
        return None
    sign = _sign_seen(values)
    if sign == 0 and rng.random() < 0.4:
        return None
    if sign == 0 or rng.random() < 0.3:
        sign = rng.choice((-1, 1))
    if words:
        order = quantity.count(",")
        return _case(text, words.format(_WORDS[order][sign < 0]))
    strict = rng.random() < (0.2 if np.any(values == 0) else 0.7)
    return _case(text, f"{quantity} {'<' if sign < 0 else '>'}{'' if strict else '='} {against}")


def _case(text: str, claim: str) -> Case:
    law, (read,) = claims_on(text, claim)
    assert law.expression is not None  # or it is a law without a value
    return Case(law, read, text)


def _against(rng: random.Random, trial: Case) -> str:
    """What to compare L with: 0, a number near its values, or parameters."""
    free = [q.name for q in trial.law.parameters]
    if free:
        p, q = rng.choice(free), rng.choice(free)
        return rng.choice(("0", "1", p, p, f"{p} + {q}", f"{p} + {q}", f"{p}*{q}"))
    seen = _seen(trial, rng)
    seen = np.empty(0) if seen is None else seen[np.abs(seen) < 1e9]
    if rng.random() < 0.3 or not len(seen):
        return rng.choice(("0", "0", "1"))
    low, high = float(seen.min()), float(seen.max())
    near = rng.choice((low, high, rng.uniform(low, high), low, high)) * rng.choice((0.8, 1, 1.2))
    return f"{near:.4g}" if near > 0 else "0"


def _sign_seen(values: np.ndarray) -> int:
    if np.all(values >= 0):
        return 1
    return -1 if np.all(values <= 0) else 0


def _seen(case: Case, rng: random.Random) -> np.ndarray | None:
    """What the left side of a claim is at points of its domain; None where it lacks a value."""
    points = sampled(case, rng, POINTS)
    if not points:
        return None
    formula = _left(case)
    values = values_on(case.law, _columns(points), formula, len(points))
    known = ~np.isnan(values)
    bounds = bounds_of(case.law, case.claim)
    for point in [*corner_points(case.law, bounds, {}), *points[:LOOKED_AT]]:
        on = Exact()
        judge = Judge(case.law, {k: on.number(v) for k, v in point.items()}, on)
        try:
            judge.value(tree.Name("L")), judge.value(formula)
        except OverflowError:
            pass
        except NoValue:
            return None
    return values[known] if np.count_nonzero(known) > 0.7 * len(points) else None


def _left(case: Case) -> tree.Formula:
    assert isinstance(case.claim.claim, tree.ComparisonNode)
    return case.claim.claim.lhs


def _columns(points: list[dict[str, Fraction]]) -> Columns:
    return {k: np.array([float(p[k]) for p in points]) for k in points[0]}


# The least value on a domain, by a search in float64


# Claims that hold or fail by a hair


def _delta(rng: random.Random) -> float:
    return float(10 ** rng.uniform(-6, -1))


def _margin(rng: random.Random) -> Case | None:
    """A quantity against its own least or greatest value, moved by a little."""
    draft = _Draft(rng, rng.choice(("literal", "setting")), _variables(rng, most=2))
    text = draft.text(_formula(draft, rng.choice((1, 2, 2, 3))))
    v, w = draft.name(), draft.name()
    quantity = rng.choice(("L", "L", "L", f"diff(L, {v})", f"diff(L, {v}, {w})"))
    trial = _case(text, f"{quantity} > 0")
    seen = _seen(trial, rng)
    if seen is None or not np.ptp(seen):
        return None
    side = rng.choice((1, -1))
    values, _ = Search(trial, {}).lowest(_left(trial), side, rng.randrange(10**6))
    m = side * float(values[0])
    if not np.isfinite(m) or abs(m) > 1e6:
        return None
    moved = _delta(rng) * rng.choice((1, -1))
    limit = m * (1 + moved) if abs(m) > 1e-9 else moved
    relation = rng.choice((">", ">=") if side == 1 else ("<", "<="))
    number = f"{abs(limit):.12g}"
    return _case(text, f"{quantity} {relation} {'-' if limit < 0 else ''}{number}")


_TOUCHING: tuple[tuple[str, str, str], ...] = (
    # where, what is never less, what it is compared with; they touch, or nearly so ("=": where no
    # rational number is, so that it is not claimed that they do not)
    ("x > 0|x >= 0|x in [-1, 1]|x", "exp(k*x)", "1 + k*x"),
    ("x > 0|x >= 0|x in [0, 1]", "k*x", "log(1 + k*x)"),
    ("x > 0|x >= 0.5|x in [0.5, 2]", "x - 1", "log(x)"),
    ("= x > 0|x in [1, 10]", "x*exp(-1)", "log(x)"),
    ("x >= 0|x > 0", "exp(x)", "2.71828*x"),
    ("x >= 0|x in [0, 4]", "exp(x)", "1 + x + 0.5*x^2"),
    ("x >= 0|x in [0, 1]", "log(1 + x)", "x - 0.5*x^2"),
    ("x >= 0|x in [0, 1)", "log(1 + x)", "x/(1 + x)"),
    ("x >= 0|x > 0", "x", "tanh(x)"),
    ("x > 0|x >= 0.1", "x*log(x)", "x - 1"),
    ("= x > 0", "x*log(x)", "-exp(-1)"),
    ("x > 0", "(x^h - 1)/h", "log(x)"),
    ("x >= 0|x > 0|x in [0, 3]", "x^a", "a*x + 1 - a"),
    ("x > 0|x >= 0|x in [-0.5, 2]", "(1 + x)^a", "1 + a*x"),
    ("x >= 0|x in [-0.5, 2]", "1 + h*x", "(1 + x)^h"),
    ("x > 0, y > 0|x >= 0.1, y in [0.1, 3]", "x + y", "2*(x*y)^0.5"),
    ("x > 0, y > 0|x in [1, 4], y in [1, 4]", "h*x + (1 - h)*y", "x^h*y^(1 - h)"),
    ("x > 0", "x + 1/x", "2"),
    ("x > 0, y > 0", "x*y + 1/x + 1/y", "3"),
    ("x > 0, y > 0", "x/y + k^2*y/x", "2*k"),
    ("x > 0, y > 0", "1/x + 1/y", "4/(x + y)"),
    ("x > 0, y > 0, z > 0", "x/(y + z) + y/(x + z) + z/(x + y)", "1.5"),
    ("x > 0, y > 0", "x^a + y^a", "2*((x + y)/2)^a"),
    ("x > 0, y > 0|x >= 0.01, y >= 0.01", "x^h + y^h", "(x + y)^h"),
    ("x > 0, y > 0", "log((x + y)/2)", "0.5*log(x) + 0.5*log(y)"),
    ("x > 0, y > 0", "x*log(x) + y*log(y)", "(x + y)*log((x + y)/2)"),
    ("x, y|x in [0, 1], y in [0, 1]", "exp(x) + exp(y)", "2*exp((x + y)/2)"),
    ("x, y|x > 0, y > 0", "x^2 + y^2", "2*x*y"),
    ("x > 0, y >= 0|x, y|x in [0, 1], y in [0, 1]", "k^2*x^2 + y^2", "2*k*x*y"),
    ("x|x > 0|x in [0, 30]", "x^2 + k^2", "2*k*x"),
    ("x, y", "x^4 + y^4", "x^3*y + x*y^3"),
    ("x, y, z|x > 0, y > 0, z > 0", "x^2 + y^2 + z^2", "x*y + y*z + z*x"),
    ("x, y", "x^4*y^2 + x^2*y^4 + 1", "3*x^2*y^2"),
    ("x > 0", "x^(2*h) + 1", "2*x^h"),
    ("x", "exp(2*x) + 1", "2*exp(x)"),
    ("x >= 1|x > 1|x > 0|x >= 0.9999", "x^1.001", "x"),
    ("x > 0|x >= 1", "x^1.0003 + 1.0003*0.0003", "1.0003*x"),
    ("x > 0, y > 0", "log(x*y)", "log(x) + log(y)"),
    ("x|x > 0", "(x + k)^2", "x^2 + 2*k*x + k^2"),
    ("x > 0", "x^h*x^(1 - h)", "x"),
    ("x", "exp(-k*x)*exp(k*x)", "1"),
    ("x > 0", "log(1 + x) - log(x)", "log(1 + 1/x)"),
    ("x > 0, y > 0", "(x + y)^3", "x^3 + 3*x^2*y + 3*x*y^2 + y^3"),
    ("x in [0, 1]|x in (0, 1)|x in [0, 1)", "x*(1 - x)", "0"),
    ("x >= 0, y >= 0|x > 0, y >= 0|x > 0, y > 0", "x*log(1 + k*y)", "0"),
    ("x in [0, 1], y >= 0|x in [0, 2], y > 0|x > 0, y > 0", "y*(1 - exp(-x*y))", "0"),
    ("x in [0, 1], y in [0, 1]|x in [0, 1), y in [0, 1]", "x*(1 - x*y)", "0"),
    ("x in [0, 1], y in [0, 1]", "x + y - x*y", "x*y"),
    ("x in (0, 1]|x in (0, 1)", "x^h", "x"),
    ("x in [0, 1]|x in [0, 1)", "1", "x^a"),
    ("x >= 0|x > 0", "1 - exp(-k*x)", "k*x*exp(-k*x)"),
    ("x > 0|x >= 0", "exp(-1)/k", "x*exp(-k*x)"),
    ("x|x >= 0", "0.5", "x/(1 + x^2)"),
    ("x > 0", "0.25/k", "x/(x + k)^2"),
    ("x in [0, 1]", "0.25", "x*(1 - x)"),
    ("= x > 0", "exp(-1)", "log(x)/x"),
    ("x > 0", "exp(-a)*a^a", "x^a*exp(-x)"),
    # true by less and less far out
    ("x > 0", "1/x", "1/(x + k)"),
    ("x > 0", "log(1 + x)", "log(x)"),
    ("x > 0|x >= 0.1311", "x^(-h)", "(x + k)^(-h)"),
    ("x >= 1", "x^h", "x^h - exp(-x)"),
    ("x > 0", "log(x + 1)/log(x + 2)", "0"),
    ("x > 0", "exp(1)", "(1 + 1/x)^x"),
)
_FALSE: tuple[tuple[str, str, str], ...] = (
    # it does not hold: in a sliver only, or far out only
    ("x in [0, 1]", "(x - s)^2", "1e-7"),
    ("x in [0, 1]", "(x - s)^2", "3e-11"),
    ("x in [0, 1], y in [0, 1]", "(x - s)^2 + (y - h)^2", "1e-5"),
    ("x in [0, 1]|x", "0.9999", "exp(-1e5*(x - s)^2)"),
    ("x > 0", "(x - k)^2", "1e-6*x"),
    ("x in [0, 1]", "x^2", "1e-4*x"),
    ("x in [0, 1]|x in (0, 1)", "x^1.01", "x^1.02 + 1e-6"),
    ("x > 0", "exp(x)", "2.7184*x"),
    ("x > 0|x >= 0.1311", "1", "2e-6*x"),
    ("x > 0", "log(1 + k*x) + 12", "2*log(1 + x)"),
    ("x > 0", "2", "x^0.05"),
    ("x > 0|x >= 1", "exp(-1e-6*x)", "0.3"),
    ("x > 0", "k*x^1.1", "1e-3*x^1.2"),
    ("x > 0", "3/x^0.3", "0.04"),
    ("x >= 1, y >= 1", "4/x^h + 3/y^0.2", "0.1"),
    ("x > 0", "x + 1", "x^1.001"),
    ("x > 0, y > 0", "x + 1e6*y", "1e-3*x*y"),
)


def _inequality(rng: random.Random) -> Case | None:
    """A classical inequality as it is, or moved by a little."""
    where, left, right = rng.choice(_TOUCHING if rng.random() < 0.78 else _FALSE)
    irrational = where.startswith("= ")
    places = re.findall(
        r"([xyz]) ?((?:[<>i][^,(\[]*(?:[\[(][^)\]]*[)\]])?)?)", _one(rng, where.removeprefix("= "))
    )
    style = rng.choice(("literal", "literal", "setting", "parameter"))
    draft = _Draft(rng, style, dict(places))
    together = draft.fixed(f"{left} = {right}")
    left, right = together.split(" = ")
    kind = rng.random()
    delta = f"{_delta(rng):.3g}"
    if kind < 0.3:
        right = f"{right} {rng.choice('+-')} {delta}"
    elif kind < 0.6 and right != "0":
        right = f"(1 {rng.choice('+-')} {delta})*({right})"
    relation = ">=" if irrational else rng.choice((">", ">=", ">="))
    if rng.random() < 0.3:
        left, right, relation = right, left, relation.replace(">", "<")
    form = rng.random()
    if form < 0.45:
        return _case(draft.text(f"{left} - ({right})"), f"L {relation} 0")
    if form < 0.8:
        return _case(draft.text(left), f"L {relation} {right}")
    draft.variables["w"] = "> 0"
    return _case(draft.text(f"w*({left} - ({right}))"), f"diff(L, w) {relation} 0")


def _one(rng: random.Random, choices: str) -> str:
    return rng.choice(choices.split("|"))


def _adversarial(rng: random.Random) -> Case | None:
    return _margin(rng) if rng.random() < 0.35 else _inequality(rng)


_MAKERS: dict[str, Callable[[random.Random], Case | None]] = {
    "fitted": _fitted,
    "free": _free,
    "adversarial": _adversarial,
}
