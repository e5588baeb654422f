#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 300
#
# Slices in gdb: made, walked along both ways, pruned, kept in files; breakpoints at their entries.
. tests/lib.sh
. tests/debug/lib.sh

need gdb
need gojq
# refused COMMAND... - what gdb says to commands that cannot be done
refused() {
	for wrong; do
		printf 'python\ntry:\n\tgdb.execute("%s")\nexcept gdb.error as e:\n\tprint("refused:", e)\nend\n' "$wrong"
	done
}
capture=$TMPDIR/c
"$FAULTLINE" record -o "$capture" -- "$BUILD/tests/programs/debugged" crash >/dev/null 2>&1
C=debugged.c:
FILL=$(line_of FILL) SUM=$(line_of SUM)

gdb_on "$capture" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
handle SIGUSR1 nostop noprint
$(refused "slice step" "slice $C$FILL")
continue
# crash
slice
# all
python
import re
entries = int(re.search(r"1  here: (\\d+) entries", gdb.execute("info slices", to_string=True)).group(1))
whole = "".join(gdb.execute("slice show 1 %d" % at, to_string=True) for at in range(1, entries + 1, 20))
print(whole)
end
# along
slice reverse-step
slice reverse-step
slice step
# over
slice reverse-next
slice reverse-next
slice reverse-next
slice reverse-next
slice reverse-next
slice reverse-next
slice next
# instance
seek end
slice $C$FILL 3 size
slice show 2 1
info slices
# break
python
numbers = re.findall(r"^#(\d+)  fill at [^ ]*:$FILL,", whole, re.M)
print("fills:", len(numbers))
gdb.execute("sbreak 1 %s,%s" % (numbers[1], numbers[2]))
end
reverse-continue
p i
reverse-continue
p i
continue
p i
continue
sdelete 1
info breakpoints
info slices
# prune
slice
prune 3 head
prune 3 main
slice save 3 $TMPDIR/saved
# complete
complete slice re
complete sbreak 
# refused
$(refused "slice show 9" "sbreak 3 0" "sdelete" "prune 3" "prune 3 nothing_so_called" "slice $C$SUM 99" \
	"slice ." "slice load $TMPDIR/gdb" "slice save 3 $TMPDIR/saved" "sdelete 7")
monitor slice
monitor slice x:1:2
monitor slice i:99999999999
GDB
says crash "^slice 1 of here: [0-9]+ entries at [0-9]+ statements$"
says all "^#1  .* -> #[0-9]+ .* due to" \
	"fill at .*$C$FILL, position [0-9]+ -> #[0-9]+ .*$C[0-9]+ due to Memory" \
	"sum at .*$C$SUM, position [0-9]+$"
says along "sum at .*$C$SUM, position" "sum at .*$C$((SUM - 1)), position .* due to Control" \
	"sum at .*$C$SUM, position"
# The fill, which main() called, is passed over both ways.
says over "sum at .*$C$((SUM - 4)), position" "main at .*due to Control" "main at .*$C[0-9]+, position .* ->.*$C$((FILL - 1))" \
	"main at .*, position .* ->.*$C$((SUM - 1))"
! sed -n '/^# over/,/^# instance/p' "$TMPDIR/gdb" | grep "1, #.*fill at" || fail "fill() was not passed over"
says instance "^slice 2 of size at .*$C$FILL, instance 3: [0-9]+ entries at" "^  1  here: " \
	"^  2  size at .*, instance 3: "
# The link takes 6 of the 14 bytes; entries 2 and 3 of these are places 1 and 2 of it.
says break "fills: 6" "it stops at 2 entries, at 1 places" "Breakpoint .*$C$FILL" "= 10$" "Breakpoint" \
	"= 9$" "Breakpoint" "= 10$" "SIGSEGV" "^No breakpoints" "^  2  size"
says prune "^slice 3 of here: " "^slice 3 of here: .*, without head; there were" "without head, main; there were"
says complete "^slice reverse-next$" "^sbreak 2$" "^sbreak all$"
says refused "refused: there is no slice 9" "refused: slice 3 has entries 1 to [0-9]+, not 0" \
	"refused: sdelete takes" "refused: prune takes" "refused: nothing_so_called" "refused: cannot seek" \
	"refused: slice \. takes" "refused: .* is no slice that" "refused: cannot write .*File exists" \
	"refused: there is no slice 7" "^cannot tell: a slice of nothing" "^cannot tell: 'x:1:2' is nothing" \
	"^cannot tell: position 99999999999 is behind"
grep -q "^refused: there is no slice yet" "$TMPDIR/gdb" || fail "before the first: $(cat "$TMPDIR/gdb")"
grep -q "^refused: .*has not been executed yet" "$TMPDIR/gdb" || fail "not executed: $(cat "$TMPDIR/gdb")"

# The same lines as `faultline slice' has.
sed -n '/^# all$/,/^# along/p' "$TMPDIR/gdb" | sed -n 's/^#[0-9]* .* at .*debugged\.c:\([0-9]*\), position.*/\1/p' |
	sort -un >"$TMPDIR/lines.gdb"
"$FAULTLINE" slice "$capture" --all --json | jq -r '.statements[].place | select(. != null)' |
	grep -o 'debugged\.c:[0-9]*' | cut -d: -f2 | sort -un >"$TMPDIR/lines"
[ -s "$TMPDIR/lines" ] || fail "faultline slice has no lines"
diff "$TMPDIR/lines" "$TMPDIR/lines.gdb" || fail "not the lines of faultline slice: $(cat "$TMPDIR/gdb")"

# A file is good in another session, of this capture.
printf '{"faultline-slice":1,"run":1,"process":1,"of":"x","seeds":["crash"],"prunes":[],"without":[],"entries":[]}' \
	>"$TMPDIR/other"
printf '{"run":1,"process":1,"of":"x","seeds":["crash 1"],"prunes":[],"without":[],"entries":[]}' >"$TMPDIR/odd"
gdb_on "$capture" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
handle SIGUSR1 nostop noprint
# load
slice load $TMPDIR/saved
slice step
$(refused "slice load $TMPDIR/other" "slice load $TMPDIR/odd" "slice load $TMPDIR/none")
GDB
says load "^slice 1 of here: .*, without head, main" "^slice 1, #1  " "refused: .* is of another capture" \
	"refused: .* is no slice that" "refused: cannot read .*No such file"
