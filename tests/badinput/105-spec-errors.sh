#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A spec with mistakes: each with file, line and a caret; at most 20; status 2.
. tests/lib.sh

make_capture "$TMPDIR/c" /bin/true
spec=$TMPDIR/bad.spec

expect_status 2 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/none.spec"
expect_error "none.spec"

expect_status 2 "$FAULTLINE" analyze --end-only "$TMPDIR/c"

cat >"$spec" <<"END"
node FIELD 2 EDGE 1;
node X; ..(c1)
X.next = = 3;
node Y; ..(c2)
Y.INDEGREE <= ;
END
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$spec"
for i in 3 5; do
	grep -Eq "bad\.spec:$i:[0-9]+: " "$TMPDIR/err" || {
		cat "$TMPDIR/err"
		fail "no message for line $i"
	}
done
grep -Eq "^[ |0-9]*\|[ ]*\^" "$TMPDIR/err" || fail "no caret: $(cat "$TMPDIR/err")"

# What the text alone does not tell: the types, once the program is known.
printf '%s\n' 'node FIELD 2 EDGE 1;' 'unknown Z; ..(c3)' 'Z.value == 1;' >"$spec"
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$spec"
grep -q 'bad\.spec:2:1: ' "$TMPDIR/err" || fail "an unknown type: $(cat "$TMPDIR/err")"

for i in $(seq 100); do
	echo "unknown$i X; ..(c$i)"
	echo "X.value == ;"
done >"$spec"
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$spec"
shown=$(grep -Ec "bad\.spec:[0-9]+:[0-9]+: " "$TMPDIR/err")
[ "$shown" -ge 2 ] && [ "$shown" -le 21 ] || fail "$shown messages shown"

head -c 3000 "$FAULTLINE" >"$spec"
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$spec"
