#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The ways of the values that a rule names, the latest statement first: a pointer that a shallow copy gave to two
# owners, one that was NULL from the beginning, one beyond its block; and what is known is not told.
. tests/lib.sh
need gojq cc gcc clang
need_bpf

cat >"$TMPDIR/p.c" <<'END'
#include <stdlib.h>
#include <string.h>
struct owner { long id; char *name; };
struct owner first, second;
struct owner *nobody;
char *make(void)
{
	char *p = malloc(24); // born
	return p;
}
void set(struct owner *o)
{
	o->name = make(); // set
}
void copy(struct owner *to, const struct owner *from)
{
	*to = *from; // shallow
}
void drop(struct owner *o)
{
	free(o->name); // drop
}
struct owner *choose(int n)
{
	struct owner *o = n > 5 ? &first : nobody; // null
	return o;
}
int main(int argc, char **argv)
{
	struct owner *o;
	char *other;

	set(&first);
	copy(&second, &first);
	drop(&first);
	other = malloc(24);
	drop(&second);
	o = choose(argc);
	o->id = 3; // use
	return 0;
}
END
cc -g -O0 -o "$TMPDIR/p" "$TMPDIR/p.c" || fail "cannot compile"
want_status=139 make_capture "$TMPDIR/c" "$TMPDIR/p"
line() { grep -n "// $1\$" "$TMPDIR/p.c" | cut -d: -f1; }
# chain RULE NAME - the lines that it has, the latest first, and how it ends.
chain() {
	jq -r --arg rule "$1" --arg name "$2" '.findings[] | select(.rule == $rule) | .chains[] |
		select(.of == $name) | ([.links[].line | tostring] + [.end]) | join(" ")' "$TMPDIR/out"
}
expect_status 1 "$FAULTLINE" check --json "$TMPDIR/c"
[[ "$(chain DOUBLE-FREE r)" =~ ^"$(line drop) $(line shallow) $(line set)".*"$(line born) allocated"$ ]] ||
	fail "what is freed again: $(chain DOUBLE-FREE r)"
[[ "$(chain DOUBLE-FREE r1)" =~ ^"$(line drop) $(line set)".*"$(line born) allocated"$ ]] ||
	fail "what was freed first: $(chain DOUBLE-FREE r1)"
[[ "$(chain NULL-DEREF r)" =~ ^"$(line use) ".*"$(line null) initial"$ ]] ||
	fail "what was NULL: $(chain NULL-DEREF r)"
# A copy has the value it copied.
[ "$(jq -r '[.findings[] | select(.rule == "DOUBLE-FREE") | .values.r,
	(.chains[].links[] | select(.arithmetic | not) | .value | strings)] | unique | length' "$TMPDIR/out")" = 1 ] ||
	fail "values differ: $(jq -c '.findings[].chains' "$TMPDIR/out")"

# A return address that was overwritten, or the stack guard before it: by a library, the program and the kernel.
cat >"$TMPDIR/smash.c" <<'END'
#include <string.h>
#include <unistd.h>
static const char text[] = "0123456789012345678901234567890123456789"
			   "0123456789012345678901234567890123456789";
__attribute__((noinline)) void fill(char *to, int by)
{
	if (by == 1)
		strcpy(to, text); // library
	else if (by == 2)
		for (int i = 0; i < 80; i++)
			to[i] = 0; // program
	else
		read(0, to, 80); // kernel
}
__attribute__((noinline)) int victim(int by)
{
	char part[16];

	fill(part, by);
	return part[3];
}
int main(int argc, char **argv)
{
	return victim(argc) + 1;
}
END
at() { grep -n "// $1\$" "$TMPDIR/smash.c" | cut -d: -f1; }
# Which statement is accused, with and without the rules about variables.
accused() { jq -r '.findings[] | select(.rule == "STACK-OVERFLOW") | .at.line' "$TMPDIR/out" | sort -u; }
head -c 80 /dev/zero | tr '\0' x >"$TMPDIR/input"
while IFS='|' read -r cc guard by; do
	$cc -g -w -fno-builtin -D_FORTIFY_SOURCE=0 "$guard" -o "$TMPDIR/smash" "$TMPDIR/smash.c" || fail "cannot compile"
	rm -rf "$TMPDIR/s"
	case $by in library) arguments= ;; program) arguments=x ;; *) arguments="x x" ;; esac
	case $guard in *-all) status=134 ;; *) status=139 ;; esac
	want_status=$status make_capture "$TMPDIR/s" "$TMPDIR/smash" $arguments <"$TMPDIR/input"
	expect_status 1 "$FAULTLINE" check --json "$TMPDIR/s"
	[ "$(accused)" = "$(at $by)" ] || fail "$cc $guard, by the $by: $(accused)"
	jq -r '.findings[] | select(.rule | test("NULL-DEREF|WILD-DEREF")) |
		"\(.at.function) \(.chains[0].links[0].line)"' "$TMPDIR/out" >"$TMPDIR/told"
	[ $status = 134 ] || [ "$(cat "$TMPDIR/told")" = "victim $(at $by)" ] || fail "$cc, by the $by: $(cat "$TMPDIR/told")"
	expect_status 1 "$FAULTLINE" analyze --json "$TMPDIR/s"
	[ "$(jq .end.overwritten.line "$TMPDIR/out")" = "$(at $by)" ] || fail "$cc, analyze: $(jq -c .end "$TMPDIR/out")"
