// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Moves. Runs look for stops in the machine's log (decode/machine/trap.h); single steps look at
 * the one instruction, which costs no log.
 */
#include <string.h>

#include "debug/altered.h"
#include "debug/session.h"
#include "decode/x86/insn.h"

#define FOREVER (UINT64_MAX >> 1)

// Going back by steps starts from a checkpoint no farther than FAR; one is laid at NEAR.
#define FAR (UINT64_C(1) << 20)
#define NEAR (UINT64_C(1) << 18)

// Steps in a line before it is taken for a loop, and run: a run has a price of its own.
#define STEPS_MOST 64

/* ---- after a move --------------------------------------------------------------------------- */

/* The user wanted it to stop: it stands where it had got to. */
static struct err *settle(struct dbg_session *s, struct err *err)
{
	struct err *lost;

	if (!err || err->code != ERR_INTERRUPTED)
		return err;
	lost = dec_machine_run(s->machine, 0, &s->where);
	if (!lost)
		return err;
	err_destroy(err);
	return lost;
}

static struct err *interrupted(struct dbg_session *s, struct err *err,
			       struct dbg_stop *ret)
{
	err = settle(s, err);
	if (!err || err->code != ERR_INTERRUPTED)
		return err;
	err_destroy(err);
	*ret = (struct dbg_stop){ .why = DBG_STOP_INTERRUPT, .tid = s->where.tid };
	return NULL;
}

static void leave_place(struct dbg_session *s)
{
	s->is_before_handler = false;
	s->entry_told = UINT64_MAX;
}

/* @return the last signal with a handler among events (@p after, @p to]; NULL: none. */
static const struct dbg_signal *handled_in(const struct dbg_session *s, uint64_t after,
					   uint64_t to)
{
	for (size_t i = s->signals.size; i > 0 && s->signals.data[i - 1].seq > after; i--)
		if (s->signals.data[i - 1].seq <= to &&
		    s->signals.data[i - 1].has_handler)
			return &s->signals.data[i - 1];
	return NULL;
}

static void stop_before(struct dbg_session *s, const struct dbg_signal *signal,
			struct dbg_stop *ret)
{
	// Of a fault the machine stands there itself.
	s->is_before_handler = signal->seq <= s->where.seq;
	ret->why = DBG_STOP_SIGNAL;
	ret->signo = s->events.data[signal->seq].signo;
	ret->tid = signal->tid;
}

static bool is_over(const struct dbg_session *s)
{
	return s->where.at == DEC_AT_END || s->where.at == DEC_AT_DIVERGENCE;
}

/* It can go on no further. A signal that ended it is a stop of its own, once. */
static void stop_at_end(struct dbg_session *s, struct dbg_stop *ret)
{
	const struct dec_where *w = &s->where;

	ret->tid = w->tid;
	ret->why = DBG_STOP_END;
	if (w->at == DEC_AT_DIVERGENCE || w->is_cut) {
		dbg_session_tell(s, "the replay ends here: %s\n",
				 dec_machine_divergence(s->machine) ?: "no reason known");
	} else if (w->end == CAP_END_SIGNAL && !s->has_told_end) {
		s->has_told_end = true;
		ret->why = DBG_STOP_SIGNAL;
		ret->signo = w->end_value;
	} else if (w->end == CAP_END_EXIT) {
		dbg_session_tell(s, "the program exits here, with status %d\n",
				 w->end_value);
	} else if (w->end == CAP_END_SIGNAL) {
		dbg_session_tell(s, "the program ends here, by %s\n",
				 text_signal(w->end_value));
	} else if (w->end == CAP_END_EXEC) {
		dbg_session_tell(s, "the program executes another one here\n");
	} else {
		dbg_session_tell(s, "the recording ends here\n");
	}
}

/* ---- traps ---------------------------------------------------------------------------------- */

static struct err *add_points(const struct dbg_session *s, dbg_traps *v)
{
	static const unsigned on[] = { [DBG_POINT_SOFTWARE] = DEC_TRAP_EXECUTE,
				       [DBG_POINT_HARDWARE] = DEC_TRAP_EXECUTE,
				       [DBG_POINT_WRITE] = DEC_TRAP_WRITE,
				       [DBG_POINT_READ] = DEC_TRAP_READ,
				       [DBG_POINT_ACCESS] = DEC_TRAP_READ |
							    DEC_TRAP_WRITE };
	struct err *err = NULL;

	for (size_t i = 0; i < s->points.size && !err; i++) {
		const struct dbg_point *p = &s->points.data[i];

		struct dec_trap t = { .on = on[p->kind],
				      .addr = p->addr,
				      .size = p->size };

		dbg_code_apply(p, &t);
		err = vec_add(v, t);
	}
	return err;
}

