// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/call_access.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "capture/capture.h"

/* How much of what argument `arg` leads to. */
enum extent {
	NONE,
	FIXED,	  ///< n bytes, unless the argument is NULL
	RETURNED, ///< as many as it returned, of n each
	COUNTED,  ///< of n bytes each as argument `by` says
	TEXT,	  ///< up to the terminator
	ADDRESS,  ///< a socket's, of as many bytes as argument `by` says
	LENGTH, ///< up to the length that argument `by` leads to, before and behind the call
	VECTOR,	  ///< of as many buffers as argument `by` says
	MESSAGE,  ///< struct msghdr
	MESSAGES, ///< struct mmsghdr, as many as argument `by` says
	BITS,	  ///< as argument `by` says: words of 8 bytes
};

struct rule {
	int16_t nr;
	uint8_t arg;
	uint8_t extent;
	uint8_t by;
	uint16_t n;
	char how; ///< 'r' it is read, 'w' written, 'b' read whatever it holds
};

#define PATH(nr, arg)                    \
	{                                \
		nr, arg, TEXT, 0, 1, 'r' \
	}
#define IN(nr, arg, n)                    \
	{                                 \
		nr, arg, FIXED, 0, n, 'r' \
	}
#define OUT(nr, arg, n)                   \
	{                                 \
		nr, arg, FIXED, 0, n, 'w' \
	}
#define GOT(nr, arg)                         \
	{                                    \
		nr, arg, RETURNED, 0, 1, 'w' \
	}

