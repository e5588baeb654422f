// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "decode"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "decode/machine/inputs.h"

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

/** Calls of one process that give the same each time, and the arguments that matter. */
static const struct {
	uint16_t nr;
	uint8_t n_args;
} constant_calls[] = {
	{ SYS_getpid, 0 },
	{ SYS_getppid, 0 },
	{ SYS_getuid, 0 },
	{ SYS_geteuid, 0 },
	{ SYS_getgid, 0 },
	{ SYS_getegid, 0 },
	{ SYS_getpgrp, 0 },
	{ SYS_getsid, 1 },
	{ SYS_getpgid, 1 },
	{ SYS_uname, 0 },
	{ SYS_getcwd, 0 },
	{ SYS_getrlimit, 1 },
	{ SYS_prlimit64, 2 },
	{ SYS_getresuid, 0 },
	{ SYS_getresgid, 0 },
	{ SYS_getgroups, 1 },
	{ SYS_sched_getaffinity, 2 },
	{ SYS_sysinfo, 0 },
	{ SYS_sched_getparam, 1 },
	{ SYS_sched_getscheduler, 1 },
};

/* ---- descriptors ---------------------------------------------------------------------- */

static size_t rank_of(const struct dec_inputs *in, int fd)
{
	return vec_rank(in->fds.size, i, in->fds.data[i].fd < fd);
}

struct inputs_open *dec_inputs_open(struct dec_inputs *in, int fd)
{
	size_t i = rank_of(in, fd);

	return i < in->fds.size && in->fds.data[i].fd == fd ?
		       &in->opens.data[in->fds.data[i].open] :
		       NULL;
}

bool dec_inputs_set_fd(struct dec_inputs *in, int fd, uint32_t open)
{
	size_t i = rank_of(in, fd);

	if (i == in->fds.size || in->fds.data[i].fd != fd) {
		if (!vec_push(&in->fds))
			return false;
		memmove(&in->fds.data[i + 1], &in->fds.data[i],
			(in->fds.size - 1 - i) * sizeof(in->fds.data[0]));
	}
	in->fds.data[i] = (struct inputs_fd){ fd, open };
	return true;
}

int dec_inputs_new_fd(struct dec_inputs *in, uint32_t open, int from)
{
	while (dec_inputs_open(in, from))
		from++;
	return dec_inputs_set_fd(in, from, open) ? from : -1;
}

bool dec_inputs_close(struct dec_inputs *in, int fd)
{
	size_t i = rank_of(in, fd);

	if (i == in->fds.size || in->fds.data[i].fd != fd)
		return false;
	memmove(&in->fds.data[i], &in->fds.data[i + 1],
		(in->fds.size - i - 1) * sizeof(in->fds.data[0]));
	in->fds.size--;
	return true;
}

/** A file of its own, opened. @return the description, UINT32_MAX: no memory. */
static uint32_t add_open(struct dec_inputs *in, bool is_stream)
{
	struct inputs_file *f = vec_push(&in->files);
	struct inputs_open *o = f ? vec_push(&in->opens) : NULL;

	if (!o)
		return UINT32_MAX;
	f->is_stream = is_stream;
	o->file = in->files.size - 1;
	return in->opens.size - 1;
}

/** The description that event @p seq made on @p fd. @return UINT32_MAX: none. */
static uint32_t find_open(const struct dec_inputs *in, uint64_t seq, int fd)
{
	for (uint32_t i = 0; i < in->opens.size; i++)
		if (in->opens.data[i].seq == seq && in->opens.data[i].fd == fd)
			return i;
	return UINT32_MAX;
}

static struct err *note_fd_of(struct dec_inputs *in, int fd, bool is_stream, uint64_t seq)
{
	uint32_t o = in->is_read ? find_open(in, seq, fd) : UINT32_MAX;

	if (o == UINT32_MAX) {
		o = add_open(in, is_stream);
		if (o == UINT32_MAX)
			return &err_nomem;
		in->opens.data[o].seq = seq;
		in->opens.data[o].fd = fd;
	}
	return dec_inputs_set_fd(in, fd, o) ? NULL : &err_nomem;
}

static struct err *note_fd(struct dec_inputs *in, int fd, bool is_stream)
{
	return note_fd_of(in, fd, is_stream, UINT64_MAX);
}

/** Of what was open before the recording began nothing is known but what is read of it. */
static struct err *open_of(struct dec_inputs *in, int fd, struct inputs_open **ret)
{
	struct err *err = NULL;

