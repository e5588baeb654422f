#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Threads run as ever, all their system calls are recorded, each in the time of the thread
# that made it, and the replay agrees. SIGTERM to the recorder ends the program, and the capture is whole.
. tests/lib.sh

need cc
need_bpf
cat >"$TMPDIR/p.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <x86intrin.h>

static void *work(void *unused)
{
	for (int i = 0; i < 3000; i++)
		getppid();
	(void)__rdtsc();
	return unused;
}

int main(void)
{
	pthread_t t[5];

	for (int i = 0; i < 5; i++)
		if (pthread_create(&t[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	puts("joined");
	return 6;
}
C
cc -O1 -o "$TMPDIR/p" "$TMPDIR/p.c" -lpthread || fail "cannot compile"
expect_status 6 "${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/p"
[ "$(cat "$TMPDIR/out")" = joined ] || fail "stdout: $(cat "$TMPDIR/out")"
tail -n 1 "$TMPDIR/err" | grep -q ': complete$' || fail "$(cat "$TMPDIR/err")"
"$FAULTLINE" dump "$TMPDIR/c" >"$TMPDIR/dump"
[ "$(grep -c 'SYSCALL getppid' "$TMPDIR/dump")" = 15000 ] || fail "calls are missing"
[ "$(grep -c ' EXIT ' "$TMPDIR/dump")" = 6 ] || fail "not six ends"
# But for a thread's birth and its end, an event is one of the thread that runs.
awk '$3 == "SWITCH" { if (at && $2 != at) exit 1; at = $5 + 0; next }
	at && /SYSCALL clone3?\(.*\) = 0/ { next }
	at && $3 != "EXIT" && $2 ~ /^[0-9]+$/ && $1 ~ /^[0-9]+$/ && $2 != at { print; exit 1 }' \
	"$TMPDIR/dump" || fail "an event of another thread"
expect_status 0 "$FAULTLINE" replay --stdout "$TMPDIR/c"
[ "$(cat "$TMPDIR/out")" = joined ] || fail "replayed stdout: $(cat "$TMPDIR/out")"

"${RECORD[@]}" -o "$TMPDIR/d" -- sleep 60 2>"$TMPDIR/err" &
recorder=$!
until_true [ -s "$TMPDIR/d/start.core" ]
sleep 0.2
kill -TERM $recorder
wait $recorder
[ $? = 143 ] || fail "status $?, not 143"
looks_whole "$TMPDIR/d" || fail "the capture is not finished"
tail -n 1 "$TMPDIR/err" | grep -q ': complete$' || fail "$(cat "$TMPDIR/err")"
