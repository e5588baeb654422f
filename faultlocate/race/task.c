// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * OpenMP's tasks. A task could have run on any thread at any time, so it has a clock of its own, whichever
 * thread runs it: it begins behind what its maker did up to there, and behind the tasks that it depends on.
 *
 * What one of two tasks depends on orders them if the same task, or thread outside of tasks, made both.
 *
 * So could a section; each begins behind what its thread did before the first of them. But a thread that knows
 * its number, or has allocated, may have memory of its own that its sections share, whichever they are.
 *
 * Which of several tasks of one function begins is not known, so what one of them depends on, and who made
 * one, is taken to be so of all.
 */
#include <string.h>

#include "faultlocate/race/race_int.h"

// Each clock has a place in all clocks: beyond these, tasks are what their threads do.
#define TASKS_MAX 1000
#define PARENTS_MAX 64
#define DEPENDS_MAX 4096
#define STACK_BYTES (UINT64_C(1) << 20) // that a task uses, at most
#define TLS_BYTES 4096			// of the program's own thread variables
#define SCRATCH_MAX 1000
#define FLAG_DEPEND 8 // GOMP_TASK_FLAG_DEPEND

struct err *fl_race_make_task(struct race_walk *w, uint64_t function)
{
	size_t clock = race_now(w)->clock;
	const struct race_parent *known =
		vec_find(&w->parents, p, p->function == function && p->clock == clock);
	struct err *err = NULL;

	if (!known && w->parents.size < PARENTS_MAX)
		err = vec_add(&w->parents, (struct race_parent){ function, clock });
	else if (!known)
		w->has_few_parents = false;
	return err ? err : race_release(w, race_key(SPACE_TASKS, function));
}

/* A task begins that depends on @p d, or ends. */
static struct err *follow_depend(struct race_walk *w, const struct race_depend *d,
				 bool is_end)
{
	uint64_t what = d->addr ^ (d->maker + 1) * 0x9e3779b97f4a7c15u; // of siblings
	uint64_t in = race_key(SPACE_DEPEND_IN, what);
	uint64_t out = race_key(SPACE_DEPEND_OUT, what);
	uint64_t mutex = race_key(SPACE_DEPEND_MUTEX, what);
	struct err *err;

	if (is_end)
		return race_release(w, d->kind == RACE_IN  ? in :
				       d->kind == RACE_OUT ? out :
							     mutex);
	err = race_acquire(w, out);
	if (!err && d->kind != RACE_IN)
		err = race_acquire(w, in);
	return err ? err : race_acquire(w, mutex);
}

static struct err *follow_depends(struct race_walk *w, uint64_t function, bool is_end)
{
	struct err *err = NULL;

	for (size_t i = 0; i < w->depends.size && !err; i++)
		if (w->depends.data[i].function == function)
			err = follow_depend(w, &w->depends.data[i], is_end);
	return err;
}

/* A task's frames lie where those of others were, on the thread's stack. */
static void renew_stack(struct race_walk *w, const struct race_open *o)
{
	fl_shadow_clear(&w->shadow, o->rsp - STACK_BYTES, STACK_BYTES);
}

struct err *fl_race_begin_task(struct race_walk *w, struct race_open *o)
{
	struct race_thread *t = race_now(w);
	struct err *err;

	renew_stack(w, o);
	o->outer = t->clock;
	if (w->n_tasks < TASKS_MAX && !w->is_learning) {
		w->n_tasks++;
		t->clock = fl_race_clock(w, t->tid, 0);
		if (t->clock == SIZE_MAX)
			return &err_nomem;
	}
	err = race_acquire(w, race_key(SPACE_TASKS, o->key));
	if (!err)
		err = race_acquire(w, race_key(SPACE_TASKS, 0));
	if (!err && w->has_unknown)
		err = race_acquire(w, race_key(SPACE_TASKS_ENDED, 0));
	return err ? err : follow_depends(w, o->key, false);
}

struct err *fl_race_end_task(struct race_walk *w, const struct race_open *o)
{
	struct race_thread *t = race_now(w);
	const struct race_open *maker = t->open.size ? &t->open.data[t->open.size - 1] :
						       NULL;
	size_t own = t->clock;
	struct err *err = follow_depends(w, o->key, true);

	renew_stack(w, o);
	if (!err)
		err = race_release(w, race_key(SPACE_TASKS_ENDED, 0));
	for (size_t i = 0; i < w->parents.size && !err; i++)
		if (w->parents.data[i].function == o->key)
			err = race_release(w, race_key(SPACE_TASKS_ENDED,
						       w->parents.data[i].clock + 1));
	t->clock = o->outer;
	// Its maker ran it at once, and goes on behind it.
	if (!err && own != t->clock && maker && maker->does == RACE_TASK &&
	    !maker->is_callback)
		err = fl_clocks_order(&w->clocks, own, t->clock);
	return err;
}

struct err *fl_race_wait_tasks(struct race_walk *w)
{
	uint64_t own = w->has_few_parents ? race_now(w)->clock + 1 : 0;

	return race_acquire(w, race_key(SPACE_TASKS_ENDED, own));
}

/* ---- sections ------------------------------------------------------------------------------------ */

