// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * record --chaos: the recorder as a scheduler that wants the worst. The program's threads
 * share one CPU; stopping one lets another overtake it there. A thread is stopped
 *
 *  - before instructions that the seed picked (ptc_points.c),
 *  - at the end of system calls, with a probability (the kernel side does it),
 *  - at random instants,
 *  - when it begins;
 *
 * and a stopped thread is held back at random, until another one is held in its stead or
 * its time is up. As in PCT (Burckhardt et al., ASPLOS 2010) few changes at random points
 * find most bugs: how many, where, and how long is drawn anew for each seed, so that some
 * runs disturb at one instruction only and others everywhere.
 *
 * All choices come from the seed. The instants at which they meet the program do not: the
 * same seed is the same strategy, not the same run.
 */
#define LOG_ROOM "record"
#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>

#include "pt-collect/ptc.h"

#define POINTS_MAX 4	  ///< debug registers
#define STOPS_MIN 16	  ///< at least so many are looked at before a run is left alone
#define STOPS_BITS 6	  ///< and at most 2^6 times that: it has to end some time
#define HOLD_MIN_NS 20000 ///< less than a stop costs anyway
#define HOLD_BITS 10	  ///< the longest hold is 2^10 times that: 20 ms
#define PERIOD_MIN_NS 50000
#define PERIOD_BITS 6
#define NEIGHBOURS 4u  ///< points to either side
#define LOOK_NS 200000 ///< how often we see whether the others all wait

struct chaos_thread {
	pid_t tid;
	bool is_held;
	bool is_armed;	   ///< stops at the points
	uint64_t until_ns; ///< of a held one
};

struct ptc_chaos {
	uint64_t state; ///< of the random numbers
	struct ptc_process *process;
	struct ptc_points *points;
	VEC(struct chaos_thread) threads;
	uint64_t armed[POINTS_MAX];
	size_t armed_index[POINTS_MAX];
	unsigned n_armed, n_stops, n_stops_max;
	unsigned hold_one_in; ///< stops
	uint32_t chance;      ///< of a stop at the end of a system call, in 2^32
	uint64_t period_ns;   ///< mean time between random stops; 0 = none
	uint64_t next_interrupt_ns, next_look_ns;
};

/* ---- chance -------------------------------------------------------------------------- */

/** Sebastiano Vigna's splitmix64. */
static uint64_t draw(struct ptc_chaos *c)
{
	uint64_t z = c->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t draw_below(struct ptc_chaos *c, uint64_t n)
{
	return draw(c) % n;
}

static bool draw_one_in(struct ptc_chaos *c, uint64_t n)
{
	return draw_below(c, n) == 0;
}

/** From @p min to @p min * 2^bits, each power of two as likely as the next. */
static uint64_t draw_scale(struct ptc_chaos *c, uint64_t min, unsigned bits)
{
	uint64_t base = min << draw_below(c, bits);

	return base + draw_below(c, base);
}

/* ---- a run's strategy ------------------------------------------------------------------- */

/** Does the program come by here? Unknown counts as yes. One reached point speaks for its
 * neighbours, because those reached in rare schedules only are what we are looking for. */
static bool is_alive(const struct ptc_points *points, size_t i)
{
	size_t from = i < NEIGHBOURS ? 0 : i - NEIGHBOURS;

	if (points->list.data[i].n_tried < 2)
		return true;
	for (size_t k = from; k <= i + NEIGHBOURS && k < points->list.size; k++)
		if (points->list.data[k].is_reached)
			return true;
	return false;
}

/** A point near the one drawn before, since the two ends of a window are; or anywhere. */
static size_t draw_point(struct ptc_chaos *c)
{
	size_t n = c->points->list.size, i = 0;
	bool is_near = c->n_armed && draw_below(c, 2);

	for (int tries = 0; tries < 30; tries++) {
		i = draw_below(c, n);
		if (is_near)
			i = (c->armed_index[c->n_armed - 1] + n +
			     draw_below(c, 2 * NEIGHBOURS + 1) - NEIGHBOURS) %
			    n;
		if (is_alive(c->points, i))
			break;
	}
	return i;
}

static void draw_points(struct ptc_chaos *c)
{
	unsigned n = draw_below(c, POINTS_MAX + 1);

	if (c->points->list.size < 2 * NEIGHBOURS)
		return;
	for (; c->n_armed < n; c->n_armed++) {
		size_t i = draw_point(c);
		struct ptc_point *point = &c->points->list.data[i];

		c->armed_index[c->n_armed] = i;
		c->armed[c->n_armed] = point->at + c->points->bias;
		point->n_tried++;
	}
}

static void draw_strategy(struct ptc_chaos *c)
{
	draw_points(c);
	c->n_stops_max = draw_scale(c, STOPS_MIN, STOPS_BITS);
	c->hold_one_in = 1u << draw_below(c, 4);
	if (draw_one_in(c, 2))
		c->chance = UINT32_MAX >> draw_below(c, 7);
	if (!c->n_armed || draw_one_in(c, 2))
		c->period_ns = draw_scale(c, PERIOD_MIN_NS, PERIOD_BITS);
	log_debug("%u points, system calls %.3f, every %llu us, hold 1 in %u", c->n_armed,
		  c->chance / (double)UINT32_MAX, (unsigned long long)c->period_ns / 1000,
		  c->hold_one_in);
}

/* ---- threads ------------------------------------------------------------------------------ */

static struct chaos_thread *find(struct ptc_chaos *c, pid_t tid)
{
	for (size_t i = 0; i < c->threads.size; i++)
		if (c->threads.data[i].tid == tid)
			return &c->threads.data[i];
	return NULL;
}

static size_t count_held(const struct ptc_chaos *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->threads.size; i++)
		n += c->threads.data[i].is_held;
	return n;
}

