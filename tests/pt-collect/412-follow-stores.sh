#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# record -f -e stores -e heap: forked processes have the probes of their parents, those that
# execute a program have probes of their own, and each bundle holds its own process's hits: the
# program prints what it stores. All replay, so no breakpoint is in a start state.
. tests/lib.sh
. tests/pt-collect/keeps.bash

need_bpf
program=$BUILD/tests/programs/keeps

# follow CAPTURE STATUS OPTION... -- COMMAND...; then each process's stores are as printed.
follow() {
	local dir=$1 want=$2 n=0 number pid
	shift 2
	expect_status "$want" "${RECORD[@]}" -f -o "$dir" "$@"
	grep -q ": complete" "$TMPDIR/err" || fail "$dir: $(cat "$TMPDIR/err")"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$dir"
	mv "$TMPDIR/out" "$dir.out"
	all_match "$dir"
	processes "$dir" >"$dir.tree"
	for number in $(awk -v program="$program" '$6 == program { print $1 }' "$dir.tree"); do
		stores "$dir" --process "$number" | sort -s -k 2,2n >"$dir.seen"
		cut -d' ' -f2 "$dir.seen" | sort -u >"$dir.tids"
		printed "$dir.out" | awk 'NR == FNR { want[$1]; next } $2 in want' "$dir.tids" - |
			sort -s -k 2,2n | cmp - "$dir.seen" || fail "$dir, process $number: other stores"
		n=$((n + $(wc -l <"$dir.seen")))
	done
	[ $n -gt 0 ] && [ $n = "$(printed "$dir.out" | wc -l)" ] || fail "$dir: $n stores seen"
	echo "result: $n stores of $(wc -l <"$dir.tree") processes"
}

follow "$TMPDIR/f" 0 -e stores -e heap -- "$program" forks 10
[ "$(cut -d' ' -f2 "$TMPDIR/f.out" | sort -u | wc -l)" = 3 ] || fail "not three processes"
for number in 0 1 2; do
	"$FAULTLINE" dump --process $number -k heap "$TMPDIR/f" | grep -q 'calloc(8, 8' ||
		fail "process $number: no calloc"
done
# The same program again and again, by fork and by vfork; threads.
follow "$TMPDIR/s" 0 -e stores -- sh -c "for i in 1 2 3; do '$program' exit \$i; done
	('$program' threads 20; true)
	('$program' exit 4; '$program' exit 5)"
[ "$(cut -d' ' -f2 "$TMPDIR/s.out" | sort -u | wc -l)" = 7 ] || fail "not seven threads"
