// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/certain.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "decode/machine/alias.h"
#include "decode/machine/closed.h"
#include "decode/machine/threads.h"
#include "decode/translator/touch.h"

#define CERTAIN_PAGE 4096ull
#define CERTAIN_PAGES 64       ///< each costs a fault or two
#define CERTAIN_PAGES_MAX 2048 ///< of a way that is short
#define CERTAIN_SHORT 16384    ///< instructions
#define CERTAIN_BYTES (CERTAIN_PAGES * CERTAIN_PAGE)
#define CERTAIN_STEPS 300 ///< cost as much as protecting all memory

/* All registers but the general ones, flags among them. Which of these a thread looks at behind the place need not be
 * asked: what recurs with the same registers and memory, and other flags that are dead, does so once. */
#define CERTAIN_REGS (DEC_REG_RIP - DEC_REG_VEC)

/* What a page held at the instant in question. */
struct certain_page {
	uint64_t addr;
	uint8_t bytes[CERTAIN_PAGE];
};

/* Of the way ahead in whole blocks, in a fork or here. */
static struct {
	VEC(struct certain_page) written;
	uint8_t regs[CERTAIN_REGS][160];
	size_t pages_max;
	bool is_full; ///< one page more was written
	enum certain result;
} probe;

/* What a store overwrote. */
struct certain_store {
	uint64_t addr;
	uint32_t size, at; ///< its bytes in ahead.before
};

/* Of the way ahead that is taken back. */
static struct {
	VEC(struct certain_store) stores;
	uint8_t before[CERTAIN_BYTES], after[CERTAIN_BYTES];
	size_t n_bytes;
	bool can_tell;
	enum certain result;
} ahead;

/* Register by register: in the saved area, what is in its initial state may be left out. */
static void certain_read_regs(const struct dec_engine *e, uint8_t regs[CERTAIN_REGS][160])
{
	memset(regs, 0, CERTAIN_REGS * sizeof(regs[0]));
	for (int i = 0; i < CERTAIN_REGS; i++)
		dec_engine_read_reg(e, DEC_REG_VEC + i, regs[i]);
}

/* ---- from here, and back ------------------------------------------------------------ */

/* What looking ahead changes beside memory. */
struct certain_here {
	struct replay_thread thread;
	struct dec_world world;
	uint64_t now, n_traced, unstopped_rip, unstopped_now;
	bool is_traced;
};

static void certain_complain(void *ctx, struct dec_engine *e, const char *text)
{
	(void)ctx, (void)e, (void)text;
}

static void certain_leave(struct dec_replay *r, struct certain_here *h)
{
	struct dec_engine *e = &r->engine;

	h->world = e->world;
	h->now = e->now;
	h->n_traced = dec_threads_current(r)->n_traced;
	h->unstopped_rip = e->unstopped_rip;
	h->unstopped_now = e->unstopped_now;
	h->is_traced = r->is_traced;
	dec_threads_save(r, &h->thread);
	e->world.complain = certain_complain;
}

/* Behind it the registers of h->thread are the guest's again. */
static void certain_return(struct dec_replay *r, const struct certain_here *h)
{
	struct dec_engine *e = &r->engine;

	dec_threads_load(r, &h->thread);
	e->world = h->world;
	e->now = h->now;
	e->unstopped_rip = h->unstopped_rip;
	e->unstopped_now = h->unstopped_now;
	dec_threads_current(r)->n_traced = h->n_traced;
	r->is_traced = h->is_traced;
}

/* ---- step by step ------------------------------------------------------------------- */

static bool ahead_says(enum certain result)
{
	ahead.result = result;
	return ahead.can_tell = true;
}

