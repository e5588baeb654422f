#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What the page of `faultline graph --html` does, by its own script in node: it opens at what
# matters, never blank; zoom, pan, fit; search for nodes, fields, addresses; a map of large
# graphs; the source of the step; W goes to what is still violated when its operation ends.
# And SVG pictures: they scale, know dark windows, mark the violated fields and the edge.
. tests/lib.sh
need node dot xmllint
host=$PWD/tests/faultlocate/page_host.js
. tests/faultlocate/page.bash

for c in small large empty plain bare; do
	judge $c >drive.js
	for sight in 800x600 420x300; do
		SIGHT=$sight node "$host" $c.html drive.js || fail "$c at $sight"
	done
done

"$FAULTLINE" graph small.fl --spec list.spec --svg small.svg || fail "graph --svg"
attribute() { xmllint --xpath "string(/*/@$1)" small.svg; }
[ "$(attribute width) $(attribute height)" = "100% 100%" ] && [[ $(attribute viewBox) = 0.*\ * ]] ||
	fail "it does not scale: $(grep '<svg' small.svg)"
xmllint --xpath '//*[local-name() = "style"]/text()' small.svg | grep -q 'prefers-color-scheme: dark' ||
	fail "it does not know dark windows"
"$FAULTLINE" graph small.fl --spec list.spec --dot >small.dot || fail "graph --dot"
[ "$(grep -o '<td [^>]*bgcolor="#ffe3e3"[^>]*>' small.dot | grep -c port=\"f)" = 2 ] ||
	fail "not the two violated fields are marked: $(cat small.dot)"
grep '>next</td>' small.dot | grep -q 'bgcolor="#ffe3e3">next' || fail "next is not marked"
grep -q 'bgcolor="#ffe3e3">prev' small.dot || fail "prev is not marked"
grep -q 'bgcolor="#ffe3e3">key' small.dot && fail "key is marked"
[ "$(grep -c ' -> n.*color="#c92a2a" penwidth=2' small.dot)" = 1 ] || fail "not the violated edge is red"
exit 0
