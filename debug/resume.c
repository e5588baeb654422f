// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Moves as gdb asks for them, and what it is told of where they end.
 */
#include <signal.h>
#include <string.h>

#include "debug/altered.h"
#include "debug/stub.h"

/* ---- what is told ---------------------------------------------------------------------------- */

int dbg_signal_number(int number, bool is_back)
{
	// gdb's numbers (include/gdb/signals.def) of those that Linux numbers otherwise.
	static const uint8_t pairs[][2] = {
		{ SIGBUS, 10 },	 { SIGUSR1, 30 }, { SIGUSR2, 31 }, { SIGSTKFLT, 143 },
		{ SIGCHLD, 20 }, { SIGCONT, 19 }, { SIGSTOP, 17 }, { SIGTSTP, 18 },
		{ SIGURG, 16 },	 { SIGIO, 23 },	  { SIGPWR, 32 },  { SIGSYS, 12 },
		{ 32, 77 },	 { 64, 78 },
	};
	int from = is_back, to = !is_back;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i][from] == number)
			return pairs[i][to];
	if (is_back)
		return number >= 45 && number <= 75 ? number - 12 : number;
	return number >= 33 && number <= 63 ? number + 12 : number;
}

static void put_registers(struct dbg_stub *st, uint32_t tid)
{
	static const char *const wanted[] = { "rbp", "rsp", "rip" };
	const struct dbg_registers *r = &st->session.registers;
	struct dbg_values v = { .machine = st->session.machine, .held = -1 };
	_cleanup_err_ struct err *err = dbg_session_thread(&st->session, tid, &v.thread);

	for (size_t i = 0; i < r->n && !err; i++)
		for (size_t k = 0; k < 3 && !err; k++) {
			uint8_t buf[DBG_REGISTER_BYTES];

			if (strcmp(r->reg[i].name, wanted[k]))
				continue;
			err = dbg_registers_read(r, &v, i, buf);
			dbg_print(&st->reply, "%zx:", i);
			dbg_put_hex(&st->reply, buf, r->reg[i].bytes);
			dbg_print(&st->reply, ";");
		}
}

static void put_reason(struct dbg_stub *st, const struct dbg_stop *stop)
{
	static const char *const points[] = { "swbreak", "hwbreak", "watch", "rwatch",
					      "awatch" };
	struct dbg_text *to = &st->reply;

	switch (stop->why) {
	case DBG_STOP_POINT:
		dbg_print(to, "%s:", points[stop->point.kind]);
		if (stop->point.kind >= DBG_POINT_WRITE)
			dbg_print(to, "%lx", stop->addr);
		dbg_print(to, ";");
		break;
	case DBG_STOP_ENTRY:
		dbg_print(to, "syscall_entry:%lx;", stop->number);
		break;
	case DBG_STOP_RETURN:
		dbg_print(to, "syscall_return:%lx;", stop->number);
		break;
	case DBG_STOP_FORK:
	case DBG_STOP_VFORK:
		dbg_print(to, "%s:p%lx.%lx;",
			  stop->why == DBG_STOP_FORK ? "fork" : "vfork", stop->number,
			  stop->number);
		break;
	case DBG_STOP_VFORKED:
		dbg_print(to, "vforkdone:;");
		break;
	case DBG_STOP_EXEC:
		dbg_print(to, "exec:");
		dbg_put_hex(to, st->session.info->exe, strlen(st->session.info->exe));
		dbg_print(to, ";");
		break;
	case DBG_STOP_BEGIN:
		dbg_print(to, "replaylog:begin;");
		break;
	case DBG_STOP_END:
		dbg_print(to, "replaylog:end;");
		break;
	default:
		break;
	}
}

void dbg_resume_tell(struct dbg_stub *st)
{
	const struct dbg_stop *stop = &st->stop;
	int number = SIGTRAP;

	if (stop->why == DBG_STOP_SIGNAL)
		number = dbg_signal_number(stop->signo, false);
	else if (stop->why == DBG_STOP_INTERRUPT)
		number = SIGINT;
	else if (stop->why == DBG_STOP_LOST ||
		 (stop->why == DBG_STOP_PLACE && st->is_moved))
		number = 0;
	dbg_print(&st->reply, "T%02x", number);
	put_reason(st, stop);
	dbg_print(&st->reply, "thread:");
	dbg_stub_put_thread(st, &st->reply, stop->tid);
	dbg_print(&st->reply, ";");
	put_registers(st, stop->tid);
}

