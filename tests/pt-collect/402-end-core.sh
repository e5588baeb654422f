#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record --end-core: a capture that replays and holds the end as a core, which is the one
# that the kernel would have written: same registers, same memory.
. tests/lib.sh

need gdb
need_bpf
for how in abort segv fpe ill; do
	case $how in abort) want=134 signal=6 ;; segv) want=139 signal=11 ;;
	fpe) want=136 signal=8 ;; ill) want=132 signal=4 ;; esac
	expect_status $want "${RECORD[@]}" --end-core -o "$TMPDIR/$how" -- \
		"$BUILD/tests/programs/crash" $how
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR"
	tail -n 1 "$TMPDIR/err" | grep -q complete || fail "$(cat "$TMPDIR/err")"
	"$FAULTLINE" replay "$TMPDIR/$how" >"$TMPDIR/replay" 2>&1 || fail "$(cat "$TMPDIR/replay")"
	gdb -nx -batch -ex bt -ex 'p $_siginfo.si_signo' -ex 'p/x $rip' \
		"$BUILD/tests/programs/crash" "$TMPDIR/$how/end.core" >"$TMPDIR/gdb" 2>&1
	grep -q "^\$1 = $signal" "$TMPDIR/gdb" || fail "$how: $(cat "$TMPDIR/gdb")"
	grep -q 'main (' "$TMPDIR/gdb" || fail "$how: $(cat "$TMPDIR/gdb")"
	# The last signal in the log stands at the same instruction.
	rip=$(sed -n 's/^\$2 = 0x//p' "$TMPDIR/gdb")
	"$FAULTLINE" dump --json -k signal "$TMPDIR/$how" | tail -n 1 | grep -q "\"0x$rip\"" ||
		fail "$how: not at 0x$rip: $("$FAULTLINE" dump --json -k signal "$TMPDIR/$how")"
done
# With threads, and heap probes in the code: neither is seen in the core.
expect_status 139 "${RECORD[@]}" --end-core -e heap -o "$TMPDIR/t" -- \
	"$BUILD/tests/programs/flight" threads
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR"
gdb -nx -batch -ex 'info threads' -ex 'x/b malloc' "$BUILD/tests/programs/flight" \
	"$TMPDIR/t/end.core" >"$TMPDIR/gdb" 2>&1
[ "$(grep -c LWP "$TMPDIR/gdb")" -ge 6 ] || fail "$(cat "$TMPDIR/gdb")"
if grep -q '0xcc$' "$TMPDIR/gdb"; then
	fail "a breakpoint is left in malloc"
fi
# Without a crash there is none.
make_capture "$TMPDIR/e" "$BUILD/tests/programs/crash" exit 0
[ ! -e "$TMPDIR/e/end.core" ] || fail "an end.core of a program that exited"
