// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a system call wrote, read from user space while the target is stopping: for calls
 * whose outputs hang off structures with pointers, for more data than the kernel side
 * takes, for pages that were not present. The target has not executed a user instruction
 * since the call, so memory still is as the kernel left it.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "pt-collect/inputs/table.h"
#include "pt-collect/tracee/tracee.h"

#define IOVECS_MAX 1024 ///< UIO_MAXIOV
#define OUTPUT_MAX (4ull << 30)
#define CUT_MAX (64u << 20) ///< of an output of a call that met a bad address

bool ptc_outputs_add(const struct ptc_tracee *t, struct ptc_writes *w, uint64_t addr,
		     uint64_t size)
{
	size_t at = w->data.size, n;
	struct cap_write *one;

	if (!addr || !size)
		return true;
	if (size > OUTPUT_MAX || vec_reserve(&w->data, at + size))
		return false;
	n = ptc_read_some(t, addr, w->data.data + at, size);
	w->data.size = at + n;
	one = n ? vec_push(&w->list) : NULL;
	if (one)
		*one = (struct cap_write){ .addr = addr,
					   .size = n,
					   .data = (const uint8_t *)(uintptr_t)at };
	return one && n == size;
}

/** The first @p total bytes of @p n iovecs at @p iov. */
static bool add_iovec(const struct ptc_tracee *t, struct ptc_writes *w, uint64_t iov,
		      uint64_t n, uint64_t total)
{
	bool is_whole = true;

	for (uint64_t i = 0; i < n && i < IOVECS_MAX && total; i++) {
		struct iovec v;
		uint64_t part;

		if (ptc_read_some(t, iov + i * sizeof(v), &v, sizeof(v)) != sizeof(v))
			return false;
		part = v.iov_len < total ? v.iov_len : total;
		is_whole &= ptc_outputs_add(t, w, (uintptr_t)v.iov_base, part);
		total -= part;
	}
	return is_whole;
}

/** Name, control data and @p bytes of data of the msghdr at @p addr, and itself. */
static bool add_msghdr(const struct ptc_tracee *t, struct ptc_writes *w, uint64_t addr,
		       uint64_t bytes)
{
	struct msghdr m;
	bool is_whole;

	if (ptc_read_some(t, addr, &m, sizeof(m)) != sizeof(m))
		return false;
	is_whole = ptc_outputs_add(t, w, addr, sizeof(m));
	is_whole &= add_iovec(t, w, (uintptr_t)m.msg_iov, m.msg_iovlen, bytes);
	is_whole &= ptc_outputs_add(t, w, (uintptr_t)m.msg_control, m.msg_controllen);
	is_whole &= ptc_outputs_add(t, w, (uintptr_t)m.msg_name,
				    m.msg_namelen < 128 ? m.msg_namelen : 128);
	return is_whole;
}

static bool add_mmsghdr(const struct ptc_tracee *t, struct ptc_writes *w, uint64_t addr,
			uint64_t n)
{
	bool is_whole = true;

	for (uint64_t i = 0; i < n && i < IOVECS_MAX; i++) {
		uint64_t at = addr + i * sizeof(struct mmsghdr);
		struct mmsghdr m;

		if (ptc_read_some(t, at, &m, sizeof(m)) != sizeof(m))
			return false;
		is_whole &= add_msghdr(t, w, at, m.msg_len);
		is_whole &= ptc_outputs_add(t, w, at, sizeof(m));
	}
	return is_whole;
}

/** The new thread may have run before its parent does again, and have ended: when the words
 * of its number are unmapped by then, nobody can see any more that they were written. */
static bool add_clone3(const struct ptc_tracee *t, struct ptc_writes *w, uint64_t addr,
		       uint64_t size)
{
	struct clone_args args = {};

	if (size > sizeof(args))
		size = sizeof(args);
	if (ptc_read_some(t, addr, &args, size) != size)
		return false;
	if (args.flags & CLONE_PARENT_SETTID)
		ptc_outputs_add(t, w, args.parent_tid, 4);
	if (args.flags & CLONE_CHILD_SETTID && args.flags & CLONE_VM)
		ptc_outputs_add(t, w, args.child_tid, 4);
	return !(args.flags & CLONE_PIDFD) || ptc_outputs_add(t, w, args.pidfd, 4);
}

