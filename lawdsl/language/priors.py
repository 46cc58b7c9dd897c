"""`prior log(alpha) = log(0.35) ± 0.35` -> the declared priors of the parameters of a law.

A prior is an independent Gaussian on a parameter, or on its logarithm. It is about fits: no claim is
proved with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Span, Text
from lawdsl.language import keywords, tree
from lawdsl.language.constants import TooLarge, Undefined, value
from lawdsl.language.declarations import names_in, scope_of_options
from lawdsl.language.elements import selects_some
from lawdsl.language.fix_and_tie import PAST_PARTICIPLES
from lawdsl.language.formula_signs import KnownSigns, known_signs_of
from lawdsl.language.formulas import check_formula
from lawdsl.language.label_texts import with_quoted_labels
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_formula, print_named
from lawdsl.language.scope import ANY, SETTING, Scope
from lawdsl.language.symbols import Declarations, Prior, Symbol
from lawdsl.language.tree import Formula, Named

STATED_EXAMPLE = "log(alpha) = log(0.35) ± 0.35"  # as an option states it
EXAMPLE = f"prior {STATED_EXAMPLE}"
# fits divide by the squares of deviations
SMALLEST_DEVIATION, LARGEST_DEVIATION = 1e-150, 1e150
_POINT_WITHOUT_DIGIT = re.compile(r"(?<![\w.\])])\.(?=[0-9])")
_NON_NEGATIVE = frozenset({0, 1})


def check_priors(
    scope: Scope,
    statements: Sequence[tree.PriorNode],
    overrides: Mapping[str, float] | None = None,
) -> dict[str, Prior]:
    """The priors of a file, by parameter; mistakes in them are reported.

    Args:
        scope: the names of the file.
        statements: its `prior` lines.
        overrides: values that replace those of settings.
    """
    priors: dict[str, Prior] = {}
    if not statements:
        return priors
    # a domain that has a mistake is not compared with
    known = None if scope.errors else known_signs_of(scope.symbols, overrides or {})
    for statement in statements:
        before = scope.errors
        prior = _read(scope, statement, known)
        if prior is None or scope.errors > before:
            continue
        if prior.parameter in priors:
            message = f"`{prior.parameter}` has a second prior"
            notes = (f"the first is `{priors[prior.parameter].text}`",)
            help = "keep one: a parameter has one prior, on itself or on its logarithm"
            scope.report("L0152", message, statement.span, help, notes)
        else:
            priors[prior.parameter] = prior
    return priors


def still_free(priors: Mapping[str, Prior], symbols: Mapping[str, Symbol]) -> dict[str, Prior]:
    """The priors of parameters that are neither fixed nor tied: the others need none.

    Args:
        priors: parameter -> prior.
        symbols: name -> symbol.
    """
    return {
        name: prior
        for name, prior in priors.items()
        if (base := name.partition("[")[0]) in symbols and symbols[base].kind == "parameter"
    }


def with_priors(
    declared: Declarations, texts: Sequence[str], overrides: Mapping[str, float] | None = None
) -> Declarations:
    """Return the declarations with further priors, which replace those of the same parameters.

    Args:
        declared: a law as declared.
        texts: `log(alpha) = log(0.35) ± 0.35`, one parameter each, also after the word `prior` as in
            a law; `none` removes the law's own.
        overrides: values that replace those of its settings.

    Raises:
        LawdslError: a text of another form, or a prior that the law cannot have.
    """
    stated = [text for text in texts if text.strip() != "none"]
    own = {} if len(stated) < len(texts) else dict(declared.priors)
    lines = [_one_line(each) for each in stated]
    if "" in lines:
        help = f"write {STATED_EXAMPLE}, or none for no priors"
        raise LawdslError(Diagnostic("L0150", "the text of a prior is empty", help=help))
    text = Text("--prior", "".join(f"prior {line}\n" for line in lines))
    document, mistakes = parse(text.text, text.name)
    statements = [s for s in document.statements if isinstance(s, tree.PriorNode)]
    if not mistakes and len(statements) != len(stated):
        message = f"`{text.text.strip()}` does not state one prior a line"
        raise LawdslError(Diagnostic("L0150", message, help=f"write {STATED_EXAMPLE}"))
    scope = scope_of_options(text, document.unread_names, declared)
    further = check_priors(scope, statements, overrides)
    mistakes += scope.diagnostics
    if any(d.severity == "error" for d in mistakes):
        raise LawdslError(mistakes)
    return replace(declared, priors={**own, **further})


def _one_line(text: str) -> str:
    """The text of a prior in one line, without the word `prior` that it has in a law; `.1` is 0.1."""
    words = text.split()
    # a parameter may be called prior, too
    if len(words) > 1 and words[0] == "prior" and words[1] not in ("=", "±", "+-"):
        words = words[1:]
    line = " ".join(words)
    if '"' not in line:  # a label in quotes may have a point
        line = _POINT_WITHOUT_DIGIT.sub("0.", line)
    return with_quoted_labels(line)


def _read(scope: Scope, statement: tree.PriorNode, known: KnownSigns | None) -> Prior | None:
    """The prior of a statement; None, after a message, where it is not one."""
    named, log = _target(statement.of)
    if named is None:
        message = f"`{print_formula(statement.of)}` is not a parameter or its logarithm"
        help = f"write a prior as {EXAMPLE}, or prior E = 1.7 ± 0.2"
        scope.report("L0150", message, statement.of.span, help)
        return None
    found = _parameter(scope, named, statement.of.span)
    if found is None:
        return None
    symbol, some = found
    center = _number(scope, statement.center, "center")
    deviation = _number(scope, statement.deviation, "standard deviation")
    if center is None or deviation is None:
        return None
    if not deviation > 0:
        message = f"the standard deviation of a prior must be positive, not {deviation:g}"
        help = f"write how far from the center `{symbol.text}` may well lie"
        if log:
            help += ", in its logarithm: ± 0.35 for a factor of 1.4"
        scope.report("L0151", message, statement.deviation.span, help)
        return None
    if not SMALLEST_DEVIATION < deviation < LARGEST_DEVIATION:
        message = f"the standard deviation of a prior, {deviation:g}, is too "
        message += "small" if deviation < 1 else "large"
        help = f"hold the parameter at its value: `fix {symbol.text} = …`"
        if deviation > 1:
            help = "leave the prior out: it says nothing"
        scope.report("L0151", message, statement.deviation.span, help)
        return None
    prior = Prior(
        print_named(named) if some else symbol.name,
        log,
        center,
        deviation,
        print_formula(statement.center),
        print_formula(statement.deviation),
        print_named(named),
    )
    if known is not None and not _in_domain(scope, symbol, prior, statement, known):
        return None
    return prior


def _target(formula: Formula) -> tuple[Named | None, bool]:
    """The name that a prior is of, and whether it is of its logarithm."""
    match formula:
        case tree.Name(text):
            return text, False
        case tree.Element():
            return formula, False
        case tree.Call("log", (tree.Name(text),), (), ()):
            return text, True
        case tree.Call("log", (tree.Element() as element,), (), ()):
            return element, True
    return None, False


def _parameter(scope: Scope, named: Named, span: Span) -> tuple[Symbol, bool] | None:
    """The parameter of a prior, and whether it is of some elements of it only; None, after a
    message, where it cannot have one."""
    name = tree.name_of(named)
    name_span = scope.within(span, name)
    before = scope.errors
    symbol = scope.use(name, name_span, ANY)
    if symbol is None or scope.errors > before:
        return None
    if symbol.determined_by:
        message = f"`{name}` is {PAST_PARTICIPLES[symbol.determined_by]}, and has no prior"
        help = "leave the prior out, or let the fit determine the parameter"
        scope.report("L0150", message, name_span, help)
        return None
    if symbol.kind != "parameter":
        message = f"`{name}` is {keywords.a(symbol.kind)}; only parameters have priors"
        scope.report("L0150", message, name_span, "name a parameter, or leave the line out")
        return None
    subscripts = named.subscripts if isinstance(named, tree.Element) else ()
    some = selects_some(scope, symbol, subscripts, "a prior is of", name_span)
    return None if scope.errors > before else (symbol, some)


def _number(scope: Scope, formula: Formula, what: str) -> float | None:
    """The value of a formula of numbers; None, after a message, where it is not one."""
    before = scope.errors
    if any(names_in(formula)):
        help = f"write a number, or a formula of numbers: {EXAMPLE}"
        scope.report("L0151", f"the {what} of a prior is not a number", formula.span, help)
        return None
    check_formula(scope, formula, SETTING)
    if scope.errors > before:
        return None
    try:
        number = value(formula)
    except (Undefined, TooLarge):  # check_formula has reported it
        return None
    if number is None or not math.isfinite(float(number)):
        help = f"write a finite number, or a formula of numbers: {EXAMPLE}"
        scope.report("L0151", f"the {what} of a prior is not a number", formula.span, help)
        return None
    return float(number)


def _in_domain(
    scope: Scope,
    symbol: Symbol,
    prior: Prior,
    statement: tree.PriorNode,
    known: KnownSigns,
) -> bool:
    """Whether the center lies in the domain of the parameter; if not, a message."""
    if prior.log and not known.sign(tree.Name(symbol.name)) <= _NON_NEGATIVE:
        message = f"`{symbol.text}` may be negative, and then has no logarithm"
        help = f"state the prior of {symbol.text} itself, or declare `parameter {symbol.text} > 0`"
        scope.report("L0154", message, statement.of.span, help)
        return False
    try:
        center = math.exp(prior.center) if prior.log else prior.center
    except OverflowError:
        center = math.inf
    for relation, limit in symbol.bounds:
        end = known.number(limit)
        if end is None:
            continue  # it depends on other parameters
        above, beyond = relation[0] == ">", center - float(end)
        outside = beyond < 0 if above else beyond > 0
        if outside or (beyond == 0 and len(relation) == 1) or not 0 <= abs(center) < math.inf:
            text = f"{symbol.text} {relation} {print_formula(limit)}"
            where = f"{symbol.text} = {center:.6g}" if prior.log else f"{center:.6g}"
            message = f"the center of the prior, {where}, lies outside the domain {text}"
            help = "choose a center inside the domain, or change the domain"
            if prior.log and prior.center > 0 and math.log(prior.center) < 0:
                help = f"the center is that of the logarithm: write log({prior.center_text})"
            scope.report("L0153", message, statement.center.span, help)
            return False
    return True
