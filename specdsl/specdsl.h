// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What should hold: the constraint language of paper 001, chapter 2 (grammar and
 * semantics: doc/spec-language.md), and its evaluation over views of a heap graph.
 *
 * The order of use:
 *   spec_create, spec_add_file (once per file), spec_bind_type for each type whose layout
 *   is known, spec_resolve; then spec_eval_create over a view, spec_check at a C-point or
 *   a spec_checker at many, spec_check_one and spec_args while the traceback moves the
 *   view.
 *
 * Invariants:
 *  1. The hg type id of a node is its spec type index + 1 (the caller sets it with
 *     hg_graph_set_type()); 0 and other values are nodes of no declared type.
 *  2. A spec with errors among its diagnostics is never evaluated.
 *  3. After spec_resolve() a spec does not change; any number of evaluators, each of one
 *     thread, may read it.
 */
#ifndef SPECDSL_SPECDSL_H
#define SPECDSL_SPECDSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/base.h"
#include "decode/symbols/symbols.h"
#include "heapgraph/heapgraph.h"

struct spec;
struct spec_eval;

/** Most variables that one constraint may declare (the parser says so). */
#define SPEC_MAX_VARS 8

/* ---- reading a specification ------------------------------------------------------ */

/** An empty specification. @return NULL or ERR_NOMEM. */
struct err *spec_create(struct spec **ret);
void spec_destroy(struct spec *s);
void spec_destroyp(struct spec **s);

/**
 * Parse the file @p path and add what it says to @p s. May be called for several files:
 * types, constants and attributes are shared, constraint names count from c1 per file.
 * Mistakes become diagnostics (up to 20 a file), not an error.
 *
 * @return ERR_NOT_FOUND, ERR_PERMISSION, ERR_OS when the file cannot be read; ERR_FORMAT
 *	   when it is not text or over 1 MiB; ERR_NOMEM.
 */
struct err *spec_add_file(struct spec *s, const char *path);

/** As spec_add_file(), for @p size bytes of @p text; @p name stands for the file's. */
struct err *spec_add_text(struct spec *s, const char *name, const char *text,
			  size_t size);

/* ---- diagnostics ------------------------------------------------------------------ */

struct spec_diag {
	const char *file;
	int line, column;    ///< from 1; column counts characters, a tab is one
	int length;	     ///< characters to underline, at least 1
	bool is_warning;     ///< it does not make the spec unusable
	const char *message; ///< lower case, no full stop
	const char *hint;    ///< what to write instead; NULL for none
	const char *source;  ///< the whole line, without its newline
};

/** @return how many diagnostics there are, in order of discovery. */
size_t spec_diags(const struct spec *s);

/** @return diagnostic @p i; valid as long as @p s. */
const struct spec_diag *spec_diag(const struct spec *s, size_t i);

/** @return how many of them are errors; 0 means that @p s can be used. */
size_t spec_errors(const struct spec *s);

/** A search for the name that somebody meant. */
struct spec_nearest {
	const char *word; ///< as it was written
	const char *name; ///< the nearest so far; NULL: none is near
	unsigned distance;
};

/** Is it @p name (NULL: nothing)? */
void spec_nearest_try(struct spec_nearest *n, const char *name);

/** Write all diagnostics for people: `file:line:col: error: ...`, the source line, a caret
 * line and the hint. */
void spec_diags_print(const struct spec *s, FILE *out);

/* ---- what the specification says ---------------------------------------------------- */

/** A place in the source that allocates nodes: `node ... AT list.c:40;`. */
struct spec_site {
	const char *file; ///< as the user wrote it: match it as a path suffix
	int line;
};

struct spec_type {
	const char *name; ///< the struct's tag
	uint32_t
		n_fields; ///< FIELD; 0 for an ARRAY, and until a layout is bound without it
	uint32_t n_edges; ///< EDGE; as n_fields
	bool is_declared; ///< by a statement; else by its first use
	int same_as; ///< -1, or an earlier type: this is another name of the same struct, and
		     ///< no node's type
	bool is_array;
	uint32_t slot_bytes; ///< width of a field without layout: 8, or ARRAY's SIZE
	const struct spec_site *sites; ///< NULL without AT; given, only these allocate it
	size_t n_sites;
	const struct dec_struct *layout; ///< set by spec_bind_type(), else NULL
	bool is_root;			 ///< of a root, and of nothing else
	uint32_t base; ///< 1 + index of the type that nodes of this one are, too; 0: none
	const char *file; ///< where it was declared
	int line;
};

