#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# make install puts program, pages and completion below PREFIX in DESTDIR.
. tests/lib.sh

need help2man make
mkdir "$TMPDIR/tree"
# -o: the program under test is installed, not built again with other flags.
env -u MAKEFLAGS make -s -o "$BUILD/faultline" -o "$BUILD/libfaultline.so.0" O="$BUILD" DESTDIR="$TMPDIR/tree" \
	PREFIX=/opt/f install >"$TMPDIR/log" 2>&1 || fail "$(cat "$TMPDIR/log")"
for f in bin/faultline share/man/man1/faultline.1 share/man/man1/faultline-replay.1 \
	share/bash-completion/completions/faultline share/faultline/specs/avl.spec; do
	[ -s "$TMPDIR/tree/opt/f/$f" ] || fail "$f is not installed"
done
"$TMPDIR/tree/opt/f/bin/faultline" --version | grep -q "^faultline [0-9]" || fail "no version"
