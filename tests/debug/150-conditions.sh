#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 300
#
# Conditions, and what is printed at a breakpoint, are evaluated by the stub: it stops where the
# condition holds, forward and back, in each thread.
. tests/lib.sh
. tests/debug/lib.sh

need gdb python3
make_capture "$TMPDIR/c" "$BUILD/tests/programs/passes"
line=$(grep -n '/\* PASS \*/' "$SOURCE/tests/programs/passes.c" | cut -d: -f1)

# A condition, and the same in Python: i runs from 0 to 4999 before there are threads.
cat >"$TMPDIR/conditions" <<'CONDITIONS'
i == 333 || i == 4900	i in (333, 4900)
p->u == 200 && p->s < -250	i & 255 == 200 and i > 250
p->bits == -3 && p->more == 5	signed(i, 5) == -3 and i & 7 == 5
p->l / 7 == 14265 || i == 4999	i * i // 7 == 14265 or i == 4999
-p->l % 1000 == -1 && i > 1	i * i % 1000 == 1 and i > 1
!(i ^ 290) || (i & 4095) == 4095	i == 290 or i & 4095 == 4095
i << 3 == 8000 || ~i == -1601	i in (1000, 1600)
(unsigned)-i < 4294963000u	-i & 0xffffffff < 4294963000
CONDITIONS
python3 - "$TMPDIR/conditions" "$line" "$TMPDIR/expected" >"$TMPDIR/in" <<'PYTHON'
import sys
def signed(i, bits):
    return (i & (1 << bits) - 1) - ((i >> bits - 1 & 1) << bits)
with open(sys.argv[3], "w") as expected:
    for text in open(sys.argv[1]):
        condition, truth = text.rstrip("\n").split("\t")
        first, second = [i for i in range(1, 5000) if eval(truth)][:2]
        print("\n".join(["seek start", "tbreak passes.c:" + sys.argv[2], "continue",
                         "break passes.c:%s if %s" % (sys.argv[2], condition)]))
        for move, i in (("continue", first), ("continue", second), ("reverse-continue", first)):
            print(move + '\nprintf "IS %d\\n", i')
            print("IS", i, file=expected)
        print("info breakpoints\ndelete")
PYTHON
gdb_on "$TMPDIR/c" <"$TMPDIR/in" || fail "gdb: $(cat "$TMPDIR/gdb")"
grep '^IS' "$TMPDIR/gdb" >"$TMPDIR/is"
cmp -s "$TMPDIR/is" "$TMPDIR/expected" ||
	fail "$(diff "$TMPDIR/expected" "$TMPDIR/is") $(cat "$TMPDIR/gdb")"
[ "$(wc -l <"$TMPDIR/is")" = 24 ] || fail "$(wc -l <"$TMPDIR/is") stops"
[ "$(grep -c 'target evals' "$TMPDIR/gdb")" = 8 ] || fail "gdb evaluates: $(cat "$TMPDIR/gdb")"

# In threads; printing by the stub, with and without a condition; what it cannot evaluate, gdb does.
gdb_on "$TMPDIR/c" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
break passes.c:$line if p->name[0] == 0x6f && i % 700 == 7
# threads
continue
printf "IN %d\\n", i
continue
printf "IN %d\\n", i
reverse-continue
printf "BACK %d\\n", i
delete
# print
seek start
tbreak main
continue
set dprintf-style agent
dprintf passes.c:$line,"at %d: %s, %4d, %lx\\n", i, p->name, p->c, p->l
condition \$bpnum i > 198 && i < 202
break work
continue
delete
reverse-continue
# host
seek start
tbreak main
continue
break passes.c:$line if \$_streq(p->name, "item") && i == 3
continue
p i
GDB
[ "$(grep '^IN ' "$TMPDIR/gdb" | sort | xargs)" = "IN 10507 IN 20307" ] || fail "$(cat "$TMPDIR/gdb")"
says threads "BACK $(grep -m 1 '^IN' "$TMPDIR/gdb" | cut -d' ' -f2)\$"
says print '^at 199: item,  -57, 9ab1' '^at 200: item,  -56, 9c40' '^at 201: item,  -55, 9dd1' "Breakpoint .*, work"
[ "$(grep -c '^at [0-9]*: item' "$TMPDIR/gdb")" = 3 ] || fail "printed otherwise: $(cat "$TMPDIR/gdb")"
says host 'Breakpoint .*i=3' '= 3$'
exit 0
