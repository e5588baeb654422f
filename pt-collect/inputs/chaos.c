// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * record --chaos: the recorder as a scheduler that wants the worst. The program's threads
 * share one CPU; stopping one lets another overtake it there. A thread is stopped
 *
 *  - before instructions that the seed picked (points.c),
 *  - at the end of system calls, with a probability (the kernel side does it),
 *  - at random instants,
 *  - when it begins;
 *  - behind an access to what a held thread is about to access (a watchpoint tells);
 *
 * and a stopped thread is held back at random, until another one is held in its stead or
 * its time is up. As in PCT (Burckhardt et al., ASPLOS 2010) few changes at random points
 * find most bugs: how many, where, and how long is drawn anew for each seed, so that some
 * runs disturb at one instruction only and others everywhere.
 *
 * Threads that end before the next one has begun never meet: some runs gather them, each held where
 * it begins until all others wait, and then let go one by one. Others pile them up before the
 * instructions that the seed picked: what no thread has done yet when the last one looks takes all of
 * them to be held.
 *
 * In other runs one thread runs at a time, and may be stopped behind each access to up to four places in
 * memory: those that the first thread to come to a picked instruction is about to access. All
 * orders of a few accesses to a few variables come about so, however often threads have to change. Who
 * runs next is any of them, or, as in PCT, always the one of the highest rank, which falls to the
 * lowest at random.
 *
 * All choices come from the seed. The instants at which they meet the program do not: the
 * same seed is the same strategy, not the same run.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <sys/ptrace.h>

#include "pt-collect/kernel/bpf.h"
#include "pt-collect/inputs/chaos.h"
#include "pt-collect/inputs/points.h"
#include "pt-collect/inputs/random.h"

#define POINTS_MAX 3	  ///< debug registers; the fourth is for the watch
#define STOPS_MIN 16	  ///< at least so many are looked at before a run is left alone
#define STOPS_BITS 6	  ///< and at most 2^6 times that: it has to end some time
#define HOLD_MIN_NS 20000 ///< less than a stop costs anyway
#define HOLD_BITS 10	  ///< the longest hold is 2^10 times that: 20 ms
#define PERIOD_MIN_NS 50000
#define PERIOD_BITS 6
#define GATHER_NS 100000000 ///< so long a new thread waits for those that come after it
#define PILE_NS 250000000   ///< and the first one of a pile for it to grow
#define TURN_NS 100000000   ///< so long a thread waits for its turn if who has it goes on
#define LONG_TURNS 8	    ///< so many of those are enough
#define RANKED 4	    ///< times fewer turns end without need if there is an order
#define PLACE_TRIES 8	    ///< at points that access what is not watched yet
#define RED_ZONE 128	    ///< bytes
#define STACK_NEAR 65536    ///< what is so near to its stack pointer is a thread's own
#define LOOK_NS 200000	    ///< how often we see whether the others all wait

struct chaos_thread {
	pid_t tid;
	bool is_held;
	bool is_new;   ///< it has not run yet
	bool is_piled; ///< held in the pile
	unsigned
		armed_for; ///< the watch at which its debug registers were set; 0 = never
	uint64_t until_ns; ///< of a held one
	int64_t rank;	   ///< the highest has the next turn
};

/** Memory that threads take turns at. */
struct place {
	struct ptc_watch watch;
	struct ptc_point *point; ///< at which it was found
	struct ptc_point *last;	 ///< of the last access; NULL = unknown
	pid_t last_tid;		 ///< whose that was; 0 = there was none
};

