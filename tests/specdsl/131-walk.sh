#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The first specification of doc/spec-language.md: its program, its specification and its
# commands, as they stand there, say what they are said to say.
. tests/lib.sh
need cc
need_bpf

# Indented blocks of the section; a number is the first line of text before the block.
awk -v dir="$TMPDIR" '
	/^## / { is_in = /A first specification/ }
	!is_in { next }
	/^    / || (/^$/ && is_block) {
		if (!is_block)
			n++
		is_block = 1
		print substr($0, 5) >(dir "/block" n)
		next
	}
	/./ { is_block = 0 }' doc/spec-language.md

cd "$TMPDIR" || exit 1
mv block1 list.c && mv block2 list.spec && mv block3 commands && mv block4 want ||
	fail "the section has other blocks: $(ls)"
[ ! -e block5 ] || fail "the section has more blocks: $(cat block5)"
[ "$(grep -c . list.spec)" = 2 ] || fail "list.spec is not two lines: $(cat list.spec)"

faultline() {
	if [ "$1" = record ]; then
		"${RECORD[@]}" "${@:2}"
	else
		"$FAULTLINE" "$@"
	fi
}
got=0
. ./commands >said 2>err || got=$?
[ $got = 1 ] || fail "status $got, not 1: $(cat said err)"

# Line by line, in this order; addresses and times are another run's.
sed -i 's:/[^ ]*/list\.c:list.c:g' said
while IFS= read -r line; do
	line=${line#"${line%%[! ]*}"}
	[ -n "$line" ] || continue
	at=$(grep -n -m 1 -F -- "$line" said | cut -d: -f1)
	[ -n "$at" ] || fail "'$line' is not said, or not here: $(cat said)"
	sed -i "1,${at}d" said
done <want
grep -q -e --accesses "$SOURCE/README.md" || fail "README.md does not show --accesses"
