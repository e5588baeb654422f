#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Children run as if nobody recorded, also with rdtsc and cpuid; what a vfork child writes
# into its parent's memory is recorded; an exec begins the capture anew.
. tests/lib.sh

need cc gojq
need_bpf
cat >"$TMPDIR/p.c" <<'C'
#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

static volatile int written;

int main(int argc, char **argv)
{
	unsigned a, b, c, d;
	int status;

	if (argc > 1) {
		(void)__rdtsc();
		return __get_cpuid(0, &a, &b, &c, &d) ? 9 : 8;
	}
	if (!fork()) {
		(void)__rdtsc();
		_exit(__get_cpuid(0, &a, &b, &c, &d) ? 5 : 6);
	}
	wait(&status);
	printf("fork %d\n", WEXITSTATUS(status));
	if (!vfork()) {
		(void)__rdtsc();
		written = 77;
		_exit(7);
	}
	wait(&status);
	printf("vfork %d %d\n", WEXITSTATUS(status), written);
	printf("system %d\n", WEXITSTATUS(system("exit 3")));
	fflush(stdout);
	if (getenv("EXEC"))
		execl(argv[0], argv[0], "again", NULL);
	return 0;
}
C
cc -O1 -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cannot compile"
expect_status 0 "${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/p"
printf 'fork 5\nvfork 7 77\nsystem 3\n' | cmp - "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
"$FAULTLINE" dump -m "$TMPDIR/c" | grep -E 'SYSCALL v?(fork|clone)' >"$TMPDIR/forks"
grep -Eq '\+4096\]=[0-9a-f]*4d000000' "$TMPDIR/forks" ||
	fail "what the vfork child wrote is not recorded"
expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"

# The new program runs as it would, and the capture is of it; what it was is kept beside.
expect_status 9 env EXEC=1 "${RECORD[@]}" -o "$TMPDIR/e" -- "$TMPDIR/p"
printf 'fork 5\nvfork 7 77\nsystem 3\n' | cmp - "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
tail -n 1 "$TMPDIR/err" | grep -q 'complete, with what it was before the exec of .*$' ||
	fail "the exec is not told: $(cat "$TMPDIR/err")"
expect_status 0 "$FAULTLINE" replay "$TMPDIR/e"
jq -e -s 'map([.pid == $pid, .argv[1], .end, .created]) == [[true, "again", "exit", null], [true, null, "exec", "before"]]' \
	--argjson pid "$("$FAULTLINE" info --json "$TMPDIR/e" | jq .pid)" \
	< <("$FAULTLINE" dump --processes --json "$TMPDIR/e") >/dev/null ||
	fail "$("$FAULTLINE" dump --processes "$TMPDIR/e")"
