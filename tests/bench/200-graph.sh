#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What the suite `graph` says of a program is what that program counted itself: the changes
# of its heap, and the entries that snapshots of it at each change would hold (8 bytes each,
# paper 001, section 3.3.1). And a change takes no more memory than is wanted.
. tests/lib.sh
need_bpf
"${RECORD[@]}" -o "$TMPDIR/c.fl" -- "$BUILD/bench/programs/churn" 300000 \
	>"$TMPDIR/said" 2>"$TMPDIR/errors" || fail "$(cat "$TMPDIR/errors")"
read -r n _ n_entries _ n_in_snapshots _ <"$TMPDIR/said"
built=$("$BUILD/tests/bench/tool_graph" "$TMPDIR/c.fl") || fail "no graph could be built"
eval "$built"

[ "$n_entries" -gt 1000 ] || fail "churn: $(cat "$TMPDIR/said")"
[ "$changes" = "$n" ] || fail "$changes changes in the graph, $n made"
[ "$snapshots" = $((8 * n_in_snapshots)) ] ||
	fail "snapshots of $snapshots bytes, $n_in_snapshots entries in them"
[ "$bytes" -gt $((2 * n)) ] && [ "$bytes" -le $((24 * n)) ] ||
	fail "$bytes bytes for $n changes"
exit 0
