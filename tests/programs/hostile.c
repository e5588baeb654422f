// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// FLAGS: -lseccomp
/*
 * Programs that do not want to be traced, or do something to those who trace:
 * `hostile MODE`. Each prints what it found, and ends with 0 unless it was harmed.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

/** What a recorder must look at in user space: an iovec, a mapped file, a trap. */
static int do_work(void)
{
	char a[100], b[4000];
	struct iovec v[2] = { { a, sizeof(a) }, { b, sizeof(b) } };
	int fd = open("/etc/passwd", O_RDONLY);
	ssize_t n = readv(fd, v, 2);
	const char *map = mmap(NULL, 100, PROT_READ, MAP_PRIVATE, fd, 0);
	unsigned leaf, x;

	if (fd < 0 || n < 100 || map == MAP_FAILED || memcmp(map, a, 100) ||
	    !__get_cpuid(0, &leaf, &x, &x, &x) || !__rdtsc())
		return 1;
	printf("read %zd, first %.4s\n", n, map);
	close(fd);
	return 0;
}

static int have_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(do_work() ? 1 : 7);
	return waitpid(pid, &status, 0) != pid || status != 7 << 8;
}

/** A sandbox in which neither prctl nor arch_prctl survive. */
static int confine(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);

	return seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, SCMP_SYS(prctl), 0) ||
	       seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, SCMP_SYS(arch_prctl), 0) ||
	       seccomp_load(f);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(mode, "undumpable")) {
		if (prctl(PR_SET_DUMPABLE, 0) || do_work())
			return 1;
	} else if (!strcmp(mode, "traceme")) {
		errno = 0;
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		printf("traced: %s\n", errno ? strerror(errno) : "not yet");
	} else if (!strcmp(mode, "sandbox")) {
		if (confine() || do_work() || have_child())
			return 1;
	} else if (!strcmp(mode, "closer")) {
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		if (do_work())
			return 1;
	} else if (!strcmp(mode, "parricide")) {
		kill(getppid(), SIGKILL);
		sleep(1);
	} else if (!strcmp(mode, "orphan")) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		puts("begun");
		sleep(2);
	}
	puts("unharmed");
	return 0;
}
