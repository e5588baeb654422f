// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <errno.h>
#include <string.h>

#include "decode/pt/merge.h"
#include "decode/pt/show_int.h"

/* ---- lines --------------------------------------------------------------------------------- */

void dec_pt_show_time(FILE *f, uint64_t ns)
{
	fprintf(f, "%lu.%09lu", ns / 1000000000, ns % 1000000000);
}

/* Times change rarely. */
static void prefix_make(struct dec_pt_show *s, uint64_t tsc)
{
	uint64_t ns = dec_pt_flow_ns(s->flow, tsc);
	uint32_t tid = s->threads.data[s->thread].tid;
	char time[48] = "-";

	s->tsc = tsc;
	if (ns)
		snprintf(time, sizeof(time), "%lu.%09lu", ns / 1000000000,
			 ns % 1000000000);
	if (s->o.as_json && ns)
		s->prefix_bytes = snprintf(s->prefix, sizeof(s->prefix),
					   "{\"tid\":%u,\"time\":%s,", tid, time);
	else if (s->o.as_json)
		s->prefix_bytes =
			snprintf(s->prefix, sizeof(s->prefix), "{\"tid\":%u,", tid);
	else
		s->prefix_bytes =
			snprintf(s->prefix, sizeof(s->prefix), "%7u %16s  ", tid, time);
}

void dec_pt_show_begin(struct dec_pt_show *s, uint64_t tsc)
{
	if (tsc != s->tsc || !s->prefix_bytes)
		prefix_make(s, tsc);
	fwrite_unlocked(s->prefix, 1, s->prefix_bytes, s->o.out);
}

/* ---- who runs ------------------------------------------------------------------------------- */

static struct err *tally_of(struct dec_pt_show *s, uint32_t tid)
{
	struct dec_pt_tally *t;

	for (s->tally = 0; s->tally < s->shown.threads.size; s->tally++)
		if (s->shown.threads.data[s->tally].tid == tid)
			return NULL;
	t = vec_push(&s->shown.threads);
	if (!t)
		return &err_nomem;
	t->tid = tid;
	return NULL;
}

static struct err *thread_of(struct dec_pt_show *s, uint32_t tid)
{
	struct show_thread *t;

	for (s->thread = 0; s->thread < s->threads.size; s->thread++)
		if (s->threads.data[s->thread].tid == tid)
			return NULL;
	t = vec_push(&s->threads);
	if (!t)
		return &err_nomem;
	t->tid = tid;
	return NULL;
}

static struct err *book_of(struct dec_pt_show *s, struct dec_pt_image *image)
{
	struct show_book *b;
	struct err *err;

	for (size_t i = 0; i < s->books.size; i++) {
		if (s->books.data[i].image == image) {
			s->book = s->books.data[i].book;
			return NULL;
		}
	}
	b = vec_push(&s->books);
	if (!b)
		return &err_nomem;
	b->image = image;
	err = dec_pt_book_create(image, s->o.function, s->o.as_json, &b->book);
	s->book = b->book;
	return err;
}

static bool wants_thread(const struct dec_pt_flow *f, const struct dec_pt_show_options *o,
			 uint32_t tid)
{
	const struct dec_pt_thread *t = dec_pt_flow_thread(f, tid);

	if (o->tid && o->tid != tid)
		return false;
	if (o->pid && o->pid != (t ? t->pid : tid))
		return false;
	return !o->comm || (t && t->name && !strcmp(t->name, o->comm));
}

bool dec_pt_show_wants(const struct dec_pt_flow *f, const struct dec_pt_show_options *o,
		       const struct dec_pt_source *source)
{
	if (source->cpu == PERF_NONE)
		return wants_thread(f, o, source->tid);
	return !o->cpus || vec_find(&o->cpus->ranges, r,
				    r->first <= source->cpu && source->cpu <= r->last);
}

static struct err *on_thread(struct dec_pt_show *s, const struct dec_pt_event *e)
{
	struct err *err = tally_of(s, e->value);

	s->prefix_bytes = 0;
	s->is_wanted = wants_thread(s->flow, &s->o, e->value);
	if (!err)
		err = thread_of(s, e->value);
	if (!err && s->image != e->image && s->o.form != DEC_PT_FORM_SUMMARY)
		err = book_of(s, e->image);
	s->image = e->image;
	return err;
}

/* ---- the sink -------------------------------------------------------------------------------- */

static void tally_time(struct dec_pt_tally *t, uint64_t tsc)
{
	if (!tsc)
		return;
	if (!t->first_tsc)
		t->first_tsc = tsc;
	t->last_tsc = tsc;
}

static struct err *on_run(void *ctx, const struct dec_pt_run *run)
{
	struct dec_pt_show *s = ctx;
	struct dec_pt_tally *t = &s->shown.threads.data[s->tally];

