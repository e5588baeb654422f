#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The dependency step does nothing and prints nothing when all is there.
. tests/lib.sh

need dpkg-query
expect_status 0 tools/deps.sh
[ ! -s "$TMPDIR/out" ] && [ ! -s "$TMPDIR/err" ] || fail "it printed $(cat "$TMPDIR/out" "$TMPDIR/err")"
# A package that does not exist is an error, named.
echo "no-such-package-of-faultline" >"$TMPDIR/list"
mkdir "$TMPDIR/bin"
printf "#!/bin/sh\nexit 100\n" >"$TMPDIR/bin/apt-get"
cp "$TMPDIR/bin/apt-get" "$TMPDIR/bin/sudo"
chmod +x "$TMPDIR/bin/"*
PATH=$TMPDIR/bin:$PATH expect_status 1 tools/deps.sh "$TMPDIR/list"
grep -q no-such-package-of-faultline "$TMPDIR/err" || fail "the package is not named"
