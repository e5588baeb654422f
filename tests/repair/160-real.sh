#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A session on a program of Debian's, built from its source with a fault in it: cJSON's items are doubly
# linked, and what takes one out leaves a pointer behind that leads to it. Drawn at the first call in a
# capture, the patch makes the file again what Debian ships; and the recorded program, which crashed, goes on
# with it to its end.
. tests/lib.sh

need_bpf
need cc
need patch
need apt-get
cache=$TMPDIR log=$TMPDIR/apt.log
. bench/real/source.sh
mkdir "$TMPDIR/archive" "$TMPDIR/right" "$TMPDIR/bad"
fetch cjson "$TMPDIR/archive"
tar xf "$TMPDIR"/archive/*.orig.tar.* -C "$TMPDIR/right" --strip-components 1 --no-same-owner
cd "$TMPDIR/bad" || exit 1
cp ../right/cJSON.[ch] .
sed -i 's/item->next->prev = item->prev;/item->next->prev = item;/' cJSON.c
! cmp -s cJSON.c ../right/cJSON.c || skip "the fault does not fit this version of cjson"

cat >main.c <<'C'
#include "cJSON.h"

int main(void)
{
	cJSON *list = cJSON_CreateArray(), *n;
	int left = 0;

	for (int i = 1; i < 5; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(i));
	for (int i = 0; i < 2; i++)
		cJSON_Delete(cJSON_DetachItemViaPointer(list, list->child->next));
	for (n = list->child; n != NULL; n = n->next)
		left = 10 * left + n->valueint;
	return left;
}
C
cc -g -o main main.c cJSON.c -lm 2>err || fail "$(cat err)"
"$FAULTLINE" record -o c.flt -- ./main >rec 2>&1
line=$(grep -n 'item->next->prev = item;' cJSON.c | cut -d: -f1)
clear=$(grep -n "^    item->prev = NULL;" cJSON.c | head -n 1 | cut -d: -f1)
printf '%s\n' "repair start" "until $clear" "change n4->prev n3" spec repair rewrite continue >commands
"$FAULTLINE" repair c.flt --function cJSON_DetachItemViaPointer --call 1 --commands commands >out 2>err ||
	fail "status $?: $(cat out err)"
grep -q "^line $line: .item->next->prev = item->prev' instead of .item->next->prev = item'$" out ||
	fail "the patch: $(cat out)"
grep -q '^with the patch the program exits with 14; recorded, it ends by signal 11$' out ||
	fail "the machine: $(cat out)"
sed -n '/^--- /,/^>/p' out | grep -v '^>' >diff
patch -s cJSON.c diff && cmp cJSON.c ../right/cJSON.c || fail "it is not the file that it was: $(cat diff)"
exit 0