	*ret = dec_inputs_open(in, fd);
	if (!*ret) {
		err = note_fd(in, fd, true);
		*ret = err ? NULL : dec_inputs_open(in, fd);
	}
	return err;
}

/* ---- contents ------------------------------------------------------------------------- */

static struct err *keep_bytes(struct dec_inputs *in, const uint8_t *data, uint64_t size,
			      uint64_t *at)
{
	*at = in->bytes.size;
	if (!size)
		return NULL;
	if (in->is_full || in->bytes.size + size > INPUTS_BYTES_MAX) {
		in->is_full = true;
		return NULL;
	}
	if (vec_reserve(&in->bytes, in->bytes.size + size))
		return &err_nomem;
	memcpy(in->bytes.data + in->bytes.size, data, size);
	in->bytes.size += size;
	return NULL;
}

/** Take [start, end) out of what is known: it is read anew. */
static struct err *cut(struct inputs_file *f, uint64_t start, uint64_t end)
{
	size_t i = vec_rank(f->extents.size, k,
			    f->extents.data[k].offset + f->extents.data[k].size <= start);

	while (i < f->extents.size && f->extents.data[i].offset < end) {
		struct inputs_extent *e = &f->extents.data[i], rest = *e;
		uint64_t e_end = e->offset + e->size;

		if (e->offset < start && e_end > end) {
			if (!vec_push(&f->extents))
				return &err_nomem;
			e = &f->extents.data[i];
			memmove(e + 2, e + 1, (f->extents.size - i - 2) * sizeof(*e));
			rest.at += end - rest.offset;
			rest.offset = end;
			rest.size = e_end - end;
			e[1] = rest;
			e->size = start - e->offset;
			return NULL;
		}
		if (e->offset < start) {
			e->size = start - e->offset;
			i++;
		} else if (e_end > end) {
			e->at += end - e->offset;
			e->size = e_end - end;
			e->offset = end;
			return NULL;
		} else {
			memmove(e, e + 1, (f->extents.size - i - 1) * sizeof(*e));
			f->extents.size--;
		}
	}
	return NULL;
}

static struct err *learn(struct dec_inputs *in, uint32_t file, uint64_t offset,
			 const uint8_t *data, uint64_t size)
{
	struct inputs_file *f = &in->files.data[file];
	struct inputs_extent *e;
	uint64_t at;
	struct err *err;
	size_t i;

	if (!size || offset + size < offset)
		return NULL;
	err = keep_bytes(in, data, size, &at);
	if (err || in->is_full)
		return err;
	err = cut(f, offset, offset + size);
	if (err)
		return err;
	i = vec_rank(f->extents.size, k, f->extents.data[k].offset < offset);
	// A stream's pieces follow each other here as there.
	if (i && f->extents.data[i - 1].offset + f->extents.data[i - 1].size == offset &&
	    f->extents.data[i - 1].at + f->extents.data[i - 1].size == at) {
		f->extents.data[i - 1].size += size;
		return NULL;
	}
	if (!vec_push(&f->extents))
		return &err_nomem;
	e = &f->extents.data[i];
	memmove(e + 1, e, (f->extents.size - 1 - i) * sizeof(*e));
	*e = (struct inputs_extent){ offset, size, at };
	return NULL;
}

uint64_t dec_inputs_find(const struct dec_inputs *in, const struct inputs_file *f,
			 uint64_t offset, uint64_t most, const uint8_t **ret)
{
	size_t i =
		vec_rank(f->extents.size, k,
			 f->extents.data[k].offset + f->extents.data[k].size <= offset);
	const struct inputs_extent *e;
	uint64_t n;

	if (i == f->extents.size || f->extents.data[i].offset > offset)
		return 0;
	e = &f->extents.data[i];
	*ret = in->bytes.data + e->at + (offset - e->offset);
	n = e->offset + e->size - offset;
	return n < most ? n : most;
}

/* What @p ev read through @p o: as many bytes of its writes, in their order, as it says. */
static struct err *note_read(struct dec_inputs *in, struct inputs_open *o,
			     const struct cap_event *ev, uint64_t offset)
{
	uint64_t left = ev->ret;
	uint32_t file = o->file;
	struct err *err = NULL;

	if (in->is_read)
		return NULL; // it is known
	if (!ev->ret) {
		in->files.data[file].is_end_known = true;
		in->files.data[file].end = offset;
	}
	for (size_t i = 0; !err && left && i < ev->n_writes; i++) {
		uint64_t n = ev->writes[i].size < left ? ev->writes[i].size : left;

		err = learn(in, file, offset, ev->writes[i].data, n);
		offset += n;
		left -= n;
	}
	return err;
}

