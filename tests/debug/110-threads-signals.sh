#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Threads with their names and own variables, signals and calls, both ways; seeking.
. tests/lib.sh
. tests/debug/lib.sh

need gdb
make_capture "$TMPDIR/c" "$BUILD/tests/programs/debugged"
work=$(line_of WORK) handler=$(line_of HANDLER)

gdb_on "$TMPDIR/c" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
break $work
# one
continue
info threads
p mine
p total
p \$_siginfo.si_signo
# all
continue
continue
continue
continue
continue
p total
# back
reverse-continue
p total
# single
reverse-continue
reverse-continue
when
continue 2
reverse-continue 2
when
delete
# signal
continue
p \$_siginfo.si_signo
p handled
backtrace 1
# handler
tbreak on_signal
continue
next
p handled
backtrace
# before
reverse-continue
reverse-stepi
backtrace 1
# calls
handle SIGUSR1 nostop noprint
catch syscall write
seek start
continue
info threads
continue
p \$rax
reverse-continue
# seek
delete
seek end
when
seek event 3
when
seek 100
when
seek nowhere
seek time 0
# reverse
seek end
reverse-stepi 3
GDB

says one "hit Breakpoint 1, work \(arg=0x[12]\)" '"debugged"' '^\* .* "worker-[12]" .*work' '= 0$' '= [12]$' '= 5$'
says all 'Breakpoint' 'Breakpoint' 'Breakpoint' 'Breakpoint' 'Breakpoint' '= 9$'
says back 'Breakpoint 1, work' '= [78]$'
# Continuing with a count is as many times without.
[ "$(sed -n '/^# single/,/^# signal/s/^position //p' "$TMPDIR/gdb" | uniq -c | awk '{ print $1 }')" = 2 ] ||
	fail "a count is not as many: $(cat "$TMPDIR/gdb")"
says signal 'received signal SIGUSR1' '= 10$' '= 0$' '^#0 .*kill'
says handler 'Temporary breakpoint .*, on_signal \(signo=10\)' '= 10$' '^#0 .*on_signal' '^#1 +<signal handler called>' ' in main'
says before 'received signal SIGUSR1' '^#0 .*kill'
# What the workers call, others may call in between.
says calls 'call to syscall .?write' '"debugged"' 'returned from syscall .?write' '= 7' 'call to syscall .?write'
says seek 'stopped' 'exit' 'position' ' event 3,' '^position 100, instruction 100,' 'cannot seek: .nowhere. is no place' '^position [0-9]{1,4},'
says reverse 'stopped|exit'
grep -q 'worker-1' "$TMPDIR/gdb" && grep -q 'worker-2' "$TMPDIR/gdb" || fail "not both names"

# A signal that an instruction makes comes where that is, and is met going back.
make_capture "$TMPDIR/f" "$BUILD/tests/programs/faults" 2
gdb_on "$TMPDIR/f" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
# fault
continue
x/i \$pc
p \$_siginfo.si_signo
continue
continue
continue
# faultback
reverse-continue
reverse-continue
x/i \$pc
GDB
says fault 'received signal SIGILL' 'faulty>:.*ud2' '= 4' 'received signal SIGILL' 'exits here'
says faultback 'received signal SIGILL' 'in main' 'received signal SIGILL' 'faulty\+2>:.*ud2'

# Threads' variables of a program without libraries.
cc -g -O0 -static -o "$TMPDIR/static" tests/programs/debugged.c || fail "cannot compile"
make_capture "$TMPDIR/s" "$TMPDIR/static"
gdb_on "$TMPDIR/s" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
break $work
# static
continue
p mine
next
p mine
GDB
says static 'Breakpoint 1, work' '= 0$' '= [12]$'
