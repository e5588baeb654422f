#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Once main() has returned nothing in its frame leads to anything, whatever lies there still. Pointers are looked for in
# what was touched: 64 GiB of which a page was are no more than that.
# time limit: 60
. tests/lib.sh
need gojq gcc
need_bpf

source=tests/check/programs/left.c
grep -n '// expect: ' $source | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' >"$TMPDIR/want"
[ "$(wc -l <"$TMPDIR/want")" = 24 ] || fail "$source expects something else"
for level in O0 O2; do
	gcc -g -$level -o "$TMPDIR/left" $source || fail "cannot compile $source"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/left"
	expect_status 1 "$FAULTLINE" check --json "$TMPDIR/c"
	jq -r '.findings[] | .rule as $r | (.at, (.also // [])[]) | "\(.line) \($r)"' "$TMPDIR/out" |
		sort -n >"$TMPDIR/found"
	diff "$TMPDIR/want" "$TMPDIR/found" || fail "-$level"
done

# Nor where no symbol tells which function that is; but where it calls exit() itself, or another one does, its frame is there.
cat >"$TMPDIR/stripped.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void finish(void) { exit(0); }
int main(int argc, char **argv)
{
	int *volatile x = malloc(8);

	*x = argc;
	if (argc == 2)
		exit(0);
	if (argc == 3)
		finish();
	return 0;
}
END
for level in O0 O2; do
	gcc -s -$level -o "$TMPDIR/stripped" "$TMPDIR/stripped.c" || fail "cannot compile"
	for args in "" one "one two"; do
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/stripped" $args
		if [ "$args" ]; then
			expect_status 0 "$FAULTLINE" check "$TMPDIR/c"
		else
			expect_status 1 "$FAULTLINE" check "$TMPDIR/c"
			grep -q DEFINITE-LEAK "$TMPDIR/out" || fail "-$level: what main() leaves is not lost"
		fi
	done
done

# What main() returns exit() gets, which is no statement of the user's: that by which main() left is.
cat >"$TMPDIR/given.c" <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	int *x = malloc(8), r;

	if (argc > 1)
		x[1] = 0;
	r = x[1];
	free(x);
	return r;
} // given
END
gcc -g -O0 -o "$TMPDIR/given" "$TMPDIR/given.c" || fail "cannot compile"
for rules in UNINIT-USE UNINIT-USE,STACK-OVERFLOW; do
	for argument in '' x; do
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/given" $argument
		expect_status $((${#argument} == 0)) "$FAULTLINE" check --only $rules --json "$TMPDIR/c"
		jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out" >"$TMPDIR/found"
		[ -n "$argument" ] || echo "$(grep -n '// given' "$TMPDIR/given.c" | cut -d: -f1) UNINIT-USE" >"$TMPDIR/want"
		[ -z "$argument" ] || : >"$TMPDIR/want"
		diff "$TMPDIR/want" "$TMPDIR/found" || fail "'$argument', $rules"
	done
done

# What malloc() left in registers that calls need not keep leads to nothing where _exit() ends it; what its frame has does.
cat >"$TMPDIR/ended.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char *volatile y = malloc(200);
	char *volatile x = malloc(100); // lost

	x = NULL;
	_exit(0);
}
END
gcc -g -O0 -o "$TMPDIR/ended" "$TMPDIR/ended.c" || fail "cannot compile"
rm -rf "$TMPDIR/c"
make_capture "$TMPDIR/c" "$TMPDIR/ended"
expect_status 1 "$FAULTLINE" check --json "$TMPDIR/c"
jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out" >"$TMPDIR/found"
echo "$(grep -n '// lost' "$TMPDIR/ended.c" | cut -d: -f1) DEFINITE-LEAK" >"$TMPDIR/want"
diff "$TMPDIR/want" "$TMPDIR/found" || fail "_exit()"

# What compilers put elsewhere of main(), as it is rare, is main(), too: its frame is there.
cat >"$TMPDIR/rare.c" <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *volatile x = malloc(100);

	if (argc > 1)
		abort();
	free(x);
	return 0;
}
END
gcc -g -O2 -o "$TMPDIR/rare" "$TMPDIR/rare.c" || fail "cannot compile"
nm "$TMPDIR/rare" | grep -q ' main\.cold' || fail "nothing of main() is elsewhere"
rm -rf "$TMPDIR/c"
want_status=134 make_capture "$TMPDIR/c" "$TMPDIR/rare" x
expect_status 0 "$FAULTLINE" check "$TMPDIR/c"

# A pointer in what malloc_usable_size() gave of a block leads to another, for whoever tells what is lost.
cat >"$TMPDIR/usable.c" <<'END'
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	static void *volatile kept;
	void **p = malloc(1), *volatile x;

	memset(p, 0, malloc_usable_size(p));
	p[1] = malloc(30);
	kept = p;
	x = malloc(100); // lost
	x = NULL;
	if (argc > 1)
		abort();
	return 0;
}
END
gcc -g -O0 -o "$TMPDIR/usable" "$TMPDIR/usable.c" || fail "cannot compile"
echo "$(grep -n '// lost' "$TMPDIR/usable.c" | cut -d: -f1) DEFINITE-LEAK" >"$TMPDIR/want"
for argument in '' x; do
	rm -rf "$TMPDIR/c"
	want_status=$((${#argument} * 134)) make_capture "$TMPDIR/c" "$TMPDIR/usable" $argument
	for options in "" "--rules specs/rules/leaks.rules" "--only DEFINITE-LEAK"; do
		expect_status 1 "$FAULTLINE" check --json $options "$TMPDIR/c"
		jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out" >"$TMPDIR/found"
		diff "$TMPDIR/want" "$TMPDIR/found" || fail "usable bytes, '$argument' $options"
	done
done
