// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Memory is noted by chunks of 64 words, a chunk's by one note for each epoch in which it is written: so a
 * program that writes here and there costs as little as one that writes much in one place. A thread's
 * registers are one more chunk, of 60 words, at an address where there is no memory.
 */

#include "decode/explain/written.h"

#include <string.h>

#include "decode/machine/log.h"

#define WORD 8
#define CHUNK (64 * WORD)
#define RECENT 1024 // chunks whose note is still at hand
// What a block writes, or what lies between two instructions, is noted so much late, or one early.
#define LATE DEC_BLOCK_INSNS
#define REGS_OF(tid) (UINT64_C(1) << 60 | (tid))

uint64_t dec_written_epoch = UINT64_C(1) << 18;
size_t dec_written_most = 1 << 24;

/** Of one chunk, in one epoch. */
struct note {
	uint64_t words;	      ///< bit n: the n-th was written
	uint64_t first, last; ///< when it was, the first and the last time
};

struct chunk {
	VEC(struct note) notes; ///< of ever later epochs
};

struct dec_written {
	uint64_t epoch; ///< instructions
	uint32_t tid;	///< of the only thread, if there is one
	size_t n_notes;
	struct map chunk_of; ///< address / CHUNK -> index into chunks
	VEC(struct chunk) chunks;
};

/* ---- notes --------------------------------------------------------------------------------------- */

/* Is @p time in the epoch of @p n? */
static bool is_within(const struct dec_written *w, const struct note *n, uint64_t time)
{
	return n->first / w->epoch == time / w->epoch;
}

static void extend(struct note *n, const struct note *by)
{
	n->words |= by->words;
	n->last = by->last;
}

/* Epochs are from here on twice as long. */
static void halve(struct dec_written *w)
{
	w->epoch *= 2;
	w->n_notes = 0;
	for (size_t i = 0; i < w->chunks.size; i++) {
		struct chunk *c = &w->chunks.data[i];
		size_t n = 0;

		for (size_t k = 0; k < c->notes.size; k++) {
			const struct note note = c->notes.data[k];

			if (n && is_within(w, &c->notes.data[n - 1], note.first))
				extend(&c->notes.data[n - 1], &note);
			else
				c->notes.data[n++] = note;
		}
		c->notes.size = n;
		vec_trim(&c->notes);
		w->n_notes += n;
	}
}

static struct chunk *chunk(struct dec_written *w, uint64_t number)
{
	const uint64_t *at = map_get(&w->chunk_of, number);
	struct chunk *c;

	if (at)
		return &w->chunks.data[*at];
	c = vec_push(&w->chunks);
	return !c || map_put(&w->chunk_of, number, w->chunks.size - 1) ? NULL : c;
}

/* Of chunk @p number that was written; within an epoch. */
static struct err *note(struct dec_written *w, uint64_t number, const struct note *n)
{
	struct chunk *c = chunk(w, number);
	struct note *before;
	struct err *err;

	if (!c)
		return &err_nomem;
	before = c->notes.size ? &c->notes.data[c->notes.size - 1] : NULL;
	if (before && is_within(w, before, n->first)) {
		extend(before, n);
		return NULL;
	}
	err = vec_add(&c->notes, *n);
	if (!err && ++w->n_notes >= dec_written_most)
		halve(w);
	return err;
}

/* ---- the log -------------------------------------------------------------------------------------- */

struct recent {
	uint64_t number;  ///< of the chunk
	struct note note; ///< words 0: nothing is kept here
};

/** Going through the log. */
struct writing {
	struct dec_written *w;
	struct log_reader reader;
	uint64_t fs_base, until; ///< the end of the epoch
	uint64_t time;		 ///< now
	struct note regs;	 ///< that the thread wrote in it
	uint32_t tid;
	struct recent recent[RECENT];
};

/** What a block writes. */
struct plan {
	uint64_t regs;
	uint32_t n;
	struct {
		struct log_where where;
		uint32_t size;
		bool is_fs;
	} store[];
};

