#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Recording without the right to load BPF: the message names the capabilities and the way to get them.
. tests/lib.sh

need setpriv
[ "$(id -u)" = 0 ] || skip "needs root, to take rights away"

# Where nobody may read: TMPDIR is ours alone.
place=$(mktemp -d /tmp/faultline-permission.XXXXXX)
trap "rm -rf \"$place\"" EXIT
cp "$FAULTLINE" "$place/faultline"
mkdir -m 777 "$place/out"
chmod 755 "$place" "$place/faultline"

expect_status 125 setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all \
	--inh-caps=-all "$place/faultline" record -o "$place/out/c" -- /bin/echo ran
expect_error "CAP_BPF"
expect_error "CAP_PERFMON"
expect_error "sudo|as root"
expect_error "setcap"
grep -q ran "$TMPDIR/out" && fail "the program ran although nothing was recorded"
looks_whole "$place/out/c" && fail "a capture was left that looks whole"
exit 0
