#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Suites by which nothing can be ranked, or not all: none fails, all fail, an oracle that fails, an
# output that is right some time later, a call of which nobody knows what it wrote, no line
# information, no suite.
. tests/lib.sh

need gojq gcc
need_bpf
SUITE=("${RECORD[@]:0:${#RECORD[@]}-1}" suite)
cd "$TMPDIR" || exit 1
cat >p.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	if (n > 5)
		n++;
	if (n == 8)
		syscall(SYS_keyctl, 0x7ff, 0, 0, 0, 0);
	printf("%d\n", n);
	return argc - 2;
}
END
gcc -g -O0 -w -o p p.c && gcc -O0 -s -w -o stripped p.c || fail "compiling"
for n in 1 2 6 7 8; do
	echo $n >$n.out
done
printf '#!/bin/sh\nexit 9\n' >oracle
chmod +x oracle
# suite NAME PROGRAM - of the list on stdin.
suite() {
	cat >"$1.jsonl"
	"${SUITE[@]}" record --tests "$1.jsonl" -o "$1" -- "./$2" >said 2>&1 || [ $? = 1 ] ||
		fail "recording $1: $(cat said)"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$1"
}

suite fine p <<'END'
{"name": "1", "args": ["1"], "expected": "1.out"}
END
expect_status 2 "$FAULTLINE" rank fine
expect_error "cannot rank by 'fine': of 1 tests none failed"
suite bad p <<'END'
{"name": "6", "args": ["6"], "expected": "6.out"}
{"name": "7", "args": ["7"], "expected": "7.out"}
END
expect_status 1 "$FAULTLINE" rank --json bad
jq -e '.statements[0].line == 9 or .statements[0].line == 8' out >/dev/null || fail "$(cat out)"
jq -e '.notes | any(test("^captures of 1 tests are not complete; that of .7.: what keyctl"))' out >/dev/null ||
	fail "a gap: $(cat out)"
jq -e '.notes | any(test("no test passed"))' out >/dev/null || fail "not told that none passed"
suite asked p <<'END'
{"name": "1", "args": ["1"], "oracle": "oracle"}
{"name": "2", "args": ["2"], "expected": "2.out"}
{"name": "8", "args": ["8"], "expected": "8.out"}
END
expect_status 1 "$FAULTLINE" rank --json asked
jq -e '.left_out == 1 and (.notes[] | test("1 tests were not recorded, or nobody could tell"))' \
	out >/dev/null || fail "an oracle that fails: $(cat out)"
# What was expected has changed since: now it is what the capture shows.
echo 9 >8.out
expect_status 1 "$FAULTLINE" rank --json asked
jq -e '.runs == 0 and (.notes[] | test("its outcome is not certain"))' out >/dev/null ||
	fail "an uncertain outcome: $(cat out)"
suite plain stripped <<'END'
{"name": "6", "args": ["6"], "expected": "6.out"}
END
expect_status 2 "$FAULTLINE" rank plain
expect_error "no line information: build it with -g"
expect_status 2 "$FAULTLINE" rank nowhere
expect_error "cannot rank by 'nowhere'"
expect_status 2 "$FAULTLINE" rank --method best fine
truncate -s 300 bad/tests/6/capture/events* 2>/dev/null || truncate -s 300 bad/tests/6/capture/*.log
expect_status 2 "$FAULTLINE" rank bad
expect_error "the capture of test '6'"
