#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A capture alone as an argument: what it is, how it ended, and commands that can be run as they
# stand; of every kind of thing that there is, and of what is none.
. tests/lib.sh

need_bpf
cd "$TMPDIR" || exit 1

# runs_advice STATUSES PATH - each command that is named ends with one of them.
runs_advice() {
	local statuses=$1 command got n=0
	"$FAULTLINE" info --json "$2" >json || fail "$2: status $?"
	while read -r command; do
		n=$((n + 1))
		[[ $command != *" debug "* ]] || command+=" -- -batch"
		got=0
		eval "\"\$FAULTLINE\" ${command#faultline }" >out 2>err </dev/null || got=$?
		[[ $statuses == *$got* ]] || fail "$command: status $got: $(cat out err)"
	done < <(jq -r '.next[].command' json)
	[ $n -ge 2 ] || fail "$2: $n commands"
}
is() { # PATH FILTER WANT
	local got
	got=$("$FAULTLINE" info --json "$1" | jq -r "$2") || fail "$1: no JSON"
	[ "$got" = "$3" ] || fail "$1: $2 is '$got', not '$3'"
}

need gojq gdb
"${RECORD[@]}" -e heap -o "it's a crash" -- "$BUILD/examples/list-O2" >/dev/null 2>&1
"${RECORD[@]}" -o fine.flt -- /bin/echo hello >/dev/null || fail "cannot record"
"${RECORD[@]}" -f -o tree.flt -- sh -c '/bin/echo one; exit 3' >/dev/null 2>&1
echo '{ "name": "a", "args": ["a"], "status": 0 }' >tests
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" .
"$FAULTLINE" suite record --tests tests -o tests.suite -- /bin/echo >/dev/null || fail "no suite"

is "it's a crash" .kind capture
is "it's a crash" '.end, .end_value' $'signal\n11'
is "it's a crash" '.next[0].command' "faultline analyze 'it'\\''s a crash'"
runs_advice "0 1" "it's a crash"
is fine.flt '.argv | join(" ")' "/bin/echo hello"
is fine.flt '.end, .end_value, .complete' $'exit\n0\ntrue'
runs_advice 0 fine.flt
is tree.flt '.end_value, .processes' $'3\n1'
runs_advice "0 1" tree.flt
is tests.suite '.kind, .passed, .failed' $'suite\n1\n0'

expect_status 0 "$FAULTLINE" "it's a crash"
grep -q 'it was ended by SIGSEGV' out || fail "no end: $(cat out)"
expect_status 0 "$FAULTLINE" ./tests.suite
grep -q '1 tests: 1 passed, 0 failed' out || fail "no counts: $(cat out)"
expect_status 2 "$FAULTLINE" no-such-thing
expect_error "no such command, and no capture"
expect_status 2 "$FAULTLINE" analyze no-such-thing
expect_error "cannot open capture 'no-such-thing': .* .a capture is a directory that .faultline record"
expect_status 2 "$FAULTLINE" replay "$0"
expect_error "Not a directory .a capture is"
expect_status 2 "$FAULTLINE" tests
expect_error "tests"
mkdir empty
expect_status 2 "$FAULTLINE" empty
expect_error empty
mv fine.flt/manifest.json .
expect_status 0 "$FAULTLINE" fine.flt
grep -q 'faultline replay fine.flt' out || fail "nothing to do with what was killed: $(cat out)"
echo '{"version": 99999}' >fine.flt/manifest.json
expect_status 2 "$FAULTLINE" fine.flt
expect_error "fine.flt"
exit 0