/* Keep what @p insn is about to overwrite. @return false: not possible, or too much. */
static bool ahead_keep(struct dec_replay *r, const struct dec_insn *insn)
{
	const uint64_t *gpr = r->engine.ctx->gpr;
	struct dec_touch touch[DEC_TOUCHES];
	int n = dec_touch_list(&r->engine, insn, gpr,
			       insn->is_rep ? dec_touch_count(insn, gpr) : 1, touch);

	for (int i = 0; i < n; i++) {
		const struct dec_touch *t = &touch[i];
		struct certain_store *s;

		if (!t->is_def)
			continue;
		// So much that it will not come back to the same state.
		if (t->size > CERTAIN_BYTES)
			return !ahead_says(CERTAIN_UNKNOWN);
		if (t->size > CERTAIN_BYTES - ahead.n_bytes ||
		    dec_guest_avail(&r->guest, t->addr, PROT_WRITE) < t->size)
			return false;
		s = vec_push(&ahead.stores);
		if (!s)
			return false;
		*s = (struct certain_store){ t->addr, t->size, ahead.n_bytes };
		memcpy(ahead.before + s->at, (const void *)s->addr, s->size);
		ahead.n_bytes += s->size;
	}
	return true;
}

static enum dec_verdict ahead_fault(void *ctx, struct dec_engine *e)
{
	struct dec_replay *r = ctx;

	// A signal of its own is an event. Else it changes code.
	if (e->ctx->fault_signo != SIGSEGV ||
	    !dec_guest_avail(&r->guest, e->ctx->fault_addr, PROT_WRITE))
		ahead_says(CERTAIN_UNIQUE);
	return DEC_END;
}

/* Run on to the thread's next event or to the same place, if that is near. */
static void ahead_run(struct dec_replay *r, uint64_t budget)
{
	struct dec_engine *e = &r->engine;
	uint64_t start = e->now;

	for (enum dec_verdict v = DEC_GO; v == DEC_GO && e->now - start < budget;) {
		const struct dec_insn *insn = dec_engine_insn(e, e->ctx->rip);

		if (insn->flow == DEC_FLOW_FORBIDDEN)
			return;
		if (insn->flow >= DEC_FLOW_SYSCALL) {
			ahead_says(CERTAIN_UNIQUE);
			return;
		}
		if (e->now != start && e->ctx->rip == r->next.regs.rip) {
			if (insn->is_rep)
				return; // part of it would have to be executed
			if (dec_threads_is_here(r, &v)) {
				ahead_says(CERTAIN_EQUAL);
				return;
			}
		}
		if (!ahead_keep(r, insn))
			return;
		v = dec_engine_step(e);
	}
}

/* Undo store @p s. What it was kept for may not have happened, because the page holds code;
 * or code was looked at there since. */
static void ahead_undo(struct dec_guest *g, const struct certain_store *s)
{
	const uint8_t *before = ahead.before + s->at;

	if (memcmp((const void *)s->addr, before, s->size))
		err_destroy(dec_guest_write(g, s->addr, before, s->size));
}

/* All memory is again what it was. @return whether that changes none. */
static bool ahead_take_back(struct dec_guest *g)
{
	const struct certain_store *s = ahead.stores.data;
	bool is_equal = true;

	for (size_t i = 0; i < ahead.stores.size; i++)
		memcpy(ahead.after + s[i].at, (const void *)s[i].addr, s[i].size);
	for (size_t i = ahead.stores.size; i--;)
		ahead_undo(g, &s[i]);
	for (size_t i = 0; is_equal && i < ahead.stores.size; i++)
		is_equal = !memcmp(ahead.after + s[i].at, (const void *)s[i].addr,
				   s[i].size);
	return is_equal;
}

/* @p h is the guest's again. @return whether the registers that the place does not tell were the same. */
static bool ahead_return(struct dec_replay *r, const struct certain_here *h)
{
	uint8_t there[CERTAIN_REGS][160], here[CERTAIN_REGS][160];

	if (ahead.result == CERTAIN_EQUAL)
		certain_read_regs(&r->engine, there);
	certain_return(r, h);
	if (ahead.result != CERTAIN_EQUAL)
		return false;
	certain_read_regs(&r->engine, here);
	return !memcmp(there, here, sizeof(there));
}

