// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The heap's history from a replay in DEC_LOG_STORES mode; where only calls are asked for, in
 * DEC_LOG_CALLS. Allocator entry points are watched: the log then holds their arguments, and each
 * return holds rax, from which heap_calls.c makes allocations and releases.
 */

#define LOG_ROOM "decode"

#include "decode/history/heap.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/history/frames.h"
#include "decode/history/heap_calls.h"
#include "decode/history/heap_mute.h"
#include "decode/history/heap_pass.h"
#include "decode/history/heap_roots.h"
#include "decode/history/heap_stores.h"
#include "decode/machine/log.h"
#include "decode/machine/machine.h"

// Of the calls under way so many are told, the innermost.
#define CALLS_TOLD 16

/* What is one thread's own, while another one runs. */
struct heap_thread {
	struct heap_call call;
	struct heap_new new;
	heap_open_watches open_watches;
};

struct heap_trace {
	const struct capture *capture;
	struct dec_symbols *symbols;
	const struct dec_heap_options *o;
	const struct dec_heap_events *ev;
	struct dec_machine *machine;
	struct log_reader reader;
	struct frames frames;
	VEC(struct heap_thread) threads; ///< as the frames'
	struct heap_calls calls;
	struct heap_stores stores;
	struct heap_roots roots;
	struct heap_mute mute;
	uint64_t now;	 ///< the time up to which it is known what happened
	uint64_t last;	 ///< the instruction before; behind a return the call, or in it
	uint64_t passed; ///< a look at blocks ended before the one at this position
	uint64_t fs_base, brk, syscall_rip;
	size_t next_calls;  ///< of o->calls_at
	uint64_t calls_due; ///< when that is; UINT64_MAX: never
	char *notes;
	double start;
};

static void heap_note(struct heap_trace *h, const char *text)
{
	char *all;

	if (text && *text &&
	    asprintf(&all, "%s%s\n", h->notes ? h->notes : "", text) > 0) {
		free(h->notes);
		h->notes = all;
	}
}

static struct err *heap_watched(struct heap_trace *h, uint64_t rip, const uint64_t *gpr,
				uint64_t time)
{
	struct err *err = dec_heap_stores_flush(&h->stores);

	if (!err && h->roots.moving.looks.size)
		err = dec_heap_roots_look(&h->roots, h->frames.thread, rip, h->last, gpr,
					  time);
	if (!err)
		err = dec_heap_calls_reach(&h->calls, rip, gpr, time);
	return err || !h->roots.scopes.size ?
		       err :
		       dec_heap_roots_reach(&h->roots, h->frames.thread, rip, h->last,
					    gpr, time);
}

/* ---- control flow --------------------------------------------------------------------- */

static struct err *heap_return(struct heap_trace *h, uint64_t rip, uint64_t rsp,
			       uint64_t rax, uint64_t time)
{
	bool has_roots = dec_heap_roots_returns(&h->roots, h->frames.thread, rsp);
	struct err *err = NULL;

	dec_frames_meet_return(&h->frames, rsp);
	for (size_t i = h->frames.stack.size; i && h->frames.stack.data[i - 1].rsp <= rsp;
	     i--)
		h->last = h->frames.stack.data[i - 1].return_rip - 1;
	dec_frames_return(&h->frames, rsp);
	frames_left(&h->frames, rip);
	if (h->calls.call.is_open || h->calls.open_watches.size || has_roots)
		err = dec_heap_stores_flush(&h->stores);
	if (!err)
		err = dec_heap_calls_return(&h->calls, rsp, rax, time);
	return err || !has_roots ?
		       err :
		       dec_heap_roots_return(&h->roots, h->frames.thread, rsp, rip, time);
}

/* ---- threads --------------------------------------------------------------------------- */

/* Thread @p tid runs from here on. */
static struct err *heap_switch(struct heap_trace *h, uint32_t tid)
{
	size_t from = h->frames.thread;
	struct err *err = dec_frames_switch(&h->frames, tid);
	struct heap_thread *t;

