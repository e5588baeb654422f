#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Probes and Intel PT: the manifest says where breakpoints were, and what the kernel has in its
# page for probes, which a program that reads its own page sees, too. A trace with all that
# probes add to it (made by encode --probes) decodes to the same instructions as one without,
# and replay agrees with it. Collection uses the kernel's dummy event as PMU.
. tests/lib.sh

need_bpf
need cc
[ "${RECORD[0]}" != sudo ] || skip "needs the environment, which sudo cleans"
tree=$TMPDIR/pmu
mkdir -p "$tree/format" "$tree/caps"
echo 1 >"$tree/type"
echo config:0-3 >"$tree/format/what"
export FAULTLINE_PT_SYSFS=$tree

cat >"$TMPDIR/page.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	char line[512];
	FILE *maps;

	free(malloc(10));
	maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[uprobes]")) {
			volatile unsigned char *p = (void *)strtoul(line, NULL, 16);

			printf("page %lx ", (unsigned long)p);
			for (int i = 0; i < 64; i++)
				printf("%02x", p[i]);
			printf("\n");
			fflush(stdout);
		}
	abort();
}
C
cc -o "$TMPDIR/page" "$TMPDIR/page.c" || fail "cannot compile"
expect_status 134 "${RECORD[@]}" --snapshot -e heap -e pt/what=9/ -o "$TMPDIR/s" -- "$TMPDIR/page"
read -r _ page back <"$TMPDIR/out" || fail "the program has no such page"
"$FAULTLINE" dump "$TMPDIR/s" >"$TMPDIR/dump"
grep -q "page for probes is at $page" "$TMPDIR/dump" || fail "not at $page: $(grep ^pt "$TMPDIR/dump")"
grep -q "\"back\":[[:space:]]*\"$back\"" "$TMPDIR/s/manifest.json" ||
	fail "not $back: $(grep back "$TMPDIR/s/manifest.json")"
# Six functions of the allocator are entered; five have a result.
grep -q "pt: 11 breakpoints" "$TMPDIR/dump" || fail "$(grep ^pt "$TMPDIR/dump")"

# instructions CAPTURE - without times, which other packets tell at other places.
instructions() {
	"$FAULTLINE" decode --instructions "$1" 2>"$TMPDIR/err" | awk '{ $1 = $2 = ""; print }'
}

list=$BUILD/examples/list-O0
expect_status 139 "${RECORD[@]}" -e stores --stores-each -e heap -e pt/what=9/ -o "$TMPDIR/c" -- "$list"
expect_status 0 "$FAULTLINE" encode "$TMPDIR/c"
bytes=$(wc -c <"$TMPDIR/c/perf.data")
instructions "$TMPDIR/c" >"$TMPDIR/plain"
grep -q ', no gap' "$TMPDIR/err" || fail "without probes: $(cat "$TMPDIR/err")"
expect_status 0 "$FAULTLINE" encode --probes --psb 4K "$TMPDIR/c"
[ "$(wc -c <"$TMPDIR/c/perf.data")" -gt $((bytes + 370 * 10)) ] || fail "probes add nothing"
instructions "$TMPDIR/c" >"$TMPDIR/probed"
grep -q ', no gap' "$TMPDIR/err" || fail "with probes: $(cat "$TMPDIR/err")"
[ -s "$TMPDIR/plain" ] && cmp "$TMPDIR/plain" "$TMPDIR/probed" || fail "other instructions"
expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
grep -q 'PT: .* branches of 1 thread compared$' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
expect_status 139 "${RECORD[@]}" -o "$TMPDIR/n" -- "$list"
expect_status 2 "$FAULTLINE" encode --probes "$TMPDIR/n"
expect_error 'tells of no probes'
echo "result: $(wc -l <"$TMPDIR/plain") instructions"