/* @return whether the answer is in ahead.result. The guest is where it was. */
static bool certain_ahead(struct dec_replay *r, uint64_t budget)
{
	struct certain_here here;
	bool has_memory, has_registers;

	ahead.stores.size = ahead.n_bytes = 0;
	ahead.can_tell = false;
	ahead.result = CERTAIN_UNKNOWN;
	certain_leave(r, &here);
	r->engine.world.fault = ahead_fault;
	ahead_run(r, budget < CERTAIN_STEPS ? budget : CERTAIN_STEPS);
	has_memory = ahead_take_back(&r->guest);
	has_registers = ahead_return(r, &here);
	if (ahead.result == CERTAIN_EQUAL && !(has_memory && has_registers))
		ahead.result = CERTAIN_NOT;
	return ahead.can_tell;
}

/* ---- in whole blocks ------------------------------------------------------------------ */

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

/* Keep what @p page holds, before the first store to it. @return false: it holds code, or is one too many. */
static bool certain_keep(struct dec_replay *r, uint64_t page)
{
	struct certain_page *p;

	if (map_get(&r->guest.code, page >> 12))
		return false;
	probe.is_full = probe.written.size >= probe.pages_max;
	if (probe.is_full)
		return false;
	p = vec_push(&probe.written);
	if (!p)
		return false;
	p->addr = page;
	memcpy(p->bytes, (const void *)page, CERTAIN_PAGE);
	return dec_closed_open(page);
}

static enum dec_verdict certain_fault(void *ctx, struct dec_engine *e)
{
	uint64_t page = e->ctx->fault_addr & ~(CERTAIN_PAGE - 1);
	struct dec_replay *r = ctx;

	if (e->ctx->fault_signo != SIGSEGV ||
	    !dec_guest_avail(&r->guest, page, PROT_WRITE))
		return certain_end(CERTAIN_UNIQUE); // a signal of its own: an event
	return certain_keep(r, page) ? DEC_GO : certain_end(CERTAIN_UNKNOWN);
}

/* C writes to the stack's end, and back, where it looks whether this is the place (a call that was refused): no fault
 * of the guest's. */
static bool certain_keep_stack(struct dec_replay *r)
{
	uint64_t to = r->next.regs.gpr[CAP_RSP] - 1,
		 from = (to - 7) & ~(CERTAIN_PAGE - 1);
	bool ret = true;

	for (uint64_t page = from; page <= to && ret; page += CERTAIN_PAGE) {
		size_t i = 0;

		while (i < probe.written.size && probe.written.data[i].addr != page)
			i++;
		ret = i < probe.written.size ||
		      !dec_guest_avail(&r->guest, page, PROT_WRITE) ||
		      certain_keep(r, page);
	}
	return ret;
}

static bool certain_is_equal(struct dec_replay *r)
{
	const struct dec_engine *e = &r->engine;
	uint8_t regs[CERTAIN_REGS][160];

	certain_read_regs(e, regs);
	if (memcmp(regs, probe.regs, sizeof(regs)))
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

	if (e->async_rip != e->ctx->rip)
		return DEC_GO;
	if (!certain_keep_stack(ctx))
		return certain_end(CERTAIN_UNKNOWN);
	if (!dec_threads_is_here(ctx, &v))
		return DEC_GO;
	return certain_end(certain_is_equal(ctx) ? CERTAIN_EQUAL : CERTAIN_NOT);
}

/* All that may be written is closed. */
static enum certain certain_run(struct dec_replay *r, uint64_t budget)
{
	struct dec_engine *e = &r->engine;
	uint64_t until = e->now + budget;