	if (err || h->frames.thread == from)
		return err;
	while (h->threads.size < h->frames.threads.size)
		if (!vec_push(&h->threads))
			return &err_nomem;
	t = h->threads.data;
	t[from] = (struct heap_thread){ h->calls.call, h->calls.new,
					h->calls.open_watches };
	h->calls.call = t[h->frames.thread].call;
	h->calls.new = t[h->frames.thread].new;
	h->calls.open_watches = t[h->frames.thread].open_watches;
	t[h->frames.thread].open_watches = (heap_open_watches){};
	return NULL;
}

static void heap_threads_deinit(struct heap_trace *h)
{
	for (size_t i = 0; i < h->threads.size; i++)
		vec_deinit(&h->threads.data[i].open_watches);
	vec_deinit(&h->threads);
}

/* ---- blocks ------------------------------------------------------------------------------ */

static void heap_set_due(struct heap_trace *h)
{
	h->calls_due = h->next_calls < h->o->n_calls_at ? h->o->calls_at[h->next_calls] :
							  UINT64_MAX;
}

/* Tell the calls under way, which is due before time @p end. */
static struct err *heap_calls_at(struct heap_trace *h, uint64_t end)
{
	uint64_t calls[CALLS_TOLD];
	struct err *err = dec_heap_stores_flush(&h->stores);
	size_t n = 0;

	for (size_t i = h->frames.stack.size; i && n < CALLS_TOLD; i--) {
		uint64_t rip = h->frames.stack.data[i - 1].return_rip - 1;

		if (dec_frames_is_own(&h->frames, rip))
			calls[n++] = rip;
	}
	for (; !err && h->calls_due < end; h->next_calls++, heap_set_due(h))
		err = h->o->calls(h->o->calls_ctx, h->calls_due, calls, n);
	return err;
}

static struct err *heap_on_block(void *ctx, struct log_block *b, const uint8_t *rec,
				 uint32_t n_ran, uint64_t time)
{
	struct heap_trace *h = ctx;
	struct heap_block *hb = b->user ? b->user : dec_heap_block_make(&h->stores, b);
	struct err *err = NULL;
	uint64_t slot[2];

	if (!hb)
		return &err_nomem;
	h->now = time;
	err = frames_land(&h->frames, b->rip);
	if (time + n_ran > h->calls_due && !err)
		err = heap_calls_at(h, time + n_ran);
	if (b->is_watched && !err) {
		uint64_t gpr[16];

		memcpy(gpr, rec + 8, sizeof(gpr));
		err = heap_watched(h, b->rip, gpr, time);
	}
	h->last = n_ran ? b->insn[n_ran - 1].rip : h->last;
	if (!err && hb->n_stores)
		err = dec_heap_stores_add_block(&h->stores, b, rec, n_ran, time,
						h->fs_base);
	if (err || n_ran < b->n_insns)
		return err;
	h->frames.jump_end = hb->jump_end;
	if (hb->has_call) {
		memcpy(slot, rec + hb->branch_at, 8);
		return dec_frames_call(&h->frames, hb->return_rip, slot[0] - 8,
				       time + n_ran - 1);
	}
	if (hb->has_ret) {
		memcpy(slot, rec + hb->branch_at, 16);
		return heap_return(h, b->insn[b->n_insns - 1].rip, slot[0], slot[1],
				   time + n_ran - 1);
	}
	return NULL;
}

/* Blocks in which nothing is to be told. Variables ask where each call was. */
static struct err *heap_on_blocks(void *ctx, struct log_reader *r, const uint8_t **log,
				  const uint8_t *end)
{
	struct heap_trace *h = ctx;
	const struct heap_call *call = &h->calls.call;
	const struct heap_pass pass = {
		.stores = &h->stores,
		.plain = h->ev->plain,
		.reader = r,
		.fs_base = h->fs_base,
		.until = h->calls_due,
		.may_return = !call->is_open && !h->calls.open_watches.size,
	};
	struct err *err = NULL;

	if (h->passed == r->time ||
	    (call->is_open && call->fn == CAP_HEAP_POSIX_MEMALIGN))
		return NULL;
	err = dec_heap_pass(&pass, log, end);
	h->now = h->passed = r->time;
	return err;
}

