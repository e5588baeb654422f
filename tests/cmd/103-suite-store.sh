#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Captures that share what they hold: each file is there once, whatever is moved or removed; what
# was damaged is named, and neither shared nor read.
# FAULTLINE_CAPTURES=N: of so many captures of a program that does nothing, what they take is told.
# time limit: 3000
. tests/lib.sh

need gojq
need_bpf
SUITE=("${RECORD[@]:0:${#RECORD[@]}-1}" suite)
cd "$TMPDIR" || exit 1

spoil() { # file, where: another byte is there
	local byte=x
	[ "$(dd if="$1" bs=1 skip="$2" count=1 2>/dev/null | tr '\0' 0)" != x ] || byte=y
	printf $byte | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

for i in 1 2 3; do
	echo "{\"name\": \"t$i\", \"args\": [\"$i\"], \"status\": 0}"
done >tests.jsonl
expect_status 0 "${SUITE[@]}" record --store store --tests tests.jsonl -o one -- /bin/echo
# alike - do all captures say the same of the processor? A hypervisor may move its CPUs, which then have other numbers.
alike() {
	[ "$(grep -l '"cpuid"' store/h* | wc -l)" = 1 ] || skip "the processors' numbers changed meanwhile"
}
alike
n=$(find store -type f | wc -l)
[ "$n" -ge 3 ] || fail "only $n files are shared"
grep -q "^$((2 * n)) files shared with others in store, [0-9.]* MiB; $n are new there$" "$TMPDIR/out" ||
	fail "$(cat "$TMPDIR/out")"
for i in 1 2 3; do
	for file in $(find store -type f -name '*-*' -size +1); do
		[ one/tests/t$i/capture/files/"${file#store/}" -ef "$file" ] || fail "t$i has its own $file"
	done
done
[ -z "$(find one -name start.core)" ] && [ "$(find one -name start.delta | wc -l)" = 3 ] ||
	fail "start states are not shared: $(find one)"
# A suite that is there already.
expect_status 0 "${SUITE[@]}" record --tests tests.jsonl -o two -- /bin/echo
[ "$(find two -path '*/files/*' -links +1 | wc -l)" = 0 ] || fail "shared without being asked"
expect_status 0 "${SUITE[@]}" record --store store --tests tests.jsonl -o two -- /bin/echo
alike
[ "$(find store -type f -links 7 | wc -l)" = "$n" ] || fail "not shared: $(ls -l store)"
expect_status 0 "$FAULTLINE" suite store store
grep -q "^$n files, " "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# A capture needs nobody.
cp -r one/tests/t1/capture copy
mv one moved
rm -r two
mv store away
for capture in copy moved/tests/t2/capture; do
	expect_status 0 "$FAULTLINE" replay $capture
done
mv away store

# A start state is told by another one, which is what its name says, or not used.
base=$(readlink store/base.*)
[ -f "store/$base" ] || fail "no start state: $(ls -l store)"
cp "store/$base" kept
chmod 600 "store/$base"
spoil "store/$base" 100000
expect_status 2 "$FAULTLINE" replay moved/tests/t2/capture
expect_error "cannot use .*files/$base', which start.delta is based on: its contents are others now"
expect_status 1 "$FAULTLINE" suite store store
grep -q "^damaged: store/$base (3 captures have it)$" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
cat kept >"store/$base"
for gone in "$base" "$(cd store && find . -size +500k -printf '%f')"; do
	mv "moved/tests/t3/capture/files/$gone" gone
	expect_status 2 "$FAULTLINE" replay moved/tests/t3/capture
	grep -q "^faultline: .*${gone%-*}" "$TMPDIR/err" || fail "$gone is missing: $(cat "$TMPDIR/err")"
	mv gone "moved/tests/t3/capture/files/$gone"
done
cp moved/tests/t3/capture/start.delta kept
spoil moved/tests/t3/capture/start.delta 200
expect_status 2 "$FAULTLINE" replay moved/tests/t3/capture
expect_error "moved/tests/t3/capture/start.delta' is damaged"
cp kept moved/tests/t3/capture/start.delta

# So of what the manifests have in common,
common=$(jq -r .common moved/tests/t3/capture/manifest.json)
[ "store/$common" -ef "moved/tests/t2/capture/files/$common" ] || fail "manifests are not shared: $(ls -l store)"
cp "store/$common" kept
chmod 600 "store/$common"
spoil "store/$common" 30
expect_status 2 "$FAULTLINE" replay moved/tests/t2/capture
expect_error "cannot read 'files/$common', which other captures have, too: its contents are others now"
cat kept >"store/$common"
mv "moved/tests/t2/capture/files/$common" gone
expect_status 2 "$FAULTLINE" replay moved/tests/t2/capture
expect_error "cannot open capture 'moved/tests/t2/capture': .*$common"
mv gone "moved/tests/t2/capture/files/$common"
# and who wants paths gets files that are not packed.
cp -r moved/tests/t3/capture paths
expect_status 0 "$FAULTLINE" encode paths
for link in $(find paths/symfs -type l); do
	cmp "$link" "${link#paths/symfs}" || fail "$link is another file"
done
[ "$(find paths/symfs -type l | wc -l)" -ge 3 ] || fail "no links: $(find paths/symfs)"
expect_status 0 "$FAULTLINE" replay paths

# Contents that are others now.
libc=$(find store -name '*-*' -size +500k | head -n 1)
[ -n "$libc" ] || fail "no libc: $(ls -l store)"
chmod 600 "$libc"
spoil "$libc" 200000
expect_status 2 "$FAULTLINE" replay moved/tests/t2/capture
expect_error "cannot read the copy of .*libc.*: '.*zst' is damaged"
expect_status 0 "$FAULTLINE" replay copy
sed 's/t1/t4/' tests.jsonl >more.jsonl
expect_status 0 "${SUITE[@]}" record --store store --tests more.jsonl -o three -- /bin/echo
grep -q "^faultline: note: cannot share '${libc#store/}': the one in 'store' has other contents" "$TMPDIR/err" ||
	fail "$(cat "$TMPDIR/err")"
[ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "not once: $(cat "$TMPDIR/err")"
expect_status 0 "$FAULTLINE" replay three/tests/t4/capture
: >"$libc"
expect_status 1 "$FAULTLINE" suite store store
grep -q "^damaged: $libc (3 captures have it)$" "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"

# So of a followed process, whose files are those of the capture that it is part of.
expect_status 0 "${RECORD[@]}" -f -o followed -- sh -c '/bin/echo; exit'
child=$(ls -d followed/children/*)
libc=$(find followed/files -size +500k | head -n 1)
ln "$libc" another
expect_status 0 "$FAULTLINE" replay "$child"
chmod 600 another
spoil another 200000
expect_status 2 "$FAULTLINE" replay "$child"
expect_error "contents are others now: the copy of .*libc.* is damaged"

# What is nobody's any more.
rm -r moved three
expect_status 1 "$FAULTLINE" suite store --collect store
[ -z "$(ls store)" ] || fail "left: $(ls store)"
mkdir mine
echo text >mine/letter
echo text >mine/abc-5
expect_status 2 "$FAULTLINE" suite store --collect mine
expect_error "cannot take 'mine' for a store: 'letter' is no file of a capture's"
[ "$(cat mine/*)" = "text
text" ] || fail "somebody's files are gone"
expect_status 2 "$FAULTLINE" suite store nowhere
expect_error "cannot open store 'nowhere'"
[ -n "${FAULTLINE_CAPTURES:-}" ] || exit 0

# 1,000 of them and their store take at most 1.2 times their events.
echo 'int main(void) { return 0; }' >nothing.c
${CC:-cc} -o nothing nothing.c || fail "no program"
for i in $(seq "$FAULTLINE_CAPTURES"); do
	echo "{\"name\": \"t$i\", \"status\": 0}"
done >tests.jsonl
expect_status 0 "${SUITE[@]}" record --store small --tests tests.jsonl -o many -- ./nothing
sum() { # what find takes: bytes, of each file once, however many links it has
	find "$@" -type f -printf '%i %s\n' | sort -u | awk '{ s += $2 } END { print s }'
}
taken=$(sum many/tests/*/capture small)
events=$(sum many/tests -name events.flt)
[ "$taken" -le $((events * 6 / 5)) ] || [ "$FAULTLINE_CAPTURES" -lt 1000 ] || fail "$taken bytes of $events"
echo "result: $FAULTLINE_CAPTURES captures and their store have $taken bytes, their events $events"
