#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# time limit: 900
# What a store plan promises, kept: programs are recorded with -e stores and replayed. From
# the plan's anchors alone, along the path that was taken, address and value of each store
# are computed, and are what the replay says; the events of the probes are what it says, too.
# FAULTLINE_STORES=full: more work for bc and gzip.
. tests/lib.sh

need_bpf
tool=$BUILD/tests/storeplan/tool_recover
stores=0 hits=0 programs=0

# check PROGRAM [ARG...]
check() {
	local name=${1##*/}
	rm -rf "$TMPDIR/$name.flt"
	"${RECORD[@]}" -e stores -o "$TMPDIR/$name.flt" -- "$@" >"$TMPDIR/$name.out" \
		2>"$TMPDIR/err" </dev/null
	grep -q ": complete" "$TMPDIR/err" || fail "$name: $(cat "$TMPDIR/err")"
	[ -r "$TMPDIR/$name.flt/manifest.json" ] ||
		sudo -n chown -R "$(id -u)" "$TMPDIR/$name.flt"
	"$tool" --probes "$1" "$TMPDIR/$name.flt" >"$TMPDIR/log" 2>&1 ||
		fail "$name: $(cat "$TMPDIR/log")"
	echo "$name: $(cat "$TMPDIR/log")"
	stores=$((stores + $(sed -n 's/ of .*stores recovered.*//p' "$TMPDIR/log")))
	hits=$((hits + $(sed -n 's/.* \([0-9]*\) events.*/\1/p' "$TMPDIR/log")))
	programs=$((programs + 1))
}

# check_frame PROGRAM: the capture of check() once more, stores into frames included.
check_frame() {
	"$tool" --frame "$1" "$TMPDIR/${1##*/}.flt" >"$TMPDIR/log" 2>&1 ||
		fail "${1##*/}, frames: $(cat "$TMPDIR/log")"
	echo "${1##*/}, frames: $(cat "$TMPDIR/log")"
}

for program in "$BUILD"/examples/*-O[02]; do
	check "$program"
	check_frame "$program"
done
check "$BUILD/tests/programs/rbtree" 500
check_frame "$BUILD/tests/programs/rbtree"
size=6000 digits=12
[ "${FAULTLINE_STORES:-}" = full ] && size=60000 digits=200
if command -v gzip >/dev/null; then
	head -c "$size" "$FAULTLINE" >"$TMPDIR/in"
	check "$(command -v gzip)" -9 -f "$TMPDIR/in"
fi
if command -v bc >/dev/null; then
	echo "scale=$digits; 4*a(1); sqrt(2); 2^300/3" >"$TMPDIR/in.bc"
	check "$(command -v bc)" -l -q "$TMPDIR/in.bc"
	grep -q "^3\.14159" "$TMPDIR/bc.out" || fail "bc was disturbed: $(cat "$TMPDIR/bc.out")"
fi
[ $stores -gt 0 ] && [ $hits -gt 0 ] || fail "$stores stores, $hits events compared"
echo "result: $programs programs, $stores of $stores stores recovered, $hits of $hits events true"
