// The grammar of .law files for tree-sitter.
// Made from grammars/law.lark by `python -m lawdsl.highlighting`; do not edit.

module.exports = grammar({
  name: "law",

  externals: ($) => [
    $.kind,
    $.tendency,
    "over",
    "simplex",
    "integer",
    "against",
    "given",
    "step",
    "keep",
    "from",
    "since",
    "by",
    "where",
    "at",
    "uses",
    "choose",
    "subject",
    "to",
    "prior",
    "note",
    "if",
    "then",
    "else",
    "fix",
    "tie",
    "!=",
    $.relation,
    "+",
    "-",
    "±",
    "*",
    "/",
    "(",
    ")",
    "]",
    "}",
    "∂",
    $.order,
    $.numeral,
    $.identifier,
    $.string,
    "source",
    "extends",
    "index",
    "variable",
    "setting",
    "=",
    "parameter",
    "let",
    ",",
    "measure",
    "identify",
    "for",
    "expect",
    "require",
    "minimize",
    "start",
    "in",
    "{",
    ":",
    "maximize",
    "[",
    "..",
    "unit",
    "^",
    "finite",
    "->",
    "as",
    "is",
    ".",
    "...",
    $.comment,
    $._line_end,
    $._line_joint,
    $._illegal,
  ],

  extras: ($) => [/[ \t]|\r?\n/, $.comment, $._line_joint],

  rules: {
    source_file: ($) => repeat(seq($._statement, $._line_end)),

    _statement: ($) =>
      choice($.section, $.source, $.note, $.extends, $.index, $.variable, $.setting, $.parameter, $.let, $.output, $.hold, $.measure, $.identify, $.require, $.minimize, $._start, $.prior, $.given, $.step, $.keep, $.uses, $.choose, $.maximize, $.subject),

    section: ($) =>
      seq($.kind, $.path, optional($.string)),

    source: ($) =>
      seq("source", $.string),

    note: ($) =>
      seq("note", $.string),

    extends: ($) =>
      seq("extends", $.path),

    index: ($) =>
      seq("index", $.names, "over", $._set),

    variable: ($) =>
      seq("variable", $.items, optional($.unit_of), optional($.string)),

    setting: ($) =>
      seq("setting", $._named, "=", $._formula, optional($.unit_of), optional($.string)),

    parameter: ($) =>
      seq("parameter", $.items, optional($.unit_of), optional($.string)),

    let: ($) =>
      seq("let", $._named, "=", $._formula, optional($.unit_of), optional($.string)),

    output: ($) =>
      seq($._named, "=", $._formula, optional($.unit_of), optional($.string)),

    hold: ($) =>
      seq(choice("fix", "tie"), $.assignment, repeat(seq(",", $.assignment))),

    measure: ($) =>
      seq("measure", $._named, "=", $._formula),

    identify: ($) =>
      seq("identify", $._formula, "=", $._formula),

    require: ($) =>
      seq("require", $._claim, optional(seq("for", $.conditions)), optional(seq("expect", $.identifier))),

    minimize: ($) =>
      seq("minimize", $._formula),

    start_grid: ($) =>
      seq("start", $.formulas, "in", "{", $.spread, "}"),

    start_point: ($) =>
      seq("start", $.assignment, repeat(seq(",", $.assignment))),

    _start: ($) =>
      choice($.start_grid, $.start_point),

    prior: ($) =>
      seq("prior", $._formula, "=", $._formula, "±", $._formula),

    given: ($) =>
      seq("given", $.items, optional($.unit_of), optional($.string)),

    step: ($) =>
      seq("step", optional(seq($.identifier, ":")), $.path, optional($.origin), optional($.baseline), optional($.grouping), optional($.choosing), optional($.point)),

    keep: ($) =>
      seq("keep", $.identifier, $.origin, optional($.choosing)),

    origin: ($) =>
      seq("from", $.names),

    baseline: ($) =>
      seq("since", $.assignment),

    grouping: ($) =>
      seq("by", $.names),

    choosing: ($) =>
      seq("where", $._choice, repeat(seq(",", $._choice))),

    point: ($) =>
      seq("at", $.assignment, repeat(seq(",", $.assignment))),

    chosen: ($) =>
      choice(seq($.identifier, $.relation, $._formula), seq($.identifier, "!=", $._label)),

    equals: ($) =>
      seq($.identifier, "=", $._label),

    _choice: ($) =>
      choice($.chosen, $.equals),

    label: ($) =>
      $.string,

    _label: ($) =>
      choice($._formula, $.label),

    uses: ($) =>
      seq("uses", $.names, ":", $.path),

    choose: ($) =>
      seq("choose", $.items, optional($.unit_of), optional($.string)),

    maximize: ($) =>
      seq("maximize", $._formula),

    subject: ($) =>
      seq("subject", "to", $._relation, repeat(seq(",", $._relation)), optional($.string)),

    comparison: ($) =>
      seq($._formula, $.relation, $._formula),

    equality: ($) =>
      seq($._formula, "=", $._formula),

    _relation: ($) =>
      choice($.comparison, $.equality),

    _named: ($) =>
      choice($.identifier, $.element),

    element: ($) =>
      seq($.identifier, "[", $.subscripts, "]"),

    subscripts: ($) =>
      seq($._subscript, repeat(seq(",", $._subscript))),

    _subscript: ($) =>
      choice($.identifier, $.string),

    names: ($) =>
      seq($.identifier, repeat(seq(",", $.identifier))),

    range: ($) =>
      seq($.numeral, "..", $.numeral),

    listed: ($) =>
      seq("{", $.names, "}"),

    _set: ($) =>
      choice($.identifier, $.range, $.listed),

    items: ($) =>
      seq($.item, repeat(seq(",", $.item))),

    item: ($) =>
      seq($._named, optional($._domain)),

    bound: ($) =>
      seq($.relation, $._formula),

    interval: ($) =>
      seq("in", $.left, $._formula, ",", $._formula, $.right),

    simplex: ($) =>
      seq("in", "simplex"),

    choices: ($) =>
      seq("in", "{", $.formulas, "}"),

    integer: ($) =>
      seq("integer", $.integers),

    _domain: ($) =>
      choice($.bound, $.interval, $.simplex, $.choices, $.integer),

    integers: ($) =>
      seq("in", $.left, $._formula, ",", $._formula, $.right),

    left: ($) =>
      choice("[", "("),

    right: ($) =>
      choice("]", ")"),

    conditions: ($) =>
      seq($.condition, repeat(seq(",", $.condition))),

    condition: ($) =>
      seq($._named, $._domain),

    unit_of: ($) =>
      seq("unit", $.unit_factor, repeat(seq(choice("*", "/"), $.unit_factor))),

    unit_factor: ($) =>
      seq($.identifier, optional(seq("^", $.unit_power))),

    unit_power: ($) =>
      seq(optional("-"), $.numeral),

    finite: ($) =>
      seq($._formula, "finite"),

    trend: ($) =>
      seq($._formula, $.tendency, "in", $._named, optional(seq("against", $._named))),

    limit: ($) =>
      seq($._formula, "->", $._formula, "as", $.approach, repeat(seq(",", $.approach))),

    reduction: ($) =>
      seq($._formula, "is", $.path),

    _claim: ($) =>
      choice($.comparison, $.finite, $.trend, $.limit, $.reduction),

    approach: ($) =>
      seq($._named, "->", $._formula),

    conditional: ($) =>
      seq("if", $._added, $.relation, $._added, "then", $._formula, "else", $._formula),

    _formula: ($) =>
      choice($._added, $.conditional),

    sum: ($) =>
      seq($._product, repeat1(seq(choice("+", "-"), $._product))),

    _added: ($) =>
      choice($._product, $.sum),

    product: ($) =>
      seq($._unary, repeat1(seq(choice("*", "/"), $._unary))),

    _product: ($) =>
      choice($._unary, $.product),

    negative: ($) =>
      seq("-", $._unary),

    _unary: ($) =>
      choice($._power, $.negative),

    power: ($) =>
      seq($._atom, "^", $._unary),

    _power: ($) =>
      choice($._atom, $.power),

    number: ($) =>
      $.numeral,

    name: ($) =>
      $.path,

    element_of_law: ($) =>
      seq($.identifier, repeat1(seq(".", $.identifier)), "[", $.names, "]"),

    call: ($) =>
      seq($.identifier, "(", $.arguments, ")"),

    call_of_element: ($) =>
      seq($.element, "(", $.arguments, ")"),

    aggregate: ($) =>
      seq($.identifier, "(", $._formula, "for", $.names, ")"),

    derivative: ($) =>
      seq("∂", optional($.order), $._named, "/", repeat1($.partial)),

    group: ($) =>
      seq("(", $._formula, ")"),

    _atom: ($) =>
      choice($.element, $.number, $.name, $.element_of_law, $.call, $.call_of_element, $.aggregate, $.derivative, $.group),

    arguments: ($) =>
      seq($._argument, repeat(seq(",", $._argument))),

    keyword: ($) =>
      seq($.identifier, "=", $._formula),

    argument: ($) =>
      $._formula,

    _argument: ($) =>
      choice($.argument, $.keyword),

    partial: ($) =>
      seq("∂", $._named, optional($.order)),

    path: ($) =>
      seq($.identifier, repeat(seq(".", $.identifier))),

    formulas: ($) =>
      seq($._formula, repeat(seq(",", $._formula))),

    spread: ($) =>
      seq($._spread_item, repeat(seq(",", $._spread_item))),

    ellipsis: ($) =>
      "...",

    _spread_item: ($) =>
      choice($._formula, $.ellipsis),

    assignment: ($) =>
      seq($._named, "=", $._formula),
  },
});
