#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A specification instead of drawings: the patch makes all hold, in the source's main() and from a call
# in a capture, and compiled it does so on other calls; what holds is left alone.
. tests/lib.sh

need_bpf
need cc
need patch
spec=tests/repair/spec.spec

# mends NAME - repair --spec mends $TMPDIR/NAME.c, in general.
mends() {
	local c=$TMPDIR/$1.c
	shift
	"$FAULTLINE" repair "$@" --function take --spec $spec >"$TMPDIR/out" 2>"$TMPDIR/err" ||
		fail "$c: status $?: $(cat "$TMPDIR/out" "$TMPDIR/err")"
	grep -q '^repaired: .* the first of back (line 5)' "$TMPDIR/out" || fail "$c: $(cat "$TMPDIR/out")"
	sed -n '/^--- /,$p' "$TMPDIR/out" >"$TMPDIR/diff"
	cp "$c" "$TMPDIR/f.c"
	patch -s "$TMPDIR/f.c" "$TMPDIR/diff" || fail "$c: the difference does not apply"
	cat >"$TMPDIR/main.c" <<-C
		#define main original
		#include "$TMPDIR/f.c"
		#undef main
		int main(void)
		{
			for (int a = 0; a < 7; a++)
				for (int b = 0; b < 7; b++) {
					head = NULL;
					for (int i = 1; i < 6; i++)
						push(i);
					take(a);
					take(b);
					for (struct node *n = head; n != NULL; n = n->next)
						if (n->next != NULL && n->next->prev != n)
							return 1;
					if (head != NULL && head->prev != NULL)
						return 2;
				}
			return 0;
		}
	C
	cc -w -o "$TMPDIR/main" "$TMPDIR/main.c" || fail "$c: the patched file does not compile"
	"$TMPDIR/main" || fail "$c: the patch is not right: $(cat "$TMPDIR/diff")"
}

cp tests/repair/spec.c "$TMPDIR/changed.c"
mends changed --source "$TMPDIR/changed.c"
sed 's/after->prev = n;.*/;/' tests/repair/spec.c >"$TMPDIR/deleted.c"
mends deleted --source "$TMPDIR/deleted.c"
cc -g -o "$TMPDIR/changed" "$TMPDIR/changed.c" || fail "cannot compile"
"$FAULTLINE" record -o "$TMPDIR/c" -- "$TMPDIR/changed" >/dev/null 2>&1 || fail "cannot record"
mends changed "$TMPDIR/c" --call 1

sed 's/after->prev = n;/after->prev = before;/' tests/repair/spec.c >"$TMPDIR/right.c"
"$FAULTLINE" repair --source "$TMPDIR/right.c" --function take --spec $spec >"$TMPDIR/out" || fail "right"
grep -q '^nothing to repair: all holds behind 3 calls of take()$' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# could_not TEXT SPEC
could_not() {
	local got=0
	echo "$2" >"$TMPDIR/bad.spec"
	"$FAULTLINE" repair --source "$TMPDIR/changed.c" --function take --spec "$TMPDIR/bad.spec" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
	[ $got = 2 ] && grep -q "$1" "$TMPDIR/err" || fail "'$2': status $got: $(cat "$TMPDIR/err")"
}
could_not "no such struct" "link FIELD 3 EDGE 2; link X; X.next != X; ..(c)"
could_not "has mistakes" "node FIELD 3 EDGE 2; node X; X.nowhere != X; ..(c)"
could_not "declares roots" "node FIELD 3 EDGE 2; ROOT head; node X; X.next != X; ..(c)"
# What nothing small makes true is no repair.
got=0
echo "node FIELD 3 EDGE 2; node X; X.data == 77; ..(c)" >"$TMPDIR/never.spec"
"$FAULTLINE" repair --source "$TMPDIR/changed.c" --function take --spec "$TMPDIR/never.spec" >"$TMPDIR/out" || got=$?
[ $got = 1 ] && grep -Eq '^(no repair within reach|not known)' "$TMPDIR/out" || fail "status $got: $(cat "$TMPDIR/out")"
exit 0
