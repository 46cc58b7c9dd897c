; A file is one scope; sums, products and the conditions of a claim bind names of their own.
(source_file) @local.scope

(aggregate) @local.scope

(require) @local.scope

; What statements declare.
(variable (items (item (identifier) @local.definition.var)))
(parameter (items (item (identifier) @local.definition.var)))
(given (items (item (identifier) @local.definition.var)))
(choose (items (item (identifier) @local.definition.var)))
(item (element . (identifier) @local.definition.var))
(setting . "setting" . (identifier) @local.definition.constant)
(setting . "setting" . (element . (identifier) @local.definition.constant))
(let . "let" . (identifier) @local.definition.var)
(let . "let" . (element . (identifier) @local.definition.var))
(output . (identifier) @local.definition.var)
(output . (element . (identifier) @local.definition.var))
(index (names (identifier) @local.definition.parameter))
(uses (names (identifier) @local.definition.function))
(step . "step" . (identifier) @local.definition.function)
(keep . "keep" . (identifier) @local.definition.function)
(aggregate (names (identifier) @local.definition.parameter))

; Where they are used.
(path . (identifier) @local.reference)
(call . (identifier) @local.reference)
(element . (identifier) @local.reference)
(subscripts (identifier) @local.reference)
(derivative (identifier) @local.reference)
(partial (identifier) @local.reference)
(condition (identifier) @local.reference)
(approach . (identifier) @local.reference)
(assignment . (identifier) @local.reference)
(trend (identifier) @local.reference)
