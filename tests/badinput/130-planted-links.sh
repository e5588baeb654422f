#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What somebody has laid where faultline writes: nothing outside is written through it, and what
# the user named himself is: his links, pipes and devices.
. tests/lib.sh

need dot
stranger=12345
made=$TMPDIR/c
make_capture "$made" "$BUILD/tests/programs/rbtree" 300
echo mine >"$TMPDIR/precious"
is_untouched() {
	[ "$(cat "$TMPDIR/precious")" = mine ] || fail "$1 was followed"
}

# ---- inside a bundle

for name in perf.data perf.data.unfinished perf.data.part symfs; do
	rm -rf "$TMPDIR/bad"
	cp -r "$made" "$TMPDIR/bad"
	ln -s ../precious "$TMPDIR/bad/$name"
	"$FAULTLINE" encode "$TMPDIR/bad" >"$TMPDIR/out" 2>"$TMPDIR/err"
	got=$?
	is_untouched "$name"
	if [ $name = symfs ]; then
		[ $got = 2 ] || fail "status $got with a link for symfs"
	else
		[ $got = 0 ] || fail "status $got with a link $name: $(cat "$TMPDIR/err")"
		[ -f "$TMPDIR/bad/perf.data" ] && [ ! -L "$TMPDIR/bad/perf.data" ] ||
			fail "perf.data is not written anew"
		[ "$(stat -c %a "$TMPDIR/bad/perf.data")" = 600 ] || fail "its mode"
	fi
done
[ -z "$(ls -A "$TMPDIR/bad" | grep part)" ] || fail "left over: $(ls -A "$TMPDIR/bad")"

# A process of a capture that leads to another place.
make_followed "$TMPDIR/f" sh -c '/bin/true; exit 0'
child=$(cd "$TMPDIR/f/children" && echo 1-*)
mv "$TMPDIR/f/children/$child" "$TMPDIR/elsewhere"
ln -s ../../elsewhere "$TMPDIR/f/children/$child"
for command in encode "replay --process 1"; do
	expect_status 2 "$FAULTLINE" $command "$TMPDIR/f"
	grep -q "cannot open .*$child" "$TMPDIR/err" || fail "$command: $(cat "$TMPDIR/err")"
done
[ ! -e "$TMPDIR/elsewhere/perf.data" ] || fail "encoded through a link"

# ---- what the user names

ln -s precious "$TMPDIR/out.svg.part"
expect_status 0 "$FAULTLINE" graph --svg "$TMPDIR/out.svg" "$made"
is_untouched out.svg.part
grep -q "<svg" "$TMPDIR/out.svg" || fail "no picture"

mkdir "$TMPDIR/own"
ln -s ../out.svg "$TMPDIR/own/link"
: >"$TMPDIR/out.svg"
expect_status 0 "$FAULTLINE" graph --svg "$TMPDIR/own/link" "$made"
grep -q "<svg" "$TMPDIR/out.svg" && [ -L "$TMPDIR/own/link" ] || fail "an own link is not followed"

mkfifo "$TMPDIR/pipe"
cat "$TMPDIR/pipe" >"$TMPDIR/through" &
expect_status 0 "$FAULTLINE" graph --svg "$TMPDIR/pipe" "$made"
wait $!
cmp "$TMPDIR/through" "$TMPDIR/out.svg" || fail "not what went through a pipe"
[ -p "$TMPDIR/pipe" ] || fail "the pipe was replaced"

echo first >"$TMPDIR/all"
"$FAULTLINE" graph --svg /dev/stdout "$made" >>"$TMPDIR/all" || fail "to standard output"
[ "$(head -n 1 "$TMPDIR/all")" = first ] && grep -q "<svg" "$TMPDIR/all" ||
	fail "standard output was not appended to"
[ -L /dev/stdout ] || fail "/dev/stdout was replaced"
"$FAULTLINE" graph --svg >(cat >"$TMPDIR/sub") "$made" >/dev/null || fail "to a substitution"
until_true grep -q "</svg" "$TMPDIR/sub" || fail "a process substitution got nothing"

# ---- directories to record into

need_bpf
mkdir -m 777 "$TMPDIR/open"
expect_status 125 "${RECORD[@]}" -o "$TMPDIR/open" -- /bin/true
expect_error "others may write to it"
[ "$(id -u)" = 0 ] || exit 0

# ---- other users

mkdir "$TMPDIR/his"
chown $stranger "$TMPDIR/his"
expect_status 125 "${RECORD[@]}" -o "$TMPDIR/his" -- /bin/true
expect_error "belongs to another user"
expect_status 2 "$FAULTLINE" suite record -o "$TMPDIR/his" --tests /dev/null -- /bin/true
mkdir "$TMPDIR/mine"
ln -s mine "$TMPDIR/to_mine"
chown -h $stranger "$TMPDIR/to_mine"
expect_status 125 "${RECORD[@]}" -o "$TMPDIR/to_mine" -- /bin/true
expect_error "link of another user"
[ -z "$(ls -A "$TMPDIR/his" "$TMPDIR/mine" | grep -v :)" ] || fail "something was recorded"

ln -s precious "$TMPDIR/planted.svg"
chown -h $stranger "$TMPDIR/planted.svg"
for how in "graph --svg" "graph --html" "encode -o"; do
	expect_status 2 "$FAULTLINE" $how "$TMPDIR/planted.svg" "$made"
	expect_error "link of another user"
	is_untouched "a stranger's link ($how)"
done
exit 0
