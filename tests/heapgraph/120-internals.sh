#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The allocator's internals: what glibc merged is a cluster of the chunks that were freed, the
# rest of what it split has its source, allocations know the chunk they were made of; the
# thread cache, a fast bin and the bins are there, with their lists. The free list that the
# freechunk example corrupts is seen in all that, too.
. tests/lib.sh
need gojq dot
need_bpf
getconf GNU_LIBC_VERSION | grep -qE '2\.(3[2-9]|[4-9])' || skip "glibc older than 2.32"

make_capture "$TMPDIR/capture" "$BUILD/tests/programs/merges"
graph() { "$FAULTLINE" graph "$TMPDIR/capture" --internals "$@" 2>"$TMPDIR/err" || fail "graph $*: $(cat "$TMPDIR/err")"; }
count() { sed -n "s/^ *\([0-9]*\) $1\$/\1/p"; }

# Three freed chunks of 1216 bytes, one chunk of 3648; in the order of their addresses.
graph --at merged --dot >"$TMPDIR/merged.dot"
grep -q 'malloc_chunk.*chunk of 3648 bytes, allocation n15 later' "$TMPDIR/merged.dot" ||
	fail "no merged chunk: $(grep malloc_chunk "$TMPDIR/merged.dot")"
[ "$(grep -c '^	part[0-9]* \[.*n1216 bytes' "$TMPDIR/merged.dot")" = 3 ] ||
	fail "not three members: $(grep part "$TMPDIR/merged.dot")"
[ "$(grep -c '^	part[0-9]* -> part[0-9]* \[dir=none.*label="([0-9]*)"' "$TMPDIR/merged.dot")" = 2 ] ||
	fail "not two merge edges: $(grep part "$TMPDIR/merged.dot")"
dot -Tplain "$TMPDIR/merged.dot" >/dev/null || fail "dot does not read it"

# 2,000 bytes are taken of it, what is left has it as its source.
graph --at split --dot >"$TMPDIR/split.dot"
whole=$(sed -n 's/.*<b>n\([0-9]*\) .*chunk of 3648 bytes.*/\1/p' "$TMPDIR/merged.dot")
grep -q "chunk of 1632 bytes<br/>split from n$whole<" "$TMPDIR/split.dot" ||
	fail "no remainder of n$whole: $(grep malloc_chunk "$TMPDIR/split.dot")"

# The page says so, too.
graph --from merged --to split --html "$TMPDIR/page.html"
page_log "$TMPDIR/page.html" >"$TMPDIR/page.json"
jq -e --arg n "${whole}" '(.nodes[$n][5] | test("^merged from n[0-9]+ n[0-9]+ n[0-9]+$")) and
	([.nodes[][5]] | index("split from n" + $n) != null)' "$TMPDIR/page.json" >/dev/null ||
	fail "the page: $(jq -c .nodes "$TMPDIR/page.json")"

# Seven small ones are in the cache, three in the fast bin, in lists.
graph --at cached >"$TMPDIR/cached"
[ "$(count tcache_entry <"$TMPDIR/cached")" = 7 ] && [ "$(count fastbin_chunk <"$TMPDIR/cached")" = 3 ] &&
	[ "$(count tcache_perthread_struct <"$TMPDIR/cached")" = 1 ] || fail "$(cat "$TMPDIR/cached")"
graph --at cached --dot >"$TMPDIR/cached.dot"
[ "$(grep -c '^	n[0-9]*:f[0-9]*:e -> n' "$TMPDIR/cached.dot")" -ge $((7 + 2)) ] ||
	fail "lists: $(grep -e '->' "$TMPDIR/cached.dot")"
grep -q 'entries\[0x20\]' "$TMPDIR/cached.dot" || fail "no list of chunks of 32 bytes"

# At the beginning there is nothing; the same is so after going back from the end.
[ "$(graph --at 0 | wc -l)" = 1 ] || fail "$(graph --at 0)"

echo 'malloc_chunk FIELD 6 EDGE 4; malloc_chunk X; X.size >= 0; ..(any)' >"$TMPDIR/any.spec"
"$FAULTLINE" analyze "$TMPDIR/capture" --spec "$TMPDIR/any.spec" --internals --json >"$TMPDIR/json" ||
	fail "analyze: $(cat "$TMPDIR/json")"
jq -e '.internals | .clusters >= 2 and .splits >= 1 and .cached == 7 and .fast == 3 and
	.caches == 1 and .bins >= 1 and .taken >= 1 and .bytes > 0 and .edges > 0' "$TMPDIR/json" >/dev/null ||
	fail "internals: $(jq -c .internals "$TMPDIR/json")"

want_status=134 make_capture "$TMPDIR/corrupted" "$BUILD/examples/freechunk-O0"
"$FAULTLINE" graph "$TMPDIR/corrupted" --internals --at replace --spec examples/freechunk/freechunk.spec \
	--dot >"$TMPDIR/corrupted.dot" || fail "graph"
grep -q '0x303[0-9]*' "$TMPDIR/corrupted.dot" && grep -q '#c92a2a\|COLOR_BAD\|penwidth=2' "$TMPDIR/corrupted.dot" ||
	fail "no corrupted chunk is shown: $(cat "$TMPDIR/corrupted.dot")"
exit 0
