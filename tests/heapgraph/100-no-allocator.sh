#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `--no-allocator`: a program with an arena of its own has the same structure, and the same
# faulty statements, as when it takes its memory from malloc and that is known.
. tests/lib.sh
need jq cc
need_bpf

cat >"$TMPDIR/tree.spec" <<'END'
tree FIELD 5 EDGE 4;
tree X; tree Y; ..(left)
(X.left) == Y => Y.parent == X;
tree X; tree Y; ..(right)
(X.right) == Y => Y.parent == X;
END

# analyze SPEC STATUS OPTION... -- COMMAND...: JSON to stdout.
analyze() {
	local spec=$1 want=$2 got=0 options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -rf "$TMPDIR/capture"
	make_capture "$TMPDIR/capture" "$@"
	"$FAULTLINE" analyze "$TMPDIR/capture" --spec "$spec" --json "${options[@]}" \
		2>"$TMPDIR/err" || got=$?
	[ $got = "$want" ] || fail "exit status $got, not $want: ${options[*]} $* $(cat "$TMPDIR/err")"
}

# same SPEC SOURCE KIND: what `KIND' has without the allocator is what `malloc' has with it.
same() {
	local spec=$1 source=$2 kind=$3 level fault status
	for level in O0 O2; do
		cc -g -$level -o "$TMPDIR/prog" "$source" || fail "cannot compile $source"
		for fault in "" fault; do
			status=${fault:+1}
			analyze "$spec" "${status:-0}" -- "$TMPDIR/prog" malloc $fault >"$TMPDIR/known"
			for k in malloc "$kind"; do
				analyze "$spec" "${status:-0}" --no-allocator -- \
					"$TMPDIR/prog" $k $fault >"$TMPDIR/found"
				for what in '[.faults[] | .line]' '.violations | length' .heap.edges; do
					[ "$(jq -c "$what" "$TMPDIR/known")" = \
						"$(jq -c "$what" "$TMPDIR/found")" ] ||
						fail "$level $k $fault: $what is $(jq -c "$what" "$TMPDIR/found"), not $(jq -c "$what" "$TMPDIR/known")"
				done
			done
			[ -z "$fault" ] || jq -e --argjson line "$(grep -n '/\* FAULT \*/' "$source" | cut -d: -f1)" \
				'[.faults[] | .line] | index($line) != null' "$TMPDIR/found" >/dev/null ||
				fail "$level $kind: $(jq -c .faults "$TMPDIR/found")"
		done
	done
	echo "$(basename "$source"): $(jq -c .heap "$TMPDIR/found")"
}

same "$TMPDIR/tree.spec" tests/programs/arena.c arena
exit 0
