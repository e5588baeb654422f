#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Suite real without a network: each program is skipped with one line that says why. With
# FAULTLINE_REAL=DIR the whole of it, built in DIR: the faulty statements are found.
# time limit: 1800
. tests/lib.sh
need gojq
if [ -n "${FAULTLINE_REAL:-}" ]; then
	need_bpf
	"$FAULTLINE" bench real --cache "$FAULTLINE_REAL" --rounds 1 --json "$TMPDIR/json" ||
		fail "bench real"
	jq -e '[.rows[] | select(.metric == "located")] |
		length == 8 and all(.skipped != null or .value.median == 100)' "$TMPDIR/json" ||
		fail "$(jq -c '.rows[] | select(.metric == "located")' "$TMPDIR/json")"
	jq -e '[.rows[] | select(.metric == "reported" and .skipped == null)] |
		all(.value.median <= 4)' "$TMPDIR/json" || fail "more than four statements"
fi
mkdir "$TMPDIR/bin"
printf '#!/bin/sh\nexit 100\n' >"$TMPDIR/bin/apt-get"
chmod +x "$TMPDIR/bin/apt-get"
PATH="$TMPDIR/bin:$PATH"
for recipe in bench/real/*.spec; do
	name=$(basename "$recipe" .spec)
	sh bench/real/build.sh "$name" O2 "$TMPDIR/cache" >"$TMPDIR/said" || fail "$name: status $?"
	[ "$(wc -l <"$TMPDIR/said")" = 1 ] && grep -Eq '^skip=(no network|.* is not installed)' \
		"$TMPDIR/said" || fail "$name: $(cat "$TMPDIR/said")"
done
