// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/dec_certain.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "decode/dec_threads.h"

#define CERTAIN_PAGE 4096ull
#define CERTAIN_PAGES 64 ///< each costs a fault or two

/* All registers but the general ones. */
#define CERTAIN_REGS (DEC_REG_RIP - DEC_REG_VEC)

/* What a page held at the instant in question. */
struct certain_page {
	uint64_t addr;
	uint8_t bytes[CERTAIN_PAGE];
};

/* Of the fork, which does nothing else. */
static struct {
	VEC(struct certain_page) written;
	uint8_t regs[CERTAIN_REGS][160];
	uint64_t rflags;
	enum certain result;
} probe;

static enum dec_verdict certain_end(enum certain result)
{
	probe.result = result;
	return DEC_END;
}

static enum dec_verdict certain_syscall(void *ctx, struct dec_engine *e)
{
	(void)ctx, (void)e;
	return certain_end(CERTAIN_UNIQUE);
}

static enum dec_verdict certain_special(void *ctx, struct dec_engine *e,
					const struct dec_insn *insn)
{
	(void)ctx, (void)e, (void)insn;
	return certain_end(CERTAIN_UNIQUE);
}

/* The first store to a page: keep what it holds. */
static enum dec_verdict certain_fault(void *ctx, struct dec_engine *e)
{
	uint64_t page = e->ctx->fault_addr & ~(CERTAIN_PAGE - 1);
	struct dec_replay *r = ctx;
	struct certain_page *p;

	if (e->ctx->fault_signo != SIGSEGV || !guest_avail(&r->guest, page, PROT_WRITE))
		return certain_end(CERTAIN_UNIQUE); // a signal of its own: an event
	// It changes code, or so much that it will not come back to the same state.
	if (map_get(&r->guest.code, page >> 12) || probe.written.size == CERTAIN_PAGES)
		return certain_end(CERTAIN_UNKNOWN);
	p = vec_push(&probe.written);
	if (!p || mprotect((void *)page, CERTAIN_PAGE, PROT_READ | PROT_WRITE))
		return certain_end(CERTAIN_UNKNOWN);
	p->addr = page;
	memcpy(p->bytes, (const void *)page, CERTAIN_PAGE);
	return DEC_GO;
}

/* Register by register: in the saved area, what is in its initial state may be left out. */
static void certain_read_regs(const struct dec_engine *e, uint8_t regs[CERTAIN_REGS][160])
{
	memset(regs, 0, CERTAIN_REGS * sizeof(regs[0]));
	for (int i = 0; i < CERTAIN_REGS; i++)
		engine_read_reg(e, DEC_REG_VEC + i, regs[i]);
}

static bool certain_is_equal(const struct dec_engine *e)
{
	uint8_t regs[CERTAIN_REGS][160];

	certain_read_regs(e, regs);
	if (e->ctx->rflags != probe.rflags || memcmp(regs, probe.regs, sizeof(regs)))
		return false;
	for (size_t i = 0; i < probe.written.size; i++) {
		const struct certain_page *p = &probe.written.data[i];

		if (memcmp((const void *)p->addr, p->bytes, CERTAIN_PAGE))
			return false;
	}
	return true;
}

static enum dec_verdict certain_stop(void *ctx, struct dec_engine *e)
{
	enum dec_verdict v;

	if (e->async_rip != e->ctx->rip || !threads_is_here(ctx, &v))
		return DEC_GO;
	return certain_end(certain_is_equal(e) ? CERTAIN_EQUAL : CERTAIN_NOT);
}

/* The fork's life. */
static enum certain certain_probe(struct dec_replay *r, uint64_t budget)
{
	struct dec_engine *e = &r->engine;

	e->world.syscall = certain_syscall;
	e->world.special = certain_special;
	e->world.fault = certain_fault;
	e->world.stop_at = certain_stop;
	probe.rflags = e->ctx->rflags;
	certain_read_regs(e, probe.regs);
	for (size_t i = 0; i < r->guest.ranges.size; i++) {
		const struct guest_range *g = &r->guest.ranges.data[i];

		if (g->prot & PROT_WRITE &&
		    mprotect((void *)g->start, g->end - g->start, PROT_READ))
			return CERTAIN_UNKNOWN;
	}
	threads_await(r);
	probe.result = CERTAIN_UNKNOWN;
	// Off the place itself: a fault that was resolved executes nothing.
	for (uint64_t start = e->now; e->now == start;) {
		enum dec_verdict v = engine_step(e);

		if (v != DEC_GO)
			return probe.result;
	}
	engine_run(e, e->now + budget);
	return probe.result;
}

enum certain certain_check(struct dec_replay *r, uint64_t budget)
{
	long pid = syscall(SYS_clone, SIGCHLD, 0, NULL, NULL, NULL);
	int status;

	if (!pid)
		syscall(SYS_exit_group, certain_probe(r, budget));
	if (pid < 0 || syscall(SYS_wait4, pid, &status, __WALL, NULL) != pid ||
	    !WIFEXITED(status))
		return CERTAIN_UNKNOWN;
	return WEXITSTATUS(status);
}
