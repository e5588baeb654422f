#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# SIGKILL of a program with threads while its first one is being led into a handler: the
# kernel tells of that one's end last, and the recorder must not wait for it alone. A ptrace
# request that comes late keeps the moment open for milliseconds.
. tests/lib.sh

need cc
need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to preload into the recorder"
cat >"$TMPDIR/late.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <unistd.h>

long ptrace(enum __ptrace_request request, ...)
{
	long (*next)(int, pid_t, void *, void *) = dlsym(RTLD_NEXT, "ptrace");
	void *addr, *data;
	va_list ap;
	pid_t pid;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (request == PTRACE_INTERRUPT)
		usleep(5000);
	return next(request, pid, addr, data);
}
C
cat >"$TMPDIR/p.c" <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static void on_alarm(int signo)
{
	(void)signo;
}

static void *wait_for_end(void *unused)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (;;)
		pause();
	return unused;
}

int main(void)
{
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_for_end, NULL))
		return 1;
	signal(SIGALRM, on_alarm);
	puts("begun");
	fflush(stdout);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (;;)
		;
}
C
cc -shared -fPIC -O1 -o "$TMPDIR/late.so" "$TMPDIR/late.c" -ldl || fail "cannot compile"
cc -O1 -o "$TMPDIR/p" "$TMPDIR/p.c" -lpthread || fail "cannot compile"

# Signals come faster than they are handled: it is always in such a stop.
for i in 1 2 3 4; do
	rm -rf "$TMPDIR/c" "$TMPDIR/out"
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$TMPDIR/late.so \
		"$FAULTLINE" record -o "$TMPDIR/c" -- \
		env -u LD_PRELOAD "$TMPDIR/p" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" &
	keeper=$!
	until_true grep -qs begun "$TMPDIR/out"
	sleep 0.05$i
	recorder=$(cat /proc/$keeper/task/$keeper/children)
	# shellcheck disable=SC2086 # it ends in a space
	program=$(cat /proc/${recorder% }/task/${recorder% }/children)
	kill -KILL ${program% }
	until_true eval '! kill -0 $keeper' || {
		grep -HE "^State|^[a-z0-9_]+$" /proc/${recorder% }/{wchan,status}
		kill -KILL ${recorder% }
		fail "the recorder hangs"
	}
	got=0
	wait $keeper || got=$?
	[ $got = 137 ] || fail "status $got, not 137: $(cat "$TMPDIR/err")"
	looks_whole "$TMPDIR/c" || fail "no whole capture"
	expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
done
