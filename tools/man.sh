#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# man.sh FAULTLINE OUT - write OUT/faultline.1 and OUT/faultline-COMMAND.1 from --help, so
# that pages and options are one table. doc/man/NAME.h2m adds sections of prose.
set -euo pipefail

faultline=$1 out=$2
version=$("$faultline" --version)
mkdir -p "$out"

# page NAME SUMMARY [COMMAND]
page() {
	local include=()
	[ -f "doc/man/$1.h2m" ] && include=(--include "doc/man/$1.h2m")
	help2man --no-info --no-discard-stderr --version-string="$version" --name="$2" \
		"${include[@]}" "$faultline${3:+ $3}" |
		awk -v page="$1" -v title="$(tr '[:lower:]' '[:upper:]' <<<"$1")" '
		/^\.TH / { sub(/^\.TH [^ ]+/, ".TH " title) }
		/^\.SH NAME/ { in_name = 1; print; next }
		in_name { sub(/^[^ ]+/, page); in_name = 0 }
		# Examples are lines of shell, not a paragraph.
		/^\.SH/ { if (in_examples) print ".RE\n.fi"; in_examples = 0 }
		/^\.SH EXAMPLES/ { in_examples = 1; print; print ".nf\n.RS 4"; next }
		in_examples && /^\.(IP|PP|TP)/ { next }
		{ print }
		END { if (in_examples) print ".RE\n.fi" }' >"$out/$1.1.new"
	mv "$out/$1.1.new" "$out/$1.1"
}

page faultline "record a program and name the statement that broke its heap"
"$faultline" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) *\(.*\)/\1 \2/p' |
	while read -r command summary; do
		page "faultline-$command" "$summary" "$command"
	done
