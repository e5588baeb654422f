// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The quick part of a nullifying run: what is clean runs in emitted code (translator/nat.h), and
 * leaves it for nullify.c where something may be corrupt, is counted, or is for C anyway. What
 * emitted code knows is kept in the context: registers' bits in a word, memory's in a table of
 * small counts by the low bits of the address, calls under way by where their return address
 * lies.
 *
 * Memory's NaT bits (DEC_NULLIFY_NAT_MEM) are the processor's to test: a page that has some is
 * made inaccessible while emitted code runs, and its fault is where it leaves. Where that happens
 * too often it is not worth it, and emitted code tests all it accesses until none are left.
 *
 * While no byte of memory is NaT nothing of it is tested, and while none of a stack is, accesses by
 * the stack pointer are not; nor are registers of which none is NaT. The first such byte or register
 * has all code translated again, with tests.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "decode/machine/nullify_int.h"
#include "decode/machine/threads.h"

#define PAGE 4096u
#define NEAR_END 256	///< instructions, before a position at which it must stop
#define QUIET 8		///< clean ones in a row, before emitted code goes on
#define PAGES_CLOSED 64 ///< at most
#define CLOSINGS 64	///< of pages, one after the other: tests take their place
#define WORTH 30000	///< if each has gained less than so many instructions
#define CHANGES_MAX 16	///< between the two; then tests stay
// Tests go behind so many instructions in which there was nothing to find, at first; so many times as
// many whenever they came back, up to what costs more than translating again.
#define WAIT (1u << 12)
#define WAIT_MORE 4
#define WAIT_MOST (1u << 26)
#define SCAN_BYTES (1u << 20) ///< of the stack, for calls under way
#define TAG_BITS 58	      ///< above them: which of the saved registers are NaT

// Callbacks of the engine are told the replay alone; one runs at a time.
static struct nul_run *running;

/* ---- stacks ------------------------------------------------------------------------- */

static bool is_on_stack(const struct nul_quick *q, uint64_t addr)
{
	return vec_find(&q->stacks, s, addr >= s->start && addr < s->end);
}

/* A stack is all of the mapping that it is in, of the first thread what it may grow to. */
static bool find_stack(const struct nul_run *n, uint64_t addr, struct nul_stack *ret)
{
	const struct dec_guest *g = &n->r->guest;
	const struct guest_range *in;

	*ret = (struct nul_stack){ g->stack_start, g->stack_end };
	if (addr >= ret->start && addr < ret->end)
		return true;
	in = vec_find(&g->ranges, r, addr >= r->start && addr < r->end);
	if (in)
		*ret = (struct nul_stack){ in->start, in->end };
	return in;
}

/* The running thread's is a stack from now on. */
static void know_stack(struct nul_run *n)
{
	// One that is empty begins where its mapping ends.
	uint64_t top = n->r->engine.ctx->gpr[CAP_RSP] - 1;
	struct nul_quick *q = n->quick;
	struct nul_stack found;

	if (q->has_lost_stack || is_on_stack(q, top))
		return;
	q->has_lost_stack = !find_stack(n, top, &found);
	for (size_t i = 0; i < q->stacks.size && !q->has_lost_stack; i++)
		// Its mapping was another one then: no byte is to be counted twice.
		q->has_lost_stack = found.start < q->stacks.data[i].end &&
				    q->stacks.data[i].start < found.end;
	if (q->has_lost_stack)
		return;
	q->n_on_stacks += dec_nullify_count_in(n, found.start, found.end);
	if (vec_add(&q->stacks, found))
		n->has_no_memory = true;
}

/* ---- memory ------------------------------------------------------------------------- */

void dec_nullify_quick_mark(struct nul_run *n, uint64_t addr, bool is_corrupt)
{
	uint8_t *all = n->r->engine.ctx->nat_bytes, *b = &all[addr >> 3 & 0xffff];

	if (*b != UINT8_MAX) // many: of those that is never less
		*b += is_corrupt ? 1 : -1;
	if (b < all + 64)
		b[0x10000] = *b;
	if (is_on_stack(n->quick, addr))
		n->quick->n_on_stacks += is_corrupt ? 1 : -1;
}

static void open_pages(struct nul_run *n)
{
	struct nul_quick *q = n->quick;

	for (size_t i = 0; i < q->closed.size; i++)
		err_destroy(dec_guest_restore(&n->r->guest, q->closed.data[i],
					      q->closed.data[i] + PAGE));
	q->closed.size = 0;
}

/* Emitted code tests @p w from now on. */
static void set_tests(struct nul_run *n, struct nul_tests w)
{
	struct nul_quick *q = n->quick;

	q->nat.tests_memory = w.memory;
	q->nat.tests_stack = w.stack;
	q->nat.joins = w.memory && !q->nat.tests_each;
	q->nat.may_be = w.regs;
	q->idle_since = 0;
	dec_engine_flush(&n->r->engine);
}