/** Write the @p i-th file or text (from 0) that was added to @p s, without mistakes, the one
 * way: *ret, to be freed. Formatting that again changes nothing.
 * @param is_changed  is it other than what was added?
 * @return NULL or ERR_NOMEM. */
struct err *spec_format(const struct spec *s, size_t i, char **ret, bool *is_changed);

/** The declared types, in their order; as the constraints and C-points below, valid until the
 * next spec_add_..() and spec_destroy(). */
size_t spec_types(const struct spec *s);
const struct spec_type *spec_type(const struct spec *s, size_t i);

/** @return the index of the type called @p name, in the specification or the program, which is no
 * other's second name; or -1. Roots have other names. */
int spec_type_find(const struct spec *s, const char *name);

/** A variable of the program that is a node: `ROOT main::list IN stack.c AS s;`. */
struct spec_root {
	const char *name;     ///< which stands for it in constraints
	const char *variable; ///< as the user wrote it, with scopes: "main::list"
	const char *source;   ///< match it as a path's suffix; NULL: any file
	uint32_t type;	      ///< index of its type
	const char *file;     ///< where it was declared
	int line;
};

/** The roots, in their order. */
size_t spec_roots(const struct spec *s);
const struct spec_root *spec_root(const struct spec *s, size_t i);

enum spec_var_kind {
	SPEC_VAR_UNUSED, ///< declared only; its node in a binding is {0}
	SPEC_VAR_ALL,	 ///< the constraint holds for all nodes; part of the binding
	SPEC_VAR_SOME,	 ///< occurs in the body alone: there is a node; {0} in a binding
};

struct spec_var {
	const char *name;
	uint32_t type; ///< index of its type
	enum spec_var_kind kind;
	bool is_root; ///< a root that the constraint names, not declared in it
};

struct spec_constraint {
	const char *name; ///< the label `..(c1)`, or c and its number in the file
	const char *text; ///< as the user wrote it, declarations included, spaces kept
	const char *file;
	int line;		///< of its first declaration
	int body_line;		///< of its first expression
	bool is_intra;		///< `for I in ..`: a binding has an index
	const char *index_name; ///< I of an intra-node constraint, else NULL
	bool has_guard;
	const struct spec_var *vars;
	size_t n_vars;
};

/** The constraints, in their order. */
size_t spec_constraints(const struct spec *s);
const struct spec_constraint *spec_constraint(const struct spec *s, size_t i);

/** @return whether constraint @p i asks how many pointers lead into a node: INDEGREE, ISROOT and the like. */
bool spec_constraint_counts(const struct spec *s, size_t i);

/** @return how many statements there are, C-points aside: types, roots, attributes,
 * constants, constraints. What table 2.2 of paper 001 counts. */
size_t spec_statements(const struct spec *s);

enum spec_cpoint_kind {
	SPEC_CPOINT_CRASH,  ///< `CPOINT CRASH;`
	SPEC_CPOINT_END,    ///< `CPOINT EXIT;`: the program's exit
	SPEC_CPOINT_ENTRY,  ///< `CPOINT f ENTRY;` or `CPOINT f;`
	SPEC_CPOINT_RETURN, ///< `CPOINT f EXIT;` or `CPOINT f;`
	SPEC_CPOINT_LINE,   ///< `CPOINT list.c:40;`: before this line is executed
	SPEC_CPOINT_AFTER,  ///< `CPOINT AFTER f RETURNS 5;`: at that return of f
};

/** One C-point; `CPOINT f;` gives two. */
struct spec_cpoint {
	enum spec_cpoint_kind kind;
	const char *function;  ///< NULL for CRASH, END and LINE
	struct spec_site site; ///< of LINE
	int64_t returns;       ///< of AFTER: which return, from 1
	int type; ///< `CPOINT f ENTRY OF qdtree;`: check only constraints with a
		  ///< variable of this type; -1 for all
	const char *file;
	int line;
};

