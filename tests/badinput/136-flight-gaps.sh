#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A flight recorder's packets that are damaged just before the end: where no instruction is left
# to recover, `recover' says so.
. tests/lib.sh

need_bpf
"${RECORD[@]}" --end-core -e heap -o "$TMPDIR/whole" -- "$BUILD/examples/list-O2" \
	>/dev/null 2>"$TMPDIR/err"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/whole"
expect_status 0 "$FAULTLINE" encode --flight "$TMPDIR/c" "$TMPDIR/whole"
cp "$TMPDIR/c/perf.data" "$TMPDIR/perf.data"
size=$(stat -c %s "$TMPDIR/perf.data")
refused=0
for part in $(seq 2 2 98); do
	cp "$TMPDIR/perf.data" "$TMPDIR/c/perf.data"
	tr '\0' '\377' </dev/zero | dd of="$TMPDIR/c/perf.data" bs=1 count=64 \
		seek=$((size * part / 100)) conv=notrunc status=none
	got=0
	"$FAULTLINE" recover -w 1 "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
	[ $got = 0 ] || [ $got = 2 ] || fail "status $got, damaged at $part percent"
	[ $got = 0 ] || expect_error .
	grep -q "no instruction of thread" "$TMPDIR/err" && refused=$((refused + 1))
done
[ $refused -gt 0 ] || fail "nothing was damaged"
exit 0
