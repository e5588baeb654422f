// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/output.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/base.h"

struct err *dec_output_init(struct dec_output *o, int fd)
{
	*o = (struct dec_output){ .fd = fd };
	return vec_add(&o->leading, 1);
}

static bool output_leads(const struct dec_output *o, uint32_t fd)
{
	return vec_find(&o->leading, known, *known == fd);
}

/* Descriptors @p first to @p last lead nowhere any more. */
static void output_close(struct dec_output *o, uint32_t first, uint32_t last)
{
	size_t n = 0;

	for (size_t i = 0; i < o->leading.size; i++) {
		uint32_t fd = o->leading.data[i];

		if (fd < first || fd > last)
			o->leading.data[n++] = fd;
	}
	o->leading.size = n;
}

/* @p to leads where @p from does. */
static void output_dup(struct dec_output *o, uint32_t from, uint32_t to)
{
	bool leads = output_leads(o, from);
	uint32_t *fd;

	output_close(o, to, to);
	fd = leads ? vec_push(&o->leading) : NULL;
	if (fd)
		*fd = to;
}

/* An opened descriptor is one that was free: only these calls change what leads there. */
static void output_follow(struct dec_output *o, const struct cap_event *ev)
{
	const uint64_t *g = ev->regs.gpr;

	switch (g[CAP_RAX]) {
	case SYS_close:
		// It is closed even where close() fails, unless it was not open.
		output_close(o, g[CAP_RDI], g[CAP_RDI]);
		break;
	case SYS_close_range:
		if (ev->ret == 0 && !(g[CAP_RDX] & CLOSE_RANGE_CLOEXEC))
			output_close(o, g[CAP_RDI], g[CAP_RSI]);
		break;
	case SYS_fcntl:
		if (g[CAP_RSI] != F_DUPFD && g[CAP_RSI] != F_DUPFD_CLOEXEC)
			break;
		// fall through
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
		if (ev->ret >= 0)
			output_dup(o, g[CAP_RDI], ev->ret);
		break;
	}
}

static void output_show(struct dec_output *o, struct dec_guest *g, uint64_t addr,
			uint64_t size)
{
	if (dec_guest_avail(g, addr, PROT_READ) >= size)
		(void)!write(o->fd, (void *)addr, size);
}

static void output_show_vector(struct dec_output *o, struct dec_guest *g, uint64_t at,
			       uint64_t n, uint64_t left)
{
	for (uint64_t i = 0; i < n && left; i++, at += sizeof(struct iovec)) {
		struct iovec v;

		if (dec_guest_avail(g, at, PROT_READ) < sizeof(v))
			return;
		memcpy(&v, (void *)at, sizeof(v));
		if (v.iov_len > left)
			v.iov_len = left;
		output_show(o, g, (uint64_t)v.iov_base, v.iov_len);
		left -= v.iov_len;
	}
}

void dec_output_syscall(struct dec_output *o, struct dec_guest *g,
			const struct cap_event *ev)
{
	const uint64_t *gpr = ev->regs.gpr;

	if (o->fd < 0)
		return;
	output_follow(o, ev);
	if (ev->ret <= 0)
		return;
	switch (gpr[CAP_RAX]) {
	case SYS_write:
		if (output_leads(o, gpr[CAP_RDI]))
			output_show(o, g, gpr[CAP_RSI], ev->ret);
		break;
	case SYS_writev:
		if (output_leads(o, gpr[CAP_RDI]))
			output_show_vector(o, g, gpr[CAP_RSI], gpr[CAP_RDX], ev->ret);
		break;
	// Output that never passed through the program's memory cannot be shown.
	case SYS_sendfile:
		o->has_unseen_output |= output_leads(o, gpr[CAP_RDI]);
		break;
	case SYS_splice:
	case SYS_copy_file_range:
		o->has_unseen_output |= output_leads(o, gpr[CAP_RDX]);
		break;
	case SYS_tee:
		o->has_unseen_output |= output_leads(o, gpr[CAP_RSI]);
		break;
	}
}
