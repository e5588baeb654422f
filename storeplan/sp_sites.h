// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where to probe one function: greedy set cover, weighted by estimated cost.
 */
#ifndef STOREPLAN_SP_SITES_H
#define STOREPLAN_SP_SITES_H

#include "storeplan/sp_known.h"
#include "storeplan/storeplan.h"

/** A store while the sites are sought. */
struct sites_store {
	uint32_t insn;
	uint8_t state;	    ///< enum sp_store_state
	bool is_copy;	    ///< rep movs
	bool is_done;	    ///< known, by what is placed so far
	int64_t read_shift; ///< to the displacement when its address register has moved on
	uint32_t window;  ///< its memory can be read before each of the instructions from
			  ///< insn + 1 up to this one; == insn: nowhere
	uint32_t read_at; ///< instruction of the probe that reads it; UINT32_MAX: none
};

struct sites_probe {
	uint32_t insn;
	VEC(uint32_t) reads; ///< stores
};

struct sp_sites {
	const struct sp_function *f;
	const struct sp_steps *s;
	struct sp_known known; ///< with all probes
	VEC(struct sites_store) stores;
	VEC(struct sites_probe) probes;
	sp_set *given; ///< by instruction: what probes give
};

/** Place the probes of @p f. @p o as for sp_plan_make(). */
struct err *sp_sites_choose(const struct sp_function *f, const struct sp_steps *s,
			    const struct sp_options *o, struct sp_sites *ret);
void sp_sites_deinit(struct sp_sites *p);

/** @return whether @p i of @p f is a store that the options want. */
bool sp_sites_is_wanted(const struct sp_insn *i, const struct sp_step *st,
			const struct sp_options *o);

#endif
