// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/witness.h"

#include "decode/pt/decode.h"
#include "decode/pt/flow.h"

struct dec_pt_witness {
	struct dec_pt_flow *flow;
	struct dec_interrupts *interrupts;
	bool is_withdrawn;
	struct dec_pt_check *check;
	uint64_t n_ignored; ///< streams that are of no thread, or a thread's second
};

/* ---- interruptions ------------------------------------------------------------------------ */

/* A thread's flow, as far as it tells where the thread was interrupted: tracing ends there,
 * and not at the instruction before, which would be a system call. */
struct witness_thread {
	struct dec_interrupts *interrupts;
	uint64_t at;	 ///< instructions
	bool is_at_call; ///< the last one enters the kernel by itself
	bool had_gap;
};

static struct err *witness_on_run(void *ctx, const struct dec_pt_run *run)
{
	struct witness_thread *t = ctx;

	t->at += run->n_insns;
	t->is_at_call = run->last == DEC_PT_LAST_FAR;
	return NULL;
}

static struct err *witness_on_gap(void *ctx, const struct dec_pt_gap *gap)
{
	struct witness_thread *t = ctx;

	(void)gap;
	if (!t->had_gap)
		dec_interrupts_know(t->interrupts, t->at);
	t->had_gap = true;
	return NULL;
}

static struct err *witness_on_event(void *ctx, const struct dec_pt_event *e)
{
	struct witness_thread *t = ctx;
	bool is_place = e->kind == DEC_PT_EV_DISABLED && !t->is_at_call && !t->had_gap;

	if (e->kind == DEC_PT_EV_ENABLED)
		t->is_at_call = false;
	return is_place ? dec_interrupts_add(t->interrupts, t->at) : NULL;
}

static struct err *witness_thread(struct dec_pt_witness *w, const struct dec_pt_source *s)
{
	struct witness_thread t = { .interrupts = w->interrupts };
	struct dec_pt_sink sink = { .ctx = &t,
				    .run = witness_on_run,
				    .gap = witness_on_gap,
				    .event = witness_on_event };
	struct err *err = dec_interrupts_thread(w->interrupts, s->tid);

	if (!err)
		err = dec_pt_decode(&s->stream, NULL, &sink, NULL);
	if (!err && !t.had_gap)
		dec_interrupts_know(w->interrupts, t.at);
	return err;
}

static struct err *witness_places(struct dec_pt_witness *w)
{
	const struct dec_pt_source *sources;
	struct err *err;
	size_t n;

	sources = dec_pt_flow_sources(w->flow, &n);
	if (n < 2)
		return NULL;
	err = dec_interrupts_create(&w->interrupts);
	for (size_t i = 0; !err && i < n; i++) {
		if (sources[i].tid != PERF_NONE)
			err = witness_thread(w, &sources[i]);
	}
	return err ? err : dec_interrupts_finish(w->interrupts);
}

/* ---- its life ------------------------------------------------------------------------------ */

struct err *dec_pt_witness_open(const char *dir, struct dec_pt_witness **ret)
{
	struct dec_pt_witness *w = calloc(1, sizeof(*w));
	struct err *err;

	*ret = NULL;
	if (!w)
		return &err_nomem;
	err = dec_pt_flow_open(dir, NULL, &w->flow);
	if (!err)
		err = witness_places(w);
	if (!err) {
		*ret = w;
		return NULL;
	}
	dec_pt_witness_close(w);
	if (err->code != ERR_NOT_FOUND && err->code != ERR_UNSUPPORTED)
		return err;
	err_destroy(err); // there is no PT
	return NULL;
}

void dec_pt_witness_close(struct dec_pt_witness *w)
{
	if (!w)
		return;
	dec_pt_check_destroy(w->check);
	dec_interrupts_destroy(w->interrupts);
	dec_pt_flow_close(w->flow);
	free(w);
}

const struct dec_interrupts *dec_pt_witness_interrupts(const struct dec_pt_witness *w)
{
	return w->is_withdrawn ? NULL : w->interrupts;
}

void dec_pt_witness_withdraw(struct dec_pt_witness *w)
{
	w->is_withdrawn = true;
}

/* Has one of the first @p n sources the same thread? */
static bool witness_has(const struct dec_pt_source *sources, size_t n, uint32_t tid)
{
	for (size_t i = 0; i < n; i++) {
		if (sources[i].tid == tid)
			return true;
	}
	return false;
}

struct err *dec_pt_witness_check(struct dec_pt_witness *w, struct dec_pt_check **ret)
{
	const struct dec_pt_source *sources;
	struct err *err;
	size_t n;

	dec_pt_check_destroy(take_ptr(&w->check));
	w->n_ignored = 0;
	sources = dec_pt_flow_sources(w->flow, &n);
	err = dec_pt_check_create(&w->check);
	for (size_t i = 0; !err && i < n; i++) {
		uint32_t tid = sources[i].tid;

		if (tid == PERF_NONE || witness_has(sources, i, tid))
			w->n_ignored++;
		else
			err = dec_pt_check_add(w->check, tid, &sources[i].stream);
	}
	*ret = w->check;
	return err;
}

const struct dec_pt_difference *dec_pt_witness_difference(const struct dec_pt_witness *w)
{
	return w->check ? dec_pt_check_difference(w->check) : NULL;
}

/* ---- what it says -------------------------------------------------------------------------- */

void dec_pt_witness_print(const struct dec_pt_witness *w, FILE *to)
{
	struct dec_pt_check_totals t;

	dec_pt_check_totals(w->check, &t);
	fprintf(to, "PT: %lu branches of %lu thread%s compared", t.branches, t.threads,
		t.threads == 1 ? "" : "s");
	if (t.skipped)
		fprintf(to, "; %lu gap%s, %lu of %lu instructions not compared", t.gaps,
			t.gaps == 1 ? "" : "s", t.skipped, t.skipped + t.instructions);
	if (t.lost)
		fprintf(to, "; lost %lu more times behind gaps", t.lost);
	if (w->n_ignored)
		fprintf(to, "; %lu streams of processors left out", w->n_ignored);
	fputs("\n", to);
}

static void witness_difference(const struct dec_pt_difference *d, cJSON *to)
{
	char text[32];
	cJSON *o = cJSON_AddObjectToObject(to, "difference");

	cJSON_AddNumberToObject(o, "thread", d->tid);
	cJSON_AddNumberToObject(o, "position", d->position);
	snprintf(text, sizeof(text), "%#lx", d->from);
	cJSON_AddStringToObject(o, "from", text);
	snprintf(text, sizeof(text), "%#lx", d->replayed);
	cJSON_AddStringToObject(o, "replayed", text);
	snprintf(text, sizeof(text), "%#lx", d->traced);
	cJSON_AddStringToObject(o, "traced", text);
}

void dec_pt_witness_json(const struct dec_pt_witness *w, cJSON *to)
{
	cJSON *o = cJSON_AddObjectToObject(to, "pt");
	struct dec_pt_check_totals t;

	dec_pt_check_totals(w->check, &t);
	cJSON_AddNumberToObject(o, "threads", t.threads);
	cJSON_AddNumberToObject(o, "branches", t.branches);
	cJSON_AddNumberToObject(o, "instructions", t.instructions);
	cJSON_AddNumberToObject(o, "gaps", t.gaps);
	cJSON_AddNumberToObject(o, "lost", t.lost);
	cJSON_AddNumberToObject(o, "skipped", t.skipped);
	cJSON_AddNumberToObject(o, "ignored_streams", w->n_ignored);
	if (dec_pt_check_difference(w->check))
		witness_difference(dec_pt_check_difference(w->check), o);
}