/** The C-points, in their order. */
size_t spec_cpoints(const struct spec *s);
const struct spec_cpoint *spec_cpoint(const struct spec *s, size_t i);

/** A `##C-POINT(type)` comment in the program's source (paper 001, Figure 4.1). */
struct spec_source_cpoint {
	char type[64]; ///< as written; empty for `##C-POINT` or `##C-POINT()`
	int line;      ///< from 1
};

/** Find the C-point comments of the C source @p in (in comments or bare). @p ret gets up
 * to @p max of them in order. @return how many there are. */
size_t spec_source_cpoints(FILE *in, struct spec_source_cpoint *ret, size_t max);

/* ---- binding to the program's types --------------------------------------------------- */

/**
 * Type @p type has @p layout in the program (borrowed, must outlive @p s). Without a
 * layout FIELD n means n fields of 8 bytes, each of which may hold a pointer.
 * Disagreements (FIELD 9 of a struct that has 8) become diagnostics.
 */
struct err *spec_bind_type(struct spec *s, size_t type, const struct dec_struct *layout);

/** The program has no layout for type @p type, @p why: a mistake, as FIELD and EDGE were not
 * declared, or the name may stand for several. @p hint: what to do; may be NULL. */
struct err *spec_bind_nothing(struct spec *s, size_t type, const char *why,
			      const char *hint);

/**
 * Root @p root is a variable with @p layout (borrowed, must outlive @p s): that of its struct, or, when
 * it is none, with the variable as the only member, under its name in the program.
 * @param base  index of the type that it has in the program, -1: that is not declared
 * @param type  the same for people
 * @return NULL or ERR_NOMEM.
 */
struct err *spec_bind_root(struct spec *s, size_t root, const struct dec_struct *layout,
			   bool is_struct, int base, const char *type);

/** Report a mistake in the declaration of root @p root; @p hint (copied) may be NULL. */
void spec_root_mistake(struct spec *s, size_t root, const char *hint, const char *fmt,
		       ...) __attribute__((format(printf, 4, 5)));

/** All layouts are known: resolve field names and numbers in the constraints; what cannot
 * be resolved becomes a diagnostic. Call once, also when nothing was bound. */
struct err *spec_resolve(struct spec *s);

/** @return how many fields a node of @p type with @p node_bytes bytes has. */
uint64_t spec_type_node_fields(const struct spec *s, size_t type, uint64_t node_bytes);

/** Field number @p index (1..) of @p type as a layout entry: offset from the node's start,
 * size, name ("next"; "" without layout). @return false when it has no such field. */
bool spec_type_field(const struct spec *s, size_t type, uint64_t index,
		     struct dec_field *ret);

/* ---- checking (paper 001, definitions 1 to 3) ------------------------------------------ */

/** Which node each variable stands for, by position in spec_constraint.vars. */
struct spec_binding {
	struct hg_node_id node[SPEC_MAX_VARS];
	int64_t index; ///< I of an intra-node constraint, else 0
};

/** @return whether both are the same subgraph. */
bool spec_binding_equal(const struct spec_binding *a, const struct spec_binding *b);

/** An inconsistency <c, G> (Definition 1). */
struct spec_violation {
	uint32_t constraint;
	struct spec_binding binding;
	bool is_unreadable; ///< the body read a field through NULL or a wild pointer, or
			    ///< divided by zero
	bool is_cyclic;	    ///< a user-defined attribute met a cycle
};

typedef VEC(struct spec_violation) spec_violations;

/** The evaluator of @p s over @p v (both borrowed, as is @p g, whose view @p v is). It
 * caches edges and attributes and follows the view by itself: move @p v freely between
 * calls. Types of nodes must not change meanwhile. @return ERR_SPEC when spec_errors(). */
struct err *spec_eval_create(const struct spec *s, const struct hg_graph *g,
			     const struct hg_view *v, struct spec_eval **ret);
void spec_eval_destroy(struct spec_eval *e);
void spec_eval_destroyp(struct spec_eval **e);