static void let_go(struct chaos_thread *t)
{
	t->is_held = false;
	ptrace(PTRACE_CONT, t->tid, NULL, NULL);
}

static void let_one_go(struct ptc_chaos *c, pid_t but)
{
	size_t start = draw_below(c, c->threads.size);

	for (size_t i = 0; i < c->threads.size; i++) {
		struct chaos_thread *t = &c->threads.data[(start + i) % c->threads.size];

		if (t->is_held && t->tid != but) {
			let_go(t);
			return;
		}
	}
}

/** Nothing disturbs the program any more. */
static void leave_alone(struct ptc_chaos *c)
{
	ptc_bpf_set_chance(c->process->session->bpf, 0, 0);
	c->period_ns = 0;
	for (size_t i = 0; i < c->threads.size; i++)
		if (c->threads.data[i].is_held)
			let_go(&c->threads.data[i]);
}

/** Points are set where a thread stands still. */
static void arm(struct ptc_chaos *c, struct chaos_thread *t)
{
	if (c->n_armed && !t->is_armed)
		t->is_armed = ptc_points_arm(t->tid, c->armed, c->n_armed);
}

void ptc_chaos_add(struct ptc_chaos *c, pid_t tid)
{
	struct chaos_thread *t = find(c, tid) ? NULL : vec_push(&c->threads);

	if (!t)
		return;
	t->tid = tid;
	if (c->threads.size != 2)
		return;
	// From here on there is somebody to overtake.
	ptc_bpf_set_chance(c->process->session->bpf, c->chance, draw(c));
	c->next_interrupt_ns = ptc_now_ns() + draw_below(c, 2 * c->period_ns + 1);
}

void ptc_chaos_forget(struct ptc_chaos *c, pid_t tid)
{
	struct chaos_thread *t = find(c, tid);

	if (t)
		*t = c->threads.data[--c->threads.size];
}

/** Did it stop before a point? Then that one is reached by somebody. */
static void note_point(struct ptc_chaos *c, pid_t tid)
{
	struct user_regs_struct u;

	if (!c->n_armed || ptrace(PTRACE_GETREGS, tid, NULL, &u))
		return;
	for (unsigned i = 0; i < c->n_armed; i++)
		if (c->armed[i] == u.rip)
			c->points->list.data[c->armed_index[i]].is_reached = true;
}

/** Do all that are not held wait for others, so that one of those has to go on? */
static bool are_others_stuck(const struct ptc_chaos *c, const struct chaos_thread *but)
{
	for (size_t i = 0; i < c->threads.size; i++) {
		const struct chaos_thread *t = &c->threads.data[i];
		uint64_t word;

		if (t->is_held || t == but)
			continue;
		switch (ptc_wait_of(c->process->pid, t->tid, &word)) {
		case PTC_WAIT_ENDLESS:
		case PTC_WAIT_GONE:
			break;
		default:
			return false;
		}
	}
	return true;
}

