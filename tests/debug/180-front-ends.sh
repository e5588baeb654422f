#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 300
#
# A front end over gdb/MI; captures of several processes, and what `info proc' tells; a source that is
# newer than the program; a stripped program.
. tests/lib.sh
. tests/debug/lib.sh

need gdb python3 strip
want_status=139 make_capture "$TMPDIR/c" "$BUILD/tests/programs/debugged" crash
timeout 250 python3 tests/debug/mi.py "$FAULTLINE" "$TMPDIR/c" session >"$TMPDIR/out" 2>&1 || fail "MI: $(cat "$TMPDIR/out")"

"$FAULTLINE" record -f -o "$TMPDIR/f" -- sh -c 'ls / >/dev/null; (true) | cat; exit 3' >/dev/null 2>"$TMPDIR/err" ||
	[ $? = 3 ] || fail "$(cat "$TMPDIR/err")"
pid=$("$FAULTLINE" dump --processes "$TMPDIR/f" | awk '$5 == "ls" || $6 == "ls" { print $2 }')
gdb_on "$TMPDIR/f" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
# list
process
info proc
# child
process $pid
info proc
catch syscall exit_group
continue
reverse-stepi
# first
process 0
info proc
info proc mappings
# wrong
python
for wrong in ("process 77", "process x"):
	try:
		gdb.execute(wrong)
	except gdb.error as e:
		print(e)
end
GDB
says list "^ +1 +[0-9]+ .* ls /" "cmdline = 'sh -c "
says child "process $pid" "cmdline = 'ls /'" "exe = '.*/ls'" 'call to syscall .?exit_group'
says first "cmdline = 'sh -c " "r-xp.*sh\$"
says wrong 'there is no process 77' 'process takes a number'

# The source changes: gdb is told how old the program is.
cp "$SOURCE/tests/programs/decides.c" "$TMPDIR/decides.c"
(cd "$TMPDIR" && cc -g -O0 -o decides decides.c && cp decides stripped && strip stripped) || fail "cannot compile"
printf '0123456789the first line\n' >"$TMPDIR/input"
make_capture "$TMPDIR/old" "$TMPDIR/decides" "$TMPDIR/input"
make_capture "$TMPDIR/stripped.flt" "$TMPDIR/stripped" "$TMPDIR/input"
touch -d '+1 day' "$TMPDIR/decides.c"
gdb_on "$TMPDIR/old" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
# newer
tbreak main
continue
list
GDB
says newer 'Source file is more recent than executable'

# No symbols: addresses, registers, and libraries' functions.
gdb_on "$TMPDIR/stripped.flt" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
# stripped
tbreak read
continue
breakpoint malloc if arg 1 == 16
continue
x/i \$pc
origin \$rdi
last-write \$rdi
GDB
says stripped 'read' 'malloc' 'the constant 0x10' '\$rdi = (16|0x10) was written by'
exit 0
