" Vim syntax file
" Language: law
" Made by `python -m lawdsl.highlighting`; do not edit.

if exists("b:current_syntax")
  finish
endif

syntax match lawName `\<\h\w*\>`
syntax match lawOperator `[-+*/^=<>≤≥±∂²³⁴⁵⁶⁷⁸⁹∞]\|!=\|->\|\.\.\.\=`
syntax match lawBracket `[][(){}]`
syntax match lawDelimiter `[,:]\|\.\@1<!\.\.\@!`
syntax match lawNumber `\<\d\+\%(\.\d\+\)\=\%([eE][-+]\=\d\+\)\=\>`
syntax match lawConstant `\<\%(pi\|oo\)\>`
syntax match lawFunction `\<\%(exp\|log\|log10\|sqrt\|sin\|cos\|tan\|atan\|tanh\|abs\|min\|max\|sum\|prod\|diff\|huber\|squared\|absolute\|quantile\|straightest\)\>\ze\s*(`
syntax match lawKeyword `\<\%(for\|in\|is\|as\|expect\|finite\|increasing\|decreasing\|convex\|concave\)\>`
syntax match lawConditional `\<\%(if\|then\|else\)\>`
syntax match lawKeyword `\%(^\s*\<\%(index\)\>.*\)\@<=\<over\>`
syntax match lawKeyword `\%(^\s*\<\%(variable\|parameter\|given\|choose\)\>.*\)\@<=\<simplex\>`
syntax match lawKeyword `\%(^\s*\<\%(choose\)\>.*\)\@<=\<integer\>`
syntax match lawKeyword `\%(^\s*\<\%(require\)\>.*\)\@<=\<against\>`
syntax match lawKeyword `\%(^\s*\<\%(step\|keep\)\>.*\)\@<=\<from\>`
syntax match lawKeyword `\%(^\s*\<\%(step\)\>.*\)\@<=\<since\>`
syntax match lawKeyword `\%(^\s*\<\%(step\)\>.*\)\@<=\<by\>`
syntax match lawKeyword `\%(^\s*\<\%(step\|keep\)\>.*\)\@<=\<where\>`
syntax match lawKeyword `\%(^\s*\<\%(step\)\>.*\)\@<=\<at\>`
syntax match lawKeyword `\%(^\s*\<\%(subject\)\>.*\)\@<=\<to\>`
syntax match lawUnit `\%(\<unit\s\+[^\"#]*\)\@<=\<\h\w*\>`
syntax match lawKeyword `\<unit\>`
syntax match lawVerdict `\%(\<expect\s\+\)\@<=\<\h\w*\>`
syntax match lawLaw `\%(^\s*\%(law\|question\|pipeline\|extends\)\s\+\)\@<=\h[A-Za-z0-9_.]*`
syntax match lawLaw `\%(^\s*step\s\+\)\@<=\h[A-Za-z0-9_.]*\%(\s*:\|\w\)\@!`
syntax match lawLaw `\%(:\s*\|\<is\s\+\)\@<=\h[A-Za-z0-9_.]*`
syntax match lawStatement `^\s*\zs\<\%(source\|extends\|index\|variable\|setting\|parameter\|let\|fix\|tie\|measure\|identify\|require\|minimize\|maximize\|start\)\>`
syntax match lawStatement `^\s*\zs\<\%(given\|step\|keep\|uses\|choose\|subject\|prior\)\>\ze\s*\h`
syntax match lawStatement `^\s*\zsnote\ze\s*\"`
syntax match lawSection `^\s*\zs\<\%(law\|question\|pipeline\)\>`
syntax match lawString `"\%([^"]\|""\)*"`
syntax match lawComment `#.*$` contains=@Spell

highlight default link lawSection Structure
highlight default link lawStatement Statement
highlight default link lawKeyword Keyword
highlight default link lawConditional Conditional
highlight default link lawLaw Identifier
highlight default link lawVerdict Constant
highlight default link lawFunction Function
highlight default link lawConstant Constant
highlight default link lawUnit Type
highlight default link lawNumber Number
highlight default link lawString String
highlight default link lawComment Comment
highlight default link lawOperator Operator
highlight default link lawBracket Delimiter
highlight default link lawDelimiter Delimiter
highlight default link lawIllegal Error

let b:current_syntax = "law"
