"""Domains, and their available tokens -> the largest share that each may have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.meant_units import PREFIX_WORDS
from lawdsl.core.units import PREFIXES
from lawdsl.language.keywords import did_you_mean

DOMAIN_NAME = re.compile(r"\w[\w.-]*")  # the characters of corpus names
_BYTES = re.compile(r"(?P<number>[0-9.]+)\s*(?P<prefix>[kKMGTPE])i?(?:[bB]|[bB]ytes?)")
_WORDS = re.compile(r"(?P<number>[0-9.]+)\s*(?P<word>[A-Za-z]+)\s*(?:tokens?)?")
_AMOUNT = re.compile(
    r"(?P<number>(\d{1,18}(\.\d{0,18})?|\.\d{1,18})([eE][+-]?\d{1,2})?|\d{1,9}/[1-9]\d{0,8})"
    r"\s*(?P<prefix>[kMGTPE]?)(tokens?)?"
)


@dataclass(frozen=True)
class Domain:
    """A domain of training data.

    Attributes:
        name: the name; its share is in the column `r_NAME`.
        cap: its largest share, from 0 to 1.
    """

    name: str
    cap: Fraction


def read_domains(
    pairs: Iterable[str],
    *,
    target: str | None = None,
    epochs: str = "1",
    caps: Iterable[str] = (),
) -> tuple[Domain, ...]:
    """Parse domains given on the command line.

    The share of a domain is limited by its supply: cap = epochs * supply / target.

    Args:
        pairs: `web=3.2T`, a domain with its available tokens, or `web`, a domain without a limit.
        target: the number of training tokens.
        epochs: the largest number of passes over the tokens of a domain.
        caps: `code=1/4`, further upper bounds of shares.

    Returns:
        The domains with their caps, in the given order.

    Raises:
        LawdslError: texts of another form, M0101; caps that allow no mixture, M0102.
    """
    mistakes: list[Diagnostic] = []
    pairs = tuple(pairs)
    supplies = _parse_pairs(pairs, mistakes, as_tokens=True)
    bounds = _parse_pairs(caps, mistakes, supplies)
    target_tokens = (
        _parse_amount("--target", target, mistakes, True) if target is not None else None
    )
    epochs_ = _parse_amount("--epochs", epochs, mistakes)
    limited = [name for name, supply in supplies.items() if supply is not None]
    if target is None and limited:
        message = f"the tokens of {', '.join(limited)} bound a share of how many, it is not said"
        mistakes.append(
            Diagnostic(
                "M0101", message, help="add --target 1T, or bound shares themselves with --cap"
            )
        )
    if len(pairs) < 2 and not mistakes:
        message = "a mixture has two domains or more"
        mistakes.append(Diagnostic("M0101", message, help="write web=3.2T code=0.4T, or web code"))
    mistakes += _caps_above_one(bounds)
    if mistakes:
        raise LawdslError(_together(mistakes))
    domains = []
    for name, supply in supplies.items():
        cap = Fraction(1)
        if supply is not None and target_tokens is not None and epochs_ is not None:
            cap = min(cap, epochs_ * supply / target_tokens)
        domains.append(Domain(name, min(cap, bounds.get(name) or cap)))
    _check_some_mixture(domains, target_tokens, epochs_ if not bounds else None)
    return tuple(domains)


def sort_by_cap(domains: Iterable[Domain]) -> list[Domain]:
    """Sort domains by descending cap, then by name; results do not depend on input order."""
    return sorted(domains, key=lambda domain: (-domain.cap, domain.name))


def grid_steps(grid: str | Fraction) -> int:
    """The number of steps of a grid in 1: 16 for "1/16".

    Raises:
        LawdslError: 1 is not a multiple of it; M0104.
    """
    text = str(grid)
    match = _AMOUNT.fullmatch(text)
    step = Fraction(match["number"]) if match and not match["prefix"] else Fraction(0)
    if step <= 0 or step.numerator != 1:
        message = f"`{text}` is not a grid: its steps must make up 1"
        help = "give 1 divided by a whole number: 1/16, or 0.05"
        raise LawdslError(Diagnostic("M0104", message, help=help))
    return step.denominator


def fraction_text(number: Fraction) -> str:
    """A fraction as a decimal number if a short one is equal, else as numerator/denominator."""
    decimal = repr(float(number)).removesuffix(".0")
    return decimal if Fraction(decimal) == number else str(number)


def _parse_pairs(
    pairs: Iterable[str],
    mistakes: list[Diagnostic],
    allowed: Mapping[str, object] | None = None,
    *,
    as_tokens: bool = False,
) -> dict[str, Fraction | None]:
    """Name -> amount, None where it is not given; of `known` names only, if these are given."""
    option = "" if allowed is None else "--cap "
    amounts: dict[str, Fraction | None] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not DOMAIN_NAME.fullmatch(name):
            message = f"`{option}{name}` is not a valid name of a domain"
            if option:
                message = f"`{option}{pair.strip()}` does not have the form DOMAIN=SHARE"
            help = "names have letters, digits and _ . - alone, and begin with no - or ."
            own, colon, amount = name.partition(":")
            if colon and DOMAIN_NAME.fullmatch(own.strip()):
                help = f"write `{option}{own.strip()}={amount.strip()}`, with ="
            elif "," in name and all(DOMAIN_NAME.fullmatch(n.strip()) for n in name.split(",")):
                help = f"separate names by spaces: {' '.join(n.strip() for n in name.split(','))}"
            mistakes.append(Diagnostic("M0101", message, help=help))
        elif name in amounts:
            message = f"`{name}` is given twice"
            mistakes.append(Diagnostic("M0101", message, help="give each domain once"))
        elif allowed is not None and name not in allowed:
            help = did_you_mean(name, allowed, f"there are {', '.join(allowed)}")
            mistakes.append(Diagnostic("M0101", f"unknown domain `{name}`", help=help))
        elif equals or allowed is not None:
            amounts[name] = _parse_amount(f"{option}{name}", text, mistakes, as_tokens)
        else:
            amounts[name] = None
    return amounts


def _parse_amount(
    what: str, text: str, mistakes: list[Diagnostic], as_tokens: bool = False
) -> Fraction | None:
    """A number above 0: 3.2T, 4e11, 1/4."""
    plain = text.strip()
    match = _AMOUNT.fullmatch(plain)
    number = Fraction(match["number"]) if match else Fraction(0)
    if match and number > 0:
        return number * int(PREFIXES.get(match["prefix"], 1))
    message = f"{what}: `{text}` is not a number above 0"
    help = f"write 4e11, 1/4, or with one of {' '.join(PREFIXES)}: 400G"
    size, word = _BYTES.fullmatch(plain), _WORDS.fullmatch(plain)
    written = f"{what} " if what.startswith("--") and " " not in what else f"{what}="
    if as_tokens and size is not None:
        prefix = size["prefix"].replace("K", "k")
        message = f"{what}: `{plain}` is a number of bytes, and tokens are asked for"
        help = f"write the number of tokens, such as {written}{size['number']}{prefix}"
    elif as_tokens and word is not None and (prefix := _prefix(word["word"])):
        help = f"write {written}{word['number']}{prefix}"
    elif not as_tokens and re.fullmatch(r"[0-9.]+\s*%", plain):
        help = f"write {written}{fraction_text(Fraction(plain.rstrip('% ')) / 100)}"
    mistakes.append(Diagnostic("M0101", message, help=help))
    return None


def _prefix(word: str) -> str | None:
    """The prefix that a word stands for: G for `B`, `bn` and `billion`."""
    lower = word.lower().removesuffix("s")
    return {"b": "G", "m": "M", "g": "G", "t": "T", "k": "k"}.get(lower) or PREFIX_WORDS.get(lower)


def _together(mistakes: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The mistakes, those about bytes as one."""
    mistakes = list(mistakes)
    sizes = [d for d in mistakes if "is a number of bytes" in d.message]
    if len(sizes) < 2:
        return mistakes
    texts = [d.message.partition(" is a number")[0] for d in sizes]
    message = f"{', '.join(texts)} are numbers of bytes, and tokens are asked for"
    written = [(d.help or "").partition("such as ")[2] for d in sizes]
    help = f"write the numbers of tokens, such as {' '.join(written)}"
    rest = [d for d in mistakes if d not in sizes]
    return [Diagnostic("M0101", message, help=help), *rest]