/** Is there anybody to overtake @p t? */
static bool can_be_overtaken(const struct ptc_chaos *c, const struct chaos_thread *t)
{
	return count_held(c) || !are_others_stuck(c, t);
}

bool ptc_chaos_holds(struct ptc_chaos *c, pid_t tid)
{
	struct chaos_thread *t = find(c, tid);

	if (!t || c->threads.size < 2)
		return false;
	arm(c, t);
	note_point(c, tid);
	if (++c->n_stops >= c->n_stops_max) {
		if (c->n_stops == c->n_stops_max)
			leave_alone(c);
		if (t->is_armed)
			ptc_points_arm(tid, c->armed, 0);
		return false;
	}
	if (!draw_one_in(c, c->hold_one_in) || !can_be_overtaken(c, t))
		return false;
	t->is_held = true;
	t->until_ns = ptc_now_ns() + draw_scale(c, HOLD_MIN_NS, HOLD_BITS);
	if (count_held(c) == c->threads.size || draw_below(c, 4))
		let_one_go(c, tid);
	return true;
}

/* ---- time ---------------------------------------------------------------------------------- */

/** Stop a thread that could run; one that runs stops at once. */
static void interrupt_one(struct ptc_chaos *c)
{
	size_t start = draw_below(c, c->threads.size);

	for (size_t i = 0; i < c->threads.size; i++) {
		struct chaos_thread *t = &c->threads.data[(start + i) % c->threads.size];
		uint64_t word;

		if (t->is_held ||
		    ptc_wait_of(c->process->pid, t->tid, &word) != PTC_WAIT_NONE)
			continue;
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
		return;
	}
}

static void release_due(struct ptc_chaos *c, uint64_t now_ns)
{
	for (size_t i = 0; i < c->threads.size; i++)
		if (c->threads.data[i].is_held && c->threads.data[i].until_ns <= now_ns)
			let_go(&c->threads.data[i]);
	if (!count_held(c) || now_ns < c->next_look_ns)
		return;
	if (are_others_stuck(c, NULL))
		let_one_go(c, 0);
	c->next_look_ns = now_ns + LOOK_NS;
}

uint64_t ptc_chaos_step(struct ptc_chaos *c)
{
	uint64_t now_ns = ptc_now_ns(), next_ns = UINT64_MAX;

	release_due(c, now_ns);
	if (c->period_ns && c->threads.size > 1) {
		if (c->next_interrupt_ns <= now_ns) {
			interrupt_one(c);
			c->next_interrupt_ns = now_ns + draw_below(c, 2 * c->period_ns);
		}
		next_ns = c->next_interrupt_ns;
	}
	for (size_t i = 0; i < c->threads.size; i++)
		if (c->threads.data[i].is_held && c->threads.data[i].until_ns < next_ns)
			next_ns = c->threads.data[i].until_ns;
	if (count_held(c) && c->next_look_ns < next_ns)
		next_ns = c->next_look_ns;
	return next_ns;
}

/* ---- life ---------------------------------------------------------------------------------- */

/** All threads on one CPU: the last that the program may use. */
static void share_cpu(pid_t pid)
{
	cpu_set_t allowed, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(pid, sizeof(allowed), &allowed))
		return;
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_SET(cpu, &one);
		sched_setaffinity(pid, sizeof(one), &one);
		return;
	}
}

struct err *ptc_chaos_create(struct ptc_process *p, struct ptc_points *points,
			     uint64_t seed, struct ptc_chaos **ret)
{
	struct ptc_chaos *c = calloc(1, sizeof(*c));

	if (!c)
		return &err_nomem;
	*ret = c;
	c->state = seed;
	c->process = p;
	c->points = points;
	share_cpu(p->pid);
	draw_strategy(c);
	ptc_chaos_add(c, p->pid);
	return NULL;
}

void ptc_chaos_destroy(struct ptc_chaos *c)
{
	if (!c)
		return;
	ptc_bpf_set_chance(c->process->session->bpf, 0, 0);
	vec_deinit(&c->threads);
	free(c);
}
