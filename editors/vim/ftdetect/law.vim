autocmd BufNewFile,BufRead *.law setfiletype law