struct ptc_chaos {
	struct ptc_random random;
	struct ptc_bpf *bpf;
	const struct ptc_tracee *tracee;
	struct ptc_points *points;
	VEC(struct chaos_thread) threads;
	uint64_t armed[PTC_WATCHES];
	size_t armed_index[PTC_WATCHES];
	pid_t armed_came[PTC_WATCHES]; ///< who came there last; 0 = nobody
	struct place places[PTC_WATCHES];
	unsigned n_places; ///< their registers follow those of the points
	bool takes_turns;  ///< one thread runs at a time,
	bool is_ranked;	   ///< always the one of the highest rank; or any
	int64_t lowest;	   ///< rank so far, of whom others had to overtake
	unsigned n_armed, n_stops, n_stops_max;
	unsigned hold_one_in; ///< stops
	bool gathers;	      ///< holds new threads until nobody else can go on
	bool piles;	      ///< and whoever comes to a point, once
	uint64_t pile_ns;     ///< when that ends at the latest; 0 = it has not begun
	uint32_t chance;      ///< of a stop at the end of a system call, in 2^32
	uint64_t period_ns;   ///< mean time between random stops; 0 = none
	uint64_t next_interrupt_ns, next_look_ns;
	/** What the thread held at a point is about to access: who else does? */
	struct ptc_watch watch;
	unsigned n_watches; ///< changes of it, from 1 on
	pid_t watcher;	    ///< the held thread; 0 = none
	size_t watch_index; ///< of the point
};

/* ---- a run's strategy ------------------------------------------------------------------- */

static void add_point(struct ptc_chaos *c, size_t index)
{
	c->armed_came[c->n_armed] = 0;
	c->armed_index[c->n_armed] = index;
	c->armed[c->n_armed++] = c->points->list.data[index].at + c->points->bias;
}

/* Where threads were seen to meet: all that are known, as many as there are registers. A mistake that
 * takes two or three stops shows where each access to one variable is one. */
static void draw_meetings(struct ptc_chaos *c)
{
	size_t next = 0;

	while (c->n_armed < POINTS_MAX && next != SIZE_MAX) {
		next = ptc_points_draw_contended(c->points, &c->random, c->armed_index,
						 c->n_armed);
		if (next != SIZE_MAX)
			add_point(c, next);
	}
}

static void draw_points(struct ptc_chaos *c)
{
	unsigned n = ptc_random_below(&c->random, POINTS_MAX + 1);
	size_t last = SIZE_MAX;

	if (!c->points->list.size)
		return;
	if (ptc_random_one_in(&c->random, 3))
		draw_meetings(c);
	while (c->n_armed < n) {
		last = ptc_points_draw(c->points, &c->random, last);
		add_point(c, last);
	}
}

/** One place, mostly one that several threads are known to come by; and nothing else, lest one of the
 * pile goes on. */
static void draw_pile(struct ptc_chaos *c)
{
	size_t at = SIZE_MAX;

	if (!ptc_random_one_in(&c->random, 3))
		at = ptc_points_draw_crowded(c->points, &c->random);
	if (at == SIZE_MAX)
		at = ptc_points_draw(c->points, &c->random, SIZE_MAX);
	add_point(c, at);
	c->n_stops_max = STOPS_MIN << STOPS_BITS;
}

static void draw_disturbance(struct ptc_chaos *c)
{
	draw_points(c);
	c->n_stops_max = ptc_random_scale(&c->random, STOPS_MIN, STOPS_BITS);
	if (ptc_random_one_in(&c->random, 2))
		c->chance = UINT32_MAX >> ptc_random_below(&c->random, 7);
	if (!c->n_armed || ptc_random_one_in(&c->random, 2))
		c->period_ns = ptc_random_scale(&c->random, PERIOD_MIN_NS, PERIOD_BITS);
}

/** Is what the point accessed last accessed by another one that is armed, or known as a place? */
static bool is_covered(const struct ptc_chaos *c, size_t index)
{
	const struct ptc_point *p = c->points->list.data;
	uint64_t where = p[index].where;

	for (unsigned i = 0; i < c->n_armed; i++)
		if (c->armed_index[i] == index ||
		    (where && p[c->armed_index[i]].where == where))
			return true;
	for (unsigned i = 0; i < c->n_places; i++)
		if (where && c->places[i].watch.addr == where + c->points->bias)
			return true;
	return false;
}

