# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# tests/programs/keeps prints each store that it makes: what a capture's PROBE events say of
# the same. Sourced.

# stores DIR [OPTION...] - "keep THREAD ADDRESS VALUE" and "count ..." of each event.
stores() {
	"$FAULTLINE" dump -m -k probe "$@" | awk '
		function value(le,   i, v) {
			for (i = 15; i >= 1; i -= 2) v = v substr(le, i, 2)
			sub(/^0+/, "", v)
			return v == "" ? "0" : v
		}
		match($0, /\[[0-9a-f]+\+8\]=[0-9a-f]+/) {
			split(substr($0, RSTART + 1, RLENGTH - 1), p, /\+8\]=/)
			print "count", $2, p[1], value(p[2])
			next
		}
		/rsi=/ {
			match($0, /rsi=[0-9a-f]+/); v = substr($0, RSTART + 4, RLENGTH - 4)
			match($0, /rdi=[0-9a-f]+/); a = substr($0, RSTART + 4, RLENGTH - 4)
			print "keep", $2, a, v
		}'
}

# printed FILE - the same, as the program says.
printed() {
	grep -aE '^(keep|count) ' "$1"
}

# number_of FIELD DIR - of the manifest.
number_of() {
	sed -n "s/.*\"$1\":[[:space:]]*\"\([0-9]*\)\".*/\1/p" "$2/manifest.json"
}
