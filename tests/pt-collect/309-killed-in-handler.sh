#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# SIGKILL of a program with threads while one stands at its handler's first instruction, before the recorder has
# looked at it there: for the log it stands where the signal came.
. tests/lib.sh

need cc
need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to preload into the recorder"
cat >"$TMPDIR/kill.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/types.h>

long ptrace(enum __ptrace_request request, ...)
{
	long (*next)(int, pid_t, void *, void *) = dlsym(RTLD_NEXT, "ptrace");
	static bool is_led;
	static int n_led;
	void *addr, *data;
	va_list ap;
	pid_t pid;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	// The first request in the stop at the handler's first instruction.
	if (is_led && n_led == 100)
		kill(pid, SIGKILL);
	is_led = request == PTRACE_CONT && (long)data == SIGALRM;
	n_led += is_led;
	return next(request, pid, addr, data);
}
C
cat >"$TMPDIR/p.c" <<'C'
#include <pthread.h>
#include <signal.h>
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
	setitimer(ITIMER_REAL, &timer, NULL);
	for (;;)
		;
}
C
cc -shared -fPIC -O1 -o "$TMPDIR/kill.so" "$TMPDIR/kill.c" -ldl || fail "cannot compile"
cc -O1 -o "$TMPDIR/p" "$TMPDIR/p.c" -lpthread || fail "cannot compile"

# The request may come when its end is under way already: then that signal is told, too.
n_there=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	rm -rf "$TMPDIR/c"
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$TMPDIR/kill.so \
		expect_status 137 "$FAULTLINE" record -o "$TMPDIR/c" -- env -u LD_PRELOAD "$TMPDIR/p"
	looks_whole "$TMPDIR/c" || fail "no whole capture"
	expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
	n=$("$FAULTLINE" dump -k signal "$TMPDIR/c" | grep -c ' SIGNAL 14 ')
	[ "$n" = 99 ] || [ "$n" = 100 ] || fail "it was killed elsewhere: after $n signals"
	n_there=$((n_there + (n == 99)))
	[ $n_there -lt 2 ] || break
done
[ $n_there -gt 0 ] || fail "it was never killed there"
