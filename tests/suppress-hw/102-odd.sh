#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What cannot be suppressed is said: a program that does not crash, one whose crash nothing
# defined, wrong options, no capture. At -O2, with calls in the tails of functions and registers
# for variables, the same line; and with the stack protector and an assertion. A program that means to
# abort() is not kept from it, and what was suppressed before is told.
. tests/lib.sh

need gojq gcc
cat >"$TMPDIR/fine.c" <<'END'
int main(void) { return 3; }
END
cat >"$TMPDIR/sent.c" <<'END'
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc > 1)
		syscall(SYS_keyctl, 0x7ff, 0, 0, 0, 0);
	abort();
}
END
cat >"$TMPDIR/canary.c" <<'END'
#include <assert.h>
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) int copy(const char *from)
{
	char to[16];
	strcpy(to, from); // FAULT canary
	return to[3];
}
int main(int argc, char **argv)
{
	int n = 7;
	puts("start");
	if (argc > 1)
		return copy("this is too long for sixteen");
	for (int i = 0; i < 3; i++)
		n -= 3; // FAULT assert
	for (int i = 0; i < 100; i++)
		argv[0][0] ^= i;
	assert(n > 0);
	return n;
}
END
cat >"$TMPDIR/means.c" <<'END'
#include <stdlib.h>
static int *p;
int main(void)
{
	p = NULL; // FAULT
	*p = 1;
	abort();
}
END
for program in fine sent means canary; do
	gcc -g -O0 -w -U_FORTIFY_SOURCE -fstack-protector-all -o "$TMPDIR/$program" "$TMPDIR/$program.c" ||
		fail "compiling $program"
done
want_status=3 make_capture "$TMPDIR/fine.flt" "$TMPDIR/fine"
expect_status 0 "$FAULTLINE" suppress "$TMPDIR/fine.flt"
grep -q "did not crash" "$TMPDIR/out" || fail "nothing said of a program that does not crash"
want_status=134 make_capture "$TMPDIR/sent.flt" "$TMPDIR/sent"
expect_status 1 "$FAULTLINE" suppress "$TMPDIR/sent.flt"
grep -q "^not removed: .*sent.c:9 in main.*nothing more is known" "$TMPDIR/out" ||
	fail "abort() by nothing: $(cat "$TMPDIR/out")"
want_status=139 make_capture "$TMPDIR/means.flt" "$TMPDIR/means"
expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/means.flt"
jq -e '.removed == false and .suppressed_last[0].line == 5' "$TMPDIR/out" >/dev/null ||
	fail "means to abort(): $(cat "$TMPDIR/out")"
expect_status 1 "$FAULTLINE" suppress "$TMPDIR/means.flt"
grep -q "^what was suppressed last: .*means.c:5 in main" "$TMPDIR/out" ||
	fail "means to abort(): $(cat "$TMPDIR/out")"
for how in canary assert; do
	[ $how = canary ] && args=x || args=
	want_status=134 make_capture "$TMPDIR/$how.flt" "$TMPDIR/canary" $args
	expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/$how.flt"
	jq -e --argjson line "$(sed -n "\|// FAULT $how|=" "$TMPDIR/canary.c")" \
		'.removed and .identified[0].line == $line' "$TMPDIR/out" >/dev/null ||
		fail "$how: $(cat "$TMPDIR/out")"
done
for kind in heap-encode double-free null-field; do
	gcc -g -O2 -w -U_FORTIFY_SOURCE -o "$TMPDIR/$kind" "tests/suppress-hw/kinds/$kind.c"
	"${RECORD[@]}" -o "$TMPDIR/$kind.flt" -- "$TMPDIR/$kind" >/dev/null 2>&1
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/$kind.flt"
	expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/$kind.flt"
	jq -e --argjson line "$(sed -n "\|// FAULT|=" "tests/suppress-hw/kinds/$kind.c")" \
		'.removed and .identified[0].line == $line' "$TMPDIR/out" >/dev/null ||
		fail "$kind at -O2: $(cat "$TMPDIR/out")"
done
expect_status 2 "$FAULTLINE" suppress "$TMPDIR/nowhere.flt"
expect_error "cannot look for the first corruption in '.*nowhere.flt'"
expect_status 2 "$FAULTLINE" suppress --runs 0 "$TMPDIR/fine.flt"
expect_status 2 "$FAULTLINE" suppress --mode itanium "$TMPDIR/fine.flt"
grep -q "'itanium' is no mode: software, nat-reg or nat-mem" "$TMPDIR/err" || fail "a mode: $(cat "$TMPDIR/err")"
expect_status 2 "$FAULTLINE" suppress --granule 3 "$TMPDIR/fine.flt"
grep -q "'3' is no granule: 1, 4 or 8" "$TMPDIR/err" || fail "a granule: $(cat "$TMPDIR/err")"
expect_status 1 "$FAULTLINE" suppress --html "$TMPDIR/page.html" "$TMPDIR/assert.flt"
grep -q 'first corruption, likely: .*canary.c:[0-9]* in main <code>n -= 3; // FAULT assert</code>' "$TMPDIR/page.html" &&
	grep -q '<td>[1-9].*canary.c' "$TMPDIR/page.html" && ! grep -q '<script\|href=' "$TMPDIR/page.html" ||
	fail "the page: $(cat "$TMPDIR/page.html")"
# What a capture lacks is told, and not made up.
"${RECORD[@]}" -o "$TMPDIR/gap.flt" -- "$TMPDIR/sent" x >/dev/null 2>&1
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/gap.flt"
expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/gap.flt"
jq -e '.notes | any(test("^the capture is not complete: what keyctl with command 0x7ff"))' \
	"$TMPDIR/out" >/dev/null || fail "a gap: $(cat "$TMPDIR/out")"
expect_status 0 "$FAULTLINE" slice "$TMPDIR/gap.flt"
grep -q "note: the capture is not complete: what keyctl with command 0x7ff" "$TMPDIR/err" ||
	fail "slice does not tell of a gap: $(cat "$TMPDIR/err")"
cp -r "$TMPDIR/assert.flt" "$TMPDIR/cut.flt"
truncate -s $(($(stat -c %s "$TMPDIR/cut.flt/events.flt") / 2)) "$TMPDIR/cut.flt/events.flt"
expect_status 2 "$FAULTLINE" suppress "$TMPDIR/cut.flt"
grep -q "the capture breaks off before the end\|is damaged\|cut" "$TMPDIR/err" || fail "a gap: $(cat "$TMPDIR/err")"
