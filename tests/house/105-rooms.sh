#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# No room includes a header of one that may use it, and the picture of the house is of today's.
. tests/lib.sh

need dot
# shellcheck disable=SC2046 # one word a room
tools/house.sh $(make -s rooms) >"$TMPDIR/house.dot" || fail "an include points back"
[ "$(grep -c -- '->' "$TMPDIR/house.dot")" -ge 15 ] || fail "no arrows: $(cat "$TMPDIR/house.dot")"
diff doc/house.dot "$TMPDIR/house.dot" || fail "doc/house.svg is old (make house)"

# What a room exports carries the room's name.
prefixes='api:(api|flt)_ decode:dec_ confine:confine_ specdsl:spec_ heapgraph:hg_ faultlocate:fl_ storeplan:(sp|storeplan)_ pt-collect:ptc_
	bench:bench_ report:report_ csource:csrc_ cmd:cmd_ debug:dbg_ capture:(cap|capture|perf)_'
n=0
for room in $(make -s rooms); do
	archive=$BUILD/$room.a
	prefix=$(echo "$prefixes" | tr ' \t' '\n\n' | sed -n "s/^${room%%/*}://p")
	[ -f "$archive" ] && [ -n "$prefix" ] || continue
	names=$(nm -g --defined-only "$archive" 2>/dev/null | awk 'NF == 3 { print $3 }' |
		grep -Ev "^($prefix|__)")
	[ -z "$names" ] || fail "$archive exports $(echo "$names" | head -n 5 | tr '\n' ' ')"
	n=$((n + 1))
done
[ $n -ge 15 ] || fail "$n archives looked at"

# The test can tell.
mkdir -p "$TMPDIR/t/tools" "$TMPDIR/t/base" "$TMPDIR/t/cmd"
cp tools/house.sh "$TMPDIR/t/tools"
echo '#include "cmd/x.h"' >"$TMPDIR/t/base/x.c"
: >"$TMPDIR/t/cmd/x.h"
"$TMPDIR/t/tools/house.sh" base cmd >"$TMPDIR/out" 2>"$TMPDIR/err" && fail "base may use cmd?"
grep -q 'base/x.c includes cmd/x.h' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
exit 0
