"""The symbol table of a file: its names, what each may be used for, and the mistakes so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lawdsl.core.diagnostics import (
    MAX_SHOWN_DIAGNOSTICS,
    Diagnostic,
    Edit,
    LawdslError,
    Span,
    Text,
)
from lawdsl.language import keywords, size_limits
from lawdsl.language.constants import Value
from lawdsl.language.dimensions import Powers
from lawdsl.language.mistakes.likely_declarations import likely_declaration, may_be_output
from lawdsl.language.mistakes.meant_names import MeantName, dotted, meant_formula
from lawdsl.language.parser import ANYTHING, long_name, too_many
from lawdsl.language.symbols import Declarations, ElementStatement, Find, IndexSet, Symbol

TURNED = re.compile(r"\s*([<>]=?)\s*([A-Za-z_]\w*)")
"""`D_min <= D`, where D is declared."""
EXTENDS = re.compile(r"^[ \t]*extends\b", re.M)
HALF_LINE = re.compile(r"\bin\s*([\[(])\s*([^,\[\]()\n]+),\s*(\+?[A-Za-z]+|∞)\s*[\])]")
PLURAL = {"value": "laws at values"}
LAW_DECLARATIONS = "`parameter {0}` or `variable {0}`"
DIGITS = str.maketrans("OolI", "0011")
"""Letters that look like digits."""
NUMBER_WORDS = {"zero": "0", "one": "1", "two": "2", "ten": "10", "half": "0.5"}


class TooManyMistakes(Exception):
    """The limit on the number of errors is reached; the rest of the file is not checked."""


@dataclass(frozen=True)
class FormulaContext:
    """Where a formula stands, and the kinds of names that it may use there."""

    text: str
    sees: tuple[str, ...]
    endless: bool = False  # whether `oo` may stand there
    free: bool = False  # whether indices other than the declared name's subscripts may be free
    claims: bool = False  # whether a subscript may stand for any label
    pieces: bool = False  # whether it may be piecewise


_LAW = ("setting", "parameter", "variable", "let", "law")
SETTING = FormulaContext("a setting", ())
VARIABLE = FormulaContext("the domain of a variable", ("setting",))
GIVEN = FormulaContext("the domain of a given", ("setting",))
PREDICTED = FormulaContext("the point of a step", ("given", "setting"))
CHOICE = FormulaContext("a condition of a step", ("given", "setting"))
PARAMETER = FormulaContext("the domain of a parameter", ("setting", "parameter", "let"))
CONDITION = FormulaContext("a condition", ("setting", "parameter", "let"), free=True, claims=True)
LET = FormulaContext("a let", _LAW, pieces=True)
OUTPUT = FormulaContext("the law", _LAW, free=True, pieces=True)
CLAIM = FormulaContext("a claim", (*_LAW, "output"), free=True, claims=True, pieces=True)
TARGET = FormulaContext(
    "a limit", (*_LAW, "output"), endless=True, free=True, claims=True, pieces=True
)
APPROACH = FormulaContext("a value that is approached", ("setting",), endless=True)
IDENTITY = FormulaContext("an identity", ("setting", "parameter", "let"), free=True)
TIE = FormulaContext("a tie", ("setting", "parameter", "let"))
POINT = FormulaContext("a start", ("setting",))
GRID = FormulaContext("a start", ("setting", "parameter", "let"))
_KINDS_IN_QUESTIONS = ("given", "setting", "unknown", "let", "value")
QUESTION = FormulaContext("a question", _KINDS_IN_QUESTIONS, pieces=True)
ARGUMENT = FormulaContext(
    "the place at which a law is taken", _KINDS_IN_QUESTIONS[:-1], free=True, pieces=True
)
UNKNOWN = FormulaContext("the domain of an unknown", ("given", "setting", "let"))
QUESTION_CONTEXTS = (QUESTION, ARGUMENT)
ANY = FormulaContext("this", (*_LAW, "output"))
NUMERIC_CONTEXTS = (SETTING, VARIABLE, GIVEN, PARAMETER, CONDITION, POINT, GRID, APPROACH, UNKNOWN)
"""Where numbers stand, as a rule."""
CONSTANT_CONTEXTS = (
    PARAMETER,
    GRID,
    TIE,
    IDENTITY,
)  # what stands there does not change with a variable


@dataclass
class Scope:
    """The state of checking one file.

    Attributes:
        text: the file.
        find: the function that loads the laws that it names.
        unread_names: words of the lines that could not be parsed; unknown names among these are not
            reported, as those lines may declare them.
        declaration_spans: name -> its place, for each name that the file declares anywhere.
        names_used: name -> the names that its formula or domain uses.
    """

    text: Text
    find: Find
    unread_names: frozenset[str]
    declaration_spans: Mapping[str, Span] = field(default_factory=dict)
    names_used: Mapping[str, Sequence[str]] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    errors: int = 0  # how many of them are errors
    symbols: dict[str, Symbol] = field(default_factory=dict)
    declared_here: dict[str, Span] = field(default_factory=dict)  # those declared in this file
    used: set[str] = field(default_factory=set)
    laws: dict[str, Declarations] = field(default_factory=dict)
    units: dict[str, Powers] = field(default_factory=dict)
    numbers: dict[str, Value] = field(default_factory=dict)  # lets that are plain numbers
    varying: set[str] = field(default_factory=set)  # lets that change with a variable
    piecewise: set[str] = field(default_factory=set)  # lets made of piecewise formulas
    reported_cycles: set[str] = field(
        default_factory=set
    )  # names made of themselves, already reported
    indices: dict[str, IndexSet] = field(default_factory=dict)
    elements: list[ElementStatement] = field(default_factory=list)  # about some elements
    options: bool = False  # whether the text is that of options, which declare nothing
    unknown_told: set[str] = field(default_factory=set)  # unknown names that have their message
    equation_unread: bool = False  # whether the equation is in a line that could not be read
    unknown: str = LAW_DECLARATIONS  # what an unknown name may be declared as

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        help: str,
        notes: Iterable[str] = (),
        severity: str = "error",
        edits: Iterable[Edit] = (),
        suggested: Iterable[Edit] = (),
    ) -> None:
        """Report a mistake or a warning.

        Args:
            code: the code of the message.
            message: the mistake in one sentence.
            span: its place in the file.
            help: what to do about it.
            notes: further lines.
            severity: error or warning.
            edits: changes of the file that do what the help says.
            suggested: edits, each of which may be meant.
        """
        self.add(
            Diagnostic(
                code,
                message,
                severity,
                text=self.text,
                span=span,
                notes=tuple(notes),
                help=help,
                edits=tuple(edits),
                suggested=tuple(suggested),
            )
        )

    def unknown_word(
        self, code: str, message: str, span: Span, word: str, known: Iterable[str], help: str
    ) -> None:
        """Report a word that is not allowed at its place, and suggest the nearest allowed one.

        Args:
            code: the code of the message.
            message: the mistake in one sentence.
            span: the place of the word.
            word: the word.
            known: the allowed words.
            help: the advice if the word resembles none of them.
        """
        alike = keywords.nearest(word, known)
        help = f"did you mean `{alike}`?" if alike else help
        self.report(code, message, span, help, suggested=self.instead(span, word, alike))

    def instead(self, span: Span, word: str, *alike: str | None) -> tuple[Edit, ...]:
        """The edits that replace a word in a part of the text by other words.

        Args:
            span: the part of the text.
            word: the word.
            alike: the other words.
        """
        place = self.within(span, word)
        written = "".join(self.text.text[place.start : place.end].split())
        if keywords.ascii_name(written) != word:
            return ()
        return tuple(Edit(place, other) for other in alike if other)

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic.

        Raises:
            TooManyMistakes: the limit on errors is exceeded.
        """
        self.diagnostics.append(diagnostic)
        self.errors += diagnostic.severity == "error"
        # a hostile file could otherwise make messages without end
        if self.errors > size_limits.MAX_ERRORS:
            self.diagnostics.append(too_many(self.text))
            raise TooManyMistakes

    def line(self, span: Span) -> int:
        """The number of the line on which a span begins, counted from 1."""
        return self.text.position(span.start)[0]

    def keyword(self, span: Span) -> Span:
        """The word that begins the line in which a span begins: the keyword of its statement."""
        line = self.text.text.rfind("\n", 0, span.start) + 1
        word = re.compile(r"[ \t]*(\w+)").match(self.text.text, line, max(span.end, span.start))
        return Span(*word.span(1)) if word else span

    def within(self, span: Span, name: str, last: bool = False) -> Span:
        """The span of a name inside a part of the text; all of it if the name is written in Greek.

        Args:
            span: the part of the text.
            name: the name.
            last: take the last occurrence instead of the first.
        """
        word = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])")
        matches = list(word.finditer(self.text.text, span.start, span.end))
        return Span(*matches[-1 if last else 0].span()) if matches else span

    def law(self, name: str, span: Span) -> Declarations | None:
        """The law of that name; None, after a message, where it cannot be used.

        Args:
            name: its dotted name.
            span: the place at which it is named.
        """
        if len(name) > size_limits.MAX_NAME_LENGTH:
            self.add(long_name(span, self.text))
            return None
        try:
            law = self.find(name)
        except LawdslError as error:
            # one message here: the other file is not the one that the user is checking
            first = error.diagnostics[0]
            message, help = first.message, first.help or "correct that file"
            suggested: tuple[Edit, ...] = ()
            if first.text is None:  # about the name itself
                suggested = self.instead(span, name, *(edit.text for edit in first.suggested))
            if first.text is not None and first.span is not None and first.code != "L0311":
                line, _ = first.text.position(first.span.start)  # and nothing that stands there
                message = f"the law `{name}` is in error (line {line})"
                help = "check that file by itself first"
            self.report(first.code, message, span, help, suggested=suggested)
            return None
        self.laws |= {**law.laws, law.name: law}
        return law

    def declare(self, symbol: Symbol) -> bool:
        """Add a name of this file; False, after a message, where it cannot be declared."""
        name, span = symbol.name, symbol.span
        if name in keywords.RESERVED:
            what = "a function" if name in keywords.FUNCTIONS else "a word with a fixed meaning"
            message = f"`{name}` is {what} and cannot be declared"
            self.report("L0303", message, span, "choose another name")
        elif name in self.symbols:
            earlier = self.declared_here.get(name)
            where = f"on line {self.line(earlier)}" if earlier else "in the extended law"
            note = (f"`{name}` is {keywords.a(self.symbols[name].kind)}, declared {where}",)
            help = "choose another name"
            bound = TURNED.match(self.text.text, span.end)
            if bound and bound[2] not in self.symbols and bound[2] not in self.declaration_spans:
                turned = {"<": ">", ">": "<"}[bound[1][0]] + bound[1][1:]
                help = (
                    f"a domain begins with the name that is declared: `{bound[2]} {turned} {name}`"
                )
            self.report("L0302", f"`{name}` is declared twice", span, help, note)
        elif any(index.over == name for index in self.indices.values()):
            message = f"`{name}` is the name of a set of labels"
            self.report("L0302", message, span, "choose another name")
        else:
            self.declared_here[name] = span
            self.symbols[name] = symbol
            return True
        return False

    def use(
        self, name: str, span: Span, context: FormulaContext, fresh: frozenset[str] = frozenset()
    ) -> Symbol | None:
        """The symbol that a name in a formula refers to; None, after a message, where there is no
        such symbol.

        Args:
            name: the name.
            span: its place in the text.
            context: where the formula stands.
            fresh: names that the formula itself introduces.
        """
        if name == "oo" and not context.endless:
            help = "leave that side of the domain open, as in `x > 0`"
            if context in QUESTION_CONTEXTS:
                help = "write a large number"
            elif context not in (VARIABLE, PARAMETER, CONDITION, GIVEN, UNKNOWN):
                help = "write `L finite`, or `L -> E as N -> oo`"
            edits = self._open_side(span)
            self.report("L0308", "`oo` stands only behind `->`", span, help, edits=edits)
        if name in fresh or name in keywords.CONSTANTS:
            return None
        symbol = self.symbols.get(name)
        if symbol is None:
            self._unknown(name, span, context)
            return None
        self.used.add(name)
        if symbol.kind == "index":
            help = f"it stands in brackets behind what has subscripts, as in `t[{name}]`"
            self.report("L0308", f"`{name}` is an index, which has no value", span, help)
        elif symbol.kind == "use":
            message = f"`{name}` is a law: give it the values of its variables"
            self.report("L0308", message, span, f"write `{name}(…)`")
        elif symbol.kind not in context.sees:
            *most, last = ("numbers", *(PLURAL.get(kind, f"{kind}s") for kind in context.sees))
            message = f"{context.text} cannot use the {symbol.kind} `{name}`"
            self.report("L0308", message, span, f"it may use {', '.join(most)} and {last}")
        elif name in self.varying and context in CONSTANT_CONTEXTS:
            message = f"{context.text} cannot change with a variable, and `{name}` does"
            self.report("L0308", message, span, "use settings and parameters")
        elif name in self.piecewise and not context.pieces:
            message = f"{context.text} cannot be piecewise, and `{name}` is"
            self.report("L0308", message, span, "use it in the law or in a let")
        elif name in self.varying and context is UNKNOWN:
            message = f"{context.text} cannot change with an unknown, and `{name}` does"
            self.report("L0308", message, span, "write it as a constraint: `subject to`")
        return symbol

    def _unknown(self, name: str, span: Span, context: FormulaContext) -> None:
        if name in self.declaration_spans:
            self.declared_later(name, span)
        elif name in keywords.FUNCTIONS or keywords.RENAMED.get(name) in keywords.FUNCTIONS:
            function = keywords.RENAMED.get(name, name)
            power = meant_formula(self.text.text, span, name, {}) or MeantName(
                f"write `{function}(…)`"
            )
            self.report("L0301", f"`{name}` is a function", span, power.help, edits=power.edits)
        elif name in keywords.RESERVED:
            self.report("L0301", f"`{name}` has a meaning of its own", span, "choose another name")
        elif not self.excused(name) and name not in self.unknown_told:
            self.unknown_told.add(name)
            written = keywords.RENAMED.get(name)
            if name in keywords.NO_NUMBERS:
                self.report(
                    "L0301", f"`{name}` is not a number", span, "write a number, or leave it out"
                )
                return
            digits = NUMBER_WORDS.get(name.lower(), name.translate(DIGITS))
            if digits.replace(".", "").isdigit() and (name in "Oo" or context in NUMERIC_CONTEXTS):
                help = f"did you mean the number `{digits}`?"
                suggested = self.instead(span, name, digits)
                self.report("L0301", f"unknown name `{name}`", span, help, suggested=suggested)
                return
            if written == "oo" and not context.endless:
                help = "leave that side open: write the other bound alone, as `x > 0`"
                edits = self._open_side(span)
                self.report("L0301", f"unknown name `{name}`", span, help, edits=edits)
                return
            if self.equation_unread and name not in keywords.INSTEAD:
                if keywords.nearest(name, self.symbols) is None:
                    return  # it may be the name of the output
            if "." in name and self.unknown == LAW_DECLARATIONS and not self.options:
                if all(symbol.kind != "law" for symbol in self.symbols.values()):
                    help = f"write `extends {name}` below the first line: a law uses the one that it extends"
                    self.report("L0301", f"unknown name `{name}`", span, help)
                    self.unread_names |= {ANYTHING}  # what that law declares
                    return
            place = self.within(span, name)
            edits = (Edit(place, written),) if written else ()
            help, *alike = self._instead(name, context)
            suggested = self.instead(span, name, *alike)
            meant = meant_formula(self.text.text, place, name, self.symbols)
            if meant is not None and not written:
                help, edits, suggested = meant.help, meant.edits, meant.suggested
            if self.text.text[: span.start + 1].rstrip(name[0]).endswith("/∂"):
                variables = [s.text for s in self.symbols.values() if s.kind == "variable"]
                if keywords.nearest(name, self.symbols) is None and variables:
                    help = f"the variables are {', '.join(variables)}"
            message = f"unknown name `{name}`"
            self.report("L0301", message, span, help, edits=edits, suggested=suggested)

    def _open_side(self, span: Span) -> tuple[Edit, ...]:
        """The edit that writes `in (0, oo)` as `> 0`; none around another use of infinity."""
        for interval in HALF_LINE.finditer(self.text.text):
            if interval.start(3) == span.start:
                relation = ">=" if interval[1] == "[" else ">"
                return (Edit(Span(*interval.span()), f"{relation} {interval[2].strip()}"),)
        return ()

    def excused(self, name: str) -> bool:
        """Whether the name may have been declared in a line that could not be read."""
        return name in self.unread_names or ANYTHING in self.unread_names

    def _instead(self, name: str, context: FormulaContext) -> tuple[str, ...]:
        """Advice about an unknown name, and the names that may be meant.

        Args:
            name: the name.
            context: where it stands.
        """
        if name in keywords.INSTEAD:
            return (f"write `{keywords.INSTEAD[name]}`",)
        family = [s for s in self.symbols if s.startswith(f"{name}_")]
        if (
            len(family) == 1
            and f"{name}[" in self.text.text
            and not self.symbols[family[0]].indices
        ):
            index = self.text.text.partition(f"{name}[")[2].partition("]")[0]
            line = self.line(self.declared_here[family[0]])
            return (f"write `{name}[{index}]` for `{family[0]}` on line {line}",)
        head = self.symbols.get(name.partition("_")[0])
        if head is not None and head.indices:
            return (f"write `{head.text}`",)
        numerator, _, denominator = name.replace("_", "").removeprefix("d").partition("d")
        if name.startswith("d") and numerator in self.symbols and denominator in self.symbols:
            written = f"`∂{numerator}/∂{denominator}` or `diff({numerator}, {denominator})`"
            return (f"write a derivative as {written}",)
        law = dotted(name, self.symbols)
        if law is not None:
            extends = EXTENDS.search(self.text.text)
            declared = f", line {self.line(Span(*extends.span()))}" if extends else ""
            return f"did you mean `{law}`? (the extended law{declared})", law
        alike = keywords.nearest(name, self.symbols if self.errors < MAX_SHOWN_DIAGNOSTICS else ())
        if alike is None:
            return (self._declaration(name, context),)
        where = (
            f", declared on line {self.line(self.declared_here[alike])}"
            if alike in self.declared_here
            else ""
        )
        help = f"did you mean `{alike}`? ({keywords.a(self.symbols[alike].kind)}{where})"
        return help, alike

    def _declaration(self, name: str, context: FormulaContext) -> str:
        """What to write above a line so that it may use a name."""
        output = next((s.text for s in self.symbols.values() if s.kind == "output"), None)
        claimed = context in (CLAIM, TARGET) and output is not None
        if claimed and may_be_output(self.text.text, name, str(output)):
            return f"the law is `{output} = …`: write `{output}`, or give the law this name"
        if self.options:
            known = [s.name for s in self.symbols.values() if s.kind == "parameter"]
            return f"the parameters are {', '.join(known) or 'none'}"
        if context in (SETTING, VARIABLE, GIVEN, POINT, APPROACH):
            return f"declare it above: `setting {name} = …`"
        if context in (PARAMETER, TIE, GRID, IDENTITY):
            return f"declare it above: `parameter {name}` or `setting {name} = …`"
        if self.unknown == LAW_DECLARATIONS and self.errors < MAX_SHOWN_DIAGNOSTICS:
            return likely_declaration(self.text.text, name)
        return f"declare it: {self.unknown.format(name)}"

    def declared_later(self, name: str, span: Span) -> None:
        """The message for a name that the file declares further down.

        Args:
            name: the name.
            span: its place in the text.
        """
        circle = self._circle(name)
        if circle and self.reported_cycles.isdisjoint(circle):
            self.reported_cycles.update(circle)
            message = f"`{name}` is made of itself: {' -> '.join(circle)}"
            laws = [s.name for s in self.symbols.values() if s.kind == "law"]
            help = "define one of them without the others"
            if len(circle) == 2 and laws:
                help = f"write `{laws[-1]}` for the law that this one extends"
            self.report("L0307", message, span, help)
        elif (
            not circle and self.declaration_spans[name].start > span.start
        ):  # else that line has its message
            help = f"move its line ({self.line(self.declaration_spans[name])}) above this one"
            self.report("L0306", f"`{name}` is used before it is declared", span, help)

    def _circle(self, name: str) -> list[str] | None:
        """The path by which a definition comes back to itself."""
        came_from: dict[str, str] = {}
        waiting = [name]
        while waiting:
            reached = waiting.pop()
            for part in self.names_used.get(reached, ()):
                if part == name:
                    path = [reached]
                    while path[-1] != name:
                        path.append(came_from[path[-1]])
                    return [*reversed(path), name]
                if part not in came_from:
                    came_from[part] = reached
                    waiting.append(part)
        return None