static const struct rule rules[] = {
	GOT(SYS_read, 1),
	GOT(SYS_pread64, 1),
	GOT(SYS_recvfrom, 1),
	{ SYS_recvfrom, 4, LENGTH, 5, 0, 'w' },
	GOT(SYS_getcwd, 0),
	GOT(SYS_readlink, 1),
	GOT(SYS_readlinkat, 2),
	GOT(SYS_getrandom, 0),
	GOT(SYS_getdents, 1),
	GOT(SYS_getdents64, 1),
	GOT(SYS_mq_timedreceive, 1),
	GOT(SYS_getxattr, 2),
	GOT(SYS_lgetxattr, 2),
	GOT(SYS_fgetxattr, 2),
	GOT(SYS_listxattr, 1),
	GOT(SYS_llistxattr, 1),
	GOT(SYS_flistxattr, 1),
	GOT(SYS_sched_getaffinity, 2),
	{ SYS_epoll_wait, 1, RETURNED, 0, 12, 'w' },
	{ SYS_epoll_pwait, 1, RETURNED, 0, 12, 'w' },
	{ SYS_getgroups, 1, RETURNED, 0, 4, 'w' },
	{ SYS_io_getevents, 3, RETURNED, 0, 32, 'w' },

	{ SYS_write, 1, RETURNED, 0, 1, 'b' },
	{ SYS_write, 1, COUNTED, 2, 1, 'v' },
	{ SYS_pwrite64, 1, RETURNED, 0, 1, 'b' },
	{ SYS_pwrite64, 1, COUNTED, 2, 1, 'v' },
	{ SYS_sendto, 1, RETURNED, 0, 1, 'b' },
	{ SYS_sendto, 1, COUNTED, 2, 1, 'v' },
	{ SYS_sendto, 4, ADDRESS, 5, 0, 'r' },
	{ SYS_mq_timedsend, 1, COUNTED, 2, 1, 'r' },
	{ SYS_setxattr, 2, COUNTED, 3, 1, 'r' },
	{ SYS_lsetxattr, 2, COUNTED, 3, 1, 'r' },
	{ SYS_fsetxattr, 2, COUNTED, 3, 1, 'r' },
	{ SYS_setgroups, 1, COUNTED, 0, 4, 'r' },
	{ SYS_sched_setaffinity, 2, COUNTED, 1, 1, 'r' },
	{ SYS_semop, 1, COUNTED, 2, 6, 'r' },

	{ SYS_readv, 1, VECTOR, 2, 0, 'w' },
	{ SYS_preadv, 1, VECTOR, 2, 0, 'w' },
	{ SYS_preadv2, 1, VECTOR, 2, 0, 'w' },
	{ SYS_writev, 1, VECTOR, 2, 0, 'r' },
	{ SYS_pwritev, 1, VECTOR, 2, 0, 'r' },
	{ SYS_pwritev2, 1, VECTOR, 2, 0, 'r' },
	{ SYS_sendmsg, 1, MESSAGE, 0, 0, 'r' },
	{ SYS_recvmsg, 1, MESSAGE, 0, 0, 'w' },
	{ SYS_sendmmsg, 1, MESSAGES, 2, 0, 'r' },
	{ SYS_recvmmsg, 1, MESSAGES, 2, 0, 'w' },
	IN(SYS_recvmmsg, 4, 16),

	{ SYS_bind, 1, ADDRESS, 2, 0, 'r' },
	{ SYS_connect, 1, ADDRESS, 2, 0, 'r' },
	{ SYS_accept, 1, LENGTH, 2, 0, 'w' },
	{ SYS_accept4, 1, LENGTH, 2, 0, 'w' },
	{ SYS_getsockname, 1, LENGTH, 2, 0, 'w' },
	{ SYS_getpeername, 1, LENGTH, 2, 0, 'w' },
	{ SYS_getsockopt, 3, LENGTH, 4, 0, 'w' },
	{ SYS_setsockopt, 3, COUNTED, 4, 1, 'b' },
	OUT(SYS_socketpair, 3, 8),
	OUT(SYS_pipe, 0, 8),
	OUT(SYS_pipe2, 0, 8),

	{ SYS_poll, 0, COUNTED, 1, 8, 'b' },
	{ SYS_ppoll, 0, COUNTED, 1, 8, 'b' },
	IN(SYS_ppoll, 2, 16),
	{ SYS_select, 1, BITS, 0, 0, 'r' },
	{ SYS_select, 2, BITS, 0, 0, 'r' },
	{ SYS_select, 3, BITS, 0, 0, 'r' },
	IN(SYS_select, 4, 16),
	{ SYS_pselect6, 1, BITS, 0, 0, 'r' },
	{ SYS_pselect6, 2, BITS, 0, 0, 'r' },
	{ SYS_pselect6, 3, BITS, 0, 0, 'r' },
	IN(SYS_pselect6, 4, 16),

	IN(SYS_nanosleep, 0, 16),
	IN(SYS_clock_nanosleep, 2, 16),
	IN(SYS_clock_settime, 1, 16),
	IN(SYS_setitimer, 1, 32),
	IN(SYS_timer_settime, 2, 32),
	IN(SYS_timerfd_settime, 2, 32),
	IN(SYS_setrlimit, 1, 16),
	IN(SYS_prlimit64, 2, 16),
	IN(SYS_utime, 1, 16),
	IN(SYS_utimes, 1, 32),
	IN(SYS_sendfile, 2, 8),
	IN(SYS_splice, 1, 8),
	IN(SYS_splice, 3, 8),
	IN(SYS_copy_file_range, 1, 8),
	IN(SYS_copy_file_range, 3, 8),
	OUT(SYS_clock_gettime, 1, 16),
	OUT(SYS_clock_getres, 1, 16),
	OUT(SYS_gettimeofday, 0, 16),
	OUT(SYS_getitimer, 1, 32),
	OUT(SYS_setitimer, 2, 32),
	OUT(SYS_timer_gettime, 1, 32),
	OUT(SYS_timer_settime, 3, 32),
	OUT(SYS_timerfd_gettime, 1, 32),
	OUT(SYS_timerfd_settime, 3, 32),
	OUT(SYS_getrlimit, 1, 16),
	OUT(SYS_prlimit64, 3, 16),
	OUT(SYS_getrusage, 1, 144),
	OUT(SYS_times, 0, 32),
	OUT(SYS_sysinfo, 0, 112),
	OUT(SYS_uname, 0, 390),
	OUT(SYS_getcpu, 0, 4),
	OUT(SYS_getcpu, 1, 4),
	OUT(SYS_rt_sigprocmask, 2, 8),
	OUT(SYS_stat, 1, 144),
	OUT(SYS_fstat, 1, 144),
	OUT(SYS_lstat, 1, 144),
	OUT(SYS_newfstatat, 2, 144),
	OUT(SYS_statx, 4, 256),
	OUT(SYS_statfs, 1, 120),
	OUT(SYS_fstatfs, 1, 120),

	PATH(SYS_open, 0),
	PATH(SYS_openat, 1),
	PATH(SYS_creat, 0),
	PATH(SYS_stat, 0),
	PATH(SYS_lstat, 0),
	PATH(SYS_newfstatat, 1),
	PATH(SYS_statx, 1),
	PATH(SYS_statfs, 0),
	PATH(SYS_access, 0),
	PATH(SYS_faccessat, 1),
	PATH(SYS_faccessat2, 1),
	PATH(SYS_unlink, 0),
	PATH(SYS_unlinkat, 1),
	PATH(SYS_rename, 0),
	PATH(SYS_rename, 1),
	PATH(SYS_renameat, 1),
	PATH(SYS_renameat, 3),
	PATH(SYS_renameat2, 1),
	PATH(SYS_renameat2, 3),
	PATH(SYS_link, 0),
	PATH(SYS_link, 1),
	PATH(SYS_linkat, 1),
	PATH(SYS_linkat, 3),
	PATH(SYS_symlink, 0),
	PATH(SYS_symlink, 1),
	PATH(SYS_symlinkat, 0),
	PATH(SYS_symlinkat, 2),
	PATH(SYS_readlink, 0),
	PATH(SYS_readlinkat, 1),
	PATH(SYS_mkdir, 0),
	PATH(SYS_mkdirat, 1),
	PATH(SYS_mknod, 0),
	PATH(SYS_mknodat, 1),
	PATH(SYS_rmdir, 0),
	PATH(SYS_chdir, 0),
	PATH(SYS_chroot, 0),
	PATH(SYS_chmod, 0),
	PATH(SYS_fchmodat, 1),
	PATH(SYS_chown, 0),
	PATH(SYS_lchown, 0),
	PATH(SYS_fchownat, 1),
	PATH(SYS_truncate, 0),
	PATH(SYS_utime, 0),
	PATH(SYS_utimes, 0),
	PATH(SYS_utimensat, 1),
	PATH(SYS_inotify_add_watch, 1),
	PATH(SYS_memfd_create, 0),
	PATH(SYS_setxattr, 0),
	PATH(SYS_setxattr, 1),
	PATH(SYS_execve, 0),
	PATH(SYS_execveat, 1),
	PATH(SYS_getxattr, 0),
	PATH(SYS_getxattr, 1),
};

