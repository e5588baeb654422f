%{
#include <stdio.h>
int yylex(void);
void yyerror(const char *s);
%}
%token NUMBER
%left '+' '-'
%left '*' '/'
%right UMINUS
%%
input: | input line;
line: '\n' | sum '\n' { printf("%d\n", $1); };
sum: sum '+' sum { $$ = $1 + $3; }
   | sum '-' sum { $$ = $1 - $3; }
   | sum '*' sum { $$ = $1 * $3; }
   | sum '/' sum { $$ = $3 ? $1 / $3 : 0; }
   | '-' sum %prec UMINUS { $$ = -$2; }
   | '(' sum ')' { $$ = $2; }
   | NUMBER;
%%
