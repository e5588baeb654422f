#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What repair has no words for is refused with its place; what contradicts, or cannot be done, is told.
. tests/lib.sh

# refused TEXT CODE - a function of CODE is refused, with the line and these words.
refused() {
	printf 'struct node { int data; float weight; union { int i; } u; struct node *next; };\n%s\n' "$2" \
		>"$TMPDIR/f.c"
	got=0
	"$FAULTLINE" repair --source "$TMPDIR/f.c" --function f --ir >"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
	[ $got = 2 ] && grep -q "line 2, column [0-9]*: $1" "$TMPDIR/err" && [ ! -s "$TMPDIR/out" ] ||
		fail "$2: status $got: $(cat "$TMPDIR/out" "$TMPDIR/err")"
}

refused 'a field that is neither' 'void f(struct node *n) { n->weight = 1; }'
refused 'a variable that is neither' 'void f(struct node *n) { double d = 1; }'
refused 'pointer arithmetic' 'void f(struct node *n) { n = n + 1; }'
refused 'pointer arithmetic' 'void f(struct node *n) { n++; }'
refused 'a cast from a pointer' 'int f(struct node *n) { return (int)(long)n; }'
refused 'a cast from a number' 'struct node *f(long n) { return (struct node *)n; }'
refused 'the address' 'void g(void *p); void f(struct node *n) { struct node *m = (void *)&n; }'
refused 'a switch or a goto' 'void f(int n) { switch (n) { case 1: break; } }'
refused "a call of 'g'" 'void g(int); void f(int n) { g(n); }'
refused 'a conditional' 'int f(int n) { return n ? 1 : 2; }'

# What nobody calls may have anything.
printf 'double g(double x) { return x * 2; }\nvoid f(int n) { n = n + 1; }\n' >"$TMPDIR/f.c"
"$FAULTLINE" repair --source "$TMPDIR/f.c" --function f --ir >"$TMPDIR/out" || fail "f() alone"
grep -q 'n = n + 1' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# What is told to be right need not be here: its number is the user's.
cat >"$TMPDIR/concrete.c" <<'C'
struct node { int data; struct node *next; };
int foo(void *p);
void bar(void);
struct node *make(void);
void f(struct node *n) {
	n->data = foo(n); // concrete
	bar(); // concrete
}
void g(struct node *n) { n->data = foo(n); }
void h(struct node *n) {
	n = make(); // concrete
}
C
"$FAULTLINE" repair --source "$TMPDIR/concrete.c" --function f --ir >"$TMPDIR/out" || fail "concrete"
[ "$(sed 's/.*: //' "$TMPDIR/out")" = "n->data = input()" ] || fail "concrete: $(cat "$TMPDIR/out")"
for f in g h; do
	! "$FAULTLINE" repair --source "$TMPDIR/concrete.c" --function $f --ir >"$TMPDIR/out" 2>"$TMPDIR/err" &&
		grep -q "a call of '[a-z]*', which is not in this file" "$TMPDIR/err" || fail "concrete: $(cat "$TMPDIR/out" "$TMPDIR/err")"
done

# could_not TEXT ARGUMENT...
could_not() {
	local want=$1
	shift
	got=0
	"$FAULTLINE" repair "$@" </dev/null >"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
	[ $got = 2 ] && grep -q -- "$want" "$TMPDIR/err" || fail "$*: status $got: $(cat "$TMPDIR/err")"
}
could_not "No such file" --source "$TMPDIR/none.c" --function f
could_not "no function 'h'" --source "$TMPDIR/f.c" --function h
could_not "No such file" --source "$TMPDIR/f.c" --function f --commands "$TMPDIR/none"
could_not "which function" --source "$TMPDIR/f.c"
could_not "not 'x'" --source "$TMPDIR/f.c" --function f --input x
echo 'void f(int n) { n = ; }' >"$TMPDIR/bad.c"
could_not "bad.c:1:21: error: expected expression" --source "$TMPDIR/bad.c" --function f

# Two drawings of one place; commands without sense.
cat >"$TMPDIR/commands" <<'C'
spec
start
until 20
enter
next
step
spec
change slow_ptr n1
spec
change nobody n1
change slow_ptr n77
dance
C
got=0
"$FAULTLINE" repair --source tests/repair/figure4.c --function deleteMid --commands "$TMPDIR/commands" \
	>"$TMPDIR/out" 2>"$TMPDIR/err" || got=$?
[ $got = 2 ] || fail "status $got"
grep -q "contradicts spec 0, which is of this place: slow_ptr is n1, not n3" "$TMPDIR/out" ||
	fail "$(cat "$TMPDIR/out")"
for text in "has not started" "no 'nobody' here" "'n77' is nothing" "'dance' is no command"; do
	grep -q "^cannot: .*$text" "$TMPDIR/out" || fail "$text: $(cat "$TMPDIR/out")"
done

# A crash has its line, and is not the end of the session.
cat >"$TMPDIR/crash.c" <<'C'
struct node { struct node *next; };
struct node *head;
void f(void)
{
	head = head->next;
}
int main(void)
{
	f();
	return 0;
}
C
printf 'start\nnext\nshow\nrepair\n' >"$TMPDIR/commands"
got=0
"$FAULTLINE" repair --source "$TMPDIR/crash.c" --function f --commands "$TMPDIR/commands" >"$TMPDIR/out" \
	2>"$TMPDIR/err" || got=$?
[ $got = 2 ] && grep -q "^it ends at line 5: 'head' is null, and has no fields" "$TMPDIR/out" ||
	fail "status $got: $(cat "$TMPDIR/out" "$TMPDIR/err")"
exit 0