/* Of ioctl: what argument 2 leads to. The sizes that are part of most numbers are not always true (FS_IOC_GETFLAGS). */
static const struct {
	uint32_t request;
	uint8_t n;
	char how;
} ioctls[] = {
	{ FIONREAD, 4, 'w' },	{ FIONBIO, 4, 'r' },	{ FIOASYNC, 4, 'r' },
	{ TIOCGWINSZ, 8, 'w' }, { TIOCSWINSZ, 8, 'r' }, { TIOCGPGRP, 4, 'w' },
	{ TIOCSPGRP, 4, 'r' },	{ TIOCOUTQ, 4, 'w' },	{ TCGETS, 36, 'w' },
	{ TCSETS, 36, 'r' },	{ TCSETSW, 36, 'r' },	{ TCSETSF, 36, 'r' },
};

static const uint8_t argument[6] = { CAP_RDI, CAP_RSI, CAP_RDX, CAP_R10, CAP_R8, CAP_R9 };

/* ---- the list ----------------------------------------------------------------------------------- */

struct list {
	const struct dec_call *c;
	struct dec_access *to;
	size_t n, max;
};

/* A pointer: the register, or the word of memory that it is in. */
struct pointer {
	uint64_t addr, at;
	uint8_t reg;
};

static struct pointer pointer_in(const struct list *l, int arg)
{
	uint64_t addr = l->c->arg[arg];

