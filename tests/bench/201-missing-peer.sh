#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# time limit: 300
# A peer that is not there is named, with what to do; the others are measured, and the results
# are those of --json.
. tests/lib.sh

need gojq bc
need_bpf
[ "$(id -u)" = 0 ] || skip "recording needs root"

# A PATH that has the works' programs and no other tool.
mkdir "$TMPDIR/bin"
for program in gzip bc sqlite3 ls env; do
	ln -s "$(command -v $program)" "$TMPDIR/bin/$program"
done
printf '#!/bin/sh\n[ "$1" = --version ] && echo "a strace of ours" && exit\nshift 3\nexec "$@"\n' \
	>"$TMPDIR/bin/strace"
chmod +x "$TMPDIR/bin/strace"

PATH=$TMPDIR/bin expect_status 0 "$FAULTLINE" bench record --quick --rounds 1 \
	--json "$TMPDIR/results.json"
for tool in uftrace heaptrack memcheck 'gdb record full' rr; do
	grep -Eq "$tool .*skipped: .* is not installed \(make bench-peers\)" "$TMPDIR/out" ||
		fail "$tool is not named: $(cat "$TMPDIR/out")"
done
grep -q '^missing .*uftrace (Debian: uftrace)' "$TMPDIR/out" || fail "not in the header"
grep -q '^peers .*a strace of ours' "$TMPDIR/out" || fail "strace's version is not told"
jq -e '[.rows[] | select(.command == "strace -f" and .work == "list")] |
	length == 1 and (.[0].runs | length == 1) and .[0].ratio_to == "native"' \
	"$TMPDIR/results.json" >/dev/null || fail "strace has no row"
jq -e '.header | .commit != null and .processor != null and .kernel != null and .rounds == 1' \
	"$TMPDIR/results.json" >/dev/null || fail "the header lacks something"
jq -e '[.rows[] | select(.role == "ours" and .metric == "time" and (.runs | not))] == []' \
	"$TMPDIR/results.json" >/dev/null || fail "some work was not recorded"