/** The counters of the table of netfilter's that the one at @p addr took the place of. */
static bool add_counters(const struct ptc_tracee *t, struct ptc_writes *w, uint64_t addr)
{
	struct ipt_replace table; // as far as counters, IPv6's is the same

	if (ptc_read_some(t, addr, &table, sizeof(table)) != sizeof(table))
		return false;
	return ptc_outputs_add(t, w, (uintptr_t)table.counters,
			       (uint64_t)table.num_counters * sizeof(*table.counters));
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/** The same as the new thread @p tid sees it. Its parent may have returned long since, and
 * its stack may hold something else: only a word that has the thread's number was written
 * by this call. */
static void add_clone3_child(const struct ptc_tracee *t, struct ptc_writes *w,
			     uint64_t addr, uint64_t size, uint32_t tid)
{
	struct clone_args args = {};
	uint64_t at[2];
	uint32_t word;

	if (size > sizeof(args))
		size = sizeof(args);
	if (ptc_read_some(t, addr, &args, size) != size)
		return;
	at[0] = args.flags & CLONE_PARENT_SETTID ? args.parent_tid : 0;
	at[1] = args.flags & CLONE_CHILD_SETTID ? args.child_tid : 0;
	for (size_t i = 0; i < 2; i++)
		if (at[i] &&
		    ptc_read_some(t, at[i], &word, sizeof(word)) == sizeof(word) &&
		    word == tid)
			ptc_outputs_add(t, w, at[i], sizeof(word));
}

/** One output; sizes as in out_size() of record_calls.h. */
static bool add_out(const struct ptc_tracee *t, struct ptc_writes *w,
		    const struct rec_out *o, const uint64_t args[8],
		    const struct rec_syscall *e)
{
	int64_t ret = e->ret == -EFAULT ? CUT_MAX : e->ret;
	uint64_t addr = args[o->arg], n = args[o->count];
	uint32_t value = 0;

	if (!addr)
		return true;
	switch (o->kind) {
	case OUT_FIXED:
		return ptc_outputs_add(t, w, addr, o->size);
	case OUT_RET:
		return ptc_outputs_add(t, w, addr, min_u64(ret, n) * o->size);
	case OUT_RET_PLUS:
		return ptc_outputs_add(t, w, addr, min_u64(ret, n) + o->size);
	case OUT_ARG_TIMES:
		return ptc_outputs_add(t, w, addr, (uint64_t)(uint32_t)n * o->size);
	case OUT_VALUE:
		if (n && ptc_read_some(t, n, &value, sizeof(value)) != sizeof(value))
			return false;
		return ptc_outputs_add(t, w, addr, min_u64(value, o->size));
	case OUT_BITS:
		return ptc_outputs_add(t, w, addr, ((uint32_t)n + 63ull) / 64 * 8);
	case OUT_PAGES:
		return ptc_outputs_add(t, w, addr, (n + 4095) / 4096);
	case OUT_IOVEC:
		return add_iovec(t, w, addr, n, ret);
	case OUT_MSGHDR:
		return add_msghdr(t, w, addr, ret);
	case OUT_MMSGHDR: // behind the first one it would have told how many
		return e->ret < 0 ? add_msghdr(t, w, addr, ret) :
				    add_mmsghdr(t, w, addr, ret);
	case OUT_COUNTERS:
		return add_counters(t, w, addr);
	case OUT_CLONE3:
		return e->ret < 0 || add_clone3(t, w, addr, args[1]);
	case OUT_SOME:
		ptc_outputs_add(t, w, addr, o->size);
		return true;
	case OUT_POINTERS:
		return ptc_pointers_add(t, w, e->head.listed_as, args);
	case OUT_UNKNOWN:
		return true;
	}
	return false;
}

bool ptc_outputs_read(const struct ptc_tracee *t, struct ptc_writes *w,
		      const struct rec_syscall *e)
{
	const __u64 *g = e->regs.gpr;
	const uint64_t args[8] = { g[CAP_RDI], g[CAP_RSI], g[CAP_RDX],
				   g[CAP_R10], g[CAP_R8],  g[CAP_R9] };
	struct rec_desc made_up;
	const struct rec_desc *d = ptc_table_find(e->head.listed_as, args, &made_up);
	bool is_whole = true;

	for (size_t i = 0; d && i < REC_OUTS && d->out[i].kind != OUT_END; i++) {
		const struct rec_out *o = &d->out[i];

		if (e->ret < 0 && e->ret != -EFAULT && !(o->flags & OUT_ALWAYS))
			continue;
		if (o->kind == OUT_CLONE3 && e->ret == 0) {
			add_clone3_child(t, w, args[o->arg], args[1], e->head.tid);
			continue;
		}
		if (!add_out(t, w, o, args, e) && !(o->flags & OUT_MAYBE) && e->ret >= 0)
			is_whole = false;
	}
	return is_whole;
}