	if (!s->is_wanted || !show_is_time(s, run->tsc))
		return NULL;
	t->instructions += run->n_insns;
	s->shown.instructions += run->n_insns;
	tally_time(t, run->tsc);
	if (s->o.form == DEC_PT_FORM_SUMMARY)
		return NULL;
	if (s->o.form == DEC_PT_FORM_INSTRUCTIONS)
		return dec_pt_show_instructions(s, run);
	return dec_pt_show_branches(s, run);
}

static struct err *on_event(void *ctx, const struct dec_pt_event *e)
{
	struct dec_pt_show *s = ctx;

	if (e->kind == DEC_PT_EV_THREAD)
		return on_thread(s, e);
	if (!s->is_wanted || !show_is_time(s, e->tsc))
		return NULL;
	tally_time(&s->shown.threads.data[s->tally], e->tsc);
	if (s->o.form == DEC_PT_FORM_BRANCHES || s->o.form == DEC_PT_FORM_CALLS)
		return dec_pt_show_branch_event(s, e);
	return NULL;
}

static void gap_text(struct dec_pt_show *s, const struct dec_pt_gap *g)
{
	FILE *f = s->o.out;

	fprintf(f, "[gap: %s, bytes %#lx to %#lx: ", dec_pt_gap_name(g->kind),
		g->from_byte, g->to_byte);
	if (g->file)
		fprintf(f, "code of %s is missing at %#lx: ", g->file, g->ip);
	else if (g->ip)
		fprintf(f, "at %#lx: ", g->ip);
	fprintf(f, "%s]\n", g->why);
}

