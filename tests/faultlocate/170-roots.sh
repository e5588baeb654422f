#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `ROOT variable;`: what a global, static or local variable must not do is found at the statement
# that did it, as two compilers make it, at -O0 and -O2; of the program without a mistake nothing is
# said.
# time limit: 300
. tests/lib.sh
need gojq gcc clang g++ clang++
need_bpf

# expect_fault PROGRAM SPEC SOURCE BUG - the statement marked so is the most suspicious one.
expect_fault() {
	local line
	line=$(grep -n "BUG $4\b" "$3" | cut -d: -f1)
	[ -n "$line" ] || fail "no statement is marked $4"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$1" "$4"
	expect_status 1 "$FAULTLINE" analyze --json --spec "$2" "$TMPDIR/c"
	[ "$(jq .faults[0].line "$TMPDIR/out")" = "$line" ] ||
		fail "$5 $4: not line $line: $(jq -c '[.violations, .faults]' "$TMPDIR/out")"
}

# expect_nothing PROGRAM SPEC ARGUMENT... - nothing is violated, and nothing left unchecked.
expect_nothing() {
	local program=$1 spec=$2
	shift 2
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$program" "$@"
	expect_status 0 "$FAULTLINE" analyze --spec "$spec" "$TMPDIR/c"
	grep -q 'note: root' "$TMPDIR/out" && fail "$(cat "$TMPDIR/out")"
}

cat >"$TMPDIR/roots.spec" <<'END'
node FIELD 2 EDGE 1;
list FIELD 2 EDGE 1;
ROOT queue;
ROOT table IN programs/roots.c;
ROOT pool;
ROOT handle;
ROOT main::stack;
ROOT descend::mine;
ROOT rounds::inner AS round;
node.LEN NULL 0; node X; X.LEN = X.next.LEN + 1;
queue != NULL and queue.key < 100 => queue.LEN == queue.key; ..(queue)
for I in 0 to 7, table[I] != NULL => table[I].key - table[I].key / 8 * 8 == I; ..(table)
list L; L.count >= 0 => L.head.LEN == L.count; ..(lists)
handle == pool and handle -> pool; ..(handle)
stack.head.LEN == stack.count; ..(stack)
mine.head.LEN == mine.count; ..(mine)
round.head.LEN == round.count; ..(round)
node X; X.key > 0 and queue /->> X and table /->> X =>
	stack ->> X or pool ->> X or mine ->> X or round ->> X; ..(reach)
CPOINT push ENTRY;
CPOINT enqueue;
CPOINT file ENTRY;
CPOINT total;
END

# try COMPILER SOURCE SPEC BUG... - build it, and see what is found of each mistake, and of none.
try() {
	local how=$1 source=$2 spec=$3 bug
	shift 3
	# shellcheck disable=SC2086 # words
	$how -g -w -o "$TMPDIR/program" "$source" || fail "cannot compile"
	expect_nothing "$TMPDIR/program" "$spec"
	for bug; do
		expect_fault "$TMPDIR/program" "$spec" "$source" "$bug" "$how"
	done
}

source=tests/programs/roots.c
try "gcc -O0 -fPIE -pie" $source "$TMPDIR/roots.spec" queue handle mine stack
try "gcc -O2 -fno-pie -no-pie" $source "$TMPDIR/roots.spec" table inner
try "clang -O0" $source "$TMPDIR/roots.spec" inner
try "clang -O2 -fPIE -pie" $source "$TMPDIR/roots.spec" pool mine

cat >"$TMPDIR/pools.spec" <<'END'
Node FIELD 2 EDGE 1;
ROOT work::pool;
ROOT shop::Pool::spare;
ROOT Pool::pushed;
ROOT shelf;
ROOT Pool::push::last;
ROOT "Box<Node>::all";
Node.LEN NULL 0; Node X; X.LEN = X.next.LEN + 1;
pool.head.LEN == pool.count; ..(pool)
pool.count == pushed; ..(pushed)
spare != NULL => spare.ISLEAF == false; ..(spare)
shelf.LEN + 1 >= pool.count; ..(shelf)
last.key > 0 => last == pool.head; ..(last)
all != NULL => pool -> (all) or pool ->> (all); ..(all)
CPOINT push EXIT;
CPOINT check;
END
try "g++ -O0" tests/programs/pools.cc "$TMPDIR/pools.spec" shelf all
try "clang++ -O2" tests/programs/pools.cc "$TMPDIR/pools.spec" spare pushed

# A library: what the program has as a copy, what is the library's own, what is mapped late.
cat >"$TMPDIR/registry.spec" <<'END'
entry FIELD 2 EDGE 1;
ROOT registry;
ROOT hidden IN registry.c;
ROOT first;
entry X; registry ->> X or hidden ->> X; ..(reach)
registry ->> first; ..(whole)
CPOINT registry_add;
END
source=tests/programs/registry.c
gcc -g -O2 -fPIC -shared -DLIBRARY -o "$TMPDIR/libregistry.so" $source || fail "cannot compile"
for pie in "-fPIE -pie" "-fno-pie -no-pie"; do
	# shellcheck disable=SC2086 # words
	try "gcc -O2 $pie -DCLIENT -L$TMPDIR -Wl,-rpath,$TMPDIR -Wl,--no-as-needed -lregistry" \
		$source "$TMPDIR/registry.spec" registry hidden
done
readelf -r "$TMPDIR/program" | grep -q 'COPY .* registry' || fail "the program has no copy"
sed 's/^entry X;.*/hidden != NULL => hidden.key == registry.key;/' "$TMPDIR/registry.spec" \
	>"$TMPDIR/late.spec"
gcc -g -DLATE -o "$TMPDIR/program" $source -ldl || fail "cannot compile"
expect_nothing "$TMPDIR/program" "$TMPDIR/late.spec" "$TMPDIR/libregistry.so"
rm -rf "$TMPDIR/c"
make_capture "$TMPDIR/c" "$TMPDIR/program" "$TMPDIR/libregistry.so" spoil
expect_status 1 "$FAULTLINE" analyze --json --spec "$TMPDIR/late.spec" "$TMPDIR/c"
[ "$(jq .faults[0].line "$TMPDIR/out")" = "$(grep -n 'BUG hidden' $source | cut -d: -f1)" ] ||
	fail "opened late: $(cat "$TMPDIR/out")"
