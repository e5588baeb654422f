#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A machine's process, looked at from outside: its rights, limits, descriptors and place. And who
# goes when memory is short: it and the command are the kernel's first choice, their owner is not;
# whichever of them is killed, one line says so, with status 2.
. tests/lib.sh

make_capture "$TMPDIR/c" seq 100000
mine=$(cat /proc/self/oom_score_adj)
mkfifo "$TMPDIR/pipe"
exec 3<>"$TMPDIR/pipe"
owner=
trap '[ -z "$owner" ] || kill -9 $owner 2>/dev/null' EXIT

# begin - a replay that stays: nobody reads what its program writes. Sets owner, command, guest.
begin() {
	fresh
	"$FAULTLINE" replay --stdout "$TMPDIR/c" >&3 2>"$TMPDIR/err" &
	owner=$!
	until_true eval 'guest=$(pgrep -P "$(pgrep -P $owner -f ^faultline-machine)")' ||
		fail "no process of the machine: $(cat "$TMPDIR/err")"
	command=$(pgrep -P $owner | grep -vx "$(pgrep -P $owner -f ^faultline-machine)")
	[ -n "$command" ] || fail "no process of the command"
}
# goes_first PROCESS WHAT
goes_first() {
	until_true grep -qx 1000 "/proc/$1/oom_score_adj" ||
		fail "the $2 has $(cat "/proc/$1/oom_score_adj")"
}
# ended WHAT - the owner has, with one line.
ended() {
	local got=0
	wait $owner || got=$?
	[ $got = 2 ] || fail "$1 was killed: status $got: $(cat "$TMPDIR/err")"
	expect_error "killed, perhaps for want of memory"
	[ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "$1 was killed: $(cat "$TMPDIR/err")"
}

# has PATTERN - a line of $list is that.
has() {
	grep -Exq "$1" <<<"$list" || fail "no '$1' in: $list"
}

begin
goes_first "$guest" "machine's process"
is_blocked() {
	[ "$(cut -d ' ' -f 1 "/proc/$guest/syscall")" = 1 ] # write
}
until_true is_blocked || fail "it does not write: $(cat "/proc/$guest/syscall")"
list=$(tr -s '\t' ' ' <"/proc/$guest/status")
for line in 'NoNewPrivs: 1' 'Cap(Inh|Prm|Eff|Amb): 0+' 'Seccomp: 2'; do
	has "$line"
done
[ "$(grep -cEx 'Cap(Inh|Prm|Eff|Amb): 0+' <<<"$list")" = 4 ] || fail "it has capabilities: $list"
list=$(tr -s ' ' <"/proc/$guest/limits")
has 'Max core file size 0 0 bytes ?'
has 'Max locked memory 0 0 bytes ?'
has 'Max msgqueue size 0 0 bytes ?'
list=$(readlink "/proc/$guest"/fd/*)
grep -Ev "^(/dev/null|pipe:.*|$TMPDIR/pipe|/memfd:.*|$TMPDIR/c(/.*)?)\$" <<<"$list" && fail "it has more open"
has "$TMPDIR/pipe"
[ "$(grep -c pipe: <<<"$(sort -u <<<"$list")")" = 1 ] || fail "a pipe that is not for its messages: $list"
if [ "$(id -u)" = 0 ] && unshare --pid --net --mount --ipc --fork true; then
	readlink "/proc/$guest/root" | grep -q '^/proc/.*fdinfo' ||
		fail "its root is $(readlink "/proc/$guest/root")"
	for ns in pid net mnt ipc; do
		[ "$(readlink "/proc/$guest/ns/$ns")" != "$(readlink /proc/self/ns/$ns)" ] ||
			fail "it has our namespace: $ns"
	done
fi
goes_first "$guest" "machine's process"
goes_first "$command" command
[ "$(cat /proc/$owner/oom_score_adj)" = "$mine" ] || fail "its owner goes first, too"
kill -9 "$guest"
ended "the machine's process"
begin
kill -9 "$command"
ended "the command"
! pgrep -f "^faultline-machine $TMPDIR/" || fail "something is left"
