#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What is said of roots: names that there are not, variables that cannot be followed, roots that no
# C-point saw; their names and types in text, JSON, pictures and pages. The allocator's rules hold for
# them: freeing one is wrong, accesses to one are not.
. tests/lib.sh
need gojq gcc dot
need_bpf

source=tests/programs/roots.c
program=$TMPDIR/program
gcc -std=gnu11 -g -O0 -o "$program" $source || fail "cannot compile"
make_capture "$TMPDIR/c" "$program" stack

# told ROOT MESSAGE HINT - analyze says both, shows where, and analyzes nothing.
told() {
	printf 'node FIELD 2 EDGE 1;\nROOT %s;\nnode X; X.key >= 0;\n' "$1" >"$TMPDIR/a.spec"
	expect_status 2 "$FAULTLINE" analyze --spec "$TMPDIR/a.spec" "$TMPDIR/c"
	grep -qF "a.spec:2:6: error: $2" "$TMPDIR/err" || fail "$1: $(cat "$TMPDIR/err")"
	grep -qF "hint: $3" "$TMPDIR/err" || fail "$1: $(cat "$TMPDIR/err")"
	grep -q '| *^' "$TMPDIR/err" || fail "$1: no caret"
}
told queu "no variable 'queu' in the program" "did you mean 'queue'?"
told rounds::iner "no variable 'rounds::iner' in the program" "did you mean 'rounds::inner'?"
at=$source:$(grep -n '^struct node \*queue;' $source | cut -d: -f1)
told "queue IN list.c" "no variable 'queue' in list.c" "there is one at $at"
told inner "'inner' is a local variable" "write 'ROOT rounds::inner;'"

expect_status 1 "$FAULTLINE" spec check /dev/stdin --binary "$program" <<'END'
ROOT main::stak;
END
grep -q "did you mean 'main::stack'" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"

# Removed, or a library's and of each thread: said, and nothing done.
cat >"$TMPDIR/fast.c" <<'END'
#include <stdlib.h>
#ifdef LIBRARY
__thread long each;
#else
extern __thread long each;
int main(void)
{
	void *gone = malloc(7);
	each = 3;
	return 0;
}
#endif
END
gcc -g -O2 -fPIC -shared -DLIBRARY -o "$TMPDIR/libfast.so" "$TMPDIR/fast.c" &&
	gcc -g -O2 -o "$TMPDIR/fast" "$TMPDIR/fast.c" -L"$TMPDIR" -Wl,-rpath,"$TMPDIR" -lfast ||
	fail "cannot compile"
mv "$TMPDIR/c" "$TMPDIR/stack.fl"
make_capture "$TMPDIR/c" "$TMPDIR/fast"
told main::gone "'main::gone' was optimized out: it is nowhere" "build with -O0"
printf 'ROOT each;\neach == 3;\n' >"$TMPDIR/a.spec"
expect_status 2 "$FAULTLINE" analyze --spec "$TMPDIR/a.spec" "$TMPDIR/c"
grep -qF "'each' is a library's, once in each thread" "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"

# There at no C-point.
printf 'node FIELD 2 EDGE 1;\nROOT rounds::inner;\ninner.count < 0;\n' >"$TMPDIR/a.spec"
expect_status 2 "$FAULTLINE" analyze --spec "$TMPDIR/a.spec" "$TMPDIR/stack.fl"
grep -q "note: root 'rounds::inner' was there at no C-point" "$TMPDIR/out" ||
	fail "$(cat "$TMPDIR/out")"

# Names and types.
cat >"$TMPDIR/b.spec" <<'END'
node FIELD 2 EDGE 1;
ROOT main::stack AS s;
ROOT queue;
node.LEN NULL 0; node X; X.LEN = X.next.LEN + 1;
queue != NULL and s.count > 0 => s.head.LEN == s.count; ..(length)
CPOINT enqueue;
END
expect_status 1 "$FAULTLINE" analyze --spec "$TMPDIR/b.spec" --svg "$TMPDIR/b.svg" "$TMPDIR/stack.fl"
for text in 'violated for queue = n1, s = n[0-9]*$' 'n1 queue: node \* at .* declared at '"$at" \
	'main::stack: list at .* declared at .*roots.c:[0-9]* (time' 'head = n[0-9]*   count = 19'; do
	grep -q "$text" "$TMPDIR/out" || fail "no '$text': $(cat "$TMPDIR/out")"
