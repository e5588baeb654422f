// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "debug/stub.h"

#include <signal.h>
#include <string.h>

#include "debug/altered.h"

/* ---- answers --------------------------------------------------------------------------------- */

void dbg_stub_fail(struct dbg_stub *st, struct err *err)
{
	st->reply.bytes.size = 0;
	dbg_print(&st->reply, "E.");
	dbg_put_binary(&st->reply, err->message, strlen(err->message));
	err_destroy(err);
}

void dbg_stub_ok(struct dbg_stub *st)
{
	dbg_print(&st->reply, "OK");
}

static void finish(struct dbg_stub *st, struct err *err)
{
	if (err)
		dbg_stub_fail(st, err);
	else
		dbg_stub_ok(st);
}

static void fail_usage(struct dbg_stub *st)
{
	dbg_print(&st->reply, "E01");
}

void dbg_stub_put_thread(struct dbg_stub *st, struct dbg_text *to, uint32_t tid)
{
	if (st->is_multiprocess)
		dbg_print(to, "p%x.", st->session.info->pid);
	dbg_print(to, "%x", tid);
}

bool dbg_stub_take_thread(struct dbg_cursor *c, uint32_t *pid, uint32_t *ret)
{
	uint64_t n = 0;

	*ret = *pid = 0;
	if (dbg_take(c, "p")) {
		if (!dbg_take(c, "-1") && !dbg_take_hex(c, &n))
			return false;
		*pid = n;
		if (!dbg_take(c, "."))
			return true;
	}
	if (dbg_take(c, "-1"))
		return true;
	if (!dbg_take_hex(c, &n))
		return false;
	*ret = n;
	return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void select_thread(struct dbg_stub *st, struct dbg_cursor *c)
{
	bool is_general = dbg_take(c, "g");
	struct dec_thread t;
	struct err *err = NULL;
	uint32_t pid, tid;
	bool is_elsewhere;

	if ((!is_general && !dbg_take(c, "c")) || !dbg_stub_take_thread(c, &pid, &tid)) {
		fail_usage(st);
		return;
	}
	// A child that was just made looks as its parent does.
	is_elsewhere = pid && pid == st->child && pid != st->session.info->pid;
	tid = is_elsewhere ? 0 : tid;
	st->is_elsewhere = is_general ? is_elsewhere : st->is_elsewhere;
	if (tid)
		err = dbg_session_thread(&st->session, tid, &t);
	if (!err && is_general)
		st->general = tid;
	else if (!err)
		st->stepping = tid;
	finish(st, err);
}

static void is_alive(struct dbg_stub *st, struct dbg_cursor *c)
{
	struct dec_thread t;
	uint32_t pid, tid;

	if (dbg_stub_take_thread(c, &pid, &tid))
		finish(st, dbg_session_thread(&st->session, tid, &t));
	else
		fail_usage(st);
}

static void list_threads(struct dbg_stub *st, struct dbg_cursor *c)
{
	struct dec_thread t;
	struct err *err;

	(void)c;
	dbg_print(&st->reply, "m");
	for (size_t i = 0; !(err = dec_machine_thread(st->session.machine, i, &t)); i++) {
		if (i)
			dbg_print(&st->reply, ",");
		dbg_stub_put_thread(st, &st->reply, t.tid);
	}
	err_destroy(err);
}

static void list_no_more(struct dbg_stub *st, struct dbg_cursor *c)
{
	(void)c;
	dbg_print(&st->reply, "l");
}

static void tell_thread(struct dbg_stub *st, struct dbg_cursor *c)
{
	(void)c;
	dbg_print(&st->reply, "QC");
	dbg_stub_put_thread(st, &st->reply, st->session.where.tid);
}

/* ---- registers ------------------------------------------------------------------------------- */

static struct err *values_of(struct dbg_stub *st, struct dbg_values *v)
{
	*v = (struct dbg_values){ .machine = st->session.machine, .held = -1 };
	return dbg_session_thread(&st->session, st->general, &v->thread);
}

static void read_registers(struct dbg_stub *st, struct dbg_cursor *c)
{
	const struct dbg_registers *r = &st->session.registers;
	uint8_t buf[DBG_REGISTER_BYTES];
	struct dbg_values v;
	struct err *err = values_of(st, &v);

	(void)c;
	for (size_t i = 0; i < r->n && !err; i++) {
		err = dbg_registers_read(r, &v, i, buf);
		if (!err)
			dbg_put_hex(&st->reply, buf, r->reg[i].bytes);
	}
	if (err)
		dbg_stub_fail(st, err);
}

static void read_register(struct dbg_stub *st, struct dbg_cursor *c)
{
	const struct dbg_registers *r = &st->session.registers;
	uint8_t buf[DBG_REGISTER_BYTES];
	struct dbg_values v;
	struct err *err;
	uint64_t i;

	if (!dbg_take_hex(c, &i) || i >= r->n) {
		fail_usage(st);
		return;
	}
	err = values_of(st, &v);
	if (!err)
		err = dbg_registers_read(r, &v, i, buf);
	if (err)
		dbg_stub_fail(st, err);
	else
		dbg_put_hex(&st->reply, buf, r->reg[i].bytes);
}

static void write_registers(struct dbg_stub *st, struct dbg_cursor *c)
{
	const struct dbg_registers *r = &st->session.registers;
	struct err *err = NULL;

	for (size_t i = 0; i < r->n && !err; i++) {
		uint8_t buf[DBG_REGISTER_BYTES];

		if (dbg_take_bytes(c, buf, r->reg[i].bytes) < r->reg[i].bytes)
			break; // gdb may leave out the last
		err = dbg_altered_set(&st->session, st->general, i, buf);
	}
	finish(st, err);
}

static void write_register(struct dbg_stub *st, struct dbg_cursor *c)
{
	const struct dbg_registers *r = &st->session.registers;
	uint8_t buf[DBG_REGISTER_BYTES] = {};
	uint64_t i;

	if (!dbg_take_hex(c, &i) || i >= r->n || !dbg_take(c, "=") ||
	    dbg_take_bytes(c, buf, r->reg[i].bytes) < r->reg[i].bytes)
		fail_usage(st);
	else
		finish(st, dbg_altered_set(&st->session, st->general, i, buf));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool take_range(struct dbg_cursor *c, uint64_t *addr, uint64_t *size)
{
	return dbg_take_hex(c, addr) && dbg_take(c, ",") && dbg_take_hex(c, size);
}

/* @p is_binary: 16's request, whose answer begins with "b". */
static void read_memory_as(struct dbg_stub *st, struct dbg_cursor *c, bool is_binary)
{
	uint8_t buf[DBG_PACKET_MOST / 2];
	uint64_t addr, size;
	size_t n;

	if (!take_range(c, &addr, &size)) {
		fail_usage(st);
		return;
	}
	size = size < sizeof(buf) - 16 ? size : sizeof(buf) - 16;
	n = dbg_session_read(&st->session, addr, buf, size);
	if (size && !n)
		dbg_print(&st->reply, "E0e"); // EFAULT
	else if (is_binary)
		dbg_put(&st->reply, "b", 1), dbg_put_binary(&st->reply, buf, n);
	else
		dbg_put_hex(&st->reply, buf, n);
}

static void read_memory(struct dbg_stub *st, struct dbg_cursor *c)
{
	read_memory_as(st, c, false);
}

static void read_memory_binary(struct dbg_stub *st, struct dbg_cursor *c)
{
	read_memory_as(st, c, true);
}

static void write_memory(struct dbg_stub *st, struct dbg_cursor *c)
{
	uint8_t buf[DBG_PACKET_MOST / 2];
	uint64_t addr, size;

	if (!take_range(c, &addr, &size) || !dbg_take(c, ":") || size > sizeof(buf) ||
	    dbg_take_bytes(c, buf, size) < size)
		fail_usage(st);
	else
		finish(st, dbg_altered_write(&st->session, addr, buf, size));
}

static void write_memory_binary(struct dbg_stub *st, struct dbg_cursor *c)
{
	uint64_t addr, size;

	if (!take_range(c, &addr, &size) || !dbg_take(c, ":") || dbg_left(c) < size)
		fail_usage(st);
	else if (!size) // whether there is this request
		dbg_stub_ok(st);
	else
		finish(st, dbg_altered_write(&st->session, addr, c->at, size));
}

/* ---- where to stop --------------------------------------------------------------------------- */

/* @p is_set: Z, else z. */
static void change_point(struct dbg_stub *st, struct dbg_cursor *c, bool is_set)
{
	struct dbg_session *s = &st->session;
	struct dbg_code *code = NULL;
	struct dbg_point p = {};
	struct err *err = NULL;
	uint64_t kind;

	if (!dbg_take_hex(c, &kind) || !dbg_take(c, ",") ||
	    !take_range(c, &p.addr, &p.size)) {
		fail_usage(st);
		return;
	}
	if (kind > DBG_POINT_ACCESS)
		return; // not supported
	p.kind = kind;
	if (kind >= DBG_POINT_WRITE && (!p.size || p.addr + p.size < p.addr)) {
		fail_usage(st);
		return;
	}
	if (st->is_elsewhere)
		is_set = false; // a child's
	else if (!is_set)
		dbg_point_clear(s, &p);
	else if (kind <= DBG_POINT_HARDWARE)
		err = dbg_code_take(s, c, &code);
	if (!err && is_set)
		err = dbg_point_set(s, &p, code);
	finish(st, err);
}

static void set_point(struct dbg_stub *st, struct dbg_cursor *c)
{
	change_point(st, c, true);
}

static void clear_point(struct dbg_stub *st, struct dbg_cursor *c)
{
	change_point(st, c, false);
}

static void catch_calls(struct dbg_stub *st, struct dbg_cursor *c)
{
	struct dbg_session *s = &st->session;
	struct err *err = NULL;
	uint64_t number;

	s->calls.size = 0;
	s->catches_calls = dbg_take(c, "1");
	while (dbg_take(c, ";") && dbg_take_hex(c, &number) && !err)
		err = vec_add(&s->calls, (int64_t)number);
	finish(st, err);
}

static void pass_signals(struct dbg_stub *st, struct dbg_cursor *c)
{
	uint64_t number;

	st->session.passes = 0;
	while (dbg_take_hex(c, &number)) {
		int signo = number < 256 ? dbg_signal_number(number, true) : 0;

		if (signo > 0 && signo < 64)
			st->session.passes |= UINT64_C(1) << signo;
		dbg_take(c, ";");
	}
	dbg_stub_ok(st);
}

/* ---- the session ----------------------------------------------------------------------------- */

static bool offers(const struct dbg_cursor *c, const char *what)
{
	return memmem(c->at, dbg_left(c), what, strlen(what)) != NULL;
}

static void agree(struct dbg_stub *st, struct dbg_cursor *c)
{
	st->is_multiprocess = offers(c, "multiprocess+");
	// Who knows of one of the three knows of all.
	st->session.tells_forks = st->is_multiprocess && offers(c, "vfork-events+") &&
				  offers(c, "exec-events+");
	dbg_print(&st->reply,
		  "PacketSize=%x;QStartNoAckMode+;multiprocess+;swbreak+;hwbreak+;"
		  "vContSupported+;QCatchSyscalls+;QPassSignals+;binary-upload+;"
		  "ConditionalBreakpoints+;BreakpointCommands+;"
		  "ReverseStep+;ReverseContinue+;qXfer:features:read+;qXfer:auxv:read+;"
		  "qXfer:exec-file:read+;qXfer:threads:read+;qXfer:siginfo:read+;"
		  "qXfer:libraries-svr4:read+;qXfer:memory-map:read+%s",
		  DBG_PACKET_MOST,
		  st->session.tells_forks ? ";fork-events+;vfork-events+;exec-events+" :
					    "");
}

static void want_no_acks(struct dbg_stub *st, struct dbg_cursor *c)
{
	(void)c;
	dbg_stub_ok(st);
	st->link.has_no_acks = true;
	st->link.reader.checks = false;
}

static void say_ok(struct dbg_stub *st, struct dbg_cursor *c)
{
	(void)c;
	dbg_stub_ok(st);
}

/* Was another program executed before what was recorded of this process begins? The kernel leaves it
 * no registers but the stack pointer. */
static bool is_executed(struct dbg_session *s)
{
	struct dec_thread t;
	_cleanup_err_ struct err *err = dbg_session_thread(s, 0, &t);
	uint64_t any = 0;

	for (int i = 0; i < CAP_GPRS && !err; i++)
		any |= i == CAP_RSP ? 0 : t.regs.gpr[i];
	return !err && !any && s->info->exe;
}

struct err *dbg_stub_follow(struct dbg_stub *st)
{
	const struct dbg_options *o = st->options;
	struct capture *c;
	struct err *err = o->open(o->ctx, st->child, &c);

	if (err) { // what gdb shows of it is that something is wrong
		dbg_session_tell(&st->session,
				 "cannot follow the child: %s (see record -f, set "
				 "follow-fork-mode)\n",
				 err->message);
		return err;
	}
	err = dbg_session_follow(&st->session, c);
	capture_close(st->followed);
	st->followed = c;
	st->session.failure = err;
	st->general = st->stepping = 0;
	st->is_elsewhere = st->has_to_vfork = false;
	st->has_to_exec = !err && is_executed(&st->session);
	st->stop =
		(struct dbg_stop){ .why = DBG_STOP_PLACE, .tid = st->session.where.tid };
	return NULL;
}

/* gdb leaves a process: one of a parent and its child, and goes on with the other; or the last. */
static void leave(struct dbg_stub *st, struct dbg_cursor *c)
{
	uint64_t pid = st->session.info->pid;
	bool is_own = !dbg_take(c, ";") || !dbg_take_hex(c, &pid) ||
		      pid == st->session.info->pid;
	struct err *err = NULL;

	if (is_own && st->stop.why == DBG_STOP_FORK)
		err = dbg_stub_follow(st);
	else // with two processes gdb has files to close yet
		st->has_to_end = is_own && !st->followed;
	finish(st, err);
}

static void leave_silently(struct dbg_stub *st, struct dbg_cursor *c)
{
	(void)c;
	st->has_to_end = true;
}

static void tell_attached(struct dbg_stub *st, struct dbg_cursor *c)
{
	(void)c;
	dbg_print(&st->reply, "1"); // quitting detaches: nothing is killed
}

static void tell_stop(struct dbg_stub *st, struct dbg_cursor *c)
{
	(void)c;
	dbg_resume_tell(st);
}

/* `run': once more from the beginning. */
static void restart(struct dbg_stub *st, struct dbg_cursor *c)
{
	struct err *err;

	(void)c;
	dbg_altered_leave(&st->session);
	err = dbg_seek(&st->session, 0);
	if (err) {
		dbg_stub_fail(st, err);
		return;
	}
	st->stop =
		(struct dbg_stop){ .why = DBG_STOP_PLACE, .tid = st->session.where.tid };
	st->general = st->stepping = 0;
	dbg_resume_tell(st);
}

static void tell_vcont(struct dbg_stub *st, struct dbg_cursor *c)
{
	(void)c;
	dbg_print(&st->reply, "vCont;c;C;s;S;t;r");
}

static void command(struct dbg_stub *st, struct dbg_cursor *c)
{
	char line[1024];
	size_t n = dbg_take_bytes(c, (uint8_t *)line, sizeof(line) - 1);

	line[n] = 0;
	dbg_monitor(st, line);
}

/* ---- which is whose -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*answer)(struct dbg_stub *st, struct dbg_cursor *c);
	bool is_whole; ///< the name is all of it
} requests[] = {
	{ "m", read_memory, false },
	{ "p", read_register, false },
	{ "g", read_registers, true },
	{ "H", select_thread, false },
	{ "vCont;", dbg_resume_vcont, false },
	{ "Z", set_point, false },
	{ "z", clear_point, false },
	{ "T", is_alive, false },
	{ "x", read_memory_binary, false },
	{ "M", write_memory, false },
	{ "X", write_memory_binary, false },
	{ "P", write_register, false },
	{ "G", write_registers, false },
	{ "qXfer:", dbg_object_read, false },
	{ "vFile:", dbg_file_request, false },
	{ "bc", dbg_resume_back, true },
	{ "bs", dbg_resume_back, true },
	{ "c", dbg_resume, false },
	{ "C", dbg_resume, false },
	{ "s", dbg_resume, false },
	{ "S", dbg_resume, false },
	{ "?", tell_stop, true },
	{ "!", say_ok, true },
	{ "vCont?", tell_vcont, true },
	{ "qSupported", agree, false },
	{ "QStartNoAckMode", want_no_acks, true },
	{ "qfThreadInfo", list_threads, true },
	{ "qsThreadInfo", list_no_more, true },
	{ "qC", tell_thread, true },
	{ "qAttached", tell_attached, false },
	{ "qRcmd,", command, false },
	{ "QCatchSyscalls:", catch_calls, false },
	{ "QPassSignals:", pass_signals, false },
	{ "QProgramSignals:", say_ok, false },
	{ "QNonStop:0", say_ok, true },
	{ "qSymbol:", dbg_storage_symbol, false },
	{ "qGetTLSAddr:", dbg_storage_address, false },
	{ "vCtrlC", say_ok, true },
	{ "vRun;", restart, false },
	{ "vKill;", say_ok, false },
	{ "D", leave, false },
	{ "k", leave_silently, true },
};

void dbg_stub_answer(struct dbg_stub *st)
{
	const struct dbg_reader *r = &st->link.reader;
	struct dbg_cursor c = { r->data, r->data + r->size };

	st->reply.bytes.size = 0;
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		struct dbg_cursor rest = c;

		if (dbg_take(&rest, requests[i].name) &&
		    (!requests[i].is_whole || !dbg_left(&rest))) {
			// Those that share a function tell themselves apart.
			if (requests[i].answer == dbg_resume ||
			    requests[i].answer == dbg_resume_back)
				rest = c;
			requests[i].answer(st, &rest);
			break;
		}
	}
	if (st->reply.is_out_of_memory || !(r->size == 1 && *r->data == 'k'))
		dbg_link_send(&st->link, st->reply.bytes.data, st->reply.bytes.size);
	st->reply.is_out_of_memory = false;
}

/* ---- serving --------------------------------------------------------------------------------- */

static bool wants_stop(void *ctx)
{
	struct dbg_stub *st = ctx;

	return dbg_link_poll(&st->link);
}

/* What there is to tell goes to gdb's console, where that can be: while it waits. */
static void tell(void *ctx, const char *text)
{
	struct dbg_stub *st = ctx;
	struct dbg_text t = {};

	if (!st->is_running) { // gdb shows what its pipe says there
		fprintf(stderr, "faultline: %s", text);
		return;
	}
	dbg_print(&t, "O");
	dbg_put_hex(&t, text, strlen(text));
	dbg_link_send(&st->link, t.bytes.data, t.bytes.size);
	dbg_text_deinit(&t);
}

static void serve_one(struct dbg_stub *st)
{
	st->has_to_end = false;
	st->stop =
		(struct dbg_stop){ .why = DBG_STOP_PLACE, .tid = st->session.where.tid };
	while (!st->has_to_end && !st->session.failure && dbg_link_receive(&st->link))
		dbg_stub_answer(st);
	dbg_files_close(st);
	dbg_session_reset(&st->session);
	st->general = st->stepping = 0;
	st->is_moved = st->is_multiprocess = false;
	st->is_elsewhere = st->has_to_vfork = st->has_to_exec = false;
	st->child = 0;
	st->module_number_at = st->session.malloc_at = 0;
	dbg_link_close(&st->link);
}

static struct err *serve(struct dbg_stub *st, const struct capture *c,
			 const struct dbg_options *o)
{
	struct err *err = dbg_session_init(&st->session, c);

	st->session.interrupted = wants_stop;
	st->session.tell = tell;
	st->session.ctx = st;
	if (!err && o->position)
		err = dbg_seek(&st->session, o->position);
	if (err)
		return err;
	if (o->listener < 0)
		serve_one(st);
	else
		while (!st->session.failure && dbg_link_accept(&st->link))
			serve_one(st);
	return take_ptr(&st->session.failure);
}

struct err *dbg_serve(const struct capture *c, const struct dbg_options *o)
{
	struct dbg_stub *st = calloc(1, sizeof(*st));
	struct err *err;

	if (!st)
		return &err_nomem;
	signal(SIGPIPE, SIG_IGN);
	st->options = o;
	dbg_link_init(&st->link, o->in, o->out, o->listener);
	err = serve(st, c, o);
	dbg_session_deinit(&st->session);
	capture_close(st->followed);
	dbg_link_deinit(&st->link);
	dbg_text_deinit(&st->reply);
	free(st);
	return err;
}
