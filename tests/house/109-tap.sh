#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `tests/run --tap`: what machines read of tests, in the Test Anything Protocol.
. tests/lib.sh

tests/run --tap "$BUILD" base/unit_err report/unit_uri >"$TMPDIR/out" 2>"$TMPDIR/err" || fail "status $?: $(cat "$TMPDIR/out" "$TMPDIR/err")"
[ "$(head -n 1 "$TMPDIR/out")" = "TAP version 13" ] && [ "$(tail -n 1 "$TMPDIR/out")" = 1..2 ] ||
	fail "no plan: $(cat "$TMPDIR/out")"
grep -q "^ok 1 - base/unit_err" "$TMPDIR/out" && grep -q "^ok 2 - report/unit_uri" "$TMPDIR/out" ||
	fail "no results: $(cat "$TMPDIR/out")"
! grep -qv "^\(ok [12] - \|# \|1\.\.2\|TAP version 13\)" "$TMPDIR/out" || fail "other lines: $(cat "$TMPDIR/out")"
