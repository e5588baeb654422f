// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The heap's history from a replay in DEC_LOG_STORES mode. Allocator entry points are
 * watched: the log then holds their arguments, and each return holds rax, from which
 * heap_calls.c makes allocations and releases.
 */

#define LOG_ROOM "decode"

#include "decode/history/heap.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "decode/history/frames.h"
#include "decode/history/heap_calls.h"
#include "decode/history/heap_stores.h"
#include "decode/machine/log.h"
#include "decode/machine/machine.h"

// Of the calls under way so many are told, the innermost.
#define CALLS_TOLD 16

/* What is one thread's own, while another one runs. */
struct heap_thread {
	uint32_t tid;
	struct heap_call call;
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
	VEC(struct heap_thread) threads;
	uint32_t tid; ///< who runs
	struct heap_calls calls;
	struct heap_stores stores;
	uint64_t fs_base, brk, syscall_rip;
	size_t next_calls;  ///< of o->calls_at
	uint64_t calls_due; ///< when that is; UINT64_MAX: never
	char *notes;
	double start;
};

static void heap_note(struct heap_trace *h, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void heap_note(struct heap_trace *h, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	char *all;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text && asprintf(&all, "%s%s\n", h->notes ? h->notes : "", text) > 0) {
		free(h->notes);
		h->notes = all;
	}
}

static struct err *heap_watched(struct heap_trace *h, uint64_t rip, const uint64_t *gpr,
				uint64_t time)
{
	struct err *err = dec_heap_stores_flush(&h->stores);

	return err ? err : dec_heap_calls_reach(&h->calls, rip, gpr, time);
}

/* ---- control flow --------------------------------------------------------------------- */

static struct err *heap_return(struct heap_trace *h, uint64_t rsp, uint64_t rax,
			       uint64_t time)
{
	struct err *err = NULL;

	dec_frames_return(&h->frames, rsp);
	if (h->calls.call.is_open || h->calls.open_watches.size)
		err = dec_heap_stores_flush(&h->stores);
	return err ? err : dec_heap_calls_return(&h->calls, rsp, rax, time);
}

/* ---- threads --------------------------------------------------------------------------- */

static struct heap_thread *heap_thread(struct heap_trace *h, uint32_t tid)
{
	struct heap_thread *t;

	for (size_t i = 0; i < h->threads.size; i++) {
		if (h->threads.data[i].tid == tid)
			return &h->threads.data[i];
	}
	t = vec_push(&h->threads);
	if (t)
		t->tid = tid;
	return t;
}

/* Thread @p tid runs from here on. */
static struct err *heap_switch(struct heap_trace *h, uint32_t tid)
{
	struct heap_thread *t;

	if (h->tid == tid)
		return NULL;
	t = h->tid ? heap_thread(h, h->tid) : NULL;
	if (h->tid && !t)
		return &err_nomem;
	if (t) {
		t->call = h->calls.call;
		t->open_watches = h->calls.open_watches;
	} else {
		vec_deinit(
			&h->calls.open_watches); // nobody's: only a log made up has some
	}
	t = heap_thread(h, tid);
	if (!t)
		return &err_nomem;
	h->tid = tid;
	h->calls.call = t->call;
	h->calls.open_watches = t->open_watches;
	t->open_watches = (heap_open_watches){};
	return dec_frames_switch(&h->frames, tid);
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
	struct heap_block *hb = b->user ? b->user : dec_heap_block_make(&h->frames, b);
	const struct dec_insn *last;
	struct err *err = NULL;
	uint64_t slot[2];

	if (!hb)
		return &err_nomem;
	err = frames_land(&h->frames, b->rip);
	if (time + n_ran > h->calls_due && !err)
		err = heap_calls_at(h, time + n_ran);
	if (b->is_watched && !err) {
		uint64_t gpr[16];

		memcpy(gpr, rec + 8, sizeof(gpr));
		err = heap_watched(h, b->rip, gpr, time);
	}
	if (!err && hb->n_stores)
		err = dec_heap_stores_add_block(&h->stores, b, rec, n_ran, time,
						h->fs_base);
	if (err || n_ran < b->n_insns)
		return err;
	h->frames.jump_end = hb->jump_end;
	if (hb->has_call) {
		last = &b->insn[b->n_insns - 1];
		memcpy(slot, rec + hb->branch_at, 8);
		return dec_frames_call(&h->frames, last->rip + last->len, slot[0] - 8);
	}
	if (hb->has_ret) {
		memcpy(slot, rec + hb->branch_at, 16);
		return heap_return(h, slot[0], slot[1], time + n_ran - 1);
	}
	return NULL;
}

static struct err *heap_on_slow(void *ctx, const struct dec_rec_slow *rec,
				const struct dec_insn *insn, uint64_t time)
{
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref;
	struct heap_trace *h = ctx;
	struct err *err = NULL;
	const uint8_t *data;

	err = frames_land(&h->frames, rec->rip);
	if (time >= h->calls_due && !err)
		err = heap_calls_at(h, time + 1);
	if (rec->is_watched && !err)
		err = heap_watched(h, rec->rip, rec->gpr, time);
	h->syscall_rip = rec->rip; // bulk writes of this instruction follow
	while (!err && (ref = dec_log_next_ref(&refs, &data)))
		if (ref->is_def && ref->is_mem && data)
			err = dec_heap_stores_add(&h->stores, ref->addr, ref->bytes, data,
						  rec->rip, time);
	if (err)
		return err;
	if (insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND)
		return dec_frames_call(&h->frames, insn->rip + insn->len,
				       rec->gpr[CAP_RSP] - 8);
	if (insn->flow == DEC_FLOW_RET)
		return heap_return(h, rec->gpr[CAP_RSP], rec->gpr[CAP_RAX], time);
	return NULL;
}

