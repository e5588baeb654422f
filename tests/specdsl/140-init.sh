#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What `spec init` proposes of two right runs of the programs in specs/: it is a specification
# without mistakes, a third right run keeps it, and of the runs in which something goes wrong it
# finds as many as the one that was written by hand, but for one in ten. FAULTLINE_INIT=full tries
# all of them, with more faults; but for intrusive, whose pointers lead to members.
# time limit: 900
. tests/lib.sh
need gojq
need_bpf

names="binheap radix redblack" seeds="4 5"
if [ "${FAULTLINE_INIT:-}" = full ]; then
	names=$(basename -s .c specs/*.c | grep -vx intrusive) seeds=$(seq 4 11)
fi

# record NAME SEED FAULTS DIR
record() {
	rm -rf "$4"
	"${RECORD[@]}" -o "$4" -- "$BUILD/specs/$1-O0" "$2" "$3" >/dev/null 2>&1
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$4"
}
# finds SPEC OPTION... - whether it is violated in the run at hand.
finds() {
	local got=0 spec=$1
	shift
	"$FAULTLINE" analyze "$TMPDIR/c" --spec "$spec" "$@" >"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
	[ $got -le 1 ] || fail "$spec: $(cat "$TMPDIR/err")"
	return $((1 - got))
}

by_hand=0 proposed=0
for name in $names; do
	spec=$TMPDIR/$name.spec
	record "$name" 1 0 "$TMPDIR/one"
	record "$name" 2 0 "$TMPDIR/two"
	expect_status 0 "$FAULTLINE" spec init "$TMPDIR/one" "$TMPDIR/two"
	cp "$TMPDIR/out" "$spec"
	n=$(grep -vc '^#\|^CPOINT' "$spec")
	[ "$n" -ge 3 ] || fail "$name: only $n statements: $(cat "$spec")"
	grep -q '^CPOINT' "$spec" || fail "$name: no C-points: $(cat "$spec")"
	expect_status 0 "$FAULTLINE" spec check "$spec" --binary "$BUILD/specs/$name-O0"
	record "$name" 3 0 "$TMPDIR/c"
	! finds "$spec" || fail "$name: a right run is accused: $(cat "$TMPDIR/out" "$spec")"
	for seed in $seeds; do
		record "$name" "$seed" 3 "$TMPDIR/c"
		finds "specs/$name.spec" --cpoint operate || continue
		by_hand=$((by_hand + 1))
		! finds "$spec" || proposed=$((proposed + 1))
	done
	echo "$name: so far $proposed of $by_hand"
done
[ $by_hand -ge 6 ] || fail "only $by_hand runs are wrong by hand"
[ $((proposed * 10)) -ge $((by_hand * 9)) ] || fail "$proposed of $by_hand found"

# What cannot be.
expect_status 2 "$FAULTLINE" spec init --struct nosuch "$TMPDIR/one"
expect_error "nosuch"
expect_status 2 "$FAULTLINE" spec init "$TMPDIR/nowhere"
expect_error "nowhere"
"${RECORD[@]}" -o "$TMPDIR/echo" -- /bin/echo >/dev/null 2>&1
"${RECORD[@]}" -e heap -o "$TMPDIR/crash" -- "$BUILD/examples/list-O0" >/dev/null 2>&1
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR"
expect_status 2 "$FAULTLINE" spec init "$TMPDIR/echo"
expect_error "no structs"
expect_status 2 "$FAULTLINE" spec init "$TMPDIR/crash"
expect_error "SIGSEGV"
echo "result: $proposed of $by_hand wrong runs"
