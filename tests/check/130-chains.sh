#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The ways of the values that a rule names, the latest statement first: a pointer that a shallow copy gave to two
# owners, one that was NULL from the beginning, one beyond its block; and what is known is not told.
. tests/lib.sh
need gojq cc
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

# A return address that was overwritten, by a library and by the program: the function that returned is the place.
cat >"$TMPDIR/smash.c" <<'END'
#include <string.h>
static const char text[] = "0123456789012345678901234567890123456789"
			   "0123456789012345678901234567890123456789";
__attribute__((noinline)) void fill(char *to, int by_library)
{
	if (by_library)
		strcpy(to, text); // library
	else
		for (int i = 0; i < 80; i++)
			to[i] = 0; // program
}
__attribute__((noinline)) int victim(int by_library)
{
	char part[16];

	fill(part, by_library);
	return part[3];
} // returned
int main(int argc, char **argv)
{
	return victim(argc > 1) + 1;
}
END
for level in O0 O2; do
	cc -g -$level -w -fno-stack-protector -fno-builtin -D_FORTIFY_SOURCE=0 -o "$TMPDIR/smash" "$TMPDIR/smash.c" ||
		fail "cannot compile"
	for by in library program; do
		rm -rf "$TMPDIR/s"
		want_status=139 make_capture "$TMPDIR/s" "$TMPDIR/smash" $([ $by = program ] || echo x)
		expect_status 1 "$FAULTLINE" check --json "$TMPDIR/s"
		jq -r '.findings[] | select(.rule | test("NULL-DEREF|WILD-DEREF")) |
			([.at.line, .chains[0].links[0].line] | map(tostring) | join(" "))' "$TMPDIR/out" >"$TMPDIR/told"
		want="$(grep -n '// returned' "$TMPDIR/smash.c" | cut -d: -f1) $(grep -n "// $by" "$TMPDIR/smash.c" | cut -d: -f1)"
		[ "$(cat "$TMPDIR/told")" = "$want" ] || fail "-$level, by the $by: $(cat "$TMPDIR/told"), not $want"
	done
done

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
