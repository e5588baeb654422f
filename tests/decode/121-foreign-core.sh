#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A crash that others recorded: of perf.data and a core as the kernel dumps it `encode --flight
# --core` makes a capture, and recover finds in it what it finds in the one of the flight
# recorder. Cores that gdb made and the kernel are read, too.
. "$SOURCE/tests/lib.sh"
need gojq
need_bpf
cd "$TMPDIR" || exit 1
"${RECORD[@]}" --end-core -o whole -- "$BUILD/examples/list-O2" >/dev/null 2>record.err
[ -e whole/end.core ] || fail "no end.core: $(cat record.err)"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" whole
expect_status 0 "$FAULTLINE" encode -o perf.data whole
expect_status 0 "$FAULTLINE" encode --flight late whole
expect_status 0 "$BUILD/tests/decode/tool_foreign" whole made.core

# ---- what is recovered
expect_status 2 "$FAULTLINE" recover perf.data
expect_error "encode --flight"
expect_status 0 "$FAULTLINE" encode --flight foreign --core made.core perf.data
for dir in late foreign; do
	expect_status 0 "$FAULTLINE" recover --json --last 2000 "$dir"
	jq 'del(.seconds)' out >$dir.json
done
[ "$(jq .registers.known foreign.json)" -gt 1000 ] || fail "nothing: $(head -c 999 foreign.json)"
cmp late.json foreign.json || fail "recover of others' files says something else"
expect_status 0 "$FAULTLINE" recover foreign
grep -q 'ended in list_unique (list.c:' out || fail "not at the crash: $(tail -n 5 out)"
# The same below another root.
mkdir root && cp --parents $(jq -r '.files[].path' whole/manifest.json) root
expect_status 0 "$FAULTLINE" encode --flight rooted --core made.core --symfs root perf.data
expect_status 2 "$FAULTLINE" encode --flight none --core whole/files perf.data
expect_status 2 "$FAULTLINE" encode --flight none --core perf.data perf.data
expect_error "not an x86-64 ELF core"
[ ! -e none ] || fail "a capture of nothing"

# ---- a core of the kernel's own, and of gdb: of another process than the trace
cores=0
if command -v gdb >/dev/null; then
	sleep 60 &
	pid=$!
	gdb -p $pid -batch -ex "generate-core-file gdb.core" >gdb.out 2>&1
	kill $pid
fi
(ulimit -c unlimited && exec "$BUILD/examples/list-O2") >/dev/null 2>&1
for made in core core.[0-9]* gdb.core; do
	[ -e "$made" ] || continue
	expect_status 0 "$FAULTLINE" encode --flight "of-$made" --core "$made" perf.data
	expect_status 2 "$FAULTLINE" recover "of-$made"
	expect_error "nothing of thread"
	cores=$((cores + 1))
done
echo "result: $(jq .registers.known foreign.json) registers known, $cores cores of others"
