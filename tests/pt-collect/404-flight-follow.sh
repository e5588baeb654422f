#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record --snapshot -f: processes that the program starts have rings of their own, whether
# they execute a program or are its copies; a crash of one is a snapshot of that one,
# SIGUSR2 one of each; the status is the program's.
. tests/lib.sh

need gdb gojq
need_bpf
program=$(own_program flight)
capture=$TMPDIR/c

mine() {
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR"
}

said() {
	grep -qs "$1" "$TMPDIR/err"
}

# mallocs DIR - how many calls it has.
mallocs() {
	"$FAULTLINE" dump -k heap "$1" | grep -c 'HEAP malloc('
}

# A program that is executed crashes, then a copy of the shell.
expect_status 5 "${RECORD[@]}" --snapshot -f -o "$capture" -- bash -c \
	'"$0" corrupt 40; (x=$(:); kill -SEGV $BASHPID); exit 5' "$program"
mine
printed=$(grep -c '^malloc ' "$TMPDIR/out")
said "^faultline: snapshot at SIGABRT of thread .* of flight (.*in $capture: complete$" ||
	fail "$(cat "$TMPDIR/err")"
said "^faultline: snapshot at SIGSEGV of thread .* of bash (.*in $capture.2: complete$" ||
	fail "$(cat "$TMPDIR/err")"
[ ! -e "$capture.3" ] || fail "a third snapshot"
gdb -nx -batch -ex bt "$program" "$capture/end.core" 2>&1 | grep -q 'in corrupt_heap ()' ||
	fail "not the executed program's core"
# Those of the shell's copy, stdio's buffer, the printed ones, that which found it out.
[ "$printed" -gt 0 ] && [ "$(mallocs "$capture")" -ge $((printed + 2)) ] ||
	fail "$(mallocs "$capture") calls, it printed $printed"
[ "$(mallocs "$capture.2")" -gt 0 ] || fail "nothing is known of the copy's calls"
[ "$(jq .pid "$capture/manifest.json")" != "$(jq .pid "$capture.2/manifest.json")" ] ||
	fail "both are of one process"

# (bash has a report_error of its own.)
# Asked for: one of each process that runs; then they end by themselves.
fresh
"${RECORD[@]}" --snapshot=64K -f --trigger report_error -o "$TMPDIR/s" -- bash -c \
	'"$0" serve & "$0" serve & wait; exit 3' "$program" >"$TMPDIR/out" 2>"$TMPDIR/err" &
recorder=$!
both_ready() {
	[ "$(grep -cs ready "$TMPDIR/out")" = 2 ]
}
until_true both_ready || fail "waited in vain: $(cat "$TMPDIR/err")"
kill -USR2 $recorder
until_true said 's\.3: complete' || fail "waited in vain: $(cat "$TMPDIR/err")"
mapfile -t servers < <(pgrep -f "^$program serve")
kill -USR1 "${servers[0]}"
until_true said 's\.4: complete' || fail "waited in vain: $(cat "$TMPDIR/err")"
kill -TERM "${servers[@]}"
wait $recorder
[ $? = 3 ] || fail "status; $(cat "$TMPDIR/err")"
mine
[ "$(grep -c 'snapshot as asked of flight' "$TMPDIR/err")" = 2 ] && said 'as asked of bash' ||
	fail "$(cat "$TMPDIR/err")"
said 'snapshot at report_error in thread .* of flight' || fail "$(cat "$TMPDIR/err")"
[ "$(jq .pid "$TMPDIR/s.4/manifest.json")" = "${servers[0]}" ] || fail "another one's trigger"
[ "$(ls -d "$TMPDIR"/s.* | wc -l)" = 3 ] || fail "other snapshots: $(ls "$TMPDIR")"

# Nobody crashed: nothing is kept. No program has the function: that is told.
expect_status 0 "${RECORD[@]}" --snapshot -f --trigger nowhere -o "$TMPDIR/n" -- sh -c 'true; true'
said "no function 'nowhere'" || fail "$(cat "$TMPDIR/err")"
[ ! -e "$TMPDIR/n" ] || fail "a capture was left"
