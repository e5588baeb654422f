#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A capture written by a newer faultline: said so, status 2.
. tests/lib.sh

make_capture "$TMPDIR/c" /bin/true
grep -Eq "\"version\":[[:space:]]*[0-9]+" "$TMPDIR/c/manifest.json" || fail "the manifest has no version"
sed -i -E "s/\"version\":[[:space:]]*[0-9]+/\"version\": 999/" "$TMPDIR/c/manifest.json"
expect_status 2 "$FAULTLINE" replay "$TMPDIR/c"
expect_error "newer|version 999"