/* ---- events --------------------------------------------------------------------------- */

static struct err *take_read(struct dec_inputs *in, const struct cap_event *ev)
{
	const uint64_t *g = ev->regs.gpr;
	bool is_placed = g[CAP_RAX] == SYS_pread64 || g[CAP_RAX] == SYS_preadv ||
			 g[CAP_RAX] == SYS_preadv2;
	struct inputs_open *o;
	struct err *err = open_of(in, g[CAP_RDI], &o);

	if (err || ev->ret < 0 || ev->flags & (CAP_SYS_PARTIAL | CAP_SYS_UNLISTED))
		return err;
	if (is_placed)
		return note_read(in, o, ev, g[CAP_R10]);
	err = note_read(in, o, ev, o->offset);
	o->offset += ev->ret;
	in->files.data[o->file].read += ev->ret;
	return err;
}

/* Both descriptors of a pipe or a pair of sockets. */
static struct err *take_pair(struct dec_inputs *in, const struct cap_event *ev)
{
	int32_t fd[2];
	struct err *err;

	if (ev->ret || !ev->n_writes || ev->writes[0].size < sizeof(fd))
		return NULL;
	memcpy(fd, ev->writes[0].data, sizeof(fd));
	err = note_fd_of(in, fd[0], true, ev->seq);
	return err ? err : note_fd_of(in, fd[1], true, ev->seq);
}

static struct err *take_dup(struct dec_inputs *in, const struct cap_event *ev)
{
	struct inputs_open *o;
	struct err *err;

	if (ev->ret < 0)
		return NULL;
	err = open_of(in, ev->regs.gpr[CAP_RDI], &o);
	if (err)
		return err;
	return dec_inputs_set_fd(in, ev->ret, o - in->opens.data) ? NULL : &err_nomem;
}

static struct err *take_ioctl(struct dec_inputs *in, const struct cap_event *ev)
{
	struct inputs_open *o;
	struct err *err;

	if (ev->regs.gpr[CAP_RSI] != TCGETS || ev->ret != -ENOTTY)
		return NULL;
	err = open_of(in, ev->regs.gpr[CAP_RDI], &o);
	if (!err)
		in->files.data[o->file].is_no_tty = true;
	return err;
}

static struct err *take_stat(struct dec_inputs *in, int fd, const struct cap_event *ev)
{
	struct inputs_open *o;
	struct inputs_file *f;
	struct err *err;
	struct stat st;

	if (ev->ret || !ev->n_writes || ev->writes[0].size < sizeof(st))
		return NULL;
	err = open_of(in, fd, &o);
	if (err)
		return err;
	f = &in->files.data[o->file];
	memcpy(&st, ev->writes[0].data, sizeof(st));
	memcpy(f->stat, &st, sizeof(st));
	f->has_stat = true;
	f->is_stream = !S_ISREG(st.st_mode);
	// Those of /proc have no size, and contents all the same.
	if (!in->is_read && S_ISREG(st.st_mode) && st.st_size > 0) {
		f->is_end_known = true;
		f->end = (uint64_t)st.st_size;
	}
	return NULL;
}

static void close_range_of(struct dec_inputs *in, uint64_t first, uint64_t last)
{
	for (size_t i = in->fds.size; i--;)
		if ((uint64_t)in->fds.data[i].fd >= first &&
		    (uint64_t)in->fds.data[i].fd <= last)
			dec_inputs_close(in, in->fds.data[i].fd);
}

static struct err *take_descriptors(struct dec_inputs *in, const struct cap_event *ev)
{
	const uint64_t *g = ev->regs.gpr;

