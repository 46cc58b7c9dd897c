"""Exported -> a Python module: with floats alone, or arrays of NumPy, PyTorch or JAX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lawdsl.exporting import python_helpers as helpers
from lawdsl.exporting.content import Exported, ExportedVariable, Term
from lawdsl.exporting.module import (
    Module,
    described,
    differentiated,
    heading,
    module_of,
    part_number,
    remark,
    roots_of,
    sets_of,
    slope_of,
)
from lawdsl.exporting.names import line_comment, python_docstring, python_string
from lawdsl.exporting.targets import JAX, NUMPY, PYTHON, TORCH, ExportTarget


@dataclass(frozen=True)
class Dialect:
    """How a Python module of a target differs from the others.

    Attributes:
        target: the target.
        imports: its statements.
        helpers: functions that it may define.
        read: the text of a parameter's value, from that of its entry.
        takes: what inputs may be, for docstrings.
        decorator: before functions that compute.
        gradients: whether derivatives by the variables are written; else the library has them.
        notes: further lines of the docstring.
    """

    target: ExportTarget
    imports: tuple[str, ...]
    helpers: Mapping[str, str]
    read: str
    takes: str
    decorator: str = ""
    gradients: bool = False
    notes: tuple[str, ...] = ()


DIALECTS = (
    Dialect(PYTHON, (), helpers.PYTHON, "{0}", "numbers", gradients=True),
    Dialect(
        NUMPY,
        ("import numpy as np",),
        helpers.NUMPY,
        "np.asarray({0}, dtype=float)",
        "numbers or arrays, which broadcast",
        decorator='@np.errstate(all="ignore")',
        gradients=True,
    ),
    Dialect(
        TORCH,
        ("import torch",),
        helpers.TORCH,
        "_tensor({0})",
        "numbers or tensors, which broadcast",
        notes=("Tensors of floats keep their type, device and gradient; numbers become float64.",),
    ),
    Dialect(
        JAX,
        ("import jax", "import jax.numpy as jnp"),
        helpers.JAX,
        "jnp.asarray({0}, dtype=float)",
        "numbers or arrays, which broadcast",
        notes=(
            'In float32 unless jax.config.update("jax_enable_x64", True) was called.',
            "Domains are checked where values are known: not within jit, grad and vmap.",
        ),
    ),
)


def python_module(made: Exported, dialect: Dialect) -> str:
    """The text of a module.

    Args:
        made: the content.
        dialect: the target.
    """
    module = module_of(made, dialect.target)
    body = [
        *_data(module),
        *_predict(module, dialect),
        *_interval(module, dialect),
        *_gradients(module, dialect),
        *_inputs(module),
        *_value(module, dialect),
    ]
    text = "\n".join(body)
    text = "\n".join((text, *_helpers(text, dialect)))
    math = ["import math"] if re.search(r"\bmath\.", text) else []
    lines = [*_docstring([*heading(made), *_notes(dialect)]), ""]
    lines += [*math, *([""] if math and dialect.imports else []), *dialect.imports]
    return "\n".join(lines).rstrip() + "\n\n" + text.strip() + "\n"


def _notes(dialect: Dialect) -> tuple[str, ...]:
    return ("", *dialect.notes) if dialect.notes else ()


def _docstring(lines: Sequence[str], indent: str = "") -> list[str]:
    escaped = [python_docstring(line) for line in lines]
    if len(escaped) == 1:
        return [f'{indent}"""{escaped[0]}"""']
    first, *rest = escaped
    return [f'{indent}"""{first}', *(f"{indent}{line}".rstrip() for line in rest), f'{indent}"""']


def _data(module: Module) -> list[str]:
    """The labels, the values of the parameters, and their joint errors."""
    made, lines = module.made, []
    if made.labels:
        lines += ["", "LABELS = {"]
        for over, labels in made.labels.items():
            texts = ", ".join(map(python_string, labels))
            lines.append(f"    {python_string(over)}: [{texts}],")
        lines.append("}")
    lines += ["", "PARAMETERS = {"]
    for constant in made.constants:
        comment = line_comment(remark(constant))
        values = f"    {python_string(constant.name)}: {module.literal(constant.values)},"
        lines.append(f"{values}  # {comment}" if comment else values)
    return [*lines, "}", *_errors(module)]


def _errors(module: Module) -> list[str]:
    made = module.made
    if not made.errors:
        return ["", f"# no intervals: {line_comment(made.why_no_errors)}"]
    lines = [
        "",
        "# The covariance of the free parameters is FᵀF, with F the rows of the factor; those of the",
        "# null space, in parameters divided by their scale, are what the fitted rows leave open.",
        f"LEVEL = {made.level!r}",
    ]
    number = module.target.number
    if not made.indexed:
        (errors,) = made.errors
        names = ", ".join(map(python_string, errors.names))
        return [
            *lines,
            f"QUANTILE = {number(errors.quantile)}  # of Student's t, {errors.dof:g} degrees of freedom",
            f"FREE = [{names}]",
            *_defined("FACTOR = ", module.rows_of(errors.factor)),
            *_defined("NULL_SPACE = ", module.rows_of(errors.null_space)),
            *_defined("SCALE = ", module.rows_of(errors.scale)),
        ]
    lines += ["PARTS = ["]
    for errors in made.errors:
        terms = [f"[{', '.join(_term(module, t) for t in each)}]," for each in errors.terms]
        entries = [
            f'"quantile": {number(errors.quantile)},  # {errors.dof:g} degrees of freedom',
            *('"terms": [', *(f"    {term}" for term in terms), "],"),
            *_defined('"factor": ', module.rows_of(errors.factor), ","),
            *_defined('"null_space": ', module.rows_of(errors.null_space), ","),
            *_defined('"scale": ', module.rows_of(errors.scale), ","),
        ]
        lines += ["    {", *(f"        {entry}" for entry in entries), "    },"]
    return [*lines, "]"]


def _term(module: Module, term: Term) -> str:
    coefficient = module.target.number(term.coefficient)
    return f"({coefficient}, {python_string(term.name)}, {term.positions!r})"


def _defined(before: str, lines: Sequence[str], behind: str = "") -> list[str]:
    """Lines with a text before the first and one behind the last."""
    first, *rest = lines
    whole = [before + first, *rest]
    return [*whole[:-1], whole[-1] + behind]


def _signature(module: Module, *more: str) -> str:
    """The parameters of a public function; a set with a single label needs none."""
    made = module.made
    labels = []
    for index, identifier in module.rows.items():
        known = made.labels[made.index_sets[index]]
        labels.append(f"{identifier}={python_string(known[0])}" if len(known) == 1 else identifier)
    plain = [x for x in labels if "=" not in x]
    with_default = [x for x in labels if "=" in x]
    return ", ".join([*module.arguments.values(), *plain, *with_default, *more])


def _arguments(module: Module, dialect: Dialect) -> list[str]:
    """The lines of a docstring about the arguments of a public function."""
    made = module.made
    lines = ["Args:"]
    for variable in made.variables:
        identifier = module.arguments[variable.name]
        called = "" if identifier == variable.name else f"{variable.name} in the law; "
        each = "a mapping of labels, or a list in their order; " if variable.over else ""
        lines.append(f"    {identifier}: {called}{each}{described(variable)}.")
    for index, identifier in module.rows.items():
        lines.append(f"    {identifier}: label of {made.index_sets[index]}.")
    return lines


def _raises() -> list[str]:
    return [
        "Raises:",
        "    ValueError: a value that is not finite, or outside its domain; an unknown parameter.",
        "    TypeError: a value that is not a number.",
    ]


CHOSEN = "_parameters(parameters)"
PARAMETERS_LINE = "    parameters: other values of some, in the form of PARAMETERS."


def _predict(module: Module, dialect: Dialect) -> list[str]:
    made = module.made
    unit = f", in {made.unit}" if made.unit else ""
    doc = f": {made.doc}" if made.doc else ""
    text = [f"{made.output}{unit}{doc}.", "", *_arguments(module, dialect), PARAMETERS_LINE]
    text += ["", f"All of them {dialect.takes}."] if dialect.takes != "numbers" else []
    text += ["", *_raises()]
    inputs = "".join(f", {name}" for name in module.bound)
    return [
        *("", ""),
        f"def predict({_signature(module, 'parameters=None')}):",
        *_docstring(text, "    "),
        *_checked(module),
        f"    return _value({CHOSEN}{inputs})",
    ]


def _checked(module: Module) -> list[str]:
    """The statement that checks the inputs of a public function."""
    if not module.bound:
        return []
    one = "," if len(module.bound) == 1 else ""
    return [f"    {', '.join(module.bound)}{one} = _inputs({', '.join(module.called)})"]


def _interval(module: Module, dialect: Dialect) -> list[str]:
    made, target = module.made, module.target
    if not made.errors:
        return []
    percent = f"{100 * made.level:g} %"
    text = [
        f"{made.output} and the ends of its {percent} interval: value, low, high.",
        "",
        "By the delta method, from the errors of the parameters: the noise of the fitted rows is in",
        "it, the error of the law is not.",
        "",
        *_arguments(module, dialect),
        "",
        *_raises(),
    ]
    inputs = "".join(f", {name}" for name in module.bound)
    lines = [
        *("", ""),
        *([dialect.decorator] if dialect.decorator else []),
        f"def predict_with_interval({_signature(module)}):",
        *_docstring(text, "    "),
        *_checked(module),
        f"    value = _value(PARAMETERS{inputs})",
        f"    slopes = _parameter_slopes(PARAMETERS{inputs})",
    ]
    if made.indexed:
        lines += [
            f"    part = PARTS[{part_number(module)}]",
            '    slopes = _free_slopes(slopes, part["terms"])',
            '    error = _standard_error(slopes, part["factor"], part["null_space"], part["scale"])',
        ]
        quantile = 'part["quantile"]'
    else:
        lines += [
            "    slopes = [slopes[name] for name in FREE]",
            "    error = _standard_error(slopes, FACTOR, NULL_SPACE, SCALE)",
        ]
        quantile = "QUANTILE"
    if not made.errors[0].log:
        return [
            *lines,
            f"    half = {quantile} * error",
            "    return value, value - half, value + half",
        ]
    exp, where = target.call("exp"), target.call("where")
    quotient = "error / value" if target.infix else target.call("divide").format("error", "value")
    low = where.format("value > 0", f"value * {exp.format('-half')}", "-math.inf")
    high = where.format("value > 0", f"value * {exp.format('half')}", "math.inf")
    return [
        *lines,
        f"    half = {quantile} * {quotient}  # of the logarithm",
        f"    low = {low}",
        f"    high = {high}",
        "    return value, low, high",
    ]


def _gradients(module: Module, dialect: Dialect) -> list[str]:
    """The derivatives by the variables, and by the parameters."""
    inputs = "".join(f", {name}" for name in module.bound)
    lines = []
    functions = [("parameter_gradient", "_parameter_slopes", "parameter")]
    if dialect.gradients:
        functions.insert(0, ("gradient", "_variable_slopes", "variable"))
    for name, private, kind in functions:
        shares = any(v.left_out is not None for v in module.made.variables)
        alone = "Of shares as if each changed alone."
        text = [
            f"The derivative of {module.made.output} by each {kind}: name -> derivative.",
            *(("", alone) if shares and kind == "variable" else ()),
            "",
            *_arguments(module, dialect),
            PARAMETERS_LINE,
            "",
            *_raises(),
        ]
        lines += [
            *("", ""),
            f"def {name}({_signature(module, 'parameters=None')}):",
            *_docstring(text, "    "),
            *_checked(module),
            f"    return {private}({CHOSEN}{inputs})",
        ]
    lines += _slopes(module, dialect, "_parameter_slopes", parameters=True)
    if dialect.gradients:
        lines += _slopes(module, dialect, "_variable_slopes", parameters=False)
    return lines


def _slopes(module: Module, dialect: Dialect, name: str, *, parameters: bool) -> list[str]:
    made, writer = module.made, module.writer()
    entries: list[str] = []
    constants = differentiated(made)
    names = [c.name for c in constants] if parameters else [v.name for v in made.variables]
    roots = roots_of(made, names)
    writer.statements(roots)
    if parameters:
        entries = [
            f"{python_string(c.name)}: {slope_of(module, writer, c.name, c.over)},"
            for c in constants
        ]
    else:
        entries = [
            f"{python_string(v.name)}: {slope_of(module, writer, v.name, sets_of(v))},"
            for v in made.variables
        ]
    return [
        *_head(module, dialect, name, roots),
        *writer.lines,
        "    return {",
        *(f"        {entry}" for entry in entries),
        "    }",
    ]


def _head(module: Module, dialect: Dialect, name: str, roots: Sequence[int]) -> list[str]:
    """The beginning of a function of steps: its name, and the parameters that it reads."""
    inputs = "".join(f", {x}" for x in module.bound)
    reads = []
    for constant in module.used(roots):
        value = dialect.read.format(f"parameters[{python_string(constant.name)}]")
        reads.append(f"    {module.locals[constant.name]} = {value}")
    return [
        *("", ""),
        *([dialect.decorator] if dialect.decorator else []),
        f"def {name}(parameters{inputs}):",
        *reads,
    ]


def _value(module: Module, dialect: Dialect) -> list[str]:
    writer, value = module.writer(), module.made.program.value
    writer.statements([value])
    returned = writer.returned(value)
    return [
        *_head(module, dialect, "_value", [value]),
        *writer.lines,
        f"    return {returned[0]}",
        *(f"    {line}" for line in returned[1:]),
    ]


def _inputs(module: Module) -> list[str]:
    """The function that checks and converts the inputs."""
    if not module.bound:
        return []
    made = module.made
    lines = [*("", ""), f"def _inputs({', '.join(module.called)}):"]
    for variable in made.variables:
        identifier, name = module.arguments[variable.name], python_string(variable.name)
        if variable.left_out is not None:
            labels = f"LABELS[{python_string(variable.over)}]"
            call = f"_shares({name}, {identifier}, {labels}, {variable.left_out})"
            lines.append(f"    {identifier} = {call}")
            continue
        if variable.over:
            labels = f"LABELS[{python_string(variable.over)}]"
            lines.append(f"    {identifier} = _by_label({name}, {identifier}, {labels})")
            if variable.bounds:
                lines.append(f"    for _label, _x in zip({labels}, {identifier}):")
                text = f'{name} + f"[{{_label}}]"'
                lines += [f"    {line}" for line in _bounds(module, variable, text, "_x")]
            continue
        lines.append(f"    {identifier} = _number({name}, {identifier})")
        lines += _bounds(module, variable, name, identifier)
    for index, identifier in module.rows.items():
        over = python_string(made.index_sets[index])
        name = python_string(made.rows[index])
        call = f"_position({name}, {identifier}, LABELS[{over}])"
        lines.append(f"    {module.positions[index]} = {call}")
    return [*lines, f"    return {', '.join(module.bound)}{',' if len(module.bound) == 1 else ''}"]


def _bounds(
    module: Module, variable: ExportedVariable, name: str, identifier: str
) -> Iterable[str]:
    for bound in variable.bounds:
        limit = module.target.number(bound.limit)
        inside = f"{identifier} {bound.relation} {limit}"
        domain = python_string(f"{variable.name} {bound.relation} {bound.limit:g}")
        yield f"    _require({name}, {identifier}, {inside}, {domain})"


def _helpers(text: str, dialect: Dialect) -> list[str]:
    """The functions that a text calls, and those that they call."""
    target, functions = dialect.target, {**helpers.SHARED, **dialect.helpers}
    where, sqrt = target.call("where"), target.call("sqrt")
    total = dialect.read.format("sum(x * x for x in values)")
    spelled = {
        "WHERE": where.format("left < 1e-12", "0.0", "left"),
        "MISSED": where.format("missed <= 1e-6 * _length(scaled)", "error", "math.inf"),
        "INFINITE": where.format("error < math.inf", "error", "math.inf"),
        "SQRT": sqrt.format(total),
    }
    found: dict[str, str] = {}
    waiting = [text]
    while waiting:
        each = waiting.pop()
        for name in functions:
            if name not in found and re.search(rf"(?<!def )\b{name}\(", each):
                source = functions[name].rstrip()
                for word, expression in spelled.items():
                    source = source.replace(word, expression)
                found[name] = source
                waiting.append(source)
    return [f"\n{found[name]}" for name in functions if name in found]
