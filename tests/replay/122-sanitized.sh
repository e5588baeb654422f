#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Programs built with the sanitizers: terabytes of shadow memory reserved at fixed
# addresses, little of it touched; clean runs, and one with the report of an error. Leak
# detection is off: it attaches a tracer to the program, which has one already.
. tests/lib.sh

need gcc
need_low_addresses
cat >"$TMPDIR/a.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	unsigned sum = 0;
	char *p[50];

	for (int i = 0; i < 50; i++)
		p[i] = memset(malloc(i * 10 + 1), i, i * 10 + 1);
	for (int i = 0; i < 50; i++)
		sum += p[i][i * 10 + argc - 1];
	printf("%s: %u\n", strrchr(argv[0], '/'), sum);
	for (int i = 0; i < 50; i++)
		free(p[i]);
	return 0;
}
EOF
export ASAN_OPTIONS=detect_leaks=0

run() {
	local compiler=$1 what=$2 bytes
	shift 2
	command -v "$compiler" >/dev/null || return 0
	"$compiler" -g -O1 -fsanitize="$what" "$TMPDIR/a.c" -o "$TMPDIR/a" 2>"$TMPDIR/cc" ||
		return 0 # its runtime library is not installed
	record_and_replay "$TMPDIR/a" "$@"
	# What is reserved and not touched is in no file.
	bytes=$(stat -c %s "$TMPDIR/c/start.core")
	[ "$bytes" -lt 8000000 ] || fail "start.core has $bytes bytes"
	rm -r "$TMPDIR"/c "$TMPDIR"/c.*
	n=$((n + 1))
}

n=0
run gcc address
run gcc undefined
run gcc thread
run clang address
want_status=1 run gcc address overrun
[ $n -gt 0 ] || skip "no sanitizer's library is installed"