	switch (g[CAP_RAX]) {
	case SYS_open:
	case SYS_openat:
	case SYS_openat2:
	case SYS_creat:
		return ev->ret < 0 ? NULL : note_fd_of(in, ev->ret, false, ev->seq);
	case SYS_socket:
	case SYS_accept:
	case SYS_accept4:
	case SYS_eventfd:
	case SYS_eventfd2:
	case SYS_epoll_create:
	case SYS_epoll_create1:
	case SYS_timerfd_create:
	case SYS_signalfd:
	case SYS_signalfd4:
	case SYS_inotify_init:
	case SYS_inotify_init1:
	case SYS_memfd_create:
	case SYS_pidfd_open:
		return ev->ret < 0 ? NULL : note_fd_of(in, ev->ret, true, ev->seq);
	case SYS_pipe:
	case SYS_pipe2:
	case SYS_socketpair:
		return take_pair(in, ev);
	case SYS_close:
		dec_inputs_close(in, g[CAP_RDI]);
		return NULL;
	case SYS_close_range:
		if (!ev->ret && !(g[CAP_RDX] & CLOSE_RANGE_CLOEXEC))
			close_range_of(in, g[CAP_RDI], g[CAP_RSI]);
		return NULL;
	case SYS_fcntl:
		return g[CAP_RSI] == F_DUPFD || g[CAP_RSI] == F_DUPFD_CLOEXEC ?
			       take_dup(in, ev) :
			       NULL;
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
		return take_dup(in, ev);
	case SYS_fstat:
		return take_stat(in, g[CAP_RDI], ev);
	case SYS_ioctl:
		return take_ioctl(in, ev);
	case SYS_newfstatat:
		return g[CAP_R10] & AT_EMPTY_PATH ? take_stat(in, g[CAP_RDI], ev) : NULL;
	}
	return NULL;
}

/* What it wrote moves the offset, and is not what was read there before. */
static struct err *take_write(struct dec_inputs *in, const struct cap_event *ev)
{
	struct inputs_open *o;
	struct inputs_file *f;
	struct err *err = open_of(in, ev->regs.gpr[CAP_RDI], &o);

	if (err || ev->ret <= 0)
		return err;
	f = &in->files.data[o->file];
	if (f->is_stream)
		return NULL;
	if (!in->is_read) {
		err = cut(f, o->offset, o->offset + ev->ret);
		f->is_end_known = false;
	}
	o->offset += ev->ret;
	return err;
}

static struct err *take_contents(struct dec_inputs *in, const struct cap_event *ev)
{
	struct inputs_open *o;
	struct err *err;

	switch (ev->regs.gpr[CAP_RAX]) {
	case SYS_read:
	case SYS_pread64:
	case SYS_readv:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_recvfrom:
		return take_read(in, ev);
	case SYS_write:
	case SYS_writev:
		return take_write(in, ev);
	case SYS_lseek:
		err = open_of(in, ev->regs.gpr[CAP_RDI], &o);
		if (!err && ev->ret >= 0)
			o->offset = ev->ret;
		return err;
	case SYS_getrandom:
		o = &in->opens.data[in->random];
		if (ev->ret <= 0)
			return NULL;
		err = note_read(in, o, ev, o->offset);
		o->offset += ev->ret;
		return err;
	}
	return NULL;
}

static size_t n_args_of(uint64_t nr)
{
	for (size_t i = 0; i < sizeof(constant_calls) / sizeof(*constant_calls); i++)
		if (constant_calls[i].nr == nr)
			return constant_calls[i].n_args;
	return SIZE_MAX;
}

static struct err *take_constant(struct dec_inputs *in, const struct cap_event *ev)
{
	const uint64_t *g = ev->regs.gpr;
	const uint64_t args[3] = { g[CAP_RDI], g[CAP_RSI], g[CAP_RDX] };
	struct inputs_constant *c;
	struct err *err = NULL;

	if (n_args_of(g[CAP_RAX]) == SIZE_MAX || ev->n_writes > 1 ||
	    dec_inputs_constant(in, g[CAP_RAX], args))
		return NULL;
	c = vec_push(&in->constants);
	if (!c)
		return &err_nomem;
	*c = (struct inputs_constant){ .nr = g[CAP_RAX], .ret = ev->ret };
	memcpy(c->args, args, sizeof(args));
	if (ev->n_writes) {
		c->addr = ev->writes[0].addr;
		c->size = ev->writes[0].size;
		err = keep_bytes(in, ev->writes[0].data, c->size, &c->at);
	}
	return err;
}

const struct inputs_constant *dec_inputs_constant(const struct dec_inputs *in,
						  uint64_t nr, const uint64_t args[3])
{
	size_t n = n_args_of(nr);

	for (size_t i = 0; n != SIZE_MAX && i < in->constants.size; i++) {
		const struct inputs_constant *c = &in->constants.data[i];

		if (c->nr == nr && !memcmp(c->args, args, n * sizeof(*args)))
			return c;
	}
	return NULL;
}

