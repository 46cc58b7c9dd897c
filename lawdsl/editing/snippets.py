"""Statements and claims with places that are filled in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter

from lawdsl.editing.completion_names import in_simplex, subscripts_of
from lawdsl.editing.names import File, Files

PLACEHOLDER = re.compile(r"\$\{\d+:([^}]*)\}|\$\d+")


@dataclass(frozen=True)
class Snippet:
    """A pattern in the syntax of LSP: `${1:name}` is a place that is filled in, here with a name.

    Attributes:
        pattern: the pattern.
        meaning: what it is for.
    """

    pattern: str
    meaning: str

    @property
    def text(self) -> str:
        """The pattern filled in with what stands in its places."""
        return PLACEHOLDER.sub(lambda match: match[1] or "", self.pattern)


STATEMENTS: dict[str, tuple[Snippet, ...]] = {
    "law": (
        Snippet('variable ${1:N} > 0  unit ${2:param}  "${3:model size}"', "a column of the table"),
        Snippet('parameter ${1:E} > 0  "${2:what it is}"', "what is fitted"),
        Snippet('setting ${1:k} = ${2:6}  "${3:what it is}"', "a known constant"),
        Snippet("index ${1:i} over ${2:domain}", "an index, whose labels are in the data"),
        Snippet("minimize huber(log(${1:L}), 1e-3)", "the objective of the fit"),
        Snippet("prior log(${1:alpha}) = log(${2:0.35}) ± ${3:0.35}", "knowledge before the fit"),
    ),
    "question": (
        Snippet("uses ${1:loss} : ${2:chinchilla}", "a name for a fit of a law"),
        Snippet('given ${1:C} > 0  unit ${2:FLOP}  "${3:budget}"', "a number from the user"),
        Snippet("choose ${1:N} > 0  unit ${2:param}", "an unknown"),
        Snippet('subject to ${1:6*N*D} <= ${2:C}  "${3:compute}"', "a constraint"),
    ),
    "pipeline": (
        Snippet(
            "step ${1:name} : ${2:mixing.size}  by ${3:group}  at ${4:N} = ${5:N_target}", "a step"
        ),
        Snippet("keep ${1:rows} from ${2:name}  where ${3:T} < ${4:T_max}", "rows of steps"),
    ),
}
"""Section -> statements."""

ANOTHER = "chinchilla"
IS_ANOTHER = f"is ${{{{3:{ANOTHER}}}}}"
"""Not in a law with indices, which is compared with no other, nor in this one."""
CLAIMS = (
    ("{L} finite", "it has a finite value on the whole domain"),
    ("{L} > ${{1:0}}", "a lower bound"),
    ("∂{L}/∂${{1:{N}}} < 0", "a derivative has a sign"),
    ("∂²{L}/∂${{1:{N}}}∂${{2:{M}}} < 0", "a mixed second derivative has a sign"),
    ("{L} increasing in ${{1:{N}}}", "a trend"),
    ("{L} decreasing in ${{1:{N}}}", "a trend"),
    ("{L} convex in ${{1:{N}}}", "a curvature"),
    ("{L} concave in ${{1:{N}}}", "a curvature"),
    ("{L} -> ${{1:{E}}} as ${{2:{N}}} -> oo", "a limit"),
    ("{L}(${{1:{N}}} = ${{2:N0}}) " + IS_ANOTHER, "another law is a special case"),
    ("{L} > 0 for ${{1:{N}}} > ${{2:1}}", "a claim under a condition"),
    ("{L} < ${{1:1}} expect ${{2:refuted}}", "a claim whose verdict is not `proved`"),
)
"""Claims about the output {L}, the variables {N} and {M} and a parameter {E}, with what they say."""


def statement_snippets(section: str) -> tuple[Snippet, ...]:
    """Statements of a section.

    Args:
        section: law, question or pipeline.
    """
    return STATEMENTS[section]


def claim_snippets(file: File, files: Files) -> tuple[Snippet, ...]:
    """Claims about the output and the variables of a law, with their subscripts; those that it can have.

    Args:
        file: the file of the law.
        files: how files find each other.
    """
    declared = files.all_declared(file).values()
    written = {
        kind: [(t.name + subscripts_of(t), subscripts_of(t)) for t in declared if t.kind == kind]
        for kind in ("output", "variable", "parameter", "index")
    }
    output, subscripts = next(iter(written["output"]), ("L", ""))
    alone = [t for t in declared if t.kind == "variable" and not in_simplex(t)]
    variables = [t.name + subscripts_of(t) for t in alone]
    names = {"L": output, "E": "0"}
    for name, of in written["parameter"]:
        if of in ("", subscripts):
            names["E"] = name
            break
    names |= dict(zip(("N", "M"), variables, strict=False))
    law = next((w.text for w in file.words if w.role == "header"), "")
    return tuple(
        Snippet(pattern.format(**names), meaning)
        for pattern, meaning in CLAIMS
        if all(field in names for _, field, _, _ in Formatter().parse(pattern) if field)
        if not (pattern.endswith(IS_ANOTHER) and (written["index"] or law == ANOTHER))
    )
