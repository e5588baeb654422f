#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A followed child executes a setuid program: it gets its user, as it would by itself.
. tests/lib.sh

need setpriv
need_bpf
[ "$(id -u)" = 0 ] || skip "needs root, to make a setuid program"
# Not in $TMPDIR, which others may not enter.
dir=$(mktemp -d /tmp/faultline-setuid.XXXXXX) || fail "no directory"
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cp "$BUILD/tests/programs/forks" "$dir/ids"
chmod 4755 "$dir/ids"
run=(setpriv --reuid=65534 --clear-groups sh -c "'$dir/ids' ids; :")
"${run[@]}" >"$TMPDIR/want" 2>&1 || fail "not by itself either: $(cat "$TMPDIR/want")"
head -n 1 "$TMPDIR/want" | grep -qx "65534 0" || skip "no setuid in $dir"
make_followed "$TMPDIR/c" "${run[@]}"
head -n 1 "$TMPDIR/c.out" | grep -qx "65534 0" || fail "other ids: $(cat "$TMPDIR/c.out")"
all_match "$TMPDIR/c"
