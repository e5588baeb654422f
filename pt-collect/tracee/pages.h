// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The pages of a process (pages.c).
 */
#ifndef PT_COLLECT_TRACEE_PAGES_H
#define PT_COLLECT_TRACEE_PAGES_H

#include "pt-collect/tracee/tracee.h"

struct ptc_range {
	uint64_t start, end; ///< addresses
};

struct ptc_ranges {
	VEC(struct ptc_range) list; ///< ascending
};

/** Append the pages of writable mappings @p maps that are not as they were mapped. */
struct err *ptc_ranges_read(const struct ptc_tracee *t, const struct ptc_maps *maps,
			    struct ptc_ranges *ret);

/** What a core has to hold of mapping @p m, whose file is kept when @p is_kept. @p pagemap: of
 * its process. @return false when memory is out. */
bool ptc_pages_find(const struct ptc_tracee *t, int pagemap, const struct ptc_map *m,
		    bool is_kept, struct ptc_ranges *v);

/** Memory that is mapped: what cannot be read is zeros. */
void ptc_pages_read(const struct ptc_tracee *t, uint64_t addr, void *buf, size_t size);

#endif
