// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Heap things as people write them: `n1`, `n1.child[0]`, `n2 -> NULL`.
 */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

#include <stdio.h>

#include "faultlocate/fl_faults.h"

/** @return the spec type of @p id, or NULL. */
const struct spec_type *report_name_type(const struct fl_namer *n, struct hg_node_id id,
					 size_t *index);

/** @return whether @p id is a variable. */
bool report_name_is_root(const struct fl_namer *n, struct hg_node_id id);

/** Field number @p i (from 1) of node @p id: layout, and a name to show ("next", "[3]" when
 * it has none). @return false when the node has no such field. */
bool report_name_field(const struct fl_namer *n, struct hg_node_id id, uint64_t i,
		       struct dec_field *f, char *name, size_t name_bytes);

/** @return whether field @p f, shown as @p name, is element @p k of the array of char whose
 * element 0 is shown as @p first ("key[0]"). */
bool report_name_is_char(const struct dec_field *f, const char *name, const char *first,
			 uint64_t k);

/** @return how many fields of node @p id, from @p i on, are a whole array of char that holds
 * text in @p v; 0: none. @p name is then the array's, and @p text the text in quotes, or as
 * much as there is room for and "...". */
uint64_t report_name_text(const struct fl_namer *n, const struct hg_view *v,
			  struct hg_node_id id, uint64_t i, char *name, size_t name_bytes,
			  char *text, size_t text_bytes);

/** What a pointer leads to. */
struct fl_target {
	enum { FL_TO_NULL, FL_TO_NODE, FL_TO_FREED, FL_TO_WILD } kind;
	struct hg_node_id node; ///< TO_NODE, TO_FREED
	uint64_t offset;	///< into it
};

/** Finds what pointers lead to, when there are many. */
struct fl_finder {
	struct hg_past *past; ///< NULL: the namer has trails
	struct map bins;      ///< start -> node
};

/** For the graph of @p n, which must outlive it. @return NULL or ERR_NOMEM; deinit is right
 * after either, and of a zeroed one. */
struct err *report_finder_init(struct fl_finder *f, const struct fl_namer *n);
void report_finder_deinit(struct fl_finder *f);

/** Explain pointer @p addr at @p time. @p f: of @p n, best with times that go forward; NULL:
 * the nodes are looked at one by one. */
struct fl_target report_name_target(const struct fl_namer *n, struct fl_finder *f,
				    uint64_t addr, uint64_t time);

/** Write the value of field @p f, whose bytes are @p raw, at @p time into @p buf: `NULL`,
 * `n5`, `n5+8`, `n5 (freed)`, `0x7f..`, `-3`, `0.5`. @p finder: as above. @return buf */
const char *report_name_value(const struct fl_namer *n, struct fl_finder *finder,
			      const struct dec_field *f, uint64_t raw, uint64_t time,
			      char *buf, size_t buf_bytes);

/** Write what operation @p op did: `n1.child[0]: n2 -> NULL`, `n5 allocated (48 bytes)`,
 * `n5 freed`. */
void report_name_change(const struct fl_namer *n, uint64_t op, FILE *out);

#endif
