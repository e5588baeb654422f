#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What another process writes into a recorded one's memory is in the replay where both are recorded, and told as
# missing where the writer is not, or the time is not known.
. tests/lib.sh

need_bpf
program=$BUILD/tests/programs/pokes
"$program" >"$TMPDIR/alone" || fail "it fails by itself"

# record DIR FOLLOW [MODE] - to DIR, of which the program's output is in DIR.out, what record said in DIR.err.
record() {
	local dir=$1
	timeout 60 "${RECORD[@]}" $2 -o "$dir" -- "$program" ${3:-} >"$dir.out" 2>"$dir.err" ||
		fail "it fails recorded: $(cat "$dir.err")"
	[ $EUID = 0 ] || sudo -n chown -R "$(id -u)" "$dir"
}

record "$TMPDIR/c" -f
cmp "$TMPDIR/alone" "$TMPDIR/c.out" || fail "recorded it does something else"
grep -q ": complete" "$TMPDIR/c.err" || fail "$(cat "$TMPDIR/c.err")"
replay_matches "$TMPDIR/c"


# The same where processes have other numbers than for record.
if unshare -pf --mount-proc true 2>/dev/null; then
	timeout 60 "${RECORD[@]}" -f -o "$TMPDIR/n" -- unshare -pf --mount-proc "$program" >"$TMPDIR/n.out" 2>"$TMPDIR/n.err" ||
		fail "it fails in a name space: $(cat "$TMPDIR/n.err")"
	[ $EUID = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/n"
	expect_status 0 "$FAULTLINE" replay --process 1 --stdout "$TMPDIR/n"
	cmp "$TMPDIR/alone" "$TMPDIR/out" || fail "in a name space the replay prints something else"
fi

record "$TMPDIR/free" ""
for how in process_vm_writev /proc/PID/mem; do
	grep -q "gap: process [0-9]*, which is not recorded, .*$how" "$TMPDIR/free.err" && told=1
done
[ "${told:-}" ] || fail "what is not recorded is not told: $(cat "$TMPDIR/free.err")"
[ "$(grep -o 'which is not recorded' "$TMPDIR/free.err" | wc -l)" = 1 ] || fail "told more than once"

record "$TMPDIR/computes" -f computes
grep -q "gap: .*writes into its memory while it may compute" "$TMPDIR/computes.err" ||
	fail "nobody knows when that came, and nobody says so: $(cat "$TMPDIR/computes.err")"
