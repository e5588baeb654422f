#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# man.sh FAULTLINE OUT - write OUT/faultline.1 and OUT/faultline-COMMAND.1 from --help, so
# that pages and options are one table; doc/man/NAME.h2m adds sections of prose. The languages'
# pages of section 5 are made of doc/: they are one text, too.
set -euo pipefail

faultline=$1 out=$2
version=$("$faultline" --version)
date=$(date -u ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"} +%Y-%m-%d)
mkdir -p "$out"

# page NAME SUMMARY [COMMAND]
page() {
	local include=()
	[ -f "doc/man/$1.h2m" ] && include=(--include "doc/man/$1.h2m")
	help2man --no-info --no-discard-stderr --version-string="$version" --name="$2" \
		"${include[@]}" "$faultline${3:+ $3}" |
		awk -v page="$1" -v title="$(tr '[:lower:]' '[:upper:]' <<<"$1")" \
			-v date="$date" -v version="$version" '
		/^\.TH / { $0 = ".TH " title " 1 " date " \"" version "\" \"User Commands\"" }
		/^\.SH NAME/ { in_name = 1; print; next }
		in_name { sub(/^[^ ]+/, page); in_name = 0 }
		# Examples are lines of shell, not a paragraph.
		/^\.S[HS]/ { if (in_examples) print ".RE\n.fi"; in_examples = 0 }
		/^\.SH EXAMPLES/ { in_examples = 1; print; print ".nf\n.RS 4"; next }
		in_examples && /^\.(IP|PP|TP)/ { next }
		{ print }
		END { if (in_examples) print ".RE\n.fi" }' >"$out/$1.1.$$"
	mv "$out/$1.1.$$" "$out/$1.1"
}

# language NAME SUMMARY SOURCE - section 5.
language() {
	{
		printf '.TH %s 5 %s "%s" "File Formats"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n' \
			"$(tr '[:lower:]' '[:upper:]' <<<"$1")" "$date" "$version" "$1" "$2"
		# Its title goes, links lead to files that a page has not beside it.
		sed -e 1d -e 's/\[\([^]]*\)\]([^) ]*\.md[^) ]*)/\1/g' "$3" | lowdown -Tman |
			sed -e 's/\\fC/\\fB/g' -e 's/\\e|/|/g' |
			awk 'BEGIN { after = 1 } # a paragraph begins behind a heading anyhow
				!(after && /^\.[LP]P$/)
				{ after = was_title || /^\.S[HS] ./; was_title = /^\.S[HS]$/ }'
		printf '.SH "SEE ALSO"\n.BR faultline-spec (1),\n.BR faultline-analyze (1),\n'
		printf '.BR faultline-check (1),\n.BR faultline-linear (1)\n'
	} >"$out/$1.5.$$"
	mv "$out/$1.5.$$" "$out/$1.5"
}

language faultline-spec "what must hold for data structures" doc/spec-language.md
language faultline-rules "what is wrong in a run" doc/rules.md
"$faultline" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) *\(.*\)/\1 \2/p' |
	while read -r command summary; do
		page "faultline-$command" "$summary" "$command"
	done
# Last, as it is the one by whose age make knows whether all are there: others may run this, too.
page faultline "record a program and name the statement that broke its heap"
