#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What bash offers: commands in order, of each command its own options and no word of its examples,
# the actions of those that have some.
. tests/lib.sh

. doc/faultline.bash-completion
cd "$TMPDIR" || exit 1
touch a.spec b.txt

# offers WORD... - what there is for the last one, a line each, in $TMPDIR/offered.
offers() {
	COMP_WORDS=("$FAULTLINE" "$@") COMP_CWORD=$#
	COMPREPLY=()
	_faultline
	printf '%s\n' "${COMPREPLY[@]}" >"$TMPDIR/offered"
}
has() {
	grep -qxF -- "$1" "$TMPDIR/offered" || fail "no $1 in: $(tr '\n' ' ' <"$TMPDIR/offered")"
}
is() {
	[ "$(tr '\n' ' ' <"$TMPDIR/offered")" = "$1 " ] ||
		fail "not '$1' but: $(tr '\n' ' ' <"$TMPDIR/offered")"
}

offers ''
LC_ALL=C sort -c "$TMPDIR/offered" || fail "unsorted"
"$FAULTLINE" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' >"$TMPDIR/commands"
"$FAULTLINE" --help | sed -n '/^Commands:/,/^$/p' |
	awk '/^ [A-Z]/ { last = ""; groups++ } /^  / { if ($1 < last) exit 1; last = $1 } END { if (groups < 5) exit 1 }' ||
	fail "--help: unsorted in a group"
while read -r command; do
	offers ''
	has "$command"
	offers help "$command"
	has "$command"
	offers "$command" -
	has --help
	LC_ALL=C sort -cu "$TMPDIR/offered" || fail "$command: unsorted, or twice"
	while read -r option; do
		[ "$option" = -- ] && continue
		"$FAULTLINE" "$command" --help | sed '/^Examples:/,$d' |
			grep -Eq "^ +(-., )?(--[a-z-]+, +)?$option(\[?=|,| |\$)" ||
			fail "$command has no option $option"
	done <"$TMPDIR/offered"
	n=$("$FAULTLINE" "$command" --help | sed '/^Examples:/,$d' | grep -Ec '^  (-., |    )--')
	[ "$(wc -l <"$TMPDIR/offered")" -ge "$n" ] || fail "$command: some options are missing"
done <"$TMPDIR/commands"

offers spec ''
has check
has format
offers spec --json fo
is format
offers suite ''
has list
has record
offers spec check ''
! grep -qx format "$TMPDIR/offered" || fail "two actions"
has a.spec
offers replay --log s
is stores
offers dump --kind sys
is syscall
offers analyze --spec ''
is a.spec
exit 0
