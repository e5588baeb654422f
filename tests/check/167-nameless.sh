#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Without optimization, too, gcc puts what has no name (a temporary object of C++) where a variable of the same block is
# later, if it guards the stack, as Ubuntu's does: it is larger, and no overflow. Arrays have their place alone.
. tests/lib.sh
need gojq g++
need_bpf

cat >"$TMPDIR/nameless.cc" <<'END'
#include <stdexcept>
#include <string>
#include <vector>
struct record {
	char name[8];
	int n;
};
static std::vector<int> doubled(std::vector<int> v)
{
	for (int &x : v)
		x *= 2;
	return v;
}
static int guarded(int k)
{
	auto thrown = [k] {
		try {
			throw std::string(k, 'a') + "b";
		} catch (...) {
			return std::current_exception();
		}
	}();
	try {
		std::rethrow_exception(thrown);
	} catch (std::string &s) {
		return s.size();
	}
}
static int total(const char *p, int n)
{
	int ret = 0;
	for (int i = 0; i < n; i++)
		ret += p[i]; // wrong
	return ret;
}
int main(int argc, char **)
{
	int sum = 0;
	for (int x : doubled({ 3, 1, 2 }))
		sum += x;
	for (char c : std::string("some text that is long enough") + std::to_string(sum))
		sum += c;
	sum += guarded(3) + guarded(40);
	char text[12] = "some text";
	record r = {};
	sum += total(text, 12 + (argc > 1));
	sum += total(r.name, 8);
	return sum + r.n == 0;
}
END
line=$(sed -n '/\/\/ wrong/=' "$TMPDIR/nameless.cc")
for flags in "" -fstack-protector-strong -fstack-protector-all -D_GLIBCXX_DEBUG; do
	g++ -std=c++17 -g -O0 $flags -w -o "$TMPDIR/nameless" "$TMPDIR/nameless.cc" || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/nameless"
	"$FAULTLINE" check "$TMPDIR/c" >"$TMPDIR/out" 2>&1 || fail "$flags: $(cat "$TMPDIR/out")"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/nameless" wrong
	"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
	found=$(jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out")
	[ "$found" = "$line STACK-OVERFLOW" ] || fail "$flags: '$found'"
done
exit 0
