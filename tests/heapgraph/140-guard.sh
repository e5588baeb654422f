#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What the guard lets pass the reader of logs has nothing against: random instructions that move pointers about, with an
# access behind each, in a heap above and below 4 GiB. FAULTLINE_GUARDED is how many programs there are;
# FAULTLINE_SEED is the first one's (the same ones each time, else).
# time limit: 300
. tests/lib.sh
need cc perl
need_bpf

count() { sed -n "s/^$1 //p" "$TMPDIR/counts"; }

seed=${FAULTLINE_SEED:-1105}
end=$((seed + ${FAULTLINE_GUARDED:-2}))
for ((; seed < end; seed++)); do
	place=-pie
	((seed % 2)) || place=-no-pie
	perl tests/heapgraph/pointers.pl $seed 250 >"$TMPDIR/p.s" && cc $place -o "$TMPDIR/p" "$TMPDIR/p.s" ||
		fail "seed $seed: cannot assemble"
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/p" >"$TMPDIR/said" 2>&1 ||
		fail "seed $seed: $(cat "$TMPDIR/said")"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	"$BUILD/tests/heapgraph/tool_guard" "$TMPDIR/c" >"$TMPDIR/counts" 2>"$TMPDIR/missed" ||
		fail "seed $seed, $place: the guard let pass $(head -3 "$TMPDIR/missed")"
	[ "$(count found)" -gt 100 ] || fail "seed $seed: $(cat "$TMPDIR/counts")"
	[ "$(count doubted)" -lt $(($(count found) * 11 / 10)) ] ||
		fail "seed $seed: what is right is in doubt: $(cat "$TMPDIR/counts")"
done
exit 0
