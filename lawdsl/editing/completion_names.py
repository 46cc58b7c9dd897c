"""The names that may be written at a place: declared ones, laws, columns, labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lawdsl.core.diagnostics import Span
from lawdsl.editing.completion_place import Completion, Place
from lawdsl.editing.law_names import law_names
from lawdsl.editing.names import File, Files, Target
from lawdsl.editing.words import CALLED as CALLED_WORDS, Line
from lawdsl.language.ast_builder import span_of
from lawdsl.language.keywords import ascii_name
from lawdsl.language.pipeline_records import MEASUREMENTS

ASSIGNED = re.compile(r",\s*(\w+)\s*(?=[=,]|$)")
CALLED = re.compile(r"(?:\[[^\]\n]*\])?\(")
SUBSCRIPTS = re.compile(r"[ \t]*\[([^\]\n]*)\]")
RUN_AXIS = "step"  # the usual column along which runs proceed
IN_LAWS = ("setting", "parameter", "variable", "let")
SEEN: dict[str, tuple[str, ...]] = {
    "variable": ("setting",),
    "setting": (),
    "parameter": ("setting", "parameter", "let"),
    "let": (*IN_LAWS, "given", "unknown", "use"),
    "output": IN_LAWS,
    "fix": ("parameter",),
    "tie": ("setting", "parameter", "let"),
    "measure": ("variable", "output"),
    "identify": ("setting", "parameter", "let"),
    "require": (*IN_LAWS, "output"),
    "start": ("setting", "parameter"),
    "prior": ("parameter",),
    "given": ("setting",),
    "choose": ("given", "setting", "let"),
    "minimize": (*IN_LAWS, "output", "given", "unknown", "use"),
    "maximize": ("given", "setting", "unknown", "let", "use"),
    "subject": ("given", "setting", "unknown", "let", "use"),
    "step": ("given", "setting"),
    "keep": ("given", "setting"),
}
"""Statement -> the kinds of names that its formulas may use."""
OF_PARAMETERS = ("fix", "tie", "prior", "start")
"""Statements about parameters; those that are not in `fix` or `tie` are fitted."""
VARYING = ("variable", "parameter", "let")
"""What a derivative or a limit is taken with respect to."""
ONE_NAME = ("let", "output", "setting", "step", "keep")
"""Statements that define one name, which their formulas cannot use."""
CALLABLE = {"law": ("output",), "question": ("use",), "pipeline": ()}
"""Section -> the kinds of names before the bracket of a call."""
DETAILS = {"use": "law", "unknown": "unknown"}


def declared_names(file: File, place: Place, files: Files) -> Iterator[Completion]:
    """Names that are declared in this file, in laws that it builds on, and names of laws.

    Args:
        file: the document as a file.
        place: the place.
        files: how files find each other.
    """
    word, span = place.word, place.span
    if not place.before:
        yield from _outputs(file, place, files)
        return
    if word.declares and word.role == "name":
        for name in _undeclared(file, place, files):
            yield Completion(name, word.declares, span, "used but not declared", 2)
    if word.role == "law":
        yield from _laws(file, place, files)
    if word.role == "header":
        name = ".".join(file.path.with_suffix("").parts[-2:])
        yield Completion(file.path.stem, "law", span, "the name of the file", 1)
        yield Completion(name, "law", span, "the name of the file in its folder", 2)
    open_place = "NAME" in place.accepts or not place.accepts
    if word.role in ("column", "argument") or (word.alone and word.of in file.uses):
        if open_place:
            yield from _of_law(file, place, files)
    if word.role == "set":
        yield from _sets(file, span, files)
    if word.role == "subscript":
        yield from _subscripts(file, place, files)
    if word.role in ("name", "argument", "function", "constant") and not word.declares:
        matched = word.alone and word.of in file.uses  # it stands for a variable of its name
        if open_place and not matched:
            yield from _names(file, place, files)


def _outputs(file: File, place: Place, files: Files) -> Iterator[Completion]:
    """The name at the beginning of an equation, if the law has none yet."""
    if file.section != "law" or place.following[:1] not in ("", "=", "["):
        return
    known = _known(file, place, files)
    outputs = [t for t in known.values() if t.kind == "output" and t.file.path == file.path]
    if outputs:
        return
    for target in known.values():
        if target.kind == "output":  # that of the law that is extended
            yield Completion(target.name, "output", place.span, "the output", 2)
    if not any(t.kind == "output" for t in known.values()):
        for name in _undeclared(file, place, files):
            yield Completion(name, "output", place.span, "used but not declared", 2)


def _known(file: File, place: Place, files: Files) -> dict[str, Target]:
    """What the names of a file stand for, without the word that is being written."""
    return {
        name: target
        for name, target in files.all_declared(file).items()
        if target.file.path != file.path or target.span.start != place.span.start
    }


def _undeclared(file: File, place: Place, files: Files) -> list[str]:
    """Names that formulas of a file mention, and nothing declares."""
    known = files.all_declared(file)
    lines = file.words.lines
    unbound_lines = {
        w.line for w in file.words if w.text == "is" and lines[w.line].keyword == "require"
    }
    words = (
        w for w in file.words if w.role == "name" and not w.declares and w.line not in unbound_lines
    )
    mentioned = (w.text for w in words if w.span.start != place.span.start)
    return [n for n in dict.fromkeys(mentioned) if n not in known and n != MEASUREMENTS]


def _laws(file: File, place: Place, files: Files) -> Iterator[Completion]:
    sections: tuple[str, ...] = ("law", "question") if place.line == "step" else ("law",)
    if place.line not in ("extends", "step", "uses", "require"):
        sections = ()  # in a formula only the law that is extended has a value
        if file.extended:
            yield Completion(file.extended, "law", place.span, "the extended law", 3)
    this_law = next((w.text for w in file.words if w.role == "header"), "")
    for name, title in law_names(file, sections, files) if sections else ():
        if name != this_law:  # a law is not built on itself
            yield Completion(name, "law", place.span, title, 4)


def _names(file: File, place: Place, files: Files) -> Iterator[Completion]:
    """Names of the kinds that the statement may use, declared above the line if in this file."""
    kinds = SEEN.get(place.line, ())
    before = [t.type for t in place.before]
    aggregated = _behind_for_of_sum(before)
    if "FROM" in before and not {"AT", "WHERE", "SINCE", "BY"} & set(before):
        kinds = ("step",)
        yield Completion(MEASUREMENTS, "column", place.span, "the table of measurements", 3)
    if aggregated:
        kinds = ("index",)
    elif place.line == "require":
        kinds = _kinds_in_claim(place, kinds)
    elif place.line in OF_PARAMETERS:
        kinds = _kinds_of_parameters(place, kinds)
    elif place.line == "minimize" and file.section == "law":
        kinds = _kinds_in_objective(place)
    if called_in_claim(place) and any(
        t.kind == "index" for t in _known(file, place, files).values()
    ):
        return  # only a law without indices is taken at values
    brackets = SUBSCRIPTS.match(place.following)
    if CALLED.match(place.following):  # only what is called
        kinds, brackets = tuple(kind for kind in kinds if kind in CALLABLE[file.section]), None
    bounded = place.word.role == "name" and place.line in ("variable", "parameter", "choose")
    late = place.line in ("require", "minimize", "maximize", "subject", "measure", "start")
    late |= place.line in ("fix", "tie", "prior", "identify")
    never = _circular(file, place) if place.line in ("let", "tie") else frozenset()
    if place.line in OF_PARAMETERS and not {"EQUAL", "IN"} & set(before):
        never |= _determined(file, place)
    if place.line == "tie":
        never |= _changing(file, files)
    alone = place.line == "require" and before[-1] in ("DEL", "AS")
    line_start = span_of(place.before[0]).start
    for target in _known(file, place, files).values():
        here = target.file.path == file.path
        own_line = here and line_start <= target.span.start < place.span.start
        if own_line and (place.line in ONE_NAME or (bounded and _is_last(target, file, place))):
            continue  # nothing is made of itself
        if brackets and len(subscripts_of(target).split(",")) != len(brackets[1].split(",")):
            continue
        if brackets and not subscripts_of(target):
            continue
        above = not here or target.span.end <= place.span.start
        if alone and target.kind == "variable" and in_simplex(target):
            continue
        if target.kind in kinds and target.name not in never:
            if above or late or target.kind in ("use", "output"):
                yield _name(target, place, 1 if here else 2)
    formula = place.line in ("output", "let", "require") and before[-1] != "DEL"
    if file.extended and formula and not aggregated:
        if not place.following.startswith(("(", "[")) and "law" not in kinds:
            yield Completion(file.extended, "law", place.span, "the extended law", 3)


def _is_last(target: Target, file: File, place: Place) -> bool:
    """Whether a name is the last that its line declares before the cursor, whose bound this is."""
    words = (w for w in file.words.lines[file.declared[target.name].line].words if w.declares)
    return target.span == max(
        (w.span for w in words if w.span.start < place.span.start), key=lambda s: s.start
    )


def _kinds_in_claim(place: Place, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of names that may stand at a place of a claim."""
    types = [t.type for t in place.before]
    if place.following.startswith("="):  # the name in `L(N = 1)`
        return VARYING
    if called_in_claim(place):
        return VARYING
    if types[-1] == "DEL":
        derived = "SLASH" in types[-4:] and "DEL" in types[:-1]
        return VARYING if derived else ("output", "let")
    if "AS" in types and place.before[-1].value == "->":
        return ("setting",)
    if types[-1] in ("IN", "AGAINST") or (types[-1] in ("AS", "COMMA") and "AS" in types):
        return VARYING
    if "FOR" in types and not _behind_for_of_sum(types):
        begins = types[-1] in ("FOR", "COMMA")
        return VARYING if begins else ("setting", "parameter", "let")
    return kinds