/* Does the thread run for a team, and @p ret where its frames for it begin? */
static bool frames_for_team(const struct race_thread *t, uint64_t *ret)
{
	for (size_t i = t->open.size; i; i--) {
		*ret = t->open.data[i - 1].rsp;
		if (t->open.data[i - 1].is_callback &&
		    t->open.data[i - 1].does == RACE_FORK)
			return true;
	}
	return false;
}

/* What is the thread's own is not shared by sections. */
static void renew_own(struct race_walk *w, uint64_t frames)
{
	const struct race_thread *t = race_now(w);

	fl_shadow_clear(&w->shadow, frames - STACK_BYTES, STACK_BYTES);
	if (w->fs_base)
		fl_shadow_clear(&w->shadow, w->fs_base - TLS_BYTES, TLS_BYTES);
	for (size_t i = 0; i < t->scratch.size; i++) {
		const uint64_t *bytes = map_get(&w->blocks, t->scratch.data[i]);

		if (bytes)
			fl_shadow_clear(&w->shadow, t->scratch.data[i], *bytes);
	}
}

static struct err *leave_sections(struct race_walk *w)
{
	struct race_thread *t = race_now(w);
	struct err *err = NULL;

	t->clock = t->outside;
	for (size_t i = 0; i < t->sections.size && !err; i++)
		err = fl_clocks_order(&w->clocks, t->sections.data[i], t->clock);
	t->sections.size = 0;
	return err;
}

static struct err *begin_section(struct race_walk *w, uint64_t rsp)
{
	struct race_thread *t = race_now(w);
	size_t clock;

	w->n_tasks++;
	renew_own(w, rsp);
	if (!t->sections.size)
		t->outside = t->clock;
	clock = fl_race_clock(w, t->tid, 0);
	if (clock == SIZE_MAX || vec_add(&t->sections, clock))
		return &err_nomem;
	t->clock = clock;
	t->sections_rsp = rsp;
	return fl_clocks_order(&w->clocks, t->outside, clock);
}

struct err *fl_race_next_section(struct race_walk *w, uint64_t number)
{
	struct race_thread *t = race_now(w);
	bool is_told_apart = number && !t->has_number && w->n_tasks < TASKS_MAX;
	uint64_t rsp;

	// Those of a team within a section are that section's.
	if (!frames_for_team(t, &rsp) || (t->sections.size && t->sections_rsp != rsp))
		return NULL;
	if (is_told_apart)
		return begin_section(w, rsp);
	return t->sections.size ? leave_sections(w) : NULL;
}

struct err *fl_race_leave_team(struct race_walk *w, uint64_t rsp)
{
	struct race_thread *t = race_now(w);

	t->has_number = true; // of the team outside of it, for all that is known
	return t->sections.size && t->sections_rsp == rsp ? leave_sections(w) : NULL;
}

struct err *fl_race_note_scratch(struct race_thread *t, uint64_t addr)
{
	if (!t->team || t->sections.size || t->has_number)
		return NULL;
	if (t->scratch.size < SCRATCH_MAX)
		return vec_add(&t->scratch, addr);
	t->has_number = true; // its sections are not told apart any more
	return NULL;
}

/* ---- what it depends on -------------------------------------------------------------------------- */

static struct err *add_depend(struct race_walk *w, uint64_t function, uint64_t addr,
			      uint8_t kind)
{
	size_t maker = race_now(w)->clock;

	if (vec_find(&w->depends, d,
		     d->function == function && d->addr == addr && d->kind == kind &&
			     d->maker == maker))
		return NULL;
	if (w->depends.size == DEPENDS_MAX) {
		w->has_unknown = true;
		return NULL;
	}
	return vec_add(&w->depends, (struct race_depend){ function, addr, maker, kind });
}

/* The list at @p at: how many, how many of them are written, the addresses; or 0 and then how many, how
 * many are written, exclude each other, are read. */
static struct err *read_depends(struct race_walk *w, uint64_t function, uint64_t at)
{
	uint64_t head[5] = {}, n, n_out, n_mutex, addr;
	struct err *err = dec_machine_read(w->machine, at, head, 16);
	bool is_old = head[0];

	if (!err && !is_old)
		err = dec_machine_read(w->machine, at, head, sizeof(head));
	if (err)
		return err;
	n = is_old ? head[0] : head[1];
	n_out = is_old ? head[1] : head[2];
	n_mutex = is_old ? 0 : head[3];
	at += is_old ? 16 : 40;
	for (uint64_t i = 0; i < n && i < DEPENDS_MAX && !err; i++) {
		err = dec_machine_read(w->machine, at + 8 * i, &addr, 8);
		if (!err)
			err = add_depend(w, function, addr,
					 i < n_out	     ? RACE_OUT :
					 i < n_out + n_mutex ? RACE_MUTEX :
							       RACE_IN);
	}
	return err;
}

struct err *fl_race_note_task(struct race_walk *w)
{
	struct cap_regs regs;
	uint64_t stack[2];
	struct err *err = dec_machine_regs(w->machine, &regs), *unread;

	if (err)
		return err;
	unread =
		dec_machine_read(w->machine, regs.gpr[CAP_RSP] + 8, stack, sizeof(stack));
	if (!unread && (uint32_t)stack[0] & FLAG_DEPEND)
		unread = read_depends(w, regs.gpr[CAP_RDI], stack[1]);
	w->has_unknown |= unread != NULL; // what cannot be read names nothing
	err_destroy(unread);
	return NULL;
}
