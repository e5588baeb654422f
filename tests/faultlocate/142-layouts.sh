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
