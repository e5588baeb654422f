#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Programs of Debian's, built from source. unzip 6.0 without Debian's patches: what an extra field says is
# its size is believed by who makes a block and not by who fills it (CVE-2014-9636); it ends as it means
# to, and with other blocks memcpy() is named. ncompress with the fault of its release 4.2.4 put in
# again: a name goes into a buffer of fixed size.
#
# time limit: 300
. tests/lib.sh

need gojq cc make
need_bpf
need apt-get
cache=$TMPDIR log=$TMPDIR/apt.log
. bench/real/source.sh
for name in unzip ncompress; do
	mkdir "$TMPDIR/$name.archive" "$TMPDIR/$name"
	fetch $name "$TMPDIR/$name.archive"
	tar xf "$TMPDIR/$name.archive"/*.orig.tar.* -C "$TMPDIR/$name" --strip-components 1 --no-same-owner
done

# little N BYTES - a number as zip files have them.
little() {
	local i
	for ((i = 0; i < $2; i++)); do
		printf "\\x$(printf %02x $(($1 >> 8 * i & 255)))"
	done
}
# entry EXTRA - the middle of a header, of an empty file "a" with so many bytes of extra fields.
entry() {
	little 10 2; little 0 6; little 33 2; little 0 12; little 1 2; little "$1" 2
}
# named KIND CAPTURE FILE LINE [OPTION] - that line is what is named.
named() {
	expect_status 1 "$FAULTLINE" suppress --json ${5:+"$5"} "$2"
	jq -e --arg file "$3" --argjson line "$4" \
		'.removed and .identified[0].line == $line and (.identified[0].file | endswith($file))' \
		"$TMPDIR/out" >/dev/null || fail "$1: not $3:$4: $(cat "$TMPDIR/out" "$TMPDIR/err")"
}

cd "$TMPDIR/unzip" || exit 1
make -f unix/Makefile unzip CC=cc LD=cc LF2= \
	CF="-O0 -g -w -I. -Ibzip2 -DUNIX -DNO_LCHMOD -DHAVE_TERMIOS_H" >make.log 2>&1 ||
	skip "this version of unzip does not build here: $(tail -n 1 make.log)"
line=$(grep -n 'memcpy((char \*)tgt, (char \*)G.inptr' extract.c | cut -d: -f1)
[ "$line" ] || skip "this version of unzip does not have the fault"
{
	printf 'PK\3\4'; entry 1038; printf a
	# A field of OS/2: 16 bytes, it says, stored, which are 1024.
	little 9 2; little 1034 2; little 16 4; little 0 6; printf '%1024s' ''
	printf 'PK\1\2'; little 10 2; entry 0; little 0 14; printf a
	printf 'PK\5\6'; little 0 4; little 1 2; little 1 2; little 47 4; little 1069 4; little 0 2
} >bad.zip
"${RECORD[@]}" -o ../unzip.flt -- ./unzip -t bad.zip >/dev/null 2>&1
cd - >/dev/null || exit 1
named unzip "$TMPDIR/unzip.flt" extract.c "$line" --reorder

cd "$TMPDIR/ncompress" || exit 1
sed -i 's/char\t*\*tempname;/char tempname[1024];/; s/tempname = malloc(namesize + 3);/;/; s/free(tempname);/;/' \
	compress42.c
line=$(grep -n 'strcpy(tempname,fileptr);' compress42.c | cut -d: -f1)
[ "$line" ] && grep -q 'char tempname\[1024\]' compress42.c ||
	skip "the fault does not fit this version of ncompress"
cc -O0 -g -w -fno-stack-protector -U_FORTIFY_SOURCE -o compress compress42.c 2>err ||
	skip "this version of ncompress does not build here: $(head -n 1 err)"
"${RECORD[@]}" -o ../ncompress.flt -- ./compress "$(printf '%1500s' '' | tr ' ' n)" >/dev/null 2>&1
[ $? -ge 128 ] || fail "compress does not crash"
cd - >/dev/null || exit 1
named ncompress "$TMPDIR/ncompress.flt" compress42.c "$line"
