#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Debug information of a few hundred bytes with more ways through it than anybody can go.
. tests/lib.sh

need cc
need_bpf

# walks_through NAME - analyze comes to an end with prog.c, in whose debug information are the
# DIEs of the assembly on standard input; abbreviations 1 to 6 are those below.
walks_through() {
	cat >"$TMPDIR/prog.c" <<-END
	struct endless { int x; };
	int main(void) { return 0; }
	__asm__(".section .debug_abbrev, \"\", @progbits\n"
		".uleb128 1, 0x11, 1, 0x3, 8, 0x11, 1, 0x12, 7, 0, 0\n" // unit: name, code
		".uleb128 2, 0xb, 1, 0x1, 0x13, 0, 0\n" // block: sibling
		".uleb128 3, 0x39, 1, 0x1, 0x13, 0, 0\n" // namespace: sibling
		".uleb128 4, 0x13, 1, 0x3, 8, 0xb, 0xb, 0, 0\n" // struct: name, size
		".uleb128 5, 0xd, 0, 0x3, 8, 0x49, 0x13, 0x38, 0xb, 0, 0\n" // member
		".uleb128 6, 0x34, 0, 0x3, 8, 0, 0, 0\n" // variable
		".section .debug_info, \"\", @progbits\n"
		".Lunit: .long .Lend - .Lbegin\n.Lbegin: .value 4\n.long 0\n.byte 8\n"
		".uleb128 1\n.asciz \"prog.c\"\n.quad main, 6\n"
	$(sed 's/"/\\"/g; s/.*/"&\\n"/')
		".byte 0\n.Lend:\n.text\n");
	END
	cc -o "$TMPDIR/prog" "$TMPDIR/prog.c" || fail "cannot compile: $1"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/prog"
	timeout 60 "$FAULTLINE" analyze --accesses --spec "$TMPDIR/spec" "$TMPDIR/c" \
		>"$TMPDIR/out" 2>"$TMPDIR/err"
	[ $? != 124 ] || fail "no end: $1"
}
echo 'endless FIELD 2 EDGE 1; endless X; X[2] == NULL;' >"$TMPDIR/spec"

walks_through "each block's first child is its sibling, too" <<'END'
.rept 60
.uleb128 2
.long 1f - .Lunit
1:
.endr
.uleb128 6
.asciz "v"
.rept 61
.byte 0
.endr
END

walks_through "each namespace's first child is its sibling, too" <<'END'
.rept 300
.uleb128 3
.long 1f - .Lunit
1:
.endr
.uleb128 6
.asciz "v"
.rept 301
.byte 0
.endr
END

walks_through "structs of nothing but structs" <<'END'
.uleb128 4
.asciz "endless"
.byte 8
.rept 8
.uleb128 5
.asciz "m"
.long 1f - .Lunit
.byte 0
.endr
.byte 0
.rept 30
1:
.uleb128 4
.asciz "s"
.byte 8
.rept 8
.uleb128 5
.asciz "m"
.long 1f - .Lunit
.byte 0
.endr
.byte 0
.endr
1:
.uleb128 4
.asciz "s"
.byte 8
.byte 0
END
exit 0
