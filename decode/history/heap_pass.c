// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/history/heap_pass.h"

/* Block number @p id, if it was met before and may be passed. */
static const struct log_block *pass_block(const struct log_reader *r, uint32_t id)
{
	const struct log_block *b = id < r->blocks.size ? r->blocks.data[id] : NULL;

	return b && b->user && !b->is_watched ? b : NULL;
}

/* Is a record of @p b there, which ran whole? */
static inline bool pass_is_whole(const struct log_block *b, const uint8_t *rec,
				 const uint8_t *end)
{
	return b->bytes + sizeof(struct dec_rec) <= (size_t)(end - rec) &&
	       ((const struct dec_rec *)(rec + b->bytes))->id != DEC_REC_PARTIAL;
}

/* What does not change while blocks are passed: here, so that the stores that are made need not be feared
 * to change it. */
struct pass {
	const struct dec_heap_plain *plain;
	uint64_t stack_start, stack_bytes, fs_base;
};

/* Where @p s stores. @return false: neither in a plain page nor on the stack, which nobody wants
 * (NULL). */
static inline bool pass_place(const struct pass *p, const struct heap_store *s,
			      const uint8_t *rec, uint8_t **ret)
{
	uint64_t addr = dec_log_at(&s->where, rec) + (s->is_fs ? p->fs_base : 0);
	const struct dec_heap_plain *page = &p->plain[dec_heap_plain_of(addr)];
	uint64_t at = addr % DEC_HEAP_PLAIN_BYTES;

	*ret = NULL;
	if (addr - p->stack_start < p->stack_bytes)
		return true;
	*ret = page->bytes + at;
	return page->number == addr / DEC_HEAP_PLAIN_BYTES &&
	       at + s->size <= DEC_HEAP_PLAIN_BYTES;
}

static inline void pass_copy(uint8_t *to, const uint8_t *from, uint32_t size)
{
	if (size == 8)
		memcpy(to, from, 8);
	else if (size == 4)
		memcpy(to, from, 4);
	else if (size == 1)
		memcpy(to, from, 1);
	else
		memcpy(to, from, size);
}

/* @return whether all that it stores may be passed. */
static inline bool pass_can(const struct pass *p, const struct heap_block *hb,
			    const uint8_t *rec)
{
	uint8_t *to;

	for (uint32_t i = 0; i < hb->n_stores; i++)
		if (!pass_place(p, &hb->store[i], rec, &to))
			return false;
	return true;
}

/* Store it. @return false: not all could be; what was is stored again with the rest. */
static inline bool pass_stores(const struct pass *p, const struct heap_block *hb,
			       const uint8_t *rec)
{
	struct log_run run[LOG_RUNS];
	uint8_t *to;

	for (uint32_t i = 0; i < hb->n_stores; i++) {
		const struct heap_store *s = &hb->store[i];

		if (!pass_place(p, s, rec, &to))
			return false;
		if (!to)
			continue;
		if (!s->lane_bytes) {
			pass_copy(to, rec + s->value_at, s->size);
			continue;
		}
		for (int k = 0, n = heap_store_runs(s, rec, run); k < n; k++)
			memcpy(to + run[k].offset, rec + s->value_at + run[k].offset,
			       run[k].size);
	}
	return true;
}

/* What the block whose record is at @p rec, the last of whose instructions is at @p time, does to the
 * calls under way. */
static inline struct err *pass_branch(struct frames *f, const struct heap_block *hb,
				      const uint8_t *rec, uint64_t time)
{
	struct err *err = NULL;

	if (hb->has_call)
		err = dec_frames_call(f, hb->return_rip, log_word(rec, hb->branch_at) - 8,
				      time);
	else if (hb->has_ret)
		dec_frames_return(f, log_word(rec, hb->branch_at));
	f->jump_end = hb->jump_end;
	return err;
}

/* Where it has come to. */
struct pass_state {
	uint64_t time, quiet; ///< as the reader's
	const uint8_t *rec;
};

// So many records of one block are a loop's.
#define PASS_ROUNDS 8

static inline uint64_t pass_brief_at(const struct log_brief *b, const uint8_t *rec)
{
	return b->disp + log_word(rec, b->base_at) * b->base_scale +
	       log_word(rec, b->index_at) * b->index_scale;
}

/* A loop of block number @p id that stores as @p b says: its records, as long as they store in one page. */
static struct pass_state pass_loop(const struct heap_pass *o, const struct pass *p,
				   uint32_t id, const struct log_brief b,
				   struct pass_state s, const uint8_t *end)
{
	const enum dec_log_mode mode = o->reader->mode;
	const uint64_t until = o->until, addr = pass_brief_at(&b, s.rec);
	const struct dec_heap_plain page = p->plain[dec_heap_plain_of(addr)];

