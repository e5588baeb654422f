// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The probes of a recorded process, and what those of all processes share. Each kind has a
 * header of its own: heap.h, stores.h, chance.h.
 */
#ifndef PT_COLLECT_PROBES_PROBES_H
#define PT_COLLECT_PROBES_PROBES_H

#include <sys/stat.h>

#include "base/base.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/log/log.h"
#include "pt-collect/tracee/tracee.h"

struct ptc_heap;
struct ptc_stores;
struct ptc_store_options;
struct ptc_store_plans;

/** rdrand or its kin in a file, for processes forked from one that has it mapped. */
struct ptc_chance_site {
	char *path;
	uint64_t at;   ///< file offset
	uint64_t insn; ///< enum rec_chance_insn
};

typedef VEC(struct ptc_chance_site) ptc_chance_sites;

/** Instructions to probe in a file. */
struct ptc_chance_places {
	VEC(uint64_t) at, insn; ///< alike long: file offsets, enum rec_chance_insn
};

/** What a stretch of a file's code has of them. Files are large, and programs start often: each
 * is searched once, as long as it stays the same. */
struct ptc_chance_search {
	struct stat file;
	uint64_t offset, size; ///< the stretch
	struct ptc_chance_places places;
};

typedef VEC(struct ptc_chance_search) ptc_chance_searches;

/** Of all processes. */
struct ptc_probing {
	struct ptc_bpf *bpf;
	bool wants_heap;
	bool is_portable; ///< cpuid tells of no instructions that another host may lack
	bool probes_tsc;  ///< of some process rdtsc does not trap any more
	bool in_flight;	  ///< results are probed, too; gaps are told in each snapshot
	const struct ptc_store_options *stores;
	struct ptc_store_plans *plans; ///< made so far; NULL = none
	ptc_chance_sites chance_sites; ///< found so far
	ptc_chance_searches chance_searches;
};

/** Of one. */
struct ptc_probes {
	struct ptc_probing *all;
	const struct ptc_tracee *tracee;
	struct ptc_log *log;
	struct ptc_heap *heap;	    ///< NULL = none
	struct ptc_stores *stores;  ///< NULL = none
	ptc_chance_sites tsc_sites; ///< by ptc_tsc_probe()
	bool has_tsc;		    ///< what is behind some rdtsc is probed
};

#endif
