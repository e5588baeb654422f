#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# faultline encode: what it writes, where, what it says; that perf reads it whole is
# unit_pt_perf's and 111's.
. tests/lib.sh

# ---- one program: the options

c=$TMPDIR/c
make_capture "$c" ls /
expect_status 0 "$FAULTLINE" encode "$c"
grep -Eq '^[0-9]+ instructions of 1 thread in [0-9]+ bytes of packets: .*/c/perf.data$' \
	"$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
n=$(cut -d ' ' -f 1 "$TMPDIR/out")
[ "$n" = "$("$FAULTLINE" replay --json "$c" | jq .instructions)" ] ||
	fail "$n instructions encoded"
[ "$(stat -c %a "$c/perf.data")" = 600 ] || fail "perf.data is not its owner's alone"
expect_status 0 "$FAULTLINE" encode --json --psb 2K --no-retcomp --timing -o "$TMPDIR/o" "$c"
[ "$(jq -r '[.instructions, .threads, .complete, .unfiled_bytes, .file] | @csv' "$TMPDIR/out")" = \
	"$n,1,true,0,\"$TMPDIR/o\"" ] || fail "$(cat "$TMPDIR/out")"
[ "$(jq .bytes "$TMPDIR/out")" = "$(stat -c %s "$TMPDIR/o")" ] || fail "another size"
[ "$(stat -c %s "$TMPDIR/o")" -gt "$(stat -c %s "$c/perf.data")" ] ||
	fail "more PSBs, targets and times take no more room"
# The code, by the paths of the records: it lies where the packets do.
program=$(readlink -f "$(command -v ls)")
cmp "$c/symfs$program" "$program" || fail "symfs has another ls"
cmp "$TMPDIR/o.symfs$program" "$program" || fail "symfs beside the file has another ls"
cp -r "$c" "$TMPDIR/read-only"
rm -r "$TMPDIR/read-only/symfs" "$TMPDIR/read-only/perf.data"
find "$TMPDIR/read-only" | sort >"$TMPDIR/before"
(cd "$TMPDIR" && expect_status 0 "$FAULTLINE" encode -o o2 read-only) || exit 1
cmp "$TMPDIR/o2.symfs$program" "$program" || fail "of a capture whose path is relative: another ls"
expect_status 0 "$FAULTLINE" encode -o /dev/null "$TMPDIR/read-only"
[ ! -e /dev/null.symfs ] || fail "links beside a device"
find "$TMPDIR/read-only" | sort | cmp - "$TMPDIR/before" || fail "-o wrote into the capture"
mv "$c" "$TMPDIR/moved"
c=$TMPDIR/moved
cmp "$c/symfs$program" "$program" || fail "a moved capture's symfs leads nowhere"
expect_status 0 "$FAULTLINE" encode "$c" # again: all is there already
grep -q note "$TMPDIR/out" && fail "$(cat "$TMPDIR/out")"

# ---- threads, and one of them

t=$TMPDIR/t
make_capture "$t" "$BUILD/tests/programs/crowd" fill
expect_status 0 "$FAULTLINE" encode --json "$t"
threads=$(jq .threads "$TMPDIR/out")
all=$(jq .pt_bytes "$TMPDIR/out")
[ "$threads" -gt 2 ] || fail "$threads threads"
tid=$("$FAULTLINE" dump --json -k switch "$t" | jq -s '[.[].thread] | unique | last')
expect_status 0 "$FAULTLINE" encode --json --thread "$tid" -o "$TMPDIR/one" "$t"
[ "$(jq .threads "$TMPDIR/out")" = 1 ] || fail "not one thread: $(cat "$TMPDIR/out")"
[ "$(jq .pt_bytes "$TMPDIR/out")" -lt "$all" ] || fail "one thread's packets are all"
expect_status 2 "$FAULTLINE" encode --thread 1 -o "$TMPDIR/none" "$t"
expect_error "thread 1 did not run"
[ -e "$TMPDIR/none" ] && fail "a file without a stream was left"

# ---- code where other code was

