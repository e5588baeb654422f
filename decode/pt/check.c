// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * PT is a list of runs: the address of the first instruction, of the last one, and how many
 * there are. Within a run the code alone says what comes next. So it is enough to compare
 * where each run begins and ends with what the replay executed at those counts.
 *
 * A *place* is how far a thread has come in its list. In step there is one. Behind a gap
 * each instruction of the replay that is PT's next one is a candidate for a place, and goes
 * on with the replay until it does not fit; the one that is left is the place. It need not be
 * the right one (a loop may do the same again and again), so where it does not fit in the end
 * that is no difference.
 */

#include "decode/pt/check.h"

#include <assert.h>

#include "decode/machine/log.h"
#include "decode/pt/runs.h"

enum {
	CHECK_CANDIDATES = 1024,
	CHECK_SURE_RUNS = 64,	///< that fit, before a candidate is taken for the place;
	CHECK_MORE_RUNS = 4096, ///< when it has not entered the kernel where PT has
};

struct check_place {
	uint64_t item; ///< counted from the stream's beginning
	uint32_t in_run;
	uint64_t n_runs;
	bool has_entered; ///< the kernel, as PT says
};

struct check_thread {
	uint32_t tid;
	bool has_pt;
	struct dec_pt_runs runs;
	bool is_in_step;
	bool had_gap;
	bool is_in_kernel;
	bool is_in_call;
	bool is_crowded; ///< a candidate found no room
	bool can_repeat; ///< its last instruction was compared, in step
	struct check_place place;
	uint64_t search_at; ///< out of step: the item that is looked for
	VEC(struct check_place) candidates;
	uint64_t last_rip;
};

struct dec_pt_check {
	struct log_reader reader;
	VEC(struct check_thread *) threads;
	struct map by_tid; ///< -> index of threads
	struct check_thread *current;
	struct dec_pt_check_totals totals;
	struct dec_pt_difference difference;
	bool has_parted;
};

/* ---- one place ---------------------------------------------------------------------------- */

/* Instructions that the replay executed one after the other. */
struct check_insns {
	const struct dec_insn *insn;
	uint32_t n;
	uint64_t time;
};

enum check_fit {
	FIT_YES,
	FIT_NOT, ///< `at` is the first that does not
	FIT_END, ///< PT has nothing more, or a gap, from `at` on
};

/* Find the place's run: entries are met on the way. NULL: a gap, or the end. */
static const struct dec_pt_runs_item *
check_next_run(struct check_thread *t, struct check_place *p, struct err **err)
{
	const struct dec_pt_runs_item *i;

	while ((i = dec_pt_runs_get(&t->runs, p->item, err)) &&
	       i->kind == DEC_PT_RUNS_ENTRY) {
		p->has_entered |= t->is_in_kernel;
		p->item++;
	}
	return i && i->kind == DEC_PT_RUNS_RUN ? i : NULL;
}

/* Go on from @p p with @p in, from its instruction *@p at on. */
static enum check_fit check_advance(struct check_thread *t, struct check_place *p,
				    const struct check_insns *in, uint32_t *at,
				    struct err **err)
{
	while (*at < in->n) {
		const struct dec_pt_runs_item *i = check_next_run(t, p, err);
		uint32_t n;

		if (!i)
			return FIT_END;
		if (!p->in_run && in->insn[*at].rip != i->ip)
			return FIT_NOT;
		n = i->n - p->in_run < in->n - *at ? i->n - p->in_run : in->n - *at;
		*at += n;
		p->in_run += n;
		if (p->in_run < i->n)
			break;
		if (in->insn[*at - 1].rip != i->end_ip) {
			*at -= 1;
			return FIT_NOT;
		}
		p->in_run = 0;
		p->item++;
		p->n_runs++;
	}
	return FIT_YES;
}

/* ---- out of step -------------------------------------------------------------------------- */

