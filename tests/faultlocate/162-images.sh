#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program that was started by others, or became another one: analyze is about the process, and the
# program, that is meant, and says which.
. tests/lib.sh
need cc

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

# What a program did before it executed another one: by its types, or by its number; with -f and
# without.
make_capture "$TMPDIR/other" sh -c "exec true"
expect_status 2 "$FAULTLINE" analyze --spec "$spec" "$TMPDIR/other"
expect_error "nothing was checked"

cat >"$TMPDIR/before.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct before {
	struct before *next;
};
static void become(void)
{
	execl("/bin/true", "true", (char *)0);
	_exit(1);
}
static void report(int signo)
{
	(void)signo;
	become();
}
static volatile unsigned long turns;
static void *turn(void *arg)
{
	while (!arg || turns < 10)
		turns++;
	if (arg)
		become();
	return NULL;
}
static void *sleep_on(void *arg)
{
	pause();
	return arg;
}
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct before *b = malloc(sizeof(*b)), *kept = b;
	pthread_t a, z;

	b->next = b;
	if (strchr(how, 'b'))
		b->next = NULL; /* BUG */
	if (strchr(how, 'c')) {
		signal(SIGSEGV, report);
		b = b->next;
		b->next = b; /* CRASH */
	}
	if (strchr(how, 's'))
		pthread_create(&a, NULL, sleep_on, NULL);
	if (strchr(how, 't'))
		pthread_create(&a, NULL, turn, NULL);
	if (strchr(how, 'o')) {
		pthread_create(&z, NULL, turn, &a);
		pthread_join(z, NULL);
	}
	while (strchr(how, 't') && turns < 1000)
		;
	(void)kept;
	become();
}
END
cc -g -pthread -o "$TMPDIR/before" "$TMPDIR/before.c" || fail "cannot compile"
echo 'before X; X.next == X;' >"$TMPDIR/before.spec"
line() {
	grep -n "/\* $1 \*/" "$TMPDIR/before.c" | cut -d: -f1
}

make_capture "$TMPDIR/right" "$TMPDIR/before"
expect_status 0 "$FAULTLINE" analyze --spec "$TMPDIR/before.spec" "$TMPDIR/right"
grep -q "^faultline: note: the capture holds what the process was before: this is number 1, .*/before, whose program has" \
	"$TMPDIR/err" || fail "nothing says which history it is: $(cat "$TMPDIR/err")"
for record in make_capture make_followed; do
	"$record" "$TMPDIR/$record" sh -c "exec '$TMPDIR/before' b"
	expect_status 1 "$FAULTLINE" analyze --spec "$TMPDIR/before.spec" "$TMPDIR/$record"
	grep -q "before.c:$(line BUG) in main" "$TMPDIR/out" || fail "$record: $(cat "$TMPDIR/out")"
	grep -q "all matched; it executed another program$" "$TMPDIR/out" ||
		fail "$record: $(cat "$TMPDIR/out")"
	expect_status 0 "$FAULTLINE" replay "$TMPDIR/$record"
	[ "$(grep -c "all matched" "$TMPDIR/out")" = 3 ] || fail "$record: $(cat "$TMPDIR/out")"
done

# Its handler of a crash became a reporter.
make_capture "$TMPDIR/crash" "$TMPDIR/before" bc
expect_status 1 "$FAULTLINE" analyze --spec "$TMPDIR/before.spec" "$TMPDIR/crash"
grep -q "before.c:$(line BUG) in main" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
expect_status 0 "$FAULTLINE" slice "$TMPDIR/crash" --process 1 --at "before.c:$(line CRASH)"
grep -q "before.c:$(line BUG) " "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# Threads that an exec ends, of the first and of another one.
for how in s t so to sto; do
	make_capture "$TMPDIR/$how" "$TMPDIR/before" "$how"
	expect_status 0 "$FAULTLINE" replay "$TMPDIR/$how"
	[ "$(grep -c "all matched" "$TMPDIR/out")" = 2 ] || fail "$how: $(cat "$TMPDIR/out")"
done

# Nothing of it stays where the run is not kept.
expect_status 0 "${RECORD[@]}" --until-fail=2 -o "$TMPDIR/passed" -- sh -c "exec true"
[ ! -e "$TMPDIR/passed" ] || fail "left: $(find "$TMPDIR/passed")"