static struct err *heap_on_syscall(struct heap_trace *h, const struct dec_rec *rec,
				   uint64_t time)
{
	int64_t ret = rec->value[1];
	struct err *err = dec_heap_stores_flush(&h->stores);
	uint64_t brk = h->brk;

	h->syscall_rip = rec->value[2];
	h->fs_base = rec->value[13];
	if (err || (ret < 0 && ret > -4096))
		return err;
	if (rec->value[0] == SYS_brk) {
		h->brk = ret;
		if (brk && h->brk > brk)
			return DEC_HEAP_TELL(h->ev, region, time, brk, h->brk - brk);
	}
	if (rec->value[0] == SYS_mmap && (rec->value[6] & MAP_ANONYMOUS))
		return DEC_HEAP_TELL(h->ev, region, time, ret, rec->value[4]);
	return NULL;
}

static struct err *heap_on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	struct heap_trace *h = ctx;

	switch (rec->id) {
	case DEC_REC_STATE:
		h->fs_base = rec->value[17];
		return NULL;
	case DEC_REC_THREAD:
		return heap_switch(h, rec->value[0]);
	case DEC_REC_SYSCALL:
		return heap_on_syscall(h, rec, time);
	case DEC_REC_WRITE: {
		const struct dec_rec_write *w = (const struct dec_rec_write *)rec;

		return dec_heap_stores_add(&h->stores, w->addr, w->n_bytes, w->bytes,
					   h->syscall_rip, time ? time - 1 : 0);
	}
	case DEC_REC_HEAP:
		return dec_heap_calls_record(&h->calls, rec->value[0], &rec->value[1]);
	default:
		return NULL;
	}
}

static struct err *heap_on_log(void *ctx, const uint8_t *log, size_t bytes)
{
	static const struct log_sink callbacks = { NULL, heap_on_block, heap_on_slow,
						   heap_on_other };
	struct heap_trace *h = ctx;
	struct log_sink sink = callbacks;
	struct err *err;

	sink.ctx = h;
	err = dec_log_reader_feed(&h->reader, &sink, log, bytes);
	return err ? err : dec_heap_stores_flush(&h->stores); // they point into the log
}

/* ---- the start ------------------------------------------------------------------------------ */

static struct err *heap_watch(void *ctx, uint64_t addr)
{
	struct heap_trace *h = ctx;

	return dec_machine_log_regs_at(h->machine, addr);
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

	if (h->o->with_progress && clock_now_s() - h->start > 2)
		fprintf(stderr, TEXT_AGAIN "faultline: analysed %lu million instructions",
			w->position / 1000000);
}

static struct err *heap_run(struct heap_trace *h, struct dec_run *ret)
{
	uint64_t until = UINT64_MAX >> 1;
	struct dec_where w;
	_cleanup_free_ char *differs = NULL;
	struct err *err;

	if (h->o->n_calls_at)
		until = h->o->calls_at[h->o->n_calls_at - 1] + 1;
	do {
		err = dec_machine_run(h->machine, until, &w);
		if (!err && w.at == DEC_AT_MAP) {
			err = dec_symbols_add(h->symbols, w.map.file, w.map.addr,
					      w.map.size, w.map.file_offset);
			if (!err)
				err = dec_heap_calls_mapped(&h->calls, heap_watch, h);
		}
	} while (!err && w.at == DEC_AT_MAP);
	if (err)
		return err;
	differs = dec_heap_calls_verify(&h->calls);
	if (differs)
		heap_note(h, "%s", differs);
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
	};
	if (dec_machine_divergence(h->machine))
		ret->divergence = strdup(dec_machine_divergence(h->machine));
	if (dec_machine_notes(h->machine))
		heap_note(h, "%s", dec_machine_notes(h->machine));
	ret->notes = take_ptr(&h->notes);
	return NULL;
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
	struct dec_machine_options mo = { .stops_at_maps = true,
					  .output_fd = -1,
					  .progress = heap_progress,
					  .progress_ctx = &h };
	struct err *err;

	*ret = (struct dec_run){};
	err = dec_heap_calls_init(&h.calls, c, symbols, events, o, &h.frames);
	if (err)
		return err;
	h.stores = (struct heap_stores){ .ev = events,
					 .frames = &h.frames,
					 .calls = &h.calls };
	heap_set_due(&h);
	dec_log_reader_init(&h.reader, DEC_LOG_STORES, 0);
	dec_frames_init(&h.frames, symbols, info->exe);
	dec_symbols_rewind(symbols);
	err = heap_read_start(&h);
	if (!err)
		err = dec_machine_create(c, &mo, &h.machine);
	if (!err)
		err = dec_heap_calls_mapped(&h.calls, heap_watch, &h);
	if (!err)
		err = dec_machine_log(h.machine, DEC_LOG_STORES, heap_on_log, &h);
	if (!err)
		err = heap_run(&h, ret);
	dec_machine_destroy(h.machine);
	dec_log_reader_deinit(&h.reader);
	heap_threads_deinit(&h);
	dec_frames_deinit(&h.frames);
	dec_heap_calls_deinit(&h.calls);
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
