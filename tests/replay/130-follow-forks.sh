#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Children of fork that compute with what they inherited and with what they allocate: a
# tree of depth 4, and 200 at once.
. tests/lib.sh

forks=$BUILD/tests/programs/forks
make_followed "$TMPDIR/tree" "$forks" tree 4
[ "$(cat "$TMPDIR/tree.out")" = 31 ] || fail "the tree has $(cat "$TMPDIR/tree.out") nodes"
all_match "$TMPDIR/tree"
[ "$n_matched" = 31 ] || fail "$n_matched histories of 31"
# 16 leaves, 4 levels below the program.
processes "$TMPDIR/tree" | grep -cE 'exit 1 {13}[^ ]' | grep -qx 16 ||
	fail "$(processes "$TMPDIR/tree")"

"$forks" many 200 >"$TMPDIR/want"
[ -s "$TMPDIR/want" ] || fail "the program does not work by itself"
make_followed "$TMPDIR/many" "$forks" many 200
cmp "$TMPDIR/want" "$TMPDIR/many.out" || fail "200 children computed something else"
all_match "$TMPDIR/many"
[ "$n_matched" = 201 ] || fail "$n_matched histories of 201"

"$forks" threads >"$TMPDIR/want"
[ -s "$TMPDIR/want" ] || fail "the program does not work by itself"
make_followed "$TMPDIR/threads" "$forks" threads
cmp "$TMPDIR/want" "$TMPDIR/threads.out" || fail "threads: $(cat "$TMPDIR/threads.out")"
all_match "$TMPDIR/threads"
[ "$n_matched" = 4 ] || fail "$n_matched histories of 4"

# Stopped inside a system call, each goes on with its own.
make_followed "$TMPDIR/restart" "$forks" restart
[ "$(cat "$TMPDIR/restart.out")" = 15 ] || fail "restart: $(cat "$TMPDIR/restart.out")"
all_match "$TMPDIR/restart"
[ "$n_matched" = 3 ] || fail "$n_matched histories of 3"
