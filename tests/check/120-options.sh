#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Rules of one's own, also about accesses that are right, transactions and collectors; which rules are asked;
# SARIF and page; what cannot be done is one line and status 2.
. tests/lib.sh
need gojq cc
need_bpf

cat >"$TMPDIR/p.c" <<'END'
#include <stdlib.h>
#include <string.h>
void *kept[8];
int n;
__attribute__((noinline)) void serve(void) { kept[n] = malloc(100 + n); n++; free(malloc(7)); } // leaks
__attribute__((noinline)) void collect(void) { kept[0] = NULL; }
int main(void)
{
	serve();
	memset(kept[0], 1, 5); // large
	serve();
	serve();
	collect();
	free(kept[1]);
	free(kept[2]);
	kept[1] = kept[2] = NULL;
	return 0;
}
END
cc -g -O0 -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cannot compile"
make_capture "$TMPDIR/c" "$TMPDIR/p"
line() { grep -n "$1" "$TMPDIR/p.c" | head -n 1 | cut -d: -f1; }
# found RULE... - what JSON has: a line each, RULE LINE.
found() {
	jq -r '.findings[] | "\(.rule) \(.at.line)"' "$TMPDIR/out"
}

expect_status 1 "$FAULTLINE" check --json "$TMPDIR/c"
[ "$(found)" = "DEFINITE-LEAK $(line leaks)" ] || fail "$(found)"
expect_status 0 "$FAULTLINE" check --only double-free,OVERLAP "$TMPDIR/c"
expect_status 0 "$FAULTLINE" check --json --only LEAK-IN-TS --function ts=serve "$TMPDIR/c"
[ "$(found | uniq -c)" = "      3 LEAK-IN-TS $(line leaks)" ] || fail "in the transaction: $(found)"
expect_status 0 "$FAULTLINE" check --json --only LEAK-IN-TS "$TMPDIR/c"
[ -z "$(found)" ] || fail "no transaction was named: $(found)"
expect_status 0 "$FAULTLINE" check --only POSSIBLE-LEAK --json "$TMPDIR/c"
[ "$(jq '.findings[0].bytes' "$TMPDIR/out")" = 100 ] || fail "$(cat "$TMPDIR/out")"

cat >"$TMPDIR/mine.rules" <<'END'
define Alive(b) = exists p in P suchthat Bid(p) == b;
[LARGE] detect deref_w r: Width() >= 1 and Size(r) == 100 and Idx(r) < 5 message "a large one";
[GC-BUG] detect ret collect: exists b in dom(H) suchthat not Alive(b) severity error;
[CALLED] detect call serve: 1 == 1 severity note;
END
expect_status 1 "$FAULTLINE" check --json --rules "$TMPDIR/mine.rules" "$TMPDIR/c"
found >"$TMPDIR/found"
grep -qx "LARGE $(line '// large')" "$TMPDIR/found" || fail "no LARGE: $(cat "$TMPDIR/found")"
[ "$(grep GC-BUG "$TMPDIR/found")" = "GC-BUG $(line leaks)" ] || fail "not one GC-BUG: $(cat "$TMPDIR/found")"
[ "$(grep -c '^CALLED ' "$TMPDIR/found")" = 3 ] || fail "CALLED: $(cat "$TMPDIR/found")"

expect_status 1 "$FAULTLINE" check --sarif "$TMPDIR/s.json" --html "$TMPDIR/p.html" "$TMPDIR/c"
jq -e '.version == "2.1.0" and (.runs[0].results | length) == 1 and
	.runs[0].results[0].ruleId == "DEFINITE-LEAK" and .runs[0].results[0].level == "error" and
	.runs[0].results[0].locations[0].physicalLocation.region.startLine > 0 and
	(.runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri | test("^file:///")) and
	([.runs[0].tool.driver.rules[].id] | index("DEFINITE-LEAK")) and
	([.runs[0].tool.driver.rules[] | .shortDescription.text, .fullDescription.text, .help.text] |
		all(. != null and . != ""))' "$TMPDIR/s.json" >"$TMPDIR/jq" ||
	fail "$(cat "$TMPDIR/s.json")"
grep -q 'no pointer leads to it' "$TMPDIR/p.html" || fail "the page: $(cat "$TMPDIR/p.html")"

expect_status 2 "$FAULTLINE" check --only double-fre "$TMPDIR/c"
expect_error "there is no rule 'double-fre' \(did you mean 'DOUBLE-FREE'\?\)"
expect_status 2 "$FAULTLINE" check --rules tests/specdsl/mistakes.rules "$TMPDIR/c"
expect_error "the rules have [0-9]+ mistakes"
# What is not followed is not answered.
echo '[USES] detect deref_w r: not Written(r);' >"$TMPDIR/uses.rules"
expect_status 2 "$FAULTLINE" check --rules "$TMPDIR/uses.rules" "$TMPDIR/c"
expect_error "rule 'USES' .*: that can be asked at .use. and .deref_r. alone"
echo '[READS] detect ret strcpy r: Reads() > 1;' >"$TMPDIR/reads.rules"
expect_status 2 "$FAULTLINE" check --rules "$TMPDIR/reads.rules" "$TMPDIR/c"
expect_error "rule 'READS' .*: that can be asked at .call. alone"
expect_status 2 "$FAULTLINE" check --strict --rules "$TMPDIR/mine.rules" "$TMPDIR/c"
expect_error "cannot check strictly: there is no rule 'UNINIT-READ'"
expect_status 2 "$FAULTLINE" check --rules "$TMPDIR/none.rules" "$TMPDIR/c"
expect_status 2 "$FAULTLINE" check "$TMPDIR/none"
expect_error "cannot open capture"
expect_status 2 "$FAULTLINE" check
exit 0
