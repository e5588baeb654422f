#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# start.core is a core that gdb opens: registers, memory, mapped files, vector registers.
. tests/lib.sh

need gdb readelf
make_capture "$TMPDIR/c" /bin/echo hello
gdb -nx -batch -ex 'info registers rip rsp' -ex 'x/i $pc' -ex 'p $xmm0' -ex bt \
	-ex 'info auxv' -ex 'info proc mappings' -ex 'x/s *(char **)($rsp + 16)' \
	/bin/echo "$TMPDIR/c/start.core" >"$TMPDIR/gdb" 2>&1
cat "$TMPDIR/gdb"
grep -qi "warning" "$TMPDIR/gdb" && fail "gdb warns"
grep -Eq '^rip +0x[0-9a-f]+' "$TMPDIR/gdb" || fail "no rip"
grep -Eq '^=> 0x[0-9a-f]+.*:.*mov' "$TMPDIR/gdb" || fail "no code at rip"
grep -q '"hello"' "$TMPDIR/gdb" || fail "argv[1] is not on the stack"
grep -q 'v4_float' "$TMPDIR/gdb" || fail "no vector registers"
grep -Eq '/(usr/)?bin/echo' "$TMPDIR/gdb" || fail "the program's file is not mapped"
grep -q AT_SYSINFO_EHDR "$TMPDIR/gdb" && fail "the program would find the vDSO"
readelf -n "$TMPDIR/c/start.core" | grep -q FAULTLINE || fail "no FAULTLINE note"

# The copies under files/ are the files themselves.
cmp "$(readlink -f /bin/echo)" "$TMPDIR"/c/files/"$(sed -n \
	's|.*"stored":[[:space:]]*"\(.*\)",|\1|p' "$TMPDIR/c/manifest.json" | head -n 1)"
