// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Concurrent structures as they are written: operations as sequences of atomic steps (paper 001,
 * Figure 6.6), with the lexer and the diagnostics of specifications. doc/linear.md has the grammar.
 *
 * What was read is flat: variables are numbers. A field of a type is a *memory*, a map from the
 * things of that type to values, and so is an array; the fields of a global of which there is one
 * thing only (its type is nowhere a pointer) are globals of their own.
 */
#ifndef SPECDSL_STRUCTURE_H
#define SPECDSL_STRUCTURE_H

#include "specdsl/specdsl.h"

#define SPEC_TYPE_INT (-1)

enum spec_step_op {
	STEP_NUMBER, ///< value; NULL is 0
	STEP_ID,     ///< of the operation that does the step: a number that no other has
	STEP_GLOBAL, ///< number value
	STEP_LOCAL,  ///< number value, of the operation
	STEP_MEMORY, ///< of memory number value, at a
	STEP_ADD,    ///< a, b
	STEP_SUB,
	STEP_COMPARE, ///< 1 if a is to b as value says (enum spec_compare), else 0
	STEP_BOTH,    ///< 1 if a and b are, else 0
	STEP_ANY, ///< 1 if a is for some thing that local number value stands for, else 0
};

struct spec_step_expr {
	enum spec_step_op op;
	int64_t value;
	const struct spec_step_expr *a, *b;
};

/** A global, a local, or a memory: what it is called and holds. */
struct spec_structure_var {
	const char *name;
	int type;	 ///< SPEC_TYPE_INT, or the number of the struct it points to
	int64_t initial; ///< of a global; of each element of a memory
	int of; ///< of a memory: the struct that it is a field of; SPEC_TYPE_INT: an array
	bool is_embedded; ///< a global that is no variable: its fields are
};

enum spec_compare { STEP_EQ, STEP_NE, STEP_LT, STEP_LE, STEP_GT, STEP_GE };

struct spec_step_condition {
	enum spec_compare compare;
	const struct spec_step_expr *a, *b;
};

struct spec_step_statement {
	enum { STEP_ASSIGN, STEP_MALLOC, STEP_FREE, STEP_READ } is;
	const struct spec_step_expr *target, *value; ///< value: of STEP_ASSIGN
	int type;				     ///< of STEP_MALLOC
};

/** Done at one instant, if the conditions hold then. */
struct spec_step {
	bool by_any; ///< `*`: any thread may do it for the operation
	const struct spec_step_condition *conditions;
	size_t n_conditions;
	const struct spec_step_statement *statements;
	size_t n_statements;
	const char *text; ///< as it was written, in one line
	int line;
};

struct spec_structure_operation {
	const char *name;
	const struct spec_structure_var *locals; ///< arguments first; what NO names last
	size_t n_args, n_locals;
	int result; ///< the local behind GIVES; -1
	const struct spec_step *steps;
	size_t n_steps;
	int line;
};

struct spec_structure {
	const char *text; ///< the file's
	size_t size;
	const char **types;
	size_t n_types;
	const struct spec_structure_var *globals;
	size_t n_globals;
	const struct spec_structure_var *memories;
	size_t n_memories;
	const struct spec_structure_operation *operations;
	size_t n_operations;
	const struct spec_structure_operation
		*initialize; ///< `Initialize()`; may be NULL
};

/** As spec_add_file(), of a file with a concurrent structure. */
struct err *spec_add_structure(struct spec *s, const char *path);
/** As above, of @p size bytes of @p text; @p name stands for the file's. */
struct err *spec_add_structure_text(struct spec *s, const char *name, const char *text,
				    size_t size);

/** The one that was added last, valid as long as @p s; NULL when there was a mistake in it. */
const struct spec_structure *spec_structure(const struct spec *s);

#endif
