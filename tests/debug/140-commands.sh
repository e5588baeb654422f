#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The commands of the session's own: who wrote a value last, its values over time; beginning where
# analyze says that the faulty statement ran.
. tests/lib.sh
. tests/debug/lib.sh

need gdb
want_status=139 make_capture "$TMPDIR/c" "$BUILD/tests/programs/debugged" crash
fill=$(line_of FILL)

gdb_on "$TMPDIR/c" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
handle SIGUSR1 nostop noprint pass
continue
# history
history handled
history total, 2
history head->value
when
# last
last-write head->next->label
p i
last-write head->next->label
p i
# value
last-write head->value
p n->next
python
for nothing in ("\$pc", "1 + 1"):
	try:
		gdb.execute("last-write " + nothing)
	except gdb.error as e:
		print(e)
end
GDB
says history " 10  by on_signal at .*debugged.c:$(line_of HANDLER), thread" ' 9  by work at ' ' [78]  by work at ' \
	' 4  by add at ' ' 0  by .*calloc|^position' '^position'
says last "was written by fill at .*debugged.c:$fill, thread" "^$fill|fill" '= 7$' 'was written by fill' '= 6$'
says value 'head->value = 4 was written by add' '= \(struct node \*\) 0x' "is not in memory" "is not in memory"
[ "$(grep -c '  by work at ' "$TMPDIR/gdb")" = 2 ] || fail "more than two of total's"

want_status=139 make_capture "$TMPDIR/l" "$BUILD/examples/list-O0"
line=$("$FAULTLINE" analyze --json --spec examples/list/list.spec "$TMPDIR/l" 2>/dev/null | jq -r '.faults[0].line')
[ "$line" -gt 0 ] || fail "analyze names no line"
gdb_on --at-fault examples/list/list.spec "$TMPDIR/l" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
# at
backtrace
GDB
says at "list.c:$line"
echo 'broken' >"$TMPDIR/broken.spec"
expect_status 2 "$FAULTLINE" debug --listen - --at-fault "$TMPDIR/broken.spec" "$TMPDIR/l"
grep -q 'broken.spec:1' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
exit 0