	probe.pages_max = CERTAIN_PAGES;
	probe.is_full = false;
	e->world.syscall = certain_syscall;
	e->world.special = certain_special;
	e->world.fault = certain_fault;
	e->world.stop_at = certain_stop;
	certain_read_regs(e, probe.regs);
	dec_threads_await(r);
	probe.result = CERTAIN_UNKNOWN;
	// Off the place itself: a fault that was resolved executes nothing.
	for (uint64_t start = e->now; e->now == start;) {
		enum dec_verdict v = dec_engine_step(e);

		if (v != DEC_GO)
			return probe.result;
	}
	dec_engine_run(e, until);
	// What changes so much will not come back to the same state. To the same place it may, in a short loop.
	if (probe.is_full && until > e->now) {
		probe.pages_max = CERTAIN_PAGES_MAX;
		dec_engine_run(e, until - e->now > CERTAIN_SHORT ?
					  e->now + CERTAIN_SHORT :
					  until);
	}
	return probe.result;
}

/* ---- in a fork ------------------------------------------------------------------------ */

static enum certain certain_probe(struct dec_replay *r, uint64_t budget)
{
	if (r->engine.mode != DEC_LOG_NONE)
		dec_engine_set_mode(&r->engine, DEC_LOG_NONE, NULL, 0);
	if (dec_alias_fork(&r->guest))
		return CERTAIN_UNKNOWN;
	dec_guest_remap(&r->guest, 0, UINT64_MAX); // nobody else protects anything
	return dec_closed_begin(&r->guest) ? certain_run(r, budget) : CERTAIN_UNKNOWN;
}

enum certain dec_certain_check_plainly(struct dec_replay *r, uint64_t budget)
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

/* ---- here ----------------------------------------------------------------------------- */

/* Is nothing else than protections and contents of pages to be taken back? Who watches protections, or works inside of
 * the engine, is not asked to share them. */
static bool here_can(const struct dec_replay *r)
{
	return r->engine.mode == DEC_LOG_NONE && !r->engine.guard && !r->engine.nat &&
	       !r->is_by_registers && !r->guest.hidden && dec_closed_can(&r->guest);
}

/* The pages hold what they held. Of some code was made since. */
static bool here_restore(struct dec_guest *g)
{
	struct err *err = NULL;

	for (size_t i = probe.written.size; i-- && !err;) {
		const struct certain_page *p = &probe.written.data[i];

		if (map_get(&g->code, p->addr >> 12))
			err = dec_guest_write(g, p->addr, p->bytes, CERTAIN_PAGE);
		else
			memcpy((void *)p->addr, p->bytes, CERTAIN_PAGE);
	}
	probe.written.size = 0; // the next question begins with none
	err_destroy(err);
	return !err;
}

/* @return whether the answer is in *@p ret. The guest is where it was. */
static bool certain_here(struct dec_replay *r, uint64_t budget, enum certain *ret)
{
	struct certain_here here;

	if (!here_can(r))
		return false;
	certain_leave(r, &here);
	*ret = dec_closed_begin(&r->guest) ? certain_run(r, budget) : CERTAIN_UNKNOWN;
	if (!dec_closed_end(&r->guest) || !here_restore(&r->guest))
		abort();
	certain_return(r, &here);
	return true;
}

/* ---- the whole ------------------------------------------------------------------------ */

/* A private mapping of memory that is shared elsewhere would not be what it was after a store that is taken back. */
static bool can_take_back(const struct dec_guest *g)
{
	for (size_t i = 0; i < g->aliases.size && g->alias_fd > 0; i++)
		if (g->aliases.data[i].is_real && !g->aliases.data[i].is_shared)
			return false;
	return true;
}

enum certain dec_certain_check(struct dec_replay *r, uint64_t budget)
{
	enum certain ret;

	if (!can_take_back(&r->guest))
		return dec_certain_check_plainly(r, budget);
	if (certain_ahead(r, budget))
		return ahead.result;
	return certain_here(r, budget, &ret) ? ret : dec_certain_check_plainly(r, budget);
}

enum certain (*dec_certain_judge)(struct dec_replay *r,
				  uint64_t budget) = dec_certain_check;
