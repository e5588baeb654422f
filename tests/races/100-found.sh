#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# alone: what shows in how many runs depends on what else runs
#
# time limit: 900
#
# Each of the 21 programs of this folder passes, nearly always, when nothing disturbs it on
# its one CPU; `record --chaos --until-fail` makes at least 19 of them fail within 1000 runs.
# What a seed did in one run it need not do in the next, so the search itself is what is tested,
# from a new seed each time. Each capture replays 5 times the same: all matched, after as many
# instructions and with the same output; one that cannot says that the place of a switch is
# not certain, and is not counted. FAULTLINE_RACES=full: 100 times.
. "$SOURCE/tests/lib.sh"
need_bpf
need_breakpoints

# Of 10 runs of $1 alone on $cpu, those that pass; the rest of the arguments: how to run it.
passed_of_10() { # program command...
	local bin=$1 n=0
	shift
	for _ in {1..10}; do
		# The subshell keeps bash's report of a crash out of the log.
		("$@" taskset -c "$cpu" timeout 20 "$bin" || exit 1) >/dev/null 2>&1 && n=$((n + 1))
	done
	echo $n
}

programs=()
for source in "$SOURCE"/tests/races/*.c; do
	programs+=("$(basename "$source" .c)")
done
cpu=$(taskset -cp $$ | sed 's/.*[ ,-]//')
n=${#programs[@]} found=0 replays=5
[ "${FAULTLINE_RACES:-}" = full ] && replays=100
[ "$n" = 21 ] || fail "$n programs, not 21"
for program in "${programs[@]}"; do
	bin=$BUILD/tests/races/$program
	# On a busy machine others disturb it, unless it goes before them.
	passed=$(passed_of_10 "$bin")
	[ "$passed" -ge 7 ] || passed=$(passed_of_10 "$bin" chrt --rr 1)
	[ "$passed" -ge 7 ] || fail "$program fails undisturbed: passed $passed of 10"
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
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/$program"
	tail -n 1 "$TMPDIR/err" | grep -q complete ||
		fail "the capture of $program is not complete: $(tail -n 1 "$TMPDIR/err")"
	for ((i = 0; i < replays; i++)); do
		"$FAULTLINE" replay "$TMPDIR/$program" --stdout >"$TMPDIR/again" 2>"$TMPDIR/err" || {
			# Registers and stack may recur (doc/threads.md): told, and not counted.
			[ $i = 0 ] && grep 'place of a thread switch is not certain' "$TMPDIR/err" &&
				continue 2
			fail "$program: replay $i of $replays: $(cat "$TMPDIR/err" "$TMPDIR/again")"
		}
		cat "$TMPDIR/err" >>"$TMPDIR/again"
		[ "$(grep -c 'instructions.*all matched' "$TMPDIR/again")" = 1 ] ||
			fail "$program: replay $i says: $(cat "$TMPDIR/again")"
		[ $i -gt 0 ] || cp "$TMPDIR/again" "$TMPDIR/first"
		cmp -s "$TMPDIR/first" "$TMPDIR/again" ||
			fail "$program: replay $i differs: $(diff "$TMPDIR/first" "$TMPDIR/again")"
	done
	found=$((found + 1))
	rm -rf "${TMPDIR:?}/$program"
done
echo "$found of $n found, each capture replayed $replays times"
[ $found -ge 19 ]