	return (struct pointer){ addr, addr, argument[arg] };
}

/* .. at @p at; NULL if it cannot be read. */
static struct pointer pointer_at(const struct list *l, uint64_t at)
{
	struct pointer p = { .at = at, .reg = DEC_ACCESS_WORD };

	if (!l->c->before(l->c->ctx, at, &p.addr, sizeof(p.addr)))
		p.addr = 0;
	return p;
}

static void add(struct list *l, struct pointer p, uint64_t offset, uint64_t size,
		bool is_write, bool is_bounds, bool is_value)
{
	size = size < DEC_ACCESS_MOST ? size : DEC_ACCESS_MOST;
	if (!p.addr || !size || p.addr + offset + size < size || l->n == l->max)
		return;
	l->to[l->n++] = (struct dec_access){ .addr = p.addr + offset,
					     .size = size,
					     .at = p.at,
					     .offset = offset,
					     .reg = p.reg,
					     .is_write = is_write,
					     .is_bounds = is_bounds,
					     .is_value = is_value };
}

/* @p how: as a rule has it, and 'v': only its value matters. */
static void add_as(struct list *l, struct pointer p, uint64_t size, char how)
{
	add(l, p, 0, size, how == 'w', how != 'v', how == 'r' || how == 'v');
}

static void add_value(struct list *l, struct pointer p, uint64_t offset, uint64_t size)
{
	add(l, p, offset, size, false, false, true);
}

static uint64_t word_at(const struct list *l, uint64_t at, size_t bytes)
{
	uint64_t v = 0;

	return l->c->before(l->c->ctx, at, &v, bytes) ? v : 0;
}

/* ---- what there is ------------------------------------------------------------------------------ */

/* The kernel stops at a name that is longer. */
#define TEXT_MOST 4096

static uint64_t text_length(const struct list *l, uint64_t at, uint64_t most)
{
	uint64_t n = 0;

	for (char c = 1; c && n < most; n++)
		if (!l->c->before(l->c->ctx, at + n, &c, 1))
			break;
	return n;
}

/* Of a socket's address what its family looks at. */
static void add_address(struct list *l, struct pointer p, uint64_t size)
{
	uint16_t family = word_at(l, p.addr, 2);

	add(l, p, 0, size, false, true, false);
	if (size < 2)
		return;
	add_value(l, p, 0, 2);
	if (family == AF_UNIX && size > 2)
		add_value(l, p, 2,
			  word_at(l, p.addr + 2, 1) ?
				  text_length(l, p.addr + 2, size - 2) :
				  size - 2);
	else if (family == AF_INET && size >= 8)
		add_value(l, p, 2, 6); // port and address
	else if (family == AF_INET6 && size >= 24)
		add_value(l, p, 2, 22);
}

static void add_length(struct list *l, struct pointer p, struct pointer length)
{
	uint32_t before = word_at(l, length.addr, 4), after = 0;

	if (!p.addr || !length.addr)
		return;
	add(l, length, 0, 4, false, true, true);
	if (l->c->ret < 0 || !l->c->after(l->c->ctx, length.addr, &after, 4))
		return;
	add_as(l, p, before < after ? before : after, 'w');
}

/* @p n buffers, of which @p size bytes are accessed. */
static void add_vector(struct list *l, struct pointer vector, uint64_t n, uint64_t size,
		       char how)
{
	if (!n || n > 1024)
		return;
	add_as(l, vector, n * 16, 'r');
	for (uint64_t i = 0; i < n && size && l->n < l->max; i++) {
		struct pointer p = pointer_at(l, vector.addr + i * 16);
		uint64_t bytes = word_at(l, vector.addr + i * 16 + 8, 8);

		bytes = bytes < size ? bytes : size;
		add_as(l, p, bytes, how);
		size -= bytes;
	}
}

