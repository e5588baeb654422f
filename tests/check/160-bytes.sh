#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Accesses outside of variables, to those of functions that have returned, and uses of what has no value are found
# in a program that says where they are; and nothing else is, and the same where each instruction is a step. --strict: reads of it, too. FAULTLINE_RULES=full: as two compilers make it at
# three levels, else three of the six.
. tests/lib.sh
need gojq gcc clang
need_bpf

source=tests/programs/bytes.c
grep -n '// expect: ' $source | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' >"$TMPDIR/want"
[ "$(wc -l <"$TMPDIR/want")" -ge 60 ] || fail "$source expects nothing"

# check_as COMPILER LEVEL
check_as() {
	"$1" -std=gnu11 -D_GNU_SOURCE -g "-$2" -fno-builtin -w -o "$TMPDIR/bytes" $source || fail "cannot compile"
	for kind in right wrong; do
		make_lived "$TMPDIR/c" "$TMPDIR/bytes" $kind
		"$BUILD/tests/check/tool_bytes" "$TMPDIR/c" >"$TMPDIR/counts" || fail "as fast as it goes is not the same"
		[ $kind = right ] || ! grep -q '^told 0' "$TMPDIR/c.lived" || fail "nothing is told"
		[ $kind = right ] || ! grep -q ' 0$' "$TMPDIR/counts" || fail "told: $(cat "$TMPDIR/counts")"
		"$FAULTLINE" check --json --strict "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		local status=$?
		jq -r '.findings[] | select(.rule == "UNINIT-READ").at.line' "$TMPDIR/out" | sort -u >"$TMPDIR/read"
		jq -r '.findings[] | select(.rule != "UNINIT-READ") | "\(.at.line) \(.rule)"' "$TMPDIR/out" | sort -u | sort -n >"$TMPDIR/found" ||
			fail "$1 -$2 $kind: $(cat "$TMPDIR/err")"
		if [ $kind = right ]; then
			[ $status = 0 ] && [ ! -s "$TMPDIR/found" ] || fail "$1 -$2: $(cat "$TMPDIR/found" "$TMPDIR/read")"
		else
			[ $status = 1 ] || fail "$1 -$2: status $status"
			diff "$TMPDIR/want" "$TMPDIR/found" || fail "$1 -$2"
			# By itself that is asked in another way.
			"$FAULTLINE" check --json --only UNINIT-USE "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
			jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out" | sort -u >"$TMPDIR/alone"
			grep UNINIT-USE "$TMPDIR/found" | sort | comm -23 - "$TMPDIR/alone" >"$TMPDIR/missing"
			[ -s "$TMPDIR/alone" ] && [ ! -s "$TMPDIR/missing" ] || fail "$1 -$2: alone"
			[ "$1-$2" != gcc-O0 ] || alone_in "$TMPDIR/c" UNINIT-USE
			# Accesses that are wrong otherwise, and uses, are such reads, too.
			grep -n '// strict$' $source | cut -d: -f1 | sort | comm -23 - "$TMPDIR/read" >"$TMPDIR/missing"
			[ ! -s "$TMPDIR/missing" ] || fail "$1 -$2: not read: $(cat "$TMPDIR/missing")"
		fi
	done
}

if [ "${FAULTLINE_RULES:-}" = full ]; then
	for cc in gcc clang; do
		for level in O0 O2 O3; do
			check_as $cc $level
		done
	done
else
	check_as gcc O0
	check_as clang O0
	check_as clang O2
fi

# Variables of blocks that have ended, and of those that are about to.
scopes=tests/programs/scopes.c cleanups=tests/check/programs/cleanups.cc
for cc in "gcc -x c $scopes" "gcc -x c++ $scopes" "clang -x c $scopes" "clang -x c++ $scopes" "g++ -std=c++17 $cleanups" "g++ -mstackrealign -std=c++17 $cleanups" "clang++ -std=c++17 $cleanups"; do
	also="by ${cc%% *}"
	grep -n "// expect\( ${also%++}\)\?: " "${cc##* }" | sed 's/^\([0-9]*\):.*expect.*: \(.*\)/\1 \2/' >"$TMPDIR/want"
	[ "$(wc -l <"$TMPDIR/want")" -ge 6 ] || fail "$cc expects nothing"
	$cc -g -O0 -fno-builtin -w -o "$TMPDIR/scopes" || fail "cannot compile"
	for kind in right wrong; do
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/scopes" $kind
		"$BUILD/tests/check/tool_bytes" "$TMPDIR/c" >"$TMPDIR/counts" || fail "$cc: as fast as it goes is not the same"
		"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out" | sort -u | sort -n >"$TMPDIR/found" ||
			fail "$cc $kind: $(cat "$TMPDIR/err")"
		[ $kind = wrong ] || [ ! -s "$TMPDIR/found" ] || fail "$cc: $(cat "$TMPDIR/found")"
		[ $kind = right ] || diff "$TMPDIR/want" "$TMPDIR/found" || fail "$cc"
	done
done

