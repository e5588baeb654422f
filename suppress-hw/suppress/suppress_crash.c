// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * From a crash to the values that caused it. A fault has them in its instruction: base, index,
 * target, divisor. Who gives up (abort(), an assertion, the allocator) decided to, by a branch:
 * the values that branch looked at; of what the allocator looked at only what it has not written
 * itself, as it writes what is right; and what it was asked to free.
 */
#include "suppress-hw/suppress/suppress_int.h"

#include <signal.h>
#include <string.h>

// A fault so near to the stack pointer is one of the stack: a function's frame, and more.
#define NEAR_STACK (UINT64_C(1) << 16)

static const char *const giving_up[] = {
	"abort",
	"raise",
	"gsignal",
	"__assert_fail",
	"__assert",
	"__assert_perror_fail",
	"__stack_chk_fail",
	"__fortify_fail",
	"_ZSt9terminatev",
	"__cxa_throw",
	"__cxa_rethrow",
	"kill",
	"pthread_kill",
	"tgkill",
	"quick_exit",
};

static bool is_giving_up(const char *name)
{
	for (size_t i = 0; name && i < sizeof(giving_up) / sizeof(*giving_up); i++)
		if (!strcmp(name, giving_up[i]))
			return true;
	return false;
}

static const char *function_at(struct sup_session *s, uint64_t rip)
{
	struct dec_place p = {};

	dec_symbols_place_bare(s->ret->symbols, rip, &p);
	return p.outer;
}

static bool is_same(const struct dec_source *a, const struct dec_source *b)
{
	return a->kind == b->kind && a->rip == b->rip && a->position == b->position &&
	       a->addr == b->addr;
}

/* @return whether @p o is the argument of the call of frame @p f. */
static bool is_argument(const struct dec_nullify_frame *f, const struct dec_origin *o)
{
	for (uint32_t i = 0; i < f->n_arg; i++)
		if (is_same(&f->arg[i].made, &o->made))
			return true;
	return false;
}

/* What the branch of @p f looked at. A pointer that the user gave to the function of @p given
 * was right when it was made: what assigned it last is meant. */
static struct err *trace_branch(struct sup_session *s, const struct dec_nullify_frame *f,
				const struct dec_nullify_frame *given)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < f->n_branch && !err; i++)
		err = sup_trace(s, &f->by[i],
				!given			      ? SUP_READ :
				is_argument(given, &f->by[i]) ? SUP_ASSIGNED :
								SUP_MADE);
	return err;
}

/* The user's own function, number @p i of the calls, or who called it, decided to give up. */
static struct err *trace_decision(struct sup_session *s, uint32_t i)
{
	size_t n = s->ret->points.size;
	struct err *err = NULL;

	for (; i < s->told.n_frames && s->ret->points.size == n && !err; i++)
		if (sup_is_own(s, s->told.frames[i].branch))
			err = trace_branch(s, &s->told.frames[i], NULL);
	if (!err && s->ret->points.size == n && sup_is_own(s, s->told.outermost.branch))
		err = trace_branch(s, &s->told.outermost, NULL);
	return err;
}

/* The canary is not what it was: what is there has been written by who should not have. */
static struct err *trace_canary(struct sup_session *s, uint32_t i)
{
	const struct dec_nullify_frame *f = &s->told.frames[i];
	struct err *err = NULL;

	for (uint32_t k = 0; i < s->told.n_frames && k < f->n_branch && !err; k++)
		if (f->by[k].made.kind == DEC_ORIGIN_MADE)
			err = sup_trace(s, &f->by[k], SUP_MADE);
	return err;
}

/* A library's function, number @p outer of the calls, gave up over what it found: who did is
 * some calls before abort(). */
static struct err *trace_library(struct sup_session *s, uint32_t outer)
{
	static const int before_abort[] = { 3, 2, 4, 1 };
	const struct dec_nullify_frame *f = s->told.frames;
	size_t n = s->ret->points.size;
	struct err *err = NULL;
	uint32_t at = 0;

	while (at < outer && !is_giving_up(function_at(s, f[at].call.entry)))
		at++;
	while (at < outer && is_giving_up(function_at(s, f[at + 1].call.entry)))
		at++;
	for (size_t k = 0; k < sizeof(before_abort) / sizeof(*before_abort); k++) {
		uint32_t i = at + before_abort[k];

		if (i <= outer && !err && s->ret->points.size == n)
			err = trace_branch(s, &f[i], &f[outer]);
	}
	for (uint32_t i = 0; i < f[outer].n_arg && s->ret->points.size == n && !err; i++)
		err = sup_trace(s, &f[outer].arg[i], SUP_ASSIGNED);
	return err;
}

/* It was ended by a signal that it sent itself. */
static struct err *trace_giving_up(struct sup_session *s)
{
	uint32_t outer = 0;
	const char *name;