/* The first points.size traps are the points. @p aim: another one, or NULL. */
static struct err *make_traps(const struct dbg_session *s, const struct dec_trap *aim,
			      dbg_traps *v)
{
	struct err *err = add_points(s, v);

	if (!err)
		err = vec_add(v, (struct dec_trap){ .on = DEC_TRAP_SIGNAL });
	if (!err && s->catches_calls && !s->calls.size)
		err = vec_add(v,
			      (struct dec_trap){ .on = DEC_TRAP_SYSCALL, .number = -1 });
	for (size_t i = 0; s->catches_calls && i < s->calls.size && !err; i++)
		err = vec_add(v, (struct dec_trap){ .on = DEC_TRAP_SYSCALL,
						    .number = s->calls.data[i] });
	if (!err && aim)
		err = vec_add(v, *aim);
	return err;
}

/* What was met is a stop, but for signals that pass, unless a step is under way (what the step ends
 * at is gdb's to say then), and for what is an aim. @return whether it is. */
static bool is_stop(struct dbg_session *s, const struct dec_trapped *t, bool is_step,
		    struct dbg_stop *ret)
{
	const struct dbg_signal *signal;

	ret->tid = t->tid ?: s->where.tid;
	switch (t->on) {
	case DEC_TRAP_SIGNAL:
		signal = dbg_session_signal(s);
		ret->signo = signal ? s->events.data[signal->seq].signo : 0;
		if (!signal || (!is_step && s->passes >> (ret->signo & 63) & 1))
			return false;
		stop_before(s, signal, ret);
		return true;
	case DEC_TRAP_SYSCALL:
		ret->number = t->number;
		return true; // its caller tells which side
	case DEC_TRAP_SWITCH:
	case DEC_TRAP_LEAVE:
		return false;
	default:
		ret->why = DBG_STOP_POINT;
		ret->point = s->points.data[t->trap];
		ret->addr = t->addr > ret->point.addr ? t->addr : ret->point.addr;
		return true;
	}
}

/* Forward a call's two sides are stops: before it is made, then behind it. */
static struct err *stop_at_call(struct dbg_session *s, uint64_t position, bool is_entry,
				struct dbg_stop *ret)
{
	ret->why = is_entry ? DBG_STOP_ENTRY : DBG_STOP_RETURN;
	s->entry_told = is_entry ? position : UINT64_MAX;
	return dec_machine_seek(s->machine, position + !is_entry, &s->where);
}

/* @return whether call @p number is one that is caught. */
static bool is_caught(const struct dbg_session *s, int64_t number)
{
	return s->catches_calls &&
	       (!s->calls.size || vec_find(&s->calls, c, *c == number));
}

/* A trap was met: it is a stop, or the aim (NULL: none), or is passed. @p is_entry: a call's first
 * side is the one that was not told yet. @p is_done: here the move ends. */
static struct err *meet(struct dbg_session *s, const struct dec_trapped *t,
			const struct dec_trap *aim, bool is_entry, bool *has_met,
			bool *is_done, struct dbg_stop *ret)
{
	if (t->on == DEC_TRAP_SYSCALL && !is_caught(s, t->number)) {
		*is_done = dbg_fork_made(s, t->tid ?: s->where.tid, 0, ret);
		return *is_done ?
			       dec_machine_seek(s->machine, t->position + 1, &s->where) :
			       NULL;
	}
	*is_done = is_stop(s, t, aim != NULL, ret);
	if (*is_done)
		return t->on == DEC_TRAP_SYSCALL ?
			       stop_at_call(s, t->position, is_entry, ret) :
			       NULL;
	*has_met = *is_done = aim && t->on == aim->on;
	return NULL;
}

/* ---- forward -------------------------------------------------------------------------------- */

/* @return whether it left the place before a handler, and has something to tell there. */
static bool enter_handler(struct dbg_session *s, struct dbg_stop *ret)
{
	if (!s->is_before_handler)
		return false;
	s->is_before_handler = false;
	ret->tid = s->where.tid;
	ret->why = DBG_STOP_POINT;
	ret->addr = s->where.rip;
	return dbg_session_point(s, DBG_POINT_SOFTWARE, DBG_POINT_HARDWARE, s->where.rip,
				 1, &ret->point);
}

