#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A signal that is ignored ends no wait of a recorded program, and makes none endless.
. tests/lib.sh

need_bpf
program=$BUILD/tests/programs/ignored
"$program" >"$TMPDIR/alone" || fail "it fails by itself"
for follow in "" -f; do
	rm -rf "$TMPDIR/c"
	timeout 120 "${RECORD[@]}" $follow -o "$TMPDIR/c" -- "$program" >"$TMPDIR/recorded" 2>"$TMPDIR/said" ||
		fail "it fails recorded $follow: $(cat "$TMPDIR/said")"
	diff "$TMPDIR/alone" "$TMPDIR/recorded" || fail "recorded $follow it sees something else"
	grep -q ": complete" "$TMPDIR/said" || fail "$(cat "$TMPDIR/said")"
	[ $EUID = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	# That is not because no signal came.
	for call in epoll_wait epoll_pwait epoll_pwait2 rt_sigtimedwait semtimedop recvfrom read; do
		"$FAULTLINE" dump "$TMPDIR/c" | grep -q "SYSCALL $call(.* = -514" || fail "$call was not cut short"
	done
	"$FAULTLINE" replay "$TMPDIR/c" || fail "diverged"
done

# What is half done cannot be made again: that is said.
rm -rf "$TMPDIR/c"
timeout 60 "${RECORD[@]}" -o "$TMPDIR/c" -- "$program" much >"$TMPDIR/recorded" 2>"$TMPDIR/said" || fail "much: $(cat "$TMPDIR/said")"
[ "$(cat "$TMPDIR/recorded")" = "$("$program" much)" ] ||
	grep -q 'is sent SIGURG, which it ignores: a write or read .* ends with [0-9]* bytes' "$TMPDIR/said" ||
	fail "a write was cut short, and nobody says so: $(cat "$TMPDIR/recorded" "$TMPDIR/said")"
