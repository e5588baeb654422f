#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# SIGKILL at many moments. Of `faultline record`: the program, which traps, is signalled and
# forks all the time, is not harmed, and the capture is whole. Of the recorder behind it: a
# program that does not trap just then goes on, what was captured is readable. Of the program.
. tests/lib.sh

need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to kill the recorder"

# begin KIND DIR [MS] - record unharmed KIND; sets keeper, recorder and (maybe empty) program.
begin() {
	rm -rf "$2" "$TMPDIR/out"
	"$FAULTLINE" record -o "$2" -- "$BUILD/tests/programs/unharmed" "$1" "${3:-600}" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" &
	keeper=$!
}
children() { cat /proc/"$1"/task/"$1"/children 2>/dev/null; }
find_processes() {
	read -r recorder _ <<<"$(children $keeper)"
	read -r program _ <<<"$([ -z "$recorder" ] || children "$recorder")"
}
is_gone() {
	! grep -qs '^State:.*[^Z] (' "/proc/$1/status"
}
# has_ended PID - wait for that.
has_ended() {
	until_true is_gone "$1" && return 0
	grep -E 'State|Tracer|Pnd|SigBlk' "/proc/$1/status"
	echo "$kind, killed after $delay s; waits in $(cat "/proc/$1/wchan")"
	kill -KILL "$1"
	return 1
}

# wait_until DELAY - seconds, or so many "behind" the program's beginning.
wait_until() {
	case $1 in
	behind*)
		until_true grep -qs begun "$TMPDIR/out"
		;;
	esac
	sleep "${1#behind }"
}

n=0 n_told=0
for kind in csgtf csf csg s; do
	for delay in 0.02 0.06 "behind 0.05" "behind 0.2" "behind 0.35"; do
		begin $kind "$TMPDIR/c"
		wait_until "$delay"
		find_processes
		kill -KILL $keeper
		wait $keeper 2>/dev/null
		[ -z "$recorder" ] || has_ended "$recorder" || fail "the recorder stays"
		[ -z "$program" ] || has_ended "$program" || fail "the program stands still"
		# Either it had not begun, or nothing happened to it.
		if [ -s "$TMPDIR/out" ]; then
			grep -qx 'unharmed 1' "$TMPDIR/out" ||
				fail "$kind, killed after $delay s: harmed: $(cat "$TMPDIR/out" "$TMPDIR/err")"
			looks_whole "$TMPDIR/c" || fail "no manifest: $(cat "$TMPDIR/err")"
			n=$((n + 1))
			# Unless it had ended by itself before.
			grep -q '"end":[[:space:]]*"detached"' "$TMPDIR/c/manifest.json" &&
				n_told=$((n_told + 1))
		fi
	done
done
[ $n -ge 12 ] || fail "only $n programs had begun"
[ $n_told -gt 0 ] || fail "the end is told in none of $n"
expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
grep -q 'all matched' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

for delay in "behind 0.05" "behind 0.25" "behind 0.45"; do
	for ms in 900 4000 20000; do
		begin st "$TMPDIR/d" $ms
		wait_until "$delay"
		find_processes
		[ -z "$recorder" ] || kill -KILL "$recorder"
		got=0
		wait $keeper || got=$?
		[ $got = 0 ] || break # else it had ended before
	done
	[ $got = 125 ] || fail "status $got, not 125"
	has_ended "$program" || fail "the program stands still"
	grep -qx 'unharmed 1' "$TMPDIR/out" || fail "harmed: $(cat "$TMPDIR/out" "$TMPDIR/err")"
	expect_status 2 "$FAULTLINE" replay "$TMPDIR/d"
	expect_error "not finished|breaks off"
done

# The program itself, at its start and later: status 137, and the capture is whole or gone.
for delay in 0.01 0.03 0.06 "behind 0.2"; do
	begin csgtf "$TMPDIR/e"
	wait_until "$delay"
	find_processes
	[ -z "$program" ] || kill -KILL "$program"
	got=0
	wait $keeper || got=$?
	case $got in
	137) looks_whole "$TMPDIR/e" || fail "killed, and no whole capture" ;;
	125) expect_error . ;;
	0) [ -z "$program" ] || fail "the program was killed, and the status is 0" ;;
	*) fail "status $got: $(cat "$TMPDIR/err")" ;;
	esac
done
exit 0
