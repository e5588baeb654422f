#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The machine's hostile processes (decode/unit_hostile runs them as root) where rights differ: an
# ordinary user has its namespaces with a user namespace, or, where that is forbidden, none.
. tests/lib.sh

need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to be somebody else"
dir=$(mktemp -d /tmp/faultline-anybody.XXXXXX) || fail "no directory"
trap 'rm -rf "$dir"' EXIT
"${RECORD[@]}" -o "$dir/capture" -- true 2>"$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
cp "$BUILD/tests/decode/unit_hostile" "$FAULTLINE" "$dir" || fail "cannot copy"
mkdir "$dir/tmp"
chmod -R a+rX "$dir"
chmod 777 "$dir/tmp"

# as_user COMMAND - as a user that is nobody else, who has no rights.
as_user() {
	env HOSTILE_CAPTURE="$dir/capture" TMPDIR="$dir/tmp" \
		setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps=-all \
		bash -c "cd $dir && $1" >"$TMPDIR/out" 2>&1
}
# Below a namespace that allows no more of them, and without the rights that one has there.
nowhere() {
	echo "unshare -Ur bash -c 'echo 0 >/proc/sys/user/max_user_namespaces &&
		exec setpriv --bounding-set=-all --inh-caps=-all $1'"
}
"$FAULTLINE" replay "$dir/capture" >"$TMPDIR/want" || fail "no replay"

as_user "./faultline replay capture" || fail "$(cat "$TMPDIR/out")"
cmp "$TMPDIR/want" "$TMPDIR/out" || fail "another result"
as_user ./unit_hostile || fail "$(cat "$TMPDIR/out")"
how="with what the kernel allows"
if as_user "$(nowhere "./faultline replay capture")"; then
	cmp "$TMPDIR/want" "$TMPDIR/out" || fail "another result without namespaces"
	as_user "$(nowhere ./unit_hostile)" || fail "without namespaces: $(cat "$TMPDIR/out")"
	how="with namespaces, and without"
else
	as_user "unshare -Ur true" && fail "without namespaces: $(cat "$TMPDIR/out")"
fi
echo "result: $how"
