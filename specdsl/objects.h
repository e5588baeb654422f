// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Objects whose operations must be as if they happened one by one, and which functions of a program
 * these are: the language of doc/linear.md, with the lexer and the diagnostics of specifications.
 * Names are resolved: to a number each among the operation's parameters, its result, and the states.
 */
#ifndef SPECDSL_OBJECTS_H
#define SPECDSL_OBJECTS_H

#include "specdsl/specdsl.h"

#define SPEC_OBJECT_ARGS 3 ///< of an operation
#define SPEC_CALL_ARGS 6   ///< of a function: those in registers
#define SPEC_OBJECT_STATES 16

enum spec_object_op {
	OBJ_NUMBER, ///< value
	OBJ_STATE,  ///< of state number value; a is the index of an array, else NULL
	OBJ_ARG,    ///< parameter number value
	OBJ_RESULT, ///< what GIVES names
	OBJ_ADD,
	OBJ_SUB,
	OBJ_MUL,
	OBJ_DIV,  ///< by zero: 0
	OBJ_REST, ///< by zero: 0
	OBJ_NEGATE,
	OBJ_NOT,
	OBJ_EQ,
	OBJ_NE,
	OBJ_LT,
	OBJ_LE,
	OBJ_GT,
	OBJ_GE,
	OBJ_AND,
	OBJ_OR,
	OBJ_CHOOSE, ///< a ? b : c
};

struct spec_object_expr {
	enum spec_object_op op;
	int64_t value;
	const struct spec_object_expr *a, *b, *c;
};

/** `state = expr;`, or `REQUIRE expr;` where target is NULL. */
struct spec_object_step {
	const struct spec_object_expr *target, *value;
};

struct spec_object_operation {
	const char *name;
	const char *arg[SPEC_OBJECT_ARGS];
	unsigned n_args;
	const char *result; ///< NULL: it gives nothing
	const struct spec_object_step *steps;
	size_t n_steps;
};

struct spec_object_state {
	const char *name;
	int64_t initial; ///< of an array: of each element
	bool is_array;
};

/** What stands for an argument or result of a function. */
struct spec_call_value {
	enum {
		CALL_ANY,    ///< `_`
		CALL_NUMBER, ///< is it this?
		CALL_NAME,   ///< it is called so
		CALL_BEHIND, ///< what it points to, when the function returns, is called so
	} is;
	bool is_int; ///< 32 bits, with a sign
	int64_t number;
	const char *name;
};

/** What stands for an argument or result of an operation. */
struct spec_call_given {
	int slot;	///< 0 to 5: an argument; SPEC_CALL_ARGS: the result; -1: number
	int64_t number; ///< SPEC_OBJECT_EMPTY, SPEC_OBJECT_NONE, too
};

#define SPEC_OBJECT_NONE INT64_MIN
#define SPEC_OBJECT_EMPTY (INT64_MIN + 1)

/** `CALL f(..) RETURNS r IS op(..) GIVES x ON q;` */
struct spec_call {
	const char *function;
	struct spec_call_value arg[SPEC_CALL_ARGS],
		returns; ///< CALL_ANY where nothing is said
	unsigned n_args;
	const char *operation; ///< NULL: IS NOTHING
	struct spec_call_given given[SPEC_OBJECT_ARGS], gives, on;
	unsigned n_given;
	struct spec_span_place {
		int line;
		const char *file;
	} place;
};

/** An object, and the calls behind it. */
struct spec_object {
	const char *name;
	bool has_initial;
	int64_t initial;
	bool is_machine; ///< with states and operations of its own
	const struct spec_object_state *states;
	size_t n_states;
	const struct spec_object_operation *operations;
	size_t n_operations;
	int key; ///< BY: the parameter that each operation has under this number; -1
	const struct spec_call *calls;
	size_t n_calls;
};

/** As spec_add_file(), of a file with objects. */
struct err *spec_add_objects(struct spec *s, const char *path);
/** As above, of @p size bytes of @p text; @p name stands for the file's. */
struct err *spec_add_objects_text(struct spec *s, const char *name, const char *text,
				  size_t size);

/** The objects, in their order, valid as long as @p s. */
size_t spec_objects(const struct spec *s);
const struct spec_object *spec_object(const struct spec *s, size_t i);

#endif