/* An instruction that was not in a block; @p gpr: before it, if it is watched. */
static struct err *heap_begin(struct heap_trace *h, uint64_t rip, const uint64_t *gpr,
			      uint64_t time)
{
	struct err *err = NULL;

	if (time >= h->calls_due)
		err = heap_calls_at(h, time + 1);
	if (gpr && !err)
		err = heap_watched(h, rip, gpr, time);
	return err;
}

/* .. @p at: where the return address lies, of a call or return. */
static struct err *heap_end(struct heap_trace *h, const struct dec_insn *insn,
			    uint64_t at, uint64_t rax, uint64_t time)
{
	if (insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND)
		return dec_frames_call(&h->frames, insn->rip + insn->len, at, time);
	if (insn->flow == DEC_FLOW_RET)
		return heap_return(h, insn->rip, at, rax, time);
	return NULL;
}

static struct err *heap_on_slow(void *ctx, const struct dec_rec_slow *rec,
				const struct dec_insn *insn, uint64_t time)
{
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref;
	struct heap_trace *h = ctx;
	struct err *err = frames_land(&h->frames, rec->rip);
	uint64_t at = rec->gpr[CAP_RSP] - (insn->flow == DEC_FLOW_RET ? 0 : 8);
	const uint8_t *data;

	h->now = time;
	if (!err)
		err = heap_begin(h, rec->rip, rec->is_watched ? rec->gpr : NULL, time);
	h->last = h->syscall_rip = rec->rip; // bulk writes of this instruction follow
	while (!err && (ref = dec_log_next_ref(&refs, &data)))
		if (ref->is_def && ref->is_mem && data)
			err = dec_heap_stores_add(&h->stores, ref->addr, ref->bytes, data,
						  rec->rip, time);
	h->frames.jump_end = dec_frames_jump_end(&h->frames, insn); // as behind a block
	return err ? err : heap_end(h, insn, at, rec->gpr[CAP_RAX], time);
}

/* ---- steps ------------------------------------------------------------------------------- */

/* Where the return address lies, of a call or return. */
static uint64_t step_return_at(const struct dec_step *s)
{
	uint64_t rsp = s->gpr[CAP_RSP];

	for (size_t i = 0; i < s->n_refs && s->insn->flow == DEC_FLOW_RET; i++)
		if (s->refs[i].is_mem && !s->refs[i].is_def)
			return s->refs[i].addr;
	return rsp;
}

/* In a log of all values the instructions are looked at one by one. System calls, and what the
 * kernel and string instructions wrote, come as records, too (heap_on_other). */
static struct err *heap_on_step(void *ctx, const struct dec_step *s)
{
	const struct dec_insn *insn = s->insn;
	bool is_code = insn && insn->flow < DEC_FLOW_SYSCALL;
	struct heap_trace *h = ctx;
	struct err *err = is_code ? frames_land(&h->frames, insn->rip) : NULL;

	h->now = s->position;
	// What was glanced at was before.
	if (!err)
		err = dec_heap_stores_flush(&h->stores);
	if (!err)
		err = h->o->step(h->o->step_ctx, &h->frames, s);
	if (err || !is_code)
		return err;
	if (s->gpr_before || s->position >= h->calls_due)
		err = heap_begin(h, insn->rip, s->gpr_before, s->position);
	h->last = insn->rip;
	if (insn->is_slow_addr)
		h->syscall_rip = insn->rip;
	if (!err && insn->flow == DEC_FLOW_NEXT)
		return dec_heap_may_store(insn, h->stores.mode) ?
			       dec_heap_stores_add_step(&h->stores, s) :
			       NULL;
	if (insn->flow == DEC_FLOW_JMP_IND) // what was thrown landed
		dec_frames_land_thrown(&h->frames, s->gpr[CAP_RSP]);
	h->frames.jump_end = dec_frames_jump_end(&h->frames, insn);
	return err ? err :
		     heap_end(h, insn, step_return_at(s), s->gpr[CAP_RAX], s->position);
}

static struct err *heap_on_glanced_store(void *ctx, const struct dec_insn *insn,
					 uint64_t time, uint64_t addr, const void *data,
					 uint32_t size)
{
	struct heap_trace *h = ctx;

	return dec_heap_stores_add(&h->stores, addr, size, data, insn->rip, time);
}

