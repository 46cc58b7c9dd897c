"""A place in a document -> what the editor shows about the word there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from lawdsl.core.diagnostics import Diagnostic, Span, printable
from lawdsl.editing.claims import RequireLine, require_lines
from lawdsl.editing.document import Document
from lawdsl.editing.fitted_values import fitted_value
from lawdsl.editing.meanings import (
    CONSTANTS,
    OPTIONS,
    VERDICTS,
    function_meaning,
    keyword_meaning,
    unit_meaning,
)
from lawdsl.editing.names import File, Files, Target
from lawdsl.editing.navigation import own_equation
from lawdsl.editing.verdict_hints import DECIDING, STALE, verdict_details
from lawdsl.editing.words import Word
from lawdsl.language import tree
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.latex import formula_latex, latex_names
from lawdsl.language.library import ships
from lawdsl.language.pipeline_records import MEASUREMENTS
from lawdsl.language.printer import print_formula, print_items, print_statement, print_unit
from lawdsl.law.published_values import PUBLISHED
from lawdsl.messages.table import MESSAGES
from lawdsl.proof.verdict import Verdict

MAX_FORMULA = 1500  # characters of a formula that is shown
WITH_DERIVATIVE = ("variable", "parameter", "let")  # with respect to these a law has derivatives
STEP = re.compile(r"\bstep\(")
CLAIM_ROLES = ("keyword", "symbol", "verdict", "number")
"""Roles of words in a claim whose hover shows the verdict in addition to other information."""
STEPS = (tree.Minimize, tree.Maximize, tree.Subject, tree.StepNode, tree.KeepNode)


@dataclass(frozen=True)
class Block:
    """A part of an answer.

    Attributes:
        kind: text, or code in the language, or latex, or proof: lines of formulas and words.
        text: the content, as it is: nothing is escaped.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Derivative:
    """The exact partial derivative of a law.

    Attributes:
        name: with respect to what.
        text: in the syntax of the language.
        latex: as LaTeX.
    """

    name: str
    text: str
    latex: str


@dataclass(frozen=True)
class Known:
    """What is known about a document besides its text.

    Attributes:
        verdict_of: words of a `require` line -> the last verdict on it, None without one, and whether
            it is about the present text.
        derivatives: name -> the derivative of the law with respect to it.
        further: further messages, such as warnings about claims.
        deciding: whether claims without a verdict are being decided.
    """

    verdict_of: Callable[[str], tuple[Verdict | None, bool]] = lambda words: (None, False)
    derivatives: Mapping[str, Derivative] = field(default_factory=dict)
    further: tuple[Diagnostic, ...] = ()
    deciding: bool = False


@dataclass(frozen=True)
class Hover:
    """What is shown about a word.

    Attributes:
        span: the place of the word.
        blocks: what is shown, from top to bottom.
        derivative_of: a name whose derivative is not known yet, and would be shown; empty for none.
    """

    span: Span
    blocks: tuple[Block, ...]
    derivative_of: str = ""


def file_of(document: Document) -> File:
    """A document as a file among others.

    Args:
        document: the document.
    """
    return File(document.path, document.text, document.path.parent)


def hover(document: Document, offset: int, files: Files, known: Known) -> Hover | None:
    """What is known about the word at an offset; None where there is nothing to say.

    In a claim, the verdict is shown where nothing else is known.

    Args:
        document: the document, in any state.
        offset: the place.
        files: how files find each other.
        known: what is known besides the text.
    """
    file = file_of(document)
    word = file.words.at(offset)
    if word is not None and word.role == "comment":
        return None
    claim = next((c for c in require_lines(document) if c.span.start <= offset <= c.span.end), None)
    if word is None:  # between two words
        if claim is None or not (verdict := tuple(_about_claim(claim, known))):
            return None
        return Hover(claim.span, verdict)
    target = files.resolve(word, file)
    if target is not None:
        target = own_equation(target, file)
    derivative_of = ""
    if target is not None and target.kind == "law":
        blocks = list(_about_law(target, files))
    elif target is not None and target.kind == "set":
        blocks = [Block("text", f"{target.name}: a set of labels, which the table determines")]
    elif target is not None:
        blocks = list(_about_name(target, file, files))
        blocks += _about_value(target, document, files)
        if file.section == "law" and target.kind in WITH_DERIVATIVE:
            derivative = known.derivatives.get(target.name)
            blocks += _about_derivative(derivative) if derivative else ()
            derivative_of = "" if derivative else target.name
        blocks += _values(target, file)
    else:
        blocks = list(_about_word(word, file))
        if not blocks and document.declarations is not None:
            blocks = list(_about_fresh(word, file))
    if blocks and word.role not in CLAIM_ROLES:
        claim = None
    blocks += _about_claim(claim, known) if claim is not None else ()
    for d in (*document.diagnostics, *known.further):
        if d.span is not None and d.span.start <= offset <= d.span.end and d.code in MESSAGES:
            message = MESSAGES[d.code]
            blocks.append(Block("text", f"{d.code}, {message.title}: {message.meaning}"))
    if not blocks:
        return None
    return Hover(word.span, tuple(blocks), derivative_of)