def called_in_claim(place: Place) -> bool:
    """Whether the cursor is where `L(N = 1)` has the first name that it gives a value.

    Args:
        place: the place.
    """
    if place.line != "require" or [t.type for t in place.before[-2:]] != ["NAME", "LPAR"]:
        return False
    return str(place.before[-2]) not in CALLED_WORDS


def _kinds_of_parameters(place: Place, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of names in a statement about parameters: these in front of its sign or `in`."""
    types = {t.type for t in place.before}
    if place.line == "start" and place.before[-1].type == "MINUS":  # of a bound, in `log(C - C0)`
        return ("setting", "parameter", "let")
    if not types & {"EQUAL", "IN"}:
        return ("parameter",)
    numbers = {"fix": (), "prior": (), "start": ("setting",)}
    return numbers.get(place.line, kinds)


def _kinds_in_objective(place: Place) -> tuple[str, ...]:
    """The kinds of names in the objective of a fit: a loss of the output, less a constant."""
    types = [t.type for t in place.before]
    if types[-1] == "LPAR":
        return ("output",)
    if types[-1] == "MINUS" and "straightest" in map(str, place.before):
        return ("parameter",)
    if gives_parameter(place):
        return ("parameter",)
    return ()


def gives_parameter(place: Place) -> bool:
    """Whether the cursor is where a loss has `c = straightest(…)`: behind the number that some losses need.

    Args:
        place: the place, in an objective.
    """
    words = [str(token) for token in place.before]
    if words[-1] != "," or words.count("(") != 1:
        return False
    return words.count(",") > (words[1] not in ("squared", "absolute"))


def _circular(file: File, place: Place) -> frozenset[str]:
    """The lets and tied parameters that those of this line are parts of: they cannot be made of them."""
    parts = [(_defined(line), _mentioned(line)) for line in file.words.lines]
    names = set(_defined(_line_at(file, place)))
    if place.line == "let":
        names.add("")
    while more := {n for defined, words in parts if words & names for n in defined} - names:
        names |= more
    return frozenset(names)


def _changing(file: File, files: Files) -> frozenset[str]:
    """The lets that change with a variable."""
    names = {n for n, target in files.all_declared(file).items() if target.kind == "variable"}
    lines = [line for each in files.chain(file) for line in each.words.lines]
    parts = [(_defined(line), _mentioned(line)) for line in lines if line.keyword == "let"]
    while more := {n for defined, words in parts if words & names for n in defined} - names:
        names |= more
    return frozenset(names)


def _determined(file: File, place: Place) -> frozenset[str]:
    """The parameters that other lines fix or tie, or have a prior for where this is one."""
    here = _line_at(file, place)
    # a parameter may have a prior and a start: `log(C - C0)` is the start of C
    once = ("fix", "tie", "prior") if place.line == "prior" else ("fix", "tie")
    lines = [line for line in file.words.lines if line.keyword in once]
    return frozenset(name for line in lines if line is not here for name in _defined(line))


def _defined(line: Line | None) -> tuple[str, ...]:
    """The names that a line gives a value; those in brackets have subscripts, which are not names."""
    if line is None:
        return ()
    if line.keyword not in OF_PARAMETERS:
        return tuple(w.text for w in line.words if w.declares and line.keyword == "let")
    ends = (n for n, w in enumerate(line.words) if w.text in ("=", "in"))
    return tuple(w.text for w in line.words[: next(ends, len(line.words))] if w.role == "name")


def _mentioned(line: Line) -> frozenset[str]:
    """The words of a definition of lets or tied parameters; none of other lines."""
    if line.keyword not in ("let", "tie"):
        return frozenset()
    return frozenset(w.text for w in line.words if w.role == "name")


def _line_at(file: File, place: Place) -> Line | None:
    start = span_of(place.before[0]).start
    return next((line for line in file.words.lines if line.span.start == start), None)


def _behind_for_of_sum(types: Sequence[str]) -> bool:
    """Whether the cursor is where `sum(… for …)` has its indices."""
    brackets: list[bool] = []  # of each open one, whether it has a `for`
    for type in types:
        if type == "LPAR":
            brackets.append(False)
        elif type == "RPAR" and brackets:
            brackets.pop()
        elif type == "FOR" and brackets:
            brackets[-1] = True
    return bool(brackets) and brackets[-1]


def _name(target: Target, place: Place, rank: int) -> Completion:
    alone = not place.following.startswith(("(", "["))
    whole = place.line == "minimize" and target.kind == "output"  # a loss is of all its elements
    text = target.name + (subscripts_of(target) if alone and not whole else "")
    snippet = f"{text}($1)$0" if alone and target.kind == "use" else ""
    kind = DETAILS.get(target.kind, target.kind)
    return Completion(text, target.kind, place.span, kind, rank, snippet)


def subscripts_of(target: Target) -> str:
    """The subscripts with which a name is declared, `[i, j]`; empty for none.

    Args:
        target: the name.
    """
    subscripts = SUBSCRIPTS.match(target.file.text, target.span.end)
    return f"[{', '.join(part.strip() for part in subscripts[1].split(','))}]" if subscripts else ""


def in_simplex(target: Target) -> bool:
    """Whether a variable is on a simplex, where it cannot change alone.

    Args:
        target: the name.
    """
    line = target.file.words.lines[target.file.declared[target.name].line]
    return any(word.text == "simplex" for word in line.words)


def _of_law(file: File, place: Place, files: Files) -> Iterator[Completion]:
    """Variables of a law where it is taken at values, and the columns of a step."""
    word = place.word
    if word.role != "column":
        laws = [files.called(word.of, file)]
    else:
        laws = [files.named(step, file) for step in dict.fromkeys((word.of, *file.steps))]
    if place.line == "measure":
        yield Completion(RUN_AXIS, "column", place.span, "the column along which runs are read", 2)
    kinds: tuple[str, ...] = ("variable", "given", "setting", "output", "unknown", "parameter")
    if word.role == "argument" or word.alone:
        kinds = ("variable", "given", "setting")
    declared = _known(file, place, files)
    assigned = _assigned(place) if word.role != "column" else set()
    for law in laws:
        if law is None:
            continue
        for target in files.all_declared(law).values():
            settable = law.section != "law" or target.kind != "setting" or word.role == "column"
            if target.kind in kinds and target.name not in assigned and settable:
                named = word.alone and not place.following.startswith("=")
                text = f"{target.name} = " if named and target.name not in declared else target.name
                yield Completion(text, target.kind, place.span, target.kind, 1)
        if word.role == "column":
            yield from _sets(law, place.span, files)
    for other in file.words:
        if word.role == "column" and other.role == "column":
            if other.span.start != place.span.start:
                yield Completion(other.text, "column", place.span, "column", 2)


def _assigned(place: Place) -> set[str]:
    """The names that have values already in the call in which the cursor is."""
    names: set[str] = set()
    depth = 0
    tokens = place.before
    for before, token in zip(reversed(tokens[:-1]), reversed(tokens), strict=False):
        depth += (token.type in ("RPAR", "RSQB")) - (token.type in ("LPAR", "LSQB"))
        if depth < 0:
            break
        if not depth and token.type == "NAME" and before.type in ("LPAR", "COMMA"):
            names.add(ascii_name(str(token)))
    return names | {
        ascii_name(name) for name in ASSIGNED.findall(place.following.partition(")")[0])
    }


def _sets(file: File, span: Span, files: Files) -> Iterator[Completion]:
    for each in files.chain(file):
        for word in each.words:
            if word.role == "set" and not (each is file and word.span.start == span.start):
                yield Completion(word.text, "column", span, "a set of labels", 2)


def _subscripts(file: File, place: Place, files: Files) -> Iterator[Completion]:
    declares = place.line in ("variable", "parameter", "given", "choose")
    bracket = next((n for n, t in enumerate(reversed(place.before)) if t.type == "LSQB"), 0)
    taken = {str(t) for t in place.before[len(place.before) - bracket :]} if declares else set()
    if declares:
        taken |= set(re.findall(r"\w+", place.following.partition("]")[0]))
    for target in files.all_declared(file).values():
        if target.kind == "index" and target.name not in taken:
            yield Completion(target.name, "index", place.span, "index", 1)
    for each in files.chain(file):
        for word in each.words:
            if word.role == "label" and not word.text.startswith('"'):
                yield Completion(word.text, "label", place.span, "label", 2)
