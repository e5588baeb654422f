#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# faultline suite: tests that pass, fail, crash, hang, or that an oracle judges; each leaves a
# capture that replays. Tests that cannot be recorded. Lists with mistakes.
. tests/lib.sh

need gojq
need_bpf
SUITE=("${RECORD[@]:0:${#RECORD[@]}-1}" suite)
cd "$TMPDIR" || exit 1
mkdir lists
cat >prog <<'END'
#!/bin/sh
case $1 in
fails) echo bad; exit 3 ;;
crashes) kill -SEGV $$ ;;
hangs) while :; do :; done ;;
waits) sleep 600; echo woken ;;
reads) read -r line; echo "$line" ;;
*) echo "$@" ;;
esac
END
cat >lists/oracle <<'END'
#!/bin/sh
[ "$1" = asked ] || [ "$1" = denied ] || [ "$2" = 0 ] || exit 5
grep -qx yes && exit 0
echo "no yes"
exit 1
END
printf '#!/bin/sh\nkill -TERM $$\n' >lists/killed
chmod +x prog lists/oracle lists/killed
echo text >lists/in
echo text >lists/out
echo "1 2" >lists/args
cat >lists/all.jsonl <<'END'
{"name": "reads", "args": ["reads"], "stdin": "in", "expected": "out"}
{"name": "args", "args": ["1", "2"], "expected": "args", "status": 0}

{"name": "differs", "args": ["1", "3"], "expected": "args"}
{"name": "shorter", "args": ["reads"], "expected": "out"}
{"name": "status", "args": ["fails"], "status": 3}
{"name": "other status", "args": ["fails"], "status": 0}
{"name": "crashes", "args": ["crashes"]}
{"name": "crashes well", "args": ["crashes"], "status": 139}
{"name": "hangs", "args": ["hangs"]}
{"name": "waits", "args": ["waits"], "status": 0}
{"name": "asked", "args": ["yes"], "oracle": "oracle"}
{"name": "denied", "args": ["no"], "oracle": "oracle"}
{"name": "who knows", "args": ["fails"], "oracle": "oracle"}
{"name": "no oracle", "args": [], "oracle": "killed"}
{"name": "whatever"}
END
mine() {
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$1"
}

expect_status 1 "${SUITE[@]}" record --tests lists/all.jsonl --timeout 4 -- ./prog
mine all.suite
[ "$(cat out)" = "15 tests: 5 passed, 7 failed, 3 unknown; 0 could not be recorded; in all.suite" ] ||
	fail "says: $(cat out)"
[ ! -s err ] || fail "talks: $(cat err)"
expect_status 0 "$FAULTLINE" suite list all.suite
cat >want <<END
passed     0  reads
passed     0  args
failed     0  differs: stdout differs from '$TMPDIR/lists/args' in line 1
failed     0  shorter: stdout differs from '$TMPDIR/lists/out' in line 1
passed     3  status
failed     3  other status: exit status 3, not 0
failed   139  crashes: killed by SIGSEGV
passed   139  crashes well
failed   137  hangs: hung: ended after 4 s
failed   137  waits: hung: ended after 4 s
passed     0  asked
failed     0  denied: no yes
unknown    3  who knows: its oracle ended with status 5
unknown    0  no oracle: its oracle ended with signal 15
unknown    0  whatever: nothing was expected of it
END
diff want out || fail "list prints something else"
expect_status 0 "$FAULTLINE" suite list --json all.suite
jq -e '.format == "faultline-suite" and .version == 1 and .command == ["./prog"] and
	(.tests | length) == 15 and (.tests[0] | .name == "reads" and .args == ["reads"] and
	.capture == "tests/reads/capture" and .outcome == "passed" and .status == 0 and .why == null) and
	(.tests[8] | .outcome == "failed" and .status == 137)' out >is || fail "$(cat out)"

# Each replays; what it printed is beside it.
n=0
while read -r capture; do
	expect_status 0 "$FAULTLINE" replay --stdout "all.suite/$capture"
	cmp out "$(dirname "all.suite/$capture")/stdout" || fail "$capture printed something else"
	n=$((n + 1))
done < <(jq -r '.tests[].capture' all.suite/suite.json)
[ $n = 15 ] || fail "$n captures"
pgrep -f "sleep 600" >pids && for pid in $(cat pids); do
	[ "$(readlink "/proc/$pid/cwd")" != "$TMPDIR" ] || fail "what hung was left running"
done

