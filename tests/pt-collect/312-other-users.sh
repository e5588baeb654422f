#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A user's recorder has capabilities of its file, and with these gets nothing of another user: it
# does not attach to his processes nor to one that forbids it, setuid programs run with the
# recording user's rights, what may be executed and not read is not recorded, and runs on; and what another user does with the same program
# and library at the same time is not in the capture.
. tests/lib.sh

need setpriv setcap cc python3
need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to be two other users"

place=$(mktemp -d /tmp/faultline-users.XXXXXX)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
mkdir -m 777 "$place/out"
cp "$BUILD/faultline" "$place/faultline"
fl=$place/faultline
one=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
two=(setpriv --reuid=65533 --regid=65533 --clear-groups --inh-caps=-all)
setcap cap_bpf,cap_perfmon+p "$fl" 2>/dev/null || skip "this file system keeps no capabilities"
"${one[@]}" "$fl" --version >/dev/null || skip "files with capabilities do not run here"

# One that forbids it, as ssh-agent does; given an argument, it allocates and calls all the time.
cat >"$place/busy.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char buf[64];
	int fd = open("/dev/zero", O_RDONLY);

	if (argc == 1 && prctl(PR_SET_DUMPABLE, 0))
		return 1;
	puts("ready");
	fflush(stdout);
	for (int i = 0; argc == 1 || i < atoi(argv[1]); i++) {
		free(malloc(argc == 1 ? 77 : 1000 + i % 1000));
		if (read(fd, buf, argc == 1 ? 33 : 44) < 0)
			return 1;
		if (argc == 1)
			usleep(100);
	}
	return 0;
}
C
cc -O0 -o "$place/busy" "$place/busy.c" || fail "cannot compile"
cp /bin/cat "$place/unreadable"
cp /usr/bin/id "$place/setuid-id"
cp /usr/bin/id "$place/setuid-unreadable"
chmod 711 "$place/unreadable"
chmod 4755 "$place/setuid-id"
chmod 4711 "$place/setuid-unreadable"
cd "$place/out" || exit 1

# refused WHOM - record -p said so in one line, and left nothing.
refused() {
	expect_error "cannot attach to process"
	[ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "$1: $(cat "$TMPDIR/err")"
	[ ! -e no ] || fail "$1: something was left"
}
"${two[@]}" "$place/busy" 1000000000 >"$TMPDIR/ready" &
others=$!
until_true grep -q ready "$TMPDIR/ready"
expect_status 125 "${one[@]}" "$fl" record --duration 1 -o no -p $others
refused "another user's"
expect_status 125 "${one[@]}" "$fl" record --snapshot -e heap --duration 1 -o no -p $others
refused "another user's, by the flight recorder"
kill $others
"${one[@]}" "$place/busy" >"$TMPDIR/ready" &
closed=$!
until_true grep -q ready "$TMPDIR/ready"
expect_status 125 "${one[@]}" "$fl" record --duration 1 -o no -p $closed
refused "one that forbids it"
kill $closed

# The same program of another user, in the same file and library: nothing of it is there.
"${two[@]}" "$place/busy" >"$TMPDIR/ready" &
others=$!
until_true grep -q ready "$TMPDIR/ready"
expect_status 0 "${one[@]}" "$fl" record -e heap -o a -- "$place/busy" 5000
kill $others
"$FAULTLINE" dump --json a >"$TMPDIR/events" || fail "cannot dump"
python3 - "$TMPDIR/events" <<'P' || fail "events of another user's process"
import json, sys
threads, sizes, reads = set(), 0, 0
for line in open(sys.argv[1]):
    e = json.loads(line)
    threads.add(e["thread"])
    if e.get("name") == "read" and e.get("result") == 33: sys.exit("a read of the other's")
    reads += e.get("name") == "read" and e.get("result") == 44
    sizes += e["kind"] == "heap"
sys.exit(len(threads) != 1 or reads != 5000 or sizes < 10000)
P

# What may be executed only: refused before it runs, or told of and left to run on.
expect_status 125 "${one[@]}" "$fl" record -o no -- "$place/unreadable" /dev/null
expect_error "cannot record '$place/unreadable': .*may only execute"
[ ! -e no ] || fail "something was left"
expect_status 0 "${one[@]}" "$fl" record -f -o b -- sh -c "echo whole | $place/unreadable; :"
grep -qx whole "$TMPDIR/out" || fail "it was harmed: $(cat "$TMPDIR/out" "$TMPDIR/err")"
grep -q '1 gap: .*may only execute' "$TMPDIR/err" || fail "not told: $(cat "$TMPDIR/err")"
expect_status 0 "${one[@]}" "$fl" record --snapshot -e heap -f -o no -- \
	sh -c "echo whole | $place/unreadable; :"
grep -qx whole "$TMPDIR/out" || fail "it was harmed: $(cat "$TMPDIR/out" "$TMPDIR/err")"
grep -q 'not recorded from its exec on: .*may only execute' "$TMPDIR/err" ||
	fail "not told: $(cat "$TMPDIR/err")"

# Setuid programs that a followed one starts have its user's rights; so says a line.
for with in "-f -o c" "--snapshot -e heap -f -o no"; do
	expect_status 0 "${one[@]}" "$fl" record $with -- \
		sh -c "$place/setuid-id -u; $place/setuid-unreadable -u; :"
	[ "$(sort -u "$TMPDIR/out")" = 65534 ] || fail "rights of another: $(cat "$TMPDIR/out")"
	grep -q "'$place/setuid-id' is setuid, and runs with your own rights" "$TMPDIR/err" ||
		fail "not told: $(cat "$TMPDIR/err")"
	grep -q 'may only execute' "$TMPDIR/err" || fail "not told: $(cat "$TMPDIR/err")"
done
