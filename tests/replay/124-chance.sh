#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# rdrand, rdseed and rdpid in code that does not ask cpuid; gs-relative code, protection
# keys and x87 images. With threads (the kernel may take the CPU away in the middle of a
# probe), in forked processes, and stripped, so that only the unwind table tells of functions.
. tests/lib.sh

# Where the x87's place is not saved (AMD), it is gone when the kernel takes the CPU away behind the
# instruction, from the program or from its replay (doc/cpus.md): that line may differ, some times in a row.
once() {
	make_capture "$TMPDIR/c" "$@"
	for _ in 1 2 3 4 5 6; do
		"$FAULTLINE" replay --stdout "$TMPDIR/c" >"$TMPDIR/replayed" 2>"$TMPDIR/err" ||
			fail "$(cat "$TMPDIR/err")"
		diff <(grep -v '^x87' "$TMPDIR/c.out") <(grep -v '^x87' "$TMPDIR/replayed") ||
			fail "replay printed something else"
		! cmp -s "$TMPDIR/c.out" "$TMPDIR/replayed" || ! grep -q 'x87 at 1' "$TMPDIR/c.out" || {
			says_matched "$TMPDIR/c"
			return
		}
		rm -r "$TMPDIR"/c "$TMPDIR"/c.*
		make_capture "$TMPDIR/c" "$@"
	done
	fail "x87: $(diff "$TMPDIR/c.out" "$TMPDIR/replayed")"
}

program=$BUILD/tests/programs/chance
once "$program"
grep -q rdrand "$TMPDIR/c.out" || fail "no random number: $(cat "$TMPDIR/c.out")"
grep -q 'x87 at 1' "$TMPDIR/c.out" || fail "x87: $(cat "$TMPDIR/c.out")"
! grep -q '^no rdrand' "$TMPDIR/c.out" || skip "this processor has no rdrand"
rm -r "$TMPDIR"/c "$TMPDIR"/c.*
once "$program" signals
rm -r "$TMPDIR"/c "$TMPDIR"/c.*
once "$program" threads
rm -r "$TMPDIR"/c "$TMPDIR"/c.*
# Forked processes have the probes of their parents.
expect_status 0 "${RECORD[@]}" -f -o "$TMPDIR/c" "$program" forks
grep -q ': complete' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
all_match "$TMPDIR/c"
[ "$n_matched" = 3 ] || fail "$n_matched processes, not three"
for number in 0 1 2; do
	n=$("$FAULTLINE" dump --process $number -k random "$TMPDIR/c" | wc -l)
	[ "$n" -ge 20 ] || fail "process $number: $n results of rdrand"
done
rm -r "$TMPDIR"/c "$TMPDIR"/c.*
strip -o "$TMPDIR/stripped" "$program"
once "$TMPDIR/stripped"
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