/* PT goes on behind item @p at: look for it in the replay. */
static void check_search(struct check_thread *t, uint64_t at)
{
	t->is_in_step = false;
	t->had_gap = true;
	t->is_crowded = false;
	t->search_at = at;
	t->candidates.size = 0;
}

/* Look for the next segment instead. */
static void check_search_on(struct check_thread *t, struct err **err)
{
	const struct dec_pt_runs_item *i;
	uint64_t at = t->search_at + 1;

	while ((i = dec_pt_runs_get(&t->runs, at, err)) && !i->is_first)
		at++;
	dec_pt_runs_forget(&t->runs, at);
	check_search(t, at);
}

/* @return the item that is looked for: a run. Gaps before it are counted. */
static const struct dec_pt_runs_item *
check_wanted(struct dec_pt_check *c, struct check_thread *t, struct err **err)
{
	const struct dec_pt_runs_item *i;

	while ((i = dec_pt_runs_get(&t->runs, t->search_at, err)) &&
	       i->kind != DEC_PT_RUNS_RUN) {
		c->totals.gaps += i->kind == DEC_PT_RUNS_GAP;
		t->search_at++;
	}
	return i;
}

static struct err *check_candidates_advance(struct check_thread *t,
					    const struct check_insns *in)
{
	struct err *err = NULL;
	size_t n = 0;

	for (size_t k = 0; !err && k < t->candidates.size; k++) {
		struct check_place p = t->candidates.data[k];
		uint32_t at = 0;

		if (check_advance(t, &p, in, &at, &err) == FIT_YES)
			t->candidates.data[n++] = p;
	}
	t->candidates.size = n;
	return err;
}

static struct err *check_candidates_add(struct check_thread *t,
					const struct check_insns *in, uint64_t ip)
{
	struct err *err = NULL;

	for (uint32_t k = 0; !err && k < in->n; k++) {
		struct check_place p = { .item = t->search_at }, *place;
		uint32_t at = k;

		if (in->insn[k].rip != ip ||
		    check_advance(t, &p, in, &at, &err) != FIT_YES)
			continue;
		t->is_crowded |= t->candidates.size == CHECK_CANDIDATES;
		if (t->is_crowded)
			break;
		place = vec_push(&t->candidates);
		if (!place)
			return &err_nomem;
		*place = p;
	}
	return err;
}

/* One of the places is as good as certain. */
static void check_settle(struct check_thread *t)
{
	const struct check_place *p = t->candidates.data;

	if (t->candidates.size != 1 || t->is_crowded ||
	    p->n_runs < (p->has_entered ? CHECK_SURE_RUNS : CHECK_MORE_RUNS))
		return;
	t->place = *p;
	t->is_in_step = true;
}

static struct err *check_out_of_step(struct dec_pt_check *c, struct check_thread *t,
				     const struct check_insns *in)
{
	struct err *err = NULL;
	const struct dec_pt_runs_item *i = check_wanted(c, t, &err);
	uint64_t ip = i ? i->ip : 0;

	c->totals.skipped += in->n;
	if (err || !i)
		return err;
	err = check_candidates_advance(t, in);
	if (!err && !t->is_crowded)
		err = check_candidates_add(t, in, ip);
	if (!err && t->is_crowded && !t->candidates.size)
		check_search_on(t, &err);
	check_settle(t);
	return err;
}

/* ---- in step ------------------------------------------------------------------------------ */

static struct err *check_part(struct dec_pt_check *c, struct check_thread *t,
			      const struct check_insns *in, uint32_t at)
{
	struct err *err = NULL;
	const struct dec_pt_runs_item *i = dec_pt_runs_get(&t->runs, t->place.item, &err);
	struct dec_pt_difference *d = &c->difference;

	if (err)
		return err;
	*d = (struct dec_pt_difference){ .tid = t->tid,
					 .position = in->time + at,
					 .from = at ? in->insn[at - 1].rip : t->last_rip,
					 .replayed = in->insn[at].rip,
					 .traced = !i		   ? 0 :
						   t->place.in_run ? i->end_ip :
								     i->ip };
	c->has_parted = true;
	return err_new(ERR_DIVERGED,
		       "thread %u: after %lu instructions the replay goes from %#lx to "
		       "%#lx; PT says that the program went to %#lx",
		       d->tid, d->position, d->from, d->replayed, d->traced);
}

