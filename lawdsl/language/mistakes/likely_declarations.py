"""An unknown name -> the declaration that the rest of the file makes likely: its kind and its bound."""

from __future__ import annotations

import re

from lawdsl.language.keywords import nearest

AS_POSITIVE = (
    r"/\s*{0}(?![\w(])",
    r"(?<![\w.]){0}(?:\[[^\]]*\])?\s*\^\s*(?![\d(]*\d+\b(?!\.))",
    r"\blog(?:10)?\(\s*{0}(?![\w(])",
    r"\^\s*\(?\s*-?\s*{0}(?![\w(])",
    r"(?<![\w.]){0}\s*->\s*(?:oo|∞)",
)
"""Where a name stands that is above 0: a divisor, a base, an argument of a logarithm, an exponent."""

AS_VARIABLE = (
    r"/\s*∂{0}(?!\w)",
    r"(?:increasing|decreasing|convex|concave)\s+in\s+{0}(?!\w)",
    r"\bas\b[^\n]*(?<!\w){0}\s*->",
    r"^[^\S\n]*measure\s+{0}(?!\w)",
    r"\bdiff\(\w+,[^)\n]*(?<!\w){0}(?!\w)",
)
"""Where a name stands that is a column of the data."""

AS_PARAMETER = (r"^[^\S\n]*(?:start|prior|fix|tie|identify)\b[^\n]*(?<![\w.]){0}(?!\w)",)
"""Where a name stands that a fit finds."""

AS_SETTING = (
    r"\bif\b[^\n]*?[<>]=?\s*{0}(?![\w(])[^\n]*\bthen\b",
    r"\bif\s+{0}(?:\[[^\]]*\])?\s*[<>][^\n]*\bthen\b",
    r"^[^\S\n]*require\b[^\n]*\bfor\b[^\n]*[<>]=?\s*{0}(?![\w(])",
)
"""Where a name stands that parts a domain: a number that is known, or one that is fitted."""


def _stands(text: str, name: str, patterns: tuple[str, ...]) -> bool:
    return any(re.search(p.format(re.escape(name)), text, re.MULTILINE) for p in patterns)


USUAL_OUTPUTS = frozenset({"L", "loss", "Loss", "y", "f"})
REQUIRE = re.compile(r"^[ \t]*require[ \t]+([^#\n]*)", re.MULTILINE)


def likely_declaration(text: str, name: str) -> str:
    """The advice to declare a name, with its subscripts and its bound where these are evident.

    Args:
        text: the text of the file.
        name: the name.
    """
    plain = re.sub(r'"[^"\n]*"|#[^\n]*', "", text)
    element = re.search(rf"(?<![\w.]){re.escape(name)}(\[[A-Za-z_][\w, ]*\])", plain)
    named = f"{name}{element[1]}" if element else name
    bound = " > 0" if _stands(plain, name, AS_POSITIVE) else ""
    column = f"`variable {named}{bound}` for a column of the data"
    fitted = f"`parameter {named}{bound}` for a number that is fitted"
    if _stands(plain, name, AS_PARAMETER):
        return f"declare it above: `parameter {named}{bound}`"
    known = f"`setting {name} = NUMBER` for one that is known"
    if _stands(plain, name, AS_VARIABLE):
        return f"declare it above: {column}, {fitted}"
    if element is None and _stands(plain, name, AS_SETTING):
        known = f"`setting {name} = NUMBER` for a number that is known"
        return f"declare it above: {known}, {fitted}, {column}"
    return f"declare it above: {fitted}, {column}" + ("" if element else f", {known}")


def may_be_output(text: str, name: str, output: str) -> bool:
    """Whether an unknown name in a claim is likely meant for the output of the law: a usual name of
    one, or what a claim is about that does not name the output.

    Args:
        text: the text of the file.
        name: the name.
        output: the output as the law declares it, such as `L` or `L[i]`.
    """
    plain = output.partition("[")[0]
    if nearest(name, [plain]) is not None:
        return True
    named = rf"(?:(?<=[²³])|(?<![\w.])){re.escape(name)}(?!\w)"  # ² is a letter to `re`
    claims = [line for line in REQUIRE.findall(text) if re.search(named, line)]
    if any(re.search(rf"(?<![\w.]){re.escape(plain)}(?!\w)", line) for line in claims):
        return False
    subject = rf"(?:∂[²³]?|diff\()?{re.escape(name)}(?!\w)"
    return name in USUAL_OUTPUTS or any(re.match(subject, line) for line in claims)