static struct err *heap_on_returned(void *ctx, uint64_t rip, uint64_t rsp, uint64_t rax,
				    uint64_t time)
{
	return heap_return(ctx, rip, rsp, rax, time);
}

/* Instructions that have no steps: neither calls nor returns, nor do they begin something. */
static struct err *heap_on_glance(void *ctx, struct dec_glance *g)
{
	struct heap_trace *h = ctx;
	const struct dec_heap_storer storer = { heap_on_glanced_store, h, h->stores.mode,
						heap_on_returned };
	struct err *err = NULL;

	if (g->position + g->n_ran > h->calls_due || (!g->at && g->block->is_watched))
		return NULL;
	if (!g->at)
		err = frames_land(&h->frames, g->block->rip);
	if (!err)
		err = h->o->glance(h->o->step_ctx, &h->frames, g, &storer);
	h->now = g->position;
	if (!g->at)
		return err;
	h->last = g->block->rip + g->plan->insn[g->at - 1].rip_at;
	if (g->at < g->block->n_insns || g->plan->insn[g->at - 1].flow == DEC_FLOW_NEXT)
		return err;
	if (g->plan->insn[g->at - 1].flow == DEC_FLOW_JMP_IND) // as in a step
		dec_frames_land_thrown(&h->frames, g->gpr[CAP_RSP]);
	h->frames.jump_end = dec_glance_jump_end(&h->frames, g);
	return err;
}

static struct err *heap_on_stretch(void *ctx, struct dec_stretch *s)
{
	struct heap_trace *h = ctx;
	const struct dec_heap_storer storer = { heap_on_glanced_store, h, h->stores.mode,
						heap_on_returned };
	struct err *err;

	s->until = h->calls_due;
	err = h->o->stretch(h->o->step_ctx, &h->frames, s, &storer);
	h->now = s->g.position;
	return err;
}

static struct err *heap_on_state(void *ctx, uint32_t tid, const struct dec_rec *rec,
				 const uint64_t before[16])
{
	struct heap_trace *h = ctx;

	return h->o->state(h->o->step_ctx, tid, rec, before);
}

static struct err *heap_on_gone(void *ctx)
{
	struct heap_trace *h = ctx;

	return dec_heap_stores_flush(&h->stores);
}

/* The thread that runs has its control block there. */
static struct err *heap_fs_base(struct heap_trace *h, uint64_t fs_base, uint64_t time,
				enum heap_thread_values values)
{
	struct err *err = NULL;

	if (h->fs_base == fs_base)
		return NULL;
	h->fs_base = fs_base;
	if (h->roots.n_vars)
		err = dec_heap_stores_flush(&h->stores);
	return err ? err :
		     dec_heap_roots_thread(&h->roots, time, fs_base, values, NULL, NULL);
}

/* ---- the rest ----------------------------------------------------------------------------- */

static struct err *heap_on_syscall(struct heap_trace *h, const struct dec_rec *rec,
				   uint64_t time)
{
	int64_t ret = rec->value[1];
	struct err *err = dec_heap_stores_flush(&h->stores);
	uint64_t brk = h->brk;

	h->syscall_rip = rec->value[2];
	if (!err)
		err = heap_fs_base(h, rec->value[13], time, HEAP_THREAD_FILE);
	if (!err && rec->value[0] == SYS_exit)
		err = dec_heap_roots_thread_end(&h->roots, time, h->fs_base,
						rec->value[2]);
	if (err || (ret < 0 && ret > -4096))
		return err;
	if (rec->value[0] == SYS_brk) {
		h->brk = ret;
		if (brk && h->brk > brk)
			return DEC_HEAP_TELL(h->ev, region, time, brk, h->brk - brk,
					     false);
	}
	if (rec->value[0] == SYS_munmap)
		return dec_heap_roots_unmapped(&h->roots, time, rec->value[3],
					       rec->value[4]);
	if (rec->value[0] == SYS_mmap && (rec->value[6] & MAP_ANONYMOUS))
		return DEC_HEAP_TELL(h->ev, region, time, ret, rec->value[4],
				     rec->value[6] & MAP_STACK);
	return NULL;
}

