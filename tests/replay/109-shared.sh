#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A shared mapping, into which others could write unseen: the capture says that it is not
# complete and why, and is not taken for complete later.
. tests/lib.sh

need_bpf
"${RECORD[@]}" -o "$TMPDIR/c" -- "$BUILD/tests/programs/memory" shared >"$TMPDIR/out" \
	2>"$TMPDIR/err" || fail "record: $(cat "$TMPDIR/err")"
tail -n 1 "$TMPDIR/err" | grep -q "shared mapping" || fail "says: $(cat "$TMPDIR/err")"
grep -Eq '"complete":[[:space:]]*false' "$TMPDIR/c/manifest.json" || fail "says complete"