def _about_word(word: Word, file: File) -> Iterator[Block]:
    """A word of the language itself."""
    if word.role == "function":
        call, meaning = function_meaning(word.text)
        yield Block("code", call)
        yield Block("text", meaning)
        return
    if word.role == "unit":
        meaning_of_unit = unit_meaning(word.text)
        if meaning_of_unit:
            yield Block("text", f"{word.text}: {meaning_of_unit}")
        return
    tables = {"constant": CONSTANTS, "verdict": VERDICTS, "option": OPTIONS}
    meaning = tables.get(word.role, {}).get(word.text, "")
    shown = word.text
    if word.role == "keyword":
        line = file.words.lines[word.line]
        before = [w.text for w in line.words if w.span.start < word.span.start]
        inside = sum(w in "([{" for w in before) > sum(w in ")]}" for w in before)
        meaning = keyword_meaning(word.text, ("(" if inside else "", line.keyword, file.section))
    if word.role == "keyword" and word.text in ("subject", "to"):
        shown = "subject to"
    if meaning:
        yield Block("text", f"{shown}: {meaning}")
    elif (word.role, word.text) == ("name", MEASUREMENTS) and file.section == "pipeline":
        yield Block("text", f"{word.text}: the table of measurements")
    elif word.role == "column":
        yield Block("text", f"{word.text}: a column of the table")
    elif word.role == "argument":
        yield Block("text", f"{word.text}: a column along which the output is read")


def _about_fresh(word: Word, file: File) -> Iterator[Block]:
    """A name that a claim does not declare, but is about."""
    if file.words.lines[word.line].keyword != "require":
        return
    if word.role == "subscript":
        yield Block("text", f"{word.text}: any label; the claim is made for all")
    elif word.role == "name":
        yield Block("text", f"{word.text}: any value; the claim is made for all")


def _about_value(target: Target, document: Document, files: Files) -> Iterator[Block]:
    """The variable of a law whose value a name of a question is, if its own line has no unit."""
    question = document.question
    if question is None or target.kind not in ("given", "unknown"):
        return
    if target.name not in question.symbols or question.symbols[target.name].unit is not None:
        return
    for value in question.values.values():
        for name, formula in value.arguments:
            if isinstance(formula, tree.Name) and formula.text == target.name:
                law = files.called(value.use, file_of(document))
                variable = files.declaration(name, law) if law is not None else None
                if variable is not None:
                    yield Block(
                        "text",
                        f"the value of {name} in {value.use}, a fit of {_law_name(variable.file)}",
                    )
                    yield Block("code", _declaration(variable, files)[1])
                return


def _statements(file: File, files: Files) -> tuple[tree.Statement, ...]:
    return files.opened.parsed.parse(file.text, str(file.path))[0].statements


def _about_law(target: Target, files: Files) -> Iterator[Block]:
    """Title, sources and formula of a law; what a question or pipeline is for."""
    statements = _statements(target.file, files)
    header = next((s for s in statements if isinstance(s, tree.Section)), None)
    yield Block("code", f"{header.kind if header else 'law'} {target.name}")
    if header is not None and header.title:
        yield Block("text", printable(header.title))
    definitions = [s for s in statements if isinstance(s, tree.Definition)]
    law = next((s for s in definitions if s.kind == "output"), None)
    if law is not None:
        yield from _equation(law, statements)
    steps = [s for s in statements if law is None and isinstance(s, STEPS)]
    if steps:
        lines = "\n".join(print_statement(s) for s in steps)
        yield Block("code", lines if len(lines) <= MAX_FORMULA else f"{lines[:MAX_FORMULA]} …")
    sources = [s.text for s in statements if isinstance(s, tree.SourceNode)]
    if sources:
        yield Block("text", printable("; ".join(sources)))
    yield Block("text", "ships with lawdsl" if target.file.ships else f"in {target.file.path.name}")


def _equation(law: tree.Definition, statements: tuple[tree.Statement, ...]) -> Iterator[Block]:
    name = with_subscripts(law.name, law.subscripts)
    text = f"{name} = {print_formula(law.formula)}"
    if len(text) > MAX_FORMULA:
        return
    yield Block("code", text)
    declared = [name]
    for statement in statements:
        if isinstance(statement, tree.Declaration):
            declared += [with_subscripts(i.name, i.subscripts) for i in statement.items]
        elif isinstance(statement, tree.Definition) and statement is not law:
            declared.append(with_subscripts(statement.name, statement.subscripts))
    names = latex_names(declared)
    yield Block("latex", f"{names(name)} = {formula_latex(law.formula, names)}")


def _extended_formula(file: File, files: Files) -> Iterator[Block]:
    """What the name of the law that is extended stands for in the equation."""
    base = files.named(file.extended, file)
    statements = _statements(base, files) if base is not None else ()
    law = next(
        (s for s in statements if isinstance(s, tree.Definition) and s.kind == "output"), None
    )
    if law is not None:
        text = print_formula(law.formula)
        yield Block("text", f"where {file.extended} is")
        yield Block("code", text if len(text) <= MAX_FORMULA else f"{text[:MAX_FORMULA]} …")


