#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# fuzz.sh DIR SECONDS - run every libFuzzer program DIR/fuzz_* for SECONDS. Its corpus
# stays in DIR/corpus-NAME; tests/fuzz/seeds-NAME, when there, is read as well. Fails when
# any finds something; what it found is left as DIR/NAME-*.
set -u

dir=$1 seconds=$2 status=0
for target in "$dir"/fuzz_*; do
	case $target in *.o | *.d) continue ;; esac
	[ -x "$target" ] || continue
	name=${target##*/fuzz_}
	corpus=$dir/corpus-$name
	mkdir -p "$corpus"
	seeds=()
	[ -d "tests/fuzz/seeds-$name" ] && seeds=("tests/fuzz/seeds-$name")
	echo "fuzz: $name for $seconds s"
	log=$dir/$name.log
	if "$target" -max_total_time="$seconds" -print_final_stats=1 -timeout=25 \
		-max_len=16384 -rss_limit_mb=2048 -artifact_prefix="$dir/$name-" \
		"$corpus" "${seeds[@]}" >"$log" 2>&1; then
		echo "fuzz: $name: no finding," \
			"$(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
	else
		tail -n 60 "$log" >&2
		echo "fuzz: $name: found something; the input is in $dir/$name-*" >&2
		status=1
	fi
done
exit $status
