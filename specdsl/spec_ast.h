// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to specdsl/: the parsed specification. All of it lives in the spec's arena.
 */
#ifndef SPECDSL_SPEC_AST_H
#define SPECDSL_SPEC_AST_H

#include "specdsl/specdsl.h"

/** Most mistakes shown of one file, and the sizes beyond which it is not a spec. */
#define SPEC_MAX_DIAGS 20
#define SPEC_MAX_FILE_BYTES (1 << 20)
#define SPEC_MAX_DEPTH 64
#define SPEC_MAX_EXPR_NODES 2000
#define SPEC_MAX_INDICES 4 ///< in one named field

struct spec_object;
struct spec_predicate;
struct spec_bug_rule;

struct spec_file {
	const char *name, *text;
	size_t size;
	size_t n_diags;
	uint32_t n_constraints;
	bool has_objects;   ///< of objects.h, and nothing else; then braces are tokens
	bool has_structure; ///< of structure.h, as well
};

/** A stretch of a file's text. */
struct spec_span {
	uint32_t offset, length;
};

/* ---- expressions -------------------------------------------------------------------- */

enum ast_kind {
	AST_NUMBER, ///< number; also CONSTs
	AST_NULL,
	AST_BOOL,     ///< number is 0 or 1
	AST_VAR,      ///< a vertex: number is the index among the variables
	AST_INDEX,    ///< I of an intra-node constraint
	AST_FIELD,    ///< v[e]: v is a, e is b
	AST_NAMED,    ///< v.name: a field or a user-defined attribute; v is a
	AST_STANDARD, ///< v.INDEGREE and so on: attr
	AST_ADD,
	AST_SUB,
	AST_MUL,
	AST_DIV,
	AST_REST,
	AST_BIT_AND,
	AST_BIT_OR,
	AST_BIT_XOR,
	AST_SHIFT_LEFT,
	AST_SHIFT_RIGHT,
	AST_NEGATE,
	AST_INVERT,
	AST_ABS,
	AST_ADDRESS, ///< &a: a is a vertex or a field; a struct or an array is its first field
	AST_STRING,  ///< "name"; compared only
	AST_COND,    ///< (a) ? b : c
	AST_COMPARE, ///< a op b
	AST_AND,
	AST_OR,
	AST_EDGE, ///< a -> b and so on: op
};

enum ast_attr {
	ATTR_INDEGREE,
	ATTR_OUTDEGREE,
	ATTR_EXTERNAL,
	ATTR_INTERNAL,
	ATTR_ISROOT,
	ATTR_ISLEAF
};

enum ast_op {
	OP_EQ,
	OP_NE,
	OP_LE,
	OP_GE,
	OP_LT,
	OP_GT,
	OP_EDGE,
	OP_NO_EDGE,
	OP_PATH,
	OP_NO_PATH
};

/** What a comparison compares. */
enum ast_compare { CMP_NUMBERS, CMP_VERTICES, CMP_BOOLS, CMP_TEXTS };

/** An index of a named field that is no constant: `slot[I].key`. */
struct ast_step {
	uint32_t run;	 ///< how many elements there are; UINT32_MAX: as many as fit
	uint32_t stride; ///< fields from one to the next
};

/** Which field a named field is on nodes of one type. */
struct ast_meaning {
	uint32_t field; ///< number from 1, all indices being 0; 0: there is none
	struct ast_step steps[SPEC_MAX_INDICES]; ///< of the indices, in the text's order
	uint32_t n_chars; ///< compared as text: so many fields of a character each, field
			  ///< being the first; UINT32_MAX: as many as fit; 0: it is none
};

struct ast {
	enum ast_kind kind;
	struct spec_span span;
	enum ast_op op;
	enum ast_attr attr;
	enum ast_compare compare;
	bool is_paren;	///< written in parentheses: `(X[2])` is the vertex
	bool has_index; ///< an AST_INDEX is inside
	uint32_t vars;	///< bit i: variable i is inside
	int64_t number;
	const char *name;
	struct ast *a, *b, *c;

