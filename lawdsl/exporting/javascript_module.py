"""Exported -> a JavaScript module (ECMAScript 2022) without dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

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
from lawdsl.exporting.names import block_comment, javascript_string, line_comment
from lawdsl.exporting.targets import JAVASCRIPT

INDENT = JAVASCRIPT.indent

HELPERS: Mapping[str, str] = {
    "_own": """
function _own(object, name, otherwise) {
  if (object !== null && typeof object === "object" && Object.hasOwn(object, name)) {
    return object[name];
  }
  if (otherwise === undefined) throw new TypeError(`no value of ${name}`);
  return otherwise;
}
""",
    "_parameters": """
function _parameters(parameters) {
  if (typeof parameters !== "object" || parameters === null) {
    throw new TypeError("parameters is no object of values");
  }
  Object.keys(parameters).forEach((name) => {
    if (!Object.hasOwn(PARAMETERS, name)) throw new RangeError(`${name} is no parameter`);
  });
  return { ...PARAMETERS, ...parameters };
}
""",
    "_number": """
function _number(name, x) {
  if (typeof x !== "number") throw new TypeError(`${name} is not a number`);
  if (!Number.isFinite(x)) throw new RangeError(`${name} = ${x} is not a finite number`);
  return x;
}
""",
    "_require": """
function _require(name, x, inside, domain) {
  if (!inside) throw new RangeError(`${name} = ${x} is outside its domain: ${domain}`);
}
""",
    "_byLabel": """
function _byLabel(name, values, labels) {
  if (!Array.isArray(values)) {
    const known = new Set(labels);
    if (Object.keys(values).some((label) => !known.has(label))) {
      throw new RangeError(`${name} has a value for each of ${labels.join(", ")}, and no other`);
    }
    values = labels.map((label) => _own(values, label));
  }
  if (values.length !== labels.length) {
    throw new RangeError(`${name} needs a value for each of ${labels.join(", ")}`);
  }
  return values.map((x, k) => _number(`${name}[${labels[k]}]`, x));
}
""",
    "_shares": """
/** Shares in the order of the labels; one of them is 1 minus the others. */
function _shares(name, values, labels, rest) {
  const shares = _byLabel(name, values, labels);
  shares.forEach((x, k) => _require(`${name}[${labels[k]}]`, x, x >= 0, "at least 0"));
  const total = shares.reduce((sum, x) => sum + x, 0);
  _require(`the sum of ${name}`, total, Math.abs(total - 1) <= 0.02, "1");
  const left = 1 - shares.reduce((sum, x, k) => (k === rest ? sum : sum + x), 0);
  shares[rest] = left < 1e-12 ? 0 : left;
  return shares;
}
""",
    "_position": """
function _position(name, label, labels) {
  const position = labels.indexOf(String(label));
  if (position < 0) throw new RangeError(`${name} = ${label} is none of ${labels.join(", ")}`);
  return position;
}
""",
    "_each": """
function _each(count, body) {
  return Array.from({ length: count }, (_, k) => body(k));
}
""",
    "_sum": """
function _sum(count, body) {
  let total = 0;
  for (let k = 0; k < count; k++) total += body(k);
  return total;
}
""",
    "_prod": """
function _prod(count, body) {
  let product = 1;
  for (let k = 0; k < count; k++) product *= body(k);
  return product;
}
""",
    "_freeSlopes": """
/** The derivatives by the free parameters, which move several elements where others are tied. */
function _freeSlopes(slopes, terms) {
  const at = (values, positions) => positions.reduce((list, position) => list[position], values);
  return terms.map((each) =>
    each.reduce((sum, [factor, name, positions]) => sum + factor * at(slopes[name], positions), 0),
  );
}
""",
    "_standardError": """
