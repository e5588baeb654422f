// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The state at the end, from end.core: registers, vectors out of the XSAVE area (standard
 * format; Intel SDM volume 1, chapter 13), and memory with what may have changed it.
 */
#include "decode/past/flight_int.h"

#include <string.h>
#include <sys/mman.h>

enum {
	XSAVE_SSE = 1,
	XSAVE_YMM = 2,
	XSAVE_K = 5,
	XSAVE_ZMM_HIGH = 6,
	XSAVE_ZMM16 = 7,
	XSAVE_MXCSR_AT = 24,
	XSAVE_LEGACY_BYTES = 576,
};

#define XSAVE_XMM_AT 160

/* Copy @p n bytes of component @p which. One that is not in use is all zeros. @return
 * false when the area does not hold it. */
static bool xsave_get(const struct cap_core *core, int which, size_t at, void *to,
		      size_t n)
{
	const struct cap_xstate_layout layout = cap_core_xstate();
	size_t from = which == XSAVE_SSE ? XSAVE_XMM_AT : layout.at[which].offset;
	uint64_t in_use = 3;

	if (!core->xstate || core->xstate_bytes < XSAVE_LEGACY_BYTES)
		return false;
	memcpy(&in_use, core->xstate + 512, 8);
	if (!(in_use >> which & 1)) {
		memset(to, 0, n);
		return true;
	}
	if (from + at + n > core->xstate_bytes)
		return false;
	memcpy(to, core->xstate + from + at, n);
	return true;
}

static void end_vectors(struct dec_recover_end *e, const struct cap_core *core)
{
	for (int v = 0; v < 16; v++) {
		if (xsave_get(core, XSAVE_SSE, 16 * v, e->vec[v], 16))
			e->vec_mask[v] |= 0xffff;
		if (xsave_get(core, XSAVE_YMM, 16 * v, e->vec[v] + 16, 16))
			e->vec_mask[v] |= 0xffff0000;
		if (xsave_get(core, XSAVE_ZMM_HIGH, 32 * v, e->vec[v] + 32, 32))
			e->vec_mask[v] |= 0xffffffff00000000;
		if (xsave_get(core, XSAVE_ZMM16, 64 * v, e->vec[16 + v], 64))
			e->vec_mask[16 + v] = UINT64_MAX;
	}
	e->has_k = xsave_get(core, XSAVE_K, 0, e->k, sizeof(e->k));
}

/* A core does not tell which mappings are shared; their names do for the usual ones. */
static bool is_shared(const struct cap_mapping *m)
{
	return strncmp(m->name, "/dev/", 5) == 0 || strncmp(m->name, "/memfd:", 7) == 0 ||
	       strncmp(m->name, "/SYSV", 5) == 0 || strcmp(m->name, "[vvar]") == 0;
}

static enum dec_recover_map end_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct flight_end *e = ctx;
	const struct cap_mapping *m = cap_core_mapping(e->core, addr);
	struct err *err;

	if (!m || addr + size > m->end)
		return DEC_MAP_NONE;
	err = cap_core_read(e->capture, e->core, addr, buf, size);
	if (err) {
		err_destroy(err);
		return DEC_MAP_NONE;
	}
	// A file that somebody writes may be mapped shared, and elsewhere too.
	if (is_shared(m) || ((m->prot & PROT_WRITE) && m->name[0] == '/' && !m->file))
		return DEC_MAP_SHARED;
	return m->prot & PROT_WRITE ? DEC_MAP_PRIVATE : DEC_MAP_CONST;
}

struct err *dec_flight_end_create(const struct capture *c, const struct cap_core *core,
				  struct flight_end **ret)
{
	struct flight_end *e = calloc(1, sizeof(*e));

	if (!e)
		return &err_nomem;
	*e = (struct flight_end){
		.end = { .regs = core->regs, .read = end_read, .ctx = e },
		.capture = c,
		.core = core,
	};
	end_vectors(&e->end, core);
	if (core->xstate && core->xstate_bytes >= XSAVE_LEGACY_BYTES)
		memcpy(&e->end.mxcsr, core->xstate + XSAVE_MXCSR_AT, 4);
	*ret = e;
	return NULL;
}
