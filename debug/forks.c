// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Processes that the program makes: going forward they are stops, for gdb to follow one of the two.
 */
#include <asm/unistd.h>
#include <linux/sched.h>

#include "debug/session.h"

static const int64_t calls[] = { __NR_fork, __NR_vfork, __NR_clone, __NR_clone3 };

struct err *dbg_fork_keep(struct dbg_session *s, const struct cap_event *ev)
{
	int64_t number = ev->regs.gpr[CAP_RAX];

	if (ev->kind != CAP_EV_SYSCALL || ev->ret <= 0)
		return NULL;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (number == calls[i])
			return vec_add(&s->forks,
				       (struct dbg_fork){ .seq = ev->seq,
							  .flags = ev->regs.gpr[CAP_RDI],
							  .tid = ev->tid,
							  .child = ev->ret,
							  .number = number });
	return NULL;
}

struct err *dbg_fork_traps(const struct dbg_session *s, dbg_traps *v)
{
	struct err *err = NULL;

	// None where nothing comes of them: traps cost a log.
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls) && s->tells_forks && !err;
	     i++)
		if (vec_find(&s->forks, f, f->number == calls[i]))
			err = vec_add(v, (struct dec_trap){ .on = DEC_TRAP_SYSCALL,
							    .number = calls[i] });
	return err;
}

/* @return the flags of clone() that @p f amounts to. */
static uint64_t flags_of(struct dbg_session *s, const struct dbg_fork *f)
{
	uint64_t flags = f->flags;

	switch (f->number) {
	case __NR_fork:
		return 0;
	case __NR_vfork:
		return CLONE_VFORK | CLONE_VM;
	case __NR_clone3:
		// Behind the call they are still where they were: a child has a stack of its own.
		flags = CLONE_THREAD;
		dbg_session_read(s, f->flags, &flags, sizeof(flags));
	}
	return flags;
}

bool dbg_fork_made(struct dbg_session *s, uint32_t tid, uint64_t after,
		   struct dbg_stop *ret)
{
	uint64_t seq = s->where.seq, flags;
	const struct dbg_fork *f;

	while (seq > after && (s->events.data[seq].tid != tid ||
			       s->events.data[seq].kind != CAP_EV_SYSCALL))
		seq--;
	f = seq > after ? vec_find(&s->forks, e, e->seq == seq) : NULL;
	flags = f ? flags_of(s, f) : CLONE_THREAD;
	if (flags & CLONE_THREAD)
		return false;
	*ret = (struct dbg_stop){ .why = flags & CLONE_VFORK ? DBG_STOP_VFORK :
							       DBG_STOP_FORK,
				  .tid = tid,
				  .number = f->child };
	return true;
}
