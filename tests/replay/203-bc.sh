#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# 1000 digits of pi by bc.
# time limit: 300
. tests/lib.sh

need bc
echo "scale=1000; 4*a(1)" >"$TMPDIR/pi.bc"
record_and_replay bc -lq "$TMPDIR/pi.bc" </dev/null
grep -q "^3\.14159265358979323846" "$TMPDIR/c.replayed" || fail "that is not pi"
