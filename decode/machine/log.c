// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/log.h"

#include <string.h>

#include "decode/x86/zydis.h"

// The log comes from a process that runs hostile code: nothing in it is trusted.
#define LOG_MAX_BLOCKS (1u << 26)
#define LOG_MAX_GAP (1u << 16)	 // between numbers: instructions stepped in C have some
#define LOG_MAX_INSNS (1u << 24) ///< some 3 GB as their reader has them

void dec_log_reader_init(struct log_reader *r, enum dec_log_mode mode, uint64_t time)
{
	*r = (struct log_reader){ .mode = mode, .time = time };
}

static void log_block_destroy(struct log_block *b)
{
	if (!b)
		return;
	free(b->insn);
	free(b->user);
	free(b);
}

void dec_log_reader_deinit(struct log_reader *r)
{
	for (size_t i = 0; i < r->blocks.size; i++)
		log_block_destroy(r->blocks.data[i]);
	for (size_t i = 0; i < r->old.size; i++)
		log_block_destroy(r->old.data[i]);
	dec_insns_give(r->known);
	vec_deinit(&r->blocks);
	vec_deinit(&r->old);
	vec_deinit(&r->briefs);
}

static struct err *log_damaged(const char *what)
{
	return err_new(ERR_FORMAT, "the machine's log is damaged: %s", what);
}

/* Where each register was last logged in the record, and by how much it moved since. */
struct log_trail {
	uint16_t at[DEC_GPRS];
	int16_t step[DEC_GPRS];
};

static void log_operands(struct log_mem *mem, const struct dec_insn *insn,
			 const struct log_trail *trail)
{
	for (int m = 0; m < insn->n_mem; m++) {
		const struct dec_mem *d = &insn->mem[m];

		if (d->base != DEC_REG_NONE) {
			mem[m].base_at = trail->at[d->base];
			mem[m].base_step = trail->step[d->base];
		}
		if (d->index != DEC_REG_NONE) {
			mem[m].index_at = trail->at[d->index];
			mem[m].index_step = trail->step[d->index];
		}
	}
}

/* Lay out instruction @p i of @p b, whose slots begin at @p at. @return where they end. */
static uint32_t log_insn_layout(struct log_block *b, uint32_t i, enum dec_log_mode mode,
				struct dec_known *known, struct log_trail *trail,
				uint32_t at)
{
	const struct dec_insn *insn = &b->insn[i];
	struct dec_slot slots[DEC_SLOTS];
	int n;

	b->known[i] = *known;
	b->slot_at[i] = at;
	n = dec_insn_slots(insn, mode, known, slots);
	for (int s = 0; s < n; at += dec_slot_size(&slots[s++])) {
		if (slots[s].kind == DEC_SLOT_BEFORE) {
			trail->at[slots[s].which] = at;
			trail->step[slots[s].which] = 0;
		}
	}
	log_operands(b->mem[i], insn, trail);
	trail->step[4] += dec_insn_rsp_step(insn);
	return at;
}

/* May @p insn be in a block? The translator steps others in C, or ends a block. */
static bool log_insn_is_in_line(const struct dec_insn *insn, enum dec_log_mode mode,
				bool is_last)
{
	return insn->flow < DEC_FLOW_SYSCALL && (is_last || !dec_insn_ends_block(insn)) &&
	       !dec_insn_is_slow(insn, mode);
}

/* Room for @p n instructions of @p b, all of it one piece: there are many blocks. @return false: no memory. */
static bool log_block_reserve(struct log_block *b, uint32_t n)
{
	b->insn = calloc(1, n * (sizeof(*b->insn) + sizeof(*b->mem) + sizeof(*b->known)) +
				    (n + 1) * sizeof(*b->slot_at));
	if (!b->insn)
		return false;
	b->mem = (struct log_mem(*)[DEC_MEMS])(b->insn + n);
	b->slot_at = (uint32_t *)(b->mem + n);
	b->known = (struct dec_known *)(b->slot_at + n + 1);
	return true;
}