/* To the next stop, or to @p aim (NULL: none). @p has_met: it is there. */
static struct err *forward(struct dbg_session *s, const struct dec_trap *aim,
			   bool *has_met, struct dbg_stop *ret)
{
	dbg_traps v = {};
	struct dec_trapped t;
	struct err *err = make_traps(s, aim, &v);
	bool is_done = false;

	*has_met = s->is_going_back = false;
	if (!err)
		err = dbg_fork_traps(s, &v);
	while (!err && !is_done) {
		uint64_t entry = s->entry_told;

		err = dec_machine_forward(s->machine, v.data, v.size, FOREVER, &t);
		if (err)
			break;
		s->where = t.where;
		if (t.trap == SIZE_MAX) {
			stop_at_end(s, ret);
			break;
		}
		leave_place(s);
		err = meet(s, &t, aim, entry != t.position, has_met, &is_done, ret);
	}
	vec_deinit(&v);
	return err;
}

struct err *dbg_go(struct dbg_session *s, struct dbg_stop *ret)
{
	bool has_met;

	*ret = (struct dbg_stop){};
	if (dbg_altered_moves(s))
		return dbg_altered_go(s, ret);
	if (enter_handler(s, ret))
		return NULL;
	return interrupted(s, forward(s, NULL, &has_met, ret), ret);
}

/* The memory that the instruction at rip of @p t accesses, one operand after the other: is
 * something of it watched? A repeated one's whole way counts. */
static bool is_watched(struct dbg_session *s, const struct dec_thread *t, uint64_t *addr,
		       struct dbg_point *ret)
{
	uint8_t bytes[15];
	size_t n = dbg_session_read(s, t->regs.rip, bytes, sizeof(bytes));
	struct dec_insn insn;

	if (!dec_insn_decode(bytes, n, t->regs.rip, &insn))
		return false;
	for (int i = 0; i < insn.n_mem; i++) {
		const struct dec_mem *m = &insn.mem[i];
		uint64_t a = dec_insn_address(m, t->regs.gpr, t->regs.fs_base,
					      t->regs.gs_base);
		uint64_t size = insn.is_rep ? m->size * t->regs.gpr[CAP_RCX] : m->size;

		if (insn.is_rep && t->regs.rflags & 1 << 10)
			a -= size - m->size;
		*addr = a;
		if ((m->is_write && dbg_session_point(s, DBG_POINT_WRITE, DBG_POINT_WRITE,
						      a, size, ret)) ||
		    (m->is_read && dbg_session_point(s, DBG_POINT_READ, DBG_POINT_READ, a,
						     size, ret)) ||
		    dbg_session_point(s, DBG_POINT_ACCESS, DBG_POINT_ACCESS, a, size,
				      ret))
			return true;
	}
	return false;
}

static bool has_watches(const struct dbg_session *s)
{
	return vec_find(&s->points, p, p->kind >= DBG_POINT_WRITE) != NULL;
}

/* The running thread executes an instruction. */
static struct err *step_once(struct dbg_session *s, struct dbg_stop *ret)
{
	const struct dec_where before = s->where;
	const struct dbg_signal *signal;
	struct dec_thread t = {};
	struct err *err = NULL;

	ret->tid = before.tid;
	ret->why = DBG_STOP_STEP;
	leave_place(s);
	if (has_watches(s)) {
		err = dbg_session_thread(s, 0, &t);
		if (!err && is_watched(s, &t, &ret->addr, &ret->point))
			ret->why = DBG_STOP_POINT;
	}
	if (!err)
		err = dec_machine_run(s->machine, before.position + 1, &s->where);
	if (err)
		return err;
	if (s->where.position == before.position && is_over(s)) {
		stop_at_end(s, ret);
		return NULL;
	}
	for (uint64_t seq = before.seq + 1; seq <= s->where.seq && seq < s->events.size;
	     seq++) {
		const struct dbg_event *e = &s->events.data[seq];

		if (e->kind == CAP_EV_SYSCALL && is_caught(s, e->number)) {
			ret->why = DBG_STOP_RETURN;
			ret->number = e->number;
		}
	}
	if (ret->why == DBG_STOP_STEP && s->tells_forks)
		dbg_fork_made(s, before.tid, before.seq, ret);
	signal = handled_in(s, before.seq, s->where.seq);
	if (signal && signal->tid == s->where.tid && ret->why == DBG_STOP_STEP)
		stop_before(s, signal, ret);
	return NULL;
}

static struct err *step_thread(struct dbg_session *s, uint32_t tid, struct dbg_stop *ret)
{
	const struct dec_trap aim = { .on = DEC_TRAP_SWITCH, .tid = tid };
	bool has_met = true;
	struct err *err = NULL;

	if (s->where.tid != tid)
		err = forward(s, &aim, &has_met, ret);
	return err || !has_met ? err : step_once(s, ret);
}

