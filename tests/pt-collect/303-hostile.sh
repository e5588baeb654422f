#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Programs that forbid tracing, trace themselves, or turn on who traces them; a recorder that
# is traced itself. Each is recorded and replays, or one line says why not; none is harmed.
. tests/lib.sh

need_bpf
hostile=$BUILD/tests/programs/hostile

matches() {
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$@"
	expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
	grep -q 'all matched' "$TMPDIR/out" || fail "$*: $(cat "$TMPDIR/out")"
}
for mode in undumpable sandbox closer; do
	matches "$hostile" $mode
	grep -qx unharmed "$TMPDIR/c.out" || fail "$mode was harmed: $(cat "$TMPDIR/c.out")"
done
# One that asks to be traced hears that it is, as under strace and gdb.
matches "$hostile" traceme
# With -f it is left to who would trace it (pt-collect/120).
expect_status 0 "${RECORD[@]}" -f -o "$TMPDIR/one" -- sh -c '"$0" traceme; true' "$hostile"
grep -q 'traced: not yet' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# Tracers of their own children.
if command -v strace >/dev/null; then
	matches strace -f -o "$TMPDIR/strace" "$hostile" closer
	grep -q '+++ exited with 0 +++' "$TMPDIR/strace" || fail "strace saw: $(tail -n 3 "$TMPDIR/strace")"
fi
if command -v gdb >/dev/null; then
	rm -rf "$TMPDIR/g"
	got=0
	"${RECORD[@]}" -o "$TMPDIR/g" -- gdb -nx -batch -ex 'break have_child' -ex run -ex bt \
		-ex continue --args "$hostile" sandbox >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null || got=$?
	[ $got = 0 ] || fail "gdb ended with $got: $(cat "$TMPDIR/err")"
	grep -q 'unharmed' "$TMPDIR/out" || fail "gdb's program was harmed: $(cat "$TMPDIR/out")"
	tail -n 1 "$TMPDIR/err" | grep -q '^faultline: recorded' || fail "$(cat "$TMPDIR/err")"
fi

# A 32-bit program (it exits with 7) is refused at once; where it comes by an exec, it runs.
{
	printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0\124\200\4\10\64\0\0\0'
	printf '\0\0\0\0\0\0\0\0\64\0\40\0\1\0\0\0\0\0\0\0'
	printf '\1\0\0\0\0\0\0\0\0\200\4\10\0\200\4\10\140\0\0\0\140\0\0\0\5\0\0\0\0\20\0\0'
	printf '\61\300\100\273\7\0\0\0\315\200\0\0'
} >"$TMPDIR/small"
chmod +x "$TMPDIR/small"
got=0
"$TMPDIR/small" 2>/dev/null || got=$?
if [ $got = 7 ]; then
	expect_status 125 "${RECORD[@]}" -o "$TMPDIR/s" -- "$TMPDIR/small"
	expect_error "cannot record '$TMPDIR/small': it is not a 64-bit program"
	[ ! -e "$TMPDIR/s" ] || fail "a 32-bit program left a capture"
	expect_status 0 "${RECORD[@]}" -f -o "$TMPDIR/s" -- sh -c "$TMPDIR/small; echo \$?"
	grep -qx 7 "$TMPDIR/out" || fail "a 32-bit program was harmed: $(cat "$TMPDIR/out")"
	grep -q "it is not a 64-bit program" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
fi

# Who traces us traces our program first.
if command -v strace >/dev/null && [ "$(id -u)" = 0 ]; then
	expect_status 125 env ASAN_OPTIONS=detect_leaks=0 strace -f -o /dev/null "$FAULTLINE" record -o "$TMPDIR/d" -- echo ran
	expect_error "cannot trace 'echo'.*another"
	grep -q ran "$TMPDIR/out" && fail "it ran all the same"
	[ ! -e "$TMPDIR/d" ] || fail "something was left"
fi

# It kills its parent, which is the recorder.
expect_status 125 "${RECORD[@]}" -o "$TMPDIR/p" -- "$hostile" parricide
grep -qx unharmed "$TMPDIR/out" || fail "it was harmed: $(cat "$TMPDIR/out")"
expect_error "the recorder was killed by SIG"
