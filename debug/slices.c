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

/** A question, as words. */
struct asked {
	fl_seeds seeds;
	fl_prunes prunes;
	uint64_t begin;
};

static void asked_deinit(struct asked *a)
{
	vec_deinit(&a->seeds);
	vec_deinit(&a->prunes);
}

/* @return how many of three numbers follow @p word's first two bytes, with colons between. */
static int numbers(const char *word, uint64_t n[3])
{
	char end;

	for (int i = 3; i; i--) {
		int got = i == 3 ? sscanf(word + 2, "%li:%li:%li%c", &n[0], &n[1], &n[2],
					  &end) :
			  i == 2 ? sscanf(word + 2, "%li:%li%c", &n[0], &n[1], &end) :
				   sscanf(word + 2, "%li%c", &n[0], &end);

		if (got == i)
			return i;
	}
	return 0;
}

/* r:POSITION:NAME:BYTES */
static struct err *take_register(const char *word, struct asked *a)
{
	struct fl_seed seed = { .kind = FL_SEED_REG };
	uint64_t bytes;
	char name[16];

	if (sscanf(word + 2, "%lu:%15[a-z0-9]:%lu", &seed.position, name, &bytes) != 3 ||
	    !bytes || bytes > 64 || !dbg_trail_register(name, &seed.reg))
		return err_new(ERR_USAGE, "'%s' is no register at a position", word);
	seed.bytes = ~UINT64_C(0) >> (64 - bytes);
	return vec_add(&a->seeds, seed);
}

static struct err *take_prune(const char *word, struct asked *a)
{
	static const char kinds[] = { [FL_PRUNE_REG] = 'R',
				      [FL_PRUNE_MEM] = 'M',
				      [FL_PRUNE_STORES] = 'S',
				      [FL_PRUNE_CODE] = 'C' };
	struct fl_prune p = {};
	uint64_t n[3];
	uint8_t reg;

	while (p.kind < sizeof(kinds) && kinds[p.kind] != *word)
		p.kind++;
	if (p.kind == FL_PRUNE_REG && dbg_trail_register(word + 2, &reg)) {
		p.from = reg;
		return vec_add(&a->prunes, p);
	}
	if (p.kind == FL_PRUNE_REG || p.kind == sizeof(kinds) || numbers(word, n) != 2 ||
	    n[0] >= n[1])
		return err_new(ERR_USAGE, "'%s' is nothing to ask of a slice", word);
	p.from = n[0];
	p.to = n[1];
	return vec_add(&a->prunes, p);
}

static struct err *take_word(struct dbg_session *s, const char *word, struct asked *a)
{
	uint64_t n[3];
	int got = word[0] && word[1] == ':' ? numbers(word, n) : 0;

	if (!strcmp(word, "crash"))
		return fl_question_ask(s->trace, NULL, word, NULL, 0, 0, &a->seeds,
				       &(struct fl_question){});
	if (word[0] && word[1] == ':' && *word == 'r')
		return take_register(word, a);
	if (*word == 'i' && got == 1)
		return vec_add(&a->seeds, (struct fl_seed){ .kind = FL_SEED_INSN,
							    .position = n[0] });
	if (*word == 'm' && got == 3 && n[2] && n[2] <= 1u << 20 && n[1] + n[2] > n[1])
		return vec_add(&a->seeds, (struct fl_seed){ .kind = FL_SEED_MEM,
							    .position = n[0],
							    .addr = n[1],
							    .size = n[2] });
	if (*word == 'b' && got == 1) {
		a->begin = n[0];
		return NULL;
	}
	return take_prune(word, a);
}

/* ---- a slice ------------------------------------------------------------------------------- */

static void tell(struct dbg_session *s, const char *what, uint64_t position)
{
	double now = clock_now_s();

	if (now - s->moving_since_s < TELL_EVERY_S || now - s->told_s < TELL_EVERY_S)
		return;
	s->told_s = now;
	dbg_session_tell(s, "%s at position %lu ...\n", what, position);
}

static void tell_reading(void *ctx, uint64_t position, bool is_back)
{
	(void)is_back;
	tell(ctx, "reading the run once:", position);
}

static void tell_slicing(void *ctx, uint64_t position)
{
	tell(ctx, "slicing, back", position);
}

static struct err *make(struct dbg_session *s, const char *words)
{
	const struct fl_trace_options to = { .progress = tell_reading, .ctx = s };
	struct fl_slice_options so = { .max_nodes = NODES_MOST,
				       .progress = tell_slicing,
				       .ctx = s };
	_cleanup_free_ char *copy = strdup(words);
	struct asked a = {};
	char *rest = copy, *word;
	struct err *err = copy ? NULL : &err_nomem;

	if (!err && !s->trace)
		err = fl_trace_create(s->capture, &to, &s->trace);
	while (!err && (word = strsep(&rest, " ")))
		if (*word)
			err = take_word(s, word, &a);
	so.begin = a.begin;
	so.prunes = a.prunes.data;
	so.n_prunes = a.prunes.size;
	fl_slice_destroy(take_ptr(&s->slice));
	if (!err)
		err = fl_slice_walk(s->trace, a.seeds.data, a.seeds.size, &so, &s->slice);
	asked_deinit(&a);
	return err;
}

struct err *dbg_slices_make(struct dbg_session *s, const char *words, struct dbg_text *to)
{
	const struct fl_slice_stats *stats;
	struct err *err = make(s, words);
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