done
grep -q 'main::stack: list' "$TMPDIR/b.svg" || fail "the picture does not name the root"
expect_status 1 "$FAULTLINE" analyze --json --spec "$TMPDIR/b.spec" "$TMPDIR/stack.fl"
jq -e '.violations[0].roots == [{"node": .violations[0].nodes[0], "name": "queue", "type": "node *"},
	{"node": .violations[0].nodes[1], "name": "main::stack", "type": "list"}]' \
	"$TMPDIR/out" >/dev/null || fail "$(jq -c .violations "$TMPDIR/out")"
expect_status 0 "$FAULTLINE" graph --spec "$TMPDIR/b.spec" --html "$TMPDIR/b.html" "$TMPDIR/stack.fl" \
	--from 0 --to END
grep -q 'queue: node \*' "$TMPDIR/b.html" || fail "the page does not name the root"

# What a variable held before the first store into it is what its declaration says.
cat >"$TMPDIR/first.c" <<'END'
#include <unistd.h>
static int limit = 3, zero; /* wrong */
static struct { long used, most; } stats = { 1, 10 };
__attribute__((noinline)) int check(int v) { return v + limit + zero + stats.used; }
int main(void)
{
	char c;
	stats.most = 100;
	while (read(0, &c, 1) == 1)
		stats.used = 101; /* BUG used */
	return check(1) == 0;
}
END
gcc -g -O0 -o "$TMPDIR/first" "$TMPDIR/first.c" || fail "cannot compile"
cat >"$TMPDIR/a.spec" <<'END'
ROOT limit;
ROOT zero;
ROOT stats;
zero == 0 and stats.used == 1; ..(fine)
limit == 4; ..(wrong)
CPOINT check;
END
make_capture "$TMPDIR/first.fl" "$TMPDIR/first" </dev/null
expect_status 1 "$FAULTLINE" analyze --json --spec "$TMPDIR/a.spec" "$TMPDIR/first.fl"
jq -e '[.violations[].constraint] == ["wrong"] and .faults[0].line == 2' "$TMPDIR/out" \
	>/dev/null || fail "$(cat "$TMPDIR/out")"

# .. and in a program that runs already what memory had.
printf 'ROOT stats;\nstats.used <= stats.most;\nCPOINT check;\n' >"$TMPDIR/a.spec"
mkfifo "$TMPDIR/in"
"$TMPDIR/first" <"$TMPDIR/in" &
pid=$!
exec 3>"$TMPDIR/in"
"${RECORD[@]}" -o "$TMPDIR/late.fl" -p $pid 2>"$TMPDIR/late.err" 3>&- &
until_true grep -q attached "$TMPDIR/late.err" || fail "cannot attach: $(cat "$TMPDIR/late.err")"
echo >&3
exec 3>&-
wait
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/late.fl"
expect_status 1 "$FAULTLINE" analyze --json --spec "$TMPDIR/a.spec" "$TMPDIR/late.fl"
[ "$(jq .faults[0].line "$TMPDIR/out")" = "$(grep -n 'BUG used' "$TMPDIR/first.c" | cut -d: -f1)" ] ||
	fail "$(cat "$TMPDIR/out")"
expect_status 1 "$FAULTLINE" analyze --spec "$TMPDIR/a.spec" "$TMPDIR/late.fl"
grep -q 'used = 101   most = 100' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# Accesses, and releases.
expect_status 1 "$FAULTLINE" analyze --accesses --spec "$TMPDIR/b.spec" "$TMPDIR/stack.fl"
grep -q 'no access by a pointer' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
printf 'ROOT pool;\npool.count >= 0;\n' >"$TMPDIR/a.spec"
want_status=134 make_capture "$TMPDIR/free.fl" "$program" free
expect_status 1 "$FAULTLINE" analyze --json --spec "$TMPDIR/a.spec" "$TMPDIR/free.fl"
[ "$(jq -c '[.releases[] | .at.line]' "$TMPDIR/out")" = \
	"[$(grep -n 'BUG free' $source | cut -d: -f1)]" ] || fail "$(jq -c .releases "$TMPDIR/out")"
