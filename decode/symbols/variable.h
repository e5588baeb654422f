// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Variables of the program by their names: globals, statics and locals that are in memory,
 * where they are and what they look like (DWARF).
 */
#ifndef DECODE_SYMBOLS_VARIABLE_H
#define DECODE_SYMBOLS_VARIABLE_H

#include "decode/symbols/frame.h"

struct dec_sym_unit;
struct dec_var_moving;

/** Where a variable is: a global one or static in one place, a local one in each copy of its
 * function, in each of its calls. */
struct dec_var_site {
	const struct dec_sym_unit *unit;
	/** Link-time: its own; of a local one, where its scope is entered; of one that moves,
	 * where it is to be looked at. Of one of each thread: behind where those of its module
	 * begin. */
	uint64_t addr;
	/** Of a local one: at addr, [cfa_reg] + cfa_disp is its frame, just behind the return
	 * address; it lies offset from there. */
	int cfa_reg;
	int64_t cfa_disp, offset;
	/** The variable is a new one whenever addr is reached from outside of [lo, hi), or, where
	 * these are the same and it is no function's entry, once a call: its scope is in pieces,
	 * each with a site. */
	uint64_t lo, hi;
	bool is_entry; ///< addr is the function's
	/** Of a local one that is in registers, or in several places: which it is, in one copy
	 * of its function. Between two of its sites it does not change. Else NULL. */
	const struct dec_var_moving *moving;
	uint64_t pc;	    ///< of one that moves: link-time, of what it is asked
	bool is_within;	    ///< .. and whether that is in its scope
	bool is_per_thread; ///< the executable's, once in each thread
};

struct dec_variable {
	struct dec_place place; ///< where it is declared
	const char *tag;  ///< its struct's name, as dec_symbols_struct() has it, or NULL
	const char *type; ///< its type for people: "node *[64]"
	/** Its struct's; of what is none, one with the variable as the only member, under its
	 * name. */
	const struct dec_struct *layout;
	uint64_t size; ///< bytes
	bool is_struct, is_local;
	bool is_per_thread;
	const struct dec_var_site *sites;
	size_t n_sites;
	size_t n_unplaced; ///< copies of its function in which it is not in memory
};

/** Why there is no such variable. */
enum dec_var_fate {
	DEC_VAR_FOUND,
	DEC_VAR_UNKNOWN,   ///< nothing has that name
	DEC_VAR_ELSEWHERE, ///< something has, in another file, which *others tells
	DEC_VAR_SEVERAL,   ///< several have: *others tells where
	DEC_VAR_IS_LOCAL, ///< it is local, and its function was not named: *others tells it
	DEC_VAR_UNPLACED,   ///< removed by the compiler
	DEC_VAR_MOVES,	    ///< where its function's frames are is not known
	DEC_VAR_PER_THREAD, ///< a library's
	DEC_VAR_TOO_LARGE,  ///< an array with more elements than a struct may have fields
};

/**
 * Find variable @p name: `head`, or with the last of its scopes or all of them,
 * `ns::pool::head`, `main::list`. Unqualified it is not local.
 *
 * @param source  the file that has it, matched as a path's suffix; NULL: any
 * @param others  text, as long-lived as @p s, for some fates; else NULL
 * @return NULL or ERR_NOMEM.
 */
struct err *dec_symbols_variable_named(struct dec_symbols *s, const char *name,
				       const char *source, struct dec_variable *ret,
				       enum dec_var_fate *fate, const char **others);

/** Read what the variable of @p site, one that moves, holds where frame @p f stands, which is at
 * the site, into @p buf. @return false: it is optimized out there, as a whole or in part. */
bool dec_symbols_site_value(struct dec_symbols *s, const struct dec_var_site *site,
			    const struct dec_frame *f, void *buf, uint64_t size);

/** @return where the executable's variables of the thread whose control block is at
 * @p fs_base begin; 0: there are none. */
uint64_t dec_symbols_threads_own(const struct dec_symbols *s, uint64_t fs_base);

/** A variable that has one place as long as its module is mapped. */
struct dec_global {
	const char *name;    ///< its own alone; NULL: it has none
	uint64_t addr, size; ///< bytes
	bool is_atomic; ///< what is at the address that was asked for: _Atomic, std::atomic
};

/** @return whether DWARF knows a global or static variable at @p addr, which is @p ret. */
bool dec_symbols_global(struct dec_symbols *s, uint64_t addr, struct dec_global *ret);

/** Call @p fn with the names of all variables that have one, functions' before their locals'
 * (`main::list`), some repeatedly. */
void dec_symbols_variables(struct dec_symbols *s, void (*fn)(void *ctx, const char *name),
			   void *ctx);

/** @return whether @p path ends with the path @p suffix: the user writes `list.c`, DWARF has
 * `/src/lib/list.c`. */
bool dec_path_is_suffix(const char *path, const char *suffix);

/** Know the debug information of all files that the capture kept, also of those that are not
 * mapped yet. @return NULL, ERR_NOMEM, ERR_OS. */
struct err *dec_symbols_open_kept(struct dec_symbols *s);

/** @return whether @p u is mapped; then @p ret is where its link-time @p addr lies. */
bool dec_symbols_unit_address(const struct dec_symbols *s, const struct dec_sym_unit *u,
			      uint64_t addr, uint64_t *ret);

/** What a variable at link-time @p addr holds where its module has just been mapped; of one
 * @p is_per_thread, where its thread begins. */
void dec_symbols_unit_contents(const struct dec_sym_unit *u, uint64_t addr, void *buf,
			       size_t size, bool is_per_thread);

#endif
