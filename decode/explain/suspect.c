// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Each input that the differing value depends on is a suspect. How likely it is follows
 * from how far away it is (the cost of its node) and from what it is: what nobody
 * recorded can have changed, what was recorded hardly.
 */

#include "decode/explain/explain_int.h"

#include <string.h>
#include <sys/syscall.h>

#define EXPLAIN_OTHERS 3

bool dec_explain_is_address_call(const struct history_event *e)
{
	return e && (e->nr == SYS_mmap || e->nr == SYS_brk || e->nr == SYS_mremap ||
		     e->nr == SYS_shmat);
}

/* Between a constant of the code and the call that it was copied to nothing branched: no
 * other input could have made it another one. */
static bool explain_is_certain(const struct explain *ex, const struct slice_node *n)
{
	uint32_t steps = 0;

	if (ex->x->at.parting != DEC_PARTED_REGISTER || n->origin != SLICE_CONSTANT ||
	    n->position < ex->slice.block)
		return false;
	for (uint32_t i = n->parent; i != SLICE_NONE; i = ex->slice.nodes.data[i].parent)
		steps++;
	return n->cost == steps; // each a plain copy
}

/* Did the call read from a file that was then mapped, so that the capture has a copy? (The loader
 * reads the headers of each library.) */
static bool explain_is_vouched_for(const struct explain *ex,
				   const struct history_event *e)
{
	const struct history_event *end =
		ex->history.events.data + ex->history.events.size;
	int fd = e ? (int)e->args[0] : -1;

	if (!e || (e->nr != SYS_read && e->nr != SYS_pread64))
		return false;
	for (const struct history_event *next = e + 1; next < end; next++) {
		if (next->kind != CAP_EV_SYSCALL)
			continue;
		if (next->nr == SYS_mmap && (int)next->args[4] == fd && next->file)
			return true;
		if (next->nr == SYS_close && (int)next->args[0] == fd)
			return false;
	}
	return false;
}

int dec_explain_penalty(const struct explain *ex, const struct slice_node *n)
{
	const struct history_event *e = dec_explain_event(ex, n);
	const struct history_shared *shared;

	switch (n->origin) {
	case SLICE_UNMODELLED:
		return -500;
	case SLICE_SHARED:
		shared = &ex->history.shared.data[n->event];
		return shared->is_risky ? -400 : shared->is_read_only ? 80 : 300;
	case SLICE_CHILD:
		return -200;
	case SLICE_WRITTEN:
		return explain_is_vouched_for(ex, e) ? 300 : 0;
	case SLICE_TSC:
		return 0;
	case SLICE_RESULT:
		return dec_explain_is_address_call(e) ? 150 : 10;
	case SLICE_CPUID: // Which variant of a library's function is called follows from it.
		return 60;
	case SLICE_FRAME:
	case SLICE_SIGRETURN:
		return 10;
	case SLICE_QUIET:
		return 20;
	case SLICE_MAPPED:
		return e && e->file ? 150 : 120;
	case SLICE_FAR:
		return 100;
	case SLICE_START:
		return 150;
	default:
		return explain_is_certain(ex, n) ? -1000 : 400;
	}
}

bool dec_explain_has_branch(const struct explain *ex, uint32_t node)
{
	for (; node != SLICE_NONE; node = ex->slice.nodes.data[node].parent) {
		if (ex->slice.nodes.data[node].edge == SLICE_BRANCH)
			return true;
	}
	return false;
}

/* A pointer seldom differs, and nothing else with it, because the program went another way
 * to the same call: for those only suspects count that lead there without a branch, and
 * what nobody recorded. */
static bool explain_is_eligible(const struct explain *ex, uint32_t node, int penalty)
{
	return ex->x->at.parting != DEC_PARTED_REGISTER || !ex->is_pointer ||
	       ex->x->n_differing > 1 || penalty < 0 || !dec_explain_has_branch(ex, node);
}

uint32_t dec_explain_root(const struct explain *ex)
{
	uint32_t best = SLICE_NONE;
	int64_t best_score = INT64_MAX;

	for (uint32_t i = 0; i < ex->slice.nodes.size; i++) {
		const struct slice_node *n = &ex->slice.nodes.data[i];
		int penalty = dec_explain_penalty(ex, n);

		if (n->origin == SLICE_INSN || (int64_t)n->cost + penalty >= best_score ||
		    !explain_is_eligible(ex, i, penalty))
			continue;
		best = i;
		best_score = (int64_t)n->cost + penalty;
	}
	return best;
}

bool dec_explain_has_suspect(const struct explain *ex)
{
	uint32_t root = dec_explain_root(ex);
	const struct slice_node *n;
	int penalty;

	if (root == SLICE_NONE)
		return false;
	n = &ex->slice.nodes.data[root];
	penalty = dec_explain_penalty(ex, n);
	// Whatever is found further back is further away, too.
	return penalty < 0 || (int64_t)n->cost + penalty <= dec_slice_nearest(&ex->slice);
}

/* What was named already: suspects of the same kind and event are one. */
struct explain_named {
	uint64_t key[EXPLAIN_OTHERS + 1];
	size_t n;
};

static uint64_t explain_key(const struct slice_node *n)
{
	return (uint64_t)n->origin << 32 | n->event;
}

static bool explain_is_named(const struct explain_named *named, uint64_t key)
{
	for (size_t i = 0; i < named->n; i++) {
		if (named->key[i] == key)
			return true;
	}
	return false;
}

/* The likeliest suspect that was not named. */
static uint32_t explain_next(const struct explain *ex, const struct explain_named *named)
{
	uint32_t best = SLICE_NONE;
	int64_t best_score = INT64_MAX;

	for (uint32_t i = 0; i < ex->slice.nodes.size; i++) {
		const struct slice_node *n = &ex->slice.nodes.data[i];
		int64_t score;

		if (n->origin == SLICE_INSN || n->origin == SLICE_CONSTANT ||
		    n->origin == SLICE_START)
			continue;
		score = (int64_t)n->cost + dec_explain_penalty(ex, n);
		if (score >= best_score || explain_is_named(named, explain_key(n)))
			continue;
		best = i;
		best_score = score;
	}
	return best;
}

struct err *dec_explain_others(struct explain *ex, uint32_t root)
{
	struct explain_named named = { { explain_key(&ex->slice.nodes.data[root]) }, 1 };

	while (named.n <= EXPLAIN_OTHERS) {
		uint32_t next = explain_next(ex, &named);
		char text[256], **to;

		if (next == SLICE_NONE)
			return NULL;
		named.key[named.n++] = explain_key(&ex->slice.nodes.data[next]);
		dec_explain_origin(ex, next, text, sizeof(text));
		to = vec_push(&ex->x->others);
		if (!to)
			return &err_nomem;
		*to = strdup(text);
		if (!*to)
			return &err_nomem;
	}
	return NULL;
}