	// Set by spec_resolve().
	int user_attr;	///< AST_NAMED: index among the attributes when it is one, else -1
	bool is_bad;	///< a mistake in it was reported
	bool is_prefix; ///< `X.pos`, `X.child`: part of the flattened name of a field
	bool is_step;	///< AST_FIELD: its index, no constant, is part of such a name; in
			///< name it is `[*]`
	uint32_t n_steps; ///< how many `[*]` name has
	struct ast *base; ///< AST_NAMED, AST_FIELD: the vertex whose field it is, after
		///< `X.pos.x` and `X.child[2]` were folded to one flattened name
	struct ast_meaning *by_type; ///< fields with a name: per type index; else NULL
};

/* ---- the parts of a specification ------------------------------------------------------ */

/** A user-defined attribute: `avltree.HEIGHT; avltree X; guard => X.HEIGHT = a || ...;` */
struct spec_attr {
	const char *name;
	uint32_t type;
	int64_t null_value; ///< of the attribute of NULL; -1 unless declared
	struct spec_span span;
	struct spec_file *file;
	struct ast *guard; ///< NULL: the non-terminal alone
	struct ast *terminal, *nonterminal;
};

struct spec_const {
	const char *name;
	int64_t value;
};

/** Where a type was declared, for diagnostics about it. */
struct spec_type_place {
	struct spec_file *file;
	struct spec_span name, fields, edges;
	const char *why, *hint; ///< spec_bind_nothing(), else NULL
};

/** A root with what only the rest of specdsl/ needs. */
struct spec_root_rest {
	struct spec_file *file;
	struct spec_span span;
	const char
		*member; ///< the variable without scopes: its field, when it is no struct
	bool is_bound, is_struct;
};

#define SPEC_MAX_CONJUNCTS 64

/** How to find the nodes of one variable when those before it are known. */
enum plan_source {
	PLAN_ALL,   ///< every live node of the type
	PLAN_EQUAL, ///< the vertex `from`
	PLAN_OUT,   ///< what `from` points to
	PLAN_IN,    ///< what points to `from`
	PLAN_REACH, ///< what can be reached from `from`
	PLAN_SOLVE, ///< what lies where `from`, an equation with its address, says
};

struct plan_step {
	uint32_t var;
	enum plan_source source;
	const struct ast *from;
	uint64_t checks; ///< bit i: conjunct i can be evaluated after this step
	uint64_t sames;	 ///< PLAN_ALL: those that say what number a field of it has
};

/** Nested loops over variables: the answers of a conjunction. */
struct plan {
	struct plan_step steps[SPEC_MAX_VARS];
	uint32_t n_steps;
	const struct ast *conjuncts[SPEC_MAX_CONJUNCTS];
	uint32_t n_conjuncts;
	uint64_t first_checks; ///< conjuncts without any of the variables
};

/** A constraint with what only evaluation needs. */
struct spec_rule {
	struct spec_constraint pub;
	struct spec_file *source;
	struct spec_var vars[SPEC_MAX_VARS];
	struct spec_span var_spans[SPEC_MAX_VARS];
	struct ast *guard, *body; ///< guard NULL: none
	int64_t from, to;	  ///< range of I, both included
	uint32_t some_vars;	  ///< bits of the SPEC_VAR_SOME variables
	struct plan all;	  ///< over the guard and the SPEC_VAR_ALL variables
	struct plan nodes;	  ///< as all, without conditions: intra-node constraints
	struct plan some;	  ///< over the body and the SPEC_VAR_SOME variables
	bool has_label;
};

struct spec {
	struct arena arena;
	VEC(struct spec_file *) files;
	VEC(struct spec_diag) diags;
	size_t n_errors;
	VEC(struct spec_type) types;
	VEC(struct spec_type_place) type_places; ///< as many as types
	VEC(struct spec_root) roots;
	VEC(struct spec_root_rest) root_rests; ///< as many
	VEC(struct spec_attr) attrs;
	VEC(struct spec_const) consts;
	VEC(struct spec_rule *) rules;
	VEC(struct spec_cpoint) cpoints;
	VEC(struct spec_predicate *) predicates; ///< of bug rules (spec_bug.h)
	VEC(struct spec_bug_rule *) bugs;
	VEC(struct spec_object *) objects;	///< (objects.h)
	const struct spec_structure *structure; ///< (structure.h); NULL: none
	bool is_resolved;
};