	if (page.number != addr / DEC_HEAP_PLAIN_BYTES)
		return s;
	while ((size_t)(end - s.rec) >= b.bytes + sizeof(struct dec_rec)) {
		const struct dec_rec *head = (const struct dec_rec *)s.rec;
		uint64_t at =
			pass_brief_at(&b, s.rec) - page.number * DEC_HEAP_PLAIN_BYTES;
		uint32_t quiet = log_quiet(mode, s.quiet, head);

		if (head->id != id || s.time + quiet + b.n_insns > until ||
		    at > DEC_HEAP_PLAIN_BYTES - b.size ||
		    ((const struct dec_rec *)(s.rec + b.bytes))->id == DEC_REC_PARTIAL)
			break;
		pass_copy(page.bytes + at, s.rec + b.value_at, b.size);
		s.quiet -= quiet;
		s.time += quiet + b.n_insns;
		s.rec += b.bytes;
	}
	return s;
}

/* Most of a run are blocks that store once, in a plain page: their records, one behind the other,
 * without a branch that depends on which block it is, up to a loop of one. */
static struct pass_state pass_briefs(const struct heap_pass *o, const struct pass *p,
				     struct pass_state s, const uint8_t *end)
{
	const struct log_brief *briefs = o->reader->briefs.data;
	const uint32_t n = o->reader->briefs.size;
	const enum dec_log_mode mode = o->reader->mode;
	const uint64_t until = o->until;
	uint32_t id = DEC_REC_BLOCK, rounds = 0;

	while ((size_t)(end - s.rec) >= sizeof(struct dec_rec)) {
		const struct dec_rec *head = (const struct dec_rec *)s.rec;
		const uint8_t *rec = s.rec;
		const struct log_brief *b = &briefs[head->id < n ? head->id : 0];
		uint32_t quiet = log_quiet(mode, s.quiet, head);
		uint64_t time = s.time + quiet + b->n_insns, addr, at;
		const struct dec_heap_plain *page;

		if (head->id >= n || !b->bytes ||
		    (size_t)(end - rec) < b->bytes + sizeof(*head) || time > until ||
		    ((const struct dec_rec *)(rec + b->bytes))->id == DEC_REC_PARTIAL)
			break;
		addr = pass_brief_at(b, rec);
		at = addr % DEC_HEAP_PLAIN_BYTES;
		page = &p->plain[dec_heap_plain_of(addr)];
		if (page->number != addr / DEC_HEAP_PLAIN_BYTES ||
		    at + b->size > DEC_HEAP_PLAIN_BYTES)
			break;
		pass_copy(page->bytes + at, rec + b->value_at, b->size);
		s.quiet -= quiet;
		s.time = time;
		s.rec += b->bytes;
		rounds = head->id == id ? rounds + 1 : 0;
		id = head->id;
		if (rounds == PASS_ROUNDS) {
			rounds = 0;
			if ((size_t)(end - s.rec) >= b->bytes)
				s = pass_loop(o, p, id, *b, s, end);
		}
	}
	return s;
}

/* What is to be known of @p b for that, if it is such a block. */
static void pass_learn(struct log_brief *brief, const struct log_block *b)
{
	const struct heap_block *hb = b->user;
	const struct heap_store *st = hb->store;

	if (hb->n_stores != 1 || st->is_fs || st->lane_bytes || hb->has_call ||
	    hb->has_ret || hb->jump_end || ~st->where.mask || b->n_insns > UINT8_MAX)
		return;
	*brief = (struct log_brief){
		.disp = st->where.disp,
		.bytes = b->bytes,
		.base_at = st->where.base_at,
		.index_at = st->where.index_at,
		.base_scale = st->where.base_at != 0,
		.index_scale = st->where.index_at ? st->where.scale : 0,
		.value_at = st->value_at,
		.size = st->size,
		.n_insns = b->n_insns,
	};
}

struct err *dec_heap_pass(const struct heap_pass *o, const uint8_t **log,
			  const uint8_t *end)
{
	const struct pass p = { o->plain, o->stores->stack_start,
				o->stores->stack_end - o->stores->stack_start,
				o->fs_base };
	struct log_reader *r = o->reader;
	struct pass_state s = { r->time, r->quiet, *log };
	struct frames *f = o->stores->frames;
	struct err *err = NULL;

	while (!err && (size_t)(end - s.rec) >= sizeof(struct dec_rec)) {
		const struct dec_rec *head = (const struct dec_rec *)s.rec;
		const struct log_block *b = pass_block(r, head->id);
		const struct heap_block *hb = b ? b->user : NULL;
		uint32_t quiet = log_quiet(r->mode, s.quiet, head);

		if (!b || !pass_is_whole(b, s.rec, end) ||
		    s.time + quiet + b->n_insns > o->until ||
		    (hb->has_ret && !o->may_return))
			break;
		err = frames_land(f, b->rip);
		// The stores that wait come first, unless there is nothing behind them to be passed.
		if (!err && hb->n_stores && o->stores->n && pass_can(&p, hb, s.rec))
			err = dec_heap_stores_flush(o->stores);
		if (err || (hb->n_stores && o->stores->n) || !pass_stores(&p, hb, s.rec))
			break;
		s.quiet -= quiet;
		s.time += quiet + b->n_insns;
		err = pass_branch(f, hb, s.rec, s.time - 1);
		if (!r->briefs.data[head->id].bytes)
			pass_learn(&r->briefs.data[head->id], b);
		s.rec += b->bytes;
		if (!f->jump_end && !o->stores->n)
			s = pass_briefs(o, &p, s, end);
	}
	r->time = s.time;
	r->quiet = s.quiet;
	*log = s.rec;
	return err;
}
