#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# rdrand, rdseed and rdpid in code that does not ask cpuid; gs-relative code, protection
# (threads: the kernel may take the CPU away in the middle of a probe)
# keys and x87 images. Also stripped, so that only the unwind table tells of functions.
. tests/lib.sh

program=$BUILD/tests/programs/chance
record_and_replay "$program"
grep -q rdrand "$TMPDIR/c.out" || fail "no random number: $(cat "$TMPDIR/c.out")"
grep -q 'x87 at 1' "$TMPDIR/c.out" || fail "x87: $(cat "$TMPDIR/c.out")"
grep -q '^no rdrand' "$TMPDIR/c.out" && exit 0
rm -r "$TMPDIR"/c "$TMPDIR"/c.*
record_and_replay "$program" signals
rm -r "$TMPDIR"/c "$TMPDIR"/c.*
record_and_replay "$program" threads
rm -r "$TMPDIR"/c "$TMPDIR"/c.*
strip -o "$TMPDIR/stripped" "$program"
record_and_replay "$TMPDIR/stripped"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*

# In code that is no file's nobody looks: the replay says which instruction it was.
cat >"$TMPDIR/a.c" <<'EOF'
#include <string.h>
#include <sys/mman.h>

int main(void)
{
	static const unsigned char code[] = { 0x48, 0x0f, 0xc7, 0xf0, 0xc3 };
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(p, code, sizeof(code));
	((void (*)(void))p)();
	return 0;
}
EOF
gcc -o "$TMPDIR/a" "$TMPDIR/a.c" || fail gcc
make_capture "$TMPDIR/c" "$TMPDIR/a"
expect_status 1 "$FAULTLINE" replay "$TMPDIR/c"
grep -q 'rdrand at rip' "$TMPDIR/out" "$TMPDIR/err" || fail "$(cat "$TMPDIR/out" "$TMPDIR/err")"
