#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Bug rules: the paper's Figure 3.10 is read as it stands there, the shipped ones have no mistakes
# and are written the one way; each mistake is shown on its line; formatting changes no meaning.
. tests/lib.sh
need gojq

meaning() {
	"$FAULTLINE" spec check --json "$1" |
		jq -c '[.errors, [.rules[] | [.name, .point, .severity, .off, (.text | gsub("\\s"; ""))]]]'
}

# A system call that there is not would never be found.
echo '[X] detect syscall "read|fstatt"(fd): fd == 1 severity note;' >"$TMPDIR/unknown.rules"
expect_status 1 "$FAULTLINE" spec check "$TMPDIR/unknown.rules"
grep -q "there is no system call 'fstatt'" "$TMPDIR/out" "$TMPDIR/err" &&
	grep -q "did you mean 'fstat'?" "$TMPDIR/out" "$TMPDIR/err" || fail "$(cat "$TMPDIR/out" "$TMPDIR/err")"

cat >"$TMPDIR/figure.rules" <<'END'
define Allocated(r) = exists event(_, malloc, _, bid) in Trace suchthat (bid == Bid(r))
define Freed(r, r1) = exists event(_, free, r1, bid) in Trace suchthat (bid == Bid(r))
[double_free] detect <Trace; free r>: Allocated(r) && Freed(r, r1) :VPC(r), VPC(r1)
[uninit] detect <Trace; deref_r r>: no FindLast(_, write, r, _)
[null]   detect <Trace; deref r>: r = NULL : VPC(r)
END
expect_status 0 "$FAULTLINE" spec check "$TMPDIR/figure.rules"
grep -q 'double_free: error free r, chains of r, r1' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
grep -q ' 3 bug rules' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

n=0
for rules in specs/rules/*.rules "$TMPDIR/figure.rules"; do
	"$FAULTLINE" spec format "$rules" >"$TMPDIR/once.rules" || fail "cannot format $rules"
	[ "$(meaning "$rules")" = "$(meaning "$TMPDIR/once.rules")" ] ||
		fail "$rules says something else: $(cat "$TMPDIR/once.rules")"
	"$FAULTLINE" spec format "$TMPDIR/once.rules" | cmp - "$TMPDIR/once.rules" ||
		fail "$rules: formatting again changes it"
	[[ $rules != specs/* ]] || cmp "$rules" "$TMPDIR/once.rules" || fail "$rules is not formatted"
	n=$((n + 1))
done
[ $n -ge 3 ] || fail "only $n files of rules"

mistakes=tests/specdsl/mistakes.rules
expect_status 1 "$FAULTLINE" spec check $mistakes
[ "$(grep -c ': error: ' "$TMPDIR/err")" = "$(grep -c '# expect error: ' $mistakes)" ] ||
	fail "$(cat "$TMPDIR/err")"
while IFS=: read -r line text; do
	want=${text#*# expect error: }
	grep -F "$mistakes:$line:" "$TMPDIR/err" | grep -qF "error: $want" ||
		fail "line $line: no '$want' in $(cat "$TMPDIR/err")"
done < <(grep -n '# expect error: ' $mistakes)
exit 0
