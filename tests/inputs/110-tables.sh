#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A jump through a table that is written later: that its entry is no other's then says nothing of when it was read.
. tests/lib.sh

need gojq gcc
need_bpf
cat >"$TMPDIR/table.c" <<'END'
#include <unistd.h>
int main(void)
{
	static void *WRITTEN table[2] = { &&same, &&SECOND };
	volatile int x = 0, y = 0;
	unsigned char c;
	for (int i = 0; i < 2; i++) {
		if (read(0, &c, 1) != 1)
			return 1;
		goto *table[c];
	same:
		x = 5;
		CHANGE;
		continue;
	other:
		y = 7;
	}
	x += y; // end
	return x == 0;
}
END
line=$(grep -n '// end$' "$TMPDIR/table.c" | cut -d: -f1)

# strength FLAG... - what the first byte is to x at the end, by control.
strength() {
	gcc -g -O1 "$@" -o "$TMPDIR/table" "$TMPDIR/table.c" || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	printf '\0\1' | "${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/table" 2>"$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
	"$FAULTLINE" inputs "$TMPDIR/c" --at "table.c:$line" x --json >"$TMPDIR/json" 2>"$TMPDIR/err" ||
		fail "$(cat "$TMPDIR/err")"
	jq -r '.inputs[] | .bytes[] | select(.offset == 0) | .control' "$TMPDIR/json"
}

got=$(strength -DWRITTEN= -DSECOND=same '-DCHANGE=table[1] = &&other') || exit 1
[ "$got" = weak ] || fail "a table that is written: '$got'"
got=$(strength -DWRITTEN=const -DSECOND=other -DCHANGE=) || exit 1
[ "$got" = strong ] || fail "one that is not: '$got'"
