#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Man pages are made for every command and have no markup errors.
. tests/lib.sh

need help2man
tools/man.sh "$FAULTLINE" "$TMPDIR/man" || fail "tools/man.sh"
for page in "$TMPDIR/man"/*.1; do
	grep -q "^\.SH EXAMPLES" "$page" || fail "$page has no examples"
	grep -q "^\.SH \"\?SEE ALSO" "$page" || fail "$page has no SEE ALSO"
done
[ -f "$TMPDIR/man/faultline-replay.1" ] || fail "no page for replay"
