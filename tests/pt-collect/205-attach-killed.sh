#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -p, and SIGKILL at any moment of either of its two processes, and of the program.
# The program, which is easily harmed, goes on: not traced, not stopped, on its CPUs. Killed
# is the process that the user sees: the capture is finished all the same. Killed is the
# other one: what was captured until then is readable.
. tests/lib.sh
. tests/pt-collect/attach.bash

need_bpf

# kill_after SECONDS WHICH DIR - record the server unless that is done, and SIGKILL one of
# us, or of what is about to be.
kill_after() {
	local pid victim
	if [ ! -e "$3.err" ]; then
		"${RECORD[@]}" -p "$server" -o "$3" >/dev/null 2>"$3.err" &
		recorder=$!
	fi
	sleep "$1"
	pid=$recorder
	[ "${RECORD[0]}" = sudo ] && pid=$(child_of "$pid")
	victim=$pid
	[ "$2" = recorder ] && victim=$(child_of "$pid")
	[ -n "$victim" ] || fail "no recorder: $(cat "$3.err")"
	${RECORD[0]/$FAULTLINE/} kill -KILL "$victim" 2>/dev/null
	wait "$recorder" 2>/dev/null
}

# was_not_harmed WHERE
was_not_harmed() {
	until_true is_left_alone "$server" ||
		fail "$1: $(server_state)"
	until_true eval '[ "$before" = "$(cpus "$server")" ]' ||
		fail "$1: on other CPUs: $(cpus "$server")"
	goes_on
	grep wrong "$TMPDIR/server" && fail "$1: the server was harmed"
}

# kill_often WHICH - at ten moments, of which the last is well inside the recording.
kill_often() {
	local delay
	before=$(cpus "$server")
	for delay in 0.01 0.05 0.08 0.1 0.12 0.14 0.17 0.2 0.3; do
		kill_after $delay "$1" "$TMPDIR/$1$delay"
		was_not_harmed "$1 killed after $delay s"
	done
	attach "$TMPDIR/$1" "$server"
	kill_after 0.2 "$1" "$TMPDIR/$1"
	was_not_harmed "$1 killed while it recorded"
}

# tracer_of PID - into $traces; empty = none. Without a program: it takes but milliseconds.
tracer_of() {
	local line
	while read -r line; do
		[[ $line = TracerPid:* ]] && break
	done <"/proc/$1/status"
	traces=${line#TracerPid:$'\t'}
	[ "$traces" != 0 ] || traces=
}

# kill_attaching DIR - SIGKILL the keeper while the recorder is surely in the middle of
# attaching, by stopping it there. @return whether it was caught there.
kill_attaching() {
	local pid traces is_late=0
	"${RECORD[@]}" -p "$server" -o "$1" >/dev/null 2>"$1.err" &
	recorder=$!
	until tracer_of "$server" && [ -n "$traces" ]; do
		kill -0 "$recorder" 2>/dev/null || fail "not attached: $(cat "$1.err")"
	done
	${RECORD[0]/$FAULTLINE/} kill -STOP "$traces"
	pid=$recorder
	[ "${RECORD[0]}" = sudo ] && pid=$(child_of "$pid")
	${RECORD[0]/$FAULTLINE/} kill -KILL "$pid"
	wait "$recorder" 2>/dev/null
	grep -q '^faultline: attached' "$1.err" && is_late=1
	${RECORD[0]/$FAULTLINE/} kill -CONT "$traces"
	return $is_late
}

# The recorder goes through with attaching, then hears of it, and leaves as always.
start_server 3 plain
before=$(cpus "$server")
for i in {1..20}; do
	got=0
	kill_attaching "$TMPDIR/attaching$i" || got=1
	was_not_harmed "keeper killed while it attached"
	until_true looks_whole "$TMPDIR/attaching$i" ||
		fail "keeper killed while it attached: no whole capture"
	[ $got = 1 ] || break
done
[ $got = 0 ] || fail "the recorder always was faster than we"
kill_often keeper
stop_server
# What traps just when the recorder is killed would end a program that has it: this has not.
# And killed in the middle of attaching, it leaves a wait that ended early.
start_server 3 plain
kill_often recorder
stop_server

until_true looks_whole "$TMPDIR/keeper" || fail "keeper killed: no whole capture"
"$FAULTLINE" replay "$TMPDIR/keeper" >"$TMPDIR/replay" 2>&1 || fail "$(cat "$TMPDIR/replay")"
grep -q 'all matched' "$TMPDIR/replay" || fail "$(cat "$TMPDIR/replay")"
grep -q 'the recorder was killed by SIG' "$TMPDIR/recorder.err" || fail "$(cat "$TMPDIR/recorder.err")"
looks_whole "$TMPDIR/recorder" && fail "recorder killed: the capture says it is whole"
"$FAULTLINE" dump "$TMPDIR/recorder" >"$TMPDIR/dump" 2>&1
grep -q 'thread' "$TMPDIR/dump" || fail "recorder killed: the start state is not readable"

# The program is killed: the recording ends with it, whole, and says how.
start_server
attach "$TMPDIR/k" "$server"
goes_on
kill -KILL "$server"
got=0
wait "$recorder" || got=$?
[ $got = 137 ] || fail "status $got: $(cat "$TMPDIR/k.err")"
wait "$server" 2>/dev/null
forget "$server"
looks_whole "$TMPDIR/k" || fail "the program was killed, and the capture is not whole"
"$FAULTLINE" replay "$TMPDIR/k" >"$TMPDIR/replay" 2>&1 || fail "$(cat "$TMPDIR/replay")"
grep -q 'killed by SIGKILL' "$TMPDIR/replay" || fail "$(cat "$TMPDIR/replay")"