/* Pages with NaT bytes are inaccessible from now on, or are not. */
static void change(struct nul_run *n, bool closes)
{
	struct nul_quick *q = n->quick;

	q->closes = closes;
	q->n_closings = 0;
	q->since = n->r->engine.now;
	q->n_changes++;
}

static void close_pages(struct nul_run *n)
{
	struct nul_quick *q = n->quick;
	struct dec_guest *g = &n->r->guest;
	uint64_t page[PAGES_CLOSED];
	size_t count = dec_nullify_pages(n, page, PAGES_CLOSED);
	bool can = count <= PAGES_CLOSED;

	for (size_t i = 0; i < count && can; i++) {
		// Code that may change has its own protection.
		can = !map_get(&g->code, page[i] / PAGE);
		if (!can || !dec_guest_is_mapped(g, page[i]))
			continue;
		can = !vec_add(&q->closed, page[i]) &&
		      dec_guest_protect_bare(page[i], PAGE, PROT_NONE);
	}
	if (can)
		return;
	open_pages(n);
	change(n, false);
	set_tests(n, (struct nul_tests){ true, true, n->quick->nat.may_be });
}

static bool is_closed(const struct nul_quick *q, uint64_t addr)
{
	for (size_t i = 0; i < q->closed.size; i++)
		if (addr / PAGE == q->closed.data[i] / PAGE)
			return true;
	return false;
}

/* Is it time for tests in the place of closed pages, or for these again? @return whether it was. */
static bool consider_pages(struct nul_run *n)
{
	struct nul_quick *q = n->quick;
	uint64_t gained = n->r->engine.now - q->since;

	if (n->ask->mode != DEC_NULLIFY_NAT_MEM)
		return false;
	if (q->closes && q->n_closings >= CLOSINGS && gained / CLOSINGS >= WORTH) {
		q->n_closings = 0;
		q->since = n->r->engine.now;
		return false;
	}
	if (q->closes && q->n_closings >= CLOSINGS)
		change(n, false);
	else if (!q->closes && !n->n_corrupt && q->n_changes < CHANGES_MAX)
		change(n, true);
	else
		return false;
	return true;
}

static struct nul_tests both(struct nul_tests a, struct nul_tests b)
{
	return (struct nul_tests){ a.memory || b.memory, a.stack || b.stack,
				   a.regs | b.regs };
}

static bool is_same(struct nul_tests a, struct nul_tests b)
{
	return a.memory == b.memory && a.stack == b.stack && a.regs == b.regs;
}

/* What is to be tested for what is NaT now, and the stack that the running thread is in? */
static void consider(struct nul_run *n)
{
	struct nul_quick *q = n->quick;
	const struct nul_tests has = { q->nat.tests_memory, q->nat.tests_stack,
				       q->nat.may_be };
	struct nul_tests want = { .regs = n->r->engine.ctx->nat };
	uint64_t now = n->r->engine.now;
	bool has_changed;

	know_stack(n);
	has_changed = consider_pages(n);
	want.memory = !q->closes && n->n_corrupt;
	want.stack = want.memory && (q->n_on_stacks || q->has_lost_stack);
	// A register that becomes NaT soon has others become so.
	if (want.regs & ~has.regs)
		want.regs = UINT32_MAX;
	if (!is_same(both(want, has), has)) {
		if (!has_changed && q->wait < WAIT_MOST)
			q->wait *= WAIT_MORE;
		set_tests(n, both(want, has));
		return;
	}
	q->seen = q->idle_since ? both(q->seen, want) : want;
	if (is_same(q->seen, has)) {
		q->seen = want;
		q->idle_since = 0;
	}
	if (!q->idle_since && !is_same(q->seen, has))
		q->idle_since = now;
	else if (q->idle_since && now + NEAR_END - q->idle_since >= q->wait)
		set_tests(n, q->seen);
}

/* ---- instructions that are counted -------------------------------------------------------- */

/* The next execution, from 1, behind the present count that C has to know of. */
static uint64_t next_due(const struct nul_run *n, const struct nul_insn *i)
{
	uint64_t due = INT64_MAX;

	for (uint32_t p = 0; p < n->ask->n_points; p++) {
		const struct dec_point *at = &n->ask->points[p];
		uint64_t next = at->nth > i->count ? at->nth : i->count + 1;

		if (at->rip == i->insn.rip && (at->nth > i->count || at->is_each) &&
		    next < due)
			due = next;
	}
	return due;
}

void dec_nullify_know_count(struct nul_run *n, struct nul_insn *i)
{
	uint32_t k = i->counter - 1;

	if (n->quick && i->counter)
		i->count = n->quick->due[k] - n->r->engine.ctx->nat_left[k];
}