static void gap_json(struct dec_pt_show *s, const struct dec_pt_gap *g)
{
	FILE *f = s->o.out;

	fprintf(f, "\"gap\":\"%s\",\"from_byte\":%lu,\"to_byte\":%lu",
		dec_pt_gap_name(g->kind), g->from_byte, g->to_byte);
	if (g->ip)
		fprintf(f, ",\"ip\":\"%#lx\"", g->ip);
	dec_pt_book_json(f, "missing", g->file);
	dec_pt_book_json(f, "why", g->why);
	fputs("}\n", f);
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static struct err *gap_count(struct dec_pt_show *s, const struct dec_pt_gap *g)
{
	struct dec_pt_gap_count *c;

	s->shown.n_gaps++;
	for (size_t i = 0; i < s->shown.gaps.size; i++) {
		c = &s->shown.gaps.data[i];
		if (c->kind == g->kind && is_same(c->file, g->file) &&
		    is_same(c->why, g->why)) {
			c->n++;
			return NULL;
		}
	}
	c = vec_push(&s->shown.gaps);
	if (!c)
		return &err_nomem;
	*c = (struct dec_pt_gap_count){ g->kind, g->why, g->file, 1, g->from_byte };
	return NULL;
}

/* At a damaged beginning nobody is known yet. */
static struct err *know_thread(struct dec_pt_show *s)
{
	const struct dec_pt_turn *t = &s->source->stream.turns.data[0];
	struct dec_pt_event e = { .kind = DEC_PT_EV_THREAD,
				  .value = t->tid,
				  .image = t->image };

	return s->image ? NULL : on_thread(s, &e);
}

static struct err *on_gap(void *ctx, const struct dec_pt_gap *g)
{
	struct dec_pt_show *s = ctx;
	struct err *err = know_thread(s);

	if (err || !s->is_wanted || !show_is_time(s, g->tsc))
		return err;
	s->shown.threads.data[s->tally].gaps++;
	dec_pt_show_forget(&s->threads.data[s->thread]);
	err = gap_count(s, g);
	if (err || s->o.form == DEC_PT_FORM_SUMMARY)
		return err;
	dec_pt_show_begin(s, g->tsc);
	if (s->o.as_json)
		gap_json(s, g);
	else
		gap_text(s, g);
	return NULL;
}

static struct err *on_progress(void *ctx, uint64_t bytes)
{
	struct dec_pt_show *s = ctx;
	uint64_t done = s->bytes_before + bytes,
		 all = dec_pt_flow_info(s->flow)->pt_bytes;
	double now;

	if (ferror(s->o.out))
		return err_errno("cannot write");
	if (!s->o.with_progress)
		return NULL;
	now = clock_now_s();
	if (now - s->start_s < 2 || now - s->said_s < 0.2)
		return NULL;
	s->said_s = now;
	s->has_said = true;
	fprintf(stderr, TEXT_AGAIN "faultline: decoded %lu of %lu MiB, %.0f s left ",
		done >> 20, all >> 20,
		(now - s->start_s) / done * (all > done ? all - done : 0));
	return NULL;
}

/* ---- its life ---------------------------------------------------------------------------------- */

/* A summary of one thread's stream needs no single run. */
static bool needs_runs(const struct dec_pt_show *s, const struct dec_pt_source *source)
{
	return s->o.form != DEC_PT_FORM_SUMMARY || s->o.to_tsc ||
	       source->cpu != PERF_NONE;
}

/* Decode @p n streams: one, or several of processors, together. */
static struct err *show_decode(struct dec_pt_show *s,
			       const struct dec_pt_source *const *sources, size_t n,
			       bool has_runs, struct dec_pt_totals *ret)
{
	bool has_branches = s->o.form == DEC_PT_FORM_BRANCHES ||
			    s->o.form == DEC_PT_FORM_CALLS;
	const struct dec_pt_decode_options o = { .n_threads = s->o.n_threads,
						 .ends_at_calls = has_branches,
						 .ends_at_jumps = has_branches,
						 .from_tsc = s->o.from_tsc,
						 .to_tsc = s->o.to_tsc };
	const struct dec_pt_sink sink = { .ctx = s,
					  .run = has_runs ? on_run : NULL,
					  .gap = on_gap,
					  .event = on_event,
					  .progress = on_progress };
	struct err *err;

	s->source = sources[0];
	s->image = NULL;
	err = n > 1 ? dec_pt_merge(sources, n, &o, &sink, ret) :
		      dec_pt_decode(&sources[0]->stream, &o, &sink, ret);
	if (s->has_said)
		fputs(TEXT_AGAIN, stderr);
	s->has_said = false;
	return err;
}

static struct err *show_streams(struct dec_pt_show *s,
				const struct dec_pt_source *const *sources, size_t n)
{
	bool has_runs = needs_runs(s, sources[0]);
	struct dec_pt_totals totals = {};
	struct err *err = show_decode(s, sources, n, has_runs, &totals);

	if (err)
		return err;
	if (!has_runs && s->image) {
		struct dec_pt_tally *t = &s->shown.threads.data[s->tally];

		t->instructions += totals.instructions;
		t->first_tsc = totals.first_tsc;
		t->last_tsc = totals.last_tsc;
		s->shown.instructions += totals.instructions;
	}
	for (size_t i = 0; i < n; i++)
		s->bytes_before += sources[i]->stream.size;
	s->shown.bytes = s->bytes_before;
	s->shown.skipped_bytes += totals.skipped_bytes;
	s->shown.kernel_visits += totals.kernel_visits;
	s->shown.seconds = clock_now_s() - s->start_s;
	return fflush(s->o.out) ? err_errno("cannot write") : NULL;
}

/* A summary needs no order. */
static bool is_merged(const struct dec_pt_show *s, const struct dec_pt_source *source)
{
	return source->cpu != PERF_NONE && s->o.form != DEC_PT_FORM_SUMMARY;
}

struct err *dec_pt_show_sources(struct dec_pt_show *s)
{
	VEC(const struct dec_pt_source *) together = {};
	const struct dec_pt_source *sources;
	struct err *err = NULL;
	size_t n;

	sources = dec_pt_flow_sources(s->flow, &n);
	for (size_t i = 0; !err && i < n; i++) {
		const struct dec_pt_source *one = &sources[i];

		if (!dec_pt_show_wants(s->flow, &s->o, one))
			continue;
		err = is_merged(s, one) ? vec_add(&together, one) :
					  show_streams(s, &one, 1);
	}
	if (!err && together.size)
		err = show_streams(s, together.data, together.size);
	vec_deinit(&together);
	for (size_t i = 0; i < s->books.size; i++)
		s->shown.has_function |= dec_pt_book_has_wanted(s->books.data[i].book);
	return err;
}

struct err *dec_pt_show_create(struct dec_pt_flow *f, const struct dec_pt_show_options *o,
			       struct dec_pt_show **ret)
{
	struct dec_pt_show *s = calloc(1, sizeof(*s));

	if (!s)
		return &err_nomem;
	s->flow = f;
	s->o = *o;
	s->start_s = clock_now_s();
	*ret = s;
	return NULL;
}

void dec_pt_show_destroy(struct dec_pt_show *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->books.size; i++)
		dec_pt_book_destroy(s->books.data[i].book);
	for (size_t i = 0; i < s->threads.size; i++)
		vec_deinit(&s->threads.data[i].frames);
	vec_deinit(&s->books);
	vec_deinit(&s->threads);
	vec_deinit(&s->shown.threads);
	vec_deinit(&s->shown.gaps);
	free(s);
}

const struct dec_pt_shown *dec_pt_show_shown(const struct dec_pt_show *s)
{
	return &s->shown;
}
