// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Recovery against ground truth: the last instructions of a replayed program, without
 * their values, are given to dec_recover; what it finds is compared with the values that
 * the machine saw.
 */
#ifndef TESTS_DECODE_FLIGHT_H
#define TESTS_DECODE_FLIGHT_H

#include <string.h>
#include <sys/mman.h>

#include "capture/capture.h"
#include "decode/machine/log.h"
#include "decode/past/recover.h"
#include "decode/symbols/symbols.h"
#include "decode/machine/trace.h"
#include "tests/decode/flight_stores.h"

/** Values of one sort, by certainty. */
struct flight_count {
	uint64_t right[3], wrong[3]; ///< by enum dec_certainty; right[DEC_UNKNOWN]: all
};

/** An allocator call in the window: what a heap event tells of it. */
struct flight_heap {
	uint64_t entry, exit; ///< positions; exit 0: it did not return
	uint64_t fn, arg[3], result;
};

struct flight {
	VEC(struct flight_heap) heap;
	VEC(size_t)
	calls; ///< while tracing: what each call is: 1 + index into heap, or 0
	struct map pointers; ///< that heap events mention
	struct map sites;    ///< probed instructions: address -> enum cap_heap_fn
	size_t next_heap;
	bool with_heap;
	struct flight_stores stores;
	struct flight_count heap_values; ///< that are such a pointer
	struct map given; ///< pointers that calls of the window gave: -> when first
	struct flight_count given_values; ///< that are such a pointer, from then on
	struct dec_machine *machine;
	struct dec_recover *recover;
	struct dec_recover_end end;
	struct dec_recover_stats stats;
	double cpu_s; ///< that recovery took
	struct log_reader reader;
	VEC(struct dec_range) ranges;
	uint64_t begin, stop;
	struct flight_count regs, mems;
	uint64_t n_other;  ///< values that the two show differently: not counted
	uint64_t wrong_at; ///< position of the first wrong value that was known; ~0: none
	struct dec_symbols *symbols; ///< filled with what is mapped; NULL: not wanted
};

/* ---- heap events -------------------------------------------------------------------------- */

/* A file is mapped: where are its probed instructions? */
static void flight_map(struct flight *f, const struct capture *c, uint32_t file,
		       uint64_t start, uint64_t size, uint64_t offset)
{
	const struct cap_info *info = capture_info(c);

	for (size_t i = 0; i < info->n_heap_sites && file; i++) {
		const struct cap_heap_site *s = &info->heap_sites[i];

		if (s->file == file && s->file_offset - offset < size)
			assert_int_equal(map_put(&f->sites,
						 start + s->file_offset - offset, s->fn),
					 0);
	}
	flight_stores_map(&f->stores, c, file, start, size, offset);
	if (f->symbols && file)
		ok(dec_symbols_add(f->symbols, file, start, size, offset));
}

static void flight_find_sites(struct flight *f, const struct capture *c)
{
	struct cap_events *it;
	struct cap_core *core;
	struct cap_event ev;
	bool is_end = false;

	ok(cap_core_open(c, &core));
	for (size_t i = 0; i < core->n_mappings; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		flight_map(f, c, m->file, m->start, m->end - m->start, m->file_offset);
	}
	cap_core_close(core);
	ok(cap_events_open(c, &it));
	for (;;) {
		ok(cap_events_next(it, &ev, &is_end));
		if (is_end)
			break;
		if (ev.kind == CAP_EV_SYSCALL && ev.file)
			flight_map(f, c, ev.file, ev.ret, ev.regs.gpr[CAP_RSI],
				   ev.file_offset);
	}
	cap_events_close(it);
}

/* Follow the calls: with which value does each allocator call return? */
static struct err *flight_on_result(void *ctx, const struct dec_step *s)
{
	struct flight *f = ctx;
	uint64_t *fn;
	size_t *call;