_Static_assert(sizeof(struct dec_insn) % 8 == 0 &&
		       sizeof(struct log_mem[DEC_MEMS]) % 4 == 0,
	       "they follow each other");

static struct err *log_block_decode(struct log_reader *r, const struct dec_rec_block *rec,
				    struct log_block *b)
{
	uint32_t at = 8 + (rec->is_watched ? 16 * 8 : 0), off = 0;
	struct dec_known known = dec_known_start(r->mode, rec->is_watched);
	struct log_trail trail = {};

	b->rip = rec->rip;
	b->n_insns = rec->n_insns;
	b->is_watched = rec->is_watched;
	r->known = r->known ?: dec_insns_take();
	if (!log_block_reserve(b, rec->n_insns) || !r->known)
		return &err_nomem;
	for (int g = 0; rec->is_watched && g < DEC_GPRS; g++)
		trail.at[g] = 8 + 8 * g;
	for (uint32_t i = 0; i < rec->n_insns; i++) {
		b->insn[i] = *dec_insns_decode(r->known, rec->bytes + off,
					       rec->n_bytes - off, rec->rip + off);
		if (!b->insn[i].len ||
		    !log_insn_is_in_line(&b->insn[i], r->mode, i + 1 == rec->n_insns))
			return log_damaged("a block holds what none does");
		off += b->insn[i].len;
		at = log_insn_layout(b, i, r->mode, &known, &trail, at);
	}
	b->slot_at[rec->n_insns] = b->bytes = at;
	return NULL;
}

struct log_where dec_log_where(const struct log_block *b, uint32_t i, int m)
{
	const struct dec_mem *d = &b->insn[i].mem[m];
	const struct log_mem *where = &b->mem[i][m];

	return (struct log_where){
		.disp = d->disp + (where->base_at ? where->base_step : 0) +
			(where->index_at ? where->index_step * d->scale : 0),
		.mask = d->is_addr32 ? UINT32_MAX : UINT64_MAX,
		.base_at = where->base_at,
		.index_at = where->index_at,
		.scale = d->scale,
	};
}

uint64_t dec_log_address(const struct log_block *b, uint32_t i, int m, const uint8_t *rec)
{
	const struct log_where w = dec_log_where(b, i, m);

	return dec_log_at(&w, rec);
}

void dec_log_follow_fs(const struct dec_rec_slow *rec, const struct dec_insn *insn,
		       uint64_t *fs_base)
{
	// Its one operand is a register; f3, REX, 0f ae.
	if (insn->mnemonic != ZYDIS_MNEMONIC_WRFSBASE || !insn->gpr_read)
		return;
	*fs_base = rec->gpr[__builtin_ctz(insn->gpr_read)];
	if ((insn->bytes[1] & 0xf8) != 0x48)
		*fs_base = (uint32_t)*fs_base;
}

int dec_log_runs(uint32_t lane_bytes, uint32_t size, uint64_t mask,
		 struct log_run ret[LOG_RUNS])
{
	uint32_t lanes = lane_bytes ? size / lane_bytes : 0, length;
	int n = 0;

	if (!lane_bytes)
		ret[n++] = (struct log_run){ 0, size };
	for (uint32_t at = 0; at < lanes; at += length + 1) {
		for (length = 0; at + length < lanes && mask >> (at + length) & 1;)
			length++;
		if (length)
			ret[n++] =
				(struct log_run){ at * lane_bytes, length * lane_bytes };
	}
	return n;
}

int dec_log_accesses(const struct log_block *b, uint32_t i, int m, const uint8_t *rec,
		     struct log_run ret[LOG_RUNS])
{
	const struct dec_insn *insn = &b->insn[i];

	// The mask is the last of its slots.
	return dec_log_runs(insn->lane_bytes, insn->mem[m].size,
			    insn->lane_bytes ? log_word(rec, b->slot_at[i + 1] - 8) : 0,
			    ret);
}

