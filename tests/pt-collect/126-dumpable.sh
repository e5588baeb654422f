#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What root records may be dumped as what root starts: prctl() says so, and, where cores are files beside the program,
# there is one, with the same owner and mode. Who becomes somebody else may not.
. tests/lib.sh

need_bpf
[ $EUID = 0 ] || skip "only root's recorder has fewer capabilities than root"
cat >"$TMPDIR/a.c" <<'EOS'
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1 && (setgid(65534) || setuid(65534)))
		return 1;
	printf("%d\n", prctl(PR_GET_DUMPABLE));
	fflush(stdout);
	abort();
}
EOS
gcc -o "$TMPDIR/a" "$TMPDIR/a.c" || fail gcc
chmod 755 "$TMPDIR"
ulimit -c unlimited || skip "no cores are allowed here"

# look DIR COMMAND... - run it there; $TMPDIR/DIR.is: what it said, which cores it left.
look() {
	mkdir -m 777 "$TMPDIR/$1"
	(cd "$TMPDIR/$1" && "${@:2}" >"$TMPDIR/$1.is" 2>"$TMPDIR/$1.err")
	find "$TMPDIR/$1" -name 'core*' -printf '%u %g %m\n' >>"$TMPDIR/$1.is"
}

for somebody in "" else; do
	look alone "$TMPDIR/a" $somebody
	head -n 1 "$TMPDIR/alone.is" | grep -qx "$([ -n "$somebody" ] && cat /proc/sys/fs/suid_dumpable || echo 1)" ||
		fail "alone: $(cat "$TMPDIR/alone.is")"
	for options in "" -f --snapshot; do
		look recorded "${RECORD[@]}" $options -o "$TMPDIR/c" -- "$TMPDIR/a" $somebody
		cmp "$TMPDIR/alone.is" "$TMPDIR/recorded.is" ||
			fail "recorded $options $somebody: $(cat "$TMPDIR/recorded.is" "$TMPDIR/recorded.err")"
		[ "$options" = --snapshot ] || "$FAULTLINE" replay "$TMPDIR/c" || fail "$options: diverged"
		rm -rf "$TMPDIR/c"* "$TMPDIR/recorded"*
	done
	rm -rf "$TMPDIR/alone"*
done
