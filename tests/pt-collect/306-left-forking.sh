#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# SIGKILL of `faultline record` while threads of the program, all on one busy CPU, do nothing
# but fork: children that have not run yet when their parent is left are let go as well, and
# all come to their ends.
. tests/lib.sh

need cc
need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to look at the recorder"
cat >"$TMPDIR/p.c" <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8

static volatile int is_over;

static void *work(void *unused)
{
	int status;

	while (!is_over) {
		pid_t pid = fork();

		if (!pid)
			_exit(7);
		if (pid < 0 || waitpid(pid, &status, 0) != pid ||
		    !WIFEXITED(status) || WEXITSTATUS(status) != 7)
			exit(11);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];
	cpu_set_t cpus;
	int cpu = 0;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	puts("begun");
	fflush(stdout);
	while (clock() < CLOCKS_PER_SEC / 5)
		;
	is_over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("unharmed");
	return 0;
}
C
cc -O1 -o "$TMPDIR/p" "$TMPDIR/p.c" -lpthread || fail "cannot compile"

for i in $(seq 10); do
	rm -rf "$TMPDIR/c" "$TMPDIR/out"
	"$FAULTLINE" record -o "$TMPDIR/c" -- "$TMPDIR/p" >"$TMPDIR/out" 2>"$TMPDIR/err" &
	keeper=$!
	until_true grep -qs begun "$TMPDIR/out"
	read -r recorder _ </proc/$keeper/task/$keeper/children
	read -r program _ </proc/$recorder/task/$recorder/children
	sleep 0.0$i
	kill -KILL $keeper
	wait $keeper 2>/dev/null
	for pid in $recorder $program; do
		until_true eval "! grep -qs '^State:.*[^Z] (' /proc/$pid/status" && continue
		grep -HE '^State|^[a-z0-9_]+$' /proc/{$recorder,$program}/{wchan,status}
		kill -KILL $recorder $program
		fail "$pid stays"
	done
	grep -q unharmed "$TMPDIR/out" || fail "harmed: $(cat "$TMPDIR/out" "$TMPDIR/err")"
	looks_whole "$TMPDIR/c" || fail "no manifest: $(cat "$TMPDIR/err")"
done