# Arrays that are members, and distances between variables; parameters in memory; what the C library reads.
for cc in {gcc,clang}" "{named,parameters,library}; do
	program=tests/check/programs/${cc#* }.c
	grep -n '// expect: ' $program | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' >"$TMPDIR/want"
	[ "$(wc -l <"$TMPDIR/want")" -ge 6 ] || fail "$program expects nothing"
	${cc% *} -g -O0 -fno-builtin -w -o "$TMPDIR/named" $program || fail "cannot compile"
	for kind in right wrong; do
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/named" $kind
		"$BUILD/tests/check/tool_bytes" "$TMPDIR/c" >"$TMPDIR/counts" || fail "$cc: as fast as it goes is not the same"
		"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out" | sort -u | sort -n >"$TMPDIR/found" ||
			fail "$cc $kind: $(cat "$TMPDIR/err")"
		[ $kind = wrong ] || [ ! -s "$TMPDIR/found" ] || fail "$cc: $(cat "$TMPDIR/found")"
		[ $kind = right ] || diff "$TMPDIR/want" "$TMPDIR/found" || fail "$cc"
	done
	alone_in "$TMPDIR/c"
done

# While clang pushes arguments rsp is lower, but what DWARF says is by rsp means what it was before.
cat >"$TMPDIR/pushed.c" <<-'END'
	#include <stdio.h>
	__attribute__((noinline)) static int sum(int *values, int a, int b, int c, int d, int e, int f, int g, int n)
	{
		int total = a + b + c + d + e + f + g;

		for (int i = 0; i < n; i++)
			total += values[i] ^ (total & 3);
		return total;
	}
	int main(int argc, char **argv)
	{
		int seed = argc, first[64], second[64];

		(void)argv;
		for (int i = 0; i < 64; i++)
			first[i] = second[i] = seed += i % 7;
		for (int n = 63; n < 64 + (argc > 1); n++)
			printf("%d\n", sum(first, seed, seed + 2, seed * 3, seed ^ 4, seed - 5, 6 * seed, seed | 7, n + 1) +
				sum(second, seed, seed + 2, seed * 3, seed ^ 4, seed - 5, 6 * seed, seed | 7, n + 1));
		return 0;
	}
END
clang -g -O2 -w -o "$TMPDIR/pushed" "$TMPDIR/pushed.c" || fail "cannot compile"
for argument in "" wrong; do
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/pushed" $argument
	"$FAULTLINE" check "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
	case $? in
	0) [ -z "$argument" ] ;;
	1) [ -n "$argument" ] && grep -q "at byte 256 of second" "$TMPDIR/out" ;;
	*) false ;;
	esac || fail "pushed $argument: $(cat "$TMPDIR/out" "$TMPDIR/err")"
done
# Where it has realigned the stack that is not known, and nothing is said.
sed 's/first\[64\], second/_Alignas(64) first[64], second/; s/int seed = argc, _Alignas(64) first/int seed = argc; _Alignas(64) int first/' "$TMPDIR/pushed.c" >"$TMPDIR/aligned.c"
grep -q '_Alignas(64) int first' "$TMPDIR/aligned.c" || fail "not aligned"
clang -g -O2 -w -o "$TMPDIR/aligned" "$TMPDIR/aligned.c" || fail "cannot compile"
rm -rf "$TMPDIR/c"
make_capture "$TMPDIR/c" "$TMPDIR/aligned"
expect_status 0 "$FAULTLINE" check "$TMPDIR/c"

# What memcpy() and the like are to store is known as they are called: they may begin at its end, and not live to its start.
cat >"$TMPDIR/negative.c" <<-'END'
	#include <stdlib.h>
	#include <string.h>
	static char from[64], fixed[16];
	int main(int argc, char **argv)
	{
		char before[32] = "x", to[32], after[32] = "y";
		long size = atol(argv[2]);

		switch (*argv[1]) {
		case '0': memcpy(to, from, size); break;
		case '1': memmove(to, from, size); break;
		case '2': memset(to, 1, size); break;
		case '3': memset(fixed, 1, size); break;
		}
		return (before[0] + to[1] + after[2]) & 0;
	}
END
gcc -g -O0 -fno-builtin -w -o "$TMPDIR/negative" "$TMPDIR/negative.c" || fail "cannot compile"
for call in {0..3}; do
	for size in 16 33 -5; do
		rm -rf "$TMPDIR/c"
		want_status=$((size < 0 ? 139 : 0)) make_capture "$TMPDIR/c" "$TMPDIR/negative" $call $size
		"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		jq -r '.findings[] | "\(.at.line) \(.rule) \(.message)"' "$TMPDIR/out" | grep -v WILD-DEREF >"$TMPDIR/found"
		case $size in
		16) [ ! -s "$TMPDIR/found" ] ;;
		33) [ "$(wc -l <"$TMPDIR/found")" = 1 ] && grep -q "^$((10 + call)) [A-Z]*-OVERFLOW .*write of 33 bytes at byte 0" "$TMPDIR/found" ;;
		*) head -1 "$TMPDIR/found" | grep -q "^$((10 + call)) [A-Z]*-OVERFLOW .*write of 18446744073709551611 bytes at byte 0" &&
			! grep UNDERFLOW "$TMPDIR/found" ;;
		esac || fail "$call $size: $(cat "$TMPDIR/found" "$TMPDIR/err")"
	done
done

# The last block is lost though the allocator knows where it ends.
cat >"$TMPDIR/last.c" <<-'END'
	#include <stdlib.h>
	static void lose(void) { *(volatile char *)malloc(17) = 1; }
	int main(void) { lose(); return 0; }
END
gcc -g -O0 -o "$TMPDIR/last" "$TMPDIR/last.c" || fail "cannot compile"
rm -rf "$TMPDIR/c"
make_capture "$TMPDIR/c" "$TMPDIR/last"
expect_status 1 "$FAULTLINE" check --only DEFINITE-LEAK "$TMPDIR/c"
grep -q "17 bytes in 1 block" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
exit 0
