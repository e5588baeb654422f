#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 300
#
# Where values come from: input bytes, constants, arithmetic, the program's own data, its arguments;
# of memory, registers, structures, ranges. What is looked at can be bounded.
. tests/lib.sh
. tests/debug/lib.sh

need gdb
line() {
	grep -n "/\* $1 \*/" "$SOURCE/tests/programs/decides.c" | cut -d: -f1
}
printf '0123456789the first line\n' >"$TMPDIR/input"
make_capture "$TMPDIR/c" "$BUILD/tests/programs/decides" "$TMPDIR/input"
C="decides.c:"

gdb_on "$TMPDIR/c" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
tbreak ${C}$(line LAST)
continue
# origins
origin pair
origin kept[8]
origin noted
origin table
origin argv[1][0]
# writes
history calls, 3
history pair, 2
history line[4]@3, 1
last-write pair
finish
# region
seek end
tbreak ${C}$(line LAST)
reverse-continue
instance ${C}$(line NOTED) 4
region end
instance ${C}$(line NOTED) 2
region begin
seek end
reverse-stepi
history noted
region delete
record ${C}$(line BYTE) on
record ${C}$(line TABLE) off
history pair.first
last-write picked
record off
# register
instance ${C}$(line TABLE) 1
reverse-stepi
last-write \$rax
history \$eax, 2
origin \$eax
x/i \$pc
# caller
tbreak ${C}$(line MADE)
reverse-continue
up
last-write \$rbp
# wrong
python
for wrong in ("origin", "origin 1 + 1", "last-write \$pc", "history nothing", "origin line", "region middle", "record x y z"):
	try:
		gdb.execute(wrong)
	except gdb.error as e:
		print(e)
end
GDB
says origins '^pair.first = 0x2a' 'copied by copy at .*decides.c:4' "the result 0x2a of .*twice at .*:$(line MADE)," \
	'^pair.second = 0x4' "the constant 0x4, copy at .*:$(line TABLE)|byte [0-9]+ of .*decides" \
	'^pair.tag\[0\] = 0x69' "copied by copy at .*:$(line TAG)," "copied by copy at .*:$(line BYTE)," \
	"byte 15 of .*input, by read\(3\)" '^pair.tag\[1\]' 'zero since the program began' \
	'^kept\[8\] = 0x69' 'byte 15 of .*input' '^noted = 0x2d' "the result 0x2d of .*note at .*:$(line NOTED)," \
	'^table\[0\]' 'byte [0-9]+ of .*decides' "^argv" "the program's arguments"
says writes ' 10  by note' ' 9  by note' ' 8  by note' 'second = 4.* by copy' 'first = 42.* by copy' \
	'"fir".* by the kernel|f.*i.*r.* by the kernel' 'pair = .*second = 4.* was written by copy'
says region 'from the beginning to position' 'from position [0-9]+ to position' '  3  by note' 'from the beginning to the end' \
	'looked at: from' 'looked at: from .*, up to' 'position [0-9]+ to' ' 42  by copy' 'nothing wrote picked before, in what is looked at'
[ "$(sed -n '/^# region/,/^# register/p' "$TMPDIR/gdb" | grep -c ' by note')" = 2 ] || fail "region: $(cat "$TMPDIR/gdb")"
says register 'rax = 42 was written by (twice|copy)' 'the result 0x2a|the constant' 
says caller 'rbp = .* was written by (copy|main)'
says wrong 'not in memory' 'not in memory' 'No symbol "nothing"' 'has [0-9]+ parts' 'region begin, region end' 'record takes'
exit 0
