#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline spec format` changes what a specification looks like and not what it says; what is
# formatted stays as it is; what has mistakes is left alone.
. tests/lib.sh
need gojq

meaning() {
	"$FAULTLINE" spec check --json "$1" |
		jq -c '[.statements, .errors, [.constraints[] | [.name, .variables]]]'
}

n=0
for spec in specs/*.spec examples/*/*.spec tests/specdsl/papers.spec \
	tests/specdsl/extensions.spec; do
	"$FAULTLINE" spec format "$spec" >"$TMPDIR/once.spec" || fail "cannot format $spec"
	[ -n "$(meaning "$spec")" ] || fail "cannot check $spec"
	[ "$(meaning "$spec")" = "$(meaning "$TMPDIR/once.spec")" ] ||
		fail "$spec says something else: $(cat "$TMPDIR/once.spec")"
	"$FAULTLINE" spec format "$TMPDIR/once.spec" | cmp - "$TMPDIR/once.spec" ||
		fail "$spec: formatting again changes it"
	[ "$(grep -o '#.*' "$spec" | tr -d ' \t' | sort)" = \
		"$(grep -o '#.*' "$TMPDIR/once.spec" | tr -d ' \t' | sort)" ] ||
		fail "$spec: comments differ: $(cat "$TMPDIR/once.spec")"
	n=$((n + 1))
done
[ $n -gt 20 ] || fail "only $n specifications"

cd "$TMPDIR" || exit 1
printf 'node   FIELD 2 EDGE 1 ;\n\n\n\nnode X ;node Y;..(a)   X[ 2 ]!=NULL=>( X[2] )==Y  ; // why\n' >a.spec
printf 'node AT  src/list.c:40,"my file.c":7;\nnode X; |X[1]-3|<= -2*X[1];' |
	sed 's/^node AT/node FIELD 2 EDGE 1 AT/' >b.spec
"$FAULTLINE" spec format --in-place a.spec b.spec || fail "--in-place"
printf 'node FIELD 2 EDGE 1;\n\nnode X; node Y; ..(a) X[2] != NULL => (X[2]) == Y; // why\n' |
	cmp - a.spec || fail "a.spec: $(cat a.spec)"
cat >want <<'END'
node FIELD 2 EDGE 1 AT src/list.c:40, "my file.c":7;
node X; |X[1] - 3| <= -2 * X[1];
END
cmp want b.spec || fail "b.spec: $(cat b.spec)"

echo 'node X; X == ;' >bad.spec
cp bad.spec was.spec
expect_status 1 "$FAULTLINE" spec format --in-place bad.spec
cmp bad.spec was.spec || fail "bad.spec was changed"
expect_status 2 "$FAULTLINE" spec format missing.spec
exit 0
