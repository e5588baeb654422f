#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# build.sh NAME LEVEL CACHE: get the Debian source of bench/real/NAME.sh, put its fault in, and
# build it with -g -LEVEL. All of it stays in CACHE, and what is there is not made again. On
# stdout, for bench_real.c: lines `key=value`, of which `skip=REASON` says why there is none.
#
# NAME.sh says, as shell: package (of Debian's source), needs (commands) and need_packages,
# file and edit (a sed script: the fault), mark (what the faulty line has then), members (of the
# archive; empty: all), build LEVEL (in $work; leaves $program), and invoke (its arguments, one
# a line, and the directory it runs in).
name=$1 level=$2 here=$(dirname "$0")
mkdir -p "$3" || exit 2
cache=$(cd "$3" && pwd)
log=$cache/$name-$level.log
: >"$log"

skip() {
	echo "skip=$*"
	exit 0
}

. "$here/$name.sh"
source=$cache/source/$name work=$cache/build/$name program=$cache/bin/$name-$level
mkdir -p "$cache/source" "$work" "$cache/bin" "$cache/archives/$name"

for p in gcc make tar xz sed $needs; do
	command -v "$p" >/dev/null ||
		skip "$p is not installed (apt install build-essential xz-utils $need_packages)"
done
. "$here/source.sh"

unpack() {
	set -- "$cache/archives/$name"/*.orig.tar.*
	[ -e "$1" ] || { fetch "$package" "$cache/archives/$name" && set -- "$cache/archives/$name"/*.orig.tar.*; }
	rm -rf "$source.new"
	mkdir "$source.new"
	set -f # the members are patterns of tar's
	tar xf "$1" -C "$source.new" --strip-components 1 --no-same-owner \
		--wildcards $members >>"$log" 2>&1 || skip "the source of $package cannot be unpacked"
	set +f
	cp "$source.new/$file" "$cache/original"
	sed -i "$edit" "$source.new/$file"
	! cmp -s "$cache/original" "$source.new/$file" ||
		skip "the fault does not fit this version of $package"
	mv "$source.new" "$source"
}

[ -d "$source" ] || unpack
line=$(grep -nF "$mark" "$source/$file" | head -n 1 | cut -d: -f1)
[ -n "$line" ] || skip "the fault is not in $file"
[ -x "$program" ] || (cd "$work" && build "$level") >>"$log" 2>&1 ||
	skip "$package cannot be built here (see $log)"

# The specification, with @TEXT@ for the line that has TEXT.
while IFS= read -r text; do
	while :; do
		case $text in
		*@*@*) ;;
		*) break ;;
		esac
		want=${text#*@} rest=${text#*@}
		want=${want%%@*} rest=${rest#*@}
		at=$(grep -nF "$want" "$source/$file" | head -n 1 | cut -d: -f1)
		text="${text%%@*}${at:-0}$rest"
	done
	printf '%s\n' "$text"
done <"$here/$name.spec" >"$cache/$name.spec"

echo "program=$program"
echo "spec=$cache/$name.spec"
echo "line=$line"
echo "version=$(cd "$cache/archives/$name" && ls ./*.dsc | sed 's|.*_||; s|\.dsc$||')"
invoke
