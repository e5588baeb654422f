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

/* Where @p s stores. @return false: neither in a plain page nor on the stack, which nobody wants
 * (NULL). */
static inline bool pass_place(const struct heap_pass *p, const struct heap_store *s,
			      const uint8_t *rec, uint8_t **ret)
{
	const struct heap_stores *q = p->stores;
	uint64_t addr = dec_log_at(&s->where, rec) + (s->is_fs ? p->fs_base : 0);
	const struct dec_heap_plain *page = &p->plain[dec_heap_plain_of(addr)];
	uint64_t at = addr % DEC_HEAP_PLAIN_BYTES;

	*ret = NULL;
	if (addr - q->stack_start < q->stack_end - q->stack_start)
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
static inline bool pass_can(const struct heap_pass *p, const struct heap_block *hb,
			    const uint8_t *rec)
{
	uint8_t *to;

	for (uint32_t i = 0; i < hb->n_stores; i++)
		if (!pass_place(p, &hb->store[i], rec, &to))
			return false;
	return true;
}

/* Store it. @return false: not all could be; what was is stored again with the rest. */
static inline bool pass_stores(const struct heap_pass *p, const struct heap_block *hb,
			       const uint8_t *rec)
{
	uint8_t *to;

	for (uint32_t i = 0; i < hb->n_stores; i++) {
		const struct heap_store *s = &hb->store[i];

		if (!pass_place(p, s, rec, &to))
			return false;
		if (to)
			pass_copy(to, rec + s->value_at, s->size);
	}
	return true;
}

/* The stores that wait come first, unless there is nothing behind them to be passed. */
static struct err *pass_flush(const struct heap_pass *p, const struct heap_block *hb,
			      const uint8_t *rec, bool *ret)
{
	*ret = pass_can(p, hb, rec);
	return *ret ? dec_heap_stores_flush(p->stores) : NULL;
}

/* What the block whose record is at @p rec, the last of whose instructions is at @p time, does to the
 * calls under way. */
static struct err *pass_branch(struct frames *f, const struct heap_block *hb,
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

struct err *dec_heap_pass(const struct heap_pass *p, const uint8_t **log,
			  const uint8_t *end)
{
	struct frames *f = p->stores->frames;
	struct log_reader *r = p->reader;
	const struct heap_block *hb = NULL;
	const struct log_block *b = NULL;
	const uint8_t *rec = *log;
	uint32_t id = DEC_REC_BLOCK;
	struct err *err = NULL;

	while (!err && (size_t)(end - rec) >= sizeof(struct dec_rec)) {
		const struct dec_rec *head = (const struct dec_rec *)rec;
		uint32_t quiet = log_quiet(r, head);
		bool is_passed = true;

		// In a loop the processor foresees whose record it is.
		if (head->id != id) {
			id = head->id;
			b = pass_block(r, id);
			hb = b ? b->user : NULL;
		}
		if (!b || !pass_is_whole(b, rec, end) ||
		    r->time + quiet + b->n_insns > p->until ||
		    (hb->has_ret && !p->may_return))
			break;
		err = frames_land(f, b->rip);
		if (!err && hb->n_stores && p->stores->n)
			err = pass_flush(p, hb, rec, &is_passed);
		if (err || !is_passed || !pass_stores(p, hb, rec))
			break;
		r->quiet -= quiet;
		r->time += quiet + b->n_insns;
		err = pass_branch(f, hb, rec, r->time - 1);
		rec += b->bytes;
	}
	*log = rec;
	return err;
}
