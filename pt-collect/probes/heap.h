// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * -e heap: where to probe (sites.c), and probing (heap.c).
 */
#ifndef PT_COLLECT_PROBES_HEAP_H
#define PT_COLLECT_PROBES_HEAP_H

#include "pt-collect/probes/probes.h"

/** A probe site inside a function. */
struct ptc_site {
	unsigned offset;      ///< bytes behind the entry
	bool is_emulated;     ///< the kernel emulates the instruction there
	bool is_above_return; ///< rsp points to the return address, as at the entry
	const char *mnemonic; ///< static text
};

/** Choose where to probe a function whose first @p size bytes are @p code and whose first
 * @p n_args integer arguments matter, @p from bytes behind its entry or later. Total: falls
 * back to the entry. */
struct ptc_site ptc_site_choose(const uint8_t *code, size_t size, unsigned n_args,
				unsigned from);

/** Where to probe a function as soon as it is entered: @p ret bytes behind its entry, where
 * the first instruction is on which a probe may be. @return whether there is one. */
bool ptc_site_enter(const uint8_t *code, size_t size, unsigned *ret);

/** Place probes, if they are wanted, when the program has mapped its libc, or is static. */
void ptc_heap_mapped(struct ptc_probes *x, const char *path, uint32_t file, bool is_exe);

/** The sites for the manifest; borrowed until the session ends. */
const struct cap_heap_site *ptc_heap_sites(const struct ptc_probes *x, size_t *n);

/** Name the sites' files as those of @p core's mappings are. */
void ptc_heap_renumber(struct ptc_probes *x, const struct cap_core *core);
void ptc_heap_destroy(struct ptc_heap *h);

#endif
