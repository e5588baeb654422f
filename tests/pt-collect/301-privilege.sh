#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A user who is not root records with two capabilities of the file, each of which is needed;
# in effect they are only in the calls that need them, and the program has none. What is
# captured is for its owner alone. A setuid program has its user's rights, others' processes
# are not attached to.
. tests/lib.sh

need setpriv setcap getcap
need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to give a file capabilities"

# Where nobody may read: TMPDIR is ours alone.
place=$(mktemp -d /tmp/faultline-privilege.XXXXXX)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
mkdir -m 777 "$place/out"
cp "$BUILD/faultline" "$place/faultline"
cp "$BUILD/tests/programs/rbtree" "$BUILD/tests/programs/unharmed" "$place"
fl=$place/faultline
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
setcap cap_bpf,cap_perfmon+p "$fl" 2>/dev/null || skip "this file system keeps no capabilities"
"${nobody[@]}" "$fl" --version >/dev/null || skip "files with capabilities do not run here"
cd "$place/out" || exit 1

umask 0
expect_status 0 "${nobody[@]}" "$fl" record -o c -- "$place/rbtree" 3000
grep -q ': complete$' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
expect_status 0 "${nobody[@]}" "$fl" replay c
grep -q 'all matched' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
open=$(find c \( -type d ! -perm 700 -o -type f ! -perm 600 -o ! -user nobody \) -ls)
[ -z "$open" ] || fail "not for its owner alone: $open"

# Signals, a thread, children, trapped instructions; heap probes; a tree of processes.
expect_status 0 "${nobody[@]}" "$fl" record -o d -- "$place/unharmed" csgtf 200
grep -q 'unharmed 1' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
expect_status 0 "${nobody[@]}" "$fl" record -e heap -o e -- "$place/rbtree" 300
"$FAULTLINE" dump e | grep -q 'HEAP malloc' || fail "no heap events"
expect_status 0 "${nobody[@]}" "$fl" record -f -o f -- sh -c 'ls / | wc -l'

# The flight recorder; and no events of the kernel's: which they are is not for a variable to say
# where the program has rights that its user lacks.
cp "$BUILD/tests/programs/flight" "$place"
mkdir -p "$place/pmu/format"
echo 1 >"$place/pmu/type"
echo config:0-3 >"$place/pmu/format/what"
expect_status 134 env FAULTLINE_PT_SYSFS="$place/pmu" "${nobody[@]}" "$fl" record --snapshot \
	-e heap -e pt -o s -- "$place/flight" corrupt 20
grep -q 'snapshot at SIGABRT.*: complete$' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
"$FAULTLINE" dump s | grep -q '^pt: 0 bytes' &&
	fail "an environment variable chose the kernel's events: $("$FAULTLINE" dump s | head -n 5)"
"$FAULTLINE" dump s | grep -q 'HEAP_DONE malloc' || fail "no results of malloc"
open=$(find s \( -type d ! -perm 700 -o -type f ! -perm 600 -o ! -user nobody \) -ls)
[ -z "$open" ] || fail "not for its owner alone: $open"

# The program has no capability; with no_new_privs, because a filter asks for it.
expect_status 0 "${nobody[@]}" "$fl" record -o g -- grep -E '^(Cap|NoNew)' /proc/self/status
for set in CapInh CapPrm CapEff CapAmb; do
	grep -Eq "^$set:[[:space:]]*0+$" "$TMPDIR/out" || fail "the program has: $(cat "$TMPDIR/out")"
done
grep -Eq '^NoNewPrivs:[[:space:]]*1$' "$TMPDIR/out" || fail "no_new_privs is not set"
# Root's has what it has without us.
grep -E '^Cap' /proc/self/status >"$TMPDIR/plain"
expect_status 0 "$FAULTLINE" record -o h -- grep -E '^Cap' /proc/self/status
cmp "$TMPDIR/plain" "$TMPDIR/out" || fail "root's program has: $(cat "$TMPDIR/out")"

# No other command keeps any.
mkfifo fifo
"${nobody[@]}" "$fl" analyze c --spec fifo >/dev/null 2>&1 &
other=$!
until_true grep -qx faultline "/proc/$other/comm" || fail "it does not start"
until_true grep -Eq '^CapPrm:[[:space:]]*0+$' "/proc/$other/status" ||
	fail "analyze has $(grep CapPrm "/proc/$other/status")"
kill $other
wait $other

# While it records: the keeper has nothing; the recorder nothing in effect, and what it can
# have are bits 38 and 39.
"${nobody[@]}" "$fl" record -o i -- sleep 60 2>/dev/null &
keeper=$!
until_true [ -s i/start.core ]
recorder=$(tr -d ' ' <"/proc/$keeper/task/$keeper/children")
grep -Eq '^CapPrm:[[:space:]]*0+$' /proc/$keeper/status || fail "the keeper has capabilities"
until_true grep -Eq '^CapEff:[[:space:]]*0+$' "/proc/$recorder/status" ||
	fail "capabilities are in effect"
grep -Eq '^CapPrm:[[:space:]]*000000c000000000$' "/proc/$recorder/status" ||
	fail "the recorder has $(grep CapPrm "/proc/$recorder/status")"
kill -TERM $keeper
wait $keeper

# Each is needed, and its lack is told.
for one in cap_bpf cap_perfmon; do
	other=CAP_PERFMON
	[ $one = cap_bpf ] || other=CAP_BPF
	setcap $one+p "$fl"
	expect_status 125 "${nobody[@]}" "$fl" record -o no -- /bin/echo ran
	expect_error "needs $other \\(run it with sudo, or once: sudo setcap cap_bpf,cap_perfmon\\+p $fl\\)"
	grep -q ran "$TMPDIR/out" && fail "the program ran all the same"
	[ ! -e no ] || fail "something was left"
done
setcap cap_bpf,cap_perfmon+p "$fl"

# As under strace: the program runs, with its user's rights.
cp /usr/bin/id "$place/setuid-id"
chmod 4755 "$place/setuid-id"
expect_status 0 "${nobody[@]}" "$fl" record -o j -- "$place/setuid-id" -u
[ "$(cat "$TMPDIR/out")" = 65534 ] || fail "a setuid program got rights: $(cat "$TMPDIR/out")"
grep -q 'setuid' "$TMPDIR/err" || fail "not told: $(cat "$TMPDIR/err")"
expect_status 0 "$FAULTLINE" record -o k -- "$place/setuid-id" -u
[ "$(cat "$TMPDIR/out")" = 0 ] || fail "root's setuid program: $(cat "$TMPDIR/out")"

sleep 60 &
others=$!
expect_status 125 "${nobody[@]}" "$fl" record -p $others -o l
expect_error "another user"
kill $others
exit 0