/* CLOCK_REALTIME where a call told it, against the log's clock. */
static void take_clock(struct dec_inputs *in, const struct cap_event *ev)
{
	struct timespec ts;

	if (ev->regs.gpr[CAP_RAX] != SYS_clock_gettime || ev->ret || !ev->n_writes ||
	    ev->regs.gpr[CAP_RDI] != CLOCK_REALTIME || ev->writes[0].size < sizeof(ts))
		return;
	memcpy(&ts, ev->writes[0].data, sizeof(ts));
	// Wraps, where a damaged log says so.
	in->realtime_ns = ts.tv_sec * 1000000000ull + ts.tv_nsec - ev->at_ns;
}

static struct err *take(struct dec_inputs *in, const struct cap_event *ev)
{
	struct err *err;

	if (ev->kind != CAP_EV_SYSCALL)
		return NULL;
	take_clock(in, ev);
	err = take_constant(in, ev);
	if (!err)
		err = take_descriptors(in, ev);
	return err ? err : take_contents(in, ev);
}

/** What is at the branch, to be put back after the rest was read. */
struct snapshot {
	VEC(struct inputs_open) opens;
	VEC(struct inputs_fd) fds;
	uint64_t clock_ns;
	bool is_taken;
};

static struct err *take_snapshot(struct snapshot *s, const struct dec_inputs *in)
{
	s->is_taken = true;
	s->clock_ns = in->clock_ns;
	if (vec_reserve(&s->opens, in->opens.size) || vec_reserve(&s->fds, in->fds.size))
		return &err_nomem;
	memcpy(s->opens.data, in->opens.data, in->opens.size * sizeof(*in->opens.data));
	memcpy(s->fds.data, in->fds.data, in->fds.size * sizeof(*in->fds.data));
	s->opens.size = in->opens.size;
	s->fds.size = in->fds.size;
	return NULL;
}

/* Descriptors are as then; what was opened since is kept for its contents alone. */
static void put_back(struct snapshot *s, struct dec_inputs *in)
{
	memcpy(in->opens.data, s->opens.data, s->opens.size * sizeof(*in->opens.data));
	for (size_t i = s->opens.size; i < in->opens.size; i++)
		in->opens.data[i].offset = 0;
	in->fds.size = s->fds.size;
	memcpy(in->fds.data, s->fds.data, s->fds.size * sizeof(*in->fds.data));
	in->clock_ns = s->clock_ns;
}

struct err *dec_inputs_init(struct dec_inputs *in)
{
	struct err *err = NULL;

	*in = (struct dec_inputs){};
	in->random = add_open(in, true);
	if (in->random == UINT32_MAX)
		return &err_nomem;
	for (int fd = 0; !err && fd < 3; fd++)
		err = note_fd(in, fd, true);
	return err;
}

struct err *dec_inputs_learn(struct dec_inputs *in, const struct cap_event *ev)
{
	struct err *err = take(in, ev);

	in->clock_ns = ev->at_ns ?: in->clock_ns;
	return err;
}

struct err *dec_inputs_read(struct dec_inputs *in, struct cap_events *it, uint64_t seq,
			    void (*seen)(void *ctx, const struct cap_event *ev),
			    void *ctx)
{
	struct err *err = dec_inputs_init(in);
	struct snapshot then = {};
	struct cap_event ev;
	bool is_end = false;

	while (!err) {
		_cleanup_err_ struct err *broken = cap_events_next(it, &ev, &is_end);

		if (broken || is_end)
			break;
		if (seen)
			seen(ctx, &ev);
		if (ev.seq >= seq && !then.is_taken)
			err = take_snapshot(&then, in);
		if (!err)
			err = dec_inputs_learn(in, &ev);
	}
	// fds never shrinks its room, so what was there then fits.
	if (!err && then.is_taken)
		put_back(&then, in);
	vec_deinit(&then.opens);
	vec_deinit(&then.fds);
	in->is_read = true;
	return err;
}

struct err *dec_inputs_follow(struct dec_inputs *in, const struct cap_event *ev)
{
	struct err *err;

	in->clock_ns = ev->at_ns ?: in->clock_ns;
	if (ev->kind != CAP_EV_SYSCALL)
		return NULL;
	err = take_descriptors(in, ev);
	return err ? err : take_contents(in, ev);
}

void dec_inputs_deinit(struct dec_inputs *in)
{
	for (size_t i = 0; i < in->files.size; i++)
		vec_deinit(&in->files.data[i].extents);
	vec_deinit(&in->files);
	vec_deinit(&in->opens);
	vec_deinit(&in->fds);
	vec_deinit(&in->constants);
	vec_deinit(&in->bytes);
}
