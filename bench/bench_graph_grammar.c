// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_graph_work.h"

#include <stdio.h>

/*
 * The phrase structure of C as ISO 9899:1990 has it (its annex B), written for bison: what
 * the paper calls "ANSI C grammar". Typedef names are tokens of their own.
 */
static const char grammar[] =
	"%token NAME TYPE CONSTANT STRING SIZEOF ARROW INC DEC SHL SHR LE GE EQ NE\n"
	"%token AND OR MUL_SET DIV_SET MOD_SET ADD_SET SUB_SET SHL_SET SHR_SET AND_SET\n"
	"%token XOR_SET OR_SET TYPEDEF EXTERN STATIC AUTO REGISTER CHAR SHORT INT LONG\n"
	"%token SIGNED UNSIGNED FLOAT DOUBLE CONST VOLATILE VOID STRUCT UNION ENUM MORE\n"
	"%token CASE DEFAULT IF ELSE SWITCH WHILE DO FOR GOTO CONTINUE BREAK RETURN\n"
	"%expect 1\n"
	"%start unit\n"
	"%%\n"
	"primary: NAME | CONSTANT | STRING | '(' expression ')';\n"
	"postfix: primary | postfix '[' expression ']' | postfix '(' ')'\n"
	"  | postfix '(' arguments ')' | postfix '.' NAME | postfix ARROW NAME\n"
	"  | postfix INC | postfix DEC;\n"
	"arguments: assignment | arguments ',' assignment;\n"
	"unary: postfix | INC unary | DEC unary | unary_op cast | SIZEOF unary\n"
	"  | SIZEOF '(' type_name ')';\n"
	"unary_op: '&' | '*' | '+' | '-' | '~' | '!';\n"
	"cast: unary | '(' type_name ')' cast;\n"
	"product: cast | product '*' cast | product '/' cast | product '%' cast;\n"
	"sum: product | sum '+' product | sum '-' product;\n"
	"shift: sum | shift SHL sum | shift SHR sum;\n"
	"order: shift | order '<' shift | order '>' shift | order LE shift\n"
	"  | order GE shift;\n"
	"equality: order | equality EQ order | equality NE order;\n"
	"bit_and: equality | bit_and '&' equality;\n"
	"bit_xor: bit_and | bit_xor '^' bit_and;\n"
	"bit_or: bit_xor | bit_or '|' bit_xor;\n"
	"both: bit_or | both AND bit_or;\n"
	"either: both | either OR both;\n"
	"choice: either | either '?' expression ':' choice;\n"
	"assignment: choice | unary assign_op assignment;\n"
	"assign_op: '=' | MUL_SET | DIV_SET | MOD_SET | ADD_SET | SUB_SET | SHL_SET\n"
	"  | SHR_SET | AND_SET | XOR_SET | OR_SET;\n"
	"expression: assignment | expression ',' assignment;\n"
	"constant: choice;\n"
	"declaration: specifiers ';' | specifiers init_list ';';\n"
	"specifiers: storage | storage specifiers | type | type specifiers | qualifier\n"
	"  | qualifier specifiers;\n"
	"init_list: init_declarator | init_list ',' init_declarator;\n"
	"init_declarator: declarator | declarator '=' initializer;\n"
	"storage: TYPEDEF | EXTERN | STATIC | AUTO | REGISTER;\n"
	"type: VOID | CHAR | SHORT | INT | LONG | FLOAT | DOUBLE | SIGNED | UNSIGNED\n"
	"  | aggregate | enumeration | TYPE;\n"
	"aggregate: kind NAME '{' members '}' | kind '{' members '}' | kind NAME;\n"
	"kind: STRUCT | UNION;\n"
	"members: member | members member;\n"
	"member: qualified_types member_list ';';\n"
	"qualified_types: type qualified_types | type | qualifier qualified_types\n"
	"  | qualifier;\n"
	"member_list: member_declarator | member_list ',' member_declarator;\n"
	"member_declarator: declarator | ':' constant | declarator ':' constant;\n"
	"enumeration: ENUM '{' enumerators '}' | ENUM NAME '{' enumerators '}'\n"
	"  | ENUM NAME;\n"
	"enumerators: enumerator | enumerators ',' enumerator;\n"
	"enumerator: NAME | NAME '=' constant;\n"
	"qualifier: CONST | VOLATILE;\n"
	"declarator: pointer direct | direct;\n"
	"direct: NAME | '(' declarator ')' | direct '[' constant ']' | direct '[' ']'\n"
	"  | direct '(' parameters ')' | direct '(' names ')' | direct '(' ')';\n"
	"pointer: '*' | '*' qualifiers | '*' pointer | '*' qualifiers pointer;\n"
	"qualifiers: qualifier | qualifiers qualifier;\n"
	"parameters: parameter_list | parameter_list ',' MORE;\n"
	"parameter_list: parameter | parameter_list ',' parameter;\n"
	"parameter: specifiers declarator | specifiers abstract | specifiers;\n"
	"names: NAME | names ',' NAME;\n"
	"type_name: qualified_types | qualified_types abstract;\n"
	"abstract: pointer | direct_abstract | pointer direct_abstract;\n"
	"direct_abstract: '(' abstract ')' | '[' ']' | '[' constant ']'\n"
	"  | direct_abstract '[' ']' | direct_abstract '[' constant ']' | '(' ')'\n"
	"  | '(' parameters ')' | direct_abstract '(' ')'\n"
	"  | direct_abstract '(' parameters ')';\n"
	"initializer: assignment | '{' initializers '}' | '{' initializers ',' '}';\n"
	"initializers: initializer | initializers ',' initializer;\n"
	"statement: labelled | compound | simple | selection | iteration | jump;\n"
	"labelled: NAME ':' statement | CASE constant ':' statement\n"
	"  | DEFAULT ':' statement;\n"
	"compound: '{' '}' | '{' statements '}' | '{' declarations '}'\n"
	"  | '{' declarations statements '}';\n"
	"declarations: declaration | declarations declaration;\n"
	"statements: statement | statements statement;\n"
	"simple: ';' | expression ';';\n"
	"selection: IF '(' expression ')' statement\n"
	"  | IF '(' expression ')' statement ELSE statement\n"
	"  | SWITCH '(' expression ')' statement;\n"
	"iteration: WHILE '(' expression ')' statement\n"
	"  | DO statement WHILE '(' expression ')' ';'\n"
	"  | FOR '(' simple simple ')' statement\n"
	"  | FOR '(' simple simple expression ')' statement;\n"
	"jump: GOTO NAME ';' | CONTINUE ';' | BREAK ';' | RETURN ';'\n"
	"  | RETURN expression ';';\n"
	"unit: external | unit external;\n"
	"external: function | declaration;\n"
	"function: specifiers declarator declarations compound\n"
	"  | specifiers declarator compound | declarator declarations compound\n"
	"  | declarator compound;\n";

struct err *bench_graph_grammar_write(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "w");

	if (!f || fputs(grammar, f) < 0 || fflush(f))
		return err_errno("cannot write '%s'", path);
	return NULL;
}

struct err *bench_graph_levels_write(const char *path, int n_levels)
{
	_cleanup_fclose_ FILE *f = fopen(path, "w");

	if (!f)
		return err_errno("cannot write '%s'", path);
	fprintf(f, "%%token NAME\n%%%%\n");
	for (int i = 0; i < n_levels; i++)
		fprintf(f, "level%d: level%d | level%d '%c' level%d;\n", i, i + 1, i,
			'A' + i, i + 1);
	fprintf(f, "level%d: NAME | '(' level0 ')';\n", n_levels);
	return fflush(f) ? err_errno("cannot write '%s'", path) : NULL;
}
