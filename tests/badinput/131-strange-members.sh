#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A bundle whose members are pipes, devices, links or directories: nobody waits for them or reads
# them, whichever command opens it; one line says what is wrong.
. tests/lib.sh

make_capture "$TMPDIR/good" "$BUILD/tests/programs/rbtree" 300
"$FAULTLINE" encode "$TMPDIR/good" >/dev/null || fail "cannot encode"
file=$(cd "$TMPDIR/good/files" && ls -S | head -n 1)

# refused COMMAND... - it ends by itself, with status 2 and one line.
refused() {
	expect_status 2 timeout 60 "$FAULTLINE" "$@" "$TMPDIR/bad"
	expect_error "regular file|is a link|directory"
}

kinds="pipe link far directory"
[ "$(id -u)" = 0 ] && kinds+=" zero"
for member in manifest.json events.flt start.core perf.data "files/$file"; do
	for kind in $kinds; do
		rm -rf "$TMPDIR/bad"
		cp -r "$TMPDIR/good" "$TMPDIR/bad"
		at=$TMPDIR/bad/$member
		mv "$at" "$TMPDIR/bad/same"
		case $kind in
		pipe) mkfifo "$at" ;;
		link) ln -s "$TMPDIR/bad/same" "$at" ;; # to the very bytes
		far) ln -s /dev/zero "$at" ;;
		directory) mkdir "$at" ;;
		zero) mknod "$at" c 1 5 || continue ;;
		esac
		echo "$member is a $kind"
		case $member in
		perf.data) refused decode ;;
		files/*) refused replay && refused analyze --accesses && refused graph ;;
		manifest.json) refused replay && refused dump && refused analyze --accesses && refused decode ;;
		*) refused replay && refused analyze --accesses ;;
		esac
	done
done

# All of files/ elsewhere; and the list of files of a capture without a manifest.
rm -rf "$TMPDIR/bad"
cp -r "$TMPDIR/good" "$TMPDIR/bad"
mv "$TMPDIR/bad/files" "$TMPDIR/files"
ln -s ../files "$TMPDIR/bad/files"
refused replay
rm -rf "$TMPDIR/bad"
cp -r "$TMPDIR/good" "$TMPDIR/bad"
rm "$TMPDIR/bad/manifest.json" "$TMPDIR/bad/files/index"
mkfifo "$TMPDIR/bad/files/index"
refused replay

# A suite's.
echo '{ "name": "a", "args": ["a"], "status": 0 }' >"$TMPDIR/tests"
suite=("$FAULTLINE" suite record --tests "$TMPDIR/tests" -o "$TMPDIR/s" -- /bin/echo)
"${suite[@]}" >/dev/null || fail "cannot record a suite"
cp -r "$TMPDIR/s" "$TMPDIR/again"
rm "$TMPDIR/s/suite.json"
mkfifo "$TMPDIR/s/suite.json"
expect_status 2 timeout 60 "$FAULTLINE" suite list "$TMPDIR/s"
expect_error "no regular file"
# One that goes on finds no link to follow either.
rm -rf "$TMPDIR/s"
mv "$TMPDIR/again" "$TMPDIR/s"
rm "$TMPDIR/s/suite.json"
mv "$TMPDIR/s/tests" "$TMPDIR/elsewhere"
rm "$TMPDIR/elsewhere/a/capture/manifest.json"
ln -s ../elsewhere "$TMPDIR/s/tests"
expect_status 2 timeout 60 "${suite[@]}"
[ -d "$TMPDIR/elsewhere/a" ] || fail "removed what was outside"
exit 0
