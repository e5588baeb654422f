#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A command that may not use the network has its owner ask the user's debuginfod servers: by
# build-id, with debuginfod-find, which is a stand-in here.
. tests/lib.sh

need objcopy strip
cp "$BUILD/examples/list-O0" "$TMPDIR/prog"
objcopy --only-keep-debug "$TMPDIR/prog" "$TMPDIR/debug" || fail "no debug information"
id=$(readelf -n "$TMPDIR/prog" | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || fail "no build-id"
strip "$TMPDIR/prog"
mkdir "$TMPDIR/bin"
cat >"$TMPDIR/bin/debuginfod-find" <<S
#!/bin/bash
echo "\$*" >>"$TMPDIR/asked"
[ "\$*" = "debuginfo $id" ] || exit 1
echo "$TMPDIR/debug"
S
chmod 755 "$TMPDIR/bin/debuginfod-find"
export PATH=$TMPDIR/bin:$PATH
spec=("$FAULTLINE" spec check examples/list/list.spec --binary "$TMPDIR/prog")

unset DEBUGINFOD_URLS
"${spec[@]}" >"$TMPDIR/out" 2>&1 && fail "types without debug information: $(cat "$TMPDIR/out")"
[ ! -e "$TMPDIR/asked" ] || fail "nobody is to be asked: $(cat "$TMPDIR/asked")"
export DEBUGINFOD_URLS=http://127.0.0.1:1/
expect_status 0 "${spec[@]}"
grep -qx "debuginfo $id" "$TMPDIR/asked" || fail "not asked"
sort "$TMPDIR/asked" | uniq -d | grep . && fail "asked twice"
exit 0
