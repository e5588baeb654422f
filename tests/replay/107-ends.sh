#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# How a program ends: record passes its status through, replay ends the same way.
. tests/lib.sh

crash=$BUILD/tests/programs/crash
for how in "exit 0:0" "exit 3:3" "exit 200:200" segv:139 abort:134 fpe:136 ill:132; do
	rm -rf "$TMPDIR/c"*
	# shellcheck disable=SC2086 # the words are arguments
	want_status=${how##*:} make_capture "$TMPDIR/c" "$crash" ${how%%:*}
	replay_matches "$TMPDIR/c"
	case $how in
	exit*) end="\"end\":[[:space:]]*\"exit\"" ;;
	*) end="\"end\":[[:space:]]*\"signal\"" ;;
	esac
	tr -d "\n" <"$TMPDIR/c/manifest.json" | grep -Eq "$end" ||
		fail "the manifest does not say $end"
done
