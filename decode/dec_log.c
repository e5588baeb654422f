// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/dec_log.h"

#include <string.h>

// The log comes from a process that runs hostile code: nothing in it is trusted.
#define LOG_MAX_BLOCKS (1u << 26)

void log_reader_init(struct log_reader *r, enum dec_log_mode mode, uint64_t time)
{
	*r = (struct log_reader){ .mode = mode, .time = time };
}

static void log_block_deinit(struct log_block *b)
{
	free(b->insn);
	free(b->slot_at);
	free(b->user);
	*b = (struct log_block){};
}

void log_reader_deinit(struct log_reader *r)
{
	for (size_t i = 0; i < r->blocks.size; i++)
		log_block_deinit(&r->blocks.data[i]);
	vec_deinit(&r->blocks);
}

static struct err *log_damaged(const char *what)
{
	return err_new(ERR_FORMAT, "the machine's log is damaged: %s", what);
}

static struct err *log_block_decode(struct log_reader *r, const struct dec_rec_block *rec,
				    struct log_block *b)
{
	uint32_t at = 8 + (rec->is_watched ? 16 * 8 : 0), off = 0;
	struct dec_slot slots[DEC_SLOTS];

	*b = (struct log_block){ .rip = rec->rip, .n_insns = rec->n_insns,
				 .is_watched = rec->is_watched };
	b->insn = calloc(rec->n_insns, sizeof(*b->insn));
	b->slot_at = calloc(rec->n_insns + 1, sizeof(*b->slot_at));
	if (!b->insn || !b->slot_at)
		return &err_nomem;
	for (uint32_t i = 0; i < rec->n_insns; i++) {
		int n;

		if (!dec_insn_decode(rec->bytes + off, rec->n_bytes - off, rec->rip + off,
				     &b->insn[i]))
			return log_damaged("a block holds no instructions");
		off += b->insn[i].len;
		b->slot_at[i] = at;
		n = dec_insn_slots(&b->insn[i], r->mode, slots);
		for (int s = 0; s < n; s++)
			at += dec_slot_size(&slots[s]);
	}
	b->slot_at[rec->n_insns] = b->bytes = at;
	return NULL;
}

static struct err *log_block_add(struct log_reader *r, const struct dec_rec_block *rec)
{
	if (rec->size < sizeof(*rec) || rec->n_bytes > rec->size - sizeof(*rec) ||
	    rec->block >= LOG_MAX_BLOCKS || rec->n_insns > DEC_BLOCK_INSNS)
		return log_damaged("a bad block");
	while (r->blocks.size <= rec->block) {
		if (!vec_push(&r->blocks))
			return &err_nomem;
	}
	log_block_deinit(&r->blocks.data[rec->block]);
	return log_block_decode(r, rec, &r->blocks.data[rec->block]);
}

static struct err *log_slow(struct log_reader *r, const struct log_sink *sink,
			    const struct dec_rec_slow *rec)
{
	struct dec_insn insn;
	struct err *err = NULL;

	if (rec->size < sizeof(*rec) || rec->len > 15 ||
	    !dec_insn_decode(rec->bytes, rec->len, rec->rip, &insn))
		return log_damaged("a bad single instruction");
	if (sink->slow)
		err = sink->slow(sink->ctx, rec, &insn, r->time);
	r->time++;
	return err;
}

static struct err *log_control(struct log_reader *r, const struct log_sink *sink,
			       const struct dec_rec *rec)
{
	static const uint32_t words[] = {
		[DEC_REC_STATE - DEC_REC_BLOCK] = 19, [DEC_REC_SYSCALL - DEC_REC_BLOCK] = 14,
		[DEC_REC_HEAP - DEC_REC_BLOCK] = 4,   [DEC_REC_WRITE - DEC_REC_BLOCK] = 3,
	};
	struct err *err = NULL;

	switch (rec->id) {
	case DEC_REC_BLOCK:
		return log_block_add(r, (const struct dec_rec_block *)rec);
	case DEC_REC_SLOW:
		return log_slow(r, sink, (const struct dec_rec_slow *)rec);
	case DEC_REC_STATE:
	case DEC_REC_SYSCALL:
	case DEC_REC_WRITE:
	case DEC_REC_HEAP:
		if (rec->size < sizeof(*rec) + 8 * words[rec->id - DEC_REC_BLOCK])
			return log_damaged("a short record");
		if (rec->id == DEC_REC_WRITE &&
		    ((const struct dec_rec_write *)rec)->n_bytes >
			    rec->size - sizeof(struct dec_rec_write))
			return log_damaged("a bad write");
		if (sink->other)
			err = sink->other(sink->ctx, rec, r->time);
		if (rec->id == DEC_REC_SYSCALL ||
		    (rec->id == DEC_REC_STATE && rec->value[18]))
			r->time++;
		return err;
	default:
		return log_damaged("an unknown record");
	}
}

/* How much of the block at @p rec ran: all, unless a PARTIAL record follows. */
static uint32_t log_ran(const struct log_block *b, const uint8_t *rec, size_t left,
			uint32_t *skip)
{
	const struct dec_rec *next = (const struct dec_rec *)(rec + b->bytes);

	*skip = b->bytes;
	if (left < b->bytes + sizeof(*next) + 8 || next->id != DEC_REC_PARTIAL)
		return b->n_insns;
	*skip += sizeof(*next) + 8;
	return next->value[0] < b->n_insns ? next->value[0] : b->n_insns;
}

struct err *log_reader_feed(struct log_reader *r, const struct log_sink *sink,
			    const uint8_t *log, size_t bytes)
{
	const uint8_t *end = log + bytes;

	while (log < end) {
		const struct dec_rec *rec = (const struct dec_rec *)log;
		struct err *err = NULL;
		uint32_t skip;

		if ((size_t)(end - log) < sizeof(*rec))
			return log_damaged("it ends in a record");
		if (rec->id >= DEC_REC_BLOCK) {
			if (rec->size < sizeof(*rec) || rec->size > (size_t)(end - log) ||
			    (rec->size & 7))
				return log_damaged("a bad record size");
			skip = rec->size;
			err = log_control(r, sink, rec);
		} else {
			struct log_block *b;
			uint32_t ran;

			if (rec->id >= r->blocks.size || !r->blocks.data[rec->id].bytes)
				return log_damaged("an unknown block");
			b = &r->blocks.data[rec->id];
			if (b->bytes > (size_t)(end - log))
				return log_damaged("it ends in a block");
			ran = log_ran(b, log, end - log, &skip);
			if (sink->block)
				err = sink->block(sink->ctx, b, log, ran, r->time);
			r->time += ran;
		}
		if (err)
			return err;
		log += skip;
	}
	return NULL;
}
