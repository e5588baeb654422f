#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# time limit: 600
#
# Each of the twenty programs of this folder passes undisturbed, and `record --chaos
# --until-fail` makes at least 18 of them fail within 1000 runs. What a seed did in one run it
# need not do in the next, so the search itself is what is tested, from a new seed each time.
. "$SOURCE/tests/lib.sh"
need_bpf

programs=()
for source in "$SOURCE"/tests/races/*.c; do
	programs+=("$(basename "$source" .c)")
done
n=${#programs[@]} found=0
[ "$n" = 20 ] || fail "$n programs, not 20"
for program in "${programs[@]}"; do
	bin=$BUILD/tests/races/$program
	for _ in 1 2 3; do
		taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')" timeout 20 "$bin" \
			>/dev/null 2>&1 || fail "$program fails undisturbed"
	done
	got=0
	"${RECORD[@]}" --chaos --until-fail 1000 -o "$TMPDIR/$program" -- "$bin" \
		>/dev/null 2>"$TMPDIR/err" || got=$?
	line=$(grep -aE '^faultline: (failed in run|no failure in)' "$TMPDIR/err") ||
		fail "no outcome of $program: $(tail -n 3 "$TMPDIR/err")"
	echo "$program: ${line#faultline: }"
	if [ $got = 0 ]; then
		[ ! -e "$TMPDIR/$program" ] || fail "$program passed, and left a capture"
		continue
	fi
	[ $got -ge 128 ] || fail "record exited with $got for $program"
	looks_whole "$TMPDIR/$program" || fail "no finished capture of $program"
	found=$((found + 1))
	rm -rf "${TMPDIR:?}/$program"
done
echo "$found of $n"
[ $found -ge 18 ]
