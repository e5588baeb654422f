#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -p twice: calls that wait are restart_syscall since the first time, and what they
# write is known all the same. They last as long as they were to.
. tests/lib.sh
. tests/pt-collect/attach.bash

need cc
need_bpf
cat >"$TMPDIR/p.c" <<'C'
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 10 // a busy machine attaches twice meanwhile

static void *on_condition(void *ret)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += SECONDS;
	pthread_mutex_lock(&mutex);
	while (!pthread_cond_timedwait(&cond, &mutex, &until))
		;
	return ret;
}

static void *in_poll(void *ret)
{
	struct pollfd p = { -1, POLLIN, 7 };

	return poll(&p, 1, SECONDS * 1000) ? NULL : ret;
}

static void *asleep(void *ret)
{
	struct timespec t = { SECONDS, 0 };

	return nanosleep(&t, NULL) ? NULL : ret;
}

int main(void)
{
	void *(*const fns[])(void *) = { on_condition, in_poll, asleep };
	pthread_t threads[3];
	struct timespec from, to;
	void *ret;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, fns[i], &threads);
	puts("tick");
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &ret);
		printf("%d\n", ret == &threads);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("waited %d\n",
	       (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 >=
		       SECONDS * 1000);
	return 0;
}
C
cc -O1 -o "$TMPDIR/p" "$TMPDIR/p.c" -lpthread || fail "cannot compile"
"$TMPDIR/p" >"$TMPDIR/tell" &
pid=$!
started+=("$pid")
until_true grep -q tick "$TMPDIR/tell" || fail "it does not start"
# All four in futex, poll or a sleep.
all_wait() {
	[ "$(cat /proc/"$pid"/task/*/syscall | grep -Ec '^(202|7|35|230) ')" = 4 ]
}
until_true all_wait || fail "they do not wait: $(cat /proc/"$pid"/task/*/syscall)"
attach "$TMPDIR/c1" "$pid"
detach "$TMPDIR/c1" INT
attach "$TMPDIR/c2" "$pid"
got=0
wait "$recorder" || got=$?
[ $got = 0 ] || fail "record ended with $got: $(cat "$TMPDIR/c2.err")"
wait "$pid" || fail "the program ended with $?"
forget "$pid"
[ "$(tr '\n' ' ' <"$TMPDIR/tell")" = 'tick 1 1 1 waited 1 ' ] || fail "$(cat "$TMPDIR/tell")"
for c in "$TMPDIR/c1" "$TMPDIR/c2"; do
	grep -q ': complete$' "$c.err" || fail "$(cat "$c.err")"
	expect_status 0 "$FAULTLINE" replay "$c"
	grep -q 'all matched' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
done
"$FAULTLINE" dump "$TMPDIR/c2" | grep -q restart_syscall || fail "no call was restarted"
