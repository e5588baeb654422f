#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The stub alone: clients that vanish, send garbage, come second; Ctrl-C; gdb over a port; what
# cannot be served is one line.
. tests/lib.sh
. tests/debug/lib.sh

need gdb python3
make_capture "$TMPDIR/c" "$BUILD/tests/programs/debugged"

# serve CAPTURE - a stub in the background; sets port.
serve() {
	fresh
	"$FAULTLINE" debug --listen 0 "$1" 2>"$TMPDIR/err" &
	stub=$!
	until_true grep -q "listening at [1-9]" "$TMPDIR/err" || fail "it does not listen: $(cat "$TMPDIR/err")"
	port=$(sed -n 's/.*listening at \([0-9]*\);.*/\1/p' "$TMPDIR/err")
}
unserve() {
	kill $stub 2>/dev/null
	wait $stub 2>/dev/null
}
trap unserve EXIT

for bad in 65536 99999999 http "" x:; do
	expect_status 2 "$FAULTLINE" debug --listen "$bad" "$TMPDIR/c"
	expect_error "no number up to 65535"
done
serve "$TMPDIR/c"
for case in vanish garbage second; do
	timeout 60 python3 tests/debug/client.py "$port" $case >"$TMPDIR/out" 2>&1 ||
		fail "$case: $(cat "$TMPDIR/out" "$TMPDIR/err")"
done
grep -q 'a second gdb was turned away' "$TMPDIR/err" || fail "nothing is said of the second"
gdb -nx -batch -ex "target extended-remote :$port" -ex "monitor seek start" -ex stepi \
	-ex "handle SIGUSR1 nostop noprint" -ex "break sum" -ex continue -ex "monitor seek end" -ex continue \
	-ex "reverse-continue" >"$TMPDIR/gdb" 2>&1 </dev/null || fail "gdb: $(cat "$TMPDIR/gdb")"
[ "$(grep -c 'Breakpoint 1, sum' "$TMPDIR/gdb")" = 2 ] || fail "$(cat "$TMPDIR/gdb")"
kill -0 $stub || fail "it ended: $(cat "$TMPDIR/err")"
# Nobody but this machine may connect, and the port is one's own.
expect_status 2 "$FAULTLINE" debug --listen "$port" "$TMPDIR/c"
expect_error 'cannot listen at .*in use'
unserve

# 2.5 G instructions.
cat >"$TMPDIR/long.c" <<'C'
int main(void)
{
	volatile unsigned long n = 0;
	for (unsigned long i = 0; i < 500000000; i++)
		n += i;
	return n == 0;
}
C
cc -O1 -o "$TMPDIR/long" "$TMPDIR/long.c" || fail "cannot compile"
make_capture "$TMPDIR/l" "$TMPDIR/long"
serve "$TMPDIR/l"
timeout 60 python3 tests/debug/client.py "$port" interrupt >"$TMPDIR/out" 2>&1 ||
	fail "interrupt: $(cat "$TMPDIR/out" "$TMPDIR/err")"
unserve
timeout 60 python3 tests/debug/mi.py "$FAULTLINE" "$TMPDIR/l" interrupt >"$TMPDIR/out" 2>&1 ||
	fail "gdb, interrupted: $(cat "$TMPDIR/out")"

expect_status 2 "$FAULTLINE" debug --listen - "$TMPDIR/none"
expect_error 'none'
expect_status 2 "$FAULTLINE" debug "$TMPDIR/none"
expect_error 'none'
expect_status 2 "$FAULTLINE" debug --listen - --process 7 "$TMPDIR/c"
expect_error '7'
expect_status 2 "$FAULTLINE" debug --listen nowhere.invalid:1 "$TMPDIR/c"
expect_error 'cannot listen at'
expect_status 2 env PATH="$TMPDIR" "$FAULTLINE" debug "$TMPDIR/c"
expect_error 'cannot start gdb'
exit 0