	if (!s->insn)
		return NULL;
	fn = map_get(&f->sites, s->insn->rip);
	if (fn) {
		struct flight_heap *h = vec_push(&f->heap);

		assert_non_null(h);
		h->entry = s->position;
		h->fn = *fn;
		if (f->calls.size)
			f->calls.data[f->calls.size - 1] = f->heap.size;
	}
	if (s->insn->flow == DEC_FLOW_CALL || s->insn->flow == DEC_FLOW_CALL_IND) {
		call = vec_push(&f->calls);
		assert_non_null(call);
	} else if (s->insn->flow == DEC_FLOW_RET && f->calls.size) {
		f->calls.size--;
		if (f->calls.data[f->calls.size])
			f->heap.data[f->calls.data[f->calls.size] - 1].exit =
				s->position + 1;
	}
	return NULL;
}

static void flight_mention(struct flight *f, uint64_t addr)
{
	if (addr > 4096)
		assert_int_equal(map_put(&f->pointers, addr, 1), 0);
}

/* Find out what heap events would have told. */
static void flight_take_heap(struct flight *f)
{
	struct dec_where w;

	ok(dec_machine_trace(f->machine, UINT64_MAX >> 1, flight_on_result, f, &w));
	for (size_t i = 0; i < f->heap.size; i++) {
		struct flight_heap *h = &f->heap.data[i];
		struct cap_regs regs;

		ok(dec_machine_seek(f->machine, h->entry, &w));
		ok(dec_machine_regs(f->machine, &regs));
		h->arg[0] = regs.gpr[CAP_RDI];
		h->arg[1] = regs.gpr[CAP_RSI];
		h->arg[2] = regs.gpr[CAP_RDX];
		if (h->fn == CAP_HEAP_FREE || h->fn == CAP_HEAP_REALLOC)
			flight_mention(f, h->arg[0]);
		if (!h->exit || h->fn == CAP_HEAP_FREE ||
		    h->fn == CAP_HEAP_POSIX_MEMALIGN)
			continue;
		ok(dec_machine_seek(f->machine, h->exit, &w));
		ok(dec_machine_regs(f->machine, &regs));
		h->result = regs.gpr[CAP_RAX];
		flight_mention(f, h->result);
		if (!map_get(&f->given, h->result))
			assert_int_equal(map_put(&f->given, h->result, h->exit), 0);
	}
	ok(dec_machine_seek(f->machine, f->begin, &w));
}

/* How large the block is that a call gave. */
static uint64_t flight_block_size(const struct flight_heap *h)
{
	switch (h->fn) {
	case CAP_HEAP_MALLOC:
		return h->arg[0];
	case CAP_HEAP_CALLOC:
		return h->arg[0] * h->arg[1];
	case CAP_HEAP_REALLOC:
	case CAP_HEAP_ALIGNED_ALLOC:
		return h->arg[1];
	default:
		return 0;
	}
}

/* What heap events say of the heap. */
static void flight_tell_blocks(struct flight *f)
{
	for (size_t i = 0; i < f->heap.size; i++) {
		const struct flight_heap *h = &f->heap.data[i];
		bool takes = h->fn == CAP_HEAP_FREE || h->fn == CAP_HEAP_REALLOC;
		const struct dec_recover_heap_call call = {
			.entry = h->entry - f->begin,
			.exit = h->exit ? h->exit - f->begin : 0,
			.given = h->result,
			.given_size = flight_block_size(h),
			.taken = takes ? h->arg[0] : 0,
		};

		ok(dec_recover_heap_call(f->recover, &call));
	}
}

