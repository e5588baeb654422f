// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// System calls that are given memory that they must not access, or that has no value; and what is right.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

static void *volatile sink;
static int pair[2], tube[2], udp, events, timer, file;

KEEP static void *same(void *p)
{
	sink = p;
	return sink;
}

KEEP static void *blank(size_t n) { return same(malloc(n)); }
KEEP static void *zeroes(size_t n) { return same(calloc(1, n)); }

KEEP static void without_value(void)
{
	struct iovec *iov = zeroes(sizeof(*iov) * 2);
	struct msghdr *m = zeroes(sizeof(*m));
	struct mmsghdr *many = zeroes(sizeof(*many) * 2);
	struct sockaddr_in *in = blank(sizeof(*in));
	struct sockaddr_un *un = blank(sizeof(*un));
	struct timespec *t = blank(32);
	struct itimerspec *every = blank(sizeof(*every));
	struct epoll_event *e = blank(sizeof(*e));
	struct pollfd *p = blank(sizeof(*p) * 2);
	struct flock *lock = blank(sizeof(*lock));
	struct rlimit *limit = blank(sizeof(*limit));
	char *text = blank(16);
	struct sockaddr_in local;
	struct timespec times[2];

	iov[0] = (struct iovec){ zeroes(16), 16 };
	iov[1] = (struct iovec){ blank(16), 16 };
	writev(tube[1], iov, 2); // expect: UNINIT-USE
	pwritev(file, iov, 2, 0); // expect: UNINIT-USE
	m->msg_iov = iov;
	m->msg_iovlen = 2;
	sendmsg(pair[0], m, 0); // expect: UNINIT-USE
	many[1].msg_hdr = *m;
	sendmmsg(pair[0], many, 2, 0); // expect: UNINIT-USE
	recvmmsg(pair[1], many, 1, MSG_DONTWAIT, blank(16)); // expect: UNINIT-USE
	in->sin_family = AF_INET;
	in->sin_port = 1;
	sendto(udp, m, 8, 0, (struct sockaddr *)in, sizeof(*in)); // expect: UNINIT-USE
	connect(udp, (struct sockaddr *)in, sizeof(*in)); // expect: UNINIT-USE
	un->sun_family = AF_UNIX;
	bind(udp, (struct sockaddr *)un, sizeof(*un)); // expect: UNINIT-USE
	setsockopt(udp, SOL_SOCKET, SO_RCVBUF, blank(4), 4); // expect: UNINIT-USE
	t[0].tv_sec = t[1].tv_sec = 0;
	clock_nanosleep(CLOCK_MONOTONIC, 0, t, NULL); // expect: UNINIT-USE
	futimens(file, t); // expect: UNINIT-USE
	p[0].fd = tube[0];
	poll(p, 1, 0); // expect: UNINIT-USE
	select(8, blank(sizeof(fd_set)), NULL, NULL, zeroes(16)); // expect: UNINIT-USE
	e->data.u64 = 0;
	epoll_ctl(events, EPOLL_CTL_ADD, tube[0], e); // expect: UNINIT-USE
	every->it_value.tv_sec = every->it_value.tv_nsec = 0;
	timerfd_settime(timer, 0, every, NULL); // expect: UNINIT-USE
	lock->l_type = F_RDLCK;
	lock->l_whence = 0;
	lock->l_start = 0;
	fcntl(file, F_SETLK, lock); // expect: UNINIT-USE
	limit->rlim_max = 0;
	setrlimit(RLIMIT_CORE, limit); // expect: UNINIT-USE
	ioctl(tube[0], FIONBIO, blank(4)); // expect: UNINIT-USE
	text[0] = '/';
	open(text, O_RDONLY); // expect: UNINIT-USE
	same(&local);
	connect(udp, (struct sockaddr *)&local, sizeof(local)); // expect: UNINIT-USE
	times[0] = times[1] = (struct timespec){ .tv_nsec = UTIME_NOW };
	same(times);
	futimens(file, times);
}

KEEP static void without_argument(void)
{
	struct iovec iov = { zeroes(16), 16 };
	int *none = blank(sizeof(*none));

	same(&iov);
	writev(tube[1], &iov, *none); // expect: UNINIT-USE
	preadv(file, &iov, 1, *none); // expect: UNINIT-USE
	shutdown(file, *none); // expect: UNINIT-USE
	socket(AF_UNIX, SOCK_DGRAM, *none); // expect: UNINIT-USE
	fcntl(file, F_SETFD, *none); // expect: UNINIT-USE
	fcntl(-1, F_ADD_SEALS, *none); // expect: UNINIT-USE
	fcntl(file, F_GETFL, *none);
	open("/dev/null", O_RDONLY, *none);
	open("/dev/null", O_RDWR | O_CREAT, *none); // expect: UNINIT-USE
}

