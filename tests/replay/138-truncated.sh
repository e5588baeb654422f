#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Faults behind the end of a mapped file, and calls of NULL, replay: with a handler, and as the end.
. tests/lib.sh

program=$BUILD/tests/programs/truncated
record_and_replay "$program"
[ "$(grep -c '^7 2 ' "$TMPDIR/c.out")" = 2 ] || fail "not both faults: $(cat "$TMPDIR/c.out")"
for end in "135 bus" "139 null"; do
	want_status=${end% *} make_capture "$TMPDIR/${end#* }" "$program" "${end#* }"
	replay_matches "$TMPDIR/${end#* }"
	# To its very end, not to its last event.
	grep -q nobody "$TMPDIR/${end#* }.replay.err" && fail "$(cat "$TMPDIR/${end#* }.replay.err")"
done
exit 0