static struct err *keep(struct writing *g, uint64_t number, struct note *n)
{
	struct err *err = n->words ? note(g->w, number, n) : NULL;

	n->words = 0;
	return err;
}

static struct err *keep_regs(struct writing *g)
{
	return keep(g, REGS_OF(g->tid), &g->regs);
}

/* @p words were written now. */
static void add(const struct writing *g, struct note *n, uint64_t words)
{
	n->first = n->words ? n->first : g->time;
	n->last = g->time;
	n->words |= words;
}

/* Now it is @p time. */
static struct err *go_on(struct writing *g, uint64_t time)
{
	struct err *err = NULL;

	if (time >= g->until) {
		for (size_t i = 0; i < RECENT && !err; i++)
			err = keep(g, g->recent[i].number, &g->recent[i].note);
		if (!err)
			err = keep_regs(g);
		g->until = (time / g->w->epoch + 1) * g->w->epoch;
	}
	g->time = time;
	return err;
}

static struct err *store(struct writing *g, uint64_t addr, uint64_t size)
{
	uint64_t last = addr + size - 1;
	struct err *err = NULL;

	// One word, or two, but for what the kernel writes.
	for (uint64_t at = addr; size && at <= last && at >= addr && !err;
	     at = (at | (WORD - 1)) + 1) {
		uint64_t number = at / CHUNK;
		struct recent *r = &g->recent[number % RECENT];

		if (r->number != number) {
			err = keep(g, r->number, &r->note);
			r->number = number;
		}
		add(g, &r->note, UINT64_C(1) << at % CHUNK / WORD);
	}
	return err;
}

static uint64_t regs_of(const struct dec_insn *insn)
{
	return insn->gpr_written | insn->other_written << DEC_GPRS;
}

static struct plan *make_plan(const struct log_block *b)
{
	struct plan *p = malloc(sizeof(*p) + b->n_insns * DEC_MEMS * sizeof(p->store[0]));

	if (!p)
		return NULL;
	p->regs = p->n = 0;
	for (uint32_t i = 0; i < b->n_insns; i++) {
		const struct dec_insn *insn = &b->insn[i];

		p->regs |= regs_of(insn);
		for (int m = 0; m < insn->n_mem; m++) {
			if (!insn->mem[m].is_write)
				continue;
			p->store[p->n].where = dec_log_where(b, i, m);
			p->store[p->n].size = insn->mem[m].size;
			p->store[p->n++].is_fs = insn->mem[m].is_fs;
		}
	}
	return p;
}

/* Of a block that ran in part, and of stores with a mask, all is noted. */
static struct err *on_block(void *ctx, struct log_block *b, const uint8_t *rec,
			    uint32_t n_ran, uint64_t time)
{
	struct writing *g = ctx;
	const struct plan *p = b->user ?: (b->user = make_plan(b));
	struct err *err = p ? go_on(g, time + n_ran - 1) : &err_nomem;

	if (err)
		return err;
	add(g, &g->regs, p->regs);
	for (uint32_t i = 0; i < p->n && !err; i++)
		err = store(g,
			    dec_log_at(&p->store[i].where, rec) +
				    (p->store[i].is_fs ? g->fs_base : 0),
			    p->store[i].size);
	return err;
}

static struct err *on_slow(void *ctx, const struct dec_rec_slow *rec,
			   const struct dec_insn *insn, uint64_t time)
{
	struct log_refs refs = dec_log_refs(rec);
	const struct dec_rec_ref *ref;
	struct writing *g = ctx;
	struct err *err = go_on(g, time);
	const uint8_t *data;

	dec_log_follow_fs(rec, insn, &g->fs_base);
	add(g, &g->regs, regs_of(insn));
	while (!err && (ref = dec_log_next_ref(&refs, &data)))
		if (ref->is_def && ref->is_mem)
			err = store(g, ref->addr, ref->bytes);
	return err;
}