# Some cannot be recorded; the others are.
printf '{"name": "a", "status": 0}\n{"name": "b"}\n' >few.jsonl
expect_status 2 "${SUITE[@]}" record --tests few.jsonl -o none -- ./no-such-program
grep -q '^2 tests: 0 passed, 0 failed, 2 unknown; 2 could not be recorded' out || fail "$(cat out)"
mine none
jq -e '.tests | all(.capture == null and .outcome == "unknown" and .status == -1 and
	(.why | test("no-such-program")))' none/suite.json >is || fail "$(cat none/suite.json)"

# All pass.
printf '{"name": "a", "status": 0}\n{"name": "b", "oracle": "lists/oracle"}\n' >few.jsonl
expect_status 0 "${SUITE[@]}" record --tests few.jsonl --jobs 1 -o few -- ./prog yes
grep -q '^2 tests: 2 passed, 0 failed' out || fail "$(cat out)"
mine few

# ---- mistakes in the list: one line, and nothing is made

# wrong PATTERN LINE... - such a list is refused.
wrong() {
	local pattern=$1
	shift
	printf '%s\n' "$@" >bad.jsonl
	expect_status 2 "$FAULTLINE" suite record --tests bad.jsonl -o bad -- ./prog
	expect_error "cannot read tests 'bad.jsonl': $pattern"
	[ ! -e bad ] || fail "a directory was left: $pattern"
}
wrong 'there is none in it' ''
wrong 'line 1: not a JSON object' '{"name": "a"'
wrong 'line 3: not a JSON object' '{"name": "a"}' '' '["b"]'
wrong 'line 1: "name" is missing' '{"args": ["a"]}'
wrong 'line 1: "name" must be' '{"name": "../a"}'
wrong 'line 1: "name" must be' '{"name": ""}'
wrong "line 2: a second test 'a'" '{"name": "a"}' '{"name": "a"}'
wrong 'line 1: "args" must be' '{"name": "a", "args": "b"}'
wrong 'line 1: "args" must be' '{"name": "a", "args": ["b", 1]}'
wrong 'line 1: "status" must be' '{"name": "a", "status": 256}'
wrong 'line 1: "status" must be' '{"name": "a", "status": 0.5}'
wrong 'line 1: "stdout" is unknown' '{"name": "a", "stdout": "lists/out"}'
wrong 'line 1: "expected" or "oracle", not both' \
	'{"name": "a", "expected": "lists/out", "oracle": "lists/oracle"}'
wrong "line 1: cannot read stdin '.*/missing': No such" '{"name": "a", "stdin": "missing"}'
wrong "line 1: cannot read stdin '.*/lists': Is a dir" '{"name": "a", "stdin": "lists"}'
wrong "line 1: cannot read expected '.*/missing': No such" '{"name": "a", "expected": "missing"}'
wrong "line 1: cannot execute oracle '.*/lists/out': Perm" '{"name": "a", "oracle": "lists/out"}'
expect_status 2 "$FAULTLINE" suite record --tests none.jsonl -- ./prog
expect_error "none.jsonl.*: No such file"

# ---- of the command line, and of what is there

expect_status 2 "$FAULTLINE" suite
expect_status 2 "$FAULTLINE" suite play all.suite
expect_status 2 "$FAULTLINE" suite record -- ./prog
expect_status 2 "$FAULTLINE" suite record --tests few.jsonl
expect_status 2 "$FAULTLINE" suite record --tests few.jsonl --jobs 0 -- ./prog
expect_status 2 "$FAULTLINE" suite list
expect_status 2 "$FAULTLINE" suite list lists
expect_error 'not a finished suite'
expect_status 2 "$FAULTLINE" suite list nowhere
expect_error 'nowhere.*No such'
expect_status 2 "$FAULTLINE" suite record --tests few.jsonl -o lists -- ./prog
expect_error "cannot record into 'lists'.*no suite"
[ -e lists/oracle ] || fail "something was removed"
expect_status 2 "$FAULTLINE" suite record --tests few.jsonl -o few -- ./prog
expect_error 'another command'
printf '{"name": "a", "args": ["b"], "status": 0}\n' >other.jsonl
expect_status 2 "$FAULTLINE" suite record --tests other.jsonl -o few -- ./prog yes
expect_error "its test 'a'"
mkdir damaged
for text in '' '{}' '{"format": "faultline-suite", "version": 1}' \
	'{"format": "faultline-suite", "version": 99}' \
	"$(sed 's/"tests.reads.capture"/"..\/x"/' all.suite/suite.json)" \
	"$(sed 's/"passed"/"perhaps"/' all.suite/suite.json)"; do
	echo "$text" >damaged/suite.json
	expect_status 2 "$FAULTLINE" suite list damaged
	expect_error "cannot read 'damaged/suite.json'"
done
exit 0