/* ---- moves ----------------------------------------------------------------------------------- */

struct move {
	bool is_back, is_step;
	uint32_t tid;
	uint64_t from, to; ///< of a step: as long as it is in there
};

static struct err *make(struct dbg_session *s, const struct move *m, struct dbg_stop *ret)
{
	if (m->is_back)
		return m->is_step ? dbg_step_back(s, m->tid, ret) : dbg_go_back(s, ret);
	return m->is_step ? dbg_step(s, m->tid, m->from, m->to, ret) : dbg_go(s, ret);
}

/* What gdb has to know before anything moves. @return whether there is something. */
static bool owes(struct dbg_stub *st, struct dbg_stop *ret)
{
	*ret = (struct dbg_stop){ .tid = st->session.where.tid };
	if (!st->has_to_vfork && !st->has_to_exec)
		return false;
	ret->why = st->has_to_exec ? DBG_STOP_EXEC : DBG_STOP_VFORKED;
	st->has_to_vfork = st->has_to_exec = false;
	return true;
}

static void resume(struct dbg_stub *st, const struct move *m)
{
	struct dbg_session *s = &st->session;
	struct err *err = NULL;

	if (owes(st, &st->stop)) {
		dbg_resume_tell(st);
		return;
	}
	// It was put elsewhere behind gdb's back: this is how gdb learns of it.
	if (st->is_moved) {
		st->stop =
			(struct dbg_stop){ .why = DBG_STOP_PLACE, .tid = s->where.tid };
	} else {
		st->link.is_interrupted = false;
		s->moving_since_s = s->told_s = clock_now_s();
		st->is_running = true;
		err = make(s, m, &st->stop);
		st->is_running = false;
	}
	st->general = st->stop.tid; // so gdb takes it
	st->has_to_vfork = st->stop.why == DBG_STOP_VFORK;
	if (st->has_to_vfork || st->stop.why == DBG_STOP_FORK)
		st->child = st->stop.number;
	if (err) {
		// The machine is lost, and with it all that there is to see.
		s->failure = err;
		st->is_running = true;
		dbg_session_tell(s, "faultline: %s\n", err->message);
		st->is_running = false;
		dbg_print(&st->reply, "X09");
		return;
	}
	dbg_resume_tell(st);
	st->is_moved = false;
}

void dbg_resume(struct dbg_stub *st, struct dbg_cursor *c)
{
	const struct move m = { .is_step = *c->at == 's' || *c->at == 'S',
				.tid = st->stepping };

	resume(st, &m);
}

void dbg_resume_back(struct dbg_stub *st, struct dbg_cursor *c)
{
	const struct move m = { .is_back = true,
				.is_step = c->at[1] == 's',
				.tid = st->stepping };

	resume(st, &m);
}

/* One action of vCont. @return whether it is a step. */
static bool take_action(struct dbg_cursor *c, struct move *m)
{
	uint64_t ignored;
	bool is_step = true;

	m->from = m->to = 0;
	if (dbg_take(c, "r")) {
		dbg_take_hex(c, &m->from);
		dbg_take(c, ",");
		dbg_take_hex(c, &m->to);
	} else if (dbg_take(c, "S")) {
		dbg_take_hex(c, &ignored); // signals come from the recording
	} else {
		is_step = dbg_take(c, "s");
	}
	return is_step;
}

void dbg_resume_vcont(struct dbg_stub *st, struct dbg_cursor *c)
{
	struct move m = {};
	struct err *err = NULL;
	bool is_child = false;
	uint32_t pid = 0;

	// Threads run as recorded: the first one that steps says how far, all do what comes before.
	do {
		struct move one = {};

		one.is_step = take_action(c, &one);
		while (dbg_left(c) && *c->at != ':' && *c->at != ';')
			c->at++;
		if (dbg_take(c, ":"))
			dbg_stub_take_thread(c, &pid, &one.tid);
		if (pid && pid != st->session.info->pid && !err) {
			is_child = st->has_to_vfork && pid == st->child;
			err = is_child ? NULL :
					 err_new(ERR_UNSUPPORTED,
						 "process %u is not the one that is "
						 "debugged: see help process",
						 pid);
		}
		if (one.is_step && !m.is_step)
			m = one;
	} while (dbg_take(c, ";"));
	// Of vfork() gdb leaves the parent only when the child does not use its memory any more.
	if (!err && is_child)
		err = dbg_stub_follow(st);
	if (err)
		dbg_stub_fail(st, err);
	else
		resume(st, &m);
}
