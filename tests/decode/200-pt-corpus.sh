#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 10800
#
# Programs as Debian ships them, and ours with threads: recorded, replayed, encoded as PT
# in four shapes (return compression on and off, a PSB every 4 and every 64 KiB), decoded,
# and compared with the replay instruction by instruction, thread by thread.
# FAULTLINE_PT=full takes the whole corpus instead of a few; over 500 million instructions.
. tests/corpus/corpus.sh

few=(md5sum sed-script as)
own=(floats "crowd fill" "crowd calls")
# They run code that they make themselves (git: regular expressions): it lies in no file, so
# none can be decoded.
makes_code=(luajit luajit-sieve node gforth git-grep)
if [ "${FAULTLINE_PT:-}" = full ]; then
	few=('*')
	own+=(memory cpu chance rbtree signals syscalls "crowd ping" "crowd spin" "crowd race"
		"crowd stamps" "crowd sleep" "crowd sem" "crowd thousand" "crowd signals"
		"crowd timers" "crowd robust" "crowd detached" "crowd leader" "crowd become"
		"crowd leave" "crowd crash")
fi

total=0 compared=0 threads=0 programs=0 failed='' left_out=''

# judge NAME - compare the capture, and each process that was followed.
judge() {
	local name=$1 dirs=("$TMPDIR/capture") line child
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/capture"
	for child in "$TMPDIR"/capture/children/*/; do
		[ ! -f "$child/events.flt" ] || dirs+=("$child")
	done
	if ! "$BUILD/tests/decode/unit_pt_round" "${dirs[@]}" >"$TMPDIR/judged" 2>&1; then
		grep -E 'ERROR|LINE' "$TMPDIR/judged" | head -n 3
		failed+=" $name"
		return
	fi
	line=$(grep '^result:' "$TMPDIR/judged")
	echo "$name: ${line#result: }"
	# shellcheck disable=SC2086
	set -- $line
	total=$((total + $2)) threads=$((threads + $5)) compared=$((compared + $7))
	programs=$((programs + 1))
}

is_among() { # name pattern...
	local name=$1 pattern
	shift
	for pattern; do
		# shellcheck disable=SC2053
		[[ $name == $pattern ]] && return 0
	done
	return 1
}

need_bpf
mkdir "$TMPDIR/inputs"
bash tests/corpus/inputs.sh "$TMPDIR/inputs" small || fail "no inputs"
for group in $(sed -n 's/^\[\(.*\)\]$/\1/p' tests/corpus/commands); do
	while read -r name _ flags command <&3; do
		is_among "$name" "${few[@]}" || continue
		if is_among "$name" "${makes_code[@]}" || ! is_installed "$command"; then
			left_out+=" $name"
			continue
		fi
		options=()
		has_flag "$flags" follow && options+=(-f)
		rm -rf "$TMPDIR/capture"
		in_work "$command" "${RECORD[@]}" "${options[@]}" -o "$TMPDIR/capture" --
		judge "$name"
	done 3< <(corpus_lines "$group")
done
for command in "${own[@]}"; do
	rm -rf "$TMPDIR/capture"
	# shellcheck disable=SC2086
	"${RECORD[@]}" -o "$TMPDIR/capture" -- "$BUILD"/tests/programs/$command \
		>/dev/null 2>&1 </dev/null
	judge "$command"
done
[ -z "$failed" ] || fail "decoded otherwise than it ran:$failed"
[ "$compared" -gt 20000000 ] || fail "only $compared instructions compared"
[ -z "$left_out" ] || echo "left out:$left_out"
echo "result: $programs programs, $threads threads, $total instructions, $compared compared"
