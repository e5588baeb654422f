#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program whose debug information, or whose whole file, is small and unpacks to gigabytes: its
# symbols are left out, which is said, and the rest goes on.
. tests/lib.sh

need python3 objcopy gzip
bomb=$BUILD/tests/capture/tool_bomb
most=300 # MB; once it took a gigabyte
lacks_low_addresses && most=6000 # a sanitizer's are its own

python3 - "$TMPDIR/zeros" <<'END'
import sys, zlib
size = 1 << 30
pack = zlib.compressobj(1)
with open(sys.argv[1], "wb") as out:
    out.write(b"ZLIB" + size.to_bytes(8, "big"))
    for _ in range(size >> 24):
        out.write(pack.compress(bytes(1 << 24)))
    out.write(pack.flush())
END
cp "$BUILD/examples/list-O2" "$TMPDIR/prog"
objcopy --strip-debug --add-section ".zdebug_info=$TMPDIR/zeros" "$TMPDIR/prog" ||
	fail "cannot add a section"
want_status=139 make_capture "$TMPDIR/c" "$TMPDIR/prog"
expect_status 1 "$bomb" peak "$TMPDIR/peak" "$FAULTLINE" analyze --accesses "$TMPDIR/c"
[ "$(cat "$TMPDIR/peak")" -lt $most ] || fail "it took $(cat "$TMPDIR/peak") MB"
grep -q "cannot read symbols of .*prog.*16 times" "$TMPDIR/err" || fail "not said"

# A kept file that is packed as a whole; nothing can be replayed of it.
kept=$(cd "$TMPDIR/c/files" && ls -S | head -n 1)
head -c 1G /dev/zero | gzip -1 >"$TMPDIR/packed"
name=${kept%-*}-$(printf %x "$(stat -c %s "$TMPDIR/packed")")
rm "$TMPDIR/c/files/$kept"
mv "$TMPDIR/packed" "$TMPDIR/c/files/$name"
sed -i "s/$kept/$name/" "$TMPDIR/c/manifest.json"
expect_status 2 "$bomb" peak "$TMPDIR/peak" "$FAULTLINE" analyze --accesses "$TMPDIR/c"
[ "$(cat "$TMPDIR/peak")" -lt $most ] || fail "it took $(cat "$TMPDIR/peak") MB"
grep -q "cannot read symbols of .*no ELF program" "$TMPDIR/err" || fail "not said: $(cat "$TMPDIR/err")"
exit 0
