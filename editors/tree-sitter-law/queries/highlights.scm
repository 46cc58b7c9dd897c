; Highlighting for Neovim; where two patterns match, the later one counts.
; Made by `python -m lawdsl.highlighting`; do not edit.

(kind) @keyword.type

[
  (tendency)
  "over"
  "simplex"
  "integer"
  "against"
  "from"
  "since"
  "by"
  "where"
  "at"
  "to"
  "for"
  "expect"
  "in"
  "unit"
  "finite"
  "as"
  "is"
] @keyword

[
  "given"
  "step"
  "keep"
  "uses"
  "choose"
  "subject"
  "prior"
  "note"
  "fix"
  "tie"
  "source"
  "extends"
  "index"
  "variable"
  "setting"
  "parameter"
  "let"
  "measure"
  "identify"
  "require"
  "minimize"
  "start"
  "maximize"
] @keyword

[
  "if"
  "then"
  "else"
] @keyword.conditional

[
  "!="
  (relation)
  "+"
  "-"
  "±"
  "*"
  "/"
  "∂"
  (order)
  "="
  ".."
  "^"
  "->"
  "..."
] @operator

[
  "("
  ")"
  "]"
  "}"
  "{"
  "["
] @punctuation.bracket

(numeral) @number

(string) @string

[
  ","
  ":"
  "."
] @punctuation.delimiter

(comment) @comment

((identifier) @constant.builtin
  (#any-of? @constant.builtin "pi" "oo" "∞"))

(call
  . (identifier) @function.builtin
  (#any-of? @function.builtin "exp" "log" "log10" "sqrt" "sin" "cos" "tan" "atan" "tanh" "abs" "min" "max" "sum" "prod" "diff" "huber" "squared" "absolute" "quantile" "straightest"))

(aggregate
  . (identifier) @function.builtin
  (#any-of? @function.builtin "exp" "log" "log10" "sqrt" "sin" "cos" "tan" "atan" "tanh" "abs" "min" "max" "sum" "prod" "diff" "huber" "squared" "absolute" "quantile" "straightest"))

(unit_factor
  (identifier) @type.builtin)

(require
  "expect"
  (identifier) @constant)

(section
  (path [(identifier) "."] @module))

(extends
  (path [(identifier) "."] @module))

(reduction
  (path [(identifier) "."] @module))

(step
  (path [(identifier) "."] @module))

(uses
  (path [(identifier) "."] @module))