/** The length of F·g; infinite where the fitted rows do not determine the prediction. */
function _standardError(slopes, factor, nullSpace, scale) {
  const dot = (row, values) => row.reduce((sum, x, k) => sum + x * values[k], 0);
  const length = (values) => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0));
  const error = length(factor.map((row) => dot(row, slopes)));
  const scaled = slopes.map((g, k) => scale[k] * g);
  const missed = length(nullSpace.map((row) => dot(row, scaled)));
  const determined = !nullSpace.length || missed <= 1e-6 * length(scaled);
  return determined && error < Infinity ? error : Infinity;
}
""",
}


def javascript_module(made: Exported) -> str:
    """The text of a module.

    Args:
        made: the content.
    """
    module = module_of(made, JAVASCRIPT)
    body = [
        *_data(module),
        *_public(module),
        *_inputs(module),
        *_steps(module),
    ]
    text = "\n".join(body)
    helpers = "\n".join(_helpers(text))
    comment = "\n".join(_documentation(heading(made)))
    return f"{comment}\n\n{text.strip()}\n{helpers}\n"


def _documentation(lines: Sequence[str]) -> list[str]:
    inner = [f" * {block_comment(line)}".rstrip() for line in lines]
    return ["/**", *inner, " */"]


def _entry(name: str, value: str) -> str:
    # a computed key: `__proto__` as a plain one would set the prototype
    return f"[{javascript_string(name)}]: {value},"


def _data(module: Module) -> list[str]:
    """The labels, the values of the parameters, and their joint errors."""
    made, lines = module.made, []
    if made.labels:
        lines += ["", "export const LABELS = {"]
        for over, labels in made.labels.items():
            texts = ", ".join(map(javascript_string, labels))
            lines.append(INDENT + _entry(over, f"[{texts}]"))
        lines.append("};")
    lines += ["", "export const PARAMETERS = {"]
    for constant in made.constants:
        comment = line_comment(remark(constant))
        entry = INDENT + _entry(constant.name, module.literal(constant.values))
        lines.append(f"{entry} // {comment}" if comment else entry)
    lines += ["};"]
    if not made.errors:
        return [*lines, "", f"// no intervals: {line_comment(made.why_no_errors)}"]
    lines += [
        "",
        "// The covariance of the free parameters is FᵀF, with F the rows of the factor; those of the",
        "// null space, in parameters divided by their scale, are what the fitted rows leave open.",
        f"export const LEVEL = {made.level!r};",
        "export const PARTS = [",
    ]
    for errors in made.errors:
        terms = [f"[{', '.join(map(_term, each))}]," for each in errors.terms]
        entries = [
            f"quantile: {module.target.number(errors.quantile)}, // {errors.dof:g} degrees of freedom",
            *("terms: [", *(f"{INDENT}{term}" for term in terms), "],"),
        ]
        for name, rows in (
            ("factor", errors.factor),
            ("nullSpace", errors.null_space),
            ("scale", errors.scale),
        ):
            first, *rest = module.rows_of(rows)
            entries += [f"{name}: {first}", *rest]
            entries[-1] += ","
        lines += [f"{INDENT}{{", *(f"{INDENT * 2}{entry}" for entry in entries), f"{INDENT}}},"]
    return [*lines, "];"]


def _term(term: Term) -> str:
    positions = ", ".join(map(str, term.positions))
    return f"[{JAVASCRIPT.number(term.coefficient)}, {javascript_string(term.name)}, [{positions}]]"


def _inputs_text(module: Module) -> list[str]:
    """The lines of a comment about the inputs of a public function."""
    made = module.made
    lines = ["@param inputs an object with these entries:"]
    for variable in made.variables:
        each = "an object with a value for each label, or an array; " if variable.over else ""
        lines.append(f"    {variable.name}: {each}{described(variable)}")
    for index, over in made.rows.items():
        lines.append(f"    {over}: label of {made.index_sets[index]}")
    return lines


def _public(module: Module) -> Iterator[str]:
    made, bound = module.made, "".join(f", {name}" for name in module.bound)
    unit = f", in {made.unit}" if made.unit else ""
    doc = f": {made.doc}" if made.doc else ""
    about = _inputs_text(module)
    other = "@param parameters other values of some, in the form of PARAMETERS"
    throws = "@throws RangeError: a value that is not finite, or outside its domain; an unknown parameter"
    functions = [
        ("predict", "_value", f"{made.output}{unit}{doc}."),
        ("gradient", "_variableSlopes", f"The derivative of {made.output} by each variable."),
        (
            "parameterGradient",
            "_parameterSlopes",
            f"The derivative of {made.output} by each parameter.",
        ),
    ]
    for name, private, text in functions:
        yield from ("", *_documentation([text, "", *about, other, throws]))
        yield f"export function {name}(inputs, parameters = PARAMETERS) {{"
        yield from _checked(module)
        yield f"{INDENT}return {private}(_parameters(parameters){bound});"
        yield "}"
    if made.errors:
        yield from _interval(module, about, throws, bound)


def _interval(module: Module, about: Sequence[str], throws: str, bound: str) -> Iterator[str]:
    made = module.made
    text = [
        f"{made.output} and the ends of its {100 * made.level:g} % interval: [value, low, high].",
        "By the delta method, from the errors of the parameters: the noise of the fitted rows is in",
        "it, the error of the law is not.",
    ]
    yield from ("", *_documentation([*text, "", *about, throws]))
    yield "export function predictWithInterval(inputs) {"
    yield from _checked(module)
    lines = [
        f"const part = PARTS[{part_number(module)}];",
        f"const value = _value(PARAMETERS{bound});",
        f"const slopes = _freeSlopes(_parameterSlopes(PARAMETERS{bound}), part.terms);",
        "const error = _standardError(slopes, part.factor, part.nullSpace, part.scale);",
    ]
    if made.errors[0].log:
        lines += [
            "if (!(value > 0)) return [value, -Infinity, Infinity];",
            "const half = (part.quantile * error) / value; // of the logarithm",
            "return [value, value * Math.exp(-half), value * Math.exp(half)];",
        ]
    else:
        lines += [
            "const half = part.quantile * error;",
            "return [value, value - half, value + half];",
        ]
    yield from (INDENT + line for line in lines)
    yield "}"


def _checked(module: Module) -> list[str]:
    if not module.bound:
        return []
    return [f"{INDENT}const [{', '.join(module.bound)}] = _inputs(inputs);"]


def _inputs(module: Module) -> Iterator[str]:
    """The function that checks the inputs."""
    if not module.bound:
        return
    made = module.made
    yield from ("", "function _inputs(inputs) {")
    for variable in made.variables:
        identifier, name = module.arguments[variable.name], javascript_string(variable.name)
        value, labels = f"_own(inputs, {name})", f"LABELS[{javascript_string(variable.over)}]"
        if variable.left_out is not None:
            value = f"_shares({name}, {value}, {labels}, {variable.left_out})"
        elif variable.over:
            value = f"_byLabel({name}, {value}, {labels})"
        else:
            value = f"_number({name}, {value})"
        yield f"{INDENT}const {identifier} = {value};"
        if variable.left_out is None:
            yield from _bounds(module, variable, name, identifier)
    for index in module.rows:
        known = made.labels[made.index_sets[index]]
        only = f", {javascript_string(known[0])}" if len(known) == 1 else ""
        name = javascript_string(made.rows[index])
        labels = f"LABELS[{javascript_string(made.index_sets[index])}]"
        call = f"_position({name}, _own(inputs, {name}{only}), {labels})"
        yield f"{INDENT}const {module.positions[index]} = {call};"
    yield f"{INDENT}return [{', '.join(module.bound)}];"
    yield "}"


def _bounds(
    module: Module, variable: ExportedVariable, name: str, identifier: str
) -> Iterator[str]:
    for bound in variable.bounds:
        limit = module.target.number(bound.limit)
        domain = javascript_string(f"{variable.name} {bound.relation} {bound.limit:g}")
        check = f"_require({name}, {{0}}, {{0}} {bound.relation} {limit}, {domain})"
        if variable.over:
            yield f"{INDENT}{identifier}.forEach((_x) => {check.format('_x')});"
        else:
            yield f"{INDENT}{check.format(identifier)};"


def _steps(module: Module) -> list[str]:
    """The functions that compute the law and its derivatives."""
    made = module.made
    writer, value = module.writer(), made.program.value
    writer.statements([value])
    returned = writer.returned(value)
    lines = [*_head(module, "_value", [value]), *writer.lines, f"{INDENT}return {returned[0]}"]
    lines += [INDENT + line for line in returned[1:]]
    lines[-1] += ";"
    lines += ["}"]
    parameters = [(c.name, c.over) for c in differentiated(made)]
    variables = [(v.name, sets_of(v)) for v in made.variables]
    for function, names in (("_parameterSlopes", parameters), ("_variableSlopes", variables)):
        roots = roots_of(made, [name for name, _ in names])
        writer = module.writer()
        writer.statements(roots)
        entries = [_entry(name, slope_of(module, writer, name, over)) for name, over in names]
        lines += [*_head(module, function, roots), *writer.lines, f"{INDENT}return {{"]
        lines += [*(INDENT * 2 + entry for entry in entries), f"{INDENT}}};", "}"]
    return lines


def _head(module: Module, name: str, roots: Sequence[int]) -> list[str]:
    inputs = "".join(f", {x}" for x in module.bound)
    reads = [
        f"{INDENT}const {module.locals[c.name]} = _own(parameters, {javascript_string(c.name)});"
        for c in module.used(roots)
    ]
    return ["", f"function {name}(parameters{inputs}) {{", *reads]


def _helpers(text: str) -> Iterator[str]:
    """The functions that a text calls, and those that they call."""
    found: set[str] = set()
    waiting = [text]
    while waiting:
        each = waiting.pop()
        for name, source in HELPERS.items():
            if name not in found and re.search(rf"(?<!function )\b{name}\(", each):
                found.add(name)
                waiting.append(source)
    yield from (HELPERS[name].rstrip() for name in HELPERS if name in found)
