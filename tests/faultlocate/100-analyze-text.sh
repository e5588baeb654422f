#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What analyze tells people: constraint, nodes, statement, change, source line, picture.
. tests/lib.sh
need_bpf
want_status=0 make_capture "$TMPDIR/c" "$BUILD/examples/quad-O2"
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec examples/quad/quad.spec \
	--svg "$TMPDIR/broken.svg"
line=$(grep -n '/\* BUG \*/' examples/quad/quad.c | cut -d: -f1)
has() {
	grep -Eq -- "$1" "$TMPDIR/out" || fail "no '$1' in: $(cat "$TMPDIR/out")"
}
has 'all matched; exit status 0'
has '^  c3 \(examples/quad/quad.spec:[0-9]+\)$'
has '^      X -> Y => X.OUTDEGREE == 4;$'
has 'violated for X = n[0-9]+, Y = n[0-9]+'
has '^    n[0-9]+ qdtree at 0x[0-9a-f]+, [0-9]+ bytes, allocated at .*quad.c:[0-9]+ in '
has 'child\[0\] = NULL   child\[1\] = n[0-9]+'
has "^  1\\. .*quad.c:$line in split"
has 'child\[0\] = NULL; /\* BUG \*/'
has "n[0-9]+\\.child\\[0\\]: n[0-9]+ -> NULL at .*quad.c:$line in split"
grep -q $'\033' "$TMPDIR/out" && fail "colours without a terminal"
[ -s "$TMPDIR/err" ] && fail "talk on stderr: $(cat "$TMPDIR/err")"
if command -v dot >/dev/null; then
	grep -q '^<svg' "$TMPDIR/broken.svg" || fail "not an SVG"
	grep -q 'until (' "$TMPDIR/broken.svg" || fail "the former edge is not drawn"
	[ "$(ls "$TMPDIR"/broken.svg*)" = "$TMPDIR/broken.svg" ] || fail "something is left"
fi

# A pointer to freed memory is shown with where it was freed.
cat >"$TMPDIR/dangling.c" <<'END'
#include <stdlib.h>
struct item { int key; struct item *next; };
int main(void)
{
	struct item *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	a->next = b;
	free(b);
	return a->next == NULL;
}
END
cat >"$TMPDIR/dangling.spec" <<'END'
item FIELD 2 EDGE 1;
item X; X.next != NULL => (X.next).key == 0;
END
cc -g -w -o "$TMPDIR/dangling" "$TMPDIR/dangling.c" || fail "cannot compile"
want_status=0 make_capture "$TMPDIR/d" "$TMPDIR/dangling"
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/d" --spec "$TMPDIR/dangling.spec"
has 'next = n2 \(freed\)'
has '^      n2 was freed at .*dangling.c:7 in main \(time [0-9]+\)$'
has '^  1\. .*dangling.c:7 in main'

# Without dot: one clear message, nothing left.
mkdir "$TMPDIR/empty"
expect_status 2 env PATH="$TMPDIR/empty" "$FAULTLINE" analyze "$TMPDIR/c" \
	--spec examples/quad/quad.spec --svg "$TMPDIR/none.svg"
expect_error "cannot draw '.*none.svg': there is no program 'dot'.*graphviz"
ls "$TMPDIR"/none.svg* 2>/dev/null && fail "a picture that is none"

# A place that cannot be written.
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/c" --spec examples/quad/quad.spec \
	--svg "$TMPDIR/no/such/dir.svg"
expect_error "cannot write '.*dir.svg': No such file"
exit 0
