#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What --until-fail promises apart from finding races: the statuses, what is kept, that hangs
# are ended, and that no run changes what the next one inherits.
. "$SOURCE/tests/lib.sh"
need_bpf
c=$TMPDIR/c

# Nothing fails: status 0, no capture, and it says so.
expect_status 0 "${RECORD[@]}" --chaos=7 --until-fail 3 -o "$c" -- true
grep -q '^faultline: no failure in 3 runs (seeds 7 to 9); no capture is kept$' "$TMPDIR/err" ||
	fail "what it says: $(cat "$TMPDIR/err")"
[ ! -e "$c" ] || fail "a capture was kept"

# The third run fails: its status is ours, its capture is complete and replays.
count='n=$(cat '$TMPDIR'/n 2>/dev/null || echo 0); echo $((n + 1)) >'$TMPDIR'/n; exit $((n / 2 * 5))'
expect_status 5 "${RECORD[@]}" --until-fail 9 -o "$c" -- sh -c "$count"
grep -q '^faultline: failed in run 3 of 9: exit status 5$' "$TMPDIR/err" ||
	fail "what it says: $(cat "$TMPDIR/err")"
tail -n 1 "$TMPDIR/err" | grep -q complete || fail "the capture is not complete"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$c"
expect_status 0 "$FAULTLINE" replay "$c"

# A program that waits for what never comes.
mkfifo "$TMPDIR/fifo"
expect_status 134 "${RECORD[@]}" --until-fail 2 --hang 1 -o "$TMPDIR/hung" -- \
	cat "$TMPDIR/fifo"
grep -Eq '^faultline: thread [0-9]+ waits in openat$' "$TMPDIR/err" ||
	fail "where it waits: $(cat "$TMPDIR/err")"
grep -q '^faultline: failed in run 1 of 2: hung$' "$TMPDIR/err" ||
	fail "what it says: $(cat "$TMPDIR/err")"

# Each run inherits what the first did.
expect_status 0 "${RECORD[@]}" --until-fail 3 -o "$TMPDIR/same" -- \
	sh -c "(grep -E '^Sig(Blk|Ign)' /proc/self/status; ulimit -n) | tr '\n' ' '; echo"
[ "$(wc -l <"$TMPDIR/out")" = 3 ] || fail "not three runs: $(cat "$TMPDIR/out")"
[ "$(sort -u "$TMPDIR/out" | wc -l)" = 1 ] || fail "runs differ: $(cat "$TMPDIR/out")"

# Wrong command lines.
expect_status 125 "${RECORD[@]}" --chaos=x -- true
expect_status 125 "${RECORD[@]}" --until-fail 0 -- true
expect_status 125 "${RECORD[@]}" -f --until-fail 3 -- true
expect_status 127 "${RECORD[@]}" --until-fail 3 -o "$c.none" -- ./no-such-program
[ ! -e "$c.none" ] || fail "a capture of nothing"

# A deadlock: who holds what, who waits for it.
need_breakpoints
"${RECORD[@]}" --chaos --until-fail 1000 -o "$TMPDIR/dead" -- \
	"$BUILD/tests/races/lockorder" >/dev/null 2>"$TMPDIR/err"
mutex='^faultline: thread ([0-9]+) waits for the mutex at 0x[0-9a-f]+ \(lockorder\+0x[0-9a-f]+\), which thread ([0-9]+) holds$'
pairs=$(sed -En "s/$mutex/\1 \2/p" "$TMPDIR/err")
[ "$(wc -l <<<"$pairs")" = 2 ] || fail "not two waiting threads: $(cat "$TMPDIR/err")"
[ "$(awk '{ print $1 }' <<<"$pairs" | sort)" = "$(awk '{ print $2 }' <<<"$pairs" | sort)" ] ||
	fail "not a circle: $pairs"
