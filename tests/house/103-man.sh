#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Man pages are made for every command and for the languages, and have no markup errors.
. tests/lib.sh

need help2man mandoc lowdown
tools/man.sh "$FAULTLINE" "$TMPDIR/man" || fail "tools/man.sh"
for page in "$TMPDIR/man"/*.1; do
	grep -q "^\.SH EXAMPLES" "$page" || fail "$page has no examples"
	grep -q "^\.SH \"\?SEE ALSO" "$page" || fail "$page has no SEE ALSO"
done
for page in "$TMPDIR/man"/*.[15]; do
	# A date is one of our own form; a table without lines is one.
	mandoc -Tlint -W warning "$page" >"$TMPDIR/lint" || fail "$(cat "$TMPDIR/lint")"
	mandoc -Tutf8 "$page" >"$TMPDIR/shown" || fail "$page cannot be shown"
done
grep -q 'CPOINT' "$TMPDIR/man/faultline-spec.5" || fail "no page about specifications"
[ -f "$TMPDIR/man/faultline-rules.5" ] || fail "no page about rules"
[ -f "$TMPDIR/man/faultline-replay.1" ] || fail "no page for replay"
