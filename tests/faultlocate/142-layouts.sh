#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline analyze --accesses` finds nothing in correct code that goes through structs and memory of its
# own in unusual ways, as two compilers make it, nor in strings of C++ that move within a vector.
. tests/lib.sh
need gojq gcc clang g++ clang++
need_bpf

# is_clean NAME - nothing is found in $TMPDIR/prog.
is_clean() {
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/prog"
	expect_status 0 "$FAULTLINE" analyze --accesses "$TMPDIR/c"
	grep -q 'no access by a pointer' "$TMPDIR/out" || fail "$1: $(cat "$TMPDIR/out")"
}

for build in "gcc -O0" "gcc -O2" "gcc -O3" "clang -O0" "clang -O1" "clang -O3"; do
	$build -std=gnu11 -g -w -o "$TMPDIR/prog" tests/programs/layouts.c || fail "cannot compile"
	is_clean "$build"
done

# .. and the same pointers, used as they are, are found.
gcc -O2 -std=gnu11 -g -w -DWRONG -o "$TMPDIR/prog" tests/programs/layouts.c || fail "cannot compile"
rm -rf "$TMPDIR/c"
make_capture "$TMPDIR/c" "$TMPDIR/prog"
expect_status 1 "$FAULTLINE" analyze --accesses --json "$TMPDIR/c"
line=$(grep -n '/\* WRONG \*/' tests/programs/layouts.c | cut -d: -f1)
jq -e --argjson line "$line" '[.accesses[] | [.kind, .at.line]] == [["freed", $line]]' "$TMPDIR/out" \
	>/dev/null || fail "not at $line: $(jq -c .accesses "$TMPDIR/out")"

cat >"$TMPDIR/strings.cc" <<'END'
#include <memory>
#include <string>
#include <vector>
// Of std::string clang's DWARF tells a part only.
struct base {
	virtual ~base() {}
	int a[3] = { 1, 2, 3 };
};
struct derived : base {
	std::string s = "a name that is too long to be kept here";
	char name[12] = "abc";
};
struct shared : std::enable_shared_from_this<shared> {
	std::string sso;
	std::vector<int> v;
	char tag[8];
	int n;
};
struct mix : derived, shared {
	double d = 2.5;
};
int main()
{
	std::vector<std::string> v;
	for (int i = 0; i < 60; i++)
		v.push_back(std::string(i % 30, 'a'));
	v.insert(v.begin() + 7, 5, "inserted");
	v.erase(v.begin() + 3, v.begin() + 9);
	mix *m = new mix;
	shared *b = m;
	b->n = 4;
	delete m;
	return v[4].size() > 40;
}
END
for build in "g++ -O0" "g++ -O2" "clang++ -O0"; do
	$build -g -w -o "$TMPDIR/prog" "$TMPDIR/strings.cc" || fail "cannot compile"
	is_clean "$build"
done

# Elements of an array in a struct, one after the other, by pointers and by indices; what a library is given of them.
cat >"$TMPDIR/elements.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct first { char name[16]; long n; };
struct second { long n; char name[16]; long m; };
struct all { struct first e[5]; struct second s[5]; };
int main(int argc, char **argv)
{
	struct all *t = calloc(1, sizeof(*t));
	for (struct first *p = t->e; p < t->e + 5; p++) {
		strcpy(p->name, "abc");
		sprintf(p->name, "%d", 5);
		p->n = strlen(p->name);
	}
	for (int i = 0; i < 5; i++) {
		memset(t->e[i].name, 'x', sizeof(t->e[i].name) - 1);
		snprintf(t->s[i].name, sizeof(t->s[i].name), "number %d", i);
		t->s[i].m = strtol(t->s[i].name + 7, NULL, 10);
	}
	for (struct second *p = t->s; p < t->s + 5; p++)
		strcpy(p->name, "of a pointer");
	for (int i = 0; i < 5; i++)
		strcpy(t->s[i].name, i == 3 && argc > 1 ? argv[1] : "short"); /* WRONG */
	printf("%ld %s\n", t->e[3].n, t->s[2].name);
	free(t);
	return 0;
}
END
for build in "gcc -O0" "gcc -O2" "clang -O0" "clang -O2"; do
	$build -g -fno-builtin -w -o "$TMPDIR/prog" "$TMPDIR/elements.c" || fail "cannot compile"
	is_clean "$build, elements"
	# The others go from the array's start, or from the element before: to any of it.
	[ "$build" = "gcc -O0" ] || [ "$build" = "clang -O2" ] || continue
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/prog" "more than sixteen"
	expect_status 1 "$FAULTLINE" analyze --accesses --json "$TMPDIR/c"
	line=$(grep -n '/\* WRONG \*/' "$TMPDIR/elements.c" | cut -d: -f1)
	jq -e --argjson line "$line" '[.accesses[] | [.kind, .at.line]] == [["field", $line]]' \
		"$TMPDIR/out" >/dev/null || fail "$build: not at $line: $(jq -c .accesses "$TMPDIR/out")"
done

# The same of C++'s arrays; and a stream, which gcc only names, where another block had something else.
cat >"$TMPDIR/elements.cc" <<'END'
#include <array>
#include <memory>
#include <sstream>
#include <string>
struct big { char text[40]; };
static long use(big *b) { return b->text[3]; }
int main()
{
	auto p = std::make_unique<std::array<std::string, 4>>(), q = std::make_unique<std::array<std::string, 4>>(*p);
	for (int i = 0; i < 4; i++)
		(*p)[i] = std::string(5 * i, 'x');
	*q = *p;
	long sum = 0;
	{
		big b = { "abcd" };
		sum += use(&b);
	}
	{
		std::istringstream in("17 4");
		in >> sum;
	}
	return (*q)[3].size() + sum != 32;
}
END
for build in "g++ -O0" "g++ -O2" "clang++ -O0" "clang++ -O2"; do
	$build -g -w -o "$TMPDIR/prog" "$TMPDIR/elements.cc" || fail "cannot compile"
	is_clean "$build, elements"
	expect_status 0 "$FAULTLINE" check "$TMPDIR/c"
done
