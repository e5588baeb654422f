// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What system calls access of memory, judged by the kernel: where the last byte that a call is said to access is the last
 * one of a page with nothing behind it, it is answered; one byte on, it fails with EFAULT.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "decode/machine/call_access.h"
#include "tests/unit.h"

#define PAGE 4096

static uint8_t *page; ///< one, with none behind it
static int udp, unix_socket, pair[2], tube[2], events, timer, file, zero;

/* ---- what is called ------------------------------------------------------------------------------- */

#define AT UINT64_C(0xa7a7a7a7) ///< the argument that is asked about
#define FDS UINT64_C(0xfd0000)	///< + which of the descriptors

enum { UDP, UNIX, PAIR0, PAIR1, TUBE0, TUBE1, EVENTS, TIMER, FILE_, ZERO };

static uint64_t fd_of(uint64_t which)
{
	const int fd[] = { udp,	    unix_socket, pair[0], pair[1], tube[0],
			   tube[1], events,	 timer,	  file,	   zero };

	return fd[which];
}

struct asked {
	const char *what;
	int nr;
	uint64_t arg[6];
	uint64_t size;	   ///< that are to be accessed
	const char *bytes; ///< what they begin with; zeroes behind that
	size_t n_bytes;
};

static uint32_t length = 16;
static struct sockaddr_storage from;

#define BYTES(s) s, sizeof(s) - 1
#define NONE NULL, 0

