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

static const char help[] =
	"when                       where it stands: position, instructions, event, time\n"
	"seek POSITION|start|end    stand there: a number as `when' tells it\n"
	"seek event N               behind event N of the log (faultline dump)\n"
	"seek time SECONDS          SECONDS after the first event\n"
	"seek execution N ADDR...   where one of the instructions is executed the Nth time\n"
	"writes ADDR SIZE MOST [SINCE [UNTIL]]\n"
	"                           the last writes there, the last one first: position, thread,\n"
	"                           instruction, the bytes then; `kernel' where it was that\n"
	"defines REGISTER THREAD MOST [SINCE [UNTIL]]\n"
	"                           the same of a register (rax, zmm1)\n"
	"origin m ADDR SIZE [UNTIL], origin r REGISTER THREAD SIZE [UNTIL]\n"
	"                           where the value was before, the latest first: how, position,\n"
	"                           thread, instruction, value, place; last, what it began as\n"
	"count ADDR...              how often one of the instructions was executed before here\n"
	"next POSITION ADDR...      where one of them is executed next\n"
	"slice WORD...              what had a part in it: crash, i:POSITION (what an instruction\n"
	"                           used), r:POSITION:REGISTER:BYTES, m:POSITION:ADDR:BYTES before it;\n"
	"                           not followed: R:REGISTER, M:FROM:TO, C:FROM:TO (code), S:FROM:TO\n"
	"                           (what that stores is an input); b:POSITION: back to there. Tells\n"
	"                           nodes, instances, whether it is incomplete, where it ended, the\n"
	"                           run's end\n"
	"slice-nodes FROM           some of them: position, thread, instruction, the one that needed\n"
	"                           it, as data, address, control; register, memory or input\n"
	"at-crash                   whether a signal ended the run here: yes, no\n"
	"checkpoint                 make coming back here quick; tells the position\n"
	"alter NTH TURN...          from here on in an altered run, in each instance of a\n"
	"                           statement (NTH 0) or the Nth from here. s:ADDR: an instance\n"
	"                           begins; j:ADDR:TO jump; f:ADDR:TAKEN:NOT_TAKEN let a branch\n"
	"                           decide and go there (0: on); r:ADDR return at once\n"
	"processes                  those that were recorded\n"
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
	char recorded[64] = "";

	if (capture_info(st->session.capture)->slice_of)
		snprintf(recorded, sizeof(recorded), " (recorded at %lu)", w->recorded);
	say(st, "position %lu%s, instruction %lu, event %lu, %.6f s, thread %u%s\n",
	    w->position, recorded, w->instructions, w->seq,
	    seconds(&st->session, w->at_ns), w->tid,
	    st->session.altered ? ", in an altered run" : "");
}

static bool is_at_crash(const struct dbg_session *s)
{
	return s->where.at == DEC_AT_END && s->where.end == CAP_END_SIGNAL;
}

/* @return whether @p text is a number, and nothing else. */
static bool take_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 0);
	return isdigit((unsigned char)*text) && !*end && !errno && *ret <= INT64_MAX;
}

#define ADDRESSES_MOST 256

/* Take addresses, hexadecimal. @return how many; 0: something else is there, or too many. */
static size_t take_addresses(const char *words, uint64_t to[ADDRESSES_MOST])
{
	struct dbg_cursor c = { words, words + strlen(words) };
	size_t n = 0;

	while (dbg_left(&c) && n < ADDRESSES_MOST && dbg_take_hex(&c, &to[n])) {
		n++;
		while (dbg_take(&c, " "))
			;
	}
	return dbg_left(&c) ? 0 : n;
}

static struct err *seek_execution(struct dbg_session *s, const char *words)
{
	uint64_t rip[ADDRESSES_MOST], met = 0, nth = 0, home = s->where.position;
	struct err *err;
	size_t n = 0;
	int used;

	if (sscanf(words, "%lu %n", &nth, &used) == 1 && nth)
		n = take_addresses(words + used, rip);
	if (!n)
		return err_new(ERR_USAGE, "seek execution takes a number from 1, and "
					  "addresses");
	err = dbg_execution(s, rip, n, 0, INT64_MAX, nth, &met);
	if (err || met == nth)
		return err;
	err = dbg_seek(s, home);
	return err ?: err_new(ERR_RANGE, "it is executed %lu times", met);
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
	if (!strncmp(where, "execution ", 10))
		return seek_execution(s, where + 10);
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

/* ---- what looks elsewhere, and comes back ---------------------------------------------------- */

/* Come back to where it was. */
static struct err *come_back(struct dbg_session *s, uint64_t position,
			     bool was_before_handler, struct err *err)
{
	struct err *back = dbg_seek(s, position);

	s->is_before_handler = was_before_handler;
	if (!err)
		return back;
	err_destroy(back);
	return err;
}

/* How often one of the addresses was executed before here. */
static struct err *count(struct dbg_session *s, const char *words, struct dbg_text *to)
{
	uint64_t rip[ADDRESSES_MOST], met = 0, home = s->where.position;
	size_t n = take_addresses(words, rip);
	bool was_before_handler = s->is_before_handler;
	struct err *err;