/* What would be many steps: thread @p tid goes on until it is out of [@p from, @p to). */
static struct err *leave_range(struct dbg_session *s, uint32_t tid, uint64_t from,
			       uint64_t to, struct dbg_stop *ret)
{
	const struct dec_trap aim = {
		.on = DEC_TRAP_LEAVE, .tid = tid, .addr = from, .size = to - from
	};
	struct err *err;
	bool has_met;

	err = forward(s, &aim, &has_met, ret);
	if (has_met)
		*ret = (struct dbg_stop){ .why = DBG_STOP_STEP, .tid = tid };
	return err;
}

struct err *dbg_step(struct dbg_session *s, uint32_t tid, uint64_t from, uint64_t to,
		     struct dbg_stop *ret)
{
	struct err *err = NULL;
	unsigned n = 0;
	uint64_t rip;

	*ret = (struct dbg_stop){ .why = DBG_STOP_STEP };
	if (dbg_altered_moves(s))
		return dbg_altered_step(s, from, to, ret);
	if (s->is_before_handler && (!tid || tid == s->where.tid)) {
		if (!enter_handler(s, ret))
			ret->why = DBG_STOP_STEP;
		return NULL;
	}
	tid = tid ?: s->where.tid;
	do {
		struct dec_thread t;

		err = n++ < STEPS_MOST ? step_thread(s, tid, ret) :
					 leave_range(s, tid, from, to, ret);
		if (err || ret->why != DBG_STOP_STEP)
			break;
		rip = s->where.rip;
		if (s->where.tid != tid) {
			err = dbg_session_thread(s, tid, &t);
			rip = t.regs.rip;
		}
		if (!err && s->interrupted && s->interrupted(s->ctx))
			err = err_new(ERR_INTERRUPTED, "interrupted");
	} while (!err && rip >= from && rip < to &&
		 !dbg_session_point(s, DBG_POINT_SOFTWARE, DBG_POINT_HARDWARE, rip, 1,
				    &ret->point));
	return interrupted(s, err, ret);
}

/* ---- back ----------------------------------------------------------------------------------- */

/* Have a checkpoint not far before where it stands. */
static struct err *lay_checkpoint(struct dbg_session *s)
{
	uint64_t at = s->where.position, near = at > NEAR ? at - NEAR : 0;
	struct dec_where w;
	struct err *err;

	if (at - dec_machine_checkpoint_before(s->machine, at) <= FAR)
		return NULL;
	err = dec_machine_seek(s->machine, near, &w);
	return err ?: dec_machine_checkpoint(s->machine);
}

static struct err *seek(struct dbg_session *s, uint64_t position)
{
	struct err *err = position < s->where.position ? lay_checkpoint(s) : NULL;

	return err ?: dec_machine_seek(s->machine, position, &s->where);
}

struct err *dbg_seek(struct dbg_session *s, uint64_t position)
{
	struct err *err = seek(s, position);

	leave_place(s);
	s->has_told_end = false;
	return settle(s, err);
}

/* To the last stop before, or to the last @p aim (NULL: none). */
static struct err *back(struct dbg_session *s, const struct dec_trap *aim, bool *has_met,
			struct dbg_stop *ret)
{
	uint64_t from = s->where.position;
	dbg_traps v = {};
	struct dec_trapped t;
	struct err *err = make_traps(s, aim, &v);
	bool is_done = false;

	*has_met = false;
	s->is_going_back = true;
	leave_place(s);
	while (!err && !is_done) {
		err = dec_machine_back(s->machine, v.data, v.size, 0, &t);
		if (err)
			break;
		s->where = t.where;
		if (t.trap == SIZE_MAX) {
			ret->why = DBG_STOP_BEGIN;
			ret->tid = s->where.tid;
			break;
		}
		err = meet(s, &t, aim, from == t.position + 1, has_met, &is_done, ret);
	}
	vec_deinit(&v);
	return err;
}

struct err *dbg_go_back(struct dbg_session *s, struct dbg_stop *ret)
{
	bool has_met;

	*ret = (struct dbg_stop){};
	dbg_altered_leave(s);
	s->has_told_end = false;
	return interrupted(s, back(s, NULL, &has_met, ret), ret);
}

/* It stands one position before @p after: did a handler of thread @p tid begin between? Then that
 * is undone first. */
static struct err *undo_handler(struct dbg_session *s, const struct dec_where *after,
				uint32_t tid, bool *is_undone, struct dbg_stop *ret)
{
	const struct dbg_signal *signal = handled_in(s, s->where.seq, after->seq);
	struct err *err;

	*is_undone = signal && signal->tid == tid && after->tid == tid;
	if (!*is_undone)
		return NULL;
	err = dec_machine_run(s->machine, after->position, &s->where);
	stop_before(s, signal, ret);
	return err;
}

