#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -e pt: without PT one line says why, and all else is as without it. With a PMU that
# is described like Intel PT's but is the kernel's dummy, all of collection but PT itself is
# real: of threads, children, executed programs, attached ones, snapshots; perf reads what
# comes of it, and it agrees with what the program did.
. tests/lib.sh

need_bpf
program=$BUILD/tests/programs/flight

# ---- no PT -----------------------------------------------------------------------------------
export FAULTLINE_PT_SYSFS=$TMPDIR/nothing
expect_status 3 "${RECORD[@]}" -e pt -o "$TMPDIR/none" -- "$BUILD/tests/programs/crash" exit 3
if [ "${RECORD[0]}" != sudo ]; then
	[ "$(grep -c 'no Intel PT: .*; recording goes on without it$' "$TMPDIR/err")" = 1 ] ||
		fail "not one line: $(cat "$TMPDIR/err")"
	tail -n 1 "$TMPDIR/err" | grep -q complete || fail "$(cat "$TMPDIR/err")"
	[ ! -e "$TMPDIR/none/perf.data" ] || fail "a perf.data without PT"
	"$FAULTLINE" dump "$TMPDIR/none" | grep -q '^pt: none: .' || fail "not in the manifest"
	"$FAULTLINE" replay "$TMPDIR/none" | grep -q 'all matched' || fail "it does not replay"
else
	skip "the rest needs the environment, which sudo cleans"
fi

# ---- mistakes ----------------------------------------------------------------------------------
tree=$TMPDIR/pmu
mkdir -p "$tree/format" "$tree/caps"
echo 1 >"$tree/type"
echo config:0-3 >"$tree/format/what"
export FAULTLINE_PT_SYSFS=$tree
for terms in pt/cyc/ pt/what=16/ pt/what=x/; do
	expect_status 125 "${RECORD[@]}" -e "$terms" -o "$TMPDIR/bad" -- true
	expect_error "Intel PT"
	[ ! -e "$TMPDIR/bad" ] || fail "a directory was left"
done
expect_status 125 "${RECORD[@]}" -e pt --filter 'filter main' -o "$TMPDIR/bad" -- true
expect_error 'no address filters'
expect_status 125 "${RECORD[@]}" --per-cpu -o "$TMPDIR/bad" -- true
grep -q 'are for -e pt' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
expect_status 125 "${RECORD[@]}" -e pt/what=9/k -o "$TMPDIR/bad" -- true
grep -q 'unknown event' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"

# An event that the kernel does not open: why, and on it goes. (15: there is no such one.)
expect_status 0 "${RECORD[@]}" -e pt/what=15/ -o "$TMPDIR/refused" -- true
grep -q 'no Intel PT of process .*; recording goes on without it' "$TMPDIR/err" ||
	fail "$(cat "$TMPDIR/err")"
"$FAULTLINE" dump "$TMPDIR/refused" | grep -q '^pt: none: cannot open' || fail "not noted"

# ---- a real kernel's rings -----------------------------------------------------------------------
need perf
events() {
	perf script -f --show-mmap-events --show-task-events --show-switch-events \
		-i "$1/perf.data" 2>"$TMPDIR/perf.err" >"$TMPDIR/events" ||
		fail "perf: $(cat "$TMPDIR/perf.err")"
}
count() {
	grep -c "$1" "$TMPDIR/events"
}

for per in '' --per-cpu; do
	# shellcheck disable=SC2086
	expect_status 0 "${RECORD[@]}" -e pt/what=9/ $per -o "$TMPDIR/t$per" -- "$program" spawn 7
	tail -n 1 "$TMPDIR/err" | grep -q 'MiB of PT with 0 gaps.*complete' || fail "$(cat "$TMPDIR/err")"
	"$FAULTLINE" replay "$TMPDIR/t$per" | grep -q 'all matched' || fail "$per: no replay"
	events "$TMPDIR/t$per"
	[ "$(count PERF_RECORD_FORK)" = 7 ] && [ "$(count PERF_RECORD_EXIT)" = 8 ] ||
		fail "$per: $(count PERF_RECORD_FORK) born, $(count PERF_RECORD_EXIT) ended"
	grep -q 'PERF_RECORD_MMAP2.*r-xp .*/flight$' "$TMPDIR/events" || fail "$per: the program"
	grep -q 'PERF_RECORD_MMAP2.*r-xp .*/libc.so.6$' "$TMPDIR/events" || fail "$per: libc"
	[ "$(count 'SWITCH OUT')" -ge 8 ] || fail "$per: switches"
	[ "$(stat -c %a "$TMPDIR/t$per/perf.data")" = 600 ] || fail "others may read it"
done

# Children have theirs; a program that executes another one leaves only the latter's.
expect_status 0 "${RECORD[@]}" -f -e pt/what=9/ -o "$TMPDIR/f" -- sh -c '/bin/true; exec env true'
[ -s "$(echo "$TMPDIR"/f/children/1-true.*/perf.data)" ] || fail "the child has none"
events "$TMPDIR/f"
grep -q 'PERF_RECORD_COMM.*true' "$TMPDIR/events" || fail "$(cat "$TMPDIR/events")"
if grep -q '/bin/\(ba\|da\)\?sh$' "$TMPDIR/events"; then
	fail "what the shell did is still there"
fi

# A snapshot: what is mapped at the end, where the program stands.
expect_status 139 "${RECORD[@]}" --snapshot -e pt/what=9/ -o "$TMPDIR/s" -- "$program" threads
events "$TMPDIR/s"
[ "$(count 'PERF_RECORD_COMM')" = 6 ] || fail "threads: $(cat "$TMPDIR/events")"
rip=$("$FAULTLINE" dump "$TMPDIR/s" | sed -n 's/.*end rax.* rip=\([0-9a-f]*\).*/\1/p' | head -n 1)
awk -v rip="$rip" '
	function number(hex,  i, n) {
		for (i = 1; i <= length(hex); i++)
			n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
		return n
	}
	match($0, /\[0x[0-9a-f]*\(0x[0-9a-f]*\)/) {
		split(substr($0, RSTART + 3, RLENGTH - 4), part, /\(0x/)
		start = number(part[1])
		if (number(rip) >= start && number(rip) < start + number(part[2]) && /flight$/)
			found = 1
	}
	END { exit !found }' "$TMPDIR/events" || fail "no mapping holds $rip"
"$FAULTLINE" dump -k heap "$TMPDIR/s" | grep -q . && fail "heap events that nobody wanted"

# Attached to: threads that were there before are in it.
fresh
"$program" serve >"$TMPDIR/out" &
pid=$!
until_true grep -q ready "$TMPDIR/out"
"${RECORD[@]}" -e pt/what=9/ -p $pid -o "$TMPDIR/p" 2>"$TMPDIR/err" &
recorder=$!
until_true grep -q 'attached to process' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
waits_on $pid 50
kill -INT $recorder
wait $recorder || fail "$(cat "$TMPDIR/err")"
kill -TERM $pid
wait $pid
[ $? = 7 ] || fail "harmed"
events "$TMPDIR/p"
grep -q "PERF_RECORD_MMAP2 $pid/$pid: .*r-xp .*/flight$" "$TMPDIR/events" || fail "no mapping"
[ "$(count 'SWITCH OUT')" -ge 20 ] || fail "it slept each millisecond: $(count 'SWITCH OUT')"
