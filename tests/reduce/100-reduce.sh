#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Inputs are made smaller: files, standard input, arguments, environment; by bytes, characters,
# lines, tokens. What comes of it fails the same way, without any of its bytes it does not, it is
# recorded; nothing of the user's was changed, nothing is left behind.
. tests/lib.sh

need gojq
need_bpf
ulimit -c 0
cd "$TMPDIR" || exit 1
sets=$BUILD/tests/programs/framesets careless=$BUILD/tests/programs/careless

# crashes FILE - framesets does on it.
crashes() {
	(
		"$sets" "$1"
		exit $?
	) >/dev/null 2>&1
	[ $? = 139 ]
}

# replays CAPTURE
replays() {
	"$FAULTLINE" replay "$1" >"$TMPDIR/out" 2>&1 && grep -q 'all matched' "$TMPDIR/out" ||
		fail "$1: $(cat "$TMPDIR/out")"
}

# reduce ARGUMENT... - its JSON comes into $TMPDIR/json.
reduce() {
	"$FAULTLINE" reduce --json "$@" >"$TMPDIR/json" 2>"$TMPDIR/err" ||
		fail "reduce $*: $(cat "$TMPDIR/err")"
	[ "$(jq .verified "$TMPDIR/json")" = 3 ] || fail "$*: not verified: $(cat "$TMPDIR/json")"
}

printf 'H"t"/HSFFFSFFNP"a"/PP"b"/PBP"c"/PP"d"/P/BP"e"/PP"f"/P/N/S/S' >in
cp in in.was
want_status=139 make_capture c "$sets" in
reduce c
cmp in in.was || fail "the input was changed"
size=$(jq .bytes json)
[ "$size" -lt 40 ] && [ "$(wc -c <c.reduced/in)" = "$size" ] || fail "size $size"
crashes c.reduced/in || fail "the result does not crash"
for ((i = 0; i < size; i++)); do
	{
		head -c $i c.reduced/in
		tail -c +$((i + 2)) c.reduced/in
	} >less
	! crashes less || fail "byte $i can go: $(cat less)"
done
jq -r .failure json | grep -q '^SIGSEGV in AddChild < ParseParagraphs' || fail "$(jq .failure json)"
replays c.reduced/capture
grep -q 'killed by SIGSEGV' out || fail "the result was recorded without its crash"

# No candidate is run twice, whatever the number of processors says of those beside.
runs=$(jq .runs json)
reduce c -o again --no-record
[ "$(jq .runs json)" = "$runs" ] && cmp c.reduced/in again/in || fail "another time another result"
[ ! -e again/capture ] || fail "recorded"

# A file that is mapped, not read.
cat >mapped.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY);
	struct stat st;
	const char *p;

	fstat(fd, &st);
	p = mmap(NULL, st.st_size, PROT_READ, argc > 2 ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	if (memchr(p, '7', st.st_size))
		abort();
	return 0;
}
C
cc -g -o mapped mapped.c || fail "cannot compile"
seq 0 9 >digits
for shared in '' shared; do
	want_status=134 make_capture m ./mapped digits $shared
	reduce m -o "small$shared" --no-record
	[ "$(cat "small$shared/digits")" = 7 ] || fail "mapped $shared: $(cat json)"
	"$FAULTLINE" inputs --json --at crash m >json || fail "inputs of a mapping"
	jq -e 'any(.inputs[]; .name == "digits" and .size == 20)' json >/dev/null ||
		fail "mapped $shared: $(head -c 2000 json)"
	rm -r m
done

# A line's parts stay together.
{ cat in; printf '\nlast\n'; } >two
want_status=139 make_capture c2 "$sets" two
reduce c2 --method lines -o lines --no-record
printf '%s\n' "$(cat in)" | cmp - lines/two || fail "lines: $(cat lines/two)"
reduce c2 --method tokens -o tokens --no-record
crashes tokens/two || fail "tokens: $(cat tokens/two)"

# ---- what is careless with files harms none

# careless_is_kept WHAT
careless_is_kept() {
	[ "$(cat kept)" = 'so many words! and more' ] && [ "$(cat kept.precious)" = mine ] ||
		fail "$1: the user's files are $(ls; cat kept kept.precious)"
	[ ! -e careless.out ] || fail "$1: it wrote"
}
lay_out() {
	rm -f careless.out
	echo -n 'so many words! and more' >kept
	echo mine >kept.precious
}
lay_out
want_status=134 make_capture file "$careless" kept
lay_out
reduce file
careless_is_kept file
[ "$(cat file.reduced/kept)" = '!' ] || fail "file: $(cat file.reduced/kept)"
jq -r .failure json | grep -q '^SIGABRT in give_up < main' || fail "$(jq .failure json)"
lay_out
want_status=134 make_capture path "$careless" "$TMPDIR/kept"
lay_out
reduce path
careless_is_kept path
[ "$(cat path.reduced/kept)" = '!' ] || fail "path: $(cat path.reduced/kept)"

echo -n quiet >quiet
want_status=134 make_capture args "$careless" quiet 'oh! no'
rm -f careless.out
echo -n quiet >quiet
reduce args --input argv --no-record
# One argument, and none before it: an empty one may go, its NUL not.
tr '\0' '\n' <args.reduced/argv | grep -qx '!' || fail "argv: $(od -c args.reduced/argv)"
rm -f careless.out
CARELESS='what is this!' want_status=134 make_capture env "$careless"
rm -f careless.out
reduce env --input env --no-record
[ "$(tr -d '\0' <env.reduced/env)" = 'CARELESS=!' ] || fail "env: $(od -c env.reduced/env)"
printf 'SB"x"/BNP' >mine
want_status=139 make_capture std "$sets" <in
reduce std
[ "$(jq -r .input json)" = stdin ] && crashes std.reduced/stdin || fail "stdin: $(cat json)"
replays std.reduced/capture

# ---- an oracle of the user's

cat >same.sh <<'E'
#!/bin/sh
grep -q c "$1" && grep -q /B "$1"
E
chmod +x same.sh
reduce c --oracle ./same.sh -o told
[ "$(cat told/in)" = 'c/B' ] || fail "oracle: $(cat told/in)"
[ -f told/capture/manifest.json ] || fail "not recorded: $(cat err)"
[ -z "$(ls -d /dev/shm/.faultline* 2>/dev/null)" ] || fail "left behind: $(ls -a /dev/shm)"
exit 0
