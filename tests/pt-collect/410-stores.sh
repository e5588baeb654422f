#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# alone: return probes of other recorders push below the stack pointers of its threads
#
# -e stores: its options, libraries, a program that runs already, threads that lose the CPU
# in the middle of a probe. Programs do what they do without, captures replay.
. tests/lib.sh

need cc
need_bpf
probes() { # capture
	"$FAULTLINE" dump -k probe "$1" | grep -c PROBE
}
record() { # capture want-status arguments...
	local c=$TMPDIR/$1 want=$2
	shift 2
	expect_status "$want" "${RECORD[@]}" -e stores -o "$c" "$@"
	grep -q ": complete" "$TMPDIR/err" || fail "$c: $(cat "$TMPDIR/err")"
	cp "$TMPDIR/out" "$c.out"
	expect_status 0 "$FAULTLINE" replay "$c"
}

list=$BUILD/examples/list-O0
record each 139 --stores-each -- "$list"
record plan 139 -- "$list"
# What the program stores outside its frames, and does so each time it runs.
[ "$(probes "$TMPDIR/each")" = 370 ] || fail "$(probes "$TMPDIR/each") hits with --stores-each"
[ "$(probes "$TMPDIR/plan")" -gt 100 ] || fail "$(probes "$TMPDIR/plan") hits of the plan"
grep -q '"store_sites"' "$TMPDIR/plan/manifest.json" || fail "no sites in the manifest"
record of 139 --stores-of list_insert -- "$list"
[ "$(probes "$TMPDIR/of")" -gt 0 ] || fail "no hits in list_insert"
[ "$(probes "$TMPDIR/of")" -lt "$(probes "$TMPDIR/plan")" ] || fail "--stores-of leaves none out"

cat >"$TMPDIR/lib.c" <<'C'
void keep(int *to, int value);
void keep(int *to, int value)
{
	*to = value;
}
C
cat >"$TMPDIR/main.c" <<'C'
#include <stdio.h>
#include <unistd.h>

void keep(int *to, int value);
int kept;

/** The kernel refuses to probe the second one. */
__attribute__((noinline)) static void bump(int *to)
{
	__asm__ volatile("addl $3, (%0)\n\tcs nopw 0(%%rax, %%rax, 1)" : : "r"(to) : "memory");
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 10 || argc > 1; i++) {
		keep(&kept, 1000 + i);
		if (argc > 1)
			usleep(1000);
	}
	bump(&kept);
	printf("%d\n", kept - 3);
	return 0;
}
C
cc -O1 -shared -fPIC -o "$TMPDIR/libkeep.so" "$TMPDIR/lib.c" &&
	cc -O1 -o "$TMPDIR/main" "$TMPDIR/main.c" -L"$TMPDIR" -lkeep -Wl,-rpath,"$TMPDIR" ||
	fail "cannot compile"
record lib 0 --stores-in 'libkeep*' -- "$TMPDIR/main"
[ "$(cat "$TMPDIR/lib.out")" = 1009 ] || fail "another output: $(cat "$TMPDIR/lib.out")"
"$FAULTLINE" dump -k probe "$TMPDIR/lib" >"$TMPDIR/hits"
for i in 0 5 9; do
	grep -q "rsi=$(printf %x $((1000 + i)))" "$TMPDIR/hits" ||
		fail "the library's store of $((1000 + i)) is not told: $(cat "$TMPDIR/hits")"
done

"$TMPDIR/main" forever >"$TMPDIR/forever" &
pid=$!
expect_status 0 "${RECORD[@]}" -e stores --stores-in 'libkeep*' -o "$TMPDIR/attached" \
	-p "$pid" --duration 0.3
kill -0 "$pid" || fail "attaching has ended it"
kill "$pid"
[ "$(probes "$TMPDIR/attached")" -gt 20 ] || fail "$(probes "$TMPDIR/attached") hits when attached"

# AVX instructions that the kernel would take for others are not probed.
if grep -qw avx /proc/cpuinfo; then
	"$BUILD/tests/programs/vex" >"$TMPDIR/want"
	for each in "" --stores-each; do
		record "vex$each" 0 $each -- "$BUILD/tests/programs/vex"
		cmp "$TMPDIR/want" "$TMPDIR/vex$each.out" || fail "probes changed what vex does"
	done
fi

# Threads lose the CPU behind a breakpoint, too, and at their first one as well.
for mode in sem thousand {ping,stamps}.{1..5}; do
	record "$mode" 0 -- "$BUILD/tests/programs/crowd" "${mode%.*}"
done
# They sleep there while another one changes the mappings, and what points to code sees
# breakpoints.
for i in {1..5}; do
	record "arenas.$i" 0 -e heap -- "$BUILD/tests/programs/crowd" arenas
done
record signals 0 -- "$BUILD/tests/programs/signals"
echo "result: $(probes "$TMPDIR/plan") hits by plan, $(probes "$TMPDIR/each") at each store"
