// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to spec_resolve.c and spec_parts.c: names on layouts. In a pattern each index that is
 * no constant is `[*]`. Text is made in the spec's arena; where memory is out the resolver
 * says so and nothing is found.
 */
#ifndef SPECDSL_SPEC_RESOLVE_H
#define SPECDSL_SPEC_RESOLVE_H

#include "specdsl/spec_ast.h"

struct resolver {
	struct spec *s;
	struct spec_file *file;
	const struct spec_var *vars;
	bool is_out_of_memory;
};

/** How many fields begin with @p name, that of a nested struct or array of @p l? UINT32_MAX:
 * however many fit. @p ret: the last one's number. */
uint32_t spec_parts_count(const struct dec_struct *l, const char *name, uint32_t *ret);

/** @return what comes behind @p name in the name of the first of them; NULL: there is none. */
const char *spec_parts_first(const struct dec_struct *l, const char *name);

/** @return how many of the fields of @p l called @p name `[0]`, `[1]` and so on there are,
 * each of a character (UINT32_MAX: however many fit); 0 when parts of @p name are not. */
uint32_t spec_parts_chars(struct resolver *r, const struct dec_struct *l,
			  const char *name);

/** @return @p pattern with its @p step-th `[*]`, from 0, as `[at]` and the others as `[0]`. */
const char *spec_parts_name(struct resolver *r, const char *pattern, uint32_t step,
			    uint32_t at);

/** What @p pattern, with @p n_steps indices that are no constants, is on @p l. */
struct ast_meaning spec_parts_find(struct resolver *r, const char *pattern,
				   uint32_t n_steps, const struct dec_struct *l);

#endif
