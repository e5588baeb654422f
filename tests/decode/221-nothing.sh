#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# An end before which nothing can be decoded: recover says so, and nothing dies.
. tests/lib.sh

need python3
need_bpf
"${RECORD[@]}" --end-core -o "$TMPDIR/whole" -- "$BUILD/examples/list-O2" >/dev/null 2>"$TMPDIR/err"
[ -e "$TMPDIR/whole/end.core" ] || fail "no end.core: $(cat "$TMPDIR/err")"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/whole"
expect_status 0 "$FAULTLINE" encode --flight "$TMPDIR/late" "$TMPDIR/whole"
expect_status 0 "$FAULTLINE" recover "$TMPDIR/late"

# damaged HOW - a copy of the capture whose packets are changed by a line of Python.
damaged() {
	rm -rf "$TMPDIR/d"
	cp -r "$TMPDIR/late" "$TMPDIR/d"
	python3 - "$TMPDIR/d/perf.data" "$1" <<-'EOF' || fail "nothing to damage: $1"
		import sys
		data = open(sys.argv[1], "rb").read()
		psb = b"\x02\x82" * 8
		first, last = data.find(psb), data.rfind(psb)
		changed = eval(sys.argv[2])
		assert first > 0 and changed != data and len(changed) == len(data)
		open(sys.argv[1], "wb").write(changed)
	EOF
	for command in "recover" "recover --last 50" "recover --json" "decode --calls" "decode"; do
		# shellcheck disable=SC2086 # words
		"$FAULTLINE" $command "$TMPDIR/d" >"$TMPDIR/out" 2>"$TMPDIR/err"
		got=$?
		[ $got -lt 3 ] || fail "$command: status $got, $1: $(cat "$TMPDIR/err")"
		[ $got != 2 ] || expect_error .
	done
}
# No place to begin at; one, and nothing but padding or nonsense behind it.
damaged 'data.replace(psb, bytes(16))'
damaged 'data[:last + 16] + bytes(64) + data[last + 80:]'
damaged 'data[:last + 16] + b"\xff" * 64 + data[last + 80:]'
damaged 'data[:first].replace(psb, b"") + bytes(last + 16 - first) + data[last + 16:]'
