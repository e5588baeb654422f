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
