// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/layout.h"

#include <sys/mman.h>
#include <sys/syscall.h>

static struct {
	VEC(struct dec_moved) all;
	VEC(struct dec_engine_move) insns; ///< of these, the engine's
} layout;

struct err *dec_layout_add(const struct dec_moved *moved, size_t n, bool goes_on)
{
	if (!goes_on)
		layout.all.size = layout.insns.size = 0;
	for (size_t i = 0; i < n; i++) {
		struct dec_engine_move move = { moved[i].at, moved[i].to };

		if (moved[i].kind == DEC_MOVED_INSN ? vec_add(&layout.insns, move) :
						      vec_add(&layout.all, moved[i]))
			return &err_nomem;
	}
	return NULL;
}

/* New memory, empty, as mmap() gives it. */
static struct err *map_area(struct dec_replay *r, const struct dec_moved *m)
{
	struct cap_event ev = { .kind = CAP_EV_SYSCALL, .ret = m->at };

	ev.regs.gpr[CAP_RAX] = SYS_mmap;
	ev.regs.gpr[CAP_RDI] = m->at;
	ev.regs.gpr[CAP_RSI] = m->size;
	ev.regs.gpr[CAP_RDX] = PROT_READ | PROT_WRITE;
	ev.regs.gpr[CAP_R10] = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	ev.regs.gpr[CAP_R8] = UINT64_MAX;
	return dec_guest_syscall(&r->guest, &ev);
}

static struct err *copy(struct dec_replay *r, const struct dec_moved *m)
{
	if (dec_guest_avail(&r->guest, m->at, PROT_READ) < m->size)
		return err_new(ERR_RANGE, "no memory at %#lx to be moved", m->at);
	return dec_guest_write(&r->guest, m->to, (const void *)m->at, m->size);
}

struct err *dec_layout_apply(struct dec_replay *r)
{
	struct err *err = NULL;

	for (size_t i = 0; i < layout.all.size && !err; i++) {
		const struct dec_moved *m = &layout.all.data[i];

		if (m->kind == DEC_MOVED_AREA)
			err = map_area(r, m);
		else if (m->kind == DEC_MOVED_BYTES)
			err = copy(r, m);
		else
			err = dec_guest_write(&r->guest, m->at, &m->to, 8);
	}
	if (err)
		return err;
	r->engine.moves = layout.insns.data;
	r->engine.n_moves = layout.insns.size;
	dec_engine_flush(&r->engine);
	return NULL;
}
