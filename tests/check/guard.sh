# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# For the tests of the quick way of a check, beside tests/lib.sh: both ways look at programs.

rules=()
for file in specs/rules/*.rules; do
	rules+=(--rules "$file")
done
wrong=0
quick=0
values=

# accesses WHAT: `analyze --accesses` of the capture finds what the slow way does, and was as quick as check.
accesses() {
	"$FAULTLINE" analyze --accesses --json "$TMPDIR/c" >"$TMPDIR/accesses" 2>"$TMPDIR/err"
	jq -e --slurpfile slow "$TMPDIR/slow" --arg doubt "$doubt" '
		([.accesses[].instances] | add) as $found | ($found == ([$slow[0].findings[] |
			select(.rule | test("^(DANGLING|HEAP|FIELD)-")) | .instances] | add)) and
		($found != null or $doubt != "0" or .heap == null or .capture.end == "signal")' "$TMPDIR/accesses" \
		>/dev/null || fail "$*: $(cat "$TMPDIR/err" "$TMPDIR/accesses" "$TMPDIR/slow")"
}

# same COMMAND...: both ways; sets n to the findings, doubt to what the guard said last.
same() {
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$@" </dev/null >/dev/null 2>&1
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	FAULTLINE_LOG=faultlocate:2 "$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/quick" \
		2>"$TMPDIR/said"
	local status=$?
	"$FAULTLINE" check --json "${rules[@]}" "$TMPDIR/c" >"$TMPDIR/slow" 2>"$TMPDIR/err"
	[ $? = $status ] || fail "$*: $status: $(cat "$TMPDIR/said" "$TMPDIR/err")"
	for way in quick slow; do
		jq '[.findings[] | {rule, at, time, instances, block}]' "$TMPDIR/$way" \
			>"$TMPDIR/$way.found" || fail "$*: no result"
	done
	cmp -s "$TMPDIR/quick.found" "$TMPDIR/slow.found" ||
		fail "$*: $(diff "$TMPDIR/quick.found" "$TMPDIR/slow.found")"
	values=$(sed -nE 's/.*the guard of (values|both) ran up to .*, doubt //p' "$TMPDIR/said" | tail -1)
	n=$(jq '.findings | length' "$TMPDIR/slow")
	doubt=$(sed -nE 's/.*the guard( of both)? ran up to .*, doubt //p' "$TMPDIR/said" | tail -1)
	((n && ++wrong))
	[ "$n" != 0 ] || [ "$doubt" != 0 ] || quick=$((quick + 1))
	[ "$n" = 0 ] || [ "$doubt" != 0 ] || [ "${values:-0}" != 0 ] || grep -Eq "LEAK|NULL-DEREF|WILD-DEREF" "$TMPDIR/slow.found" ||
		fail "$*: there was no doubt of what is wrong"
	accesses "$*"
}

# followed NAME [OPTION...]: program NAME.c is wrong as it stands, right with an argument; both ways know, the right one
# quickly.
followed() {
	gcc -O1 -s -fno-builtin -w "${@:2}" -o "$TMPDIR/$1" "$TMPDIR/$1.c" || fail "cannot compile"
	same "$TMPDIR/$1"
	[ "$n" = 1 ] || fail "$1: $(cat "$TMPDIR/slow.found")"
	quick=0
	same "$TMPDIR/$1" right
	[ $quick = 1 ] || fail "$1: $(cat "$TMPDIR/said")"
	quick=0
}

# numbered NAME LAST: program NAME is right, and that is known quickly; with a number up to LAST it has one mistake.
numbered() {
	quick=0
	same "$TMPDIR/$1"
	[ $quick = 1 ] && grep -Eq 'guard( of both)? ran up to .* \(4\), doubt 0' "$TMPDIR/said" ||
		fail "$1: $(cat "$TMPDIR/said")"
	for ((i = 1; i <= $2; i++)); do
		same "$TMPDIR/$1" $i
		[ "$n" = 1 ] || fail "$1 $i: $(cat "$TMPDIR/slow.found")"
	done
}