/* The step at @p time comes next: tell what heap events say of this moment. */
static struct err *flight_anchor(struct flight *f, uint64_t time)
{
	static const uint8_t n_args[CAP_HEAP_FNS] = {
		[CAP_HEAP_MALLOC] = 1,	       [CAP_HEAP_CALLOC] = 2,
		[CAP_HEAP_REALLOC] = 2,	       [CAP_HEAP_FREE] = 1,
		[CAP_HEAP_POSIX_MEMALIGN] = 3, [CAP_HEAP_ALIGNED_ALLOC] = 2
	};
	static const uint8_t args[] = { CAP_RDI, CAP_RSI, CAP_RDX };
	struct err *err = NULL;

	// In order: entries are; exits of those that are open are looked for among the last.
	while (f->next_heap < f->heap.size && f->heap.data[f->next_heap].entry < time)
		f->next_heap++;
	for (size_t i = f->next_heap > 8 ? f->next_heap - 8 : 0;
	     i <= f->next_heap && i < f->heap.size && !err; i++) {
		const struct flight_heap *h = &f->heap.data[i];

		for (int a = 0; h->entry == time && a < n_args[h->fn] && !err; a++)
			err = dec_recover_anchor(f->recover, args[a], h->arg[a]);
		if (!err && h->exit == time && h->fn != CAP_HEAP_FREE)
			err = dec_recover_lose_below(f->recover, -DEC_RETURN_PROBE_BYTES,
						     DEC_RETURN_PROBE_BYTES);
		if (!err && h->exit == time && h->fn != CAP_HEAP_FREE && h->result)
			err = dec_recover_anchor(f->recover, CAP_RAX, h->result);
	}
	return err ?: flight_stores_anchor(&f->stores, f->recover, time);
}

/* ---- the window ---------------------------------------------------------------------------- */

static struct err *flight_step(struct flight *f, const struct dec_insn *insn,
			       uint64_t time)
{
	struct err *err = flight_anchor(f, time);

	return err ?: dec_recover_step(f->recover, insn);
}

static struct err *flight_on_block(void *ctx, struct log_block *b, const uint8_t *rec,
				   uint32_t n_ran, uint64_t time)
{
	struct flight *f = ctx;

	(void)rec;
	for (uint32_t i = 0; i < n_ran; i++) {
		struct err *err;

		if (time + i < f->begin || time + i >= f->stop)
			continue;
		err = flight_step(f, &b->insn[i], time + i);
		if (err)
			return err;
	}
	return NULL;
}

static struct err *flight_on_slow(void *ctx, const struct dec_rec_slow *rec,
				  const struct dec_insn *insn, uint64_t time)
{
	struct flight *f = ctx;

	(void)rec;
	return time < f->begin || time >= f->stop ? NULL : flight_step(f, insn, time);
}

static struct err *flight_on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	static const uint8_t syscall_bytes[] = { 0x0f, 0x05 };
	struct flight *f = ctx;
	struct dec_insn insn;

	if (time < f->begin || time >= f->stop)
		return NULL;
	if (rec->id == DEC_REC_SYSCALL &&
	    dec_insn_decode(syscall_bytes, 2, rec->value[2], &insn))
		return flight_step(f, &insn, time);
	if (rec->id == DEC_REC_STATE && rec->value[18] && rec->value[18] <= 8 &&
	    dec_insn_decode((const uint8_t *)&rec->value[19], rec->value[18],
			    rec->value[16] - rec->value[18], &insn))
		return flight_step(f, &insn, time);
	return NULL;
}

static struct err *flight_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct log_sink sink = { ctx, flight_on_block, flight_on_slow, flight_on_other };
	struct flight *f = ctx;

	return dec_log_reader_feed(&f->reader, &sink, log, bytes);
}

static enum dec_recover_map flight_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct flight *f = ctx;
	struct err *err;

	for (size_t i = 0; i < f->ranges.size; i++) {
		const struct dec_range *r = &f->ranges.data[i];

		if (addr < r->start || addr >= r->end)
			continue;
		err = dec_machine_read(f->machine, addr, buf, size);
		if (err) {
			err_destroy(err);
			return DEC_MAP_NONE;
		}
		return r->is_shared	    ? DEC_MAP_SHARED :
		       r->prot & PROT_WRITE ? DEC_MAP_PRIVATE :
					      DEC_MAP_CONST;
	}
	return DEC_MAP_NONE;
}

