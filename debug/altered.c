// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "debug/altered.h"

#include <string.h>

#include "decode/machine/branch.h"

// Detours that follow each other without an instruction between them, before they are taken for a
// loop.
#define DETOURS_IN_A_ROW 64

#define FOREVER (UINT64_MAX >> 1)

struct dbg_altered {
	uint64_t position; ///< where it began
	bool is_before_handler;
	struct dec_thread home; ///< the thread whose registers were written first, before
	bool has_home, has_called; ///< registers were written; then it ran
	bool has_others;	   ///< so were another's: it stays until the user moves
	bool has_told_watch, has_told_signal;
	/** gdb called malloc(): for an argument of the function that it will call. */
	bool was_malloc, is_idle;
	bool has_written; ///< memory or registers
	dbg_detours detours;
};

/* ---- in and out ------------------------------------------------------------------------------ */

static struct err *give_regs(struct dbg_session *s, const struct dec_thread *t)
{
	uint8_t value[64] = {};
	struct err *err = NULL;

	for (int i = 0; i < CAP_GPRS && !err; i++) {
		memcpy(value, &t->regs.gpr[i], 8);
		err = dec_machine_set_reg(s->machine, t->tid, i, value);
	}
	memcpy(value, &t->regs.rip, 8);
	if (!err)
		err = dec_machine_set_reg(s->machine, t->tid, DEC_REG_RIP, value);
	memcpy(value, &t->regs.rflags, 8);
	if (!err)
		err = dec_machine_set_reg(s->machine, t->tid, DEC_REG_FLAGS, value);
	return err;
}

static struct err *enter(struct dbg_session *s)
{
	struct dbg_altered *a;
	struct dec_thread t;
	struct err *err;

	if (s->altered)
		return NULL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return &err_nomem;
	a->position = s->where.position;
	a->is_before_handler = s->is_before_handler;
	err = dbg_session_thread(s, 0, &t); // as gdb sees it
	if (!err)
		err = dec_machine_stray(s->machine);
	s->altered = a;
	s->is_before_handler = false;
	if (!err && a->is_before_handler)
		err = give_regs(s, &t);
	if (err)
		dbg_altered_leave(s);
	else if (!s->has_told_altered)
		dbg_session_tell(s, "what you write, and functions that you call, belong "
				    "to an altered run; it is thrown away when the "
				    "function returns, or you go back or seek\n");
	s->has_told_altered = true;
	return err;
}