/** One more place to take turns at: mostly one where threads were seen to meet, or else near
 * point @p last (SIZE_MAX = none) or anywhere. */
static void draw_place(struct ptc_chaos *c, size_t last)
{
	bool is_meeting = !ptc_random_one_in(&c->random, 3);

	for (unsigned tries = 0; tries < PLACE_TRIES; tries++) {
		size_t i = SIZE_MAX;

		if (is_meeting)
			i = ptc_points_draw_contended(c->points, &c->random,
						      c->armed_index, c->n_armed);
		if (i == SIZE_MAX)
			i = ptc_points_draw(c->points, &c->random, last);
		if (is_covered(c, i))
			continue;
		add_point(c, i);
		return;
	}
}

static void draw_turns(struct ptc_chaos *c)
{
	unsigned n = 2 + ptc_random_below(&c->random, PTC_WATCHES - 1);

	while (n--)
		draw_place(c, SIZE_MAX);
	c->n_stops_max = STOPS_MIN << STOPS_BITS;
	c->chance = UINT32_MAX; // who was woken takes its turn, too
}

static void draw_strategy(struct ptc_chaos *c)
{
	unsigned way = c->points->list.size ? ptc_random_below(&c->random, 8) : 7;

	c->piles = way < 2;
	c->takes_turns = way >= 2 && way < 5;
	if (c->piles)
		draw_pile(c);
	else if (c->takes_turns)
		draw_turns(c);
	else
		draw_disturbance(c);
	c->hold_one_in = 1u << ptc_random_below(&c->random, 4);
	c->is_ranked = c->takes_turns && ptc_random_one_in(&c->random, 2);
	if (c->is_ranked)
		c->hold_one_in *= RANKED;
	c->gathers = ptc_random_one_in(&c->random, 2);
	log_debug("%u points, system calls %.3f, every %llu us, hold 1 in %u%s%s",
		  c->n_armed, c->chance / (double)UINT32_MAX,
		  (unsigned long long)c->period_ns / 1000, c->hold_one_in,
		  c->gathers ? ", gathered" : "",
		  c->piles	 ? ", piled up" :
		  c->takes_turns ? ", in turn" :
				   "");
}

/* ---- threads ------------------------------------------------------------------------------ */

static struct chaos_thread *find(struct ptc_chaos *c, pid_t tid)
{
	return vec_find(&c->threads, t, t->tid == tid);
}

static size_t count_held(const struct ptc_chaos *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->threads.size; i++)
		n += c->threads.data[i].is_held;
	return n;
}

/** Debug registers are set where a thread stands still. */
static void arm(struct ptc_chaos *c, struct chaos_thread *t)
{
	struct ptc_watch watches[PTC_WATCHES] = {};
	unsigned n = 0;

	if (t->armed_for == c->n_watches)
		return;
	for (unsigned i = 0; i < c->n_armed; i++)
		watches[n++].addr = c->armed[i];
	for (unsigned i = 0; i < c->n_places; i++)
		watches[n++] = c->places[i].watch;
	if (c->watcher && c->watcher != t->tid)
		watches[n++] = c->watch;
	if (n && ptc_points_arm(t->tid, watches, n))
		t->armed_for = c->n_watches;
}

static void end_watch(struct ptc_chaos *c)
{
	c->watcher = 0;
	c->n_watches++;
}

static void let_go(struct ptc_chaos *c, struct chaos_thread *t)
{
	if (t->tid == c->watcher)
		end_watch(c);
	t->is_held = t->is_piled = false;
	arm(c, t);
	ptrace(PTRACE_CONT, t->tid, NULL, NULL);
}

