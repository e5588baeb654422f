#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Rule RACE finds both sides of each race of programs that say which lines they are, and nothing in programs
# whose threads are in order in every way, as two compilers make them at two levels. What it
# tells: both threads, their stacks, locks, the variable.
. tests/lib.sh
need gojq gcc clang
need_bpf

source=tests/programs/raced.c
grep -n '// race' $source | cut -d: -f1 | sort -u >"$TMPDIR/want"
# What a thread comes to only when another one was quicker.
grep -n '// may race' $source | cut -d: -f1 >"$TMPDIR/may"
[ "$(wc -l <"$TMPDIR/want")" -ge 20 ] || fail "$source has few races"
for cc in gcc clang; do
	for level in O0 O2; do
		$cc -std=gnu11 -D_GNU_SOURCE -g -$level -w -pthread -o "$TMPDIR/raced" $source ||
			fail "cannot compile $source"
		for how in racy right; do
			rm -rf "$TMPDIR/c"
			make_capture "$TMPDIR/c" "$TMPDIR/raced" $how
			status=1
			[ $how = racy ] || status=0
			expect_status $status "$FAULTLINE" check --json --only RACE "$TMPDIR/c"
			jq -r '.findings[] | .one.line, .other.line' "$TMPDIR/out" | sort -u |
				grep -vxFf "$TMPDIR/may" >"$TMPDIR/found"
			[ $how = racy ] || : >"$TMPDIR/want"
			diff "$TMPDIR/want" "$TMPDIR/found" || fail "$cc -$level $how"
			[ $how = right ] || cp "$TMPDIR/out" "$TMPDIR/racy"
		done
		grep -n '// race' $source | cut -d: -f1 | sort -u >"$TMPDIR/want"
	done
done

# One with different locks: each side tells its own, the thread, who called it.
jq -e '[.findings[] | select(.variable == "guarded")] | length == 1 and (.[0] |
	(.one.write or .other.write) and .one.thread != .other.thread and
	(.one.locks | length) == 1 and (.other.locks | length) == 1 and .one.locks != .other.locks)' \
	"$TMPDIR/racy" >/dev/null || fail "guarded: $(jq -c '.findings[] | select(.variable == "guarded")' "$TMPDIR/racy")"
jq -e '[.findings[] | .one, .other] | any(.callers[0].function == "racy")' "$TMPDIR/racy" >/dev/null || fail "who called before_join() is not told"

# A rule of one's own about races; one thread has none.
echo '[LARGE] detect race r: Width() >= 8 severity note;' >"$TMPDIR/mine.rules"
gcc -x c -o "$TMPDIR/one" - <<<'int main(void) { return 0; }' || fail "cannot compile"
make_capture "$TMPDIR/one.c" "$TMPDIR/one"
expect_status 0 "$FAULTLINE" check --only RACE "$TMPDIR/one.c"
gcc -std=gnu11 -D_GNU_SOURCE -g -O0 -w -pthread -o "$TMPDIR/raced" $source
rm -rf "$TMPDIR/c"
make_capture "$TMPDIR/c" "$TMPDIR/raced" racy
expect_status 0 "$FAULTLINE" check --json --rules "$TMPDIR/mine.rules" "$TMPDIR/c"
jq -e '.findings | length >= 1 and all(.rule == "LARGE" and .severity == "note")' "$TMPDIR/out" >/dev/null ||
	fail "LARGE: $(cat "$TMPDIR/out")"
gcc -std=gnu11 -D_GNU_SOURCE -O2 -w -pthread -o "$TMPDIR/plain" $source
make_capture "$TMPDIR/plain.c" "$TMPDIR/plain" racy
expect_status 0 "$FAULTLINE" check --only RACE "$TMPDIR/plain.c"
grep -q 'races are looked for in code with line information alone' "$TMPDIR/err" ||
	fail "without lines: $(cat "$TMPDIR/err")"
expect_status 1 "$FAULTLINE" check --only RACE "$TMPDIR/c"
grep -q 'holding lock_a$' "$TMPDIR/out" || fail "the lock's name is not told: $(cat "$TMPDIR/out")"
grep -q 'in guarded, at byte 0 of 4' "$TMPDIR/out" || fail "the variable is not told"
exit 0
