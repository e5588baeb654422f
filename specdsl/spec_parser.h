// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to the parser (spec_parser.c, spec_declare.c, spec_cpoint.c, spec_constraint.c,
 * spec_expr.c, spec_operand.c): its state and the
 * steps that all its rules are made of. A rule that meets a mistake reports it, sets
 * is_panicking and returns; its callers return too, and spec_parse() goes on behind the
 * statement.
 */
#ifndef SPECDSL_SPEC_PARSER_H
#define SPECDSL_SPEC_PARSER_H

#include "specdsl/spec_ast.h"

/** The state of parsing one file. */
struct parser {
	struct spec *s;
	struct spec_file *f;
	struct token tok, next; ///< current token and the one behind it
	uint32_t last_end;	///< end of the token before tok
	uint32_t bad_end;	///< end of the last TOK_BAD that was reported
	bool is_panicking; ///< a mistake was reported; skip to the end of the statement
	bool is_in_header; ///< reading declarations that belong to what follows them
	bool is_in_attribute; ///< reading the rule of one
	bool is_in_bars;      ///< of an absolute value, which the next `|` ends
	bool is_complete;     ///< the statement was read to its end: nothing to skip
	bool is_in_bug;	      ///< of a rule, or a predicate of such
	bool is_out_of_memory;
	int depth, n_nodes;

	// The scope of the statement being read.
	struct spec_var vars[SPEC_MAX_VARS];
	struct spec_span var_spans[SPEC_MAX_VARS];
	size_t n_vars;
	const char *index_name;
};

/** Go to the next token. */
void spec_parse_advance(struct parser *p);

/** Continue reading at @p offset. */
void spec_parse_seek(struct parser *p, uint32_t offset);

/** @return whether every node has the attribute @p name, undeclared: INDEGREE and so on. */
bool spec_parse_is_standard_attr(const char *name);

/** @return whether the token before the current one is a semicolon. */
bool spec_parse_is_behind_semicolon(const struct parser *p);

/** @return whether @p t is character @p c. */
bool spec_token_is_char(const struct token *t, char c);

/** @return whether @p t may be the name of a type: a name, or text in quotes. */
bool spec_token_is_type(const struct token *t);

/** @return whether the current token is @p c, or the word @p word. */
bool spec_parse_is_char(const struct parser *p, char c);
bool spec_parse_is_word(const struct parser *p, const char *word);

/** Read the word @p word if it is there. @return whether it was. */
bool spec_parse_accept_word(struct parser *p, const char *word);

/** Read @p c or report `expected 'c' AFTER`. @return whether it was there; as the
 * functions below, false without a report when the parser panics already. */
bool spec_parse_expect_char(struct parser *p, char c, const char *after);

/** Read a name into the arena. */
bool spec_parse_new_name(struct parser *p, const char *what, const char **ret);

/** Read the name of a type, which is declared by that unless it was or is nearly another's.
 * @return its index; -1 after a mistake. */
int spec_parse_known_type(struct parser *p);

/** As spec_parse_new_name() for a type's, which may stand in quotes: "pair<int, char *>". */
bool spec_parse_type_name(struct parser *p, const char *what, const char **ret);

/** Read a whole number from @p min to @p max, with a sign when @p min is negative. */
bool spec_parse_integer(struct parser *p, const char *what, int64_t min, int64_t max,
			int64_t *ret);

/** Read the semicolon that ends @p what. */
bool spec_parse_end(struct parser *p, const char *what);

/** @return the text of @p span in the arena; NULL (and panic) when memory is out. */
char *spec_parse_text(struct parser *p, struct spec_span span);

/** @return @p from, extended to the end of the token before the current one. */
struct spec_span spec_parse_until_here(const struct parser *p, struct spec_span from);

/** Report a mistake and panic; nothing when the parser panics already. */
void spec_parse_error(struct parser *p, struct spec_span at, const char *hint,
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** g of the grammar: a condition. NULL when there is a mistake. */
struct ast *spec_parse_condition(struct parser *p);

/** ve of the grammar: an arithmetic value. NULL when there is a mistake. */
struct ast *spec_parse_value(struct parser *p);

/** `g ? ve : ve`, @p condition being read and the `?` the current token. */
struct ast *spec_parse_conditional(struct parser *p, struct ast *condition);

/** @return the variable that root number @p root is in the statement, which gets one if need be;
 * -1 after a mistake. */
int spec_parse_root_var(struct parser *p, int root);

/** @return whether @p n is a root. */
bool spec_ast_is_root(const struct parser *p, const struct ast *n);

/** The operand of a sum: a primary with its fields and attributes. */
struct ast *spec_parse_postfix(struct parser *p);
struct ast *spec_parse_sum(struct parser *p);

/** Does `f x` begin here? */
bool spec_parse_is_declaration(const struct parser *p);

/** Read `..(c1)`. @return the name, or NULL. */
const char *spec_parse_label(struct parser *p);

/* A statement each, from its first token on: what is right is added to the spec, mistakes are
 * diagnostics. */
void spec_parse_type(struct parser *p);
void spec_parse_root(struct parser *p);
void spec_parse_const(struct parser *p);
void spec_parse_cpoint(struct parser *p);
void spec_parse_attribute_declaration(struct parser *p);
void spec_parse_constraint(struct parser *p);
void spec_parse_trailing_label(struct parser *p);
void spec_parse_define(struct parser *p);
void spec_parse_bug(struct parser *p);

/** A statement of a file with objects, as above. */
void spec_parse_object_statement(struct parser *p);

/** All of a file with a concurrent structure. */
void spec_parse_structure(struct parser *p);

/** Does a line begin here, with `[NAME]` or `define`? */
bool spec_parse_starts_bug(const struct parser *p);

/** A new node of the tree over @p a and @p b (either may be NULL). */
struct ast *spec_ast_new(struct parser *p, enum ast_kind kind, struct ast *a,
			 struct ast *b, struct spec_span span);

/** What @p n is: a condition; a field, which is a number as well as a vertex. */
bool spec_ast_is_condition(const struct ast *n);
bool spec_ast_is_field(const struct ast *n);

/** Report it unless @p n is what its place needs. @return whether it is. */
bool spec_want_condition(struct parser *p, const struct ast *n);
bool spec_want_number(struct parser *p, const struct ast *n);
bool spec_want_vertex(struct parser *p, const struct ast *n);

#endif
