// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What system calls do to memory, as far as it is known without their effects having been
 * recorded: a table. A call that is not in it may write anything.
 */
#include "decode/past/recover_mem.h"

#include <sys/mman.h>
#include <sys/syscall.h>

/* What a call may write of memory that exists: nothing; a buffer (an argument's register,
 * and its size or the register that holds it); the range it maps; or who knows. */
struct call_effect {
	uint16_t nr;
	enum { CALL_NOTHING, CALL_BUFFER, CALL_SIZED, CALL_MAPS } what;
	uint8_t reg;
	uint32_t size; ///< or register
};

static const struct call_effect call_effects[] = {
	{ SYS_write, CALL_NOTHING, 0, 0 },
	{ SYS_writev, CALL_NOTHING, 0, 0 },
	{ SYS_close, CALL_NOTHING, 0, 0 },
	{ SYS_open, CALL_NOTHING, 0, 0 },
	{ SYS_openat, CALL_NOTHING, 0, 0 },
	{ SYS_lseek, CALL_NOTHING, 0, 0 },
	{ SYS_access, CALL_NOTHING, 0, 0 },
	{ SYS_getpid, CALL_NOTHING, 0, 0 },
	{ SYS_gettid, CALL_NOTHING, 0, 0 },
	{ SYS_getuid, CALL_NOTHING, 0, 0 },
	{ SYS_geteuid, CALL_NOTHING, 0, 0 },
	{ SYS_getppid, CALL_NOTHING, 0, 0 },
	{ SYS_sched_yield, CALL_NOTHING, 0, 0 },
	{ SYS_kill, CALL_NOTHING, 0, 0 },
	{ SYS_tgkill, CALL_NOTHING, 0, 0 },
	{ SYS_fsync, CALL_NOTHING, 0, 0 },
	{ SYS_ftruncate, CALL_NOTHING, 0, 0 },
	{ SYS_unlink, CALL_NOTHING, 0, 0 },
	{ SYS_mprotect, CALL_NOTHING, 0, 0 },
	{ SYS_munmap, CALL_NOTHING, 0, 0 },
	{ SYS_read, CALL_SIZED, CAP_RSI, CAP_RDX },
	{ SYS_pread64, CALL_SIZED, CAP_RSI, CAP_RDX },
	{ SYS_getrandom, CALL_SIZED, CAP_RDI, CAP_RSI },
	{ SYS_readlink, CALL_SIZED, CAP_RSI, CAP_RDX },
	{ SYS_fstat, CALL_BUFFER, CAP_RSI, 144 },
	{ SYS_newfstatat, CALL_BUFFER, CAP_RDX, 144 },
	{ SYS_clock_gettime, CALL_BUFFER, CAP_RSI, 16 },
	{ SYS_gettimeofday, CALL_BUFFER, CAP_RDI, 16 },
	{ SYS_rt_sigprocmask, CALL_BUFFER, CAP_RDX, 8 },
	{ SYS_rt_sigaction, CALL_BUFFER, CAP_RDX, 32 },
	{ SYS_prlimit64, CALL_BUFFER, CAP_R10, 16 },
	{ SYS_brk, CALL_NOTHING, 0, 0 },
	{ SYS_mmap, CALL_MAPS, 0, 0 },
};

static const struct call_effect *call_effect(uint64_t nr)
{
	for (size_t i = 0; i < sizeof(call_effects) / sizeof(*call_effects); i++) {
		if (call_effects[i].nr == nr)
			return &call_effects[i];
	}
	return NULL;
}

enum past_range_certainty dec_recover_call_find(const struct past_at *at,
						struct past_range *ret)
{
	struct past_bits nr = past_reg(at, CAP_RAX, false), to, n;
	const struct call_effect *e = nr.m == UINT64_MAX ? call_effect(nr.v) : NULL;

	if (!e)
		return PAST_RANGE_UNKNOWN;
	if (e->what == CALL_NOTHING)
		return PAST_RANGE_NONE;
	to = past_reg(at, e->what == CALL_MAPS ? CAP_RAX : e->reg, e->what == CALL_MAPS);
	n = e->what == CALL_SIZED ? past_reg(at, e->size, false) :
	    e->what == CALL_MAPS  ? past_reg(at, CAP_RSI, false) :
				    past_const(e->size);
	if (to.m != UINT64_MAX || n.m != UINT64_MAX)
		return PAST_RANGE_UNKNOWN;
	// A failed mmap, a null pointer.
	if (to.v >= -4095ull || !to.v || !n.v)
		return PAST_RANGE_NONE;
	*ret = (struct past_range){ .to = to.v, .n = n.v };
	return PAST_RANGE_SOME;
}

/* @return whether a call changes no mapping that is not writable in the end. */
static bool call_keeps_const(struct dec_recover *r, uint32_t step)
{
	struct past_at at = past_at(r, step);
	struct past_bits nr = past_reg(&at, CAP_RAX, false),
			 prot = past_reg(&at, CAP_RDX, false);
	struct past_bits flags = past_reg(&at, CAP_R10, false);

	if (nr.m != UINT64_MAX || !call_effect(nr.v))
		return false;
	if (nr.v == SYS_mprotect)
		return prot.v & PROT_WRITE;
	return nr.v != SYS_mmap || ((prot.v & PROT_WRITE) && (flags.v & MAP_ANONYMOUS));
}

/* Mappings that nobody may write were the same from here on to the end. */
void dec_recover_calls_look(struct dec_recover *r)
{
	r->ran.const_from = 0;
	for (size_t i = r->ran.calls.size; i > 0 && !r->ran.const_from; i--) {
		if (!call_keeps_const(r, r->ran.calls.data[i - 1]))
			r->ran.const_from = r->ran.calls.data[i - 1] + 1;
	}
}
