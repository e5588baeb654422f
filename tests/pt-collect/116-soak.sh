#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Of many processes that have ended, of threads and of runs the recorder keeps nothing: no
# descriptor, no room in its BPF maps (kernels from 6.4 on say what these take), no memory but, of
# a process, a line for the manifest. FAULTLINE_SOAK=100000 has that many of each (30 minutes).
# time limit: 3600
. tests/lib.sh

# flat WHAT KIB - the samples in $TMPDIR/out: the later half has no more than the earlier half had,
# but for KIB of the recorder's own memory. (A process that ends just then has a few descriptors,
# and a place in a map.)
flat() {
	awk -v kib="$2" '
	/descriptors/ { line[++n] = $0 }
	function most(field, from, to,   i, f, m) {
		for (i = from; i <= to; i++) {
			split(line[i], f, " ")
			if (f[field] + 0 > m) m = f[field] + 0
		}
		return m
	}
	END {
		half = int(n / 2)
		if (n < 10) { print n " samples"; exit 1 }
		for (field = 2; field <= 7; field += field == 4 ? 3 : 2) {
			before = most(field, 2, half)
			after = most(field, half + 1, n)
			if (after > before + (field == 4 ? kib : 16)) {
				print line[2]; print line[half]; print line[n]
				exit 1
			}
		}
		print line[n]
	}' "$TMPDIR/out" >"$TMPDIR/flat" || fail "$1: $(cat "$TMPDIR/flat")"
	echo "$1: $(cat "$TMPDIR/flat")"
}

# What AddressSanitizer keeps of what was freed is no leak.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=0:thread_local_quarantine_size_kb=0
n=${FAULTLINE_SOAK:-100} program=$BUILD/tests/programs/soak remover=
need_bpf
# A bundle is 0.3 MiB; nobody reads these.
if [ "$n" -gt 5000 ]; then
	while sleep 5; do
		find "$TMPDIR/c/children" -mindepth 1 -maxdepth 1 -type d -mmin +1 \
			-exec rm -rf {} +
	done 2>/dev/null &
	remover=$!
fi
expect_status 0 "${RECORD[@]}" -f -o "$TMPDIR/c" -- "$program" processes "$n"
[ -z "$remover" ] || kill "$remover"
flat "$n processes" $((n + 1024))
rm -rf "$TMPDIR/c"
expect_status 0 "${RECORD[@]}" -o "$TMPDIR/c" -- "$program" threads "$n"
flat "$n threads" 1024
rm -rf "$TMPDIR/c"
[ "$n" -gt 1000 ] || n=$((n / 2)) # these take longest
expect_status 0 "${RECORD[@]}" --until-fail="$n" -o "$TMPDIR/c" -- "$program" once
flat "$n runs" 1024
