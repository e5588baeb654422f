#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Handlers and interrupted calls: as many signal events as handler runs, with a frame;
# a call that goes on without a handler says with which registers.
. tests/lib.sh

need cc
need_bpf
cat >"$TMPDIR/p.c" <<'C'
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int runs;

static void handler(int signo)
{
	(void)signo;
	runs++;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 0, 4000 }, { 0, 4000 } }, off = {};
	struct timespec long_time = { 20, 0 }, rest;
	int pipe_fds[2];
	char byte;

	if (pipe(pipe_fds))
		return 1;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	if (!fork()) {
		usleep(40000);
		if (write(pipe_fds[1], "x", 1) != 1)
			_exit(1);
		_exit(0);
	}
	if (read(pipe_fds[0], &byte, 1) != 1) // restarted by the kernel
		return 2;
	if (nanosleep(&long_time, &rest) != -1 || errno != EINTR) // never restarted
		return 3;
	setitimer(ITIMER_REAL, &off, NULL);
	// Stopped and continued without a handler: the kernel makes the call again.
	if (!fork()) {
		usleep(50000);
		kill(getppid(), SIGSTOP);
		usleep(50000);
		kill(getppid(), SIGCONT);
		_exit(0);
	}
	long_time = (struct timespec){ 0, 200000000 };
	if (nanosleep(&long_time, NULL))
		return 4;
	printf("%d\n", runs);
	return 0;
}
C
cc -O1 -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cannot compile"
make_capture "$TMPDIR/c" "$TMPDIR/p"
"$FAULTLINE" dump "$TMPDIR/c" >"$TMPDIR/dump"
n=$(grep -c 'SIGNAL 14 at .*\[' "$TMPDIR/dump")
[ "$n" -gt 0 ] && [ "$n" = "$(cat "$TMPDIR/c.out")" ] || fail "$n signals, $(cat "$TMPDIR/c.out") handler runs"
[ "$n" = "$(grep -c 'SYSCALL rt_sigreturn' "$TMPDIR/dump")" ] || fail "returns are missing"
grep -A 1 'SYSCALL clock_nanosleep.* = -51[46]' "$TMPDIR/dump" | grep -q 'after rax=\(db\|e6\)' ||
	fail "the restarted sleep does not say how it went on"
