#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# version.sh FAULTLINE PROGRAM N[,N...] DIR [TESTS] - in the new directory DIR, program PROGRAM of this
# directory with its seeded faults N (lines of PROGRAM.versions: `TEXT => FAULT', of a line that is
# there several times `TEXT @ WHICH => FAULT', without a FAULT the line is left out), and the
# suite of its tests, recorded. Prints a line for each fault: where it is, and what the line should be.
# N = 0: no fault. TESTS: the first so many tests only.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
faultline=$1 program=$2 numbers=$3 dir=$4 most=${5:-1000}

mkdir "$dir"
awk -v numbers="$numbers" '
	function trimmed(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
	FNR == NR {
		split($0, part, / => ?/)
		which[FNR] = 1
		text[FNR] = trimmed(part[1])
		if (match(text[FNR], / @ [0-9]+$/)) {
			which[FNR] = substr(text[FNR], RSTART + 3)
			text[FNR] = trimmed(substr(text[FNR], 1, RSTART - 1))
		}
		fault[FNR] = trimmed(part[2])
		next
	}
	{ source[++n] = $0 }
	END {
		wanted = split(numbers, number, ",")
		for (k = 1; k <= wanted; k++) {
			v = number[k]
			seen = 0
			for (i = 1; i <= n; i++)
				if (v && trimmed(source[i]) == text[v] && ++seen == which[v]) {
					at[k] = i
					should[k] = source[i]
				}
			if (v && !at[k]) {
				print "no such line: " text[v] >"/dev/stderr"
				exit 1
			}
		}
		for (k = 1; k <= wanted; k++)
			if (number[k]) {
				i = at[k]
				is_out[i] = fault[number[k]] == ""
				source[i] = substr(source[i], 1, match(source[i], /[^ \t]/) - 1) fault[number[k]]
			}
		for (i = 1; i <= n; i++) {
			if (!is_out[i])
				print source[i] >out
			line[i] = lines += !is_out[i]
		}
		for (k = 1; k <= wanted; k++)
			if (number[k]) {
				i = at[k]
				# What is left out is missing beside what comes behind it, or before.
				if (is_out[i] && trimmed(source[i + 1]) != "}")
					i++
				else if (is_out[i])
					i--
				print line[i], is_out[at[k]] ? "" : should[k]
			}
	}' out="$dir/$program.c" "$here/$program.versions" "$here/$program.c"
cc=(gcc -std=gnu11 -D_GNU_SOURCE -w -g -O0)
"${cc[@]}" -o "$dir/right" "$here/$program.c"
cd "$dir"
"${cc[@]}" -o "$program" "$dir/$program.c"
n=0
while IFS= read -r input; do
	n=$((n + 1))
	[ $n -le "$most" ] || break
	printf '%b\n' "$input" >"in$n"
	status=0
	./right <"in$n" >"out$n" || status=$?
	echo "{\"name\": \"t$n\", \"stdin\": \"in$n\", \"expected\": \"out$n\", \"status\": $status}"
done <"$here/$program.tests" >tests.jsonl
"$faultline" suite record --timeout 20 --tests tests.jsonl -o suite -- "./$program" >said 2>&1 || [ $? = 1 ] || {
	cat said >&2
	exit 1
}