static void set_counter(struct nul_run *n, struct nul_insn *i)
{
	uint32_t k = i->counter - 1;

	n->quick->due[k] = next_due(n, i);
	n->r->engine.ctx->nat_left[k] = n->quick->due[k] - i->count;
}

static void count_by(struct nul_run *n, struct nul_insn *i, int by)
{
	dec_nullify_know_count(n, i);
	i->count += by;
	if (n->quick && i->counter)
		set_counter(n, i);
}

void dec_nullify_count(struct nul_run *n, struct nul_insn *i)
{
	count_by(n, i, 1);
}

void dec_nullify_take_back(struct nul_run *n, struct nul_insn *i)
{
	count_by(n, i, -1);
	n->ret->n_slow--;
}

/* @return false: too many, or there is no instruction at @p rip. */
static bool add_counter(struct nul_run *n, uint64_t rip)
{
	struct nul_quick *q = n->quick;
	uint32_t at;

	if (!rip || map_get(&q->nat.counted, rip))
		return true;
	at = dec_nullify_insn(n, rip);
	if (at == UINT32_MAX || q->n_counters == CTX_NAT_COUNTERS ||
	    map_put(&q->nat.counted, rip, q->n_counters))
		return false;
	q->insn[q->n_counters++] = at;
	n->insns.data[at].counter = q->n_counters;
	set_counter(n, &n->insns.data[at]);
	return true;
}

static bool add_counters(struct nul_run *n)
{
	bool can = true;

	for (uint32_t p = 0; p < n->ask->n_points && can; p++)
		can = add_counter(n, n->ask->points[p].rip);
	for (uint32_t p = 0; p < DEC_POINTS_MAX && can; p++)
		can = add_counter(n, n->ask->counted[p]);
	return can;
}

/* ---- calls under way -------------------------------------------------------------------- */

void dec_nullify_note_call(struct nul_run *n, const struct nul_frame *f)
{
	struct dec_nat_call *to =
		&n->r->engine.ctx->nat_calls[dec_nat_call_index(f->slot)];

	to->tag = f->slot + 8;
	to->ret = f->ret;
	for (int k = 0; k < DEC_SAVED_REGS; k++) {
		uint8_t reg = dec_nullify_kept[k];

		to->saved[k] = f->saved[reg];
		to->tag |= (f->saved_corrupt >> reg & 1) << (TAG_BITS + k);
	}
}

void dec_nullify_note_return(struct nul_run *n, uint64_t slot)
{
	n->r->engine.ctx->nat_calls[dec_nat_call_index(slot)].tag = 0;
}

static struct nul_frame frame_of(struct nul_run *n, const struct dec_nat_call *c,
				 uint64_t slot)
{
	struct nul_frame f = { .slot = slot, .ret = c->ret };

	f.entry = dec_nullify_entry(n, c->ret);
	for (int k = 0; k < DEC_SAVED_REGS; k++) {
		f.saved[dec_nullify_kept[k]] = c->saved[k];
		if (c->tag >> (TAG_BITS + k) & 1)
			f.saved_corrupt |= BIT(dec_nullify_kept[k]);
	}
	return f;
}

void dec_nullify_find_calls(struct nul_run *n, size_t max)
{
	const struct dec_ctx *c = n->r->engine.ctx;
	uint64_t rsp = c->gpr[CAP_RSP];
	uint64_t bytes = dec_guest_avail(&n->r->guest, rsp, PROT_READ);
	struct nul_thread *t = n->t;

	t->frames.size = 0;
	if (bytes > SCAN_BYTES)
		bytes = SCAN_BYTES;
	for (uint64_t s = rsp; s + 8 <= rsp + bytes && t->frames.size < max; s += 8) {
		const struct dec_nat_call *known = &c->nat_calls[dec_nat_call_index(s)];

		if ((known->tag & (BIT(TAG_BITS) - 1)) == s + 8 &&
		    vec_add(&t->frames, frame_of(n, known, s)))
			n->has_no_memory = true;
	}
	// The innermost is the last.
	for (size_t i = 0, j = t->frames.size; i + 1 < j; i++) {
		struct nul_frame f = t->frames.data[i];

		t->frames.data[i] = t->frames.data[--j];
		t->frames.data[j] = f;
	}
}

/* ---- the engine's callbacks ------------------------------------------------------------------ */

/* What emitted code is to know of the running thread. */
static void tell_registers(struct nul_run *n)
{
	n->t = dec_nullify_thread(n);
	n->r->engine.ctx->nat = dec_nat_fold(n->t->corrupt);
}

/* The instruction at hand, counted before it faulted, is executed again. */
static void take_count_back(struct nul_run *n)
{
	const struct dec_engine *e = &n->r->engine;
	const uint64_t *k = map_get(&n->quick->nat.counted, e->ctx->rip);

	if (e->nat && k)
		e->ctx->nat_left[*k]++;
}

