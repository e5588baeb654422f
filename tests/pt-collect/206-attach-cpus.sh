#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -p: what CPUs threads choose meanwhile they have afterwards; with several threads they
# share one as long as they are recorded, and a gap says that one was moved.
. tests/lib.sh
. tests/pt-collect/attach.bash

need cc
need_bpf
[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
cat >"$TMPDIR/p.c" <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int other; // thread, by number; 0 = there is none

static void choose(int tid, int nth)
{
	cpu_set_t all, one;

	sched_getaffinity(getppid(), sizeof(all), &all);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !nth--)
			CPU_SET(cpu, &one);
	if (sched_setaffinity(tid, sizeof(one), &one))
		exit(2);
}

static void *work(void *unused)
{
	other = gettid();
	for (;;)
		syscall(SYS_getppid);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	sigset_t set;
	int signo;

	(void)argv;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (argc > 1)
		pthread_create(&thread, NULL, work, NULL);
	while (argc > 1 && !other)
		usleep(1000);
	printf("tick\n");
	fflush(stdout);
	for (int i = 0;; i++) {
		sigwait(&set, &signo);
		choose(0, i & 1);
		if (other)
			choose(other, !(i & 1));
		printf("chosen %d\n", i);
		fflush(stdout);
	}
}
C
cc -O1 -o "$TMPDIR/p" "$TMPDIR/p.c" -lpthread || fail "cannot compile"

# allowed - the CPUs of each thread.
allowed() { grep -h Cpus_allowed_list /proc/"$pid"/task/*/status | awk '{ print $2 }'; }
# choose N - the program does so for the N-th time.
choose() {
	kill -USR1 "$pid"
	until_true grep -q "chosen $1" "$TMPDIR/tell" || fail "it does not go on"
}
for threads in "" 2; do
	rm -f "$TMPDIR/tell"
	# shellcheck disable=SC2086 # none or one
	"$TMPDIR/p" $threads >"$TMPDIR/tell" &
	pid=$!
	started+=("$pid")
	until_true grep -q tick "$TMPDIR/tell" || fail "it does not start"
	choose 0
	first=$(allowed)
	choose 1
	second=$(allowed)
	[ "$first" != "$second" ] || fail "nothing was chosen: $first"
	dir=$TMPDIR/c$threads
	attach "$dir" "$pid"
	choose 2
	[ -z "$threads" ] || [ "$(allowed | sort -u | wc -l)" = 1 ] ||
		fail "recorded, its threads have several CPUs"
	detach "$dir" INT
	[ "$(allowed)" = "$first" ] || fail "not the CPUs that it chose: $(allowed)"
	if [ "$threads" ]; then
		grep -q 'moved to another CPU' "$dir.err" || fail "no gap: $(cat "$dir.err")"
	else
		grep -q ': complete$' "$dir.err" || fail "$(cat "$dir.err")"
		expect_status 0 "$FAULTLINE" replay "$dir"
	fi
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	forget "$pid"
done
exit 0
