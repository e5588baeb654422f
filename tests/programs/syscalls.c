// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Many kinds of system calls whose results the program could not know: every answer is
 * printed, so a replay that prints the same was given the same.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void print_bytes(const char *what, const void *data, size_t size)
{
	const unsigned char *p = data;
	unsigned long sum = 5381;

	for (size_t i = 0; i < size; i++)
		sum = sum * 33 + p[i];
	printf("%s: %zu bytes, sum %lx\n", what, size, sum);
}

static void do_identity(void)
{
	struct utsname name;
	struct sysinfo info;
	struct rusage usage;
	struct rlimit limit;
	char cwd[4096];
	gid_t groups[64];
	int n;

	printf("pid %d ppid %d uid %d\n", getpid(), getppid(), getuid());
	uname(&name);
	printf("uname %s %s\n", name.release, name.version);
	sysinfo(&info);
	printf("sysinfo %ld %lu %lu\n", info.uptime, info.freeram, info.loads[0]);
	getrusage(RUSAGE_SELF, &usage);
	printf("rusage %ld %ld\n", usage.ru_utime.tv_usec, usage.ru_minflt);
	getrlimit(RLIMIT_NOFILE, &limit);
	printf("rlimit %lu %lu\n", limit.rlim_cur, limit.rlim_max);
	printf("cwd %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : "?");
	n = getgroups(64, groups);
	print_bytes("groups", groups, n > 0 ? n * sizeof(groups[0]) : 0);
}

static void do_time(void)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC,
					    CLOCK_PROCESS_CPUTIME_ID, CLOCK_BOOTTIME };
	struct timespec t;
	struct timeval tv;
	struct tms tms;

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		clock_gettime(clocks[i], &t);
		printf("clock %d: %ld.%09ld\n", clocks[i], t.tv_sec, t.tv_nsec);
	}
	clock_getres(CLOCK_MONOTONIC, &t);
	printf("resolution %ld\n", t.tv_nsec);
	gettimeofday(&tv, NULL);
	printf("timeofday %ld.%06ld time %ld\n", tv.tv_sec, tv.tv_usec, time(NULL));
	printf("times %ld %ld\n", times(&tms), tms.tms_utime);
	t = (struct timespec){ .tv_nsec = 1000000 };
	printf("nanosleep %d\n", nanosleep(&t, &t));
}

static void do_files(const char *dir)
{
	char path[4096], buf[8192];
	struct iovec iov[3] = { { buf, 5 }, { buf + 100, 50 }, { buf + 1000, 7000 } };
	struct stat st;
	struct statfs fs;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 3000; i++)
		dprintf(fd, "line %d\n", i);
	printf("seek %ld\n", lseek(fd, 0, SEEK_END));
	n = pread(fd, buf, sizeof(buf), 77);
	print_bytes("pread", buf, n);
	lseek(fd, 3, SEEK_SET);
	n = readv(fd, iov, 3);
	printf("readv %zd\n", n);
	print_bytes("readv", buf + 1000, 7000);
	fstat(fd, &st);
	printf("fstat %lu %ld %ld.%09ld\n", st.st_ino, st.st_size, st.st_mtim.tv_sec,
	       st.st_mtim.tv_nsec);
	printf("stat missing: %d %s\n", stat("/no/such/file", &st), strerror(errno));
	statfs("/", &fs);
	printf("statfs %ld %lu\n", fs.f_type, fs.f_bfree);
	n = readlink("/proc/self/exe", buf, sizeof(buf) - 1);
	buf[n > 0 ? n : 0] = 0;
	printf("exe %s\n", buf);
	close(fd);
	unlink(path);
	fd = open("/proc/self/stat", O_RDONLY);
	n = read(fd, buf, sizeof(buf));
	print_bytes("/proc/self/stat", buf, n > 0 ? n : 0);
	close(fd);
	printf("read of a closed file: %zd %s\n", read(fd, buf, 1), strerror(errno));
}