static struct err *on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	const struct dec_rec_write *write = (const struct dec_rec_write *)rec;
	struct writing *g = ctx;
	struct err *err = NULL;

	switch (rec->id) {
	case DEC_REC_STATE:
		g->fs_base = rec->value[17];
		// By the kernel, or by an instruction that was answered before.
		if (rec->value[20] != DEC_STATE_NOW)
			add(g, &g->regs, UINT64_MAX);
		return NULL;
	case DEC_REC_SYSCALL:
		err = go_on(g, time);
		g->fs_base = rec->value[13];
		add(g, &g->regs, 1 << CAP_RAX | 1 << CAP_RCX | 1 << CAP_R11);
		return err;
	case DEC_REC_THREAD:
		err = keep_regs(g);
		g->tid = g->w->tid = rec->value[0];
		return err;
	case DEC_REC_WRITE:
		return store(g, write->addr, write->n_bytes);
	default:
		return NULL;
	}
}

static struct err *feed(void *ctx, const uint8_t *log, size_t bytes)
{
	const struct log_sink sink = { ctx, on_block, on_slow, on_other };
	struct writing *g = ctx;

	return dec_log_reader_feed(&g->reader, &sink, log, bytes);
}

/* ---- beginning and end ---------------------------------------------------------------------------- */

static struct err *go_through(struct dec_machine *m, uint64_t end, struct writing *g)
{
	struct dec_where w;
	struct err *err = dec_machine_seek(m, 0, &w);

	if (err)
		return err;
	dec_log_reader_init(&g->reader, DEC_LOG_ALL_STORES, w.position);
	err = dec_machine_run_logged(m, DEC_LOG_ALL_STORES, feed, g, end, &w);
	if (!err)
		err = go_on(g, UINT64_MAX - g->w->epoch);
	dec_log_reader_deinit(&g->reader);
	return err;
}

struct err *dec_written_create(struct dec_machine *m, uint64_t end,
			       struct dec_written **ret)
{
	struct dec_written *w = calloc(1, sizeof(*w));
	struct writing *g = calloc(1, sizeof(*g));
	struct err *err = w && g ? NULL : &err_nomem;

	if (!err) {
		w->epoch = dec_written_epoch;
		g->w = w;
		err = go_through(m, end, g);
	}
	free(g);
	if (err)
		dec_written_destroy(w);
	else
		*ret = w;
	return err;
}

void dec_written_destroy(struct dec_written *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->chunks.size; i++)
		vec_deinit(&w->chunks.data[i].notes);
	vec_deinit(&w->chunks);
	map_deinit(&w->chunk_of);
	free(w);
}

/* ---- asking ---------------------------------------------------------------------------------------- */

/* The last time before @p before at which one of @p words of chunk @p number may have been written. */
static const struct note *last(const struct dec_written *w, uint64_t number,
			       uint64_t words, uint64_t before)
{
	const uint64_t *at = map_get(&w->chunk_of, number);
	const struct chunk *c = at ? &w->chunks.data[*at] : NULL;
	size_t n =
		c ? vec_rank(c->notes.size, i, c->notes.data[i].first < before + LATE) :
		    0;

	while (n && !(c->notes.data[n - 1].words & words))
		n--;
	return n ? &c->notes.data[n - 1] : NULL;
}

bool dec_written_before(const struct dec_written *w, const struct dec_location *l,
			uint64_t before, struct dec_span *ret)
{
	uint64_t end = l->addr + l->size;
	const struct note *found = NULL, *n;

	for (uint64_t at = l->addr & ~(WORD - 1ull); l->is_mem && at < end; at += WORD) {
		n = last(w, at / CHUNK, UINT64_C(1) << at % CHUNK / WORD, before);
		if (n && (!found || n->last > found->last))
			found = n;
	}
	if (!l->is_mem)
		found = last(w, REGS_OF(l->tid ?: w->tid), UINT64_C(1) << l->reg, before);
	if (!found)
		return false;
	ret->start = found->first > LATE ? found->first - LATE : 0;
	ret->end = found->last + 2 < before ? found->last + 2 : before;
	return ret->start < ret->end;
}
