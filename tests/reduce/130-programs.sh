#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Inputs of real programs, some hundred lines of which a few make the program print a word that a preloaded
# library ends it for: what is left of them ends it the same way when it is run outside, and of what idthdd*
# left no byte can go. A quick one; FAULTLINE_REDUCE=full: all, beside idthdd and ddmin, with a table of runs
# and bytes (doc/reduce.md); FAULTLINE_REDUCE="jq sed": these. ddmin may take FAULTLINE_DDMIN seconds (120) of
# each, `over' so many runs then.
# time limit: 3600
. tests/lib.sh

need gojq
need_bpf
ulimit -c 0
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
cd "$TMPDIR" || exit 1

cat >trip.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void look(const char *p, size_t n)
{
	if (memmem(p, n, "31337", 5))
		raise(SIGSYS); // which no program here handles
}
static ssize_t put(void *cookie, const char *p, size_t n)
{
	look(p, n);
	return n;
}
ssize_t write(int fd, const void *p, size_t n)
{
	static ssize_t (*next)(int, const void *, size_t);
	if (!next)
		next = dlsym(RTLD_NEXT, "write");
	if (fd == 1)
		look(p, n);
	return next(fd, p, n);
}
__attribute__((constructor)) static void begin(void)
{
	if (!getenv("TRIP_PLAIN")) // Python asks stdout for its descriptor
		stdout = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = put });
	if (getenv("TRIP_STDERR"))
		stderr = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = put });
}
C
cc -g -O1 -shared -fPIC -o trip.so trip.c || fail "cannot compile"

# lines FROM TO FORMAT - with %d for the number, as often as it stands there; awk reads \\n as \n.
lines() {
	awk -v from="$1" -v to="$2" -v format="$3\n" 'BEGIN {
		for (i = from; i <= to; i++)
			printf format, i, i, i, i }'
}

declare -A command=(
	[sed]='sed -f sed.in text' [bc]='bc -lq bc.in' [m4]='m4 m4.in' [mawk]='mawk -f mawk.in'
	[gawk]='gawk -f gawk.in' [xmllint]='xmllint --format xmllint.in' [tidy]='tidy -q tidy.in'
	[lua5.4]='lua5.4 lua5.4.in' [dot]='dot -Tplain dot.in' [sqlite3]='sqlite3 :memory: .read\ sqlite3.in'
	[python3]='/usr/bin/python3 -S python3.in' [nasm]='nasm -f bin -o nasm.bin nasm.in'
	[bison]='bison -o bison.out bison.in' [flex]='flex -t flex.in' [make]='make -rR -f make.in'
	[perl]='perl perl.in' [tclsh]='tclsh tclsh.in' [troff]='troff -Tascii troff.in' [jq]='/usr/bin/jq -c . jq.in'
)
declare -A variables=([python3]=TRIP_PLAIN [flex]='TRIP_PLAIN TRIP_STDERR' [nasm]=TRIP_STDERR [bison]=TRIP_STDERR)