static enum dec_verdict quick_fault(void *ctx, struct dec_engine *e)
{
	struct nul_run *n = running;
	uint64_t rip = e->ctx->rip;
	enum dec_verdict v;

	if (e->ctx->fault_signo == SIGSEGV && is_closed(n->quick, e->ctx->fault_addr)) {
		take_count_back(n);
		return DEC_PAUSE;
	}
	open_pages(n);
	v = n->quick->world.fault(ctx, e);
	if (v == DEC_GO && e->ctx->rip == rip)
		take_count_back(n);
	if (v == DEC_GO && e->nat)
		consider(n);
	if (v == DEC_GO && e->nat && n->quick->closes)
		close_pages(n);
	return v;
}

/* A signal comes there, or another thread goes on. */
static enum dec_verdict quick_stop(void *ctx, struct dec_engine *e)
{
	struct nul_run *n = running;
	bool had_closed = n->quick->closed.size;
	enum dec_verdict v;

	open_pages(n);
	v = n->quick->world.stop_at(ctx, e);
	tell_registers(n);
	consider(n);
	if (had_closed && n->quick->closes)
		close_pages(n);
	return v;
}

/* ---- the run ------------------------------------------------------------------------------------ */

void dec_nullify_quick_begin(struct nul_run *n)
{
	struct nul_quick *q = calloc(1, sizeof(*q));
	struct dec_world *w = &n->r->engine.world;
	struct nul_thread *t = n->t;

	if (!q) {
		n->has_no_memory = true;
		return;
	}
	n->quick = q;
	q->world = *w;
	if (!add_counters(n)) {
		dec_nullify_quick_end(n);
		return;
	}
	for (size_t i = 0; i < t->frames.size; i++)
		dec_nullify_note_call(n, &t->frames.data[i]);
	t->frames.size = 0;
	// What takes pages back has their protection in its hands.
	q->closes = n->ask->mode == DEC_NULLIFY_NAT_MEM && !dec_engine_is_asked_first();
	q->nat.tests_each = n->ask->mode == DEC_NULLIFY_SOFTWARE;
	q->since = n->begin;
	q->wait = WAIT / WAIT_MORE;
	w->fault = quick_fault;
	w->stop_at = quick_stop;
	w->may_pass = NULL;
	running = n;
	n->ret->is_quick = true;
	dec_engine_flush(&n->r->engine);
}

void dec_nullify_quick_end(struct nul_run *n)
{
	struct nul_quick *q = n->quick;

	for (uint32_t k = 0; k < q->n_counters; k++) {
		struct nul_insn *i = &n->insns.data[q->insn[k]];

		dec_nullify_know_count(n, i);
		i->counter = 0;
	}
	if (running == n)
		dec_nullify_find_calls(n, SIZE_MAX);
	n->r->engine.world = q->world;
	n->quick = NULL;
	running = NULL;
	map_deinit(&q->nat.counted);
	vec_deinit(&q->closed);
	vec_deinit(&q->stacks);
	free(q);
}

/* In emitted code, up to @p until at most. @return whether it is C's turn. */
static bool run(struct nul_run *n, uint64_t until, enum dec_verdict *v)
{
	struct dec_engine *e = &n->r->engine;
	enum dec_stop stop;

	*v = DEC_GO;
	if (until - e->now < NEAR_END)
		return true;
	tell_registers(n);
	consider(n);
	if (n->quick->idle_since && until > n->quick->idle_since + n->quick->wait)
		until = n->quick->idle_since + n->quick->wait;
	if (n->quick->closes)
		close_pages(n);
	e->nat = &n->quick->nat;
	stop = dec_engine_run(e, until);
	e->nat = NULL;
	n->quick->n_closings += n->quick->closed.size != 0;
	open_pages(n);
	if (stop == DEC_STOP_END)
		*v = DEC_END;
	else if (stop == DEC_STOP_DIVERGED)
		*v = DEC_DIVERGED;
	return *v == DEC_GO;
}

enum dec_verdict dec_nullify_dash(struct nul_run *n, uint64_t until)
{
	const struct dec_engine *e = &n->r->engine;
	struct dec_loose *l = n->r->loose;
	enum dec_verdict v;
	int quiet = QUIET - 1; // what is for C anyway may be all there is to it

	if (n->turn_at > e->now && n->turn_at < until)
		until = n->turn_at;
	if (!run(n, until, &v))
		return v;
	while (v == DEC_GO && !l->has_ended && !n->has_no_memory && e->now < until &&
	       quiet < QUIET) {
		v = dec_nullify_step(n);
		quiet = n->was_touched ? 0 : quiet + 1;
	}
	return v;
}
