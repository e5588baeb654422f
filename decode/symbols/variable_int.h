// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What variable.c and variable_place.c share: a variable's DIE and what it is in.
 */
#ifndef DECODE_SYMBOLS_VARIABLE_INT_H
#define DECODE_SYMBOLS_VARIABLE_INT_H

#include "decode/symbols/symbols_int.h"
#include "decode/symbols/variable.h"

/** What DWARF says of the global or static variable that @p addr is in. @return false: it knows none. */
bool dec_sym_global_die(struct dec_symbols *s, uint64_t addr, Dwarf_Die *ret);

/** DIEs from a compile unit's child down to a variable, which is the last. */
struct dec_var_path {
	struct dec_sym_unit *unit;
	struct dec_sym_cu *cu;
	Dwarf_Die die[DEC_SYM_DEPTH];
	int n;
	int function; ///< index of the innermost function or inlined copy; -1: in none
};

/** Walk through the variables of all modules, the executable's first, the system's left out, until
 * @p fn returns an error, which is returned. */
struct err *dec_var_walk(struct dec_symbols *s,
			 struct err *(*fn)(void *ctx, struct dec_var_path *p), void *ctx);

#define DEC_VAR_SCOPES 16

/** Names of scopes, from the outermost in. */
struct dec_var_scopes {
	const char *name[DEC_VAR_SCOPES];
	int n;
};

/** The scopes around the variable of @p p: of a function's those around that, and it; else its
 * own. */
void dec_var_scopes(struct dec_var_path *p, struct dec_var_scopes *ret);

typedef VEC(struct dec_var_site) dec_var_sites;

/** Append where the variable of @p p is to @p ret, if its fate is DEC_VAR_FOUND; *@p is_local:
 * it is in frames. A declaration alone is DEC_VAR_UNKNOWN. @return ERR_NOMEM or NULL. */
struct err *dec_var_place(struct dec_symbols *s, struct dec_var_path *p,
			  dec_var_sites *ret, bool *is_local, enum dec_var_fate *fate);

/** Append where the local variable of @p p, which is not always at one place of its frame, is to
 * be looked at. @return how many these are; -1: out of memory. */
int dec_var_add_moving(struct dec_symbols *s, struct dec_var_path *p, dec_var_sites *ret);

#endif
