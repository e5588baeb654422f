#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program whose arguments, path, library, symbols, types and source files have names that drive
# terminals, forge lines and reorder text. Whatever prints them: no control character but newline
# and tab leaves, nothing that is not UTF-8, nothing that changes the order of text; no line is
# forged; JSON, SVG, HTML and DOT are well-formed. What the program itself printed is not touched.
# time limit: 300
. tests/lib.sh

need cc python3 dot xmllint zstd
need_bpf
cd "$TMPDIR" || exit 1

# Names as long as what they become: ESC, newline with a forged line, C1, a direction, DEL, bad
# UTF-8, markup.
cat >prog.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	long value;
	struct node *next;
	char evil_member_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA[8];
};
struct evil_struct_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA {
	struct node *held;
};
struct node *head;
struct evil_struct_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA *other;

__attribute__((noinline)) void evil_function_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA(long value)
{
	struct node *n = malloc(sizeof(*n));

	n->value = value;
	strcpy(n->evil_member_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA, "a\33[1m\n");
	n->next = head;
	head = n;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		evil_function_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA(i);
	other = malloc(sizeof(*other));
	other->held = head;
	head->next->next->next = head; // more than one way in
	printf("raw \33[0m %s\n", argv[argc - 1]);
	fflush(stdout);
	if (argc > 2)
		abort();
	return 0;
}
C
cat >hostile.py <<'P'
import re, sys
d = open(sys.argv[1], "rb").read()
evil = b"\x1b]0;owned\x07\nall matched\n\xc2\x9b31m\xe2\x80\xae\x7f\xff\x9b<b>&\"'\\"
def name(m):
    return (evil + b"z" * 100)[:len(m.group(0))]