KEEP static void too_large(void)
{
	struct iovec *iov = zeroes(sizeof(*iov) * 2);
	struct msghdr *m = zeroes(sizeof(*m));
	struct mmsghdr *several = zeroes(sizeof(*several) * 2);
	socklen_t *length = zeroes(sizeof(*length));
	char *many = zeroes(64), *text = zeroes(3), *gone = zeroes(64);

	iov[0] = (struct iovec){ zeroes(16), 24 };
	iov[1] = (struct iovec){ zeroes(8), 8 };
	writev(tube[1], iov, 2); // expect: HEAP-OVERFLOW
	m->msg_iov = iov;
	m->msg_iovlen = 2;
	sendmsg(pair[0], m, 0); // expect: HEAP-OVERFLOW
	write(pair[1], many, 60);
	readv(pair[0], iov, 2); // expect: HEAP-OVERFLOW
	write(pair[1], many, 60);
	recvmsg(pair[0], m, 0); // expect: HEAP-OVERFLOW
	several[1].msg_hdr = *m;
	sendmmsg(pair[0], several, 2, 0); // expect: HEAP-OVERFLOW
	write(pair[1], many, 60);
	recvmmsg(pair[0], several + 1, 1, MSG_DONTWAIT, NULL); // expect: HEAP-OVERFLOW
	sendmmsg(pair[0], zeroes(offsetof(struct mmsghdr, msg_len) + 2), 1, 0); // expect: HEAP-OVERFLOW
	sendto(udp, many, 8, 0, zeroes(8), 16); // expect: HEAP-OVERFLOW
	bind(udp, zeroes(8), 16); // expect: HEAP-OVERFLOW
	setsockopt(udp, SOL_SOCKET, SO_RCVBUF, zeroes(2), 4); // expect: HEAP-OVERFLOW
	*length = 16;
	getsockname(udp, zeroes(8), length); // expect: HEAP-OVERFLOW
	*length = 4;
	getsockopt(udp, SOL_SOCKET, SO_RCVBUF, zeroes(2), length); // expect: HEAP-OVERFLOW
	clock_nanosleep(CLOCK_MONOTONIC, 0, zeroes(12), NULL); // expect: HEAP-OVERFLOW
	poll(zeroes(8), 2, 0); // expect: HEAP-OVERFLOW
	select(65, zeroes(8), NULL, NULL, zeroes(16)); // expect: HEAP-OVERFLOW
	timerfd_settime(timer, 0, zeroes(16), NULL); // expect: HEAP-OVERFLOW
	timerfd_gettime(timer, zeroes(16)); // expect: HEAP-OVERFLOW
	setitimer(ITIMER_REAL, zeroes(16), NULL); // expect: HEAP-OVERFLOW
	fcntl(file, F_GETLK, zeroes(16)); // expect: HEAP-OVERFLOW
	futimens(file, zeroes(16)); // expect: HEAP-OVERFLOW
	ioctl(tube[0], FIONREAD, zeroes(2)); // expect: HEAP-OVERFLOW
	memcpy(text, "/ab", 3);
	open(text, O_RDONLY); // expect: HEAP-OVERFLOW
	unlink(text); // expect: HEAP-OVERFLOW
	rename("/", text); // expect: HEAP-OVERFLOW
	free(gone);
	iov[0] = (struct iovec){ gone, 8 };
	writev(tube[1], iov, 1); // expect: DANGLING-READ
}

KEEP static void too_large_variables(int more)
{
	char one[12] = "", two[12] = "";
	struct timespec t = { 0, 0 };
	struct itimerspec every = { { 0, 0 }, { 0, 0 } };
	struct iovec iov[2] = { { one, 12 + more }, { two, 12 } };
	int count = 0;
	short half = 0;

	same(one), same(two), same(&t), same(&every), same(&count), same(&half), same(iov);
	writev(tube[1], iov, 2); // expect: STACK-OVERFLOW
	bind(udp, (struct sockaddr *)one, 12 + more); // expect: STACK-OVERFLOW
	timerfd_settime(timer, 0, (struct itimerspec *)&t, NULL); // expect: STACK-OVERFLOW
	ioctl(tube[0], FIONREAD, &half); // expect: STACK-OVERFLOW
	ioctl(tube[0], FIONREAD, &count);
	timerfd_settime(timer, 0, &every, NULL);
	iov[0].iov_len = 12;
	writev(tube[1], iov, 2);
}

