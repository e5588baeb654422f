#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The statement that goes wrong in structures of specs/, by one seed each, as `faultline bench locate`
# has it by twelve: at which rank it is named, and how many statements with it. The run is the
# same each time; a structure that gets worse fails.
# time limit: 300
. tests/lib.sh
need gojq
need_bpf

# structure NAME RANK STATEMENTS - no worse than that.
structure() {
	local line found want_status
	rm -rf "$TMPDIR/c"
	# What the fault leads to later, a loop without end or NULL, is part of the run.
	want_status=$("$BUILD/specs/$1-O2" 1 10 >"$TMPDIR/o" 2>&1; echo $?) 2>/dev/null
	make_capture "$TMPDIR/c" "$BUILD/specs/$1-O2" 1 10
	line=$(sed -n '/^wrong: /{s/.*://p;q}' "$TMPDIR/c.err")
	[ -n "$line" ] || fail "$1: nothing went wrong: $(head -c 500 "$TMPDIR/c.err")"
	expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "specs/$1.spec" --json --cpoint operate
	found=$(jq -r "\"\(([.faults[] | .line == $line] | index(true) // -1) + 1) \(.faults | length)\"" \
		"$TMPDIR/out")
	echo "$1: rank and statements: $found"
	[ "${found% *}" -ge 1 ] && [ "${found% *}" -le "$2" ] && [ "${found#* }" -le "$3" ] ||
		fail "$1: rank and statements were $2 $3, are $found"
}

structure circular 1 3
structure ordered 1 1
structure doubly 1 2
structure quad 1 1
structure avl 1 1
structure btree 1 1
structure redblack 1 4
structure leftist 1 1
structure bipartite 1 1
structure tree 1 1
structure binheap 1 2
structure kary 1 1
structure skiplist 1 1
structure hash 1 1
structure radix 1 1
structure splay 1 2
structure unionfind 1 3
structure cube 1 2