d = re.sub(rb"evil_[a-z]*_A{36}(\.c)?", name, d)
open(sys.argv[1], "wb").write(d)
sys.stdout.buffer.write(evil)
P
evil_source=evil_file_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA.c
mv prog.c $evil_source
cc -g -O0 -o plain $evil_source || fail "cannot compile"
evil=$(python3 hostile.py plain) || fail "cannot make it hostile"
evil=${evil//\//_}
mkdir "d$evil"
mv plain "d$evil/p$evil" || fail "cannot name it so"
prog="$TMPDIR/d$evil/p$evil"
cat >list.spec <<'S'
node FIELD 10 EDGE 1;
node X; ..(c1)
X.INDEGREE <= 1;
S

# What no file of keep/ may hold: N.KIND, and in N.what what it came of.
cat >check.py <<'P'
import glob, json, os, re, sys
def wrong(kind, d):
    bad = re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", d)
    if bad: return "control character %r in %r" % (bad.group(0), d[max(0, bad.start() - 60):bad.end() + 20])
    try: text = d.decode()
    except UnicodeDecodeError as e: return "not UTF-8: %s" % e
    bad = re.search("[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)
    if bad: return "%r in %r" % (bad.group(0), text[max(0, bad.start() - 60):bad.end() + 20])
    if re.search("^all matched", text, re.M): return "a forged line in " + text
    if kind == "json":
        for line in ([text] if text.startswith("{\n") else text.splitlines()): json.loads(line)
files = glob.glob("keep/*.text") + glob.glob("keep/*.json")
for path in files:
    name, kind = path.rsplit(".", 1)
    why = wrong(kind, open(path, "rb").read())
    if why: sys.exit("%r: %s" % (open(name + ".what", "rb").read(), why))
print(len(files))
P
mkdir keep
kept=0
# keep KIND FILE WHAT - to be looked at when all is there.
keep() {
	kept=$((kept + 1))
	cp "$2" keep/$kept.$1 && printf '%s' "$3" >keep/$kept.what || fail "cannot keep $2"
}
# clean KIND COMMAND... - it leaves nothing unsafe, and says something.
clean() {
	local kind=$1 status=0
	shift
	"$FAULTLINE" "$@" >out 2>err || status=$?
	[ $status -le 1 ] || [ -n "${may_fail:-}" ] || fail "status $status of $*: $(cat -v err)"
	[ -s out ] || [ -n "${may_fail:-}" ] || fail "nothing came of $*: $(cat -v err)"
	keep "$kind" out "stdout of: $*"
	keep text err "stderr of: $*"
}

RECORD+=(-e heap)
# record's own words: argv, the path.
got=0
"${RECORD[@]}" -o c -- "$prog" "$evil" >out 2>err || got=$?
[ $got = 0 ] || fail "record: $got: $(cat -v err)"
grep -q complete err || fail "$(cat -v err)"
keep text err "stderr of record"
printf 'raw \33[0m %s\n' "$evil" >want
cmp want out || fail "the program's output was touched"
"${RECORD[@]}" --end-core -o crash -- "$prog" "$evil" "$evil" >out 2>err
keep text err "stderr of record"
"${RECORD[@]}" -f -o many -- sh -c '"$0" "$1"; :' "$prog" "$evil" >out 2>err
keep text err "stderr of record -f"
"${RECORD[@]}" --snapshot -o flight -- "$prog" "$evil" "$evil" >out 2>err
keep text err "stderr of record --snapshot"
"${RECORD[@]}" -o no -- "$prog.$evil" >out 2>err && fail "it is not there"
keep text err "stderr of record of what is not there"
[ "$(wc -l <err)" = 1 ] || fail "more than one line: $(cat -v err)"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" c crash many flight

for c in c crash; do
	clean text dump $c
	clean text dump -r -m $c
	clean json dump --json $c
	clean text replay $c
	clean json replay --json $c
	clean text analyze --spec list.spec --svg a.svg $c
	clean json analyze --spec list.spec --json $c
	clean text graph $c
	clean text graph --dot $c
	dot -Tsvg <out >/dev/null || fail "dot does not read it"
	may_fail=1 clean text graph --svg b.svg $c
	may_fail=1 clean text graph --spec list.spec --html c.html $c
	for file in a.svg b.svg; do
		keep text $file "$file"
		xmllint --noout $file || fail "$file is no XML"
	done
	keep text c.html "c.html"
	xmllint --html --noout c.html 2>err || fail "c.html is no HTML: $(cat err)"
	grep -q '<b>' c.html && fail "markup of the program's in the page"
done
clean text dump --processes many
clean json dump --processes --json many
clean text replay many
clean json replay --json many
may_fail=1 clean text dump flight
may_fail=1 clean text recover flight
may_fail=1 clean json recover --json flight
clean text sites -l "$prog"
clean json sites --json "$prog"
clean text encode c
clean text encode -o again.data c
rm c/perf.data
clean json encode --json c
for form in '' --calls --branches --instructions; do
	clean text decode $form c
	clean json decode $form --json c
done
clean text decode --packets c
clean text decode again.data

"$FAULTLINE" replay --stdout c 2>err | cmp - want || fail "what the program printed was touched"

# A replay that goes another way tells of it by names.
python3 - c/events.flt <<'P' || fail "cannot damage the log"
import struct, subprocess, sys
d = open(sys.argv[1], "rb").read()
n = struct.unpack_from("<I", d, 16)[0]
raw = bytearray(subprocess.run(["zstd", "-dcq"], input=d[32:32 + n], capture_output=True, check=True).stdout)
at, last = 0, 0
while at < len(raw):
    size, kind = struct.unpack_from("<IH", raw, at)
    if kind == 1: last = at if struct.unpack_from("<Q", raw, at + 24)[0] == 1 else last
    at += size
struct.pack_into("<Q", raw, last + 24 + 8 * 2, 1)  # rdx of write
packed = subprocess.run(["zstd", "-1cq", "--check"], input=raw, capture_output=True, check=True).stdout
open(sys.argv[1], "wb").write(d[:16] + struct.pack("<IIQ", len(packed), len(raw), 0) + packed + d[32 + n:])
P
clean text replay c
grep -q diverged out err || fail "it did not diverge"
clean text replay --explain c
clean json replay --explain --json c

# Errors name what the user gave, in one line.
may_fail=1
for command in dump replay "analyze --spec list.spec" graph recover encode decode sites "spec check"; do
	clean text $command "no$evil"
	grep -c . err | grep -qx 1 || fail "more than one line: $(cat -v err)"
done

[ "$(python3 check.py)" = $kept ] || fail "not clean"
[ $kept -ge 100 ] || fail "only $kept texts"
