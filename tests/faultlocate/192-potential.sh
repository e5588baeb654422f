#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `slice --potential': what was not executed and would have changed the value, and nothing else.
. tests/lib.sh

need gojq
need_bpf

cat >"$TMPDIR/p.c" <<'EOF'
#include <stdio.h>

static int raise(int n)
{
	volatile int k = n;

	if (k > 100) // WITHIN
		k = 7;
	return k;
}

int main(int argc, char **argv)
{
	volatile int limit = argc, size = 10, other = 3;

	(void)argv;
	if (limit > 3) // WOULD
		size = 20;
	if (limit > 5) // NOT
		other = 4;
	if (limit > 7) // LEAVES
		return 1;
	for (int i = 0; i < 5; i++)
		if (limit > 50 + i) // LOOP
			size++;
	size = raise(size);
	printf("%d\n", size); // AT
	return other;
}
EOF
at() {
	grep -n "// $1" "$TMPDIR/p.c" | cut -d: -f1
}

for level in -O0 -O1; do
	${CC:-gcc} -g $level -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/p" >/dev/null 2>&1
	"$FAULTLINE" slice "$TMPDIR/c" --at "p.c:$(at AT)" size --potential --json >"$TMPDIR/json" 2>"$TMPDIR/err" ||
		fail "$(cat "$TMPDIR/err")"
	got=$(jq -r '.potential.branches[].line' "$TMPDIR/json" | sort -n | uniq | tr '\n' ' ')
	[ "$got" = "$(at WITHIN) $(at WOULD) $(at LOOP) " ] || fail "$level: lines $got: $(jq -c .potential "$TMPDIR/json")"
	jq -e '.potential.not_reached > 0 and .potential.tried >= 5' "$TMPDIR/json" >/dev/null ||
		fail "$level: $(jq -c .potential "$TMPDIR/json")"
	jq -e --argjson line "$(at WOULD)" 'all(.statements[]; .line != $line)' "$TMPDIR/json" >/dev/null ||
		fail "$level: it is in the slice itself"
	"$FAULTLINE" slice "$TMPDIR/c" --at "p.c:$(at AT)" size --potential >"$TMPDIR/text" 2>&1
	grep -q "p.c:$(at WOULD) in main, .*taken at position" "$TMPDIR/text" || fail "$(cat "$TMPDIR/text")"
	# Of a value that nothing would have changed.
	"$FAULTLINE" slice "$TMPDIR/c" --at "p.c:$(at WOULD)" limit --potential --json | \
		jq -e '.potential.branches == []' >/dev/null || fail "$level: something would have changed argc"
done
expect_status 2 "$FAULTLINE" slice "$TMPDIR/c" --potential --dot
grep -q 'in text or by --json' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
