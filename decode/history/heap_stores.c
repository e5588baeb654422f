// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/history/heap_stores.h"

#include <stdlib.h>

struct heap_block *dec_heap_block_make(const struct heap_stores *q, struct log_block *b)
{
	struct heap_block *hb =
		calloc(1, sizeof(*hb) + b->n_insns * sizeof(hb->store[0]));
	struct dec_slot slots[DEC_SLOTS];

	if (!hb)
		return NULL;
	for (uint32_t i = 0; i < b->n_insns; i++) {
		const struct dec_insn *insn = &b->insn[i];
		struct heap_store *st = &hb->store[hb->n_stores];
		uint32_t at = b->slot_at[i];
		struct dec_known known = b->known[i];
		int n = dec_insn_slots(insn, q->mode, &known, slots);

		if (insn->flow != DEC_FLOW_NEXT)
			hb->branch_at = at;
		hb->has_call |= insn->flow == DEC_FLOW_CALL ||
				insn->flow == DEC_FLOW_CALL_IND;
		hb->has_ret |= insn->flow == DEC_FLOW_RET;
		hb->return_rip = insn->rip + insn->len;
		hb->jump_end = dec_frames_jump_end(q->frames, insn);
		for (int s = 0; s < n; s++, at += dec_slot_size(&slots[s - 1])) {
			if (slots[s].kind != DEC_SLOT_STORE)
				continue;
			*st = (struct heap_store){
				.where = dec_log_where(b, i, slots[s].which),
				.insn = i,
				.value_at = at,
				.size = slots[s].bytes,
				.lane_bytes = insn->lane_bytes,
				.is_fs = insn->mem[slots[s].which].is_fs,
			};
			hb->n_stores++;
		}
	}
	b->user = hb;
	return hb;
}

struct err *dec_heap_stores_flush(struct heap_stores *q)
{
	size_t n = q->n;

	q->n = 0;
	return n ? DEC_HEAP_TELL(q->ev, stores, q->of, n) : NULL;
}

/* The first store into a local variable, as it seems. */
static struct err *stores_touch(struct heap_stores *q, uint64_t addr, uint32_t size,
				uint64_t time)
{
	struct err *err = dec_heap_stores_flush(q);

	return err ? err : dec_heap_roots_touch(q->roots, addr, size, time);
}

/* A store, unless it is to the stack. */
static inline struct err *stores_push(struct heap_stores *q, uint64_t addr, uint32_t size,
				      const void *data, uint64_t pc, uint64_t time)
{
	heap_calls_store(q->calls, addr, size, data);
	if (!q->ev->stores || (q->skips_allocator && q->calls->call.is_open))
		return NULL; // nobody wants them
	if (addr >= q->stack_start && addr < q->stack_end)
		return NULL;
	if (heap_roots_meet(q->roots, addr, size)) {
		struct err *err = stores_touch(q, addr, size, time);

		if (err)
			return err;
	}
	q->of[q->n++] =
		(struct dec_heap_store){ .time = time,
					 .addr = addr,
					 .rip = dec_frames_statement(q->frames, pc),
					 .pc = pc,
					 .data = data,
					 .size = size,
					 .in_allocator = q->calls->call.is_open };
	return q->n == HEAP_STORES_AT_ONCE ? dec_heap_stores_flush(q) : NULL;
}

struct err *dec_heap_stores_add(struct heap_stores *q, uint64_t addr, uint32_t size,
				const void *data, uint64_t pc, uint64_t time)
{
	return stores_push(q, addr, size, data, pc, time);
}

struct err *dec_heap_stores_add_block(struct heap_stores *q, const struct log_block *b,
				      const uint8_t *rec, uint32_t n_ran, uint64_t time,
				      uint64_t fs_base)
{
	const struct heap_block *hb = b->user;
	struct log_run run[LOG_RUNS];
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < hb->n_stores; i++) {
		const struct heap_store *st = &hb->store[i];
		uint64_t addr;
		int n;

		if (st->insn >= n_ran)
			break;
		addr = dec_log_at(&st->where, rec);
		if (st->is_fs)
			addr += fs_base;
		n = heap_store_runs(st, rec, run);
		for (int k = 0; !err && k < n; k++)
			err = stores_push(q, addr + run[k].offset, run[k].size,
					  rec + st->value_at + run[k].offset,
					  b->insn[st->insn].rip, time + st->insn);
	}
	return err;
}

struct err *dec_heap_stores_add_step(struct heap_stores *q, const struct dec_step *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_refs && !err; i++) {
		const struct dec_ref *r = &s->refs[i];

		if (r->is_mem && r->is_def && r->has_value)
			err = stores_push(q, r->addr, r->size, r->value, s->insn->rip,
					  s->position);
	}
	return err ? err : dec_heap_stores_flush(q); // they point into the step
}

bool dec_heap_may_store(const struct dec_insn *insn, enum dec_log_mode mode)
{
	for (int m = 0; m < insn->n_mem; m++)
		if (insn->mem[m].is_write)
			return insn->mem[m].base != CAP_RSP || mode != DEC_LOG_STORES ||
			       dec_insn_is_slow(insn, DEC_LOG_STORES);
	return insn->is_slow_value || insn->is_slow_addr || insn->is_slow_always;
}
