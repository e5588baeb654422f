#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Processes that a program makes are events for gdb: caught, left alone, or followed, also through
# exec(); of a child that was not recorded that is said.
. tests/lib.sh
. tests/debug/lib.sh

need gdb
cat >"$TMPDIR/makes.c" <<'C'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
int counter;
static int child(void) { counter += 40; return counter; }
static void between(void) { counter += 2; }
static void after(void) { counter += 3; }
static void *thread(void *arg) { return arg; }
int main(int argc, char **argv)
{
	pthread_t t;
	if (argc > 1) {
		counter = 7;
		after();
		return 3;
	}
	if (!fork())
		_exit(child());
	wait(NULL);
	pthread_create(&t, NULL, thread, NULL); // a thread is no process
	pthread_join(t, NULL);
	between();
	if (!vfork()) {
		execl(argv[0], argv[0], "again", (char *)0);
		_exit(9);
	}
	wait(NULL);
	after();
	return 0;
}
C
cc -g -O0 -o "$TMPDIR/makes" "$TMPDIR/makes.c" || fail "cannot compile"
expect_status 0 "$FAULTLINE" record -f -o "$TMPDIR/c" -- "$TMPDIR/makes"
expect_status 0 "$FAULTLINE" record -o "$TMPDIR/alone" -- "$TMPDIR/makes"

gdb_on "$TMPDIR/c" <<'END'
break between
break after
catch fork
catch vfork
# fork
continue
# between
continue
# vfork
continue
# after
continue
print counter
# back
reverse-continue
print counter
# again
continue
# child
reverse-continue
reverse-continue
delete
set follow-fork-mode child
break child
continue
backtrace
finish
print counter
info inferiors
# end
continue
END
says fork 'Catchpoint 3 \(forked process'
says between 'Breakpoint 1, between'
says vfork 'Catchpoint 4 \(vforked process'
says after 'Breakpoint 2, after' '= 2$'
says back 'Breakpoint 1, between' '= 0$'
says again 'Catchpoint 4 \(vforked process'
says child 'Detaching after fork from parent' 'hit Breakpoint 5, child' '#1 .* main ' '= 40$' '^\* 2'
says end 'the program exits here, with status 40'

gdb_on "$TMPDIR/c" <<'END'
break between
continue
set follow-fork-mode child
break after
catch exec
# exec
continue
# after
continue
print counter
reverse-continue
END
says exec 'is executing new program: .*/makes' 'hit Catchpoint 3 \(exec.d .*/makes'
says after 'Breakpoint 2.*, after' '= 7$' 'No more reverse-execution history'

gdb_on "$TMPDIR/alone" <<'END'
set follow-fork-mode child
continue
END
grep -q 'cannot follow the child: .*record -f' "$TMPDIR/gdb" || fail "nothing is said: $(cat "$TMPDIR/gdb")"
exit 0
