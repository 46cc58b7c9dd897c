" Writes the highlight group of each character of the open file to $GROUPS, a line for each line.
syntax on
syntax sync fromstart
let s:lines = []
for s:line in range(1, line("$"))
  let s:names = []
  let s:column = 1
  for s:char in split(getline(s:line), '\zs')
    call add(s:names, synIDattr(synID(s:line, s:column, 1), "name"))
    let s:column += len(s:char)
  endfor
  call add(s:lines, join(s:names, ","))
endfor
call writefile(s:lines, $GROUPS)
qall!
