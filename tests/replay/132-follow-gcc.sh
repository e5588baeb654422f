#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# gcc compiles and links: driver, compiler, assembler, collect2 and linker, each replayed.
. tests/lib.sh

need gcc as ld
cat >"$TMPDIR/hello.c" <<'C'
#include <stdio.h>

int main(void)
{
	return puts("hello") < 0;
}
C
make_followed "$TMPDIR/c" gcc -O1 -o "$TMPDIR/hello" "$TMPDIR/hello.c"
"$TMPDIR/hello" | grep -qx hello || fail "what it compiled does not work"
all_match "$TMPDIR/c"
for program in cc1 as collect2 ld; do
	processes "$TMPDIR/c" | grep -Eq "exit 0 +([^ ]*/)?$program " ||
		fail "$program was not followed: $(processes "$TMPDIR/c")"
done
