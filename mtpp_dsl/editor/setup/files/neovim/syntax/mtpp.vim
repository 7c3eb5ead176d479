" Colours of mtpp specs, for buffers without semantic tokens. The words are those of the grammar.
if exists("b:current_syntax")
  finish
endif
syntax case match
syntax iskeyword @,48-57,_
syntax match mtppName /\<[A-Za-z_]\w*\>/
syntax match mtppFunction /\<\%({{functions|}}\)\>\ze\s*(/
syntax match mtppOption /\<[A-Za-z_]\w*\>\ze\s*==\@!/
syntax match mtppStatement /\%(^\|{\)\s*\zs\<\%({{statements|}}\)\>\%(\s*=\)\@!/
syntax match mtppStatement /\<\%({{statements|}}\)\>\ze\s\+\%(\%({{joining|}}\)\>\)\@![A-Za-z_"]/
syntax match mtppRule /\%(\<constraint\s\+\)\@<=\<\%({{rules|}}\)\>\%(\s*:\)\@!/
syntax match mtppLabel /\%(\<\%(constraint\|minimize\|maximize\)\s\+\)\@<=\<[A-Za-z_]\w*\>\ze\s*:/
syntax match mtppDeclared /\%(\<\%(node\|device\|switch\|type\|block\|param\|let\|def\)\s\+\)\@<=\<[A-Za-z_]\w*\>/
syntax match mtppType /\%(\<param\s\+[A-Za-z_]\w*\s*:\s*\)\@<=\<[A-Za-z_]\w*\>/
syntax keyword mtppControl {{control }}
syntax keyword mtppOperator {{operators }}
syntax keyword mtppJoining on in by from as
syntax match mtppJoining /\<at most\>\|\<up to\>\|\%(exclusive \)\@<=links\>/
syntax keyword mtppConstant {{constants }}
syntax match mtppNumber /\<\d[0-9_]*\%(\.\.\@!\d*\)\=\%([eE][+-]\=\d\+\)\=/ nextgroup=mtppUnit skipwhite
syntax match mtppUnit /\%({{units|}}\)\%(\w\)\@!/ contained
syntax match mtppEscape /\\./ contained
syntax region mtppString start=/"/ skip=/\\./ end=/"/ oneline contains=mtppEscape
syntax match mtppComment /#.*/ contains=@Spell

highlight default link mtppComment Comment
highlight default link mtppString String
highlight default link mtppEscape SpecialChar
highlight default link mtppNumber Number
highlight default link mtppUnit Type
highlight default link mtppType Type
highlight default link mtppConstant Constant
highlight default link mtppControl Conditional
highlight default link mtppOperator Operator
highlight default link mtppJoining Keyword
highlight default link mtppStatement Statement
highlight default link mtppRule PreProc
highlight default link mtppLabel Label
highlight default link mtppDeclared Identifier
highlight default link mtppOption Identifier
highlight default link mtppFunction Function
let b:current_syntax = "mtpp"
