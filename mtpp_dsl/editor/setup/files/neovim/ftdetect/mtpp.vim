autocmd BufRead,BufNewFile *.mtpp setfiletype mtpp