static const struct asked asked[] = {
	{ "read", SYS_read, { FDS + ZERO, AT, 40 }, 40, NONE },
	{ "pread64", SYS_pread64, { FDS + FILE_, AT, 40, 0 }, 40, NONE },
	{ "write", SYS_write, { FDS + TUBE1, AT, 40 }, 40, NONE },
	{ "getrandom", SYS_getrandom, { AT, 33, 0 }, 33, NONE },
	{ "sendto", SYS_sendto, { FDS + PAIR0, AT, 21, 0, 0, 0 }, 21, NONE },
	{ "sendto's address",
	  SYS_sendto,
	  { FDS + UDP, 0, 0, 0, AT, 16 },
	  16,
	  BYTES("\2\0\0\11\x7f\0\0\1") },
	{ "connect",
	  SYS_connect,
	  { FDS + UDP, AT, 16 },
	  16,
	  BYTES("\2\0\0\11\x7f\0\0\1") },
	{ "connect in the file system",
	  SYS_connect,
	  { FDS + UNIX, AT, 30 },
	  30,
	  BYTES("\1\0/nowhere") },
	{ "bind", SYS_bind, { FDS + UDP, AT, 16 }, 16, BYTES("\2\0\0\0\x7f\0\0\1") },
	{ "setsockopt",
	  SYS_setsockopt,
	  { FDS + UDP, SOL_SOCKET, SO_RCVBUF, AT, 4 },
	  4,
	  NONE },
	{ "getsockname",
	  SYS_getsockname,
	  { FDS + UDP, AT, (uintptr_t)&length },
	  16,
	  NONE },
	{ "getsockname's length",
	  SYS_getsockname,
	  { FDS + UDP, (uintptr_t)&from, AT },
	  4,
	  NONE },
	{ "getsockopt",
	  SYS_getsockopt,
	  { FDS + UDP, SOL_SOCKET, SO_LINGER, AT, (uintptr_t)&length },
	  8,
	  NONE },
	{ "getpeername",
	  SYS_getpeername,
	  { FDS + PAIR0, AT, (uintptr_t)&length },
	  2,
	  NONE },
	{ "socketpair", SYS_socketpair, { AF_UNIX, SOCK_STREAM, 0, AT }, 8, NONE },
	{ "pipe2", SYS_pipe2, { AT, O_CLOEXEC }, 8, NONE },
	{ "poll",
	  SYS_poll,
	  { AT, 3, 0 },
	  24,
	  BYTES("\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff") },
	{ "select",
	  SYS_select,
	  { 8, AT, 0, 0, (uintptr_t) & (struct timeval){ 0, 0 } },
	  8,
	  NONE },
	{ "select of more",
	  SYS_select,
	  { 65, 0, AT, 0, (uintptr_t) & (struct timeval){ 0, 0 } },
	  16,
	  NONE },
	{ "select's time", SYS_select, { 0, 0, 0, 0, AT }, 16, NONE },
	{ "epoll_ctl",
	  SYS_epoll_ctl,
	  { FDS + EVENTS, EPOLL_CTL_ADD, FDS + TUBE0, AT },
	  12,
	  NONE },
	{ "nanosleep", SYS_nanosleep, { AT, 0 }, 16, NONE },
	{ "clock_nanosleep",
	  SYS_clock_nanosleep,
	  { CLOCK_MONOTONIC, 0, AT, 0 },
	  16,
	  NONE },
	{ "timerfd_settime", SYS_timerfd_settime, { FDS + TIMER, 0, AT, 0 }, 32, NONE },
	{ "timerfd_gettime", SYS_timerfd_gettime, { FDS + TIMER, AT }, 32, NONE },
	{ "setitimer", SYS_setitimer, { 0, AT, 0 }, 32, NONE },
	{ "getitimer", SYS_getitimer, { 0, AT }, 32, NONE },
	{ "clock_gettime", SYS_clock_gettime, { CLOCK_MONOTONIC, AT }, 16, NONE },
	{ "gettimeofday", SYS_gettimeofday, { AT, 0 }, 16, NONE },
	{ "getrlimit", SYS_getrlimit, { 4, AT }, 16, NONE },
	{ "setrlimit", SYS_setrlimit, { 4, AT }, 16, NONE },
	{ "prlimit64", SYS_prlimit64, { 0, 4, AT, 0 }, 16, NONE },
	{ "getrusage", SYS_getrusage, { 0, AT }, 144, NONE },
	{ "times", SYS_times, { AT }, 32, NONE },
	{ "sysinfo", SYS_sysinfo, { AT }, 112, NONE },
	{ "uname", SYS_uname, { AT }, 390, NONE },
	{ "fstat", SYS_fstat, { FDS + FILE_, AT }, 144, NONE },
	{ "newfstatat", SYS_newfstatat, { AT_FDCWD, (uintptr_t) "/", AT, 0 }, 144, NONE },
	{ "statx", SYS_statx, { AT_FDCWD, (uintptr_t) "/", 0, 0x7ff, AT }, 256, NONE },
	{ "fstatfs", SYS_fstatfs, { FDS + FILE_, AT }, 120, NONE },
	{ "getcpu", SYS_getcpu, { AT, 0, 0 }, 4, NONE },
	{ "fcntl", SYS_fcntl, { FDS + FILE_, F_SETLK, AT }, 32, NONE },
	{ "fcntl asks", SYS_fcntl, { FDS + FILE_, F_GETLK, AT }, 32, NONE },
	{ "utimensat", SYS_utimensat, { FDS + FILE_, 0, AT, 0 }, 32, NONE },
	{ "FIONREAD", SYS_ioctl, { FDS + TUBE0, FIONREAD, AT }, 4, NONE },
	{ "FIONBIO", SYS_ioctl, { FDS + TUBE0, FIONBIO, AT }, 4, NONE },
	{ "open", SYS_open, { AT, O_RDONLY }, 9, BYTES("/nowhere") },
	{ "openat", SYS_openat, { AT_FDCWD, AT, O_RDONLY }, 9, BYTES("/nowhere") },
	{ "unlink", SYS_unlink, { AT }, 9, BYTES("/nowhere") },
	{ "rename to", SYS_rename, { (uintptr_t) "/nowhere", AT }, 9, BYTES("/nowhere") },
	{ "symlink", SYS_symlink, { AT, (uintptr_t) "/" }, 9, BYTES("/nowhere") },
	{ "readlink", SYS_readlink, { (uintptr_t) "/proc/self/exe", AT, 3 }, 3, NONE },
	{ "getcwd", SYS_getcwd, { AT, 4096 }, 0, NONE }, // as it is
	{ "setxattr's value",
	  SYS_fsetxattr,
	  { FDS + FILE_, (uintptr_t) "user.x", AT, 5, 0 },
	  5,
	  NONE },
	{ "sched_setaffinity", SYS_sched_setaffinity, { 0, 8, AT }, 8, NONE },
};

/* ---- the judge ------------------------------------------------------------------------------------ */

static bool copy(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct iovec to = { buf, n }, of = { (void *)addr, n };

	(void)ctx;
	return process_vm_readv(getpid(), &to, 1, &of, 1, 0) == (ssize_t)n;
}