/** @return whether there is one. */
static bool let_one_go(struct ptc_chaos *c, pid_t but, bool is_piled)
{
	size_t start = ptc_random_below(&c->random, c->threads.size);

	for (size_t i = 0; i < c->threads.size; i++) {
		struct chaos_thread *t = &c->threads.data[(start + i) % c->threads.size];

		if (t->is_held && t->is_piled == is_piled && t->tid != but) {
			let_go(c, t);
			return true;
		}
	}
	return false;
}

/** Nobody else can go on: who is not in the pile first. Once it is touched it does not grow. */
static void unpile(struct ptc_chaos *c)
{
	if (let_one_go(c, 0, false))
		return;
	c->piles = false;
	let_one_go(c, 0, true);
}

/** Nothing disturbs the program any more. */
static void leave_alone(struct ptc_chaos *c)
{
	ptc_bpf_set_chance(c->bpf, 0, 0);
	c->period_ns = 0;
	for (size_t i = 0; i < c->threads.size; i++)
		if (c->threads.data[i].is_held)
			let_go(c, &c->threads.data[i]);
}

void ptc_chaos_add(struct ptc_chaos *c, pid_t tid)
{
	struct chaos_thread *t = !c || find(c, tid) ? NULL : vec_push(&c->threads);

	if (!t)
		return;
	t->tid = tid;
	t->is_new = c->threads.size > 1;
	t->rank = ptc_random_draw(&c->random) >> 1;
	if (c->threads.size != 2)
		return;
	// From here on there is somebody to overtake.
	ptc_bpf_set_chance(c->bpf, c->chance, ptc_random_draw(&c->random));
	c->next_interrupt_ns =
		ptc_now_ns() + ptc_random_below(&c->random, 2 * c->period_ns + 1);
}

void ptc_chaos_forget(struct ptc_chaos *c, pid_t tid)
{
	struct chaos_thread *t = c ? find(c, tid) : NULL;

	if (t)
		*t = c->threads.data[--c->threads.size];
	if (c && tid == c->watcher)
		end_watch(c);
}

/** Did @p tid stop before a point? Then that one is reached by somebody.
 * @return its index, SIZE_MAX = at none. */
static size_t note_point(struct ptc_chaos *c, pid_t tid, const struct user_regs_struct *u)
{
	for (unsigned i = 0; i < c->n_armed; i++) {
		struct ptc_point *p = &c->points->list.data[c->armed_index[i]];

		if (c->armed[i] != u->rip)
			continue;
		p->is_reached = true;
		p->is_crowded |= c->armed_came[i] && c->armed_came[i] != tid;
		c->armed_came[i] = tid;
		return c->armed_index[i];
	}
	return SIZE_MAX;
}

/** Threads meet at @p point, if that is one: it is worth coming back to. */
static void note_meeting(struct ptc_point *point)
{
	if (point)
		point->is_contended = point->is_reached = true;
}

/** Did it just access what the held thread is about to? Then both places are worth coming
 * back to, and this is the moment to let the other go on. */
static bool note_conflict(struct ptc_chaos *c, const struct chaos_thread *t,
			  const struct user_regs_struct *u)
{
	struct chaos_thread *holder;

	if (!c->watcher || t->armed_for != c->n_watches ||
	    !(ptc_points_take_hits(t->tid) & 1 << c->n_armed))
		return false;
	log_debug("thread %d met %d", t->tid, c->watcher);
	c->points->list.data[c->watch_index].is_contended = true;
	note_meeting(ptc_points_before(c->points, u->rip));
	holder = find(c, c->watcher);
	if (holder && ptc_random_below(&c->random, 4))
		let_go(c, holder);
	return true;
}

/** What is watched has changed: those that run stop to be told, but for @p but, which stands. */
static void change_watches(struct ptc_chaos *c, const struct chaos_thread *but)
{
	c->n_watches++;
	for (size_t i = 0; i < c->threads.size; i++) {
		const struct chaos_thread *t = &c->threads.data[i];
		uint64_t word;

		if (!t->is_held && t != but &&
		    ptc_wait_of(c->tracee->pid, t->tid, &word) == PTC_WAIT_NONE)
			ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	}
}

