#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Stores that are missing. In each program of stores/ one is left out, at the line that says
# MISSING: analyze names field, function and the statements around that line, at rank 1.
. tests/lib.sh
. tests/faultlocate/stores/lib.sh
need gojq cc
need_bpf

n=0
for source in tests/faultlocate/stores/*.c; do
	name=$(basename "$source" .c)
	read -r function field < <(sed -n 's,^// truth: ,,p' "$source")
	missing=$(line "$name" MISSING)
	for level in -O0 -O2; do
		capture "$name" 1 "$level"
		expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec" --json
		is '.faults[0].because == "missing" and all(.faults[1:][]; .because != "missing")' \
			"$name $level"
		is ".faults[0].missing | .function == \"$function\" and
			(.field | contains(\"$field\")) and .due != null and .since.line > 0 and
			(.after == null or .after.line < $missing) and
			(.before == null or .before.line > $missing) and
			(.after != null or .before != null)" "$name $level"
		n=$((n + 1))
	done
done
[ $n -ge 32 ] || fail "only $n"

# In words, and in a picture.
capture between 1 -O0
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec" \
	--svg "$TMPDIR/between.svg"
for pattern in '^  1\. missing store: n17\.prev = n18 in insert, between [^ ]*between\.c:[0-9]+ and [^ ]*between\.c:[0-9]+$' \
	'^       nothing stored it since [^ ]*between\.c:[0-9]+ in insert.* \(time [0-9]+\)$' \
	'^       it was stored 10 of 10 other times, at [^ ]*between\.c:29 in insert' \
	'^       what made it necessary: n[0-9]+\.next: n17 -> n18$'; do
	grep -Eq "$pattern" "$TMPDIR/out" || fail "no '$pattern' in: $(cat "$TMPDIR/out")"
done
! command -v dot >/dev/null || grep -q 'missing: prev = n18' "$TMPDIR/between.svg" ||
	fail "the picture does not show it"
capture release 1 -O0
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec" --svg "$TMPDIR/release.svg"
grep -q '^       no other time shows where' "$TMPDIR/out" ||
	fail "it is not said that none shows it: $(cat "$TMPDIR/out")"
! command -v dot >/dev/null || grep -q 'missing: refs = 5' "$TMPDIR/release.svg" ||
	fail "the picture does not show a number"

# Every call leaves it out, and no C-point but the end: so it is for all nodes but the last.
capture push 1 -O0
sed -i /CPOINT/d "$TMPDIR/spec"
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec" --named-only --json
is '(.violations | length) == 11 and .faults[0].because == "missing" and
	.faults[0].missing.more == 10 and .faults[0].instances == 11 and
	.faults[0].missing.calls == 0' "push, from the end"
echo "result: $n missing stores"
