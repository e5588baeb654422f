#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 300
#
# A session with a program as Debian ships it: python3, of which ctypes overwrites a list's type; from the
# crash, much later, to the store, in three commands.
. tests/lib.sh
. tests/debug/lib.sh

need gdb /usr/bin/python3
cat >"$TMPDIR/crash.py" <<'PYTHON'
import ctypes
def spoil(x):
    ctypes.memset(id(x) + 8, 0x41, 8)
x = [1, 2, 3]
y = {"a": x}
spoil(x)
sum(i for i in range(1000))
print(len(repr(y)))
PYTHON
want_status=139 make_capture "$TMPDIR/c" /usr/bin/python3 -S -E "$TMPDIR/crash.py"
# The instruction that crashed reads through a register: which, differs from build to build.
gdb_on "$TMPDIR/c" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
# crash
continue
x/i \$pc
python
import re
bad = [r for r in GENERAL if int(gdb.parse_and_eval("\$" + r)) == 0x4141414141414141]
print("BAD", bad)
gdb.execute("origin \$" + bad[0])
gdb.execute("history \$%s, 1" % bad[0])
made = [h["position"] for h in Trail("r %s %d 8 %d" % (bad[0], gdb.selected_thread().ptid[1], here())).hops
        if h["to"][0] == "m"]
gdb.execute("seek %d" % made[0])
end
backtrace 1
GDB
says crash 'received signal SIGSEGV' "^BAD \['r" '= 0x4141414141414141:' 'copied by .*memset' '^position' '^#0 .*memset'
exit 0
