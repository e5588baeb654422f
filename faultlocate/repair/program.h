// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The program that is repaired (paper 004, section 3): C functions that move pointers and whole
 * numbers between variables and fields of nodes, as a tree of statements over one list of
 * operations. An operation is an assignment `d = a`, `d = a + b`, or a test `a < b` of a
 * condition, where each operand is a constant, a variable or a field behind a variable; deeper
 * paths have hidden variables, which a patch may use inside of their own statement. What a patch
 * changes are operations, in their parts; what it adds are operations at gaps of blocks.
 *
 * Everything lives in the program's arena. Not for several threads.
 */
#ifndef FAULTLOCATE_REPAIR_PROGRAM_H
#define FAULTLOCATE_REPAIR_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/vec.h"

/** A type: RP_INT, or below it the record that a pointer leads to. */
enum { RP_INT = -1, RP_ANY_POINTER = -2, RP_OPAQUE = -3 };
enum { RP_NONE = -1 }; ///< no variable, no field, no function

/** Bytes of the source file, [from, to); empty where there is no text of its own. */
struct rp_range {
	unsigned from, to;
};

struct rp_field {
	const char *name;
	int type; ///< RP_OPAQUE: what the repair has no words for; never touched
};

struct rp_record {
	const char *name;     ///< its tag, or of a typedef
	const char *spelling; ///< as a type, "struct node"
	VEC(struct rp_field) fields;
};

struct rp_variable {
	const char *name;
	int type, function;    ///< RP_NONE: global
	struct rp_range scope; ///< where it may be named
	bool is_hidden, is_parameter;
	bool is_spare;	  ///< the program has none such; a patch may have it
	const char *text; ///< of a hidden one: the expression
	int64_t start;	  ///< of a global
};

/** A constant (var RP_NONE), a variable, or (field not RP_NONE) what is behind it. */
struct rp_ref {
	int var, field;
	int64_t value;
	struct rp_range at;
};

enum rp_kind {
	RP_ASSIGN,
	RP_TEST,
	RP_ALLOC, ///< d = a new node of type
	RP_FREE,  ///< of a
	RP_INPUT, ///< d = the next number that the user gave
	RP_CALL,
};

enum rp_sign {
	RP_PLAIN, ///< a alone
	RP_ADD,
	RP_SUB,
	RP_MUL,
	RP_DIV,
	RP_MOD,
	RP_EQ,
	RP_NE,
	RP_LT,
	RP_LE,
	RP_GT,
	RP_GE,
};

struct rp_op {
	enum rp_kind kind;
	enum rp_sign sign;
	struct rp_ref dst, a, b;
	int type;	    ///< of what is assigned or compared
	int function, line; ///< where it is
	struct rp_range at; ///< of all of it
	int callee;	    ///< of RP_CALL
	struct rp_ref *args;
	bool is_fixed;	  ///< no patch changes it
	bool is_kept;	  ///< no patch removes it: it starts a variable
	bool is_removed;  ///< a patch removed it
	bool is_inserted; ///< a patch put it there
	bool is_whole;	  ///< its parts have no text of their own: x++, !x, x += y
};

enum rp_shape {
	RP_OPS,
	RP_IF,
	RP_LOOP,
	RP_BREAK,
	RP_CONTINUE,
	RP_RETURN,
	RP_BLOCK, ///< a block in a block
	RP_END,	  ///< of a function
};

enum rp_logic { RP_ATOM, RP_AND, RP_OR, RP_NOT };

/** A condition: of an atom, the operations that load its operands, the test the last. */
struct rp_condition {
	enum rp_logic logic;
	struct rp_condition *left, *right;
	VEC(int) ops;
};

struct rp_statement;

struct rp_block {
	int id;
	VEC(struct rp_statement *) list;
	struct rp_range at;
	bool is_braced; ///< else it is one statement, without a gap
};

struct rp_statement {
	enum rp_shape shape;
	int id, line;
	struct rp_range at; ///< with the semicolon
	VEC(int) ops;	    ///< of RP_OPS and RP_RETURN
	struct rp_condition *condition;
	struct rp_block *body, *otherwise;
	VEC(int) step;	     ///< of a for
	bool is_do;	     ///< the body comes first
	bool is_heavy;	     ///< of RP_IF: something in it is told in the witness
	bool is_declaration; ///< its text stays when its operations go
};

struct rp_function {
	const char *name;
	int result_type;
	int result; ///< the hidden variable with what is returned, or RP_NONE
	VEC(int) parameters;
	struct rp_block *body; ///< NULL: only declared
	struct rp_statement end;
	const char *refused; ///< why it cannot be looked into, with its place; or NULL
	int line;
};

struct rp_program {
	struct arena arena;
	const char *path;
	char *text;
	size_t size;
	VEC(struct rp_record) records;
	VEC(struct rp_variable) variables;
	VEC(struct rp_op) ops;
	struct rp_op *read; ///< the first n_read of them, as they stand in the file
	size_t n_read;
	VEC(struct rp_function) functions;
	VEC(struct rp_block *) blocks;
	VEC(const char *) notes; ///< what was read past
	bool with_spares;	 ///< spare variables can be named
	int n_statements;
};

/**
 * Read C source @p path with libclang.
 *
 * @param path  kept.
 * @param ret   fl_rp_program_destroy().
 * @return ERR_NOT_FOUND: no such file, or no libclang; ERR_FORMAT: it is no C, with the compiler's
 *	   words. What is out of scope refuses its function only.
 */
struct err *fl_rp_program_read(const char *path, struct rp_program **ret);
void fl_rp_program_destroy(struct rp_program *p);
void fl_rp_program_destroyp(struct rp_program **p);

/** @return a function's number or RP_NONE. */
int fl_rp_program_function(const struct rp_program *p, const char *name);

/** Print operation @p op as it is written in C, "x->next = y". */
void fl_rp_op_print(const struct rp_program *p, const struct rp_op *op, FILE *out);
void fl_rp_ref_print(const struct rp_program *p, const struct rp_ref *r, int type,
		     FILE *out);

/** Print the intermediate representation of @p function: guarded statements. */
void fl_rp_program_print(const struct rp_program *p, int function, FILE *out);

/** @return the type of what @p r has; RP_ANY_POINTER or RP_INT of a constant is not known. */
int fl_rp_ref_type(const struct rp_program *p, const struct rp_ref *r);

/** Add a variable for each kind of pointer that @p function has, which a patch may use and then
 * declares. Before any state is made. @return NULL or err_nomem. */
struct err *fl_rp_program_spare(struct rp_program *p, int function);

/** May variable @p var be named at byte @p at of function @p function? */
bool fl_rp_in_scope(const struct rp_program *p, int var, int function, unsigned at);

/** Is variable @p var a hidden one that was loaded for operation @p number, and can be used in it? */
bool fl_rp_is_loaded(const struct rp_program *p, int var, int number);

/** How an rp_sign is written. */
const char *fl_rp_sign_text(enum rp_sign s);

#endif