/* .. of the message @p from bytes behind where @p m leads. */
static void add_message(struct list *l, struct pointer m, uint64_t from, uint64_t size,
			char how)
{
	uint64_t at = m.addr + from;
	struct msghdr before, after;
	struct pointer name = pointer_at(l, at), control = pointer_at(l, at + 32);

	if (!m.addr || !l->c->before(l->c->ctx, at, &before, sizeof(before)))
		return;
	add(l, m, from, sizeof(before), false, true, false);
	add_value(l, m, from, 8);
	add_value(l, m, from + 8, name.addr ? 4 : 0);
	add_value(l, m, from + 16, 24);
	add_value(l, m, from + 40, control.addr ? 8 : 0);
	add_vector(l, pointer_at(l, at + 16), before.msg_iovlen, size, how);
	if (how == 'r') {
		if (name.addr)
			add_address(l, name, before.msg_namelen);
		add_as(l, control, before.msg_controllen, 'b');
		return;
	}
	if (l->c->ret < 0 || !l->c->after(l->c->ctx, at, &after, sizeof(after)))
		return;
	add_as(l, name,
	       before.msg_namelen < after.msg_namelen ? before.msg_namelen :
							after.msg_namelen,
	       'w');
	add_as(l, control, after.msg_controllen, 'w');
}

/* Of those that were not sent, or received, only the first is known to have been looked at, if it failed. */
static void add_messages(struct list *l, struct pointer m, uint64_t n, char how)
{
	uint64_t done = l->c->ret > 0 ? l->c->ret : 0;

	if (l->c->ret < 0 && n)
		add_message(l, m, 0, 0, how);
	for (uint64_t i = 0; i < n && i < done && l->n < l->max; i++) {
		uint64_t from = i * sizeof(struct mmsghdr);
		uint64_t length = from + offsetof(struct mmsghdr, msg_len);
		uint32_t size = 0;

		if (!l->c->after(l->c->ctx, m.addr + length, &size, sizeof(size)))
			return;
		add_message(l, m, from, size, how);
		add(l, m, length, sizeof(size), true, true, false);
	}
}

/* ---- a call ------------------------------------------------------------------------------------- */

/* Of what @p l has from @p first on that it was meant to have a value: of a call that failed nobody knows how much it
 * would have accessed, but one that has none may be why. */
static void keep_values(struct list *l, size_t first)
{
	size_t n = first;

	for (size_t i = first; i < l->n; i++) {
		struct dec_access a = l->to[i];
		uint8_t byte;

		if (!a.is_value || !l->c->before(l->c->ctx, a.addr, &byte, 1) ||
		    !l->c->before(l->c->ctx, a.addr + a.size - 1, &byte, 1))
			continue;
		a.is_bounds = false;
		l->to[n++] = a;
	}
	l->n = n;
}

/* Does it read where its results are to be written? */
static bool has_head(const struct rule *r)
{
	return r->extent == VECTOR || r->extent == MESSAGE || r->extent == MESSAGES ||
	       r->extent == LENGTH;
}

static void add_rule(struct list *l, const struct rule *r)
{
	const struct dec_call *c = l->c;
	struct pointer p = pointer_in(l, r->arg);
	uint64_t returned = c->ret > 0 ? c->ret : 0, by = c->arg[r->by];
	bool has_failed = r->how == 'w' && c->ret < 0;
	size_t first = l->n;

	if (!p.addr || (has_failed && !has_head(r)))
		return;
	switch (r->extent) {
	case FIXED:
		add_as(l, p, r->n, r->how);
		break;
	case RETURNED:
		add_as(l, p, returned * r->n, r->how);
		break;
	case COUNTED:
		if (by <= UINT32_MAX)
			add_as(l, p, by * r->n, r->how);
		break;
	case TEXT:
		add_as(l, p, text_length(l, p.addr, TEXT_MOST), r->how);
		break;
	case ADDRESS:
		if ((uint32_t)by <= sizeof(struct sockaddr_storage))
			add_address(l, p, (uint32_t)by);
		break;
	case LENGTH:
		add_length(l, p, pointer_in(l, r->by));
		break;
	case VECTOR:
		add_vector(l, p, by, returned, r->how);
		break;
	case MESSAGE:
		add_message(l, p, 0, returned, r->how);
		break;
	case MESSAGES:
		add_messages(l, p, (uint32_t)by, r->how);
		break;
	case BITS:
		add(l, p, 0, ((uint32_t)by + 63) / 64 * 8, false, true, false);
		add_value(l, p, 0, (uint32_t)by / 8);
		break;
	}
	if (has_failed)
		keep_values(l, first);
}

