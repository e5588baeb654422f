#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Directories that are no capture, files, missing ones.
. tests/lib.sh

expect_refused() {
	expect_status 2 "$FAULTLINE" replay "$1"
	expect_error "$2"
	expect_status 2 "$FAULTLINE" analyze "$1" --spec examples/list/list.spec
	expect_error "$2"
}

expect_refused "$TMPDIR/none" "$TMPDIR/none.*(no such|No such)"

mkdir "$TMPDIR/empty"
expect_refused "$TMPDIR/empty" "not a faultline capture"

mkdir "$TMPDIR/rr"
echo "{\"version\": 85, \"uuid\": \"x\"}" >"$TMPDIR/rr/version"
echo data >"$TMPDIR/rr/events"
expect_refused "$TMPDIR/rr" "not a faultline capture"

mkdir "$TMPDIR/other"
echo "{\"name\": \"web page\", \"version\": 1}" >"$TMPDIR/other/manifest.json"
expect_refused "$TMPDIR/other" "not (of )?a faultline capture"

head -c 5000 /dev/zero >"$TMPDIR/file"
expect_refused "$TMPDIR/file" "$TMPDIR/file"

expect_status 2 "$FAULTLINE" replay
expect_status 2 "$FAULTLINE" no-such-command
expect_error "no-such-command"
