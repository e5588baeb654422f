#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Functions called and variables set from gdb: in a branch, of which nothing is left behind.
. tests/lib.sh
. tests/debug/lib.sh

need gdb
want_status=139 make_capture "$TMPDIR/c" "$BUILD/tests/programs/debugged" crash

gdb_on "$TMPDIR/c" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
handle SIGUSR1 nostop noprint pass
break fill
continue
# call
p sum()
p add(100)
p sum()
p (int)strcmp("abc", "abd")
p printf("%f %s\n", 2.5, "abc")
when
# condition
delete
seek start
break add if (int)strcmp("x", "x") == 0 && value == 3
continue
p value
delete
# fault
continue
set unwindonsignal on
python
try:
	gdb.execute("p sum()")
except gdb.error as e:
	print(e)
end
p \$_siginfo.si_signo
# set
tbreak fill
reverse-continue
set var size = 3
finish
p head->next->label
when
p \$xmm1.v2_int64[0] = 7
p \$xmm1.v2_int64[0]
tbreak main
reverse-continue
when
# true
tbreak fill
continue
p size
finish
p head->next->label
GDB

says call '^faultline: what you write, and functions that you call, belong to an altered run' \
	'= 10$' '= \(struct node \*\) 0x' '= 10$' '= -1$' '= 13$' '^position [0-9]+, instruction [0-9]+, event [0-9]+, [0-9.]+ s, thread [0-9]+$'
says condition 'Breakpoint .*, add \(value=3\)' '= 3$'
says fault 'received signal SIGSEGV' 'signaled while in a function called from GDB' '= 11$'
says set 'Temporary breakpoint .* fill' '"ABC' 'in an altered run' '= 7' '= 7' 'main' '^position .* thread [0-9]+$'
says true '= 14$' '"ABCDEFGH'
# What comes back to gdb is told once.
[ "$(grep -c 'belong to an altered run' "$TMPDIR/gdb")" = 1 ] || fail "$(cat "$TMPDIR/gdb")"
