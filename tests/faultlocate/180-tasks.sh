#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Forty structures in the manner of small verification tasks, each with one mistake: twenty
# statements that store what is wrong, twenty stores left out. The specifications, above each,
# were written from doc/spec-language.md. The truth is marked where the mistake is. Without it
# nothing may be reported; what is found of it may only grow: wanted are 36 at rank 1, all named.
# FAULTLINE_TASKS=full: at -O0, too.
# time limit: 300
. tests/lib.sh
need jq gcc
need_bpf

# analyze LEVEL STATUS KIND [fixed] - record it and analyze it, in $TMPDIR/out.
analyze() {
	local level=$1 status=$2
	shift 2
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/tasks$level" "$@"
	expect_status "$status" "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec" --json
}

# judge LINE [PLACE] - at which rank does $TMPDIR/out name it? 0: nowhere. Of a store that is
# missing, function and field count: between which statements it is due, is told by order alone.
judge() {
	local truth=".because != \"missing\" and .line == $1"
	[ -z "$2" ] || truth=".because == \"missing\" and (.missing | \"\(.function) \
.\(.field | sub(\"[[].*\"; \"\") | sub(\".*[.]\"; \"\"))\" == \"$2\")"
	jq "[.faults[] | $truth] | (index(true) // -1) + 1" "$TMPDIR/out"
}

declare -A n=([WRONG]=0 [MISSING]=0) n_first=([WRONG]=0 [MISSING]=0) n_named=([WRONG]=0 [MISSING]=0)
for source in tests/faultlocate/tasks/*.c; do
	for level in -O0 -O2; do
		gcc -g $level -o "$TMPDIR/tasks$level" "$source" || fail "cannot compile $source"
	done
	while IFS=: read -r line class kind place; do
		sed -n "/^ \* $kind: /,/^ \*\//s/^ \*\t//p" "$source" >"$TMPDIR/spec"
		analyze -O2 0 "$kind" fixed
		worst=1
		for level in ${FAULTLINE_TASKS:+-O0} -O2; do
			analyze $level 1 "$kind"
			rank=$(judge "$line" "$place")
			[ "$rank" = 1 ] && continue
			echo "$kind $level: rank $rank of" "$(jq -c '[.faults[] |
				[.because, .function, .line, .missing.field]]' "$TMPDIR/out")"
			[ "$worst" = 0 ] || worst=$rank
		done
		n[$class]=$((n[$class] + 1))
		[ "$worst" != 1 ] || n_first[$class]=$((n_first[$class] + 1))
		[ "$worst" = 0 ] || n_named[$class]=$((n_named[$class] + 1))
	done < <(sed -nE '/\/\* (WRONG|MISSING) /{=;s,.*/\* ([A-Z]+) (.*) \*/.*,\1:\2,p}' "$source" |
		sed 'N;s/\n/:/;s/: /:/')
done
# at_least CLASS FIRST NAMED - of its twenty.
at_least() {
	[ "${n[$1]}" = 20 ] || fail "${n[$1]} tasks $1"
	[ "${n_first[$1]}" -ge "$2" ] && [ "${n_named[$1]}" -ge "$3" ] ||
		fail "$1: ${n_first[$1]} at rank 1, ${n_named[$1]} named, fewer than $2 and $3"
}
at_least WRONG 19 19
at_least MISSING 19 19
echo "result: $((n_first[WRONG] + n_first[MISSING])) of 40 at rank 1," \
	"$((n_named[WRONG] + n_named[MISSING])) named"
