#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A capture of another vendor's processor (this one's, with the other name in its manifest):
# what is not the same on both is told, once, and nothing else is. An instruction that this
# CPU lacks is named, with what to do, and never executed.
. tests/lib.sh

need gcc gojq perl
cat >"$TMPDIR/a.c" <<'EOF'
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	float x = 3;
	double y;
	unsigned char flag = 0;
	unsigned product = 7;

	if (argc > 1) {
		for (int i = 0; i < 3; i++)
			asm volatile("rsqrtss %0, %0" : "+x"(x));
		asm volatile("fldpi; fsin; fstpl %0" : "=m"(y));
		asm volatile("mull %2; sete %0" : "=q"(flag), "+a"(product) : "r"(3) : "edx", "cc");
	}
	asm volatile(".byte 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x21, 0x43, 0x65, 0x07"); // a nop
	printf("%d %s\n", (int)(x * 0 + flag * 0), argv[argc - 1]);
	return 0;
}
EOF
gcc -O1 -o "$TMPDIR/a" "$TMPDIR/a.c" || fail gcc

# vendor DIR EBX EDX ECX - says leaf 0 of its processor.
vendor() {
	sed -i -E 's/"0\.0 ([0-9a-f]+) [^"]*"/"0.0 \1 '"$2 $3 $4"'"/' "$1/manifest.json"
}
other() {
	if grep -q GenuineIntel /proc/cpuinfo; then
		vendor "$1" 68747541 444d4163 69746e65 # AuthenticAMD
	else
		vendor "$1" 756e6547 6c65746e 49656e69 # GenuineIntel
	fi
}

for arg in '' x; do
	# shellcheck disable=SC2086 # nothing, or an argument
	make_capture "$TMPDIR/c" "$TMPDIR/a" $arg
	"$FAULTLINE" replay "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
	[ ! -s "$TMPDIR/err" ] || fail "said on this processor: $(cat "$TMPDIR/err")"
	other "$TMPDIR/c"
	"$FAULTLINE" replay "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
	grep -q 'all matched' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
	if [ -n "$arg" ]; then
		for what in 'rsqrtss ran; .* approximation (recorded on' 'fsin ran; .* last bits' \
			'mul ran, and setz at 0x[0-9a-f]* reads a flag'; do
			[ "$(grep -c "^faultline: note: $what" "$TMPDIR/err")" = 1 ] ||
				fail "not once: $what: $(cat "$TMPDIR/err")"
		done
		[ "$(wc -l <"$TMPDIR/err")" = 3 ] || fail "more than that: $(cat "$TMPDIR/err")"
	else
		[ ! -s "$TMPDIR/err" ] || fail "nothing differs: $(cat "$TMPDIR/err")"
	fi
	rm -r "$TMPDIR"/c "$TMPDIR"/c.*
done

# vpcmov, of AMD's Bulldozer alone, in the place of the nop.
make_capture "$TMPDIR/c" "$TMPDIR/a"
stored=$(jq -r --arg exe "$TMPDIR/a" '.files[] | select(.path == $exe) | .stored' "$TMPDIR/c/manifest.json")
chmod u+w "$TMPDIR/c/files/$stored"
perl -0777 -pi -e 's/\x66\x0f\x1f\x84\x00\x21\x43\x65\x07/\x8f\xe8\x78\xa2\xc1\x20\x90\x90\x90/ or die' \
	"$TMPDIR/c/files/$stored" || fail "where is the nop?"
expect_status 2 "$FAULTLINE" replay "$TMPDIR/c"
expect_error 'vpcmov is an instruction of XOP, which this CPU lacks; replay it on .*--portable \(recorded on '
expect_status 2 "$FAULTLINE" replay --json "$TMPDIR/c"
jq -e '.matched == false and (.divergence | test("vpcmov"))' "$TMPDIR/out" >"$TMPDIR/is" || fail "$(cat "$TMPDIR/out")"
exit 0
