#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What cannot be attached to says why, in one line, with status 125, and is not harmed.
. tests/lib.sh
. tests/pt-collect/attach.bash

need gdb
need_bpf

# refuse PID PATTERN - attaching fails with a message that matches.
refuse() {
	expect_status 125 "${RECORD[@]}" -p "$1" -o "$TMPDIR/c"
	expect_error "$2"
	[ ! -e "$TMPDIR/c" ] || fail "a capture is left behind"
}

refuse 4194303 'no such process'
refuse 2 'thread of the kernel'
expect_status 125 "${RECORD[@]}" -p nonsense
expect_status 125 "${RECORD[@]}" -p 1 -- true
expect_status 125 "${RECORD[@]}" --duration 1 -- true
expect_status 125 "${RECORD[@]}" -f -p 1

# Ended, but its parent has not asked.
bash -c 'sleep 0.3 & echo $!; exec sleep 600' >"$TMPDIR/zombie" &
started+=($!)
until_true eval 'grep -q "State:.Z" /proc/$(cat "$TMPDIR/zombie")/status'
refuse "$(cat "$TMPDIR/zombie")" 'has ended'

# Stopped by its user: it stays so.
sleep 600 &
stopped=$!
started+=($stopped)
kill -STOP $stopped
until_true grep -q 'State:.T' /proc/$stopped/status
refuse $stopped "is stopped .kill -CONT $stopped"
grep -q 'State:.T' /proc/$stopped/status || fail "it is not stopped any more"
kill -CONT $stopped

# Traced by another one, who is named.
mkfifo "$TMPDIR/fifo"
gdb -nx -batch -p "$stopped" -ex "shell cat '$TMPDIR/fifo'" >/dev/null 2>&1 &
debugger=$!
started+=($debugger)
until_true eval "! grep -q 'TracerPid:.0\$' /proc/$stopped/status" || skip "gdb cannot attach"
refuse "$stopped" "process [0-9]+ \(gdb\) traces it already"
echo >"$TMPDIR/fifo"
wait $debugger 2>/dev/null

# A container.
if unshare --pid --fork --mount-proc true 2>/dev/null; then
	unshare --pid --fork --mount-proc sleep 600 &
	until_true pgrep -P $! sleep >/dev/null
	inside=$(pgrep -P $! sleep)
	started+=("$inside")
	refuse "$inside" 'another PID namespace'
fi

# The number of a thread: its process is recorded.
start_server 2
thread=$(ls /proc/"$server"/task | tail -n 1)
attach "$TMPDIR/t" "$thread"
grep -q "$thread is a thread of process $server" "$TMPDIR/t.err" || fail "$(cat "$TMPDIR/t.err")"
grep -q ' 3 threads stopped' "$TMPDIR/t.err" || fail "not all threads: $(cat "$TMPDIR/t.err")"
detach "$TMPDIR/t" INT
is_left_alone "$server" || fail "$(cat /proc/"$server"/task/*/status)"
goes_on
stop_server