static void flight_take_end(struct flight *f)
{
	struct dec_range range;
	struct err *err;

	uint8_t mxcsr[160];
	size_t n_mxcsr;

	ok(dec_machine_regs(f->machine, &f->end.regs));
	ok(dec_machine_reg(f->machine, DEC_REG_MXCSR, mxcsr, &n_mxcsr));
	memcpy(&f->end.mxcsr, mxcsr, 4);
	for (int v = 0; v < 40; v++) {
		uint8_t buf[160];
		size_t n;

		ok(dec_machine_reg(f->machine, DEC_REG_VEC + v, buf, &n));
		if (v >= 32) {
			memcpy(&f->end.k[v - 32], buf, 8);
			f->end.has_k = n == 8;
			continue;
		}
		memcpy(f->end.vec[v], buf, n < 64 ? n : 64);
		f->end.vec_mask[v] = n >= 64 ? UINT64_MAX : (1ull << n) - 1;
	}
	for (size_t i = 0; !(err = dec_machine_range(f->machine, i, &range)); i++) {
		struct dec_range *r = vec_push(&f->ranges);

		assert_non_null(r);
		*r = range;
	}
	err_destroy(err);
	f->end.read = flight_read;
	f->end.ctx = f;
}

/** Which store probes there are. */
struct flight_probes {
	const char
		*library; ///< beside the program's: of the library with this in its path
};

/** Take the last @p n instructions of @p c, heap events where it has them, and, when
 * asked for, what store probes would have told. */
static void flight_init(struct flight *f, const struct capture *c, uint64_t n,
			const struct flight_probes *probes)
{
	struct dec_where w;

	*f = (struct flight){ .wrong_at = UINT64_MAX };
	ok(dec_machine_create(c, NULL, &f->machine));
	ok(dec_machine_run(f->machine, UINT64_MAX >> 1, &w));
	if (w.at != DEC_AT_END)
		fail_msg("no replay: %s", dec_machine_divergence(f->machine));
	// A call that ends the program does not return.
	f->stop = w.position - (w.end == CAP_END_EXIT);
	f->begin = w.position > n ? w.position - n : 0;
	ok(dec_machine_seek(f->machine, f->begin, &w));
	ok(dec_machine_checkpoint(f->machine));
	f->begin = w.position;
	f->with_heap = capture_info(c)->has_heap;
	if (probes)
		flight_stores_init(&f->stores, c, probes->library);
	if (f->with_heap || probes)
		flight_find_sites(f, c);
	if (f->with_heap)
		flight_take_heap(f);
	if (probes)
		flight_stores_take(&f->stores, f->machine, f->begin, f->stop);
	dec_log_reader_init(&f->reader, DEC_LOG_FLOW, f->begin);
	ok(dec_recover_create(f->begin, &f->recover));
	ok(dec_machine_log(f->machine, DEC_LOG_FLOW, flight_feed, f));
	ok(dec_machine_run(f->machine, UINT64_MAX >> 1, &w));
	ok(dec_machine_log(f->machine, DEC_LOG_NONE, NULL, NULL));
	dec_log_reader_deinit(&f->reader);
	flight_tell_blocks(f);
	flight_take_end(f);
	dec_recover_set_end(f->recover, &f->end);
}

static void flight_deinit(struct flight *f)
{
	dec_recover_destroy(f->recover);
	dec_machine_destroy(f->machine);
	vec_deinit(&f->ranges);
	vec_deinit(&f->heap);
	vec_deinit(&f->calls);
	map_deinit(&f->pointers);
	map_deinit(&f->given);
	map_deinit(&f->sites);
	flight_stores_deinit(&f->stores);
}

#endif