KEEP static void right(void)
{
	struct sockaddr_un un, *named = blank(sizeof(*named));
	struct sockaddr_in in;
	struct msghdr m;
	struct mmsghdr several[3];
	struct iovec iov[2];
	struct epoll_event e;
	struct pollfd p[2];
	struct flock lock;
	struct termios tty;
	struct winsize size;
	union {
		struct sockaddr any;
		struct sockaddr_storage all;
	} from;
	socklen_t length = sizeof(from);
	char text[200], control[CMSG_SPACE(sizeof(int))];
	fd_set set;
	int on = 1, sock = socket(AF_UNIX, SOCK_DGRAM, 0), status;
	struct linger linger = { 0, 0 };

	un.sun_family = AF_UNIX;
	strcpy(un.sun_path, "/nowhere/at all");
	connect(sock, (struct sockaddr *)&un, sizeof(un));
	connect(sock, (struct sockaddr *)&un, offsetof(struct sockaddr_un, sun_path) + 16);
	named->sun_family = AF_UNIX;
	memset(named->sun_path, 0, 2);
	bind(sock, (struct sockaddr *)named, offsetof(struct sockaddr_un, sun_path));
	bind(sock, (struct sockaddr *)named, sizeof(sa_family_t));
	free(named);
	in.sin_family = AF_INET;
	in.sin_port = htons(9);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sendto(udp, text, 0, 0, (struct sockaddr *)&in, sizeof(in));
	strcpy(text, "a text");
	iov[0] = (struct iovec){ text, 7 };
	iov[1] = (struct iovec){ text + 3, 2 };
	memset(&m, 0, sizeof(m));
	m.msg_iov = iov;
	m.msg_iovlen = 2;
	sendmsg(pair[0], &m, 0);
	m.msg_name = &from;
	m.msg_namelen = sizeof(from);
	m.msg_control = control;
	m.msg_controllen = sizeof(control);
	iov[1].iov_len = sizeof(text) - 3;
	recvmsg(pair[1], &m, 0);
	memset(several, 0, sizeof(several));
	several[0].msg_hdr.msg_iov = iov;
	several[0].msg_hdr.msg_iovlen = 1;
	several[1] = several[0];
	several[2].msg_hdr.msg_iovlen = 2000; // too many
	sendmmsg(pair[0], several, 3, 0);
	several[0].msg_hdr = m;
	recvmmsg(pair[1], several, 2, MSG_DONTWAIT, NULL);
	getsockname(sock, &from.any, &length);
	length = sizeof(linger);
	getsockopt(udp, SOL_SOCKET, SO_LINGER, &linger, &length);
	setsockopt(udp, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	setsockopt(udp, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	ioctl(tube[0], FIONREAD, &on);
	if (!tcgetattr(0, &tty))
		tcsetattr(0, TCSANOW, &tty);
	if (!ioctl(0, TIOCGWINSZ, &size))
		ioctl(0, TIOCSWINSZ, &size);
	e.events = EPOLLIN;
	e.data.fd = tube[0];
	epoll_ctl(events, EPOLL_CTL_ADD, tube[0], &e);
	epoll_ctl(events, EPOLL_CTL_DEL, tube[0], NULL);
	epoll_wait(events, &e, 1, 0);
	p[0].fd = tube[0];
	p[0].events = POLLIN;
	p[1].fd = -1;
	poll(p, 2, 0);
	FD_ZERO(&set);
	FD_SET(tube[0], &set);
	select(tube[0] + 1, &set, NULL, NULL, &(struct timeval){ 0, 0 });
	lock.l_type = F_WRLCK;
	lock.l_whence = SEEK_SET;
	lock.l_start = lock.l_len = 0;
	fcntl(file, F_SETLK, &lock);
	open(text, O_RDONLY);
	if (!vfork())
		_exit(3);
	wait(&status);
	close(sock);
}

int main(int argc, char **argv)
{
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	pipe(tube);
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	events = epoll_create1(0);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	right();
	if (argc > 1) {
		without_value();
		without_argument();
		too_large();
		too_large_variables(argc + 2);
	}
	return 0;
}