static struct err *heap_on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	const struct dec_rec_write *w = (const struct dec_rec_write *)rec;
	struct heap_trace *h = ctx;
	struct err *err;

	switch (rec->id) {
	case DEC_REC_STATE:
		err = rec->value[20] == DEC_STATE_SIGNAL ?
			      dec_frames_handle(&h->frames, rec->value[CAP_RSP]) :
			      NULL;
		return err ?: heap_fs_base(h, rec->value[17], time, HEAP_THREAD_TOLD);
	case DEC_REC_THREAD:
		return heap_switch(h, rec->value[0]);
	case DEC_REC_SYSCALL:
		return heap_on_syscall(h, rec, time);
	case DEC_REC_WRITE:
		err = dec_heap_stores_add(&h->stores, w->addr, w->n_bytes, w->bytes,
					  h->syscall_rip, time ? time - 1 : 0);
		return err || !h->o->step ? err : dec_heap_stores_flush(&h->stores);
	case DEC_REC_HEAP:
		return dec_heap_calls_record(&h->calls, rec->value[0], &rec->value[1]);
	default:
		return NULL;
	}
}

static struct err *heap_on_log(void *ctx, const uint8_t *log, size_t bytes)
{
	const struct log_sink sink = { ctx, heap_on_block, heap_on_slow, heap_on_other };
	struct heap_trace *h = ctx;
	struct err *err = dec_log_reader_feed(&h->reader, &sink, log, bytes);

	return err ? err : dec_heap_stores_flush(&h->stores); // they point into the log
}

/* ---- the start ------------------------------------------------------------------------------ */

static struct err *heap_watch(void *ctx, uint64_t addr)
{
	struct heap_trace *h = ctx;

	return dec_machine_log_regs_at(h->machine, addr, true);
}

static struct err *heap_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct heap_trace *h = ctx;

	return dec_machine_read(h->machine, addr, buf, size);
}

/* Variables that are there at the start. */
static struct err *heap_roots_start(struct heap_trace *h)
{
	struct err *err = dec_heap_roots_mapped(&h->roots, 0, heap_watch, heap_read, h);
	struct cap_core *core = NULL;

	if (err || !h->roots.n_vars)
		return err;
	err = cap_core_open(h->capture, &core);
	for (size_t i = 0; !err && i < core->n_threads; i++)
		err = dec_heap_roots_thread(&h->roots, 0, core->threads[i].regs.fs_base,
					    HEAP_THREAD_READ, heap_read, h);
	cap_core_close(core);
	return err;
}

static struct err *heap_read_start(struct heap_trace *h)
{
	struct cap_core *core = NULL;
	struct err *err = cap_core_open(h->capture, &core);

	for (size_t i = 0; !err && i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if (m->is_stack) {
			// The guest may grow it down to its limit.
			h->stores.stack_end = m->end;
			h->stores.stack_start = m->end - (64ull << 20);
		}
	}
	if (!err)
		h->fs_base = core->regs.fs_base;
	cap_core_close(core);
	return err;
}

/* ---- the run -------------------------------------------------------------------------------- */

static void heap_progress(void *ctx, const struct dec_where *w)
{
	struct heap_trace *h = ctx;

	if (h->o->progress && clock_now_s() - h->start > 2)
		fprintf(stderr, TEXT_AGAIN "faultline: %s %lu million instructions",
			h->o->progress, w->position / 1000000);
}

/* Behind the jumps of modules with lines there may be calls of others (dec_frames_jump_end()). Variables
 * ask where each jump was. */
static struct err *heap_jumps(struct heap_trace *h)
{
	struct dec_span code = {};
	struct err *err = NULL;

	if (h->o->n_vars)
		return NULL;
	// Of none, if there is none.
	err = dec_machine_log_jumps(h->machine, code);
	for (size_t i = 0;
	     !err && dec_symbols_next_debug(h->symbols, &i, &code.start, &code.end);)
		err = dec_machine_log_jumps(h->machine, code);
	return err;
}

/* A module was mapped, which is known from here on, and what is to be watched in it. */
static struct err *heap_mapped(void *ctx, const struct dec_where *w)
{
	struct heap_trace *h = ctx;
	struct err *err = dec_symbols_add(h->symbols, w->map.file, w->map.addr,
					  w->map.size, w->map.file_offset);