static struct err *check_in_step(struct dec_pt_check *c, struct check_thread *t,
				 const struct check_insns *in)
{
	uint64_t runs = t->place.n_runs;
	struct check_insns rest;
	struct err *err = NULL;
	uint32_t at = 0;
	enum check_fit fit = check_advance(t, &t->place, in, &at, &err);

	c->totals.instructions += at;
	c->totals.branches += t->place.n_runs - runs;
	if (err)
		return err;
	if (fit == FIT_YES) {
		dec_pt_runs_forget(&t->runs, t->place.item);
		return NULL;
	}
	// PT may begin later than the replay.
	if (fit == FIT_NOT && !t->had_gap && t->place.n_runs)
		return check_part(c, t, in, at);
	c->totals.lost += fit == FIT_NOT;
	check_search(t, t->place.item);
	if (fit == FIT_NOT && t->place.n_runs)
		check_search_on(t, &err);
	rest = (struct check_insns){ in->insn + at, in->n - at, in->time + at };
	return err ? err : check_out_of_step(c, t, &rest);
}

static struct err *check_insns(struct dec_pt_check *c, const struct check_insns *in)
{
	struct check_thread *t = c->current;
	struct err *err;

	if (!t || !t->has_pt) {
		c->totals.skipped += in->n;
		return NULL;
	}
	err = t->is_in_step ? check_in_step(c, t, in) : check_out_of_step(c, t, in);
	t->is_in_kernel = false;
	t->can_repeat = !err && t->is_in_step;
	t->last_rip = in->insn[in->n - 1].rip;
	return err;
}

/* ---- the log ------------------------------------------------------------------------------ */

static struct err *check_on_block(void *ctx, struct log_block *b, const uint8_t *rec,
				  uint32_t n_ran, uint64_t time)
{
	const struct check_insns in = { b->insn, n_ran, time };

	(void)rec;
	return n_ran ? check_insns(ctx, &in) : NULL;
}

static struct err *check_on_slow(void *ctx, const struct dec_rec_slow *rec,
				 const struct dec_insn *insn, uint64_t time)
{
	const struct check_insns in = { insn, 1, time };

	(void)rec;
	return check_insns(ctx, &in);
}

static struct err *check_one(struct dec_pt_check *c, uint64_t rip, uint64_t time)
{
	const struct dec_insn insn = { .rip = rip };
	const struct check_insns in = { &insn, 1, time };

	return check_insns(c, &in);
}

/* The running thread executes a system call; it may do so long before it is answered. */
static struct err *check_call(struct dec_pt_check *c, uint64_t rip, uint64_t time,
			      bool is_answered)
{
	struct check_thread *t = c->current;
	bool is_in_call = t && t->is_in_call;
	struct err *err = is_in_call ? NULL : check_one(c, rip, time);

	if (t) {
		t->is_in_call = !is_answered;
		t->is_in_kernel = true;
	}
	return err;
}

static struct err *check_select(struct dec_pt_check *c, uint32_t tid)
{
	uint64_t *at = map_get(&c->by_tid, tid);
	struct err *err = NULL;

	if (!at) {
		err = dec_pt_check_add(c, tid, NULL);
		at = err ? NULL : map_get(&c->by_tid, tid);
	}
	c->current = at ? c->threads.data[*at] : NULL;
	return err;
}

static struct err *check_switch(struct dec_pt_check *c, const struct dec_rec *rec,
				uint64_t time)
{
	struct err *err = NULL;

	if (c->current && rec->value[1]) {
		if (rec->value[2])
			err = check_call(c, rec->value[1], time, false);
		c->current->is_in_kernel = true;
	}
	return err ? err : check_select(c, rec->value[0]);
}

