# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Programs with one mistake each (tasks/task.h): what is found of it? Sourced behind tests/lib.sh.

# analyze LEVEL STATUS KIND [fixed] - record it and analyze it, in $TMPDIR/out.
analyze() {
	local level=$1 status=$2
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/${4:-tasks}$level" "${@:3}"
	expect_status "$status" "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec" --json
}

# judge LINE [PLACE] - at which rank does $TMPDIR/out name it? 0: nowhere. Of a store that is
# missing, function and field count: between which statements it is due, is told by order alone.
judge() {
	local truth=".because != \"missing\" and .line == $1"
	[ -z "$2" ] || truth=".because == \"missing\" and (.missing | \"\(.function) \
.\(.field | gsub(\"[[][0-9]+[]]\"; \"\") | sub(\".*[.]\"; \"\"))\" == \"$2\")"
	jq "[.faults[] | $truth] | (index(true) // -1) + 1" "$TMPDIR/out"
}

declare -A n=([WRONG]=0 [MISSING]=0) n_first=([WRONG]=0 [MISSING]=0) n_named=([WRONG]=0 [MISSING]=0)
# judge_tasks FILE... - all tasks in it, into n, n_first, n_named by class.
judge_tasks() {
	local source level line class kind place worst rank
	for source; do
		for level in -O0 -O2; do
			gcc -g $level -o "$TMPDIR/tasks$level" "$source" || fail "cannot compile $source"
			gcc -g $level -DFIXED -o "$TMPDIR/fixed$level" "$source" || fail "cannot compile $source"
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
}

# at_least CLASS TASKS FIRST NAMED
at_least() {
	[ "${n[$1]}" = "$2" ] || fail "${n[$1]} tasks $1"
	[ "${n_first[$1]}" -ge "$3" ] && [ "${n_named[$1]}" -ge "$4" ] ||
		fail "$1: ${n_first[$1]} at rank 1, ${n_named[$1]} named, fewer than $3 and $4"
}

tell_tasks() {
	echo "result: $((n_first[WRONG] + n_first[MISSING])) of $((n[WRONG] + n[MISSING]))" \
		"at rank 1, $((n_named[WRONG] + n_named[MISSING])) named"
}
