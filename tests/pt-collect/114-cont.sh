#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A SIGCONT that is pending when the kernel side asks for time, which it does by SIGSTOP, is not
# lost: neither one of the process nor one of the thread.
. tests/lib.sh

need cc
need_bpf
cat >"$TMPDIR/p.c" <<'C'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct timespec none = {};
	sigset_t set;
	int fd = open("/proc/self/exe", O_RDONLY);

	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 4; i++) {
		if (i & 1)
			kill(getpid(), SIGCONT);
		if (i & 2)
			syscall(SYS_tgkill, getpid(), getpid(), SIGCONT);
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
		printf("%d:", i);
		while (sigtimedwait(&set, NULL, &none) == SIGCONT)
			printf(" SIGCONT");
		printf("\n");
	}
	return 0;
}
C
cc -O1 -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cannot compile"
"$TMPDIR/p" >"$TMPDIR/native"
[ "$(tr -d '\n' <"$TMPDIR/native")" = '0:1: SIGCONT2: SIGCONT3: SIGCONT SIGCONT' ] ||
	fail "$(cat "$TMPDIR/native")"
record_and_replay "$TMPDIR/p"
cmp "$TMPDIR/native" "$TMPDIR/c.out" || fail "recorded: $(cat "$TMPDIR/c.out")"