/** @p t is held before the access at point @p index: see who else does. */
static void begin_watch(struct ptc_chaos *c, const struct chaos_thread *t, size_t index,
			const struct user_regs_struct *u)
{
	if (c->watcher || index == SIZE_MAX || ptc_random_one_in(&c->random, 2) ||
	    !ptc_points_target(c->tracee, u, &c->watch))
		return;
	c->watcher = t->tid;
	c->watch_index = index;
	change_watches(c, t);
}

/** Do all that are not held wait for others, so that one of those has to go on? */
static bool are_others_stuck(const struct ptc_chaos *c, const struct chaos_thread *but)
{
	for (size_t i = 0; i < c->threads.size; i++) {
		const struct chaos_thread *t = &c->threads.data[i];
		uint64_t word;

		if (t->is_held || t == but)
			continue;
		switch (ptc_wait_of(c->tracee->pid, t->tid, &word)) {
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

/** The run has been disturbed enough. */
static void retire(struct ptc_chaos *c, struct chaos_thread *t)
{
	if (c->n_stops == c->n_stops_max)
		leave_alone(c);
	if (t->armed_for)
		ptc_points_arm(t->tid, NULL, 0);
}

/* ---- turns ---------------------------------------------------------------------------------- */

/** Does anybody run but @p but? Who waits for time to pass does not. */
static bool is_any_running(const struct ptc_chaos *c, const struct chaos_thread *but)
{
	for (size_t i = 0; i < c->threads.size; i++) {
		const struct chaos_thread *t = &c->threads.data[i];
		enum ptc_wait wait;
		uint64_t word;

		if (t->is_held || t == but)
			continue;
		wait = ptc_wait_of(c->tracee->pid, t->tid, &word);
		if (wait == PTC_WAIT_NONE || wait == PTC_WAIT_STOPPED)
			return true;
	}
	return false;
}

static bool is_own_stack(const struct user_regs_struct *u, uint64_t addr)
{
	return addr >= u->rsp - RED_ZONE && addr - u->rsp + RED_ZONE < STACK_NEAR;
}

/** What who stands at a point is about to access, if that is not watched yet and not its own.
 * @p w gets it. */
static bool find_place(const struct ptc_chaos *c, const struct user_regs_struct *u,
		       struct ptc_watch *w)
{
	if ((!ptc_points_target(c->tracee, u, w) &&
	     !ptc_points_argument(c->tracee, u, w)) ||
	    is_own_stack(u, w->addr))
		return false;
	for (unsigned i = 0; i < c->n_places; i++)
		if (c->places[i].watch.addr == w->addr)
			return false;
	return true;
}

/** The register of @p point, to which @p t came first, is from now on for what is accessed there; or for
 * another point. */
static void use_point(struct ptc_chaos *c, const struct chaos_thread *t, size_t point,
		      const struct user_regs_struct *u)
{
	struct ptc_point *p = &c->points->list.data[point];
	struct ptc_watch w = {};
	bool is_found = find_place(c, u, &w);
	unsigned i = 0;

	while (c->armed_index[i] != point)
		i++;
	c->n_armed--;
	c->armed[i] = c->armed[c->n_armed];
	c->armed_index[i] = c->armed_index[c->n_armed];
	c->armed_came[i] = c->armed_came[c->n_armed];
	p->where = w.addr ? w.addr - c->points->bias : 0;
	w.is_write = true; // to see reads, too
	if (is_found)
		c->places[c->n_places++] = (struct place){ .watch = w, .point = p };
	else
		draw_place(c, point);
	change_watches(c, t);
}

/** Points at which two threads accessed the same place one after the other are worth coming back to. */
static void note_access(const struct ptc_chaos *c, struct place *p, pid_t tid,
			struct ptc_point *point)
{
	bool is_write = !point || point->is_write || !p->last || p->last->is_write;

	if (point)
		point->where = p->watch.addr - c->points->bias;
	if (p->last_tid && p->last_tid != tid && is_write) {
		p->point->is_contended = true;
		note_meeting(point);
		note_meeting(p->last);
	}
	p->last_tid = tid;
	p->last = point;
}

/** @return whether @p t made one. */
static bool note_accesses(struct ptc_chaos *c, const struct chaos_thread *t,
			  const struct user_regs_struct *u)
{
	unsigned hits = ptc_points_take_hits(t->tid) >> c->n_armed;
	struct ptc_point *point;

	if (t->armed_for != c->n_watches)
		return false;
	point = hits ? ptc_points_before(c->points, u->rip) : NULL;
	for (unsigned i = 0; i < c->n_places; i++)
		if (hits & 1 << i)
			note_access(c, &c->places[i], t->tid, point);
	return hits;
}

static bool creates_thread(const struct user_regs_struct *u)
{
	return u->orig_rax == __NR_clone || u->orig_rax == __NR_clone3;
}

/** @return whether there is one. */
static bool give_turn(struct ptc_chaos *c)
{
	struct chaos_thread *next = NULL;

	if (!c->is_ranked)
		return let_one_go(c, 0, false);
	for (size_t i = 0; i < c->threads.size; i++) {
		struct chaos_thread *t = &c->threads.data[i];

		if (t->is_held && !t->is_piled && (!next || t->rank > next->rank))
			next = t;
	}
	if (next)
		let_go(c, next);
	return next;
}

/** One thread runs at a time; where it stops, another one may go on in its stead. */
static bool holds_in_turn(struct ptc_chaos *c, struct chaos_thread *t, size_t point,
			  const struct user_regs_struct *u)
{
	bool is_event = note_accesses(c, t, u) || point != SIZE_MAX || t->is_new ||
			creates_thread(u);
	bool is_alone = !is_any_running(c, t);

	if (point != SIZE_MAX)
		use_point(c, t, point, u);
	arm(c, t);
	if (t->is_new && c->gathers)
		t->is_piled = true;
	else if (is_event && ptc_random_one_in(&c->random, c->hold_one_in))
		t->rank = --c->lowest;
	else if (is_alone && !c->is_ranked)
		return false;
	t->is_new = false;
	t->is_held = true;
	t->until_ns = ptc_now_ns() + TURN_NS;
	if (is_alone)
		give_turn(c);
	return true;
}

static bool holds(struct ptc_chaos *c, pid_t tid)
{
	struct chaos_thread *t = find(c, tid);
	struct user_regs_struct u;
	bool has_met;
	size_t point;

	if (!t || c->threads.size < 2 || ptrace(PTRACE_GETREGS, tid, NULL, &u))
		return false;
	point = note_point(c, tid, &u);
	if (c->takes_turns && c->n_stops + 1 < c->n_stops_max) {
		c->n_stops++;
		return holds_in_turn(c, t, point, &u);
	}
	has_met = note_conflict(c, t, &u);
	if (++c->n_stops >= c->n_stops_max) {
		retire(c, t);
		return false;
	}
	arm(c, t);
	if (t->is_new && c->gathers) {
		t->is_new = false;
		t->is_held = true;
		t->until_ns = ptc_now_ns() + GATHER_NS;
		return true;
	}
	if (c->piles && point != SIZE_MAX) {
		t->is_held = t->is_piled = true;
		c->pile_ns = c->pile_ns ?: ptc_now_ns() + PILE_NS;
		t->until_ns = c->pile_ns;
		return true;
	}
	if ((!has_met && !ptc_random_one_in(&c->random, c->hold_one_in)) ||
	    !can_be_overtaken(c, t))
		return false;
	t->is_held = true;
	t->until_ns = ptc_now_ns() + ptc_random_scale(&c->random, HOLD_MIN_NS, HOLD_BITS);
	begin_watch(c, t, point, &u);
	if (count_held(c) == c->threads.size ||
	    (tid != c->watcher && ptc_random_below(&c->random, 4)))
		let_one_go(c, tid, false);
	return true;
}

void ptc_chaos_go_on(struct ptc_chaos *c, pid_t tid)
{
	if (!c || !holds(c, tid))
		ptrace(PTRACE_CONT, tid, NULL, NULL);
}

/* ---- time ---------------------------------------------------------------------------------- */

/** Stop a thread that could run; one that runs stops at once. */
static void interrupt_one(struct ptc_chaos *c)
{
	size_t start = ptc_random_below(&c->random, c->threads.size);

	for (size_t i = 0; i < c->threads.size; i++) {
		struct chaos_thread *t = &c->threads.data[(start + i) % c->threads.size];
		uint64_t word;

		if (t->is_held ||
		    ptc_wait_of(c->tracee->pid, t->tid, &word) != PTC_WAIT_NONE)
			continue;
		ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
		return;
	}
}

/** Who had its turn waits, or has ended: somebody else. Once all that began wait, those that were gathered
 * take turns as well. */
static void step_turns(struct ptc_chaos *c)
{
	if (is_any_running(c, NULL) || give_turn(c))
		return;
	if (!are_others_stuck(c, NULL))
		return;
	for (size_t i = 0; i < c->threads.size; i++)
		c->threads.data[i].is_piled = false;
	give_turn(c);
}

/** Who has the turn does not stop: it may wait, in a loop, for one of the others. That is worth many stops,
 * lest the run takes long. */
static void end_turn(struct ptc_chaos *c)
{
	c->n_stops += c->n_stops_max / LONG_TURNS;
	if (c->n_stops >= c->n_stops_max)
		c->n_stops = c->n_stops_max - 1;
}

static void release_due(struct ptc_chaos *c, uint64_t now_ns)
{
	bool is_over = false;

	if (c->takes_turns && count_held(c) && now_ns >= c->next_look_ns) {
		step_turns(c);
		c->next_look_ns = now_ns + LOOK_NS;
	}
	c->piles &= !c->pile_ns || c->pile_ns > now_ns;
	for (size_t i = 0; i < c->threads.size; i++) {
		struct chaos_thread *t = &c->threads.data[i];

		if (!t->is_held || t->until_ns > now_ns)
			continue;
		is_over |= !t->is_piled;
		let_go(c, t);
	}
	if (c->takes_turns && is_over)
		end_turn(c);
	if (!count_held(c) || now_ns < c->next_look_ns || c->takes_turns)
		return;
	if (are_others_stuck(c, NULL))
		unpile(c);
	c->next_look_ns = now_ns + LOOK_NS;
}

uint64_t ptc_chaos_step(struct ptc_chaos *c)
{
	uint64_t now_ns = ptc_now_ns(), next_ns = UINT64_MAX;

	release_due(c, now_ns);
	if (c->period_ns && c->threads.size > 1) {
		if (c->next_interrupt_ns <= now_ns) {
			interrupt_one(c);
			c->next_interrupt_ns =
				now_ns + ptc_random_below(&c->random, 2 * c->period_ns);
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

struct err *ptc_chaos_create(struct ptc_bpf *bpf, const struct ptc_tracee *tracee,
			     struct ptc_points *points, uint64_t seed,
			     struct ptc_chaos **ret)
{
	struct ptc_chaos *c = calloc(1, sizeof(*c));

	if (!c)
		return &err_nomem;
	*ret = c;
	c->random.state = seed;
	c->bpf = bpf;
	c->tracee = tracee;
	c->points = points;
	c->n_watches = 1;
	draw_strategy(c);
	ptc_chaos_add(c, tracee->pid);
	return NULL;
}

void ptc_chaos_destroy(struct ptc_chaos *c)
{
	if (!c)
		return;
	ptc_bpf_set_chance(c->bpf, 0, 0);
	vec_deinit(&c->threads);
	free(c);
}