static void do_directory(void)
{
	DIR *d = opendir("/etc");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += printf("%s%s", n ? " " : "etc: ", e->d_name) > 0;
	printf("\n%d entries\n", n);
	if (d)
		closedir(d);
}

static void do_pipes_and_sockets(void)
{
	char a[4096], b[4096], control[256];
	struct iovec iov[2] = { { a, 10 }, { b, 4000 } };
	struct msghdr message = { .msg_iov = iov,
				  .msg_iovlen = 2,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);
	struct pollfd poll_fd;
	int p[2], s[2], value;
	ssize_t n;

	if (pipe(p) || socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		exit(2);
	printf("pipe %d %d sockets %d %d\n", p[0], p[1], s[0], s[1]);
	memset(a, 'x', sizeof(a));
	n = write(p[1], a, 1234);
	poll_fd = (struct pollfd){ .fd = p[0], .events = POLLIN };
	n = poll(&poll_fd, 1, 1000);
	printf("poll %zd %x\n", n, poll_fd.revents);
	ioctl(p[0], FIONREAD, &value);
	printf("waiting %d\n", value);
	n = read(p[0], b, sizeof(b));
	print_bytes("pipe", b, n);
	n = send(s[0], "hello over the socket", 21, 0);
	n = recvmsg(s[1], &message, 0);
	printf("recvmsg %zd flags %x control %zu\n", n, message.msg_flags,
	       message.msg_controllen);
	print_bytes("recvmsg", a, 10);
	getsockname(s[0], (struct sockaddr *)&name, &size);
	printf("sockname family %d size %u\n", name.ss_family, size);
	size = sizeof(value);
	getsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &value, &size);
	printf("sndbuf %d\n", value);
	shutdown(s[0], SHUT_WR);
	n = recv(s[1], a, sizeof(a), 0);
	printf("end of stream %zd\n", n);
}

static void do_waiting(void)
{
	struct itimerspec timer = { .it_value.tv_nsec = 2000000 };
	int epoll = epoll_create1(0), fd = timerfd_create(CLOCK_MONOTONIC, 0);
	int event = eventfd(7, 0);
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = 0x1122334455667788 };
	struct timeval zero = {};
	uint64_t n = 0;
	fd_set set;

	timerfd_settime(fd, 0, &timer, NULL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
	printf("epoll %d ", epoll_wait(epoll, &e, 1, 1000));
	printf("%lx\n", (unsigned long)e.data.u64);
	printf("timer %zd", read(fd, &n, sizeof(n)));
	printf(" %lu\n", n);
	FD_ZERO(&set);
	FD_SET(event, &set);
	printf("select %d", select(event + 1, &set, NULL, NULL, &zero));
	printf(" %d\n", FD_ISSET(event, &set) != 0);
	printf("event %zd", read(event, &n, sizeof(n)));
	printf(" %lu\n", n);
}

static void do_keys(void)
{
	char text[100] = "";
	long key = syscall(SYS_add_key, "user", "faultline: a test's", "payload", 7,
			   KEY_SPEC_PROCESS_KEYRING);
	long n = syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text));

	printf("key: %ld bytes, '%.8s'\n", n, text);
	n = syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, text, sizeof(text));
	printf("key: described in %ld bytes, '%s'\n", n, text);
	n = syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, text, 0); // room for nothing
	printf("key: described in %ld bytes\n", n);
}

int main(void)
{
	char dir[] = "/tmp/faultline-syscalls.XXXXXX", random[64];

	if (!mkdtemp(dir))
		return 2;
	printf("dir %s\n", dir);
	do_identity();
	do_time();
	do_files(dir);
	do_directory();
	do_pipes_and_sockets();
	do_waiting();
	do_keys();
	print_bytes("random", random, getrandom(random, sizeof(random), 0));
	rmdir(dir);
	return 0;
}
