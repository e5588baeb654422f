// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Each input that the differing value depends on is a suspect. How likely it is follows
 * from how far away it is (its cost) and from what it is: what nobody
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

int dec_explain_penalty(const struct explain *ex, const struct explain_suspect *s)
{
	const struct history_event *e = dec_explain_event(ex, s);
	const struct history_shared *shared;

	switch (s->origin) {
	case EXPLAIN_UNMODELLED:
		return -500;
	case EXPLAIN_SHARED:
		shared = &ex->history.shared.data[s->event];
		return shared->is_risky ? -400 : shared->is_read_only ? 80 : 300;
	case EXPLAIN_CHILD:
		return -200;
	case EXPLAIN_WRITTEN:
		return explain_is_vouched_for(ex, e) ? 300 : 0;
	case EXPLAIN_TSC:
		return 0;
	case EXPLAIN_RESULT:
		return dec_explain_is_address_call(e) ? 150 : 10;
	case EXPLAIN_CPUID: // Which variant of a library's function is called follows from it.
		return 60;
	case EXPLAIN_FRAME:
		return 10;
	case EXPLAIN_QUIET:
		return 20;
	case EXPLAIN_MAPPED:
		return e && e->file ? 150 : 120;
	case EXPLAIN_FAR:
		return 100;
	case EXPLAIN_START:
		return 150;
	default:
		return s->is_certain ? -1000 : 400;
	}
}

/* A pointer seldom differs, and nothing else with it, because the program went another way
 * to the same call: for those only suspects count that lead there without a branch, and
 * what nobody recorded. */
static bool explain_is_eligible(const struct explain *ex, const struct explain_suspect *s)
{
	return ex->x->at.parting != DEC_PARTED_REGISTER || !ex->is_pointer ||
	       ex->x->n_differing > 1 || !s->has_branch || dec_explain_penalty(ex, s) < 0;
}

static int64_t explain_score(const struct explain *ex, const struct explain_suspect *s)
{
	return (int64_t)s->cost + dec_explain_penalty(ex, s);
}

const struct explain_suspect *dec_explain_root(const struct explain *ex)
{
	const struct explain_suspect *best = NULL;

	for (size_t i = 0; i < ex->suspects.size; i++) {
		const struct explain_suspect *s = &ex->suspects.data[i];

		if ((!best || explain_score(ex, s) < explain_score(ex, best)) &&
		    explain_is_eligible(ex, s))
			best = s;
	}
	return best;
}

/* @return what the nearest thing costs that was not followed further back. */
static uint32_t explain_nearest(const struct explain *ex)
{
	uint32_t cost = UINT32_MAX;

	for (size_t i = 0; i < ex->suspects.size; i++) {
		const struct explain_suspect *s = &ex->suspects.data[i];

		if (s->origin == EXPLAIN_FAR && s->cost < cost)
			cost = s->cost;
	}
	return cost;
}

bool dec_explain_has_suspect(const struct explain *ex)
{
	const struct explain_suspect *root = dec_explain_root(ex);

	if (!root || root->origin == EXPLAIN_FAR)
		return false;
	// Whatever is found further back is further away, too.
	return dec_explain_penalty(ex, root) < 0 ||
	       explain_score(ex, root) <= explain_nearest(ex);
}

/* What was named already: suspects of the same kind and event are one. */
struct explain_named {
	uint64_t key[EXPLAIN_OTHERS + 1];
	size_t n;
};

static uint64_t explain_key(const struct explain_suspect *s)
{
	return (uint64_t)s->origin << 32 | s->event;
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
static const struct explain_suspect *explain_next(const struct explain *ex,
						  const struct explain_named *named)
{
	const struct explain_suspect *best = NULL;

	for (size_t i = 0; i < ex->suspects.size; i++) {
		const struct explain_suspect *s = &ex->suspects.data[i];

		if (s->origin == EXPLAIN_CONSTANT || s->origin == EXPLAIN_START)
			continue;
		if ((!best || explain_score(ex, s) < explain_score(ex, best)) &&
		    !explain_is_named(named, explain_key(s)))
			best = s;
	}
	return best;
}

struct err *dec_explain_others(struct explain *ex, const struct explain_suspect *root)
{
	struct explain_named named = { { explain_key(root) }, 1 };

	while (named.n <= EXPLAIN_OTHERS) {
		const struct explain_suspect *next = explain_next(ex, &named);
		char text[256], **to;

		if (!next)
			return NULL;
		named.key[named.n++] = explain_key(next);
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
