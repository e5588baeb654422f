#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `--no-allocator`: programs with an arena and pools of their own have the same structure,
# and the same faulty statements, as when they take their memory from malloc and that is known.
# time limit: 300
. tests/lib.sh
need gojq cc
need_bpf

cat >"$TMPDIR/tree.spec" <<'END'
tree FIELD 5 EDGE 4;
tree X; tree Y; ..(left)
(X.left) == Y => Y.parent == X;
tree X; tree Y; ..(right)
(X.right) == Y => Y.parent == X;
END

cat >"$TMPDIR/item.spec" <<'END'
item FIELD 3 EDGE 2;
item X; item Y; ..(back)
(X.next) == Y => Y.prev == X;
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

# same SPEC SOURCE KIND: what `KIND' has without the allocator is what `malloc' has with it. What
# had better been stored is not looked for without, so the order may be another.
same() {
	local spec=$1 source=$2 kind=$3 level fault status k what
	for level in O0 O2; do
		cc -g -$level -o "$TMPDIR/prog" "$source" || fail "cannot compile $source"
		for fault in "" fault; do
			status=${fault:+1}
			analyze "$spec" "${status:-0}" -- "$TMPDIR/prog" malloc $fault >"$TMPDIR/known"
			for k in malloc "$kind"; do
				analyze "$spec" "${status:-0}" --no-allocator -- \
					"$TMPDIR/prog" $k $fault >"$TMPDIR/found"
				for what in '[.faults[] | .line] | sort' '.violations | length' "${@:4}"; do
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

same "$TMPDIR/tree.spec" tests/programs/arena.c arena .heap.edges
same "$TMPDIR/item.spec" tests/programs/pool.c pool
same "$TMPDIR/item.spec" tests/programs/pool.c bitmap

# Items that the pool took back are none, as those that were freed are none.
items() { "$FAULTLINE" graph "$TMPDIR/$1" "${@:2}" | sed -n 's/^ *\([0-9]*\) item$/\1/p'; }
cc -g -O0 -o "$TMPDIR/prog" tests/programs/pool.c || fail "cannot compile"
make_capture "$TMPDIR/malloc" "$TMPDIR/prog" malloc
make_capture "$TMPDIR/pool" "$TMPDIR/prog" pool
for at in insert take_out END; do
	known=$(items malloc --at $at)
	[ -n "$known" ] && [ "$known" = "$(items pool --at $at --no-allocator)" ] ||
		fail "at $at: $known items, not $(items pool --at $at --no-allocator)"
	[ "$known" = "$(items malloc --at $at --no-allocator)" ] ||
		fail "at $at: $known items, not $(items malloc --at $at --no-allocator)"
done
# The same program, with libc inside.
cc -g -O0 -static -o "$TMPDIR/prog" tests/programs/pool.c || fail "cannot link statically"
make_capture "$TMPDIR/static" "$TMPDIR/prog" malloc
for at in insert take_out END; do
	[ "$(items malloc --at $at)" = "$(items static --at $at --no-allocator)" ] ||
		fail "at $at: $(items static --at $at --no-allocator) items in the static program"
done
[ "$(items pool)" = "" ] || fail "malloc knows the pool's items"
exit 0
