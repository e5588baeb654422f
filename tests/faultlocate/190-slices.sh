#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Programs that say what is in a slice of them, in comments: `// at VAR' asks about a line's
# variable (`at crash': the crash; `#N': its Nth time), `// in' is in the slice, `// out' is not,
# compiled with -O0 and, where that says so, with -O2; with `-O0' behind it only then.
. tests/lib.sh

need gojq
need_bpf
ulimit -c 0

# lines KIND FILE LEVEL - numbers of the lines that are KIND at this level.
lines() {
	awk -v kind="$1" -v level="$3" '{
		if (!match($0, "// " kind "( |$)"))
			next
		rest = substr($0, RSTART)
		if (match(rest, /-O[0-9]/) && substr(rest, RSTART, 3) != level)
			next
		print FNR
	}' "$2"
}

n=0
for source in "$SOURCE"/tests/faultlocate/slices/*.c; do
	name=$(basename "$source" .c)
	for level in -O0 -O2; do
		[ $level = -O0 ] || grep -qx '// also -O2' "$source" || continue
		at=$(lines at "$source" $level)
		[ -n "$at" ] || continue
		${CC:-gcc} -g $level -pthread -fno-toplevel-reorder -o "$TMPDIR/$name" "$source" 2>"$TMPDIR/cc" ||
			fail "cannot compile $name: $(cat "$TMPDIR/cc")"
		rm -rf "$TMPDIR/c"
		"${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/$name" >/dev/null 2>"$TMPDIR/err" </dev/null
		[ -f "$TMPDIR/c/manifest.json" ] || fail "$name $level: $(cat "$TMPDIR/err")"
		what=$(sed -n "${at}s|.*// at ||p" "$source" | sed 's/-O[0-9]//')
		place=$name.c:$at
		vars=()
		for word in $what; do
			case $word in
			crash) place=crash ;;
			\#*) place=$place$word ;;
			*) vars+=("$word") ;;
			esac
		done
		"$FAULTLINE" slice "$TMPDIR/c" --at "$place" "${vars[@]}" --json \
			>"$TMPDIR/json" 2>"$TMPDIR/err" ||
			fail "$name $level: $(cat "$TMPDIR/err")"
		jq -r --arg file "$name.c" '.statements[] | select(.file != null and
			(.file | endswith("/" + $file))) | .line' "$TMPDIR/json" | sort -n >"$TMPDIR/got"
		for line in $(lines in "$source" $level); do
			grep -qx "$line" "$TMPDIR/got" ||
				fail "$name $level: line $line is not in the slice: $(sed -n "${line}p" "$source") (is: $(tr '\n' ' ' <"$TMPDIR/got"))"
		done
		for line in $(lines out "$source" $level); do
			! grep -qx "$line" "$TMPDIR/got" ||
				fail "$name $level: line $line is in the slice: $(sed -n "${line}p" "$source")"
		done
		n=$((n + 1))
	done
done
[ $n -ge 43 ] || fail "$n slices"
