#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# gdb on a capture: from a crash back to what overwrote the link, breakpoints and steps in both
# directions, the two ends.
. tests/lib.sh
. tests/debug/lib.sh

need gdb
want_status=139 make_capture "$TMPDIR/c" "$BUILD/tests/programs/debugged" crash
sum=$(line_of SUM) fill=$(line_of FILL)

gdb_on "$TMPDIR/c" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
# crash
handle SIGUSR1 nostop noprint pass
continue
backtrace
p \$_siginfo.si_signo
info registers eflags
# culprit
watch -l head->next->next
reverse-continue
p i
reverse-continue
p i
backtrace
# over
python
while gdb.selected_frame().name() != "add":
	gdb.execute("reverse-continue")
end
p n->value
delete
# begin
break main
reverse-continue
delete
reverse-continue
# finish
tbreak sum
continue
finish
reverse-stepi
reverse-finish
# steps
tbreak fill
continue
next
step
reverse-step
reverse-next
reverse-stepi
# end
continue
continue
reverse-stepi
stepi
stepi
GDB

says crash "received signal SIGSEGV" "in sum \(\) at .*debugged.c:$sum" "^$sum" '^#1 .* in main' '= 11$' "\[ .*IF"
# Six bytes went too far, the last one at i = 13.
says culprit 'Hardware watchpoint .*: -location' 'in fill .*debugged.c' '= 13$' \
	'Hardware watchpoint' '= 12$' "^#0 .* fill .*:$fill" '^#1 .* main'
# A byte that was the same before is no change.
says over 'Hardware watchpoint' 'Old value = \(struct node \*\) 0x' 'New value = \(struct node \*\) 0x0' 'add \(value=3\)' '= 3$'
says begin 'Breakpoint .*, main' 'No more reverse-execution history' '_start'
says finish 'Temporary breakpoint .*, sum' 'in main' 'Value returned is .* = 10' 'sum' 'main'
says steps 'Temporary breakpoint .*, fill' "^$fill" "^$((fill - 1))|fill" 'main'
says end 'received signal SIGSEGV' 'the program ends here, by SIGSEGV' 'No more reverse-execution history' \
	"debugged.c|$sum|0x" 'received signal SIGSEGV'