def _caps_above_one(bounds: Mapping[str, Fraction | None]) -> list[Diagnostic]:
    return [
        Diagnostic(
            "M0101",
            f"the cap of {name} is {fraction_text(bound)}, and no share is above 1",
            help="give a share: 0.25 or 1/4; for tokens write NAME=TOKENS and --target",
        )
        for name, bound in bounds.items()
        if bound is not None and bound > 1
    ]


def _check_some_mixture(
    domains: Iterable[Domain], target: Fraction | None, epochs: Fraction | None
) -> None:
    """Refuse caps that leave no mixture; where supplies alone are short, say what would do."""
    total = sum((domain.cap for domain in domains), Fraction(0))
    if total >= 1:
        return
    caps_text = ", ".join(f"{domain.name} {float(domain.cap):.4g}" for domain in domains)
    message = f"the largest shares sum to {float(total):.4g}, so no mixture sums to 1"
    capped = ", ".join(f"--cap {domain.name}={float(domain.cap):.4g}" for domain in domains)
    help = f"raise one of {capped}, or leave it out; or add a domain"
    if target is not None:
        help = "raise --cap, or --epochs; or add a domain"
    if target is not None and epochs is not None:
        repeated, smaller_target = (
            _ceil_hundredths(epochs / total),
            _floor_three_digits(target * total),
        )
        help = f"repeat data, --epochs {repeated:g}; train on less, --target {smaller_target:g}; or add a domain"
    raise LawdslError(Diagnostic("M0102", message, notes=(f"at most {caps_text}",), help=help))


def _ceil_hundredths(number: Fraction) -> float:
    """A number rounded up to hundredths."""
    return -(-number * 100 // 1) / 100


def _floor_three_digits(number: Fraction) -> int:
    """A number rounded down to three digits."""
    unit = 10 ** max(0, len(str(int(number))) - 3)
    return int(number) // unit * unit
