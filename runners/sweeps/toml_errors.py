"""Text that is not TOML -> the place of the mistake, and how it is written in TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lawdsl.core.diagnostics import Diagnostic, Span, Text

YAML = re.compile(r"\s*([A-Za-z_][\w-]*)\s*:")
LISTED = ("models", "also")
"""Tables of which a file may have several."""
WORDS: Mapping[str, str] = {
    **dict.fromkeys(("true", "yes", "on"), "true"),
    **dict.fromkeys(("false", "no", "off"), "false"),
    **dict.fromkeys(("none", "null", "nil", "~"), ""),
}
"""Words of other languages, in lower case -> the value in TOML; empty where there is none."""
SYNTAX = re.compile(r"(?P<why>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)")


def single_table(text: Text) -> Diagnostic | None:
    """The message about `[models]` where there are several, `[[models]]`; None if there is none."""
    headers = [
        (number, match[1], match[2].strip())
        for number, line in enumerate(text.text.split("\n"), 1)
        if (match := re.match(r"\s*(\[\[?)([^\[\]]+)\]", line))
    ]
    names = [name for _, _, name in headers]
    for number, brackets, name in headers:
        if brackets == "[" and name in LISTED and names.count(name) > 1:
            line = text.text.split("\n")[number - 1]
            start = sum(len(other) + 1 for other in text.text.split("\n")[: number - 1])
            start += line.index("[")
            span = Span(start, start + len(f"[{name}]"))
            message = f"`[{name}]` is one table, and the file has several"
            help = f"write `[[{name}]]`, for each of them"
            return Diagnostic("R0103", message, text=text, span=span, help=help)
    return None


def no_toml(text: Text, parser_message: str) -> Diagnostic:
    help = "see toml.io for the form: KEY = VALUE, [table], [[one of several]]"
    match = SYNTAX.fullmatch(parser_message)
    if match is None:
        return Diagnostic(
            "R0103", f"this is not TOML: {parser_message}", place=text.name, help=help
        )
    lines = text.text.split("\n")[: int(match["line"]) - 1]
    start = sum(len(line) + 1 for line in lines) + int(match["column"]) - 1
    message = f"this is not TOML: {match['why'][:1].lower()}{match['why'][1:]}"
    help = _toml_advice(text.line(int(match["line"])), int(match["column"]) - 1, help)
    return Diagnostic("R0103", message, text=text, span=Span(start, start + 1), help=help)


def _toml_advice(line: str, column: int, otherwise: str) -> str:
    """What to write in a line that is not TOML."""
    yaml = YAML.match(line)
    if yaml and "=" not in line[: yaml.end()]:
        return f"write `{yaml[1]} = …`: keys and values are separated by `=`"
    if line[column : column + 1] == ",":
        return "remove the comma: a key and its value end with the line"
    if line.startswith("["):
        return (
            "a table stands once in the file; of several entries, as models, each is `[[models]]`"
        )
    key, equals, value = line.partition("=")
    value = value.partition("#")[0].strip().rstrip(",;")
    word = WORDS.get(value.lower())
    if equals and word is not None:
        return (
            f"write `{key.strip()} = {word}`"
            if word
            else f"leave `{key.strip()}` out: TOML has no null"
        )
    if equals and value.startswith("'") and value.endswith("'"):
        return otherwise
    if equals and (number_ := _toml_number(value)) is not None:
        return f"write `{key.strip()} = {number_}`"
    if equals and value.startswith("(") and value.endswith(")"):
        return f"a list has square brackets: `{key.strip()} = [{value[1:-1].strip().rstrip(',')}]`"
    if equals and value[:1].isalpha():
        return f'text stands in double quotes: `{key.strip()} = "{value}"`'
    return otherwise


def _toml_number(value: str) -> str | None:
    """A number as other languages write it: `1,000`, `.5`, `1.`, `3e-4f`; None for anything else."""
    if re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+", value):
        return value.replace(",", "_")
    if re.fullmatch(r"[-+]?\.[0-9]+(?:[eE][-+]?[0-9]+)?", value):
        return value.replace(".", "0.", 1)
    if re.fullmatch(r"[-+]?[0-9]+\.(?:[eE][-+]?[0-9]+)?", value):
        return value.replace(".", ".0", 1)
    if re.fullmatch(r"[0-9.]+\s*%", value):
        return f"{float(value.rstrip('% ')) / 100:g}"
    scaled = re.fullmatch(r"([0-9.]+)\s*([kKMGB])", value)
    if scaled:
        return f"{float(scaled[1]) * {'k': 1e3, 'K': 1e3, 'M': 1e6}.get(scaled[2], 1e9):.12g}"
    product = re.fullmatch(r"([0-9.]+)\s*(\*\*|\^|\*|/)\s*([0-9.]+)", value)
    if product:
        a, b = float(product[1]), float(product[3])
        result = a * b if product[2] == "*" else a / b if product[2] == "/" and b else a**b
        return f"{result:.12g}"
    return None
