// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/explain/explain_int.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

const struct history_event *dec_explain_event(const struct explain *ex,
					      const struct explain_suspect *s)
{
	return s->event == EXPLAIN_NONE || s->origin == EXPLAIN_SHARED ?
		       NULL :
		       &ex->history.events.data[s->event];
}

const struct history_event *dec_explain_expected(const struct explain *ex)
{
	return ex->x->at.event && ex->end < ex->history.events.size ?
		       &ex->history.events.data[ex->end] :
		       NULL;
}

void dec_explain_call_text(const struct history_event *e, char *text, size_t size)
{
	_cleanup_free_ char *name = dec_history_call_name(e->nr);
	int n = snprintf(text, size, "%s(", name ? name : "?");

	for (int i = 0; i < dec_call_args(e->nr) && n < (int)size; i++)
		n += snprintf(text + n, size - n, "%s%#lx", i ? ", " : "", e->args[i]);
	if (n < (int)size)
		n += snprintf(text + n, size - n, ") = %#lx", e->ret);
	if (n < (int)size && e->has_position)
		snprintf(text + n, size - n, " at instruction %lu", e->position);
}

void dec_explain_origin(const struct explain *ex, const struct explain_suspect *s,
			char *text, size_t size)
{
	const struct history_event *e = dec_explain_event(ex, s);
	char call[160] = "a system call", where[64] = "a register";

	if (e && e->kind == CAP_EV_SYSCALL)
		dec_explain_call_text(e, call, sizeof(call));
	if (s->at.is_mem)
		snprintf(where, sizeof(where), "%u byte%s at %#lx", s->at.size,
			 s->at.size == 1 ? "" : "s", s->at.addr);
	switch (s->origin) {
	case EXPLAIN_RESULT:
		snprintf(text, size, "what %s returned", call);
		return;
	case EXPLAIN_WRITTEN:
		snprintf(text, size, "%s, written by %s", where, call);
		return;
	case EXPLAIN_CHILD:
		snprintf(text, size, "%s, written by the child of %s", where, call);
		return;
	case EXPLAIN_UNMODELLED:
	case EXPLAIN_QUIET:
		snprintf(text, size, "%s, which %s may have written", where, call);
		return;
	case EXPLAIN_MAPPED:
		snprintf(text, size, "%s, as mapped by %s", where, call);
		return;
	case EXPLAIN_SHARED:
		snprintf(text, size, "%s, in memory shared with others", where);
		return;
	case EXPLAIN_FRAME:
		snprintf(text, size, "%s, in the frame of signal %ld", where,
			 e ? (long)e->nr : 0);
		return;
	case EXPLAIN_TSC:
		snprintf(text, size, "the time stamp counter");
		return;
	case EXPLAIN_CPUID:
		snprintf(text, size, "the CPU's description (cpuid)");
		return;
	case EXPLAIN_START:
		snprintf(text, size, "%s, in the start state", where);
		return;
	case EXPLAIN_FAR:
		snprintf(text, size, "%s, from before instruction %lu", where,
			 s->position);
		return;
	default:
		snprintf(text, size, "a constant of the code");
		return;
	}
}

/* ---- what a descriptor was ---------------------------------------------------------------- */

/* Where a string argument was put when call @p e was made. */
static char *explain_string(struct explain *ex, const struct history_event *e,
			    uint64_t addr)
{
	char text[256] = "";
	struct dec_where w;
	struct err *err;

	if (!e->has_position)
		return NULL;
	err = dec_machine_seek(ex->machine, e->position, &w);
	for (size_t i = 0; !err && i + 1 < sizeof(text); i++) {
		err = dec_machine_read(ex->machine, addr + i, &text[i], 1);
		if (!text[i])
			break;
	}
	err_destroy(err);
	return *text ? strdup(text) : NULL;
}

/* What descriptor @p fd was when event @p seq came. */
static char *explain_descriptor(struct explain *ex, uint64_t seq, int64_t fd)
{
	static const char *const standard[] = { "stdin", "stdout", "stderr" };

	for (size_t i = ex->history.events.size; i--;) {
		const struct history_event *e = &ex->history.events.data[i];

		if (e->seq >= seq || e->kind != CAP_EV_SYSCALL || e->ret != fd)
			continue;
		switch (e->nr) {
		case SYS_open:
		case SYS_creat:
			return explain_string(ex, e, e->args[0]);
		case SYS_openat:
			return explain_string(ex, e, e->args[1]);
		case SYS_socket:
		case SYS_accept:
		case SYS_accept4:
			return strdup("a socket");
		case SYS_dup:
		case SYS_dup2:
		case SYS_dup3:
			if ((int64_t)e->args[0] != fd)
				return explain_descriptor(ex, e->seq, e->args[0]);
			break;
		case SYS_fcntl:
			if (e->args[1] == F_DUPFD || e->args[1] == F_DUPFD_CLOEXEC)
				return explain_descriptor(ex, e->seq, e->args[0]);
			break;
		}
	}
	return fd >= 0 && fd < 3 ? strdup(standard[fd]) : NULL;
}

static bool explain_takes_descriptor(int64_t nr)
{
	switch (nr) {
	case SYS_read:
	case SYS_pread64:
	case SYS_readv:
	case SYS_preadv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_fstat:
	case SYS_ioctl:
	case SYS_getdents64:
	case SYS_lseek:
	case SYS_write:
		return true;
	default:
		return false;
	}
}

void dec_explain_file(struct explain *ex, struct dec_explain_call *call)
{
	if (call->is_known && ex->machine && explain_takes_descriptor(call->nr))
		call->file = explain_descriptor(ex, call->seq, call->args[0]);
}