/* The call with @p at; @return its result, or less its error. @p call: what it was. */
static int64_t call_at(const struct asked *a, uint8_t *at, struct dec_call *call)
{
	uint64_t arg[6];

	for (int i = 0; i < 6; i++)
		arg[i] = a->arg[i] == AT	    ? (uintptr_t)at :
			 a->arg[i] >> 4 == FDS >> 4 ? fd_of(a->arg[i] & 15) :
						      a->arg[i];
	length = 16;
	errno = 0;
	*call = (struct dec_call){ .nr = a->nr, .before = copy, .after = copy };
	memcpy(call->arg, arg, sizeof(arg));
	call->ret = syscall(a->nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	if (call->ret == -1)
		call->ret = -errno;
	return call->ret;
}

/* How many bytes from @p at on is it said to access? Each access is by the pointer that it is told to be by. */
static uint64_t told(const struct dec_call *call, const uint8_t *at)
{
	static struct dec_access a[DEC_CALL_ACCESSES];
	size_t n = dec_call_accesses(call, a, DEC_CALL_ACCESSES);
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		if (a[i].is_bounds && a[i].addr == (uintptr_t)at && a[i].size > most)
			most = a[i].size;
	return most;
}

static void put(const struct asked *a, uint8_t *at, uint64_t size)
{
	memset(page, 0, PAGE);
	if (a->n_bytes)
		memcpy(at, a->bytes, a->n_bytes < size ? a->n_bytes : size);
}

static void test_kernel(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		const struct asked *a = &asked[i];
		uint64_t size = a->size;
		struct dec_call call;
		uint8_t *at = page + 64;

		put(a, at, PAGE - 64);
		call_at(a, at, &call);
		if (!size)
			size = told(&call, at);
		if (told(&call, at) != size || !size)
			fail_msg("%s: %lu bytes are told, %lu accessed (%ld)", a->what,
				 told(&call, at), size, call.ret);
		at = page + PAGE - size;
		put(a, at, size);
		if (call_at(a, at, &call) == -EFAULT)
			fail_msg("%s: more than %lu bytes are accessed", a->what, size);
		put(a, at + 1, size - 1);
		if (call_at(a, at + 1, &call) != -EFAULT && call.ret != (int64_t)size - 1)
			fail_msg("%s: fewer than %lu bytes are accessed (%ld)", a->what,
				 size, call.ret);
	}
}

/* Vectors: what is moved, from each buffer in turn. */
static void test_vectors(void **state)
{
	struct iovec iov[3] = { { page, 10 }, { page + 100, 20 }, { page + 200, 30 } };
	struct dec_call call = { .nr = SYS_writev,
				 .ret = 25,
				 .arg = { 1, (uintptr_t)iov, 3 },
				 .before = copy,
				 .after = copy };
	struct dec_access a[8];

	(void)state;
	assert_int_equal(dec_call_accesses(&call, a, 8), 3);
	assert_int_equal(a[0].addr, (uintptr_t)iov);
	assert_int_equal(a[0].size, sizeof(iov));
	assert_int_equal(a[0].reg, CAP_RSI);
	assert_int_equal(a[1].size, 10);
	assert_int_equal(a[1].reg, DEC_ACCESS_WORD);
	assert_int_equal(a[1].at, (uintptr_t)&iov[0].iov_base);
	assert_int_equal(a[2].addr, (uintptr_t)page + 100);
	assert_int_equal(a[2].size, 15);
	assert_false(a[2].is_write);
	call.nr = SYS_readv;
	assert_int_equal(dec_call_accesses(&call, a, 8), 3);
	assert_true(a[1].is_write && a[2].is_write && !a[0].is_write);
	assert_int_equal(dec_call_accesses(&call, a, 2), 2);
	call.ret = -EFAULT; // one of the pointers: the vector must have had values
	assert_int_equal(dec_call_accesses(&call, a, 8), 1);
	assert_true(a[0].is_value && !a[0].is_bounds);
	call.ret = -EBADF;
	assert_int_equal(dec_call_accesses(&call, a, 8), 0);
	call.arg[1] = (uintptr_t)page + PAGE; // nothing is there
	call.ret = -EFAULT;
	assert_int_equal(dec_call_accesses(&call, a, 8), 0);
}

static const struct dec_access *find(const struct dec_access *a, size_t n, uint64_t addr)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].addr == addr && a[i].is_bounds)
			return &a[i];
	fail_msg("no access at %#lx is told", addr);
	return NULL;
}

