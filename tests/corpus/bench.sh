#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# bench.sh DIR small|large - for `faultline bench corpus`: make the inputs in DIR and print
# `NAME<tab>COMMAND` for each command line that does nothing but compute, in one thread.
set -eu

cd "$(dirname "$0")/../.."
SOURCE=$PWD FAULTLINE=faultline
dir=$1 size=$2
. tests/corpus/corpus.sh
[ "$size" = small ] && which=1 || which=2
bash tests/corpus/inputs.sh "$dir" "$size" >&2
for group in $(sed -n 's/^\[\(.*\)\]$/\1/p' tests/corpus/commands); do
	while read -r name package flags command; do
		has_flag "$flags" bench && ! has_flag "$flags" threads || continue
		if is_installed "$command"; then
			printf '%s\t%s\n' "$name" "$command"
		else
			echo "bench: without $name: $package is not installed" >&2
		fi
	done < <(corpus_lines "$group")
done
