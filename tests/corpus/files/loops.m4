divert(-1)
define(`forloop', `pushdef(`$1', `$2')_forloop($@)popdef(`$1')')
define(`_forloop', `$4`'ifelse($1, `$3', `', `define(`$1', incr($1))$0($@)')')
define(`fact', `ifelse($1, 0, 1, `eval($1 * fact(decr($1)))')')
divert(0)dnl
forloop(`i', 1, 10, `i: fact(i) translit(`abc', `a-c', `x-z') eval(i ** 3, 16)
')dnl
forloop(`i', 1, 300, `define(`v'i, `eval(i * i)')')dnl
v17 v200 len(`patsubst(`hello world', `o', `00')') regexp(`faultline', `l\(.*\)', `\1')
