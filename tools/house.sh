#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# house.sh ROOM... - who includes whose headers, as a graph for dot: an arrow from a room to one
# that it uses, but for those that others imply (and `base', which all use). The rooms come in
# the order in which each may use those before it; an include that points the other way is
# told, and the exit status is 1.
set -euo pipefail
cd "$(dirname "$0")/.."

find "$@" -name '*.[chS]' | sort | xargs grep -H '^#include "' |
	awk -v rooms="$*" '
	function room_of(path,  i, best) {
		for (i = 1; i <= n; i++)
			if (index(path, room[i] "/") == 1 && length(room[i]) > length(room[best]))
				best = i
		return best + 0
	}
	BEGIN { n = split(rooms, room, " ") }
	{
		split($0, part, /:#include "|"/)
		from = room_of(part[1])
		to = room_of(part[2])
		if (!from || !to || from == to)
			next
		if (to > from) {
			print part[1] " includes " part[2] ": that room may not be used there" >"/dev/stderr"
			bad = 1
		}
		uses[from, to] = 1
	}
	END {
		print "digraph house {\n\trankdir=BT; node [shape=box, style=rounded];"
		print "\tfontname=\"sans-serif\"; node [fontname=\"sans-serif\"];"
		for (i = 1; i <= n; i++) {
			if (room[i] == "base" || room[i] == "suppress-hw")
				continue
			printf "\t\"%s\";\n", room[i]
			for (j = 1; j <= n; j++)
				if (uses[i, j] && room[j] != "base")
					printf "\t\"%s\" -> \"%s\";\n", room[i], room[j]
		}
		print "}"
		exit bad
	}' | tred
exit "${PIPESTATUS[2]}"
