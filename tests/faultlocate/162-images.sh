#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program that was started by others, or became another one: analyze is about the process, and the
# image, that is meant, says which, and exits with 2 when nothing of it is left.
. tests/lib.sh

spec=examples/quad/quad.spec
line=$(grep -n '/\* BUG \*/' examples/quad/quad.c | cut -d: -f1)

finds_it() { # capture
	expect_status 1 "$FAULTLINE" analyze --spec "$spec" "$1"
	grep -Eq "quad.c:$line in split" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
}

# The last image of the process, with -f and without.
make_capture "$TMPDIR/last" sh -c "exec '$BUILD/examples/quad-O2'"
finds_it "$TMPDIR/last"
make_followed "$TMPDIR/followed" sh -c "exec '$BUILD/examples/quad-O2'"
finds_it "$TMPDIR/followed"

# The process whose program has the types, though another one crashed.
want_status=0
make_followed "$TMPDIR/types" sh -c "sh -c 'kill -SEGV \$\$'; '$BUILD/examples/quad-O2'; true"
finds_it "$TMPDIR/types"
grep -Eq "^faultline: note: the capture holds 2 more processes: this is number 2, .*quad-O2, whose program has" \
	"$TMPDIR/err" || fail "nothing says which process it is: $(cat "$TMPDIR/err")"

# Without a specification it is the one that a signal ended.
expect_status 0 "$FAULTLINE" analyze --accesses "$TMPDIR/types"
grep -Eq "^faultline: note: .* this is number 1, .*which a signal ended; choose with --process$" "$TMPDIR/err" ||
	fail "$(cat "$TMPDIR/err")"
grep -q "SIGSEGV, sent to the program" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# What was meant is gone.
make_capture "$TMPDIR/gone" sh -c "exec true"
expect_status 2 "$FAULTLINE" analyze --spec "$spec" "$TMPDIR/gone"
expect_error "nothing is left: the process executed .*/true"

# Its types may be unknown to what the process executed.
cat >"$TMPDIR/before.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
struct before {
	struct before *next;
};
int main(void)
{
	struct before *b = malloc(sizeof(*b));
	b->next = b;
	free(b);
	execl("/bin/true", "true", (char *)0);
	return 1;
}
END
cc -g -o "$TMPDIR/before" "$TMPDIR/before.c" || fail "cannot compile"
echo 'before X; X.next == X;' >"$TMPDIR/before.spec"
make_followed "$TMPDIR/spent" "$TMPDIR/before"
expect_status 2 "$FAULTLINE" analyze --spec "$TMPDIR/before.spec" "$TMPDIR/spent"
expect_error "the process executed .*/true, and the capture begins there"
