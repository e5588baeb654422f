#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Slice captures: threads, code that changes, vector registers, a crash. They replay, each call as it
# was recorded; gdb walks in them, both ways, to where the recorded run had been; others refuse them.
. tests/lib.sh
. tests/debug/lib.sh

need gojq
need gdb
need_bpf
ulimit -c 0

# sliced NAME PLACE - the slice capture $TMPDIR/s of program NAME; $TMPDIR/c is the whole one.
sliced() {
	rm -rf "$TMPDIR/c" "$TMPDIR/s"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$BUILD/tests/programs/$1" ${3-} >/dev/null 2>&1 </dev/null
	"$FAULTLINE" slice "$TMPDIR/c" --at "$2" --capture "$TMPDIR/s" >"$TMPDIR/out" 2>&1 ||
		fail "$1: $(cat "$TMPDIR/out")"
	"$FAULTLINE" replay --json "$TMPDIR/s" >"$TMPDIR/json" 2>"$TMPDIR/err" ||
		fail "$1: the slice capture does not replay: $(cat "$TMPDIR/err" "$TMPDIR/json")"
	jq -e '.matched' "$TMPDIR/json" >/dev/null || fail "$1: $(cat "$TMPDIR/json")"
}

for program in threads jit vex; do
	sliced $program 70000
	jq -e '.recorded == 70001 and .instructions < 35000' "$TMPDIR/json" >/dev/null ||
		fail "$program: $(cat "$TMPDIR/json")"
	"$FAULTLINE" replay --stdout "$TMPDIR/s" >/dev/null 2>&1 || fail "$program: no output"
done

# What is there at the criterion, in both: a crash, its stack and variables; and on the way back.
sliced debugged crash crash
grep -q " pieces are left out" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
printf 'handle SIGUSR1 nostop noprint\ncontinue\nbt\ninfo locals\nx/6gx $rsp\np $zmm1\nreverse-stepi 3\n%s\n' \
	'p $rip' >"$TMPDIR/walk"
for c in c s; do
	gdb_on "$TMPDIR/$c" <"$TMPDIR/walk" || fail "gdb: $(cat "$TMPDIR/gdb")"
	# A thread that has been joined may not be gone yet: then it is "Thread 1" that received it.
	sed -n '/received signal/,/^\[Inferior/p' "$TMPDIR/gdb" >"$TMPDIR/walked.$c"
done
grep -q "SIGSEGV" "$TMPDIR/walked.c" || fail "no crash: $(cat "$TMPDIR/walked.c")"
cmp "$TMPDIR/walked.c" "$TMPDIR/walked.s" ||
	fail "$(diff "$TMPDIR/walked.c" "$TMPDIR/walked.s")"

gdb_on "$TMPDIR/s" <<'GDB' || fail "gdb: $(cat "$TMPDIR/gdb")"
# over
seek 200
stepi
reverse-stepi
when
seek end
when
python
try:
	gdb.execute("slice")
except gdb.error as e:
	print("refused:", e)
end
seek start
handle SIGUSR1 nostop noprint
continue
seek 11000
# called
print (int)getpid()
GDB
says over "^position 200 \(recorded at [0-9]+\)" \
	"^position [0-9]+ \(recorded at $(jq .recorded "$TMPDIR/json")\)" "refused: .*slice capture"
says called '^\$[0-9]+ = [0-9]+'

# From gdb, of what was asked there.
gdb_on "$TMPDIR/c" <<GDB || fail "gdb: $(cat "$TMPDIR/gdb")"
handle SIGUSR1 nostop noprint
continue
slice
slice capture $TMPDIR/from-gdb
GDB
"$FAULTLINE" replay "$TMPDIR/from-gdb" >"$TMPDIR/out" 2>&1 || fail "$(cat "$TMPDIR/gdb" "$TMPDIR/out")"
grep -q "slice of here: of $(jq .recorded "$TMPDIR/json") steps" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

for command in check slice "analyze --accesses" inputs; do
	"$FAULTLINE" $command "$TMPDIR/s" >"$TMPDIR/out" 2>&1
	[ $? = 2 ] && grep -q "slice capture" "$TMPDIR/out" || fail "$command: $(cat "$TMPDIR/out")"
done
"$FAULTLINE" info "$TMPDIR/s" >"$TMPDIR/out" || fail "info: $(cat "$TMPDIR/out")"
grep -q "faultline debug" "$TMPDIR/out" && ! grep -Eq "faultline (check|analyze)" "$TMPDIR/out" ||
	fail "info suggests what refuses it: $(cat "$TMPDIR/out")"
"$FAULTLINE" dump "$TMPDIR/s" | grep -q "OMITTED [0-9]* steps at position" || fail "dump tells of no piece"
"$FAULTLINE" slice "$TMPDIR/c" --capture "$TMPDIR/s" >"$TMPDIR/out" 2>&1 && fail "it writes over a capture"
[ -f "$TMPDIR/s/manifest.json" ] || fail "it removed what was there"