	if (!err)
		err = dec_heap_calls_mapped(&h->calls, heap_watch, h);
	if (!err)
		err = dec_heap_mute_watch(&h->mute, h->machine);
	if (!err)
		err = heap_jumps(h);
	if (!err)
		err = dec_heap_stores_flush(&h->stores);
	return err ? err : dec_heap_roots_mapped(&h->roots, h->now, heap_watch, NULL, h);
}

/* Is a function of the allocator's under way, in any thread? */
static bool heap_is_in_allocator(const struct heap_trace *h)
{
	bool is_in = h->calls.call.is_open;

	for (size_t i = 0; i < h->threads.size; i++)
		is_in |= i != h->frames.thread && h->threads.data[i].call.is_open;
	return is_in;
}

uint64_t dec_heap_piece = UINT64_C(1) << 24;

/* In pieces, between which it is said which stores need not be told. */
static struct err *heap_run_in_pieces(struct heap_trace *h, uint64_t until,
				      struct dec_where *w)
{
	uint64_t at = 0, to;
	struct err *err;

	for (;;) {
		to = until - at > dec_heap_piece ? at + dec_heap_piece : until;
		err = dec_machine_run(h->machine, to, w);
		if (err || to == until || w->at != DEC_AT_POSITION)
			return err;
		at = w->position > to ? w->position : to;
		if (!heap_is_in_allocator(h))
			err = dec_heap_mute(&h->mute, h->machine);
		if (err)
			return err;
	}
}

/* Is there nobody who asks for stores outside of blocks but for what they leave? */
static bool heap_may_mute(const struct heap_trace *h)
{
	return h->ev->plain && h->stores.mode == DEC_LOG_STORES && !h->o->n_vars;
}

/* Run, with a log of what somebody looks at. */
static struct err *heap_go(struct heap_trace *h, uint64_t until, struct dec_where *w)
{
	const struct dec_trace steps = { .step = heap_on_step,
					 .other = heap_on_other,
					 .glance = h->o->glance ? heap_on_glance : NULL,
					 // Variables ask where each call was.
					 .stretch = h->o->stretch && !h->o->n_vars ?
							    heap_on_stretch :
							    NULL,
					 .glance_bytes = h->o->glance_bytes,
					 .gone = heap_on_gone,
					 .state = h->o->state ? heap_on_state : NULL,
					 .ctx = h,
					 .skips_inert = h->o->skips_inert };
	struct err *err;

	if (h->o->step)
		return dec_machine_trace_for(h->machine, until, &steps, w);
	if ((h->ev->plain || h->stores.mode == DEC_LOG_CALLS) && !h->o->n_vars)
		h->reader.stretch = heap_on_blocks;
	err = dec_machine_log(h->machine, h->stores.mode, heap_on_log, h);
	if (err)
		return err;
	return heap_may_mute(h) ? heap_run_in_pieces(h, until, w) :
				  dec_machine_run(h->machine, until, w);
}

static struct err *heap_run(struct heap_trace *h, struct dec_run *ret)
{
	uint64_t until = h->o->until ?: UINT64_MAX >> 1;
	struct dec_where w;
	_cleanup_free_ char *differs = NULL;
	struct err *err;

	if (h->o->n_calls_at)
		until = h->o->calls_at[h->o->n_calls_at - 1] + 1;
	err = heap_go(h, until, &w);
	if (!err)
		err = dec_heap_roots_settle(&h->roots, w.position);
	if (err)
		return err;
	if (h->o->ended)
		err = h->o->ended(h->o->ended_ctx, &h->frames, h->machine, &w);
	if (err)
		return err;
	differs = dec_heap_calls_verify(&h->calls);
	heap_note(h, differs);
	if (h->mute.is_doubtful)
		heap_note(h, "blocks lie where no allocator was known to put any: what "
			     "memory held before they were allocated is not certain");
	*ret = (struct dec_run){
		.instructions = w.position,
		.syscalls = w.syscalls,
		.has_matched = w.at != DEC_AT_DIVERGENCE && !w.is_cut,
		.end = w.end,
		.end_value = w.end_value,
		.end_rip = w.rip,
		.fault_addr = w.fault_addr,
		.seconds = clock_now_s() - h->start,
		.has_allocator = h->calls.has_allocator,
		.has_unseen = h->calls.has_unseen,
	};
	if (dec_machine_divergence(h->machine))
		ret->divergence = strdup(dec_machine_divergence(h->machine));
	heap_note(h, dec_machine_notes(h->machine));
	ret->notes = take_ptr(&h->notes);
	return NULL;
}

