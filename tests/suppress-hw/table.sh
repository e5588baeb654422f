# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# For the tests here: with SUPPRESS_TABLE=FILE each program becomes a row of doc/suppression.md's table in it.

# edges CAPTURE PLACE FILE LINE - the fewest dependences, data or control, between statements, from what
# --at PLACE asks about to the statement at LINE of FILE; - where there is no way.
edges() {
	"$FAULTLINE" slice --json --at "$2" "$1" 2>/dev/null | jq -r --arg file "$3" --argjson line "$4" '
		# Of an allocator that gave up the values that it looked at are asked about, too.
		([.statements | to_entries[] | select(.value.is_asked).key] | to_entries[] |
			"from \(.value) \(if .key > 0 then 1 else 0 end)"),
		(.statements | to_entries[] |
			select(.value.line == $line and (.value.file // "" | endswith($file))) | "to \(.key)"),
		(.edges[] | "edge \(.to) \(.from)")' | awk '
		$1 == "from" { far[$2] = $3; todo[n++] = $2 }
		$1 == "to" { is_end[$2] = 1 }
		$1 == "edge" { next_of[$2] = next_of[$2] " " $3 }
		END {
			for (i = 0; i < n; i++) {
				at = todo[i]
				if (is_end[at]) { print far[at]; exit }
				m = split(next_of[at], others, " ")
				for (k = 1; k <= m; k++)
					if (!(others[k] in far)) {
						far[others[k]] = far[at] + 1
						todo[n++] = others[k]
					}
			}
			print "-"
		}'
}

# row NAME CAPTURE SOURCE FAULT RUNS - of what $TMPDIR/out has of it: executions, what is identified, from
# there to the fault, from the crash to it.
row() {
	local line to_fault
	[ "${SUPPRESS_TABLE:-}" ] || return 0
	line=$(jq '.identified[0].line' "$TMPDIR/out")
	to_fault=0
	[ "$line" = "$4" ] || to_fault=$(edges "$2" "$(basename "$3"):$line" "$(basename "$3")" "$4")
	echo "| $1 | $5 | $(basename "$3"):$line | $to_fault | $(edges "$2" crash "$(basename "$3")" "$4") |" \
		>>"$SUPPRESS_TABLE"
}