static struct err *log_block_add(struct log_reader *r, const struct log_sink *sink,
				 const struct dec_rec_block *rec)
{
	struct log_block **b;
	struct err *err;

	if (rec->size < sizeof(*rec) || rec->n_bytes > rec->size - sizeof(*rec) ||
	    rec->block >= LOG_MAX_BLOCKS || rec->block >= r->blocks.size + LOG_MAX_GAP ||
	    rec->n_insns > DEC_BLOCK_INSNS)
		return log_damaged("a bad block");
	while (r->blocks.size <= rec->block) {
		if (!vec_push(&r->briefs) || !vec_push(&r->blocks))
			return &err_nomem;
	}
	r->briefs.data[rec->block] = (struct log_brief){};
	b = &r->blocks.data[rec->block];
	r->n_insns += rec->n_insns;
	r->n_insns -= *b ? (*b)->n_insns : 0;
	if (r->n_insns > LOG_MAX_INSNS)
		return log_damaged("more code than a program has");
	if (*b && r->keeps_old) {
		if (vec_add(&r->old, *b))
			return &err_nomem;
		*b = NULL;
	}
	log_block_destroy(*b);
	*b = calloc(1, sizeof(**b));
	err = *b ? log_block_decode(r, rec, *b) : &err_nomem;
	return !err && r->made ? r->made(sink->ctx, *b) : err;
}

/* Bytes of register @p reg, as dec_engine_read_reg() has it; 0: there is none. */
static uint32_t log_reg_bytes(uint8_t reg)
{
	return reg < DEC_REG_VEC    ? 8 :
	       reg < DEC_REG_K	    ? 64 :
	       reg <= DEC_REG_FLAGS ? 8 :
	       reg == DEC_REG_X87   ? 160 :
	       reg == DEC_REG_MXCSR ? 4 :
				      0;
}

/* Are the references those of such a record? */
static bool log_has_refs(const struct dec_rec_slow *rec)
{
	const uint8_t *end = (const uint8_t *)rec + rec->size, *data;
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref;

	while (refs.left) {
		size_t left = end - refs.at;

		if (left < sizeof(*ref))
			return false;
		ref = dec_log_next_ref(&refs, &data);
		if ((!ref->is_far && ref->bytes > left - sizeof(*ref)) ||
		    (!ref->is_mem && (ref->is_far || !ref->bytes ||
				      ref->bytes != log_reg_bytes(ref->reg))))
			return false;
	}
	return true;
}

static struct err *log_slow(struct log_reader *r, const struct log_sink *sink,
			    const struct dec_rec_slow *rec)
{
	struct dec_insn insn;
	struct err *err = NULL;

	if (rec->size < sizeof(*rec) || rec->len > 15 || !log_has_refs(rec) ||
	    !dec_insn_decode(rec->bytes, rec->len, rec->rip, &insn))
		return log_damaged("a bad single instruction");
	if (sink->slow)
		err = sink->slow(sink->ctx, rec, &insn, r->time);
	r->time++;
	return err;
}

static bool log_are_accesses(const struct dec_rec_access *rec)
{
	size_t bytes = rec->size - sizeof(*rec);

	for (size_t i = 0; i < bytes / sizeof(rec->access[0]); i++) {
		const struct dec_access *a = &rec->access[i];

		if (!a->size || a->size > DEC_ACCESS_MOST ||
		    a->addr + a->size < a->addr ||
		    (a->reg >= DEC_GPRS && a->reg != DEC_ACCESS_WORD))
			return false;
	}
	return bytes % sizeof(rec->access[0]) == 0;
}

