#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The program is given capabilities, and reads what strangers wrote. It is position independent,
# its tables are read-only once it runs, no memory of it is written and executed, its stack and
# its copies are guarded; and where it has rights that its user lacks, no environment variable
# has a say.
. tests/lib.sh

need readelf objdump
readelf -hlWd "$FAULTLINE" >"$TMPDIR/elf" || fail "cannot read the program"
readelf --dyn-syms -W "$FAULTLINE" >"$TMPDIR/symbols"

# has PATTERN WHAT - the program's headers match.
has() {
	grep -Eq "$1" "$TMPDIR/elf" || fail "$2: $(cat "$TMPDIR/elf")"
}
has 'Type: +DYN' "not position independent"
has ' GNU_RELRO ' "no RELRO"
has 'BIND_NOW|FLAGS_1.* NOW' "RELRO is partial"
has ' GNU_STACK .* RW +0x' "the stack may be executed"
grep -E ' LOAD .* RWE ' "$TMPDIR/elf" && fail "memory that is written and executed"
grep -q __stack_chk_fail "$TMPDIR/symbols" || fail "no stack protector"
grep -qs -e -fsanitize= "$BUILD/.flags" || grep -Eq '__(v?sn?printf|v?fprintf|memcpy|read)_chk' "$TMPDIR/symbols" ||
	fail "no fortified functions"

# C's functions say where jumps may come in. The doors to the guest say nothing of shadow stacks,
# so that nobody turns these on for the program: the mark is left out, on purpose.
objdump -d --no-show-raw-insn --disassemble=cmd_record "$FAULTLINE" |
	grep -A1 '<cmd_record>:$' | grep -q endbr64 || fail "no control-flow protection"
readelf -n "$FAULTLINE" | grep SHSTK && fail "shadow stacks are promised: do they work?"

# A large frame is touched page by page.
objdump -d --no-show-raw-insn "$FAULTLINE" | grep -q 'orq  *$0x0,(%rsp)' ||
	fail "stacks may jump over their guard page"

cd "$SOURCE" || exit 1
grep -rnE '[^_a-z]getenv\(' --include='*.[ch]' faultline.c $(make -s rooms) &&
	fail "secure_getenv() is meant"
exit 0
