#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
# time limit: 400
#
# More than the ring holds, faster than it can be written: the program is held back and
# nothing is lost. It counts itself, and the capture has as many; it replays. 2 million
# calls in a row, 3 GB through a pipe, 200 MB that do not compress. Memory stays bounded.
. tests/lib.sh

need cksum
need_bpf
pressure=$BUILD/tests/programs/pressure
memory_max_kb=400000

# press NAME ARG... - record pressure ARG..., watching how large the recorder becomes.
press() {
	local name=$1 keeper recorder kb largest=0
	shift
	"${RECORD[@]}" -o "$TMPDIR/$name" -- "$pressure" "$@" >"$TMPDIR/$name.out" 2>"$TMPDIR/err" &
	keeper=$!
	while kill -0 $keeper 2>/dev/null; do
		recorder=$(pgrep -x flt-recorder -P "$keeper")
		kb=$(awk '/^VmHWM/ { print $2 }' "/proc/${recorder:-none}/status" 2>/dev/null)
		[ "${kb:-0}" -gt $largest ] && largest=$kb
		sleep 0.1
	done
	wait $keeper || fail "record failed: $(cat "$TMPDIR/err")"
	cat "$TMPDIR/$name.out" "$TMPDIR/err"
	echo "recorder: at most $largest kB"
	[ $largest -lt $memory_max_kb ] || fail "the recorder needed $largest kB"
	tail -n 1 "$TMPDIR/err" | grep -q ': complete$' || fail "$(cat "$TMPDIR/err")"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/$name"
	expect_status 0 "$FAULTLINE" replay "$TMPDIR/$name" --stdout
	cmp "$TMPDIR/$name.out" "$TMPDIR/out" || fail "the replay counted something else"
}

calls=${FAULTLINE_PRESSURE_CALLS:-2000000}
press calls calls "$calls"
n=$("$FAULTLINE" dump "$TMPDIR/calls" | grep -c 'SYSCALL getppid(')
[ "calls $n" = "$(cat "$TMPDIR/calls.out")" ] || fail "recorded calls: $n"
rm -r "$TMPDIR/calls"

# counts NAME FD - calls of read(FD) that got something, and bytes held by the capture.
counts() {
	"$FAULTLINE" dump "$TMPDIR/$1" | awk -v call="SYSCALL read($2," '
	index($0, call) && match($0, /, 10000[,)].* = [0-9]+/) {
		ret = substr($0, RSTART, RLENGTH)
		sub(/.* = /, "", ret)
		if (ret == 0) next
		for (got = 0; match($0, /\+[0-9]+\]/); $0 = substr($0, RSTART + RLENGTH))
			got += substr($0, RSTART + 1, RLENGTH - 2)
		if (ret != got) bad++
		reads++
		sum += got } END { printf "reads %d bytes %.0f wrong %d\n", reads, sum, bad }'
}
press pipe pipe "${FAULTLINE_PRESSURE_BYTES:-3000000000}"
[ "$(counts pipe 3)" = "$(sed 's/ sum.*//' "$TMPDIR/pipe.out") wrong 0" ] ||
	fail "recorded $(counts pipe 3)"
rm -r "$TMPDIR/pipe"

head -c 200000000 /dev/urandom | tee >(cksum >"$TMPDIR/truth") |
	"${RECORD[@]}" -o "$TMPDIR/d" -- cksum >"$TMPDIR/out" 2>"$TMPDIR/err" ||
	fail "record failed: $(cat "$TMPDIR/err")"
cat "$TMPDIR/err"
until_true [ -s "$TMPDIR/truth" ] # nobody waits for its cksum
cmp "$TMPDIR/out" "$TMPDIR/truth" || fail "cksum read something else"
tail -n 1 "$TMPDIR/err" | grep -q ': complete$' || fail "$(cat "$TMPDIR/err")"