/* ---- lexer ------------------------------------------------------------------------------ */

enum token_kind {
	TOK_END,
	TOK_BAD, ///< a character of no token, a comment without end
	TOK_NAME,
	TOK_NUMBER,
	TOK_STRING,
	TOK_DOTS,    ///< ..
	TOK_ARROW,   ///< =>
	TOK_COMPARE, ///< op says which
	TOK_EDGE,    ///< op says which
	TOK_BARS,    ///< ||
	TOK_ASSIGN,  ///< =
	TOK_WRONG,   ///< && and the like: name holds what to write instead
	TOK_CHAR, ///< one of . ; , ( ) [ ] + - * / % & | ^ ~ ! ? : << >>; ch says which,
		  ///< by its first character
};

struct token {
	enum token_kind kind;
	struct spec_span span;
	enum ast_op op;
	char ch;
	int64_t number;
	const char *hint; ///< TOK_WRONG, and a TOK_NUMBER that is too large
};

/** Read the token at or after @p offset of @p f. Total: every text has tokens. */
struct token spec_lex(const struct spec_file *f, uint32_t offset);

/** Read a path, bare or in quotes, at or after @p offset, spaces skipped; the span covers it, not
 * quotes. @return the offset behind it, 0 when there is none. */
uint32_t spec_lex_path(const struct spec_file *f, uint32_t offset,
		       struct spec_span *path);

/** Read `path:line` at or after @p offset, spaces skipped; the span covers the path.
 * @return the offset behind it, 0 when there is none. */
uint32_t spec_lex_site(const struct spec_file *f, uint32_t offset, struct spec_span *path,
		       int *line);

/* ---- diagnostics ---------------------------------------------------------------------- */

/** Add an error about @p at; at most SPEC_MAX_DIAGS of one file are kept. @p hint may be
 * NULL. */
void spec_diag_add(struct spec *s, struct spec_file *f, struct spec_span at,
		   const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/** @return what to write instead of @p word, which is one of another language; or NULL. */
const char *spec_hint_foreign(const char *word);

/** @return what to do where a type's name is wanted and @p word stands, which begins a
 * statement; or NULL. */
const char *spec_hint_statement(const char *word);

/** @return what to write instead of @p c, which is in no token; or NULL. */
const char *spec_hint_character(char c);

/** The line of @p offset, from 1. */
int spec_file_line(const struct spec_file *f, uint32_t offset);

/** printf into the arena; NULL when memory is out. */
char *spec_printf(struct spec *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- parser ------------------------------------------------------------------------------ */

/** Add the statements of @p f to @p s. Mistakes become diagnostics. @return NULL or
 * ERR_NOMEM. */
struct err *spec_parse(struct spec *s, struct spec_file *f);

/** @return the name of standard attribute @p i. */
const char *spec_standard_attr(size_t i);
#define SPEC_STANDARD_ATTRS 6

/* ---- resolving -------------------------------------------------------------------------- */

/** Roots that are no structs stand for their values where these are meant: make it so in all
 * constraints. @return NULL or ERR_NOMEM. */
struct err *spec_roots_resolve(struct spec *s);

/** @return the index of the root called @p name, or -1. */
int spec_root_find(const struct spec *s, const char *name);

/** @return whether the roots with types @p a and @p b were named with the same scopes. */
bool spec_roots_share_scope(const struct spec *s, uint32_t a, uint32_t b);

/** @return whether nodes of type @p type are what variables of type @p wanted range over. */
static inline bool spec_type_is(const struct spec *s, uint32_t type, uint32_t wanted)
{
	return type == wanted || s->types.data[type].base == wanted + 1;
}

/** Decide which variables are "all" and which are "some", and the order of the loops: once when
 * @p r is read, and again when its fields are known. */
void spec_plan_rule(const struct spec *s, struct spec_rule *r);

/* ---- layouts ------------------------------------------------------------------------------ */

/** @return how many of the first @p n_fields fields of @p l are pointers. */
uint32_t spec_layout_pointers(const struct dec_struct *l, uint32_t n_fields);

/** Where field @p index (from 1) of a node of @p type lies. @return false when there is
 * no such field. */
bool spec_field_at(const struct spec_type *t, uint64_t index, struct dec_field *ret);

#endif
