#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What is wrong with the captures of a suite, in groups: by the rule, the statement and its callers.
# Two suites: what is new, and what is gone.
. tests/lib.sh

need gojq
need_bpf
SUITE=("${RECORD[@]:0:${#RECORD[@]}-1}" suite)
cd "$TMPDIR" || exit 1
cat >prog.c <<'END'
#include <stdlib.h>

static void fill(char *volatile p, int n)
{
	p[n] = 1;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	char *volatile p = malloc(8);

	fill(p, n);
	if (argc > 2)
		fill(p, n);
	if (n == 1)
		free(p);
	free(p);
	return n == 2;
}
END
${CC:-cc} -g -O0 -w -o prog prog.c || fail "no program"
cat >one.jsonl <<'END'
{"name": "clean", "args": ["0"], "status": 0}
{"name": "over", "args": ["8"], "status": 0}
{"name": "over, too", "args": ["9"], "status": 0}
{"name": "elsewhere", "args": ["8", "twice"], "status": 0}
{"name": "fails", "args": ["2"], "status": 0}
END
printf '{"name": "over", "args": ["8"], "status": 0}\n{"name": "twice", "args": ["1"], "status": 0}\n' >two.jsonl
for suite in one two; do
	expect_status 1 "${SUITE[@]}" record --tests $suite.jsonl -o $suite -- ./prog
done
expect_status 2 "$FAULTLINE" suite report one
expect_error "nobody has looked at its captures .faultline suite check one."
for suite in one two; do
	expect_status 1 "$FAULTLINE" suite check $suite --only HEAP-OVERFLOW,DOUBLE-FREE
done
grep -q "^2 captures: 0 clean, 2 with errors, 0 could not be looked at$" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# groups SUITE... - a line each: how many of each suite, what, and which.
groups() {
	"$FAULTLINE" suite report "$@" --json | jq -r '.groups[] | . as $g |
		[.kind, (.where | gsub("/[^ ]*/"; "")), ([.tests[] | "\(.suite):\(.name)"] | join(" "))] | join("|")'
}
groups one >got
cat >want <<'END'
HEAP-OVERFLOW|prog.c:5 in fill, called at prog.c:13 in main|0:over 0:over, too 0:elsewhere
failed||0:fails
END
diff want got >differ || fail "$(cat differ)"
groups two one >got
cat >want <<'END'
HEAP-OVERFLOW|prog.c:5 in fill, called at prog.c:13 in main|0:over 1:over 1:over, too 1:elsewhere
DOUBLE-FREE|prog.c:18 in main|0:twice
failed||1:fails
END
diff <(sort want) <(sort got) >differ || fail "$(cat differ)"
[ "$("$FAULTLINE" suite report one --json | jq -c '.suites[0] | [.dir, .captures, .clean, .not_looked_at]')" = '["one",5,1,0]' ] ||
	fail "$("$FAULTLINE" suite report one --json)"
expect_status 1 "$FAULTLINE" suite report one
grep -q "^    3  HEAP-OVERFLOW at .*prog.c:5 in fill, called at .*prog.c:13 in main$" "$TMPDIR/out" ||
	fail "$(cat "$TMPDIR/out")"

# A page, with a page of one capture of each.
expect_status 1 "$FAULTLINE" suite report one two -o week.html
for page in one/tests/over one/tests/fails two/tests/twice; do
	grep -q "href=\"$PWD/$page/report.html\"" week.html || fail "no link to $page"
	grep -q "</html>" $page/report.html || fail "no page of $page: $(cat $page/report.log)"
done
[ "$(find one two -name report.html | wc -l)" = 3 ] || fail "other pages: $(find one two -name report.html)"
grep -q "<p>over time: 3, 1</p>" week.html || fail "no counts: $(cat week.html)"
expect_status 2 "$FAULTLINE" suite report one -o nowhere/week.html
expect_error "cannot write 'nowhere/week.html'"
exit 0