void dbg_altered_leave(struct dbg_session *s)
{
	struct dbg_altered *a = take_ptr(&s->altered);
	struct err *err;

	if (!a)
		return;
	err = dec_machine_return(s->machine, a->position, &s->where);
	s->is_before_handler = a->is_before_handler;
	if (err)
		s->failure = err;
	for (size_t i = 0; i < a->detours.size; i++)
		dbg_detour_deinit(&a->detours.data[i]);
	vec_deinit(&a->detours);
	free(a);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Is all as it was before gdb called a function? Then that has returned, and gdb has put the
 * registers back. */
static bool is_home(struct dbg_session *s)
{
	const struct dbg_altered *a = s->altered;
	struct dec_thread t;
	struct err *err;

	if (!a->has_home || !a->has_called || a->has_others || a->detours.size)
		return false;
	err = dbg_session_thread(s, a->home.tid, &t);
	if (err) {
		err_destroy(err);
		return false;
	}
	return !memcmp(t.regs.gpr, a->home.regs.gpr, sizeof(t.regs.gpr)) &&
	       t.regs.rip == a->home.regs.rip &&
	       !((t.regs.rflags ^ a->home.regs.rflags) & 0xcd5);
}

/* The machine's register that @p reg is of; -1: none that can be written. */
static int machine_register(const struct dbg_register *reg)
{
	switch (reg->from) {
	case DBG_FROM_GPR:
		return reg->index;
	case DBG_FROM_REGS:
		if (reg->at == offsetof(struct cap_regs, rip))
			return DEC_REG_RIP;
		return reg->at == offsetof(struct cap_regs, rflags) ? DEC_REG_FLAGS : -1;
	case DBG_FROM_STATE:
		return reg->index == DEC_REG_X87 ? -1 : reg->index;
	default:
		return -1;
	}
}

static struct err *write_piece(struct dbg_session *s, const struct dec_thread *t,
			       const struct dbg_register *reg, const uint8_t *value)
{
	int index = machine_register(reg);
	uint8_t whole[160] = {};
	struct err *err = NULL;
	size_t n;

	if (index < 0)
		return err_new(ERR_UNSUPPORTED, "%s cannot be written", reg->name);
	if (reg->from == DBG_FROM_STATE)
		err = dec_machine_thread_reg(s->machine, t->tid, index, whole, &n);
	memcpy(whole + (reg->from == DBG_FROM_STATE ? reg->at : 0), value, reg->bytes);
	return err ?: dec_machine_set_reg(s->machine, t->tid, index, whole);
}

struct err *dbg_altered_set(struct dbg_session *s, uint32_t tid, size_t i,
			    const uint8_t *value)
{
	const struct dbg_register *reg = &s->registers.reg[i];
	struct dbg_values v = { .machine = s->machine, .held = -1 };
	uint8_t now[DBG_REGISTER_BYTES];
	struct err *err = dbg_session_thread(s, tid, &v.thread);

	if (!err)
		err = dbg_registers_read(&s->registers, &v, i, now);
	if (err || !memcmp(now, value, reg->bytes))
		return err;
	if (reg->from ==
	    DBG_FIXED) // orig_rax: no call is under way that would be made again
		return NULL;
	err = enter(s);
	if (!err)
		s->altered->has_written = true;
	if (!err && !s->altered->has_home) {
		s->altered->home = v.thread;
		s->altered->has_home = true;
	}
	if (!err && s->altered->home.tid != v.thread.tid)
		s->altered->has_others = true;
	if (!err)
		err = write_piece(s, &v.thread, reg, value);
	if (err)
		return err;
	s->altered->is_idle = is_home(s);
	if (s->altered->is_idle && s->altered->was_malloc)
		s->altered->was_malloc = s->altered->has_called = false;
	else if (s->altered->is_idle)
		dbg_altered_leave(s);
	return NULL;
}

bool dbg_altered_moves(struct dbg_session *s)
{
	if (s->altered && s->altered->is_idle)
		dbg_altered_leave(s);
	return s->altered != NULL;
}

struct err *dbg_altered_write(struct dbg_session *s, uint64_t addr, const void *bytes,
			      size_t n)
{
	struct err *err = enter(s);

	if (!err) {
		s->altered->is_idle = false;
		s->altered->has_written = true;
	}
	return err ?: dec_machine_write(s->machine, addr, bytes, n);
}

struct err *dbg_altered_detour(struct dbg_session *s, struct dbg_detour *d)
{
	struct err *err = enter(s);

	if (!err)
		err = vec_add(&s->altered->detours, *d);
	if (err)
		dbg_detour_deinit(d);
	else
		s->altered->is_idle = false;
	return err;
}

struct err *dbg_altered_pause(struct dbg_session *s, dbg_detours **ret)
{
	struct dbg_altered *a = s->altered;

	*ret = NULL;
	if (!a || a->has_written || s->where.position != a->position)
		return NULL;
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return &err_nomem;
	**ret = a->detours;
	a->detours = (dbg_detours){};
	dbg_altered_leave(s);
	return NULL;
}

struct err *dbg_altered_resume(struct dbg_session *s, dbg_detours *detours)
{
	struct err *err = NULL;

	for (size_t i = 0; detours && i < detours->size; i++)
		if (err)
			dbg_detour_deinit(&detours->data[i]);
		else
			err = dbg_altered_detour(s, &detours->data[i]);
	if (detours)
		vec_deinit(detours);
	free(detours);
	return err;
}

/* ---- running --------------------------------------------------------------------------------- */

static struct err *set_breaks(struct dbg_session *s, bool is_on)
{
	struct err *err = dbg_detours_break(s, &s->altered->detours, is_on);

	for (size_t i = 0; i < s->points.size && !err; i++)
		if (s->points.data[i].kind <= DBG_POINT_HARDWARE)
			err = dec_machine_break(s->machine, s->points.data[i].addr,
						is_on);
		else if (!s->altered->has_told_watch) {
			s->altered->has_told_watch = true;
			dbg_session_tell(s,
					 "watchpoints do not stop in an altered run\n");
		}
	return err;
}

/* It ended: what that was is told, and gdb sees where it began again. Of a signal gdb first sees
 * where it came, as of any. */
static struct err *end(struct dbg_session *s, struct dbg_stop *ret)
{
	static const char *const fates[] = {
		[DEC_FATE_EXIT] = "exits",
		[DEC_FATE_SIGNAL] = "ends by a signal",
		[DEC_FATE_HANG] = "waits for what nobody will do",
		[DEC_FATE_LIMIT] = "does not end",
		[DEC_FATE_LEFT] = "needs what was never recorded",
		[DEC_FATE_END] = "goes beyond the recording",
		[DEC_FATE_MACHINE] = "cannot be executed further",
	};
	struct dec_outcome o;
	struct err *err = dec_machine_outcome(s->machine, &o);

	if (err)
		return err;
	if (o.fate == DEC_FATE_SIGNAL && !s->altered->has_told_signal) {
		s->altered->has_told_signal = true;
		ret->why = DBG_STOP_SIGNAL;
		ret->signo = o.value;
		return NULL;
	}
	dbg_session_tell(s, "the altered run %s%s%s, at %#lx: it is thrown away\n",
			 fates[o.fate], *o.text || o.fate == DEC_FATE_SIGNAL ? ": " : "",
			 *o.text		   ? o.text :
			 o.fate == DEC_FATE_SIGNAL ? text_signal(o.value) :
						     "",
			 o.rip);
	dbg_altered_leave(s);
	*ret = (struct dbg_stop){ .why = DBG_STOP_LOST, .tid = s->where.tid };
	return NULL;
}

static bool is_at_point(struct dbg_session *s, struct dbg_point *ret)
{
	return dbg_session_point(s, DBG_POINT_SOFTWARE, DBG_POINT_HARDWARE, s->where.rip,
				 1, ret);
}

/* Take the detours that are due. @p has_turned: it stands elsewhere now. */
static struct err *turn(struct dbg_session *s, bool *has_turned)
{
	uint64_t rip, first = s->where.rip;
	struct err *err;
	unsigned n = 0;

	do {
		rip = s->where.rip;
		err = dbg_detours_take(s, &s->altered->detours);
	} while (!err && s->where.rip != rip && ++n < DETOURS_IN_A_ROW);
	*has_turned = s->where.rip != first;
	return err;
}

static struct err *run(struct dbg_session *s, uint64_t until, bool *goes_on,
		       struct dbg_stop *ret)
{
	bool has_turned;
	struct err *err;

	*goes_on = false;
	err = dec_machine_run(s->machine, 0, &s->where);
	if (!err && !s->altered->has_called)
		s->altered->was_malloc = s->where.rip == s->malloc_at;
	s->altered->has_called = s->altered->has_home;
	if (!err)
		err = turn(s, &has_turned);
	if (!err && has_turned && is_at_point(s, &ret->point)) {
		ret->why = DBG_STOP_POINT;
		ret->tid = s->where.tid;
		return NULL;
	}
	if (!err && has_turned && until < FOREVER) {
		ret->tid = s->where.tid;
		return NULL; // a step, of no instruction
	}
	if (!err)
		err = set_breaks(s, true);
	if (!err)
		err = dec_machine_run(s->machine, until, &s->where);
	if (err && err->code == ERR_INTERRUPTED) {
		err_destroy(err);
		ret->why = DBG_STOP_INTERRUPT;
		err = dec_machine_run(s->machine, 0, &s->where);
	}
	if (!err)
		err = set_breaks(s, false);
	ret->tid = s->where.tid;
	if (!err && s->where.at == DEC_AT_END)
		return end(s, ret);
	if (!err && s->where.at == DEC_AT_BREAK) {
		if (is_at_point(s, &ret->point))
			ret->why = DBG_STOP_POINT;
		else
			*goes_on = true; // at a detour
	}
	return err;
}

struct err *dbg_altered_go(struct dbg_session *s, struct dbg_stop *ret)
{
	struct err *err;
	bool goes_on;

	do {
		*ret = (struct dbg_stop){ .why = DBG_STOP_STEP };
		err = run(s, FOREVER, &goes_on, ret);
		if (!err && ret->why == DBG_STOP_POINT && ret->point.code)
			goes_on = !dbg_code_holds(ret->point.code, s->machine);
	} while (!err && goes_on);
	return err;
}

struct err *dbg_altered_step(struct dbg_session *s, uint64_t from, uint64_t to,
			     struct dbg_stop *ret)
{
	struct err *err;
	bool goes_on;

	do {
		*ret = (struct dbg_stop){ .why = DBG_STOP_STEP };
		err = run(s, s->where.position + 1, &goes_on, ret);
		if (!err && ret->why == DBG_STOP_STEP && s->interrupted &&
		    s->interrupted(s->ctx))
			ret->why = DBG_STOP_INTERRUPT;
	} while (!err && ret->why == DBG_STOP_STEP && s->where.rip >= from &&
		 s->where.rip < to);
	return err;
}