/** @return for how many bindings @p e asked the body of @p constraint, because its guard, if it has
 * one, was true; for one that was asked again, again. */
uint64_t spec_eval_asked(const struct spec_eval *e, uint32_t constraint);

/** Append all inconsistencies of all constraints at the view's position to @p ret, ordered
 * by constraint and binding; at most @p max of each constraint (0: no limit). The caller
 * owns @p ret. */
struct err *spec_check(struct spec_eval *e, size_t max, spec_violations *ret);

/** As spec_check(), of constraint @p constraint alone. */
struct err *spec_check_constraint(struct spec_eval *e, uint32_t constraint, size_t max,
				  spec_violations *ret);

/** Does @p constraint hold over @p b? It does when its guard is false or a node of @p b is
 * not alive (or not of the type) at the view's position. */
struct err *spec_check_one(struct spec_eval *e, uint32_t constraint,
			   const struct spec_binding *b, bool *holds);

/** One argument to a constraint check. */
struct spec_arg {
	bool is_derived; ///< counted or computed, no stored value: a degree, a truth
	bool is_degree;	 ///< one of a node: the number of its edges in or out
	bool is_absent;	 ///< cannot be read here: a node is not alive, a pointer is wild
	uint64_t value;	 ///< field bits, attribute value, truth, or node; 0 when absent
};

/** What a node must not suffer for arguments to stay as they are. */
enum spec_dep_kind {
	SPEC_DEP_NODE, ///< its bytes, some or all, and its life were read
	SPEC_DEP_INTO, ///< the pointers into it were counted, or one of them was looked for
	SPEC_DEP_EDGES, ///< the paths from it were asked about
	SPEC_DEP_RING,	///< whether a path leads from it to itself was asked
	SPEC_DEP_SAME, ///< nodes were found by a number in a field; node is a hash of both
	SPEC_DEP_ATTR, ///< its user-defined attribute, with all that this comes from
	SPEC_DEP_ALL,  ///< anything may matter; node is {0}, and it is the only one
};

/** Bytes of a node. */
struct spec_bytes {
	uint32_t offset;
	uint8_t size; ///< 0: all of them
	bool is_signed;
	/** As long as the number in them, made unsigned by adding 2^63 to a signed one, is
	 * from least to most, all stays as it is; least > most: no change is harmless. */
	uint64_t least, most;
};

struct spec_dep {
	struct hg_node_id node;
	enum spec_dep_kind kind;
	uint32_t attr;		 ///< SPEC_DEP_ATTR: its index
	struct spec_bytes bytes; ///< SPEC_DEP_NODE: which
};

/** A field that was read for an argument, or on the way to it. */
struct spec_read {
	struct hg_node_id node;
	uint32_t offset, size;
};

/** Two integers were compared. */
struct spec_gap {
	int64_t gap;	  ///< the second less the first
	bool is_equality; ///< `==`; else another comparison
};

/** What a field had to hold for two integers that were compared, and differ, to be equal. */
struct spec_want {
	struct hg_node_id node;
	uint32_t offset;
	uint64_t value;	  ///< cut to the field's size
	bool is_equality; ///< `==` was asked
};

/** The arguments to the check of a constraint over a subgraph. Zeroed is empty. */
struct spec_args {
	VEC(struct spec_arg) args;   ///< as many, in the same order, at every position
	VEC(struct spec_dep) deps;   ///< some may be there repeatedly
	VEC(struct spec_read) reads; ///< as deps, but not for attributes
	VEC(struct spec_gap) gaps;   ///< of the comparisons that reads are for
	VEC(struct spec_want) wants; ///< .. by spec_args_deep(), not within attributes
};

/**
 * Collect into @p ret (emptied first) the arguments to the check of @p constraint over
 * @p b at the view's position: in the order of the text, guard and body, each field value,
 * attribute value, vertex that is compared and truth of an edge or path, without short
 * cuts; for a body with "there is" variables its truth and the arguments that do not
 * mention them. Two results of one (constraint, b) are comparable at any two positions;
 * where a node of @p b is not alive the arguments that need it are absent.
 */
