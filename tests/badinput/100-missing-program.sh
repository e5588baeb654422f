#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program that is missing or cannot be executed: env's statuses, one message, no capture.
. tests/lib.sh

need_bpf
expect_no_capture() {
	looks_whole "$TMPDIR/c" && fail "a capture was left that looks whole"
	rm -rf "$TMPDIR/c"
}

expect_status 127 "${RECORD[@]}" -o "$TMPDIR/c" -- /no/such/program
expect_error "/no/such/program.*\(look at its path"
expect_no_capture

expect_status 127 "${RECORD[@]}" -o "$TMPDIR/c" -- no-such-program-in-path
expect_error "no-such-program-in-path"
expect_no_capture

echo "no program" >"$TMPDIR/plain"
expect_status 126 "${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/plain"
expect_error "plain.*\(chmod \+x"
expect_no_capture

printf "#!/no/such/interpreter\n" >"$TMPDIR/script"
chmod +x "$TMPDIR/script"
expect_status 127 "${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/script"
expect_error "script"
expect_no_capture

expect_status 126 "${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR"
expect_error "it is a directory"
expect_no_capture

expect_status 125 "${RECORD[@]}" -o "$TMPDIR/c"
expect_no_capture

# A directory that already holds something is not overwritten.
mkdir "$TMPDIR/c"
echo mine >"$TMPDIR/c/notes"
expect_status 125 "${RECORD[@]}" -o "$TMPDIR/c" -- /bin/true
expect_error "$TMPDIR/c"
[ "$(cat "$TMPDIR/c/notes")" = mine ] || fail "the file in the directory is gone"
expect_no_capture