def _about_name(target: Target, file: File, files: Files) -> Iterator[Block]:
    """Declaration, unit and description of a name."""
    statement, code, doc, unit = _declaration(target, files)
    yield Block("code", code if len(code) <= MAX_FORMULA else f"{code[:MAX_FORMULA]} …")
    base = files.declaration(target.name, file) if target.kind == "output" else None
    if base is not None and base.file.path != target.file.path:
        _, _, base_doc, base_unit = _declaration(base, files)
        doc, unit = doc or base_doc, unit or base_unit
    if doc:
        yield Block("text", printable(doc))
    if unit is not None:
        meanings = [f"{n}: {m}" for n, _ in unit.factors if (m := unit_meaning(n))]
        if meanings:
            yield Block("text", "; ".join(meanings))
    if target.kind == "output" and isinstance(statement, tree.Definition):
        yield from list(_equation(statement, _statements(target.file, files)))[1:]
        yield from _extended_formula(target.file, files)
    if target.kind == "use":
        law = files.called(target.name, file)
        if law is not None:
            yield from _about_law(Target(law, file.uses[target.name], "law", target.span), files)
    if target.file.path != file.path:
        where = _law_name(target.file) or target.file.path.name
        yield Block(
            "text",
            f"declared in {where}" + (", which ships with lawdsl" if target.file.ships else ""),
        )


def _declaration(
    target: Target, files: Files
) -> tuple[tree.Statement | None, str, str | None, tree.UnitOf | None]:
    """The statement that declares a name, what is shown of it, its description and its unit."""
    name = target.name
    for statement in _statements(target.file, files):
        if isinstance(statement, tree.Declaration):
            for number, item in enumerate(statement.items):
                if item.name == name:
                    unit = f"  unit {print_unit(statement.unit)}" if statement.unit else ""
                    # names share the domain that follows them
                    domains = [i.domain for i in statement.items[number:] if i.domain is not None]
                    bounds = [replace(item, domain=domains[0] if domains else None)]
                    bounds += [i for i in statement.items[number + 1 :] if i.name == name]
                    code = f"{statement.kind} {print_items(bounds)}{unit}"
                    return statement, code, statement.doc, statement.unit
        elif isinstance(statement, tree.Definition) and statement.name == name:
            code = print_statement(replace(statement, doc=None))
            return statement, code, statement.doc, statement.unit
        elif isinstance(statement, (tree.Index, tree.Uses)) and name in statement.names:
            return statement, print_statement(statement), None, None
        elif isinstance(statement, (tree.StepNode, tree.KeepNode)) and statement.name == name:
            return statement, print_statement(statement), None, None
        elif isinstance(statement, tree.Index) and target.kind == "label":
            if isinstance(statement.over, tree.ListedNode) and name in statement.over.labels:
                return statement, print_statement(statement), None, None
    return None, f"{target.kind} {name}", None, None


def _about_derivative(derivative: Derivative) -> list[Block]:
    if len(derivative.text) > 2 * MAX_FORMULA:
        size = f"{len(derivative.text):,} characters"
        return [Block("text", f"its derivative is too long to show: {size}")]
    blocks = [Block("code", derivative.text)]
    if derivative.text.endswith(" = 0"):
        blocks.append(Block("text", "the equation does not contain it"))
    if STEP.search(derivative.text):
        blocks.append(Block("text", "step(x): 1 for x > 0, 0 for x < 0"))
    if 0 < len(derivative.latex) <= 2 * MAX_FORMULA:
        blocks.append(Block("latex", derivative.latex))
    return blocks


def _values(target: Target, file: File) -> Iterator[Block]:
    """Published and fitted values of a parameter."""
    if target.kind != "parameter":
        return
    name = _law_name(target.file)
    published = PUBLISHED.get(name)
    if published is not None and target.name in published.values:
        if ships(name, target.file.text):
            value, error = published.values[target.name]
            deviation = "" if error is None else f" ± {error:g}"
            text = f"published for {name}: {value:g}{deviation} ({published.source})"
            yield Block("text", text)
    fit = fitted_value(_law_name(file), file.text, file.path.parent, target.name)
    if fit is not None:
        deviation = "" if fit.error is None else f" ± {fit.error:.2g}"
        text = f"fitted: {fit.value:.6g}{deviation}, in {printable(fit.file)}"
        text += f", which is {fit.verdict}" if fit.verdict in ("caution", "not trusted") else ""
        text += "" if fit.same_text else ", of another version of the law"
        yield Block("text", text)


def _law_name(file: File) -> str:
    return next((w.text for w in file.words if w.role == "header"), "")


def _about_claim(claim: RequireLine, known: Known) -> Iterator[Block]:
    """The verdict on the claim of a line."""
    verdict, current = known.verdict_of(claim.words)
    if verdict is None:
        if known.deciding:
            yield Block("text", f"verdict: {DECIDING}")
        return
    first, *evidence = verdict_details(verdict)
    yield Block("text", f"verdict: {first}" + ("" if current else f" ({STALE})"))
    if evidence:
        yield Block("proof", "\n".join(evidence))