/* It stands before an instruction that it was to go back over. */
static struct err *stop_stepped_back(struct dbg_session *s, struct dbg_stop *ret)
{
	struct dec_thread t;
	struct err *err;

	ret->tid = s->where.tid;
	ret->why = DBG_STOP_STEP;
	if (!has_watches(s))
		return NULL;
	err = dbg_session_thread(s, 0, &t);
	if (!err && is_watched(s, &t, &ret->addr, &ret->point))
		ret->why = DBG_STOP_POINT;
	return err;
}

static struct err *step_back(struct dbg_session *s, uint32_t tid, bool is_in_handler,
			     struct dbg_stop *ret)
{
	const struct dec_trap aim = { .on = DEC_TRAP_SWITCH };
	const struct dec_where after = s->where;
	bool is_undone = false, has_met = true;
	struct err *err = NULL;

	while (!err && has_met && s->where.position) {
		err = seek(s, s->where.position - 1);
		if (!err && is_in_handler && s->where.position + 1 == after.position)
			err = undo_handler(s, &after, tid, &is_undone, ret);
		if (err || is_undone)
			return err;
		if (s->where.tid == tid)
			return stop_stepped_back(s, ret);
		err = back(s, &aim, &has_met, ret);
	}
	if (!err && has_met)
		*ret = (struct dbg_stop){ .why = DBG_STOP_BEGIN, .tid = s->where.tid };
	return err;
}

struct err *dbg_step_back(struct dbg_session *s, uint32_t tid, struct dbg_stop *ret)
{
	bool is_in_handler = !s->is_before_handler;

	*ret = (struct dbg_stop){};
	dbg_altered_leave(s);
	leave_place(s);
	s->has_told_end = false;
	return interrupted(s, step_back(s, tid ?: s->where.tid, is_in_handler, ret), ret);
}

struct err *dbg_last_write(struct dbg_session *s, uint64_t addr, uint64_t size,
			   uint64_t since, struct dec_trapped *ret)
{
	struct err *err;

	leave_place(s);
	s->has_told_end = false;
	err = dec_machine_last_write(s->machine, addr, size, since, ret);
	if (!err)
		s->where = ret->where;
	return settle(s, err);
}

struct err *dbg_execution(struct dbg_session *s, const uint64_t *rip, size_t n,
			  uint64_t from, uint64_t until, uint64_t nth, uint64_t *ret_met)
{
	struct dec_trapped t;
	struct err *err = dbg_seek(s, from);
	dbg_traps v = {};

	for (size_t i = 0; i < n && !err; i++)
		err = vec_add(&v, (struct dec_trap){ .on = DEC_TRAP_EXECUTE,
						     .addr = rip[i] });
	if (!err)
		err = dec_machine_forward_nth(s->machine, v.data, v.size, until, nth,
					      ret_met, &t);
	if (!err)
		s->where = t.where;
	vec_deinit(&v);
	return settle(s, err);
}

struct err *dbg_checkpoint(struct dbg_session *s)
{
	return dec_machine_checkpoint(s->machine);
}

/* ---- to an event ---------------------------------------------------------------------------- */

static bool has_happened(const struct dbg_session *s, uint64_t seq, uint64_t at_ns)
{
	return at_ns ? s->where.at_ns >= at_ns : s->where.seq >= seq;
}

struct err *dbg_seek_event(struct dbg_session *s, uint64_t seq, uint64_t at_ns)
{
	uint64_t low = 0, high, piece = NEAR;
	struct err *err = NULL;
	bool is_found;

	leave_place(s);
	s->has_told_end = false;
	if (has_happened(s, seq, at_ns))
		err = seek(s, 0);
	// Forward by growing pieces, then the last piece in halves.
	while (!err && !has_happened(s, seq, at_ns) && !is_over(s)) {
		low = s->where.position;
		err = dec_machine_checkpoint(s->machine);
		if (!err)
			err = dec_machine_seek(s->machine, low + piece, &s->where);
		piece = piece < FAR * 16 ? piece * 2 : piece;
	}
	high = s->where.position;
	is_found = !err && has_happened(s, seq, at_ns);
	while (!err && is_found && high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		err = dec_machine_seek(s->machine, middle, &s->where);
		if (has_happened(s, seq, at_ns))
			high = middle;
		else
			low = middle;
	}
	if (!err && s->where.position != high)
		err = dec_machine_seek(s->machine, high, &s->where);
	return settle(s, err);
}