o=$TMPDIR/over
make_capture "$o" "$BUILD/tests/programs/plugins"
expect_status 0 "$FAULTLINE" encode --json "$o"
n_over=$(jq .instructions "$TMPDIR/out")
expect_status 0 "$FAULTLINE" decode --json "$o"
[ "$(jq -c '[.instructions, .gaps]' "$TMPDIR/out")" = "[$n_over,0]" ] ||
	fail "decoded, not $n_over: $(cat "$TMPDIR/out")"

# Both libraries' functions have their names, each time that they are called.
"$FAULTLINE" decode --calls "$o" >"$TMPDIR/calls" || fail "decode --calls"
for function in zlibVersion BZ2_bzlibVersion; do
	[ "$(grep -c " $function \[.*<-" "$TMPDIR/calls")" = 10 ] ||
		fail "$function returns $(grep -c " $function \[.*<-" "$TMPDIR/calls") times"
done

# ---- followed processes: each in its bundle, the files in the capture's

f=$TMPDIR/f
make_followed "$f" sh -c 'ls / | cat; true'
expect_status 0 "$FAULTLINE" encode --json "$f"
[ "$(wc -l <"$TMPDIR/out")" = "$(find "$f" -name perf.data | wc -l)" ] ||
	fail "$(cat "$TMPDIR/out")"
[ "$(find "$f" -name perf.data | wc -l)" -ge 3 ] || fail "$(find "$f" -name perf.data)"
child=$(dirname "$(find "$f/children" -name perf.data | head -n 1)")
find "$child/symfs" -type l >"$TMPDIR/links"
[ -s "$TMPDIR/links" ] || fail "no link in a child's symfs"
while read -r link; do
	cmp "$link" "${link#"$child/symfs"}" || fail "$link leads elsewhere"
done <"$TMPDIR/links"
expect_status 0 "$FAULTLINE" encode --process 1 -o "$TMPDIR/p" "$f"

# ---- code in no file

j=$TMPDIR/j
make_capture "$j" "$BUILD/tests/programs/jit"
expect_status 0 "$FAULTLINE" encode "$j"
grep -Eq '^faultline: note: [1-9][0-9]* bytes of code in no file: gaps there$' "$TMPDIR/err" ||
	fail "$(cat "$TMPDIR/out")"

# ---- what cannot be encoded

expect_status 2 "$FAULTLINE" encode "$TMPDIR/nothing"
expect_error nothing
expect_status 2 "$FAULTLINE" encode -o /nonexistent/perf.data "$c"
expect_error "cannot write '/nonexistent/perf.data"
expect_status 2 "$FAULTLINE" encode --psb 100 "$c"
expect_status 2 "$FAULTLINE" encode --psb -1 "$c"
# A capture that breaks off: written up to there.
cp -r "$c" "$TMPDIR/cut"
rm "$TMPDIR/cut/perf.data"
truncate -s $(($(stat -c %s "$c/events.flt") / 2)) "$TMPDIR/cut/events.flt"
expect_status 1 "$FAULTLINE" encode "$TMPDIR/cut"
expect_error "cannot encode all of"
[ -s "$TMPDIR/cut/perf.data" ] || fail "nothing was written"
[ ! -e "$TMPDIR/cut/perf.data.unfinished" ] || fail "an unfinished file was left"

# ---- a capture that would have us write elsewhere

evil=$TMPDIR/evil
cp -r "$c" "$evil"
rm -r "$evil/symfs" "$evil/perf.data"
jq '.files[0].path = "/../../outside"' "$evil/manifest.json" >"$evil/m"
mv "$evil/m" "$evil/manifest.json"
mkdir "$evil/symfs" "$TMPDIR/elsewhere"
ln -s "$TMPDIR/elsewhere" "$evil/symfs/usr"
expect_status 0 "$FAULTLINE" encode "$evil"
grep -q '^faultline: note: perf will not find' "$TMPDIR/err" || fail "$(cat "$TMPDIR/out")"
[ ! -e "$TMPDIR/outside" ] && [ -z "$(ls "$TMPDIR/elsewhere")" ] || fail "it wrote outside"
