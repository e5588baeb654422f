#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline spec check`: the papers' examples pass, mistakes are shown with their place,
# and --binary compares with the program's structs.
. "$SOURCE/tests/lib.sh"

need "${CC:=cc}"

"$FAULTLINE" spec check "$SOURCE/tests/specdsl/papers.spec" >"$TMPDIR/out" 2>"$TMPDIR/err" ||
	fail "the papers' examples have mistakes: $(cat "$TMPDIR/err")"
grep -q "there is node Y" "$TMPDIR/out" || fail "no quantifier: $(cat "$TMPDIR/out")"

cd "$TMPDIR" || exit 1
cat >prog.c <<'END'
#include <stdlib.h>
struct point { int x, y; };
struct quad { int w; struct point at; struct point *data; struct quad *child[4]; };
int main(void)
{
	struct quad *q = calloc(1, sizeof(*q));
	q->child[3] = q;
	return q->at.x;
}
END
"$CC" -g -o prog prog.c || fail "cannot compile"

cat >good.spec <<'END'
quad FIELD 8 EDGE 5;
quad X, Y; X -> Y and X.at.x == 0 => X.child[3] == Y and Y.data == NULL;
END
"$FAULTLINE" spec check good.spec --binary prog >out 2>err || fail "good.spec: $(cat err)"

echo 'quab FIELD 1 EDGE 0; quab X; X[1] == 0;' >other.spec
"$FAULTLINE" spec check other.spec --binary prog >out 2>err || fail "other.spec: $(cat err)"
grep -q "^faultline: note: prog has no struct 'quab' (did you mean 'quad'?)" err || fail "nothing about quab: $(cat err)"

cat >bad.spec <<'END'
quad FIELD 9 EDGE 5;
quad X; X.at.z == 3;
quad X; X.child[4] == NULL;
quad X; X.dta == NULL;
quad X; X.w[2] == 1;
END
"$FAULTLINE" spec check bad.spec --binary prog >out 2>err
[ $? = 1 ] || fail "bad.spec: not exit 1"
for want in "bad.spec:1:12: error: FIELD 9, but struct quad has 8 fields" \
	"write 'quad FIELD 8 EDGE 5;'" "bad.spec:2:9: error: 'quad' has no field" \
	"bad.spec:3:9: error: 'quad' has no field or attribute 'child\[4\]'" \
	"bad.spec:4:9: .* 'dta'" "did you mean 'data'" \
	"bad.spec:5:9: error: field 'w' of 'quad' has 4 bytes and is no pointer" \
	"its pointers are data, child\[0\]"; do
	grep -q "$want" err || fail "no '$want' in: $(cat err)"
done

"$FAULTLINE" spec check --json bad.spec >out || [ $? = 1 ] || fail "--json: status"
"$FAULTLINE" spec check missing.spec 2>err
[ $? = 2 ] || fail "missing.spec: not exit 2"
grep -q "^faultline: cannot open specification 'missing.spec': No such file" err ||
	fail "missing.spec: $(cat err)"
"$FAULTLINE" spec check good.spec --binary missing 2>err
[ $? = 2 ] || fail "a missing program: not exit 2"
grep -q "^faultline: cannot read 'missing': No such file" err ||
	fail "a missing program: $(cat err)"

# C++: what base classes have, templates, a class within another.
cat >classes.cc <<'END'
struct base { base *next; virtual ~base() {} };
template <class T, class U> struct pair_of : base { T a; U *b; };
struct outer { struct inner { int k; inner *down; }; inner *top; };
int main()
{
	pair_of<int, char> p;
	outer o = { new outer::inner };
	return p.a == 0 && o.top->k;
}
END
"${CXX:=c++}" -g -o classes classes.cc || fail "cannot compile C++"
cat >classes.spec <<'END'
"pair_of<int, char>" FIELD 4 EDGE 3;
"pair_of<int, char>" X, Y; (X.next) == Y => X.b == NULL and X[4] == 0;
inner FIELD 2 EDGE 1;
END
"$FAULTLINE" spec check classes.spec --binary classes >out 2>err || fail "C++: $(cat err)"
"$FAULTLINE" spec format classes.spec | cmp - classes.spec || fail "C++: format"
exit 0