write_inputs() {
	printf 'hello\nfoo3 foo4\nseed\nbye\n' >text
	{
		lines 0 9 's/foo%d/bar%d/g' && echo 's/seed/31/'
		lines 10 39 's/foo%d/bar%d/g' && echo '/^31/s/$/337/'
		lines 40 79 's/foo%d/bar%d/g'
	} >sed.in
	{
		printf 'scale=4\ndefine f(x) {\n auto y\n y=x*x\n if (y>100) { y=y-100 }\n return (y)\n}\n'
		lines 0 39 'a[%d]=f(%d)+%d' && echo 'q=31000'
		lines 0 29 'print "row %d ", f(%d), "\\n"' && echo 'q=q+f(17)+148'
		echo 'if (q==31337) { print "sum ", q, "\n" }'
		lines 0 19 'f(%d)' && echo quit
	} >bc.in
	{
		echo "define(\`add', \`eval(\$1 + \$2)')dnl"
		lines 0 29 "define(\`v%d', \`add(%d, %d)')dnl" && echo "define(\`base', \`31000')dnl"
		lines 0 39 'line %d has v%d' && echo 'total: add(base, 337)'
		lines 40 59 'line %d has v3'
	} >m4.in
	{
		printf 'BEGIN {\n' && lines 0 19 '  a[%d] = %d * 3 + length("abc%d")'
		printf '  base = 31000\n' && lines 20 49 '  a[%d] = %d * 3 + length("abc%d")'
		lines 0 19 '  printf "%%s %%d\\n", "row%d", a[%d]'
		printf '  n = base + 300\n  if (n > 100) print "out", n + 37\n}\n'
		printf 'function f(x, y) { y = x * 2; return y + 1 }\n'
	} >mawk.in
	cp mawk.in gawk.in
	{
		printf '<?xml version="1.0"?>\n<catalog>\n'
		lines 0 21 '  <book id="b%d"><title>Title %d</title><price cur="EUR">%d</price></book>'
		echo '  <book id="odd"><title>&#51;1337</title></book>'
		lines 22 39 '  <book id="b%d"><title>Title %d</title><price cur="EUR">%d</price></book>'
		echo '</catalog>'
	} >xmllint.in
	{
		echo '<!DOCTYPE html>' && echo '<html><head><title>t</title></head><body>'
		lines 0 16 '<p class="c%d">paragraph %d <b>bold</b> <a href="x%d.html">link</a>'
		echo '<p id=odd>&#51;1337</i>'
		lines 17 29 '<p class="c%d">paragraph %d <b>bold</b> <a href="x%d.html">link</a>'
		echo '<table><tr><td>1<td>2</table></body></html>'
	} >tidy.in
	{
		echo 'local t = {}' && lines 1 19 't[%d] = function(x) return x + %d end'
		echo 'local base = 31000' && lines 20 40 't[%d] = function(x) return x + %d end'
		lines 1 30 'print("row", t[%d](%d))'
		echo 'if base > 10 then print("sum", string.format("%d", t[8](base) + 329)) end'
		echo 'print("done")'
	} >lua5.4.in
	{
		printf 'digraph g {\n  rankdir=LR;\n  node [shape=box];\n'
		lines 0 26 '  n%d [label="node %d"];' && echo '  odd [label="31337", color=red];'
		lines 27 39 '  n%d [label="node %d"];' && lines 0 39 '  n%d -> n3;' && echo '}'
	} >dot.in
	{
		echo 'create table t(a integer primary key, b text, c real);'
		lines 0 9 "insert into t values(%d,'name%d',%d.5);"
		echo "insert into t values(1000,'odd',31000.0);"
		lines 10 29 "insert into t values(%d,'name%d',%d.5);" && echo 'create index ti on t(b);'
		lines 0 14 'select count(*) from t where a > %d;'
		echo "update t set c = c + 337 where b = 'odd';"
		echo 'select a, cast(c as int) from t where c > 500;' && lines 0 9 'delete from t where a = %d;'
	} >sqlite3.in
	{
		printf 'import re\nclass A:\n    def __init__(self, x):\n        self.x = x\n'
		printf '    def get(self):\n        return self.x * 2\n'
		lines 0 29 'def f%d(a, b=%d):\n    return a + b * %d' && echo 'base = 31000'
		lines 0 19 'v%d = f%d(%d)' && printf "w = A(168)\nif base > 100:\n"
		printf "    print('total', base + w.get() + 1)\nprint('end')\n"
	} >python3.in
	{
		printf 'bits 64\n' && lines 0 29 'l%d: mov eax, %d\n add ebx, l%d'
		printf '%%define A 313\n%%define B 37\n' && lines 30 49 'l%d: mov ecx, %d'
		echo '%warning total %[A]%[B]' && lines 50 79 'l%d: dd %d'
	} >nasm.in
	{
		printf '%%token A B C\n%%%%\ns: r0 | s A;\n' && lines 0 29 'r%d: A B r%d C | B A { $$ = %d; } ;'
		echo 't31337: A C C;' && lines 30 39 'r%d: A B C | s B A;'
	} >bison.in
	{
		printf 'D [0-9]\n%%%%\n' && lines 0 39 '"word%d"{D}+ { return %d; }' && echo '{x31337}+x { base = 3; }'
		lines 40 59 '[a-f]%d(x|y)* { n += %d; }' && echo '%%'
	} >flex.in
	{
		echo 'all: t0 t1 odd t2' && lines 0 29 'V%d := $(addsuffix .o,v%d w%d)' && echo 'BASE := 313'
		lines 0 29 't%d: ; $(info row $(V%d))' && echo 'odd: ; $(info total $(BASE)37)'
		lines 30 49 't%d: t1'
	} >make.in
	{
		echo 'use strict; my %h; my @a;' && lines 0 29 '$h{key%d} = %d * 2; push @a, "v%d";'
		echo 'my $base = 31000;' && lines 0 19 'print "row $h{key%d} ", $a[%d], "\\n";'
		echo 'if ($base > 100) { my $t = $base + 337; print "total $t\n"; }'
		lines 20 29 'sub f%d { my $x = shift; return $x + %d; }'
	} >perl.in
	{
		lines 0 29 'proc f%d {x {y %d}} { return [expr {$x + $y * %d}] }' && echo 'set base 31000'
		lines 0 19 'puts "row [f%d %d]"'
		echo 'if {$base > 100} { set t [expr {$base + 337}]; puts "total $t" }'
		lines 20 29 'set v(%d) [f%d %d]'
	} >tclsh.in
	{
		lines 0 19 '.nr r%d %d\n.ds s%d text %d' && echo '.nr base 31000+337'
		lines 0 29 'Some words in line %d, value \\n[r%d] and \\*[s%d].' && echo 'total: \n[base]'
		lines 20 39 '.sp\nLine %d again.'
	} >troff.in
	{
		printf '[' && lines 0 39 '{"id":%d,"tags":["a","b%d"],"sub":{"x":%d.5,"y":null}},' | tr -d '\n'
		printf '{"id":1,"name":"\\u0033\\u0031337","tags":[]},'
		lines 40 59 '{"id":%d},' | tr -d '\n' && printf '{}]\n'
	} >jq.in
}