/* @p n of them at @p to: the kernel's answer, and what is told of the call. */
static size_t call_messages(int nr, struct mmsghdr *to, unsigned n, struct dec_call *call,
			    struct dec_access a[64])
{
	*call = (struct dec_call){ .nr = nr,
				   .arg = { pair[nr == SYS_sendmmsg], (uintptr_t)to, n,
					    MSG_DONTWAIT },
				   .before = copy,
				   .after = copy };
	call->ret = syscall(nr, call->arg[0], to, n, MSG_DONTWAIT, 0);
	if (call->ret == -1)
		call->ret = -errno;
	return dec_call_accesses(call, a, 64);
}

/* Several messages at once, the last one's end where nothing is behind it: as many bytes of each as were moved. */
static void test_messages(void **state)
{
	typedef struct mmsghdr __attribute__((aligned(4)))
	at_end; // its last 4 bytes are none
	at_end *m = (at_end *)(page + PAGE - 2 * sizeof(*m) + 4);
	struct iovec iov[3] = { { page, 10 }, { page + 100, 20 }, { page + 200, 40 } };
	char control[64];
	struct dec_access a[64];
	const struct dec_access *x;
	struct dec_call call;
	size_t n;

	(void)state;
	memset(page, 0, PAGE);
	m[0].msg_hdr.msg_iov = &iov[0];
	m[1].msg_hdr.msg_iov = &iov[1];
	m[0].msg_hdr.msg_iovlen = m[1].msg_hdr.msg_iovlen = 1;
	n = call_messages(SYS_sendmmsg, m, 2, &call, a);
	assert_int_equal(call.ret, 2);
	x = find(a, n, (uintptr_t)&m[1].msg_hdr);
	assert_true(!x->is_write && x->reg == CAP_RSI && x->size == 56);
	assert_int_equal(x->offset, sizeof(*m));
	x = find(a, n, (uintptr_t)&m[1].msg_len);
	assert_true(x->is_write && x->size == 4);
	assert_int_equal(find(a, n, (uintptr_t)page)->size, 10);
	x = find(a, n, (uintptr_t)page + 100);
	assert_true(!x->is_write && x->size == 20 && x->reg == DEC_ACCESS_WORD);
	assert_int_equal(x->at, (uintptr_t)&iov[1].iov_base);
	// No more room: of the second nothing is known but that the first was sent.
	n = call_messages(SYS_sendmmsg, (void *)((char *)m + sizeof(*m)), 2, &call, a);
	assert_int_equal(call.ret, 1);
	for (size_t i = 0; i < n; i++)
		assert_true(a[i].addr - (uintptr_t)page - PAGE >= PAGE);
	m[0].msg_hdr.msg_iov = &iov[2];
	m[0].msg_hdr.msg_control = control;
	m[0].msg_hdr.msg_controllen = sizeof(control);
	n = call_messages(SYS_recvmmsg, m, 2, &call, a);
	assert_int_equal(call.ret, 2);
	x = find(a, n, (uintptr_t)page + 200);
	assert_true(x->is_write && x->size == 40);
	x = find(a, n, (uintptr_t)page + 100);
	assert_true(x->is_write && x->size == 10); // what is left
	assert_true(find(a, n, (uintptr_t)&m[0].msg_len)->is_write);
	n = call_messages(SYS_recvmmsg, m, 2, &call, a);
	while (call.ret > 0)
		n = call_messages(SYS_recvmmsg, m, 2, &call, a);
	assert_int_equal(call.ret, -EAGAIN);
	for (size_t i = 0; i < n; i++)
		assert_true(a[i].is_value && !a[i].is_bounds);
}

static int set_up(void **state)
{
	struct sockaddr_in any = { .sin_family = AF_INET };

	(void)state;
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	munmap(page + PAGE, PAGE);
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	unix_socket = socket(AF_UNIX, SOCK_DGRAM, 0);
	events = epoll_create1(0);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	zero = open("/dev/zero", O_RDONLY);
	dup2(zero, 100); // select() looks at no more than the table of descriptors holds
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pipe(tube) ||
	    write(tube[1], page, 100) != 100 || ftruncate(file, 100))
		return -1;
	return bind(udp, (struct sockaddr *)&any, sizeof(any));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