struct err *spec_args(struct spec_eval *e, uint32_t constraint,
		      const struct spec_binding *b, struct spec_args *ret);

/** As spec_args(), with the fields in @p ret that attributes were computed from, too. It computes
 * them anew, so @p e must not have a checker, nor watches. */
struct err *spec_args_deep(struct spec_eval *e, uint32_t constraint,
			   const struct spec_binding *b, struct spec_args *ret);

/** Is the guard of @p constraint true over @p b at the view's position, with all nodes of @p b
 * alive, and every element there that it speaks of? Without a guard it is. */
struct err *spec_guard(struct spec_eval *e, uint32_t constraint,
		       const struct spec_binding *b, bool *is_true);

/** From now on @p fn is told each field that @p e reads; NULL: nobody is. What is known already is
 * not read again. */
void spec_on_read(struct spec_eval *e, void (*fn)(void *ctx, const struct spec_read *r),
		  void *ctx);

/** Free what @p a holds; it is empty and usable again. */
void spec_args_deinit(struct spec_args *a);

/** @return whether the arguments are equal (Definitions 2 and 3 ask when they are not). */
bool spec_args_equal(const struct spec_args *a, const struct spec_args *b);

/* ---- following a view (paper 001, section 4.3) ---------------------------------------- */

/** Move @p v, which must be the view of @p e, one operation back; @p ret gets it (NULL: not
 * wanted). As hg_view_back(), but @p e learns what changed instead of finding out. */
struct err *spec_eval_back(struct spec_eval *e, struct hg_view *v, struct hg_op *ret);

/** As hg_view_seek(). It takes time for each operation on the way. */
struct err *spec_eval_seek(struct spec_eval *e, struct hg_view *v, uint64_t n_ops);

/** Finds the same inconsistencies as spec_check(), but remembers what it found, and on
 * what each answer depends: it asks again only where something changed (section 4.3.1).
 * It pays when the view moves by spec_eval_back() and spec_eval_seek(). */
struct spec_checker;

/** The checker of @p e, which may have one at a time and must outlive it.
 * @param is_by_args  For spec_checker_renew(): an inconsistency counts as changed when any
 *		      argument to its check did. */
struct err *spec_checker_create(struct spec_eval *e, bool is_by_args,
				struct spec_checker **ret);
void spec_checker_destroy(struct spec_checker *c);
void spec_checker_destroyp(struct spec_checker **c);

/** As spec_check_constraint() without a limit. */
struct err *spec_checker_check(struct spec_checker *c, uint32_t constraint,
			       spec_violations *ret);

/** @return how often it asked about the bindings of one node, since it was made. */
uint64_t spec_checker_evaluations(const struct spec_checker *c);

/** Bring @p constraint up to date. @p ret (NULL: not wanted) gets, in no order, those
 * inconsistencies that may not have been there at the last call for @p constraint, or not
 * with the same flags or arguments; and maybe others. */
struct err *spec_checker_renew(struct spec_checker *c, uint32_t constraint,
			       spec_violations *ret);

/** Call @p fn with the pointers of nodes of declared types that lead into node @p to at the
 * view's position: whose, and at which offset. None when it is of no declared type. */
struct err *spec_pointers(struct spec_eval *e, struct hg_node_id to,
			  void (*fn)(void *ctx, uint32_t owner, uint64_t offset),
			  void *ctx);

/** Modification prediction (section 4.3.2): from now on spec_touched() tells when arguments
 * @p a may have changed. @p a are what spec_args() has just said, at the same position.
 * @param tag    What spec_touched() is to call them.
 * @param watch  0, or the watch to set anew. */
struct err *spec_watch(struct spec_eval *e, const struct spec_args *a, uint32_t tag,
		       uint32_t *watch);

/** Watch no more. 0 is allowed. */
void spec_unwatch(struct spec_eval *e, uint32_t watch);

/** The tags of the watches that were touched on the way to the view's position and not
 * told before, in no order; valid until the next call. Such a watch sleeps until it is set
 * anew. */
struct err *spec_touched(struct spec_eval *e, const uint32_t **tags, size_t *n);

#endif
