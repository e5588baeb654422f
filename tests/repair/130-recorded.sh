#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# From a call in a capture: the state is the machine's, by DWARF's types; the patch is found, what was
# right elsewhere stays; and the recorded program goes on with it.
. tests/lib.sh

need_bpf
need cc
cd "$TMPDIR" || exit 1
cp "$OLDPWD/tests/repair/recorded.c" f.c
cc -g -o f f.c || fail "cannot compile"
record() {
	"$FAULTLINE" record -o "$1" -- ./f "${@:2}" >rec 2>&1
}
record bad.flt 5
record good.flt -9
commands=$OLDPWD/tests/repair/recorded.commands
"$FAULTLINE" repair bad.flt --function put --commands "$commands" --also good.flt >out 2>err ||
	fail "status $?: $(cat out err)"
grep -q '^  n1 | data = -7 | next -> null |$' out && grep -q '^  data = 5$' out ||
	fail "the state: $(cat out)"
grep -q "^line 32: \`before->next = n' instead of \`before = n'$" out || fail "the patch: $(cat out)"
grep -q '^with the patch the program exits with 0; recorded, it exits with 1$' out ||
	fail "the machine: $(cat out)"

# Without the patch it goes on as it did.
printf 'start\ncontinue\n' >c
"$FAULTLINE" repair bad.flt --function put --commands c >out 2>err || fail "$(cat out err)"
grep -q '^with the patch the program exits with 1; recorded, it exits with 1$' out || fail "$(cat out)"
# Another call of it; one that never was; what is no function; a source that is not there.
printf 'start\nshow\n' >c
"$FAULTLINE" repair bad.flt --function put --call 1 --commands c >out || fail "the first call"
grep -q '^  list -> null$' out && grep -q '^  data = -7$' out || fail "$(cat out)"
could_not() {
	local want=$1 got=0
	shift
	"$FAULTLINE" repair bad.flt "$@" </dev/null >out 2>err || got=$?
	[ $got = 2 ] && grep -q -- "$want" err || fail "$*: status $got: $(cat err)"
}
could_not "put() was called 2 times" --function put --call 3
could_not "no function 'none'" --function none
could_not "put() is not being executed at position" --function put --at END

# An instant in the midst of it: there the state is what the machine has; the faulty statement is next.
if command -v gdb >/dev/null; then
	"$FAULTLINE" debug bad.flt -- -batch -nx -ex 'break 32' -ex continue -ex when \
		-ex 'print *n' -ex 'repair start' -ex 'repair show' >here 2>err || fail "gdb: $(cat here err)"
	at=$(sed -n 's/^position \([0-9]*\),.*/\1/p' here)
	printf 'start\nshow\nuntil 34\nchange n1->next n2\nchange before n1\nspec\nrepair\ncontinue\n' >c
	"$FAULTLINE" repair bad.flt --function put --at "$at" --commands c >out 2>err || fail "at $at: $(cat out err)"
	for text in "^32.*before = n;" "^  before -> n1$" "^  n2 | data = 5 | next -> null |$" "before->next = n' instead of" \
		"exits with 0; recorded, it exits with 1"; do
		grep -q -- "$text" out || fail "at $at, '$text': $(cat out)"
	done
	grep -q '^32.*before = n;' here && grep -q '^  before -> n1$' here || fail "in gdb: $(cat here)"
	# In a library: before the statement that called it.
	"$FAULTLINE" debug bad.flt -- -batch -nx -ex 'break 20' -ex continue -ex continue -ex 'break malloc' -ex continue \
		-ex 'repair start put' >here 2>err || fail "gdb: $(cat here err)"
	grep -q '^20.*n = malloc' here || fail "in malloc(): $(cat here err)"

	# In what the function calls, the second time; at its closing brace.
	cat >c.c <<-'C'
		struct node {
			int data;
			struct node *next;
		} nodes, *head = &nodes, *seen;

		static void turn(int n)
		{
			seen = head->next;
			head->data = n;
		}

		void turns(int n)
		{
			while (n > 0) {
				turn(n);
				n--;
			}
		}

		int main(void)
		{
			turns(3);
			return 0;
		}
	C
	cc -g -o c c.c || fail "cannot compile"
	"$FAULTLINE" record -o c.flt -- ./c >rec 2>&1
	for line in 9 10; do
		"$FAULTLINE" debug c.flt -- -batch -nx -ex "break $line" -ex continue -ex continue \
			-ex 'repair start turns' -ex 'repair show' >here 2>err || fail "gdb: $(cat here err)"
		case $line in
		9) grep -q '^9.*head->data = n;' here && grep -q '^  n1 | data = 3 |' here ;;
		10) grep -q '^end of turn()' here && grep -q '^  n1 | data = 2 |' here ;;
		esac || fail "line $line: $(cat here err)"
	done
fi

# The same inside of gdb, at the call in which it stands.
if command -v gdb >/dev/null; then
	cat >gdb.commands <<-'G'
		set pagination off
		break put
		continue
		continue
		repair show
		repair start
		repair show
		repair break 34
		repair continue
		repair change n1->next n2
		repair change before n1
		repair spec
		repair
		repair dance
		repair continue
		python print("complete: " + " ".join(Repair.complete(None, "re", "re")))
		repair quit
		info line
	G
	sed 's/^repair show$/python\ntry:\n gdb.execute("repair show")\nexcept gdb.error as e:\n print(e)\nend/
		s/^repair dance$/python\ntry:\n gdb.execute("repair dance")\nexcept gdb.error as e:\n print(e)\nend/' \
		gdb.commands >gdb.script
	"$FAULTLINE" debug bad.flt -- -batch -nx -x gdb.script >out 2>err || fail "gdb: $(cat out err)"
	for text in "repair start begins it" "^  data = 5$" "before->next = n' instead of" \
		"dance: there is start, next" "exits with 0; recorded, it exits with 1" "^complete: repair rewrite resume$" \
		"^Line 20 of"; do
		grep -q -- "$text" out || fail "in gdb, '$text': $(cat out err)"
	done
fi
mv f.c g.c
could_not "f.c': No such file" --function put
exit 0
