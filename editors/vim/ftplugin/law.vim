" Vim file type plugin
" Language: law

if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal comments=:# commentstring=#\ %s
setlocal formatoptions-=t formatoptions+=croql
setlocal suffixesadd=.law
let b:undo_ftplugin = "setlocal comments< commentstring< formatoptions< suffixesadd<"
