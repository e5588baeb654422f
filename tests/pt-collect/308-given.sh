#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A capture that root makes by sudo belongs to who called sudo, with all that is in it; without
# sudo, or into a directory that was there, it stays root's. No link that is found is followed.
. tests/lib.sh

need_bpf
[ "$(id -u)" = 0 ] || skip "needs root"
as() { # uid gid command...
	local uid=$1 gid=$2
	shift 2
	env SUDO_UID="$uid" SUDO_GID="$gid" SUDO_USER=somebody "$@"
}
owners() {
	find "$1" -printf '%U:%G\n' | sort -u | tr '\n' ' '
}
cd "$TMPDIR" || exit 1
chmod 755 .
export TMPDIR
as 12345 23456 "$FAULTLINE" record -f --end-core -o c -- sh -c '/bin/true; exit 3' >out 2>err
[ $? = 3 ] || fail "$(cat err)"
[ "$(owners c)" = "12345:23456 " ] || fail "not all is given: $(find c -printf '%U:%G %p\n')"
[ "$(stat -c %a c)" = 700 ] || fail "its mode is $(stat -c %a c)"
[ -n "$(ls c/children)" ] || fail "nothing was followed"
if command -v setpriv >/dev/null; then
	setpriv --reuid 12345 --regid 23456 --clear-groups cat c/manifest.json >/dev/null ||
		fail "who called sudo cannot read it"
fi
expect_status 0 "$FAULTLINE" replay c

"$FAULTLINE" record -o plain -- /bin/true 2>err || fail "$(cat err)"
[ "$(owners plain)" = "0:0 " ] || fail "given to nobody who asked: $(owners plain)"
for uid in 0 -1 4294967295 12a "" 99999999999; do
	as "$uid" 1 "$FAULTLINE" record -o "odd$uid" -- /bin/true 2>err || fail "$(cat err)"
	[ "$(owners "odd$uid")" = "0:0 " ] || fail "SUDO_UID=$uid: $(owners "odd$uid")"
done
mkdir there
as 12345 23456 "$FAULTLINE" record -o there -- /bin/true 2>err || fail "$(cat err)"
[ "$(owners there)" = "0:0 " ] || fail "a directory that was there: $(owners there)"

as 12345 23456 "$FAULTLINE" record --snapshot -o crash -- "$BUILD/examples/list-O2" >out 2>err
[ "$(owners crash)" = "12345:23456 " ] || fail "a snapshot: $(owners crash), $(cat err)"

# A suite is gone on with by root: it stays root's.
echo '{"name": "one", "status": 0}' >tests.jsonl
as 12345 23456 "$FAULTLINE" suite record --tests tests.jsonl -o s -- /bin/true >out 2>err ||
	fail "$(cat out err)"
[ "$(stat -c %U:%a s)" = root:700 ] || fail "a suite: $(ls -ld s)"
as 12345 23456 "$FAULTLINE" suite record --tests tests.jsonl -o s -- /bin/true >out 2>err ||
	fail "not gone on with: $(cat out err)"
exit 0
