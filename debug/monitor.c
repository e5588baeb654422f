// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * `monitor COMMAND': what gdb has no request for.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "debug/altered.h"
#include "debug/stub.h"

#define WRITE_SHOWN 4096 ///< bytes

static const char help[] =
	"when                       where it stands: position, instructions, event, time\n"
	"seek POSITION|start|end    stand there: a number as `when' tells it\n"
	"seek event N               behind event N of the log (faultline dump)\n"
	"seek time SECONDS          SECONDS after the first event\n"
	"writes ADDR SIZE MOST      the last writes there, the last one first: position, thread,\n"
	"                           instruction, the bytes then; `kernel' where it was that\n"
	"moved                      the thread, if it stands where gdb does not know yet; else 0\n"
	"help                       this\n";

static void say(struct dbg_stub *st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct dbg_stub *st, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	dbg_put_hex(&st->reply, text ?: "", text ? strlen(text) : 0);
}

/* Seconds of @p at_ns after the log's beginning. */
static double seconds(const struct dbg_session *s, uint64_t at_ns)
{
	return at_ns > s->first_ns ? (at_ns - s->first_ns) / 1e9 : 0;
}

static void when(struct dbg_stub *st)
{
	const struct dec_where *w = &st->session.where;

	say(st, "position %lu, instruction %lu, event %lu, %.6f s, thread %u%s\n",
	    w->position, w->instructions, w->seq, seconds(&st->session, w->at_ns), w->tid,
	    st->session.altered ? ", in an altered run" : "");
}

/* @return whether @p text is a number, and nothing else. */
static bool take_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 0);
	return isdigit((unsigned char)*text) && !*end && !errno && *ret <= INT64_MAX;
}

static struct err *seek(struct dbg_stub *st, char *where)
{
	struct dbg_session *s = &st->session;
	uint64_t n;
	char *end;
	double t;

	if (!strcmp(where, "start"))
		return dbg_seek(s, 0);
	if (!strcmp(where, "end"))
		return dbg_seek(s, INT64_MAX);
	if (!strncmp(where, "event ", 6) && take_number(where + 6, &n)) {
		if (n >= s->events.size)
			return err_new(ERR_RANGE, "there are events 0 to %zu",
				       s->events.size - 1);
		return dbg_seek_event(s, n, 0);
	}
	if (!strncmp(where, "time ", 5)) {
		t = strtod(where + 5, &end);
		if (end > where + 5 && !*end && t >= 0 && t < 1e9)
			return dbg_seek_event(s, 0, s->first_ns + (uint64_t)(t * 1e9));
	}
	if (take_number(where, &n))
		return dbg_seek(s, n);
	return err_new(ERR_USAGE, "'%s' is no place: see monitor help", where);
}

static void begin_move(struct dbg_stub *st)
{
	dbg_altered_leave(&st->session);
	st->link.is_interrupted = false;
	st->session.moving_since_s = st->session.told_s = clock_now_s();
	st->is_running = true;
}

static void monitor_seek(struct dbg_stub *st, char *where)
{
	struct err *err;

	begin_move(st);
	err = seek(st, where);
	st->is_running = false;
	if (err && err->code != ERR_RANGE && err->code != ERR_USAGE &&
	    err->code != ERR_INTERRUPTED) {
		say(st, "cannot seek: %s\n", err->message);
		st->session.failure = err;
		return;
	}
	if (err && err->code != ERR_INTERRUPTED) {
		say(st, "cannot seek: %s\n", err->message);
		err_destroy(err);
		return;
	}
	err_destroy(err);
	st->is_moved = true;
	when(st);
}

/* A line for each write; then it stands where it was. */
static struct err *list_writes(struct dbg_stub *st, uint64_t addr, uint64_t size,
			       uint64_t most, struct dbg_text *to)
{
	struct dbg_session *s = &st->session;
	const uint64_t home = s->where.position;
	bool was_before_handler = s->is_before_handler;
	struct err *err = NULL, *back;
	uint8_t bytes[WRITE_SHOWN];

	for (uint64_t i = 0; i < most && !err; i++) {
		struct dec_trapped t;
		struct dec_where w;

		err = dbg_last_write(s, addr, size, &t);
		if (err || t.trap == SIZE_MAX)
			break;
		dbg_print(to, "%lu %u %#lx ", t.position, t.tid, t.where.rip);
		err = dec_machine_seek(s->machine, t.position + 1, &w);
		if (!err)
			dbg_put_hex(to, bytes, dbg_session_read(s, addr, bytes, size));
		dbg_print(to, "%s\n", t.is_by_kernel ? " kernel" : "");
		if (!err)
			err = dbg_seek(s, t.position);
	}
	back = dbg_seek(s, home);
	s->is_before_handler = was_before_handler;
	if (!err)
		return back;
	err_destroy(back);
	return err;
}

static void writes(struct dbg_stub *st, const char *words)
{
	uint64_t addr, size, most;
	struct dbg_text t = {};
	struct err *err;

	if (sscanf(words, "%li %li %li", &addr, &size, &most) != 3 || !size ||
	    size > WRITE_SHOWN || addr + size < addr) {
		say(st, "writes takes an address, 1 to %d bytes, how many writes\n",
		    WRITE_SHOWN);
		return;
	}
	begin_move(st);
	err = list_writes(st, addr, size, most, &t);
	st->is_running = false;
	if (err && err->code != ERR_INTERRUPTED)
		st->session.failure = err;
	else
		err_destroy(err);
	dbg_put_hex(&st->reply, t.bytes.data, t.bytes.size);
	dbg_text_deinit(&t);
}

void dbg_monitor(struct dbg_stub *st, const char *line)
{
	_cleanup_free_ char *copy = strdup(line);
	char *word = copy, *rest;

	if (!copy) {
		dbg_stub_fail(st, &err_nomem);
		return;
	}
	for (char *end = copy + strlen(copy);
	     end > copy && isspace((unsigned char)end[-1]);)
		*--end = 0;
	rest = word + strcspn(word, " ");
	if (*rest)
		*rest++ = 0;
	while (*rest == ' ')
		rest++;
	if (!strcmp(word, "when"))
		when(st);
	else if (!strcmp(word, "moved"))
		say(st, "%u\n", st->is_moved ? st->session.where.tid : 0);
	else if (!strcmp(word, "writes"))
		writes(st, rest);
	else if (!strcmp(word, "seek"))
		monitor_seek(st, rest);
	else if (!strcmp(word, "help"))
		say(st, "%s", help);
	else
		say(st, "there is no command '%s': see monitor help\n", word);
}