static struct err *log_control(struct log_reader *r, const struct log_sink *sink,
			       const struct dec_rec *rec)
{
	static const uint32_t words[] = {
		[DEC_REC_STATE - DEC_REC_BLOCK] = 23,
		[DEC_REC_SYSCALL - DEC_REC_BLOCK] = 15,
		[DEC_REC_HEAP - DEC_REC_BLOCK] = 4,
		[DEC_REC_WRITE - DEC_REC_BLOCK] = 3,
		[DEC_REC_ACCESS - DEC_REC_BLOCK] = 0,
		[DEC_REC_LOOK - DEC_REC_BLOCK] = 2,
		[DEC_REC_QUIET - DEC_REC_BLOCK] = 1,
		[DEC_REC_THREAD - DEC_REC_BLOCK] = DEC_REC_THREAD_WORDS,
	};
	struct err *err = NULL;

	switch (rec->id) {
	case DEC_REC_BLOCK:
		return log_block_add(r, sink, (const struct dec_rec_block *)rec);
	case DEC_REC_SLOW:
		return log_slow(r, sink, (const struct dec_rec_slow *)rec);
	case DEC_REC_STATE:
	case DEC_REC_SYSCALL:
	case DEC_REC_ACCESS:
	case DEC_REC_WRITE:
	case DEC_REC_HEAP:
	case DEC_REC_LOOK:
	case DEC_REC_QUIET:
	case DEC_REC_THREAD:
		if (rec->size < sizeof(*rec) + 8 * words[rec->id - DEC_REC_BLOCK])
			return log_damaged("a short record");
		if (rec->id == DEC_REC_THREAD && r->mode == DEC_LOG_VALUES &&
		    rec->size < sizeof(*rec) + 8 * DEC_REC_THREAD_WORDS +
					DEC_REC_THREAD_VECTORS)
			return log_damaged("a short record");
		if (rec->id == DEC_REC_ACCESS &&
		    !log_are_accesses((const struct dec_rec_access *)rec))
			return log_damaged("a bad access");
		if (rec->id == DEC_REC_WRITE &&
		    ((const struct dec_rec_write *)rec)->n_bytes >
			    rec->size - sizeof(struct dec_rec_write))
			return log_damaged("a bad write");
		if (rec->id == DEC_REC_HEAP && rec->value[0] >= CAP_HEAP_FNS)
			return log_damaged("an unknown allocator function");
		if (rec->id == DEC_REC_LOOK && rec->value[0] > DEC_LOOK_MAX)
			return log_damaged("a look at too much");
		if (rec->id == DEC_REC_QUIET && !rec->value[0]) {
			r->quiet = 0; // it begins here, perhaps in another process
			return NULL;
		}
		if (rec->id == DEC_REC_QUIET) {
			r->time += (uint32_t)(r->quiet - rec->value[0]);
			r->quiet = rec->value[0];
			return NULL;
		}
		if (sink->other)
			err = sink->other(sink->ctx, rec, r->time);
		if (rec->id == DEC_REC_SYSCALL ||
		    (rec->id == DEC_REC_STATE &&
		     (rec->value[18] || rec->value[20] == DEC_STATE_OMITTED)))
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

struct err *dec_log_reader_feed(struct log_reader *r, const struct log_sink *sink,
				const uint8_t *log, size_t bytes)
{
	const uint8_t *end = log + bytes;

	while (log < end) {
		const struct dec_rec *rec = (const struct dec_rec *)log;
		struct err *err = NULL;
		uint32_t skip;

		if ((size_t)(end - log) < sizeof(*rec))
			return log_damaged("it ends in a record");
		if (r->stretch && rec->id < DEC_REC_BLOCK) {
			const uint8_t *from = log;

			err = r->stretch(sink->ctx, r, &log, end);
			if (err)
				return err;
			if (log != from)
				continue;
		}
		if (rec->id >= DEC_REC_BLOCK) {
			if (rec->size < sizeof(*rec) || rec->size > (size_t)(end - log) ||
			    (rec->size & 7))
				return log_damaged("a bad record size");
			skip = rec->size;
			err = log_control(r, sink, rec);
		} else {
			struct log_block *b;
			uint32_t ran, skipped;

			b = rec->id < r->blocks.size ? r->blocks.data[rec->id] : NULL;
			if (!b || !b->bytes)
				return log_damaged("an unknown block");
			if (b->bytes > (size_t)(end - log))
				return log_damaged("it ends in a block");
			ran = log_ran(b, log, end - log, &skip);
			skipped = log_quiet(r->mode, r->quiet, rec);
			r->quiet -= skipped;
			r->time += skipped;
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
