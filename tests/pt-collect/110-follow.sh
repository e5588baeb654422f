#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -f: each process has a history of its own, whichever way it came to be, and runs as
# it would by itself. Without -f children are not even traced, from their beginning on.
. tests/lib.sh

forks=$BUILD/tests/programs/forks
"$forks" ways >"$TMPDIR/want" || fail "the program does not work by itself"
make_followed "$TMPDIR/c" "$forks" ways
cmp "$TMPDIR/want" "$TMPDIR/c.out" || fail "the program ran differently"
all_match "$TMPDIR/c"
# The program and 9 others, two of which only ever ran in its memory.
processes "$TMPDIR/c" >"$TMPDIR/tree"
cat "$TMPDIR/tree"
[ "$(wc -l <"$TMPDIR/tree")" = 10 ] || fail "not 10 processes"
[ "$n_matched" = 8 ] || fail "$n_matched histories, not 8"
[ "$(grep -c 'executed no program' "$TMPDIR/tree")" = 2 ] || fail "vfork's children"
for end in "exit 4 .*sh -c exit 4" "exit 127 .*no program" "exit 6 .*no program" "signal 11" \
	"signal 9"; do
	grep -q "$end" "$TMPDIR/tree" || fail "no process with $end"
done
# The orphan's parent is the one in the middle of the double fork.
grep -A1 'exit 3 ' "$TMPDIR/tree" | tail -n 1 | grep -Eq 'exit 0 {9}[^ ]' ||
	fail "the orphan is not below its parent"
"$FAULTLINE" dump --processes --json "$TMPDIR/c" >"$TMPDIR/json"
grep -Eq '"process":[0-9]+,"parent":0,"created":"vfork",.*"argv":\["sh","-c","exit 4"\]' \
	"$TMPDIR/json" || fail "dump --processes --json: $(cat "$TMPDIR/json")"
[ "$(wc -l <"$TMPDIR/json")" = 10 ] || fail "not an object a process"

# One of them, by number and by process id; the program's own output.
pid=$(awk '/exit 16/ { print $2 }' "$TMPDIR/tree")
number=$(awk '/exit 16/ { print $1 }' "$TMPDIR/tree")
expect_status 0 "$FAULTLINE" replay --process "$pid" "$TMPDIR/c"
grep -q "all matched" "$TMPDIR/out" || fail "one process: $(cat "$TMPDIR/out")"
"$FAULTLINE" dump --process "$number" "$TMPDIR/c" >"$TMPDIR/out" || fail "dump one"
grep -q "^version.*pid $pid," "$TMPDIR/out" || fail "dump of another: $(head -n 1 "$TMPDIR/out")"
grep -q " CPUID " "$TMPDIR/out" || fail "the child's cpuid is not recorded"
grep -q " TSC " "$TMPDIR/out" || fail "the child's rdtsc is not recorded"
"$FAULTLINE" replay --stdout "$TMPDIR/c" 2>/dev/null | cmp - "$TMPDIR/c.out" ||
	fail "--stdout is not the program's"
for which in 99 x1 ""; do
	expect_status 2 "$FAULTLINE" replay --process "$which" "$TMPDIR/c"
	expect_error "'?$which'? .*process|process '?$which"
done
expect_status 2 "$FAULTLINE" analyze --process 99 --spec examples/list/list.spec "$TMPDIR/c"
expect_error "no process 99"

# Files are kept once.
[ "$(find "$TMPDIR/c" -name files | wc -l)" = 1 ] || fail "files in more than one place"

# Memory in more pieces than the kernel tells of at a time.
make_followed "$TMPDIR/h" "$forks" holes
all_match "$TMPDIR/h"
[ "$n_matched" = 2 ] || fail "holes: $n_matched histories, not 2"

make_capture "$TMPDIR/n" sh -c "'$forks' ids; :"
printf '0 0\ntraced 0\n' | sed "s/0 0/$(id -u) $(id -u)/" | cmp - "$TMPDIR/n.out" ||
	fail "without -f a child is traced: $(cat "$TMPDIR/n.out")"
all_match "$TMPDIR/n"
[ "$n_matched" = 1 ] || fail "without -f there are $n_matched histories"
make_capture "$TMPDIR/s" "$forks" seize
grep -qx 'refused 0' "$TMPDIR/s.out" || fail "without -f a child is traced at first: $(cat "$TMPDIR/s.out")"
all_match "$TMPDIR/s"