# trips COMMAND... - does the library end it?
trips() {
	(
		LD_PRELOAD=$TMPDIR/trip.so "$@"
		exit $?
	) >/dev/null 2>&1 </dev/null
	[ $? = 159 ]
}

# reduces NAME METHOD - sets runs and bytes; the result is in NAME.METHOD.
reduces() {
	local limit=()
	[ "$2" != ddmin ] || limit=(timeout -s INT "${FAULTLINE_DDMIN:-120}")
	rm -rf "$1.$2"
	"${limit[@]}" "$FAULTLINE" reduce "$1.c" --input "$1.in" --method "$2" --json --no-record -o "$1.$2" >json 2>err
	[ -s json ] || fail "$1 $2: $(cat err)"
	runs=$(jq -r 'if .stopped then "over \(.runs)" else .runs end' json) bytes=$(jq .bytes json)
	[[ $2 = ddmin || $runs != over* ]] || fail "$1 $2: stopped"
	cp "$1.$2/$1.in" "$1.in" && trips "${run[@]}" || fail "$1 $2: its result does not fail: $(cat "$1.in")"
	cp "$1.was" "$1.in"
}

# is_minimal NAME METHOD
is_minimal() {
	local size i
	size=$(wc -c <"$1.$2/$1.in")
	for ((i = 0; i < size; i++)); do
		{
			head -c $i "$1.$2/$1.in"
			tail -c +$((i + 2)) "$1.$2/$1.in"
		} >"$1.in"
		! trips "${run[@]}" || fail "$1 $2: byte $i can go: $(cat "$1.in")"
	done
	cp "$1.was" "$1.in"
}

read -ra programs <<<"${FAULTLINE_REDUCE:-sed}"
[ "${programs[0]}" != full ] || programs=("${!command[@]}")
write_inputs
for name in "${programs[@]}"; do
	eval "run=(${command[$name]})"
	command -v "${run[0]}" >/dev/null || {
		echo "$name | not here"
		continue
	}
	unset TRIP_PLAIN TRIP_STDERR
	for variable in ${variables[$name]:-}; do export "$variable=1"; done
	cp "$name.in" "$name.was"
	trips "${run[@]}" || fail "$name does not fail"
	(
		export LD_PRELOAD=$TMPDIR/trip.so
		"${RECORD[@]}" -o "$name.c" -- "${run[@]}" >/dev/null 2>err </dev/null
	)
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$name.c"
	row="$name | $(wc -c <"$name.in")"
	for method in idthdd 'idthdd*' ddmin; do
		[ -n "${FAULTLINE_REDUCE:-}" ] || [ "$method" = 'idthdd*' ] || continue
		reduces "$name" "$method"
		[ "$method" != 'idthdd*' ] || is_minimal "$name" "$method"
		[ "$method" = ddmin ] || [ "$bytes" -lt $(($(wc -c <"$name.in") / 10)) ] ||
			fail "$name $method: $bytes bytes"
		row+=" | $runs, $bytes"
	done
	echo "$row"
done
