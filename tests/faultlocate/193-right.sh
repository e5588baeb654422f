#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `slice --right': what made values that a right one tells is left out, with what only they needed,
# and nothing else. (What is told is judged by execution in unit_slice.)
. tests/lib.sh

need gojq
need_bpf

cat >"$TMPDIR/r.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>

struct pair {
	int a, b;
};

static int shift(int v)
{
	return v + 40; // SHIFT
}

int main(int argc, char **argv)
{
	volatile int seed = atoi(argv[1]); // SEED
	struct pair *p = malloc(sizeof(*p));
	volatile int told = shift(seed), low = seed & 1; // TOLD
	volatile int wrong;
	int kept = seed, once = argc;

	__asm__("test %2, %2\n\tcmovnz %1, %0" : "+r"(kept) : "r"(once), "r"(once));
	p->a = told; // STORED
	p->b = argc + 5; // OTHER
	wrong = p->a * p->b; // WRONG
	printf("%d\n", told); // RIGHT
	printf("%d\n", low); // PARITY
	printf("%d\n", kept); // KEPT
	printf("%d\n", wrong); // AT
	return 0;
}
EOF
at() {
	grep -n "// $1" "$TMPDIR/r.c" | cut -d: -f1
}
lines() { # OPTION...: the lines of main and shift that are in the slice
	"$FAULTLINE" slice "$TMPDIR/c" --at "r.c:$(at AT)" wrong --json "$@" >"$TMPDIR/json" 2>"$TMPDIR/err" ||
		fail "$*: $(cat "$TMPDIR/err")"
	jq -r '.statements[] | select(.file // "" | endswith("r.c")) | .line' "$TMPDIR/json" | sort -n | uniq
}
has() { # WHAT LINES
	grep -qx "$(at "$1")" <<<"$2"
}

for level in -O0 -O1; do
	${CC:-gcc} -g $level -fno-inline -o "$TMPDIR/r" "$TMPDIR/r.c" || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/r" 2 >/dev/null 2>&1
	all=$(lines)
	for what in SEED SHIFT TOLD OTHER WRONG; do
		has $what "$all" || fail "$level: $what is not in the slice: $all"
	done
	jq -e '.right_left_out == 0' "$TMPDIR/json" >/dev/null || fail "$level: nothing was said to be right"
	# 42 tells what it was counted up from, and that, and so the argument's digits.
	got=$(lines --right "r.c:$(at RIGHT) told")
	for what in SEED SHIFT; do
		has $what "$got" && fail "$level: $what made what is right: $got"
	done
	for what in OTHER WRONG; do
		has $what "$got" || fail "$level: $what may be wrong: $got"
	done
	jq -e '.right_left_out > 0' "$TMPDIR/json" >/dev/null || fail "$level: nothing was left out"
	# One bit does not.
	got=$(lines --right "r.c:$(at PARITY) low")
	[ "$got" = "$all" ] || fail "$level: a bit told: $got, not $all"
	# Nor does what may have been replaced.
	got=$(lines --right "r.c:$(at KEPT) kept")
	has SEED "$got" || fail "$level: what was replaced told: $got"
done

"$FAULTLINE" slice "$TMPDIR/c" --at "r.c:$(at AT)" wrong --right "r.c:$(at RIGHT) told" >"$TMPDIR/text" 2>&1 ||
	fail "$(cat "$TMPDIR/text")"
grep -q "left out that made what is right" "$TMPDIR/text" || fail "$(cat "$TMPDIR/text")"
for bad in "" "r.c:99999" "r.c:$(at RIGHT) nosuch"; do
	"$FAULTLINE" slice "$TMPDIR/c" --at "r.c:$(at AT)" wrong --right "$bad" >"$TMPDIR/text" 2>&1
	[ $? = 2 ] && [ "$(wc -l <"$TMPDIR/text")" = 1 ] || fail "'$bad': $(cat "$TMPDIR/text")"
done
# A position's thread is told.
position=$(jq .position "$TMPDIR/json") thread=$(jq .thread "$TMPDIR/json")
"$FAULTLINE" slice "$TMPDIR/c" --at "$position" | head -1 | grep -q "thread $thread\$" || fail "another thread"