static void add_ioctl(struct list *l)
{
	for (size_t i = 0; i < sizeof(ioctls) / sizeof(*ioctls); i++)
		if (ioctls[i].request == (uint32_t)l->c->arg[1] &&
		    (ioctls[i].how != 'w' || l->c->ret >= 0))
			add_as(l, pointer_in(l, 2), ioctls[i].n, ioctls[i].how);
}

/* struct flock: type, whence, start, length. */
static void add_fcntl(struct list *l)
{
	struct pointer p = pointer_in(l, 2);

	switch (l->c->arg[1]) {
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		add(l, p, 0, sizeof(struct flock), false, true, false);
		add_value(l, p, offsetof(struct flock, l_type), 4);
		add_value(l, p, offsetof(struct flock, l_start), 16);
		break;
	}
}

/* Of pollfd what is asked about, of epoll_event which events, of times that are not to be set nothing. */
static void add_parts(struct list *l)
{
	const struct dec_call *c = l->c;

	switch (c->nr) {
	case SYS_poll:
	case SYS_ppoll:
		for (uint64_t i = 0; i < c->arg[1] && i < 1024; i++)
			add_value(l, pointer_in(l, 0), i * 8,
				  (int32_t)word_at(l, c->arg[0] + i * 8, 4) < 0 ? 4 : 6);
		break;
	case SYS_epoll_ctl:
		if (c->arg[1] == EPOLL_CTL_DEL)
			break;
		add(l, pointer_in(l, 3), 0, sizeof(struct epoll_event), false, true,
		    false);
		add_value(l, pointer_in(l, 3), 0, 4);
		break;
	case SYS_utimensat:
		add(l, pointer_in(l, 2), 0, 32, false, true, false);
		for (int i = 0; i < 2 && c->arg[2]; i++) {
			uint64_t ns = word_at(l, c->arg[2] + i * 16 + 8, 8);

			add_value(l, pointer_in(l, 2), i * 16 + 8, 8);
			add_value(l, pointer_in(l, 2), i * 16,
				  ns == UTIME_NOW || ns == UTIME_OMIT ? 0 : 8);
		}
		break;
	case SYS_setsockopt: // of more, some may not matter
		add_value(l, pointer_in(l, 3), 0, c->arg[4] == 4 ? 4 : 0);
		break;
	case SYS_wait4:
		add_as(l, pointer_in(l, 1), c->ret > 0 ? 4 : 0, 'w');
		add_as(l, pointer_in(l, 3), c->ret > 0 ? 144 : 0, 'w');
		break;
	case SYS_ioctl:
		add_ioctl(l);
		break;
	case SYS_fcntl:
		add_fcntl(l);
		break;
	}
}

/* Did it fail before it looked? Then nobody knows what it would have read. */
static bool has_looked(int64_t ret)
{
	return ret != -EBADF && ret != -ENOTSOCK && ret != -ENOSYS;
}

size_t dec_call_accesses(const struct dec_call *c, struct dec_access *ret, size_t max)
{
	struct list l = { .c = c, .to = ret, .max = max };

	if (!has_looked(c->ret))
		return 0;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rules[i].nr == c->nr)
			add_rule(&l, &rules[i]);
	add_parts(&l);
	if (c->ret == -EFAULT)
		keep_values(&l, 0);
	return l.n;
}