/* The repeated instruction just compared is to run once more. */
static struct err *check_again(struct dec_pt_check *c, struct check_thread *t)
{
	struct check_place *p = &t->place;
	struct err *err = NULL;
	const struct dec_pt_runs_item *before;

	if (!t->is_in_step)
		t->candidates.size = 0;
	if (!t->is_in_step || !t->has_pt)
		return NULL;
	if (!t->can_repeat)
		return err_new(ERR_FORMAT,
			       "the machine's log is damaged: it repeats nothing");
	t->can_repeat = false;
	c->totals.instructions--;
	if (p->in_run) {
		p->in_run--;
		return NULL;
	}
	before = dec_pt_runs_get(&t->runs, p->item - 1, &err);
	assert(before && before->kind == DEC_PT_RUNS_RUN && "it was compared with a run");
	p->item--;
	p->in_run = before->n - 1;
	return NULL;
}

static struct err *check_state(struct dec_pt_check *c, const struct dec_rec *rec,
			       uint64_t time)
{
	if (rec->value[18])
		return check_one(c, rec->value[16] - rec->value[18], time);
	if (c->current && rec->value[20] == DEC_STATE_REP)
		return check_again(c, c->current);
	if (c->current && rec->value[20] == DEC_STATE_SIGNAL)
		c->current->is_in_kernel = true;
	return NULL;
}

static struct err *check_on_other(void *ctx, const struct dec_rec *rec, uint64_t time)
{
	switch (rec->id) {
	case DEC_REC_SYSCALL:
		return check_call(ctx, rec->value[2], time, true);
	case DEC_REC_STATE:
		return check_state(ctx, rec, time);
	case DEC_REC_THREAD:
		return check_switch(ctx, rec, time);
	default:
		return NULL;
	}
}

struct err *dec_pt_check_feed(void *ctx, const uint8_t *log, size_t bytes)
{
	struct log_sink sink = { ctx, check_on_block, check_on_slow, check_on_other };
	struct dec_pt_check *c = ctx;

	return dec_log_reader_feed(&c->reader, &sink, log, bytes);
}

/* ---- its life ------------------------------------------------------------------------------ */

struct err *dec_pt_check_add(struct dec_pt_check *c, uint32_t tid,
			     const struct dec_pt_stream *s)
{
	struct check_thread *t = calloc(1, sizeof(*t)), **place;

	if (!t)
		return &err_nomem;
	place = vec_push(&c->threads);
	if (!place || map_put(&c->by_tid, tid, c->threads.size - 1)) {
		c->threads.size -= place != NULL;
		free(t);
		return &err_nomem;
	}
	*place = t;
	t->tid = tid;
	t->has_pt = s;
	dec_pt_runs_init(&t->runs, s);
	t->is_in_step = true;
	c->totals.threads += s != NULL;
	return NULL;
}

const struct dec_pt_difference *dec_pt_check_difference(const struct dec_pt_check *c)
{
	return c->has_parted ? &c->difference : NULL;
}

void dec_pt_check_totals(const struct dec_pt_check *c, struct dec_pt_check_totals *ret)
{
	*ret = c->totals;
}

struct err *dec_pt_check_create(struct dec_pt_check **ret)
{
	struct dec_pt_check *c = calloc(1, sizeof(*c));

	if (!c)
		return &err_nomem;
	dec_log_reader_init(&c->reader, DEC_LOG_FLOW, 0);
	*ret = c;
	return NULL;
}

void dec_pt_check_destroy(struct dec_pt_check *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->threads.size; i++) {
		struct check_thread *t = c->threads.data[i];

		dec_pt_runs_deinit(&t->runs);
		vec_deinit(&t->candidates);
		free(t);
	}
	vec_deinit(&c->threads);
	map_deinit(&c->by_tid);
	dec_log_reader_deinit(&c->reader);
	free(c);
}