	while (outer < s->told.n_frames &&
	       !sup_is_own(s, sup_caller(s, &s->told.frames[outer].call) - 1))
		outer++;
	if (outer >= s->told.n_frames)
		return NULL;
	name = function_at(s, s->told.frames[outer].call.entry);
	if (name && !strcmp(name, "__stack_chk_fail"))
		return trace_canary(s, outer + 1);
	if (is_giving_up(name))
		return trace_decision(s, outer + 1);
	return trace_library(s, outer);
}

/* It faulted where the stack grows to, with many calls under way. */
static bool is_stack_used_up(const struct sup_session *s)
{
	return s->outcome.value == SIGSEGV && s->told.n_frames == DEC_CHAIN_MAX &&
	       s->outcome.fault_addr + NEAR_STACK - s->told.stack < 2 * NEAR_STACK;
}

/* Does @p o lie in memory that no call under way has for itself? */
static bool is_link(const struct sup_session *s, const struct dec_origin *o)
{
	return o->at && (o->at < s->told.stack ||
			 o->at > s->told.frames[s->told.n_frames - 1].call.slot);
}

/* What leads from a call to the next, of all that are known. Of those that lead round in a circle the
 * one that was made last closed it. */
static struct err *trace_links(struct sup_session *s)
{
	struct sup_result *ret = s->ret;
	size_t n = ret->points.size, latest = n;
	struct err *err = NULL;

	for (uint32_t i = 0; i < s->told.n_frames; i++) {
		const struct dec_nullify_frame *f = &s->told.frames[i];

		for (uint32_t k = 0; k < f->n_branch && sup_is_own(s, f->branch) && !err;
		     k++)
			if (is_link(s, &f->by[k]))
				err = sup_trace(s, &f->by[k], SUP_READ);
	}
	for (size_t i = n; i < ret->points.size; i++)
		if (ret->points.data[i].position > ret->points.data[latest].position)
			latest = i;
	if (ret->points.size > n) {
		ret->points.data[n] = ret->points.data[latest];
		ret->points.size = n + 1;
	}
	return err;
}

/* Calls without an end: what they decided by. If not by links, what the outermost one that is known
 * decided by: further in there is no room for what comes behind. */
static struct err *trace_recursion(struct sup_session *s)
{
	size_t n = s->ret->points.size;
	struct err *err = trace_links(s);

	for (uint32_t i = s->told.n_frames; i-- > 0 && s->ret->points.size == n && !err;)
		if (sup_is_own(s, s->told.frames[i].branch))
			err = trace_branch(s, &s->told.frames[i], NULL);
	return err;
}

static bool is_in_allocator(const struct sup_session *s)
{
	for (uint32_t i = 0; i < s->told.n_frames; i++)
		for (int k = 0; k < DEC_KNOWN_ENTRIES; k++)
			if (s->ask.allocator[k] &&
			    s->told.frames[i].call.entry == s->ask.allocator[k])
				return true;
	return false;
}

static struct err *trace_fault(struct sup_session *s)
{
	enum sup_which which = is_in_allocator(s) ? SUP_MADE : SUP_READ;
	size_t n = s->ret->points.size;
	struct err *err = NULL;

	if (is_stack_used_up(s))
		err = trace_recursion(s);
	else
		for (uint32_t i = 0; i < s->told.n_causes && !err; i++)
			err = sup_trace(s, &s->told.causes[i], which);
	if (!err && s->ret->points.size == n && s->told.n_frames && !s->told.n_causes)
		err = trace_decision(s, 0);
	return err;
}

/* A block's end was written over: who did so first is to blame. */
static struct err *trace_overrun(struct sup_session *s)
{
	size_t n = s->ret->points.size;
	struct err *err = NULL;

	for (uint32_t i = 0; i < s->told.n_causes && !err; i++)
		err = sup_trace(s, &s->told.causes[i], SUP_MADE);
	for (size_t i = n; i < s->ret->points.size; i++) {
		struct sup_point *p = &s->ret->points.data[i];

		p->weight = 0;
		for (size_t k = n; k < s->ret->points.size; k++)
			p->weight += s->ret->points.data[k].position > p->position;
	}
	return err;
}

struct err *sup_crash(struct sup_session *s)
{
	size_t n = s->ret->points.size;
	struct err *err;

	if (s->told.is_overrun)
		return trace_overrun(s);
	if (s->outcome.value == SIGABRT)
		return trace_giving_up(s);
	err = trace_fault(s);
	if (err || s->ret->points.size > n)
		return err;
	err = sup_trace_crash(s);
	if (err || s->ret->points.size == n)
		return err;
	return lines_add(&s->ret->notes,
			 "nothing that ran defined what it crashed by at %#lx: this "
			 "instruction itself was left out",
			 s->told.crash);
}

void sup_crash_place(struct sup_session *s, struct sup_place *ret)
{
	uint64_t callers[DEC_CHAIN_MAX];

	for (uint32_t i = 0; i < s->told.n_frames; i++)
		callers[i] = sup_caller(s, &s->told.frames[i].call);
	sup_place(s, s->told.crash ?: s->outcome.rip, callers, s->told.n_frames, ret);
}