done <<'END'
gcc -O0|-fno-stack-protector|kernel
gcc -O0|-fstack-protector-all|library
gcc -O2|-fno-stack-protector|library
gcc -O2|-fstack-protector-all|program
clang -O2|-fno-stack-protector|program
clang -O2|-fstack-protector-all|kernel
END
# The frame pointer that a function keeps for its caller, whole or in part: not who wrote what the caller takes for its
# return address then.
cat >"$TMPDIR/kept.c" <<'END'
static long decoy[8];
__attribute__((noinline)) void callee(int part)
{
	void **kept = __builtin_frame_address(0);

	if (part)
		((char *)kept)[1] ^= 1; // part
	else
		*kept = decoy + 2; // whole
}
__attribute__((noinline)) void victim(int part)
{
	volatile long below[200];

	for (int i = 0; i < 200; i++)
		below[i] = 0x414243444546;
	callee(part);
}
int main(int argc, char **argv)
{
	volatile long above[200];

	for (int i = 0; i < 200; i++)
		above[i] = 0x414243444546;
	victim(argc - 1);
	return above[argc] != 0;
}
END
for part in whole part; do
	gcc -g -w -O0 -fno-stack-protector -o "$TMPDIR/kept" "$TMPDIR/kept.c" || fail "cannot compile"
	rm -rf "$TMPDIR/s"
	arguments=
	[ $part = whole ] || arguments=x
	want_status=139 make_capture "$TMPDIR/s" "$TMPDIR/kept" $arguments
	want=$(grep -n "// $part\$" "$TMPDIR/kept.c" | cut -d: -f1)
	expect_status 1 "$FAULTLINE" check --json "$TMPDIR/s"
	[ "$(accused)" = "$want" ] || fail "frame pointer, $part: $(accused)"
	expect_status 1 "$FAULTLINE" analyze --json "$TMPDIR/s"
	[ "$(jq .end.overwritten.line "$TMPDIR/out")" = "$want" ] || fail "analyze: $(jq -c .end "$TMPDIR/out")"
done
# Who only gives up is not accused.
printf '#include <stdlib.h>\nint main(int c, char **v) { volatile char b[16]; b[c] = 1; if (b[c]) abort(); return 0; }\n' >"$TMPDIR/gives.c"
cc -g -O2 -fstack-protector-all -o "$TMPDIR/gives" "$TMPDIR/gives.c" || fail "cannot compile"
want_status=134 make_capture "$TMPDIR/g" "$TMPDIR/gives"
expect_status 0 "$FAULTLINE" check --json "$TMPDIR/g"

cat >"$TMPDIR/known.supp" <<END
# what is known
{
   two owners
   Memcheck:Free
   fun:free
   fun:dr?p
   ...
   src:p.c:*
}
{
   nothing
   Memcheck:Leak
   match-leak-kinds: definite
   fun:malloc
   fun:main
}
END
expect_status 1 "$FAULTLINE" check --json --suppressions "$TMPDIR/known.supp" "$TMPDIR/c"
[ "$(jq -r '[.findings[].rule] | join(" ")' "$TMPDIR/out")" = NULL-DEREF ] || fail "$(cat "$TMPDIR/out")"
grep -q '1 finding is suppressed' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
printf '{\n x\n Memcheck:Free\n fun:free\n nonsense\n}\n' >"$TMPDIR/bad.supp"
expect_status 2 "$FAULTLINE" check --suppressions "$TMPDIR/bad.supp" "$TMPDIR/c"
expect_error "line 5: expected fun:, obj:, src:"
exit 0
