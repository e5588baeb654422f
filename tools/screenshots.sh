#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# screenshots.sh BUILD - the pages that faultline makes, as pictures in BUILD/screenshots, for somebody to
# look at: of the list example and of a large heap, each in the light, in the dark, in a narrow window.
set -euo pipefail

build=$(realpath "$1") out=$(realpath "$1")/screenshots
rm -rf "$out"
mkdir -p "$out"
as_root=()
if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null; then
	as_root=(sudo)
fi
record() { # DIR PROGRAM...
	local status=0
	"${as_root[@]}" "$build/faultline" record -o "$out/$1" -- "${@:2}" >"$out/log" 2>&1 || status=$?
	[ $status -lt 125 ] || [ $status -gt 127 ] || { cat "$out/log"; exit 1; }
}
spec=examples/list/list.spec
record capture "$build/examples/list-O2"
"$build/faultline" suppress --json "$out/capture" >"$out/suppressed.json" || [ $? = 1 ]
"$build/faultline" report "$out/capture" --spec $spec --with "$out/suppressed.json" -o "$out/report.html"
"$build/faultline" graph "$out/capture" --spec $spec --html "$out/heap.html"
"$build/faultline" inputs "$out/capture" --at crash --html "$out/inputs.html"
record large "$build/specs/hash-O0" 4 3
"$build/faultline" report "$out/large" --spec specs/hash.spec -o "$out/large.html"

# shot PAGE#STATE NAME - wide, dark, and as narrow as a telephone.
shot() {
	echo "await new Promise(done => setTimeout(done, 700));" >"$out/wait.js"
	python3 tests/report/drive.py "file://$out/$1" "$out/wait.js" 1400 900 "$out/$2.png"
	python3 tests/report/drive.py "file://$out/$1" "$out/wait.js" 1400 900 dark "$out/$2-dark.png"
	python3 tests/report/drive.py "file://$out/$1" "$out/wait.js" 420 900 "$out/$2-narrow.png"
}
for page in report.html 'report.html#item=1' 'report.html#view=inputs' 'report.html#view=heap' 'report.html#view=gdb' \
	large.html 'large.html#view=heap' heap.html inputs.html; do
	shot "$page" "$(sed 's/\.html//; s/#[a-z]*=/-/' <<<"$page")" >/dev/null
done
ls "$out"/*.png
