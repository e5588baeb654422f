#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The corpus is whole: at least 60 command lines, each in a group that a script runs, each
# with a package that `make deps` installs; at most 3 cannot be supported, and say why.
. tests/corpus/corpus.sh

n=0 cannot=0 names=$TMPDIR/names
for group in $(sed -n 's/^\[\(.*\)\]$/\1/p' tests/corpus/commands); do
	ls tests/corpus/[0-9]*-"$group".sh >/dev/null || fail "no script runs group $group"
	while read -r name package flags command; do
		n=$((n + 1))
		[ -n "$command" ] || fail "$name has no command"
		echo "$name" >>"$names"
		grep -qx "$package" tools/packages.txt || fail "$package of $name is in no list"
		has_flag "$flags" cannot || continue
		cannot=$((cannot + 1))
		[ -n "$(corpus_reason "$name")" ] || fail "$name cannot be supported: why?"
		echo "$name: $(corpus_reason "$name")"
	done < <(corpus_lines "$group")
done
[ -z "$(sort "$names" | uniq -d)" ] || fail "named twice: $(sort "$names" | uniq -d)"
[ $n -ge 60 ] || fail "only $n command lines"
[ $cannot -le 3 ] || fail "$cannot cannot be supported"
echo "result: $n command lines, $cannot cannot be supported"
