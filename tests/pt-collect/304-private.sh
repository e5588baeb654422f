#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# --mask-env and --omit: the program has what it needs, the capture does not, and says so.
. tests/lib.sh

need cc zstd
need_bpf
cat >"$TMPDIR/p.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	char *secret = getenv("API_TOKEN");
	int fd = open(argv[1], O_RDONLY);
	char *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (argc > 2)
		printf("%zu %d\n", strlen(secret), map != MAP_FAILED && map[0] == 'h');
	puts("done");
	return 0;
}
C
cc -O1 -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cannot compile"
printf 'hushhush-file\n' >"$TMPDIR/private.key"
export API_TOKEN=hushhush-env OTHER=plain-value
holds() { # text: somewhere in the capture, log unpacked
	grep -rqa "$1" "$TMPDIR/c" && return 0
	python3 - "$TMPDIR/c/events.flt" "$1" <<'P'
import struct, subprocess, sys
d, at = open(sys.argv[1], "rb").read(), 16
while at < len(d):
    n = struct.unpack_from("<I", d, at)[0]
    raw = subprocess.run(["zstd", "-dcq"], input=d[at + 16:at + 16 + n],
                         capture_output=True, check=True).stdout
    if sys.argv[2].encode() in raw:
        sys.exit(0)
    at += 16 + n
sys.exit(1)
P
}

expect_status 0 "${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/p" "$TMPDIR/private.key"
holds hushhush-env || fail "the search finds nothing at all"
holds hushhush-file || fail "the search does not find mapped files"
rm -rf "$TMPDIR/c"

expect_status 0 "${RECORD[@]}" --mask-env='API_*' --omit='*.key' -o "$TMPDIR/c" -- \
	"$TMPDIR/p" "$TMPDIR/private.key" look
grep -q '^12 1$' "$TMPDIR/out" || fail "the program was harmed: $(cat "$TMPDIR/out")"
grep -q '2 gaps: left out on request' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
holds hushhush-env && fail "the value is in the capture"
holds hushhush-file && fail "the file is in the capture"
holds plain-value || fail "another variable is gone"
"$FAULTLINE" dump "$TMPDIR/c" | grep -q 'GAP left out on request: the value of.*API_TOKEN' ||
	fail "the capture does not say it"
rm -rf "$TMPDIR/c"

# Who does not look replays as ever.
expect_status 0 "${RECORD[@]}" --mask-env=API_TOKEN --omit='*.key' -o "$TMPDIR/c" -- \
	"$TMPDIR/p" "$TMPDIR/private.key"
expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
grep -q 'all matched' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
grep -q 'left out on request' "$TMPDIR/err" || fail "the replay does not say it"
