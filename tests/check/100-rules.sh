#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline check` finds each mistake of programs that say on each line which it is, at that line and by
# that rule, and nothing else, as two compilers make them at three levels.
# time limit: 600
. tests/lib.sh
need gojq gcc clang g++ clang++
need_bpf

# found_in CAPTURE - rules and lines, those that are told of the same finding included.
found_in() {
	expect_status 1 "$FAULTLINE" check --json "$1"
	jq -r '.findings[] | .rule as $r | (.at, (.also // [])[]) | "\(.line) \($r)"' \
		"$TMPDIR/out" | sort -u
}

# others_in CAPTURE - which blocks that wrong.c's leaks() allocates are there when it returns, at the exit, and which
# of them no pointer is to: of a ring's the other one's is, and of what was freed, perhaps.
others_in() {
	local -A expected=([POSSIBLE-LEAK]='// kept|// expect: .*-LEAK' [LEAK-IN-TS]='// kept|// expect: .*-LEAK'
		[GC-BUG]='^\s+(list = )?same\(.*// expect: .*-LEAK')
	cat >"$TMPDIR/gc.rules" <<-END
		define Alive(b) = exists p in P suchthat Bid(p) == b;
		[GC-BUG] detect ret leaks: exists b in dom(H) suchthat not Alive(b) severity note;
	END
	for rule in POSSIBLE-LEAK LEAK-IN-TS GC-BUG; do
		local asked=(--only "$rule" --function ts=leaks)
		[ $rule != GC-BUG ] || asked=(--rules "$TMPDIR/gc.rules")
		expect_status 0 "$FAULTLINE" check --json "${asked[@]}" "$1"
		jq -r '.findings[].at.line' "$TMPDIR/out" | sort -u >"$TMPDIR/found"
		grep -nE "${expected[$rule]}" $source | cut -d: -f1 | sort >"$TMPDIR/lines"
		if [ $rule = GC-BUG ]; then
			grep -n 'of what is freed' -A 1 $source | sed -n 's/^\([0-9]*\)-.*/\1/p' >"$TMPDIR/perhaps"
			grep -vxFf "$TMPDIR/perhaps" "$TMPDIR/found" >"$TMPDIR/sure"
			mv "$TMPDIR/sure" "$TMPDIR/found"
		fi
		diff "$TMPDIR/lines" "$TMPDIR/found" || fail "$cc -$level $rule"
	done
}

# Each rule that is shipped is expected at ten statements and more, all over the programs.
n=0
for rule in $(sed -n 's/^\[\([A-Z-]*\)\].*/\1/p' specs/rules/*.rules); do
	case $rule in
	RACE) said='// race' ;;
	UNINIT-READ) said='// strict' ;;
	POSSIBLE-LEAK | LEAK-IN-TS) said='// kept|// expect: .*-LEAK' ;;
	*) said="// expect: (.* )?$rule( |$)" ;;
	esac
	[ "$(cat tests/programs/*.c* tests/check/programs/*.c* | grep -cE "$said")" -ge 10 ] ||
		fail "$rule is expected at few statements"
	n=$((n + 1))
done
[ $n -ge 30 ] || fail "only $n rules were found"

for program in wrong.c wrong_cc.cc; do
	source=tests/programs/$program
	grep -n '// expect: ' $source | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' | sort -u >"$TMPDIR/want"
	[ "$(wc -l <"$TMPDIR/want")" -ge 11 ] || fail "$source expects nothing"
	compilers="gcc clang" standard=gnu11
	[ $program = wrong.c ] || compilers="g++ clang++" standard=c++17
	for cc in $compilers; do
		for level in O0 O2 O3; do
			[ "$program$level" != wrong_cc.ccO3 ] || continue
			$cc -std=$standard -D_GNU_SOURCE -g -$level -fno-builtin -w -o "$TMPDIR/wrong" $source ||
				fail "cannot compile $source"
			rm -rf "$TMPDIR/c"
			make_capture "$TMPDIR/c" "$TMPDIR/wrong" all
			found_in "$TMPDIR/c" >"$TMPDIR/found"
			diff "$TMPDIR/want" "$TMPDIR/found" || fail "$cc -$level $program"
			[ $cc-$level != gcc-O2 ] || alone_in "$TMPDIR/c"
			[ "${FAULTLINE_RULES:-}" != full ] || [ $program != wrong.c ] || others_in "$TMPDIR/c"
		done
	done
done
exit 0