	if (!n)
		return err_new(ERR_USAGE, "count takes addresses");
	err = dbg_execution(s, rip, n, 0, home, 0, &met);
	dbg_print(to, "%lu\n", met);
	return come_back(s, home, was_before_handler, err);
}

/* The position where one of the addresses is executed first at or behind a position. */
static struct err *next(struct dbg_session *s, const char *words, struct dbg_text *to)
{
	uint64_t rip[ADDRESSES_MOST], met = 0, home = s->where.position, from;
	bool was_before_handler = s->is_before_handler;
	struct err *err;
	size_t n = 0;
	int used;

	if (sscanf(words, "%lu %n", &from, &used) == 1)
		n = take_addresses(words + used, rip);
	if (!n)
		return err_new(ERR_USAGE, "next takes a position and addresses");
	err = dbg_execution(s, rip, n, from ? from - 1 : 0, INT64_MAX, 1, &met);
	if (met)
		dbg_print(to, "%lu\n", s->where.position);
	else
		dbg_print(to, "none\n");
	return come_back(s, home, was_before_handler, err);
}

static struct err *checkpoint(struct dbg_session *s, const char *words,
			      struct dbg_text *to)
{
	(void)words;
	dbg_print(to, "%lu\n", s->where.position);
	return dbg_checkpoint(s);
}

static const struct {
	const char *name;
	struct err *(*look)(struct dbg_session *s, const char *words,
			    struct dbg_text *to);
} looks[] = {
	{ "writes", dbg_trail_writes },
	{ "defines", dbg_trail_defines },
	{ "origin", dbg_trail_origin },
	{ "count", count },
	{ "next", next },
	{ "checkpoint", checkpoint },
	{ "slice", dbg_slices_make },
	{ "slice-nodes", dbg_slices_nodes },
};

/* Go on in the altered run that was left for @p err's question. */
static struct err *resume_altered(struct dbg_session *s, dbg_detours *detours,
				  struct err *err)
{
	struct err *again = dbg_altered_resume(s, detours);

	if (!err)
		return again;
	err_destroy(again);
	return err;
}

/* @return whether @p word is one of those. */
static bool look(struct dbg_stub *st, const char *word, const char *words)
{
	dbg_detours *detours = NULL;
	struct dbg_text t = {};
	struct err *err;
	size_t i = 0;

	while (i < sizeof(looks) / sizeof(*looks) && strcmp(word, looks[i].name))
		i++;
	if (i == sizeof(looks) / sizeof(*looks))
		return false;
	err = dbg_altered_pause(&st->session, &detours);
	if (!err && st->session.altered) {
		say(st,
		    "cannot look at what was before: this is an altered run; `seek' or "
		    "going back leaves it\n");
		return true;
	}
	begin_move(st);
	if (!err)
		err = looks[i].look(&st->session, words, &t);
	st->is_running = false;
	err = resume_altered(&st->session, detours, err);
	if (err && err->code != ERR_USAGE && err->code != ERR_INTERRUPTED)
		st->session.failure = err;
	else if (err) {
		t.bytes.size = 0;
		say(st, "cannot tell: %s\n", err->message);
		err_destroy(err);
	}
	dbg_put_hex(&st->reply, t.bytes.data, t.bytes.size);
	dbg_text_deinit(&t);
	return true;
}

/* ---- altering -------------------------------------------------------------------------------- */

static void alter(struct dbg_stub *st, const char *words)
{
	struct dbg_detour d;
	struct err *err = dbg_detour_parse(words, &d);

	if (!err)
		err = dbg_altered_detour(&st->session, &d);
	if (!err)
		return;
	say(st, "cannot alter the run: %s\n", err->message);
	err_destroy(err);
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
	else if (!strcmp(word, "at-crash"))
		say(st, "%s\n", is_at_crash(&st->session) ? "yes" : "no");
	else if (look(st, word, rest))
		; // it has said what there is to say
	else if (!strcmp(word, "alter"))
		alter(st, rest);
	else if (!strcmp(word, "processes"))
		say(st, "%s", st->options->processes ?: "");
	else if (!strcmp(word, "seek"))
		monitor_seek(st, rest);
	else if (!strcmp(word, "help"))
		say(st, "%s", help);
	else
		say(st, "there is no command '%s': see monitor help\n", word);
	if (!st->reply.bytes.size)
		dbg_stub_ok(st);
}
