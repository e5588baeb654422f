#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A signal that ends the program ends it recorded, too, where one of its threads waits for that signal and
# does not block it.
. tests/lib.sh

need_bpf
program=$BUILD/tests/programs/waits
for how in open blocked; do
	want=0
	[ $how = blocked ] || want=143
	expect_status $want bash -c "'$program' $how"
	mv "$TMPDIR/out" "$TMPDIR/alone"
	for _ in 1 2 3 4 5; do
		rm -rf "$TMPDIR/c"
		expect_status $want timeout 60 "${RECORD[@]}" -o "$TMPDIR/c" -- "$program" $how
		cmp "$TMPDIR/alone" "$TMPDIR/out" || fail "$how: recorded it says: $(cat "$TMPDIR/out")"
		[ $EUID = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
		expect_status 0 "$FAULTLINE" replay "$TMPDIR/c"
	done
done
