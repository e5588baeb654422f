// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Backward slices, for gdb's commands: `monitor slice', `monitor slice-nodes'. The trace, which
 * replays on a machine of its own, is made at the first slice, and kept; so is the last slice.
 */
#include <string.h>

#include "debug/stub.h"
#include "faultlocate/slice/question.h"

#define NODES_MOST 50000 ///< instances that are told apart
#define NODES_AT_ONCE 512
#define TELL_EVERY_S 2

/* ---- a slice ------------------------------------------------------------------------------- */

static void tell(struct dbg_session *s, const char *what, uint64_t position)
{
	double now = clock_now_s();

	if (now - s->moving_since_s < TELL_EVERY_S || now - s->told_s < TELL_EVERY_S)
		return;
	s->told_s = now;
	dbg_session_tell(s, "%s at position %lu ...\n", what, position);
}

static void tell_reading(void *ctx, uint64_t position)
{
	tell(ctx, "reading the run once:", position);
}

static void tell_slicing(void *ctx, uint64_t position)
{
	tell(ctx, "slicing, back", position);
}

static struct err *make(struct dbg_session *s, const char *words)
{
	struct fl_trace_options to = { .progress = tell_reading, .ctx = s };
	struct fl_slice_options so = { .max_nodes = NODES_MOST,
				       .progress = tell_slicing,
				       .ctx = s };
	fl_seeds seeds = {};
	fl_prunes prunes = {};
	struct err *err = NULL;

	if (!s->symbols)
		err = dec_symbols_create(s->capture, &s->symbols);
	to.symbols = s->symbols;
	if (!err && !s->trace)
		err = fl_trace_create(s->capture, &to, &s->trace);
	if (!err)
		err = fl_question_words(s->trace, words, &seeds, &prunes, &so.begin);
	so.prunes = prunes.data;
	so.n_prunes = prunes.size;
	fl_slice_destroy(take_ptr(&s->slice));
	if (!err)
		err = fl_slice_walk(s->trace, seeds.data, seeds.size, &so, &s->slice);
	vec_deinit(&seeds);
	vec_deinit(&prunes);
	return err;
}

struct err *dbg_slices_make(struct dbg_session *s, const char *words, struct dbg_text *to)
{
	const struct fl_slice_stats *stats;
	struct err *err = capture_info(s->capture)->slice_of ?
				  err_new(ERR_USAGE,
					  "this is a slice capture: there is nothing but "
					  "the slice to go along") :
				  make(s, words);
	size_t n;

	if (err)
		return err;
	stats = fl_slice_stats(s->slice);
	fl_slice_nodes(s->slice, &n);
	dbg_print(to, "%zu %lu %d %lu %lu\n", n, stats->n_instances, stats->is_full,
		  stats->begin, fl_trace_end(s->trace)->position);
	return NULL;
}

/* position thread instruction parent edge what */
static void list(const struct fl_slice *s, const struct fl_node *n, struct dbg_text *to)
{
	const struct fl_slice_insn *insn = n->insn < FL_NONE ? fl_slice_insn(s, n->insn) :
							       NULL;

	dbg_print(to, "%lu %u %lx %ld %c %c\n", n->position, n->tid,
		  insn ? insn->insn.rip : 0, n->parent == FL_NONE ? -1L : (long)n->parent,
		  "dacb"[n->edge],
		  n -> origin != FL_ORIGIN_INSN ? 'i' :
		       n->is_mem		? 'm' :
		       n->size			? 'r' :
						  '-');
}

struct err *dbg_slices_nodes(struct dbg_session *s, const char *words,
			     struct dbg_text *to)
{
	const struct fl_node *nodes;
	uint64_t from;
	size_t n = 0;

	if (sscanf(words, "%lu", &from) != 1)
		return err_new(ERR_USAGE, "slice-nodes takes a number");
	nodes = s->slice ? fl_slice_nodes(s->slice, &n) : NULL;
	for (size_t i = from; i < n && i - from < NODES_AT_ONCE; i++)
		list(s->slice, &nodes[i], to);
	return NULL;
}
