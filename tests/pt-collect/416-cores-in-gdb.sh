#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# gdb opens every core that a command makes, with all its registers, and finds nothing to warn of.
. tests/lib.sh

need gdb python3
need_bpf
program=$BUILD/examples/list-O2
threads=$(readlink -f "$(command -v python3)")

# record_into DIR OPTION... -- COMMAND... - whatever becomes of the program.
record_into() {
	local dir=$1
	shift
	"${RECORD[@]}" -o "$TMPDIR/$dir" "$@" >/dev/null 2>"$TMPDIR/err"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/$dir"
	looks_whole "$TMPDIR/$dir" || fail "$(cat "$TMPDIR/err")"
}
record_into end --end-core -- "$program"
record_into portable --portable --end-core -- "$program"
record_into snapshot --snapshot -- "$program"
"$threads" -c 'import threading, time
for i in range(3): threading.Thread(target=time.sleep, args=(1000,)).start()' &
pid=$!
until_true eval "[ \$(ls /proc/$pid/task | wc -l) = 4 ]"
record_into attached --duration 0.1 -p $pid
kill -KILL $pid 2>/dev/null
expect_status 0 "$FAULTLINE" encode --flight "$TMPDIR/flight" "$TMPDIR/end"

n=0
for core in "$TMPDIR"/*/{start,end}.core; do
	[ -f "$core" ] || continue
	exe=$program
	[[ $core != */attached/* ]] || exe=$threads
	n=$((n + 1))
	gdb -nx -batch -ex 'thread apply all bt 3' -ex 'info all-registers' -ex 'p $ymm1' "$exe" "$core" \
		>"$TMPDIR/gdb" 2>&1 || fail "gdb cannot open $core"
	! grep -iE 'warning|too small|unexpected size|not match' "$TMPDIR/gdb" || fail "gdb about $core"
	grep -q '^rip ' "$TMPDIR/gdb" || fail "no registers in $core: $(head "$TMPDIR/gdb")"
	grep -q '^\$1 = {' "$TMPDIR/gdb" || fail "no vector registers in $core: $(tail "$TMPDIR/gdb")"
done
[ $n -ge 6 ] || fail "only $n cores: $(ls "$TMPDIR"/*)"
exit 0