static enum dec_log_mode heap_log_mode(const struct heap_trace *h)
{
	if (dec_heap_roots_has_local(&h->roots))
		return DEC_LOG_ALL_STORES;
	// The allocator's own tell what some of its functions return.
	if (h->o->skips_stores)
		return DEC_LOG_CALLS;
	return h->ev->stores || h->ev->alloc || h->o->n_vars ? DEC_LOG_STORES :
							       DEC_LOG_CALLS;
}

struct err *dec_heap_trace(const struct capture *c, struct dec_symbols *symbols,
			   const struct dec_heap_options *o,
			   const struct dec_heap_events *events, struct dec_run *ret)
{
	const struct cap_info *info = capture_info(c);
	struct heap_trace h = { .capture = c,
				.symbols = symbols,
				.o = o,
				.ev = events,
				.start = clock_now_s() };
	struct dec_machine_options mo = { .output_fd = -1,
					  .mapped = heap_mapped,
					  .progress = heap_progress,
					  .ctx = &h };
	struct err *err;

	*ret = (struct dec_run){};
	err = dec_heap_calls_init(&h.calls, c, symbols, events, o, &h.frames);
	if (err)
		return err;
	h.roots = (struct heap_roots){
		.ev = events,
		.symbols = symbols,
		.vars = o->vars,
		.n_vars = o->n_vars,
		.moving = { .ev = events, .symbols = symbols, .vars = o->vars }
	};
	h.calls.roots = &h.roots;
	h.stores = (struct heap_stores){ .ev = events,
					 .frames = &h.frames,
					 .calls = &h.calls,
					 .roots = &h.roots,
					 .skips_allocator = o->skips_allocator,
					 .mode = heap_log_mode(&h) };
	h.mute = (struct heap_mute){ .symbols = symbols,
				     .calls = &h.calls,
				     .stores = &h.stores,
				     .plain = events->plain };
	if (heap_may_mute(&h))
		h.calls.mute = &h.mute;
	heap_set_due(&h);
	dec_log_reader_init(&h.reader, h.stores.mode, 0);
	dec_frames_init(&h.frames, symbols, info->exe);
	h.frames.foreign = o->foreign;
	h.frames.n_foreign = o->n_foreign;
	if (o->lend)
		o->lend(o->step_ctx, &h.frames);
	dec_symbols_rewind(symbols);
	err = heap_read_start(&h);
	if (h.stores.mode == DEC_LOG_ALL_STORES)
		h.stores.stack_start = h.stores.stack_end = 0;
	if (!err)
		err = dec_machine_create(c, &mo, &h.machine);
	if (!err)
		err = dec_heap_calls_mapped(&h.calls, heap_watch, &h);
	if (!err)
		err = dec_heap_mute_watch(&h.mute, h.machine);
	if (!err)
		err = heap_jumps(&h);
	if (!err)
		err = heap_roots_start(&h);
	if (!err)
		err = heap_run(&h, ret);
	dec_machine_destroy(h.machine);
	dec_log_reader_deinit(&h.reader);
	heap_threads_deinit(&h);
	dec_frames_deinit(&h.frames);
	dec_heap_calls_deinit(&h.calls);
	dec_heap_roots_deinit(&h.roots);
	dec_heap_mute_deinit(&h.mute);
	free(h.notes);
	return err;
}

void dec_run_deinit(struct dec_run *r)
{
	free(r->divergence);
	free(r->notes);
	free(r->inferred);
	*r = (struct dec_run){};
}

bool dec_run_is_inferred(const struct dec_run *r, uint64_t time)
{
	size_t low = 0, high = r->n_inferred;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (r->inferred[mid] < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low < r->n_inferred && r->inferred[low] == time;
}
